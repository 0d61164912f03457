//! Running a stage: starts the workers together, shows the intervals as they come, and adds everything up.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, Scope};
use std::time::Duration;

use drivers::Driver;
use metrics::Interval;

use reactor::live::WorkerEntry;

use crate::merge::Merger;
use crate::recorder::WorkerChannels;
use crate::rendezvous::Seat;
use crate::sum::{Ending, add_up};
use crate::supervisor::{Signals, Stop};
use crate::worker::{self, Report, nanoseconds};
use crate::{Control, StageError, StagePlan, StageResult};

/// Buffers for intervals that a worker has besides the one it fills.
const MIN_SPARES: usize = 3;
/// And at most: an observer that is held up longer misses intervals, which are counted.
const MAX_SPARES: usize = 30;
/// For so long an observer may be held up (a disk that takes its results is slow) without missing an interval.
const PATIENCE: Duration = Duration::from_secs(3);
/// Between the last worker's readiness and the common start: enough for every thread to wake up.
const LEAD_NS: u64 = 5_000_000;
/// A last interval is named at least so long before its end, so that all workers know of it by then.
const NOTICE_NS: u64 = Duration::from_millis(50).as_nanos() as u64;

/// What workers tell the thread that runs the stage.
#[derive(Debug)]
pub(crate) enum Message {
    /// Connected, and waiting for the start.
    Ready,
    /// An interval that is complete.
    Interval(u32, Interval),
    /// All done.
    Finished(u32, Box<Report>),
    /// It could not go on.
    Failed(StageError),
}

/// Runs one stage to its end. The observer gets each interval, merged over all workers, when it is complete.
///
/// # Errors
/// When the plan is faulty, a worker cannot be started or connected, or panics. Operations that fail are no error:
/// they are counted in the result.
pub fn run_stage<D: Driver>(
    driver: &D,
    plan: &StagePlan,
    control: &Control,
    observer: &mut dyn FnMut(&Interval),
) -> Result<StageResult, StageError> {
    // Given up, whatever goes wrong before the start.
    let mut seat = Seat::new(plan.beside.rendezvous.clone());
    if let Some(fault) = plan.fault() {
        return Err(StageError::Plan(fault));
    }
    if control.is_stopped() {
        return Err(StageError::Stopped);
    }
    control.begin();
    let signals = Signals::new(plan.error_limit);
    let stop = Stop { control, signals: &signals };
    // Room for all that can be under way at once, so that no worker ever waits to send.
    let (sender, messages) = sync_channel(plan.workers as usize * (spares(plan) + 3));
    std::thread::scope(|scope| {
        let mut workers = WorkerThreads::new(driver.virtual_clock(), plan, stop);
        for worker in 0..plan.workers {
            if let Err(error) = workers.spawn(scope, driver, worker, &sender) {
                signals.failed.store(true, Ordering::Relaxed);
                return Err(StageError::Thread { worker, error });
            }
        }
        drop(sender);
        let reports = workers.lead(&messages, &mut seat, observer)?;
        let ending = Ending {
            unseen: reports.iter().map(|report| u64::from(report.measured.unseen)).sum(),
            stopped: control.is_stopped(),
            error_limit_reached: signals.too_many_errors.load(Ordering::Relaxed),
        };
        Ok(add_up(plan, reports, ending))
    })
}

/// Buffers for intervals that each worker has besides the one it fills: more of them when intervals are short.
fn spares(plan: &StagePlan) -> usize {
    let wanted = PATIENCE.as_nanos().div_ceil(plan.interval.as_nanos().max(1));
    usize::try_from(wanted).unwrap_or(MAX_SPARES).clamp(MIN_SPARES, MAX_SPARES)
}

/// The workers' threads, seen from the one that leads them.
struct WorkerThreads<'a> {
    plan: &'a StagePlan,
    stop: Stop<'a>,
    /// The workers are on virtual clocks, and wait at the end of each interval until it was seen.
    simulated: bool,
    /// Where each waits for the common start; dropped, it goes home.
    starts: Vec<Sender<u64>>,
    /// Where each gets its emptied buffers back.
    empties: Vec<SyncSender<Interval>>,
    /// Where each hears which intervals were seen.
    seen: Vec<Sender<u32>>,
    /// When the measured window begins on the clock of real reactors.
    window_start_ns: u64,
    /// Errors in the intervals that were seen.
    errors: u64,
}

impl<'a> WorkerThreads<'a> {
    fn new(simulated: bool, plan: &'a StagePlan, stop: Stop<'a>) -> Self {
        WorkerThreads {
            plan,
            stop,
            simulated,
            starts: Vec::new(),
            empties: Vec::new(),
            seen: Vec::new(),
            window_start_ns: 0,
            errors: 0,
        }
    }

