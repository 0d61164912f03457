//! ONC-RPC version 2 (RFC 5531): call and reply headers, credentials, record marking over TCP.

mod auth;
mod call;
mod record;
mod reply;

pub use auth::{AUTH_NONE, AUTH_SYS, Auth, AuthSys, Gids};
pub use call::CallHeader;
pub use record::{LAST_FRAGMENT, RecordError, RecordEvent, RecordScanner, begin_record, end_record};
pub use reply::{AcceptStatus, AuthStatus, ReplyBody, ReplyHeader};

/// The version of the RPC protocol (RFC 5531 section 9).
pub const RPC_VERSION: u32 = 2;

/// The transaction number of a message in either direction: its first word.
pub fn peek_xid(message: &[u8]) -> Option<u32> {
    message.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}
