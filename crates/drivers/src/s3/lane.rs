//! State that a lane keeps between operations.

use reactor::Buffer;

use super::request::HeadBuffers;
use crate::lane_connections::KeptLane;
use crate::link::{Inbox, Link};

/// A lane's connection and its buffers, all reused.
#[derive(Default)]
pub(super) struct Lane {
    /// The connection, while it is fit for another request.
    pub(super) link: Option<Link>,
    /// Outgoing heads and payload.
    pub(super) send: Option<Buffer>,
    /// Received heads and payload.
    pub(super) inbox: Inbox,
    /// Buffers for building heads.
    pub(super) heads: HeadBuffers,
    /// The server closed the last connection after a complete response, as announced: nothing was lost.
    pub(super) closed_in_order: bool,
    /// Why the last connection was dropped, if it was not closed in order and no operation was dropped with it.
    pub(super) lost: Option<String>,
    /// The last document received.
    pub(super) document: Vec<u8>,
    /// The last document sent.
    pub(super) sent: String,
}

impl KeptLane for Lane {
    fn link(&mut self) -> &mut Option<Link> {
        &mut self.link
    }
}