    fn spawn<'scope, D: Driver>(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        driver: &'scope D,
        worker: u32,
        sender: &SyncSender<Message>,
    ) -> std::io::Result<()>
    where
        'a: 'scope,
    {
        let (start, started) = channel();
        let (empty, empties) = sync_channel(spares(self.plan));
        let (see, seen) = channel();
        for _ in 0..spares(self.plan) {
            let spare = Interval::with_room(&self.plan.kinds(), self.plan.is_open_loop());
            empty.try_send(spare).expect("the channel was made for as many");
        }
        let sender = sender.clone();
        let (plan, stop) = (self.plan, self.stop);
        let work = move || {
            let _listed = WorkerEntry::of_this_thread(plan.beside.scope, worker);
            let ways = WorkerChannels { full: sender.clone(), empty: empties, seen };
            let run = || -> Result<Option<Report>, StageError> {
                let connected = worker::connect(driver, plan, worker, stop)?;
                let _ = sender.send(Message::Ready);
                let start = started.recv().ok();
                Ok(start.map(|start_ns| connected.run(plan, worker, start_ns, stop, ways)))
            };
            let message = match catch_unwind(AssertUnwindSafe(run)) {
                Ok(Ok(Some(report))) => Message::Finished(worker, Box::new(report)),
                Ok(Ok(None)) => return,
                Ok(Err(error)) => Message::Failed(error),
                Err(panic) => Message::Failed(StageError::Panicked { worker, message: text_of(&*panic) }),
            };
            let _ = sender.send(message);
        };
        Builder::new().name(format!("worker-{worker}")).spawn_scoped(scope, work)?;
        self.starts.push(start);
        self.empties.push(empty);
        self.seen.push(see);
        Ok(())
    }

    /// Starts the workers together and listens to them until the last has gone.
    fn lead(
        mut self,
        messages: &Receiver<Message>,
        seat: &mut Seat,
        observer: &mut dyn FnMut(&Interval),
    ) -> Result<Vec<Report>, StageError> {
        let workers = self.starts.len();
        let mut reports: Vec<Option<Report>> = (0..workers).map(|_| None).collect();
        let mut merger = Merger::new(workers);
        let mut ready = 0;
        let mut failure = None;
        // The channel closes when the last worker's thread has ended.
        for message in messages {
            match message {
                Message::Ready => {
                    ready += 1;
                    if ready == workers && failure.is_none() {
                        self.start(seat);
                    }
                }
                Message::Interval(worker, mut interval) => {
                    merger.add(worker, &interval, &mut |whole| self.show(whole, observer));
                    interval.clear();
                    let _ = self.empties[worker as usize].try_send(interval);
                }
                Message::Finished(worker, report) => {
                    merger.finish(worker, &mut |whole| self.show(whole, observer));
                    reports[worker as usize] = Some(*report);
                }
                Message::Failed(error) => {
                    self.stop.signals.failed.store(true, Ordering::Relaxed);
                    self.starts.clear();
                    self.seen.clear();
                    let keep = failure.take();
                    failure =
                        Some(keep.filter(|first| !matches!(first, StageError::Stopped)).unwrap_or(error));
                }
            }
        }
        match failure {
            Some(failure) => Err(failure),
            None => Ok(reports.into_iter().flatten().collect()),
        }
    }

    fn start(&mut self, seat: &mut Seat) {
        let stop = self.stop;
        let common_ns = seat.meet(LEAD_NS, &|| stop.is_set());
        // Who is stopped while it waits for others begins, and ends, at once.
        let common_ns = common_ns.unwrap_or_else(reactor::clock::now_ns);
        let start_ns = common_ns.saturating_add(nanoseconds(self.plan.beside.start_delay));
        self.window_start_ns = start_ns.saturating_add(nanoseconds(self.plan.ramp));
        self.starts.drain(..).for_each(|start| {
            // A worker that is gone has said why.
            let _ = start.send(start_ns);
        });
    }

    /// Shows an interval of all workers, and passes on what follows from it.
    fn show(&mut self, whole: &Interval, observer: &mut dyn FnMut(&Interval)) {
        observer(whole);
        self.errors += whole.failed();
        let signals = self.stop.signals;
        let mut last = self.stop.control.last_interval();
        if self.simulated && self.plan.workers > 1 && self.errors >= signals.error_limit {
            signals.too_many_errors.store(true, Ordering::Relaxed);
            last = Some(whole.index);
        }
        if let Some(last) = last {
            // Once named, a last interval may come sooner, not later: some worker may have ended with it.
            let agreed = last.max(self.soonest_end(whole.index));
            signals.last_interval.fetch_min(agreed, Ordering::Relaxed);
        }
        if self.simulated {
            self.seen.iter().for_each(|worker| {
                // One that has finished does not listen any more.
                let _ = worker.send(whole.index);
            });
        }
    }

    /// The first interval whose end no worker can have come to without hearing of it, given the one that was just seen.
    fn soonest_end(&self, seen: u32) -> u32 {
        if self.simulated {
            return seen;
        }
        let since = (reactor::clock::now_ns() + NOTICE_NS).saturating_sub(self.window_start_ns);
        u32::try_from(since / nanoseconds(self.plan.interval)).unwrap_or(u32::MAX)
    }
}

/// What a panic said.
fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
