//! What a target sends (RFC 7143, 11).

use super::field::{Bits, Byte, Bytes, Field, Flag, Half, Length, Long, Word, headers};
use super::{HEADER_BYTES, Header, UnknownOpcode};

headers! {
    /// A PDU of a target.
    IscsiAnswer {
        /// The end of a command (11.4).
        Response: ScsiResponse = 0x21, fixed 0x80 {
            /// The command would have moved more than was expected.
            overflow: Flag<1, 0x04>,
            /// It moved less.
            underflow: Flag<1, 0x02>,
            /// 0: the command completed at the target; `status` says how.
            response: Byte<2>,
            /// The SCSI status ([`super::ScsiStatus`]).
            status: Byte<3>,
            /// Length of the sense data with its own length before it.
            data_bytes: Length,
            /// The task's tag.
            tag: Word<16>,
            /// Number of the status.
            stat_sn: Word<24>,
            /// The next command number that the target expects.
            exp_cmd_sn: Word<28>,
            /// The last command number that it accepts.
            max_cmd_sn: Word<32>,
            /// How many Data-In and R2T it sent.
            exp_data_sn: Word<36>,
            /// Bytes by which it moved more or less.
            residual: Word<44>,
        }
        /// Data of a command (11.7).
        DataIn: DataIn = 0x25, fixed 0x00 {
            /// The last of its sequence.
            is_final: Flag<1, 0x80>,
            /// An acknowledgement is wanted (error recovery level 1 and above).
            acknowledge: Flag<1, 0x40>,
            /// The command would have moved more than was expected; with `has_status`.
            overflow: Flag<1, 0x04>,
            /// It moved less; with `has_status`.
            underflow: Flag<1, 0x02>,
            /// It ends the command, too.
            has_status: Flag<1, 0x01>,
            /// The SCSI status; with `has_status`.
            status: Byte<3>,
            /// Length of the data.
            data_bytes: Length,
            /// The logical unit; with `acknowledge`.
            lun: Long<8>,
            /// The task's tag.
            tag: Word<16>,
            /// The target's tag; with `acknowledge`.
            target_tag: Word<20>,
            /// Number of the status; with `has_status`.
            stat_sn: Word<24>,
            /// The next command number that the target expects.
            exp_cmd_sn: Word<28>,
            /// The last command number that it accepts.
            max_cmd_sn: Word<32>,
            /// Number within the command.
            data_sn: Word<36>,
            /// Offset in the command's data.
            offset: Word<40>,
            /// Bytes by which it moved more or less; with `has_status`.
            residual: Word<44>,
        }
        /// Asks for data of a command: R2T (11.8).
        R2t: ReadyToTransfer = 0x31, fixed 0x80 {
            /// The logical unit.
            lun: Long<8>,
            /// The task's tag.
            tag: Word<16>,
            /// The target's tag, for the Data-Out that replies.
            target_tag: Word<20>,
            /// The next status number.
            stat_sn: Word<24>,
            /// The next command number that the target expects.
            exp_cmd_sn: Word<28>,
            /// The last command number that it accepts.
            max_cmd_sn: Word<32>,
            /// Number within the command.
            r2t_sn: Word<36>,
            /// Offset of the wanted data in the command's.
            offset: Word<40>,
            /// Its length.
            wanted_bytes: Word<44>,
        }
        /// A ping, or the reply to one (11.19).
        Nop: NopIn = 0x20, fixed 0x80 {
            /// Length of the data.
            data_bytes: Length,
            /// The logical unit.
            lun: Long<8>,
            /// Our tag, if this is a reply.
            tag: Word<16>,
            /// The target's tag, if it wants a reply.
            target_tag: Word<20>,
            /// Number of the status.
            stat_sn: Word<24>,
            /// The next command number that the target expects.
            exp_cmd_sn: Word<28>,
            /// The last command number that it accepts.
            max_cmd_sn: Word<32>,
        }
        /// The result of task management (11.6).
        Task: TaskResponse = 0x22, fixed 0x80 {
            /// 0: done; 1: there is no such task.
            response: Byte<2>,
            /// Our tag of the request.
            tag: Word<16>,
            /// Number of the status.
            stat_sn: Word<24>,
            /// The next command number that the target expects.
            exp_cmd_sn: Word<28>,
            /// The last command number that it accepts.
            max_cmd_sn: Word<32>,
        }
        /// A step of a login (11.13).
        Login: LoginResponse = 0x23, fixed 0x00 {
            /// Goes to the next stage.
            transit: Flag<1, 0x80>,
            /// More text follows.
            more: Flag<1, 0x40>,
            /// The current stage.
            stage: Bits<1, 2, 0x03>,
            /// The next stage.
            next_stage: Bits<1, 0, 0x03>,
            /// The highest version that it speaks.
            version_max: Byte<2>,
            /// The version that it speaks.
            version: Byte<3>,
            /// Length of the text.
            data_bytes: Length,
            /// The initiator's part of the session's name.
            isid: Bytes<8, 6>,
            /// The target's part.
            tsih: Half<14>,
            /// Our tag.
            tag: Word<16>,
            /// Number of the status.
            stat_sn: Word<24>,
            /// The next command number that the target expects.
            exp_cmd_sn: Word<28>,
            /// The last command number that it accepts.
            max_cmd_sn: Word<32>,
            /// Class and detail of the outcome ([`super::LoginStatus`]).
            status: Half<36>,
        }
        /// Text (11.11).
        Text: TextResponse = 0x24, fixed 0x00 {
            /// The last of the response.
            is_final: Flag<1, 0x80>,
            /// More text follows.
            more: Flag<1, 0x40>,
            /// Length of the text.
            data_bytes: Length,
            /// The logical unit.
            lun: Long<8>,
            /// Our tag.
            tag: Word<16>,
            /// The target's tag, if it has more to send.
            target_tag: Word<20>,
            /// Number of the status.
            stat_sn: Word<24>,
            /// The next command number that the target expects.
            exp_cmd_sn: Word<28>,
            /// The last command number that it accepts.
            max_cmd_sn: Word<32>,
        }
        /// The end of a session or a connection (11.15).
        Logout: LogoutResponse = 0x26, fixed 0x80 {
            /// 0: closed.
            response: Byte<2>,
            /// Our tag.
            tag: Word<16>,
            /// Number of the status.
            stat_sn: Word<24>,
            /// The next command number that the target expects.
            exp_cmd_sn: Word<28>,
            /// The last command number that it accepts.
            max_cmd_sn: Word<32>,
        }
        /// Something that the target has to say unasked (11.9).
        Async: AsyncMessage = 0x32, fixed 0x80 {
            /// Length of the data.
            data_bytes: Length,
            /// The logical unit.
            lun: Long<8>,
            /// Number of the status.
            stat_sn: Word<24>,
            /// The next command number that the target expects.
            exp_cmd_sn: Word<28>,
            /// The last command number that it accepts.
            max_cmd_sn: Word<32>,
            /// What happened: 0 a SCSI event, 1 a logout is wanted, 2 and 3 connections are dropped, 4 negotiation is wanted.
            event: Byte<36>,
        }
        /// A PDU that the target does not accept (11.17); its header follows as data.
        Reject: Rejection = 0x3f, fixed 0x80 {
            /// Why.
            reason: Byte<2>,
            /// Length of the data.
            data_bytes: Length,
            /// Number of the status.
            stat_sn: Word<24>,
            /// The next command number that the target expects.
            exp_cmd_sn: Word<28>,
            /// The last command number that it accepts.
            max_cmd_sn: Word<32>,
        }
    }
}

impl Rejection {
    /// The reason in words (11.17.1).
    pub const fn words(&self) -> &'static str {
        match self.reason {
            0x02 => "the data digest was wrong",
            0x03 => "SNACK reject",
            0x04 => "protocol error",
            0x05 => "command not supported",
            0x06 => "too many immediate commands",
            0x07 => "task in progress",
            0x08 => "invalid data acknowledgement",
            0x09 => "invalid PDU field",
            0x0a => "out of resources",
            0x0b => "negotiation reset",
            0x0c => "waiting for logout",
            _ => "unknown reason",
        }
    }
}
