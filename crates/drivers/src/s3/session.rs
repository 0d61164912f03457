//! One worker's connections, one per lane, and the operations on them.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use metrics::{ErrorKind, OpKind, ProcedureStats};
use reactor::{Reactor, SocketOptions, clock};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use wire::sigv4::Signer;

use super::addressing::Addressing;
use super::config::S3Config;
use super::exchange::{Counts, Expect, Wanted};
use super::failure::{Again, Failure};
use super::lane::Lane;
use super::request::{Body, Request};
use crate::deadlines::TimeLimits;
use crate::lane_connections::LaneConnections;
use crate::link::Link;
use crate::paths::{Paths, SourceAddress};
use crate::tls_link::TlsLink;
use crate::{Done, DriverError, Op, OpError, Session, SessionFacts, Sink, WorkerContext};

/// State shared by all sessions of a driver.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) config: S3Config,
    pub(super) addressing: Addressing,
    /// Addresses to connect to; never empty.
    pub(super) addresses: Vec<SocketAddr>,
    /// For `https`.
    pub(super) tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

impl Shared {
    /// The service in messages: its endpoint, and the address where that differs.
    pub(super) fn place(&self) -> String {
        let endpoint = &self.config.endpoint;
        let own = |address: &SocketAddr| {
            address.ip().to_string() == endpoint.host && address.port() == endpoint.port
        };
        match self.config.connect_to {
            Some(address) if !own(&address) => format!("{endpoint} through {address}"),
            _ => endpoint.to_string(),
        }
    }
}

/// One worker's side of an S3 target. HTTP/1.1 has one request in flight per connection, so every lane has its own.
pub struct S3Session {
    pub(super) reactor: Reactor,
    pub(super) shared: Arc<Shared>,
    pub(super) context: WorkerContext,
    pub(super) signer: RefCell<Signer>,
    pub(super) lanes: LaneConnections<Lane>,
    pub(super) retries: Cell<u64>,
    /// The pages that each lane's last operation listed, if it listed any.
    pub(super) listed: Vec<Cell<Option<ProcedureStats>>>,
    random: Cell<u64>,
    limits: TimeLimits,
}

impl S3Session {
    /// Opens a session with a connection for each lane.
    pub(super) async fn open(
        reactor: &Reactor,
        shared: Arc<Shared>,
        context: &WorkerContext,
    ) -> Result<Self, DriverError> {
        if context.sink == Sink::Discard && shared.tls.is_some() {
            return Err(DriverError::new(
                ErrorKind::Rejected,
                format!(
                    "sink discard does not work with {}: TLS must see the bytes to decrypt them; use http or another sink",
                    shared.config.endpoint
                ),
            ));
        }
        let session = Self::new(reactor, shared, context);
        session.lanes.open(async |lane| session.first_connection(lane).await).await?;
        Ok(session)
    }

    /// A session without connections.
    fn new(reactor: &Reactor, shared: Arc<Shared>, context: &WorkerContext) -> Self {
        let lanes = LaneConnections::new(context.lanes);
        let config = &shared.config;
        let secret = config.credentials.secret_key.reveal();
        Self {
            reactor: reactor.clone(),
            signer: RefCell::new(Signer::new(&config.credentials.access_key, secret, &config.region, "s3")),
            retries: Cell::new(0),
            random: Cell::new(config.retry_seed ^ u64::from(context.worker) << 32),
            listed: (0..lanes.len()).map(|_| Cell::new(None)).collect(),
            limits: TimeLimits::start(reactor, lanes.len(), context.op_timeout),
            lanes,
            context: context.clone(),
            shared,
        }
    }

    async fn first_connection(&self, index: usize) -> Result<Link, DriverError> {
        self.connect(index, None).await.map_err(|failure| {
            let (source, at) = self.way(index);
            let address = self.shared.addresses[at];
            let from = source.map(|source| format!(" from {}", source.address)).unwrap_or_default();
            DriverError::new(
                failure.kind,
                format!("S3 endpoint {} at {address}{from}: {}", self.shared.config.endpoint, failure.detail),
            )
        })
    }

