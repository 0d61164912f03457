//! One worker's operations on an image.

use std::pin::pin;
use std::sync::Arc;

use metrics::{ErrorKind, OpKind};
use reactor::Reactor;

use super::RbdDriver;
use super::api::LibrbdZeroes;
use super::config::RbdConfig;
use super::flights::RbdCalls;
use super::image::RbdImage;
use crate::blocking_open::on_thread;
use crate::deadlines::TimeLimits;
use crate::failure::{Failure, compared};
use crate::flights::{AsyncLibrary, FlightDeck};
use crate::library::LibraryError;
use crate::{Done, DriverError, Op, OpError, Session, SessionFacts, Sink, WorkerContext};

/// One worker's side of an image.
pub struct RbdSession {
    config: Arc<RbdConfig>,
    context: WorkerContext,
    limits: TimeLimits,
    lanes: usize,
    writable: bool,
    /// Calls that write zeroes, which old libraries lack.
    zeroes: Result<LibrbdZeroes, LibraryError>,
    // The flights are dropped before the image they use.
    flights: FlightDeck<RbdCalls>,
    image: Arc<RbdImage>,
}

impl RbdSession {
    /// Opens the image, unless another worker has done so already.
    pub(super) async fn open(
        reactor: &Reactor,
        driver: &RbdDriver,
        context: &WorkerContext,
        writable: bool,
    ) -> Result<Self, DriverError> {
        let lanes = context.lanes.max(1) as usize;
        let (own, limit) = (driver.clone(), context.connect_timeout);
        // Opening takes longer than any limit if the image's placement groups do not answer.
        let open = move || own.image.get(&own.config, limit, writable);
        // Connecting has its own limit; opening may take as long again.
        let limit_ns = u64::try_from(2 * limit.as_nanos()).unwrap_or(u64::MAX);
        let end_ns = reactor.now().saturating_add(limit_ns);
        let opened = reactor.timeout_at(end_ns, on_thread(reactor, ("rbd-open", RbdCalls::NAME), open)).await;
        let image = opened.unwrap_or_else(|_| {
            let detail = format!(
                "it could not be opened within {limit:?}; next: look for placement groups that are not active (`ceph health \
                 detail`)"
            );
            Ok(Err(Failure::new(ErrorKind::TimedOut, detail)))
        })?;
        let image = image.map_err(|failure| driver.explained(failure))?;
        let zeroes = image.library.zeroes();
        let flights = FlightDeck::open(reactor, RbdCalls(&image.library.calls), lanes)?;
        Ok(Self {
            config: Arc::clone(&driver.config),
            limits: TimeLimits::start(reactor, lanes, context.op_timeout),
            context: context.clone(),
            lanes,
            writable,
            zeroes,
            flights,
            image,
        })
    }

    async fn run(&self, op: &Op, lane: usize) -> Result<Done, Failure> {
        let image = self.image.handle;
        let mut flight = self.flights.take(lane).await;
        let done = Done { rpcs: 1, bytes: op.payload_bytes(), ..Done::default() };
        // SAFETY (of all calls): the image is open as long as the session is, and the flight keeps its memory, which has
        // room for the operation, until librbd is done.
        match op.kind {
            OpKind::Read => {
                let (start, len) = self.range(op)?;
                flight.room(len);
                let came = flight
                    .fly(|api, completion, memory| unsafe {
                        (api.rbd_aio_read)(image, start, len, memory.buffer.as_mut_ptr().cast(), completion)
                    })
                    .await?;
                self.check(op, came, flight.room(len))?;
            }
            OpKind::Write => {
                let (start, len) = self.range_to_change(op)?;
                self.context.payload.fill_op(op, 0, flight.room(len));
                flight
                    .fly(|api, completion, memory| unsafe {
                        (api.rbd_aio_write)(image, start, len, memory.buffer.as_ptr().cast(), completion)
                    })
                    .await?;
            }
            OpKind::Trim => {
                let (start, len) = self.range_to_change(op)?;
                flight
                    .fly(|api, completion, _| unsafe {
                        match &self.zeroes {
                            Ok(api) if self.config.zeroes => {
                                (api.rbd_aio_write_zeroes)(image, start, len, completion, 0, 0)
                            }
                            _ => (api.rbd_aio_discard)(image, start, op.len, completion),
                        }
                    })
                    .await?;
            }
            OpKind::WriteZeroes => {
                let (start, len) = self.range_to_change(op)?;
                let api = self.zeroes.as_ref().map_err(|error| {
                    Failure::new(ErrorKind::Rejected, format!("this librbd writes no zeroes: {error}"))
                })?;
                flight
                    .fly(|_, completion, _| unsafe {
                        (api.rbd_aio_write_zeroes)(image, start, len, completion, 0, 0)
                    })
                    .await?;
            }
            OpKind::Commit => {
                flight.fly(|api, completion, _| unsafe { (api.rbd_aio_flush)(image, completion) }).await?;
            }
            other => {
                return Err(Failure::new(ErrorKind::Rejected, format!("an image has no operation {other}")));
            }
        }
        Ok(done)
    }

    /// Where the operation begins on the image, and its length.
    fn range(&self, op: &Op) -> Result<(u64, usize), Failure> {
        let start = op.object.saturating_mul(self.config.slice_bytes).saturating_add(op.offset);
        let bytes = self.image.bytes;
        match (start.checked_add(op.len), usize::try_from(op.len)) {
            (Some(end), Ok(len)) if end <= bytes => Ok((start, len)),
            _ => Err(Failure::new(ErrorKind::Length, format!("the image ends at {bytes}"))),
        }
    }

    fn range_to_change(&self, op: &Op) -> Result<(u64, usize), Failure> {
        if self.writable {
            return self.range(op);
        }
        let text = "nothing is written before the image was checked for what it holds: this is a fault of manometer's";
        Err(Failure::new(ErrorKind::Local, text))
    }

    /// Checks the length of what was read and, if wanted, its content.
    fn check(&self, op: &Op, came: i64, buffer: &[u8]) -> Result<(), Failure> {
        if came as u64 != op.len {
            let detail = format!("{came} bytes came where {} were asked for", op.len);
            return Err(Failure::new(ErrorKind::Length, detail));
        }
        if self.context.sink == Sink::Verify {
            compared(&self.context.payload, op, 0, buffer)?;
        }
        Ok(())
    }

    #[cold]
    fn describe(&self, op: &Op, Failure { kind, detail }: &Failure) -> OpError {
        let text = format!("{}{}, RBD image {}: {detail}", op.kind, op.range_words(), self.config.spec());
        OpError { rpcs: 1, ..OpError::new(*kind, text) }
    }
}

impl Session for RbdSession {
    async fn perform(&self, op: &Op) -> Result<Done, OpError> {
        let lane = op.lane as usize % self.lanes;
        let running = pin!(self.run(op, lane));
        self.limits.run(lane as u32, running).await.map_err(|failure| self.describe(op, &failure))
    }

    fn facts(&self) -> SessionFacts {
        SessionFacts { late_replies: self.flights.late(), ..SessionFacts::default() }
    }
}
