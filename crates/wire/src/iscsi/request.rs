//! What an initiator sends (RFC 7143, 11).

use super::field::{Bits, Bytes, Field, Flag, Half, Length, Long, Word, headers};
use super::{HEADER_BYTES, Header, UnknownOpcode};

headers! {
    /// A PDU of an initiator.
    IscsiRequest {
        /// A SCSI command (11.3).
        Command: ScsiCommand = 0x01, fixed 0x00 {
            /// Delivered at once, outside the command window.
            immediate: Flag<0, 0x40>,
            /// No unsolicited Data-Out follows.
            is_final: Flag<1, 0x80>,
            /// Data goes to the initiator.
            read: Flag<1, 0x40>,
            /// Data goes to the target.
            write: Flag<1, 0x20>,
            /// Task attribute: 1 is simple.
            attribute: Bits<1, 0, 0x07>,
            /// Length of the immediate data.
            data_bytes: Length,
            /// The logical unit.
            lun: Long<8>,
            /// The initiator's tag of the task.
            tag: Word<16>,
            /// Bytes that the whole command moves.
            transfer_bytes: Word<20>,
            /// Number of the command.
            cmd_sn: Word<24>,
            /// The next status number that is expected.
            exp_stat_sn: Word<28>,
            /// The command descriptor block.
            cdb: Bytes<32, 16>,
        }
        /// Data of a command, unsolicited or in reply to R2T (11.7).
        DataOut: DataOut = 0x05, fixed 0x00 {
            /// The last of its sequence.
            is_final: Flag<1, 0x80>,
            /// Length of the data.
            data_bytes: Length,
            /// The logical unit.
            lun: Long<8>,
            /// The task's tag.
            tag: Word<16>,
            /// The target's tag from R2T; [`super::NO_TAG`] for unsolicited data.
            target_tag: Word<20>,
            /// The next status number that is expected.
            exp_stat_sn: Word<28>,
            /// Number within the sequence.
            data_sn: Word<36>,
            /// Offset in the command's data.
            offset: Word<40>,
        }
        /// A ping, or the reply to one (11.18).
        Nop: NopOut = 0x00, fixed 0x80 {
            /// Delivered at once.
            immediate: Flag<0, 0x40>,
            /// Length of the data.
            data_bytes: Length,
            /// The logical unit, copied from the target's ping.
            lun: Long<8>,
            /// Our tag, if a reply is wanted.
            tag: Word<16>,
            /// The target's tag, if this is a reply.
            target_tag: Word<20>,
            /// Number of the command.
            cmd_sn: Word<24>,
            /// The next status number that is expected.
            exp_stat_sn: Word<28>,
        }
        /// Task management (11.5).
        Task: TaskRequest = 0x02, fixed 0x80 {
            /// Delivered at once.
            immediate: Flag<0, 0x40>,
            /// What to do ([`super::task`]).
            function: Bits<1, 0, 0x7f>,
            /// The logical unit.
            lun: Long<8>,
            /// Our tag of this request.
            tag: Word<16>,
            /// The tag of the task concerned.
            referenced_tag: Word<20>,
            /// Number of the command.
            cmd_sn: Word<24>,
            /// The next status number that is expected.
            exp_stat_sn: Word<28>,
            /// The number that the task concerned had.
            referenced_cmd_sn: Word<32>,
        }
        /// A step of a login (11.12).
        Login: LoginRequest = 0x03, fixed 0x00 {
            /// Always set in logins.
            immediate: Flag<0, 0x40>,
            /// Ready to go to the next stage.
            transit: Flag<1, 0x80>,
            /// More text follows.
            more: Flag<1, 0x40>,
            /// The current stage.
            stage: Bits<1, 2, 0x03>,
            /// The next stage.
            next_stage: Bits<1, 0, 0x03>,
            /// Length of the text.
            data_bytes: Length,
            /// The initiator's part of the session's name.
            isid: Bytes<8, 6>,
            /// The target's part; 0 for a new session.
            tsih: Half<14>,
            /// Our tag.
            tag: Word<16>,
            /// Number of the connection in its session.
            connection: Half<20>,
            /// Number of the command.
            cmd_sn: Word<24>,
            /// The next status number that is expected.
            exp_stat_sn: Word<28>,
        }
        /// Text, such as SendTargets (11.10).
        Text: TextRequest = 0x04, fixed 0x00 {
            /// Delivered at once.
            immediate: Flag<0, 0x40>,
            /// The last of the request.
            is_final: Flag<1, 0x80>,
            /// More text follows.
            more: Flag<1, 0x40>,
            /// Length of the text.
            data_bytes: Length,
            /// Our tag.
            tag: Word<16>,
            /// The target's tag, if it has more to send.
            target_tag: Word<20>,
            /// Number of the command.
            cmd_sn: Word<24>,
            /// The next status number that is expected.
            exp_stat_sn: Word<28>,
        }
        /// Ends a session or a connection (11.14).
        Logout: LogoutRequest = 0x06, fixed 0x80 {
            /// Delivered at once.
            immediate: Flag<0, 0x40>,
            /// Why: 0 closes the session.
            reason: Bits<1, 0, 0x7f>,
            /// Our tag.
            tag: Word<16>,
            /// Number of the connection in its session.
            connection: Half<20>,
            /// Number of the command.
            cmd_sn: Word<24>,
            /// The next status number that is expected.
            exp_stat_sn: Word<28>,
        }
    }
}
