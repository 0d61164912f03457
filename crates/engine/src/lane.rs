//! The load loop. There is one; everything that differs is a value that it asks.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use drivers::Session;
use reactor::Reactor;

use crate::pacer::Pacer;
use crate::recorder::Recorder;
use crate::source::Source;

/// Pause after the second error in a row of a lane; doubled with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// Doublings of the pause: it never exceeds 128 ms.
const MOST_DOUBLINGS: u32 = 7;

/// What the lanes of a worker share with each other and with nobody else.
pub(crate) struct Shared<'a> {
    pub reactor: &'a Reactor,
    pub pacer: Pacer,
    pub recorder: RefCell<Recorder>,
    /// Nothing is started from here on.
    pub end_ns: Cell<u64>,
    /// Nothing is waited for from here on.
    pub drain_end_ns: Cell<u64>,
    /// The stage was stopped: no final commits.
    pub stopped: Cell<bool>,
    /// Operations that were started.
    pub issued: Cell<u64>,
    /// Lanes that did their whole share.
    pub exhausted: Cell<u32>,
}

/// Keeps one operation in flight until the stage ends or the lane's share is done.
///
/// The end of one operation is the start of the next: the clock is read once an operation.
pub(crate) async fn run<S: Session>(
    shared: &Shared<'_>,
    session: &S,
    mut source: Source<'_>,
    mut budget: u64,
) {
    let mut now = shared.reactor.now();
    let mut failures = 0;
    while now < shared.end_ns.get() {
        let Some(op) = (if budget > 0 { source.peek() } else { None }) else {
            shared.exhausted.set(shared.exhausted.get() + 1);
            break;
        };
        let intended = shared.pacer.next(now);
        if intended > now {
            // Up to the end at most, but up to there: the window is as long as it was meant to be.
            shared.reactor.sleep_until(intended.min(shared.end_ns.get())).await;
            now = shared.reactor.now();
            if now >= shared.end_ns.get() {
                break;
            }
        }
        shared.issued.set(shared.issued.get() + 1);
        let result = session.perform(&op).await;
        let end = shared.reactor.now();
        shared.recorder.borrow_mut().record(op.kind, intended, now, end, &result);
        let error = result.err().map(|error| error.kind);
        source.finished(&op, error);
        budget -= 1;
        now = end;
        if error.is_none() {
            failures = 0;
        } else {
            failures += 1;
            now = pause(shared, failures, now).await;
        }
    }
    close(shared, session, &source).await;
}

/// Lets a target that keeps refusing breathe, and does not spin: nothing after a first error, then longer and longer.
#[cold]
fn pause(shared: &Shared<'_>, failures: u32, now: u64) -> impl Future<Output = u64> {
    let reactor = shared.reactor.clone();
    let end = shared.end_ns.get();
    async move {
        if failures < 2 {
            return now;
        }
        let pause = FIRST_PAUSE * 2u32.pow((failures - 2).min(MOST_DOUBLINGS));
        reactor.sleep_until((now + pause.as_nanos() as u64).min(end)).await;
        reactor.now()
    }
}

/// Commits the file that the lane was writing, after the window, so that what was acknowledged is also durable.
async fn close<S: Session>(shared: &Shared<'_>, session: &S, source: &Source<'_>) {
    let Some(op) = source.closing() else { return };
    if shared.stopped.get() {
        return;
    }
    let start = shared.reactor.now();
    let result = session.perform(&op).await;
    let end = shared.reactor.now();
    shared.recorder.borrow_mut().record_closing(start, end, &result);
    if let Source::Write(writer) = source {
        writer.closed(result.err().map(|error| error.kind));
    }
}
