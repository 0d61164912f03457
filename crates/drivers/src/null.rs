//! The `null:` target: every operation succeeds at once. A run against it measures the tool's own overhead.

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
        // Yields as if it had to wait for a response, so that lanes take turns as with a real target.
        self.reactor.yield_now().await;
        Ok(Done { bytes: op.payload_bytes(), rpcs: 1, ..Done::default() })
    }

    fn facts(&self) -> SessionFacts {
        SessionFacts::default()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use metrics::OpKind;

    use super::*;
    use crate::{Payload, Sink};

    #[test]
    fn everything_succeeds_with_the_payload_it_asked_for() {
        let reactor = Reactor::simulated();
        let context = WorkerContext {
            worker: 0,
            lanes: 1,
            payload: Payload::new(0),
            sink: Sink::Buffer,
            op_timeout: Duration::from_secs(1),
            connect_timeout: Duration::from_secs(1),
        };
        reactor.block_on(async {
            let session = NullDriver.connect(&reactor, &context).await.unwrap();
            for kind in OpKind::ALL.iter().copied() {
                let op = Op::new(kind, 0, 1).range(0, 4096);
                let done = session.perform(&op).await.unwrap();
                assert_eq!((done.bytes, done.rpcs), (if kind.moves_bytes() { 4096 } else { 0 }, 1), "{kind}");
            }
            assert_eq!(session.facts(), SessionFacts::default());
        });
    }
}
