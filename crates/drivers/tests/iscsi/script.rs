//! What a scripted target does, and what it sees.

use wire::iscsi::{ChapSecret, ScsiRequest, ScsiStatus, Sense};

/// What goes wrong, once, at the first READ or WRITE of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// The header digest of an answer is wrong.
    HeaderDigest,
    /// Its data digest is.
    DataDigest,
    /// The first R2T has the second one's number.
    R2tNumber,
    /// It asks for data in the middle.
    R2tOffset,
    /// One R2T more than agreed on.
    R2tTooMany,
    /// Data with the tag of nothing.
    UnknownTag,
    /// Data behind a gap.
    DataGap,
    /// Nothing of this protocol.
    Opcode,
    /// The connection is closed.
    Drop,
    /// The target wants a logout.
    AsyncLogout,
    /// It rejects the command.
    Reject,
    /// It answers nothing any more, pings included.
    Silent,
    /// It does not answer this command until it is to be aborted, and then too late.
    Late,
    /// It answers neither this command nor the request to abort it.
    Stuck,
    /// Half of the data, and it says so.
    Short,
    /// It never accepts another command.
    CloseWindow,
}

/// How the target behaves.
#[derive(Clone)]
pub struct Script {
    pub fault: Fault,
    /// It happens on every connection, not only on the first.
    pub always: bool,
    /// It happens once, on whichever connection has the READ or WRITE with this number, instead of at a first one.
    pub at: Option<u64>,
    /// What initiators must know.
    pub secret: Option<ChapSecret>,
    /// What every login is answered with.
    pub login_status: u16,
    pub initial_r2t: bool,
    pub immediate_data: bool,
    /// Commands that it accepts at a time.
    pub window: u32,
    /// The status of a read comes in a PDU of its own.
    pub separate_status: bool,
    /// How the first reads and writes end, before the others succeed.
    pub statuses: Vec<(ScsiStatus, Option<Sense>)>,
    /// It pings the initiator before it answers a read.
    pub pings: bool,
    /// Operation codes of commands that it does not have.
    pub lacks: Vec<u8>,
    /// Most blocks of a WRITE SAME; 0: it does not say.
    pub write_same_blocks: u64,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            fault: Fault::None,
            always: false,
            at: None,
            secret: None,
            login_status: 0,
            initial_r2t: false,
            immediate_data: true,
            window: 8,
            separate_status: false,
            statuses: Vec::new(),
            pings: false,
            lacks: Vec::new(),
            write_same_blocks: 0,
        }
    }
}

/// What the target has seen.
#[derive(Default)]
pub struct Seen {
    pub connections: usize,
    /// The names with which initiators logged in.
    pub initiators: Vec<String>,
    /// READs and WRITEs.
    pub moves: u64,
    pub requests: Vec<ScsiRequest>,
    /// The commands that were to be aborted, by tag and number.
    pub aborts: Vec<(u32, u32)>,
    /// Tag and number of the commands that were not answered.
    pub left: Vec<(u32, u32)>,
    pub pongs: u32,
    /// What the initiator did wrong.
    pub violations: Vec<String>,
}
