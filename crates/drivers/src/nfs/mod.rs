//! NFS in user space over TCP: no mount, no root. Version 3 (RFC 1813), or 4.1 ([`v41`]).
//!
//! Many calls are in flight on each connection, and replies arrive in any order. A payload is generated in the send
//! buffer and verified in the receive buffer; it is never kept and never copied a second time. Retry rules:
//!
//! * A lost connection is reopened, with waits from 50 ms to 1 s, and unanswered calls are retransmitted under their
//!   old transaction ids, until the operation's deadline, at most 8 times (3 times when the replies were malformed).
//! * `NFS3ERR_JUKEBOX` ("later") leads to a new call after 50 ms, then 100 ms, up to 1 s, until the deadline: in the
//!   load, and in every call before and after it.
//! * A READ or WRITE that moves less than requested is followed by one for the rest (RFC 1813, 3.3.6 and 3.3.7). One
//!   that moves nothing is an error.
//!
//! Each repetition is counted, in the operation's result and in the session's facts.

mod caller;
mod calls;
mod config;
mod connection;
mod decode;
mod dial;
mod errors;
mod flow;
mod handles;
mod incoming;
#[cfg(test)]
mod incoming_tests;
mod lane;
mod later;
mod leaves;
mod list;
mod look;
mod lookup;
mod manage;
mod metadata;
mod mounting;
mod named;
mod named_files;
mod opening;
mod operation;
mod pass;
mod procedures;
mod receive;
mod reduced;
mod remove;
mod session;
mod slots;
mod ticket;
mod transfer;
mod transmit;
mod tree;
mod v41;
mod walk;

pub use config::{Lookup, NfsAddress, NfsConfig, NfsVersion};
pub use look::ExportLook;
pub use manage::ServerLimits;
pub use named::{ExportFiles, ExportNames, ExportTree, export_path};
pub use named_files::{NamedPath, PathState};
pub use session::NfsSession;

use reactor::Reactor;

use crate::{Driver, DriverError, WorkerContext};

/// Opens sessions on an export.
#[derive(Clone, Debug)]
pub struct NfsDriver {
    config: NfsConfig,
}

impl NfsDriver {
    /// Creates a driver for an export; nothing is contacted yet.
    ///
    /// # Errors
    /// When the configuration is invalid; the message names the field.
    pub fn new(config: NfsConfig) -> Result<Self, DriverError> {
        config.check()?;
        Ok(Self { config })
    }

    /// The configuration.
    pub fn config(&self) -> &NfsConfig {
        &self.config
    }
}

impl Driver for NfsDriver {
    type Session = NfsSession;

    async fn connect(&self, reactor: &Reactor, context: &WorkerContext) -> Result<NfsSession, DriverError> {
        NfsSession::open(reactor, &self.config.of_worker(context.worker), context).await
    }
}
