//! One worker's connections, one a lane, and the operations on them.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::sync::Arc;

use metrics::{ErrorKind, OpKind, PathFacts};
use reactor::{Reactor, SocketOptions, Stream};
use wire::memcached::{CommandLine, MemcachedReply};

use super::config::MemcachedConfig;
use super::exchange::{Failure, Lane, Manner};
use crate::deadlines::TimeLimits;
use crate::link::Link;
use crate::paths::Paths;
use crate::{
    ConnectionFacts, Done, DriverError, Op, OpError, ReconnectReason, Session, SessionFacts, WorkerContext,
    connections,
};

/// Why a connection was given up of which the lane knows nothing: it went with its operation.
const TIMED_OUT: &str = "an operation on it timed out";

/// One worker's side of a memcached server.
pub struct MemcachedSession {
    pub(super) reactor: Reactor,
    pub(super) config: Arc<MemcachedConfig>,
    context: WorkerContext,
    /// A lane is taken out while it works; what is lost with a dropped operation is made anew.
    lanes: Box<[Cell<Option<Box<Lane>>>]>,
    /// The lanes' connections once more, for [`Session::facts`].
    streams: RefCell<Vec<Option<Stream>>>,
    opened: Box<[Cell<bool>]>,
    reconnects: Cell<u64>,
    reconnect_reasons: RefCell<Vec<ReconnectReason>>,
    /// What earlier connections carried.
    closed: RefCell<Vec<PathFacts>>,
    limits: TimeLimits,
}

impl MemcachedSession {
    /// Opens a session with a connection for each lane.
    pub(super) async fn open(
        reactor: &Reactor,
        config: Arc<MemcachedConfig>,
        context: &WorkerContext,
    ) -> Result<Self, DriverError> {
        let lanes = context.lanes.max(1) as usize;
        let session = Self {
            reactor: reactor.clone(),
            config,
            lanes: (0..lanes).map(|_| Cell::new(None)).collect(),
            streams: RefCell::new(vec![None; lanes]),
            opened: (0..lanes).map(|_| Cell::new(false)).collect(),
            reconnects: Cell::new(0),
            reconnect_reasons: RefCell::default(),
            closed: RefCell::default(),
            limits: TimeLimits::start(reactor, lanes, context.op_timeout),
            context: context.clone(),
        };
        // One first, so that a server that is not there is asked once; the others all at once.
        session.open_lane(0).await?;
        let rest = (1..lanes).map(|lane| session.open_lane(lane)).collect();
        for opened in crate::join::all(rest).await {
            opened?;
        }
        Ok(session)
    }

    async fn open_lane(&self, index: usize) -> Result<(), DriverError> {
        let mut lane = Box::new(Lane::default());
        let link = self.connect(index, None).await;
        lane.link = Some(link.map_err(|failure| DriverError::new(failure.kind, failure.detail))?);
        self.lanes[index].set(Some(lane));
        Ok(())
    }

    /// Makes a lane's connection, within the time for connecting; `lost` says why the one broke that it replaces.
    async fn connect(&self, index: usize, lost: Option<&str>) -> Result<Link, Failure> {
        self.note_closed(index);
        if self.opened[index].replace(true) {
            self.reconnects.set(self.reconnects.get() + 1);
            let why = lost.unwrap_or(TIMED_OUT);
            ReconnectReason::count(&mut self.reconnect_reasons.borrow_mut(), why, 1);
        }
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
        connections::show(&stream, "memcached", self.context.worker, index);
        self.streams.borrow_mut()[index] = Some(stream.clone());
        Ok(Link::Plain(stream))
    }

    /// Notes what is to be known of a connection that is given up.
    fn note_closed(&self, index: usize) {
        if let Some(stream) = self.streams.borrow_mut()[index].take() {
            connections::note_closed(&mut self.closed.borrow_mut(), &stream);
        }
    }

    /// Lets `exchange` use a lane's connection, which is made anew where it is not there. The connection stays when the answer
    /// was read to its end.
    pub(super) async fn on_lane<T>(
        &self,
        index: usize,
        exchange: impl AsyncFnOnce(&mut Lane, &mut Link) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut lane = self.lanes[index].take().unwrap_or_default();
        let link = match lane.link.take() {
            Some(link) => Ok(link),
            None => {
                lane.inbox.clear();
                let lost = lane.lost.take();
                self.connect(index, lost.as_deref()).await
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
        if lane.link.is_none() {
            self.note_closed(index);
        }
        self.lanes[index].set(Some(lane));
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
                // The lane and its connection went with the operation: a late answer cannot be taken for another's.
                self.note_closed(index);
                let detail = format!("not done within {:?}", self.context.op_timeout);
                Err(self.describe(op, ErrorKind::TimedOut, &detail))
            }
        }
    }

    fn facts(&self) -> SessionFacts {
        let closed = self.closed.borrow();
        SessionFacts {
            connections: self.streams.borrow().iter().flatten().map(ConnectionFacts::of).collect(),
            reconnects: self.reconnects.get(),
            reconnect_reasons: self.reconnect_reasons.borrow().clone(),
            closed_retransmits: closed.iter().map(|path| path.retransmits).sum(),
            closed_paths: closed.clone(),
            ..SessionFacts::default()
        }
    }
}