    /// Opens a lane's connection within the connect timeout. `lost` says why the previous one broke, if there was one.
    pub(super) async fn connect(&self, index: usize, lost: Option<&str>) -> Result<Link, Failure> {
        self.lanes.connecting(index, lost);
        let span = self.context.connect_timeout;
        let deadline = self.reactor.now().saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX));
        match self.reactor.timeout_at(deadline, self.connect_somewhere(index)).await {
            Ok(Ok(link)) => {
                self.lanes.connected(index, link.stream(), "s3", self.context.worker);
                Ok(link)
            }
            Ok(Err(failure)) => Err(failure),
            Err(_) => Err(Failure {
                again: Again::AfterPause,
                ..Failure::new(ErrorKind::ConnectFailed, format!("no connection within {span:?}"))
            }),
        }
    }

    /// The source of a lane's connection, and the index of the server address.
    fn way(&self, index: usize) -> (Option<&SourceAddress>, usize) {
        let number = u64::from(self.context.worker) * self.lanes.len() as u64 + index as u64;
        self.shared.config.paths.of(number, self.shared.addresses.len())
    }

    async fn connect_somewhere(&self, index: usize) -> Result<Link, Failure> {
        let addresses = &self.shared.addresses;
        let config = &self.shared.config;
        let (source, first) = self.way(index);
        let options = Paths::options(source, SocketOptions::default());
        // Any address of a host name will do; addresses that the user listed each get their share, or fail.
        let turns = if config.addresses.is_empty() { addresses.len() } else { 1 };
        let mut failure = None;
        for turn in 0..turns {
            let address = addresses[(first + turn) % addresses.len()];
            let stream = match self.reactor.connect(address, &options).await {
                Ok(stream) => stream,
                Err(error) => {
                    failure = Some(Failure::unreachable(&error));
                    continue;
                }
            };
            let Some((config, name)) = &self.shared.tls else { return Ok(Link::Plain(stream)) };
            let link = TlsLink::open(stream, Arc::clone(config), name.clone()).await;
            return link.map(|link| Link::Tls(Box::new(link))).map_err(|error| Failure::unreachable(&error));
        }
        Err(failure.expect("there is at least one address"))
    }

    /// The signer, set to the current second.
    pub(super) fn sign_now<T>(&self, sign: impl FnOnce(&mut Signer) -> T) -> T {
        let now = clock::wall().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let mut signer = self.signer.borrow_mut();
        signer.set_time(now);
        sign(&mut signer)
    }

    /// A random number from 0 to 1, derived from the seed.
    pub(super) fn random(&self) -> f64 {
        let mut generator = fastrand::Rng::with_seed(self.random.get());
        let number = generator.f64();
        self.random.set(generator.u64(..));
        number
    }

    async fn run(&self, op: &Op, index: usize, counts: &Counts) -> Result<Done, Failure> {
        let mut lane = self.lanes.take(index);
        let object = self.shared.addressing.subject(op);
        let done = match op.kind {
            _ if self.shared.addressing.by_blocks() => self.block(&mut lane, index, op, counts).await,
            OpKind::Put => self.put(&mut lane, index, op, counts).await,
            OpKind::Get => self.get(&mut lane, index, op, counts).await,
            OpKind::Read if op.len == 0 => Ok(Done::default()),
            OpKind::Read => {
                let request = Request { range: Some((op.offset, op.len)), ..Request::new("GET", object) };
                let wanted = Wanted { op: *op, offset: op.offset, len: op.len };
                let expect = Expect::Payload { wanted, ranged: true };
                let answer = self.request(&mut lane, index, &request, expect, counts).await;
                answer.map(|answer| Done {
                    bytes: op.len,
                    first_byte_ns: answer.first_byte_ns,
                    ..Done::default()
                })
            }
            OpKind::Stat => {
                let request = Request::new("HEAD", object);
                self.request(&mut lane, index, &request, Expect::Nothing, counts)
                    .await
                    .map(|_| Done::default())
            }
            OpKind::Delete | OpKind::Remove => {
                let request = Request::new("DELETE", object);
                self.request(&mut lane, index, &request, Expect::Nothing, counts)
                    .await
                    .map(|_| Done::default())
            }
            OpKind::List => {
                let listed = self.list_pages(&mut lane, index, counts, None, |_| Ok(())).await;
                listed.map(|_| Done::default())
            }
            OpKind::ListPrefixes => {
                let listed = self.list_pages(&mut lane, index, counts, Some("/"), |_| Ok(())).await;
                listed.map(|_| Done::default())
            }
            OpKind::Copy => self.copy(&mut lane, index, op, counts).await,
            OpKind::PutTagging => self.put_tags(&mut lane, index, op, counts).await,
            OpKind::GetTagging => self.get_tags(&mut lane, index, op, counts).await,
            OpKind::BatchDelete => self.delete_batch(&mut lane, index, op, counts).await,
            OpKind::Write
            | OpKind::Create
            | OpKind::Commit
            | OpKind::Trim
            | OpKind::Access
            | OpKind::Chmod
            | OpKind::Truncate
            | OpKind::Rename
            | OpKind::Link
            | OpKind::Symlink
            | OpKind::Readlink
            | OpKind::Mkdir
            | OpKind::Rmdir
            | OpKind::Append
            | OpKind::Readdir
            | OpKind::Setxattr
            | OpKind::Getxattr
            | OpKind::Open
            | OpKind::Close
            | OpKind::WriteFile
            | OpKind::ReadFile
            | OpKind::Overwrite
            | OpKind::TruncateOverwrite
            | OpKind::OmapSet
            | OpKind::OmapGet
            | OpKind::Exec
            | OpKind::WriteZeroes => {
                Err(Failure::new(ErrorKind::Rejected, format!("S3 has no operation {}", op.kind)))
            }
        };
        self.lanes.give_back(index, lane);
        done
    }

    /// Writes the operation's whole object.
    pub(super) async fn put(
        &self,
        lane: &mut Lane,
        index: usize,
        op: &Op,
        counts: &Counts,
    ) -> Result<Done, Failure> {
        if op.len > self.shared.config.part_size {
            return self.put_parts(lane, index, op, counts).await;
        }
        let body = Body::Payload { op: *op, from: 0, len: op.len };
        let request = Request { body, ..Request::new("PUT", self.shared.addressing.subject(op)) };
        self.request(lane, index, &request, Expect::Nothing, counts).await?;
        Ok(Done { bytes: op.len, ..Done::default() })
    }

    /// Reads the operation's whole object.
    pub(super) async fn get(
        &self,
        lane: &mut Lane,
        index: usize,
        op: &Op,
        counts: &Counts,
    ) -> Result<Done, Failure> {
        let wanted = Wanted { op: *op, offset: 0, len: op.len };
        let expect = Expect::Payload { wanted, ranged: false };
        let request = Request::new("GET", self.shared.addressing.subject(op));
        let answer = self.request(lane, index, &request, expect, counts).await?;
        Ok(Done { bytes: op.len, first_byte_ns: answer.first_byte_ns, ..Done::default() })
    }

    fn describe(&self, op: &Op, failure: &Failure, counts: &Counts) -> OpError {
        let config = &self.shared.config;
        let mut key = self.shared.addressing.key_of(op);
        if matches!(op.kind, OpKind::Copy | OpKind::BatchDelete) {
            key = format!("{key} to {}", self.shared.addressing.key(op.other));
        }
        let mut error = OpError::new(
            failure.kind,
            format!(
                "{} s3://{}/{key} at {}: {}",
                op.kind,
                config.bucket,
                self.shared.place(),
                failure.detail
            ),
        );
        error.retries = counts.retries.get();
        error.rpcs = counts.rpcs.get();
        error
    }
}

