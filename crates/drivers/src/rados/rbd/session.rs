//! One worker's operations on an image.

use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;

use metrics::{ErrorKind, OpKind};
use reactor::{Reactor, Task};

use super::RbdDriver;
use super::api::LibrbdZeroes;
use super::config::RbdConfig;
use super::flights::Flights;
use super::image::RbdImage;
use crate::deadlines::TimeLimits;
use crate::failure::Failure;
use crate::{Done, DriverError, Op, OpError, Session, SessionFacts, Sink, WorkerContext};

/// One worker's side of an image.
pub struct RbdSession {
    config: Arc<RbdConfig>,
    context: WorkerContext,
    limits: TimeLimits,
    lanes: usize,
    writable: bool,
    /// Where trims write zeroes.
    zeroes: Option<LibrbdZeroes>,
    /// Passes on what librbd completes.
    arrivals: Option<Task>,
    // The flights are dropped before the image they use.
    flights: Rc<Flights>,
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
        let local = |error| DriverError::new(ErrorKind::Local, format!("no connection to librbd: {error}"));
        let (opened, opener) = reactor.completions::<Result<Arc<RbdImage>, Failure>>().map_err(local)?;
        let (own, limit) = (driver.clone(), context.connect_timeout);
        // Opening blocks, for longer than any limit if the image's placement groups do not answer.
        let open = move || opener.complete(own.image.get(&own.config, limit, writable));
        std::thread::Builder::new().name("rbd-open".to_owned()).spawn(open).map_err(local)?;
        let mut image = None;
        // Connecting has its own limit; opening may take as long again.
        let limit_ns = u64::try_from(2 * limit.as_nanos()).unwrap_or(u64::MAX);
        let end_ns = reactor.now().saturating_add(limit_ns);
        let waited = reactor.timeout_at(end_ns, opened.wait(|outcome| image = Some(outcome))).await;
        let silent = || {
            let detail = format!(
                "it could not be opened within {limit:?}; next: look for placement groups that are not active (`ceph health \
                 detail`)"
            );
            Failure::new(ErrorKind::TimedOut, detail)
        };
        let image = match (waited, image) {
            (Ok(_), Some(outcome)) => outcome,
            _ => Err(silent()),
        };
        let image = image.map_err(|failure| driver.explained(failure))?;
        let zeroes = if driver.config.zeroes { image.library.zeroes().ok() } else { None };
        let (completions, completer) = reactor.completions().map_err(local)?;
        let flights = Rc::new(Flights::new(reactor, &image.library.calls, lanes, &completer));
        let arriving = Rc::clone(&flights);
        let arrivals = reactor.spawn(async move {
            loop {
                completions.wait(|index| arriving.arrived(index)).await;
            }
        });
        Ok(Self {
            config: Arc::clone(&driver.config),
            limits: TimeLimits::start(reactor, lanes, context.op_timeout),
            context: context.clone(),
            lanes,
            writable,
            zeroes,
            arrivals: Some(arrivals),
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
                        (api.rbd_aio_read)(image, start, len, memory.cast(), completion)
                    })
                    .await?;
                self.check(op, came, flight.room(len))?;
            }
            OpKind::Write => {
                let (start, len) = self.range_to_change(op)?;
                self.context.payload.fill_op(op, 0, flight.room(len));
                flight
                    .fly(|api, completion, memory| unsafe {
                        (api.rbd_aio_write)(image, start, len, memory.cast_const().cast(), completion)
                    })
                    .await?;
            }
            OpKind::Trim => {
                let (start, len) = self.range_to_change(op)?;
                flight
                    .fly(|api, completion, _| unsafe {
                        match &self.zeroes {
                            Some(api) => (api.rbd_aio_write_zeroes)(image, start, len, completion, 0, 0),
                            None => (api.rbd_aio_discard)(image, start, op.len, completion),
                        }
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
    fn check(&self, op: &Op, came: isize, buffer: &[u8]) -> Result<(), Failure> {
        if came as u64 != op.len {
            let detail = format!("{came} bytes came where {} were asked for", op.len);
            return Err(Failure::new(ErrorKind::Length, detail));
        }
        if self.context.sink == Sink::Verify {
            let found = self.context.payload.verify_op(op, 0, buffer);
            found.map_err(|found| {
                Failure::new(ErrorKind::Corrupt, format!("not what was written: {found}"))
            })?;
        }
        Ok(())
    }

    #[cold]
    fn describe(&self, op: &Op, kind: ErrorKind, detail: &str) -> OpError {
        let range = match op.kind {
            OpKind::Read | OpKind::Write | OpKind::Trim => format!(" of {} bytes at {}", op.len, op.offset),
            _ => String::new(),
        };
        let text = format!("{}{range}, RBD image {}: {detail}", op.kind, self.config.spec());
        OpError { rpcs: 1, ..OpError::new(kind, text) }
    }
}

impl Session for RbdSession {
    async fn perform(&self, op: &Op) -> Result<Done, OpError> {
        let lane = op.lane as usize % self.lanes;
        let running = pin!(self.run(op, lane));
        match self.limits.wait(lane as u32, running).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(failure)) => Err(self.describe(op, failure.kind, &failure.detail)),
            Err(_) => {
                let detail = format!("not done within {:?}", self.context.op_timeout);
                Err(self.describe(op, ErrorKind::TimedOut, &detail))
            }
        }
    }

    fn facts(&self) -> SessionFacts {
        SessionFacts { late_replies: self.flights.late(), ..SessionFacts::default() }
    }
}

impl Drop for RbdSession {
    fn drop(&mut self) {
        if let Some(task) = self.arrivals.take() {
            task.abort();
        }
    }
}
