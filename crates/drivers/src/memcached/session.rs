//! One worker's connections, one per lane, and the operations on them.

use std::pin::pin;
use std::sync::Arc;

use metrics::{ErrorKind, OpKind};
use reactor::{Reactor, SocketOptions};
use wire::memcached::{CommandLine, MemcachedReply};

use super::config::MemcachedConfig;
use super::exchange::{Failure, Lane, Manner};
use crate::deadlines::TimeLimits;
use crate::lane_connections::{LaneConnections, TIMED_OUT};
use crate::link::Link;
use crate::paths::Paths;
use crate::{Done, DriverError, Op, OpError, Session, SessionFacts, WorkerContext};

/// One worker's side of a memcached server.
pub struct MemcachedSession {
    pub(super) reactor: Reactor,
    pub(super) config: Arc<MemcachedConfig>,
    context: WorkerContext,
    lanes: LaneConnections<Lane>,
    limits: TimeLimits,
}

impl MemcachedSession {
    /// Opens a session with a connection for each lane.
    pub(super) async fn open(
        reactor: &Reactor,
        config: Arc<MemcachedConfig>,
        context: &WorkerContext,
    ) -> Result<Self, DriverError> {
        let lanes = LaneConnections::new(context.lanes);
        let session = Self {
            reactor: reactor.clone(),
            config,
            limits: TimeLimits::start(reactor, lanes.len(), context.op_timeout),
            lanes,
            context: context.clone(),
        };
        let refused = |failure: Failure| DriverError::new(failure.kind, failure.detail);
        session.lanes.open(async |lane| session.connect(lane, None).await.map_err(refused)).await?;
        Ok(session)
    }

    /// Opens a lane's connection within the connect timeout; `lost` says why the previous one broke.
    async fn connect(&self, index: usize, lost: Option<&str>) -> Result<Link, Failure> {
        self.lanes.connecting(index, lost);
        let number = u64::from(self.context.worker) * self.lanes.len() as u64 + index as u64;
        let (source, at) = self.config.paths.of(number, self.config.addresses.len());
        let address = self.config.address(at);
        let options = Paths::options(source, SocketOptions::default());
        let span = self.context.connect_timeout;
        let deadline = self.reactor.now().saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX));
        let stream = match self.reactor.timeout_at(deadline, self.reactor.connect(address, &options)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return Err(unreachable(&format!("{address}: no connection: {error}"))),
            Err(_) => return Err(unreachable(&format!("{address}: no connection within {span:?}"))),
        };
        self.lanes.connected(index, &stream, "memcached", self.context.worker);
        Ok(Link::Plain(stream))
    }

    /// Lets `exchange` use a lane's connection, opened if necessary. The connection stays open when the response was
    /// read completely.
    pub(super) async fn on_lane<T>(
        &self,
        index: usize,
        exchange: impl AsyncFnOnce(&mut Lane, &mut Link) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut lane = self.lanes.take(index);
        let link = match lane.link.take() {
            Some(link) => Ok(link),
            None => {
                lane.inbox.clear();
                let lost = lane.lost.take();
                self.connect(index, Some(lost.as_deref().unwrap_or(TIMED_OUT))).await
            }
        };
        let outcome = match link {
            Err(failure) => Err(failure),
            Ok(mut link) => {
                let outcome = exchange(&mut lane, &mut link).await;
                match &outcome {
                    Err(failure) if !failure.whole => lane.lost = Some(failure.detail.clone()),
                    _ if !lane.inbox.bytes().is_empty() => {
                        lane.lost = Some("the server sent more than was asked for".to_owned());
                    }
                    _ => lane.link = Some(link),
                }
                outcome
            }
        };
        self.lanes.give_back(index, lane);
        outcome
    }

    async fn run(&self, op: &Op, index: usize) -> Result<Done, Failure> {
        let key = self.config.key(op.object);
        let command = match op.kind {
            OpKind::Put => CommandLine::set(key.as_bytes(), op.len),
            OpKind::Get => CommandLine::get(key.as_bytes()),
            OpKind::Delete => CommandLine::delete(key.as_bytes()),
            other => {
                let detail = format!("memcached has no operation {other}");
                return Err(Failure::broken(ErrorKind::Rejected, detail));
            }
        };
        let (payload, sink) = (&self.context.payload, self.context.sink);
        let manner = Manner { reactor: &self.reactor, payload, sink };
        self.on_lane(index, async |lane: &mut Lane, link: &mut Link| {
            lane.send(link, &command, op, payload).await?;
            let done = Done { rpcs: 1, ..Done::default() };
            match op.kind {
                OpKind::Put => {
                    lane.line(link, usize::MAX, |answer| expect(MemcachedReply::Stored, answer)).await?;
                    Ok(Done { bytes: op.len, ..done })
                }
                OpKind::Get => {
                    let fetched = lane.fetch(link, op, key.as_bytes(), manner).await?;
                    Ok(Done { bytes: op.len, first_byte_ns: fetched.first_byte_ns, ..done })
                }
                _ => {
                    lane.line(link, usize::MAX, |answer| expect(MemcachedReply::Deleted, answer)).await?;
                    Ok(done)
                }
            }
        })
        .await
    }

    #[cold]
    fn describe(&self, op: &Op, kind: ErrorKind, detail: &str) -> OpError {
        let key = self.config.key(op.object);
        let text = format!("{} {} at {}: {detail}", op.kind, key.text(), self.config.address);
        OpError { rpcs: 1, ..OpError::new(kind, text) }
    }
}

fn expect(wanted: MemcachedReply<'_>, answer: &MemcachedReply<'_>) -> Result<(), Failure> {
    if *answer == wanted { Ok(()) } else { Err(Failure::unexpected(answer)) }
}

#[cold]
fn unreachable(detail: &str) -> Failure {
    Failure::broken(ErrorKind::ConnectFailed, format!("memcached at {detail}"))
}

impl Session for MemcachedSession {
    async fn perform(&self, op: &Op) -> Result<Done, OpError> {
        let index = op.lane as usize % self.lanes.len();
        let running = pin!(self.run(op, index));
        match self.limits.wait(index as u32, running).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(failure)) => Err(self.describe(op, failure.kind, &failure.detail)),
            Err(_) => {
                self.lanes.gave_up(index);
                let detail = format!("not done within {:?}", self.context.op_timeout);
                Err(self.describe(op, ErrorKind::TimedOut, &detail))
            }
        }
    }

    fn facts(&self) -> SessionFacts {
        self.lanes.facts()
    }
}
