//! What a lane keeps from one operation to the next.

use reactor::Buffer;

use super::request::HeadBuffers;
use crate::lane_connections::KeptLane;
use crate::link::{Inbox, Link};

/// A lane's connection and its buffers, all of them used again.
#[derive(Default)]
pub(super) struct Lane {
    /// The connection, when it is fit for another request.
    pub(super) link: Option<Link>,
    /// Heads and payload on their way out.
    pub(super) send: Option<Buffer>,
    /// Heads and payload that came in.
    pub(super) inbox: Inbox,
    /// Where heads are written.
    pub(super) heads: HeadBuffers,
    /// The last connection ended with an answer that was whole, as the server had announced: nothing was lost.
    pub(super) closed_in_order: bool,
    /// Why the last connection was given up, where it was not closed in order and no operation was dropped with it.
    pub(super) lost: Option<String>,
    /// The last document that was received.
    pub(super) document: Vec<u8>,
}

impl KeptLane for Lane {
    fn link(&mut self) -> &mut Option<Link> {
        &mut self.link
    }
}