impl Session for S3Session {
    async fn perform(&self, op: &Op) -> Result<Done, OpError> {
        let index = op.lane as usize % self.lanes.len();
        self.listed[index].set(None);
        let span = u64::try_from(self.context.op_timeout.as_nanos()).unwrap_or(u64::MAX);
        let counts = Counts::until(self.reactor.now().saturating_add(span));
        let running = pin!(self.run(op, index, &counts));
        match self.limits.wait(index as u32, running).await {
            Ok(Ok(done)) => Ok(Done { rpcs: counts.rpcs.get(), retries: counts.retries.get(), ..done }),
            Ok(Err(failure)) => Err(self.describe(op, &failure, &counts)),
            Err(_) => {
                self.lanes.gave_up(index);
                let detail = format!("not done within {:?}: {}", self.context.op_timeout, counts.state());
                Err(self.describe(op, &Failure::new(ErrorKind::TimedOut, detail), &counts))
            }
        }
    }

    #[inline]
    fn visit_procedures(&self, lane: u32, mut visit: impl FnMut(&ProcedureStats)) {
        if let Some(listed) = self.listed[lane as usize % self.lanes.len()].get() {
            visit(&listed);
        }
    }

    fn facts(&self) -> SessionFacts {
        SessionFacts { retries: self.retries.get(), ..self.lanes.facts() }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Payload;
    use crate::s3::{Credentials, S3Driver};

    /// An operation without progress ends at its deadline, on the virtual clock: connecting is impossible there, and
    /// the pauses between attempts exceed the operation's time limit.
    #[test]
    fn an_operation_ends_at_its_deadline() {
        const LIMIT: Duration = Duration::from_millis(20);
        let endpoint = "http://127.0.0.1:9".parse().expect("an endpoint");
        let credentials = Credentials::new("key", "secret");
        let driver = S3Driver::new(S3Config::new(endpoint, "bucket", "ours", credentials)).expect("a driver");
        let reactor = Reactor::simulated();
        let context = WorkerContext {
            worker: 0,
            lanes: 2,
            payload: Payload::new(1),
            sink: Sink::Buffer,
            op_timeout: LIMIT,
            connect_timeout: LIMIT,
        };
        let session = S3Session::new(&reactor, driver.shared, &context);
        let start = reactor.now();
        let op = Op { len: 4096, ..Op::new(OpKind::Get, 1, 1) };
        let error = reactor.block_on(session.perform(&op)).expect_err("there is no server");
        assert_eq!(error.kind, ErrorKind::TimedOut, "{error}");
        assert_eq!(Duration::from_nanos(reactor.now() - start), LIMIT);
    }
}
