//! Running a stage: starts the workers together, shows the intervals as they come, and adds everything up.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, Scope};

use drivers::Driver;
use metrics::Interval;

use crate::merge::Merger;
use crate::supervisor::Stop;
use crate::worker::{self, Report};
use crate::{Control, StageError, StagePlan, StageResult, result};

/// Buffers for intervals that a worker has besides the one it fills.
const SPARES: usize = 3;
/// Between the last worker's readiness and the common start: enough for every thread to wake up.
const LEAD_NS: u64 = 5_000_000;

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
    if let Some(fault) = plan.fault() {
        return Err(StageError::Plan(fault));
    }
    if control.is_stopped() {
        return Err(StageError::Stopped);
    }
    let failed = AtomicBool::new(false);
    let stop = Stop { control, failed: &failed };
    // Room for all that can be under way at once, so that no worker ever waits to send.
    let (sender, messages) = sync_channel(plan.workers as usize * (SPARES + 3));
    std::thread::scope(|scope| {
        let mut crew = Crew { starts: Vec::new(), empties: Vec::new() };
        for worker in 0..plan.workers {
            if let Err(error) = crew.hire(scope, driver, plan, worker, stop, &sender) {
                failed.store(true, Ordering::Relaxed);
                return Err(StageError::Thread { worker, error });
            }
        }
        drop(sender);
        let reports = crew.lead(&messages, &failed, observer);
        let (reports, unseen) = reports?;
        Ok(result::add_up(plan, reports, unseen, control.is_stopped()))
    })
}

/// The workers' threads, seen from the one that leads them.
struct Crew {
    /// Where each waits for the common start; dropped, it goes home.
    starts: Vec<Sender<u64>>,
    /// Where each gets its emptied buffers back.
    empties: Vec<SyncSender<Interval>>,
}

impl Crew {
    fn hire<'scope, D: Driver>(
        &mut self,
        scope: &'scope Scope<'scope, '_>,
        driver: &'scope D,
        plan: &'scope StagePlan,
        worker: u32,
        stop: Stop<'scope>,
        sender: &SyncSender<Message>,
    ) -> std::io::Result<()> {
        let (start, started) = channel();
        let (empty, empties) = sync_channel(SPARES);
        for _ in 0..SPARES {
            empty.try_send(Interval::default()).expect("the channel was made for as many");
        }
        let sender = sender.clone();
        let work = move || {
            let spares = (sender.clone(), empties);
            let run = || -> Result<Option<Report>, StageError> {
                let connected = worker::connect(driver, plan, worker, stop)?;
                let _ = sender.send(Message::Ready);
                let start = started.recv().ok();
                Ok(start.map(|start_ns| connected.run(plan, worker, start_ns, stop, spares)))
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
        Ok(())
    }

    /// Starts the workers together and listens to them until the last has gone.
    fn lead(
        mut self,
        messages: &Receiver<Message>,
        failed: &AtomicBool,
        observer: &mut dyn FnMut(&Interval),
    ) -> Result<(Vec<Report>, u64), StageError> {
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
                        let start_ns = reactor::clock::now_ns() + LEAD_NS;
                        self.starts.drain(..).for_each(|start| {
                            // A worker that is gone has said why.
                            let _ = start.send(start_ns);
                        });
                    }
                }
                Message::Interval(worker, mut interval) => {
                    merger.add(worker, &interval, observer);
                    interval.clear();
                    let _ = self.empties[worker as usize].try_send(interval);
                }
                Message::Finished(worker, report) => {
                    merger.finish(worker, observer);
                    reports[worker as usize] = Some(*report);
                }
                Message::Failed(error) => {
                    failed.store(true, Ordering::Relaxed);
                    self.starts.clear();
                    let keep = failure.take();
                    failure =
                        Some(keep.filter(|first| !matches!(first, StageError::Stopped)).unwrap_or(error));
                }
            }
        }
        match failure {
            Some(failure) => Err(failure),
            None => {
                let reports: Vec<Report> = reports.into_iter().flatten().collect();
                let unseen = reports.iter().map(|report| u64::from(report.measured.unseen)).sum();
                Ok((reports, unseen))
            }
        }
    }
}

/// What a panic said.
fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
