//! Runs a stage: starts the workers together, shows the intervals as they arrive, and adds everything up.

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

/// Minimum number of interval buffers per worker, besides the one being filled.
const MIN_SPARES: usize = 3;
/// Maximum number: an observer that is blocked longer misses intervals, which are counted.
const MAX_SPARES: usize = 30;
/// How long an observer may be blocked (by a slow disk that stores its results) without missing an interval.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time between the last worker being ready and the common start: enough for every thread to wake up.
const LEAD_NS: u64 = 5_000_000;
/// A last interval is announced at least this long before its end, so that all workers know in time.
const NOTICE_NS: u64 = Duration::from_millis(50).as_nanos() as u64;

/// Messages from workers to the thread that runs the stage.
#[derive(Debug)]
pub(crate) enum Message {
    /// Connected, and waiting for the start.
    Ready,
    /// A complete interval.
    Interval(u32, Interval),
    /// The worker is finished.
    Finished(u32, Box<Report>),
    /// The worker could not continue.
    Failed(StageError),
}

/// Runs one stage to its end. The observer receives each interval, merged over all workers, once it is complete.
///
/// # Errors
/// If the plan is faulty, or a worker cannot be started or connected, or panics. Failed operations are no error: they
/// are counted in the result.
pub fn run_stage<D: Driver>(
    driver: &D,
    plan: &StagePlan,
    control: &Control,
    observer: &mut dyn FnMut(&Interval),
) -> Result<StageResult, StageError> {
    // Given up if anything goes wrong before the start.
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
    // Capacity for everything that can be in transit at once, so that no worker ever blocks on sending.
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

/// Interval buffers per worker besides the one being filled: more of them for short intervals.
fn spares(plan: &StagePlan) -> usize {
    let wanted = PATIENCE.as_nanos().div_ceil(plan.interval.as_nanos().max(1));
    usize::try_from(wanted).unwrap_or(MAX_SPARES).clamp(MIN_SPARES, MAX_SPARES)
}

/// The workers' threads, as seen by the leading thread.
struct WorkerThreads<'a> {
    plan: &'a StagePlan,
    stop: Stop<'a>,
    /// The workers are on virtual clocks, and wait at the end of each interval until it was seen.
    simulated: bool,
    /// Sends each worker the common start; dropping the sender makes it quit.
    starts: Vec<Sender<u64>>,
    /// Returns emptied buffers to each worker.
    empties: Vec<SyncSender<Interval>>,
    /// Tells each worker which intervals were seen.
    seen: Vec<Sender<u32>>,
    /// Start of the measured window on the clock of real reactors.
    window_start_ns: u64,
    /// Errors in the intervals seen so far.
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

    /// Starts the workers together and processes their messages until the last has ended.
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
        // A stage stopped while waiting for others begins and ends at once.
        let common_ns = common_ns.unwrap_or_else(reactor::clock::now_ns);
        let start_ns = common_ns.saturating_add(nanoseconds(self.plan.beside.start_delay));
        self.window_start_ns = start_ns.saturating_add(nanoseconds(self.plan.ramp));
        self.starts.drain(..).for_each(|start| {
            // A worker that is gone has reported why.
            let _ = start.send(start_ns);
        });
    }

    /// Shows an interval of all workers, and passes on the consequences.
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
            // Once announced, a last interval may move earlier but not later: some worker may already have ended with
            // it.
            let agreed = last.max(self.soonest_end(whole.index));
            signals.last_interval.fetch_min(agreed, Ordering::Relaxed);
        }
        if self.simulated {
            self.seen.iter().for_each(|worker| {
                // A finished worker no longer listens.
                let _ = worker.send(whole.index);
            });
        }
    }

    /// The first interval whose end no worker can have reached without being told, given the one just seen.
    fn soonest_end(&self, seen: u32) -> u32 {
        if self.simulated {
            return seen;
        }
        let since = (reactor::clock::now_ns() + NOTICE_NS).saturating_sub(self.window_start_ns);
        u32::try_from(since / nanoseconds(self.plan.interval)).unwrap_or(u32::MAX)
    }
}

/// The message of a panic.
fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
