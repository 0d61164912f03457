//! The `null:` target: every operation succeeds at once. What a run against it costs is the tool's own overhead.

use reactor::Reactor;

use crate::{Done, Driver, DriverError, Op, OpError, Session, SessionFacts, WorkerContext};

/// A target that does nothing and always succeeds.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullDriver;

/// A worker's side of the null target.
#[derive(Debug)]
pub struct NullSession {
    reactor: Reactor,
}

impl Driver for NullDriver {
    type Session = NullSession;

    async fn connect(&self, reactor: &Reactor, _context: &WorkerContext) -> Result<NullSession, DriverError> {
        Ok(NullSession { reactor: reactor.clone() })
    }
}

impl Session for NullSession {
    #[inline]
    async fn perform(&self, op: &Op) -> Result<Done, OpError> {
        // As if the answer had to be waited for, so that the lanes take turns as they do with a real target.
        self.reactor.yield_now().await;
        Ok(Done { bytes: op.payload_bytes(), rpcs: 1, ..Done::default() })
    }

    fn facts(&self) -> SessionFacts {
        SessionFacts::default()
    }
}
