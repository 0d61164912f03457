//! The load loop. There is only one; everything that differs is a value that it queries.

use std::cell::{Cell, RefCell};
use std::time::Duration;

use drivers::{Done, Op, OpError, Session};
use metrics::{ErrorKind, OpKind};
use reactor::Reactor;

use crate::pacer::Pacer;
use crate::recorder::Recorder;
use crate::source::{Next, Source};
use crate::supervisor::Stop;
use crate::trace::{TraceRecord, Tracer};

/// Pause after a lane's second consecutive error; doubled with each further one.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// Doublings of the pause: it never exceeds 128 ms.
const MAX_DOUBLINGS: u32 = 7;
/// A lane that waits for an intended start checks this often, because the end may come earlier than planned.
const LONGEST_NAP_NS: u64 = Duration::from_millis(100).as_nanos() as u64;

/// What the lanes of a worker share with each other and with nobody else.
pub(crate) struct Shared<'a> {
    pub reactor: &'a Reactor,
    pub pacer: Pacer,
    pub recorder: RefCell<Recorder<'a>>,
    /// Samples the connections; called with the current time and the window's end at interval boundaries.
    pub look: &'a dyn Fn(u64, u64),
    /// Channel to the thread that writes the operation log.
    pub tracer: Option<RefCell<Tracer>>,
    pub stop: Stop<'a>,
    /// One of several workers on virtual clocks: they synchronise at the end of each interval.
    pub lockstep: bool,
    /// Nothing starts from this time on.
    pub end_ns: Cell<u64>,
    /// Waiting for operations in flight ends at this time.
    pub drain_end_ns: Cell<u64>,
    /// How long to wait for operations in flight at the end.
    pub drain_ns: u64,
    /// The stage was stopped: no final commits.
    pub stopped: Cell<bool>,
    /// Number of operations started.
    pub issued: Cell<u64>,
    /// Longest delay in waking up inside the window: the process was stopped, or got no core.
    pub longest_pause_ns: Cell<u64>,
    /// Number of lanes that finished their whole share.
    pub exhausted: Cell<u32>,
}

impl Shared<'_> {
    /// Closes the intervals that end at `now` or before; the window may turn out to end with one of them.
    #[inline]
    pub(crate) fn advance(&self, now: u64) {
        if now >= self.recorder.borrow().next_cut() {
            self.cut(now);
        }
    }

    #[cold]
    fn cut(&self, now: u64) {
        let mut recorder = self.recorder.borrow_mut();
        recorder.advance(now);
        let end = recorder.window_end();
        self.note_end(end);
        (self.look)(now, end);
    }

    /// Ends the window at `at`, unless it has already ended.
    pub(crate) fn end_window(&self, at: u64) {
        let mut recorder = self.recorder.borrow_mut();
        recorder.truncate(at);
        self.note_end(at.min(recorder.window_end()));
        (self.look)(at, self.end_ns.get());
    }

    /// Counts an error that ended at `end`; it may be the one that ends the stage.
    #[cold]
    fn count_error(&self, end: u64) {
        let limited = self.stop.signals.error_limit != u64::MAX && end < self.end_ns.get();
        if limited && !self.lockstep && self.stop.count_error() {
            // The window closes right after this error, so that it is included; nothing starts any more.
            self.recorder.borrow_mut().truncate(end + 1);
            self.note_end(end);
        }
    }

    fn note_end(&self, end_ns: u64) {
        if end_ns < self.end_ns.get() {
            self.end_ns.set(end_ns);
            self.drain_end_ns.set(end_ns.saturating_add(self.drain_ns));
        }
    }
}

/// Keeps one operation in flight until the stage ends or the lane's share is finished.
///
/// The end of one operation is the start of the next: the clock is read once per operation.
pub(crate) async fn run<S: Session>(
    shared: &Shared<'_>,
    session: &S,
    mut source: Source<'_>,
    mut budget: u64,
) {
    let mut now = shared.reactor.now();
    let mut failures = 0;
    while now < shared.end_ns.get() {
        let next = if budget > 0 { source.next(now) } else { Next::Done };
        let (op, intended) = match next {
            Next::Op(op) => (op, shared.pacer.next(now)),
            Next::Late(op, intended) => (op, intended),
            Next::Wait(until) => {
                now = wait_for(shared, until).await;
                continue;
            }
            Next::Park => {
                let until = shared.end_ns.get().min(now + LONGEST_NAP_NS);
                source.park(shared.reactor, until).await;
                now = shared.reactor.now();
                shared.advance(now);
                continue;
            }
            Next::Done => {
                shared.exhausted.set(shared.exhausted.get() + 1);
                break;
            }
        };
        if intended > now {
            now = wait_for(shared, intended).await;
            if now >= shared.end_ns.get() {
                shared.pacer.given_back(intended, shared.end_ns.get());
                source.not_begun(&op);
                break;
            }
        }
        shared.pacer.begun(intended, now);
        let number = shared.issued.get();
        shared.issued.set(number + 1);
        source.begin(&op);
        let mut result = session.perform(&op).await;
        let end = shared.reactor.now();
        shared.advance(end);
        if let (OpKind::Trim, Ok(done), Source::Job(_)) = (op.kind, &mut result, &source) {
            // In jobs trimmed bytes count as moved, whatever the target reports.
            done.bytes = op.len;
        }
        if result.is_err() && session.is_over() {
            shared.issued.set(shared.issued.get() - 1);
            shared.exhausted.set(shared.exhausted.get() + 1);
            source.is_over();
            break;
        }
        if let Err(error) = &mut result {
            source.judge(&op, error);
        }
        budget -= 1;
        let start = std::mem::replace(&mut now, end);
        let measured = {
            let mut recorder = shared.recorder.borrow_mut();
            session.visit_procedures(op.lane, |calls| recorder.called(op.kind, calls));
            recorder.record(&op, intended, start, end, &result)
        };
        if shared.tracer.is_some() {
            trace(shared, &op, (number, intended, start, end), measured, &result);
        }
        match result {
            Ok(_) => {
                source.finished(&op, &(start..end), measured, None);
                failures = 0;
            }
            Err(error) if source.is_there_already(&op, error.kind) => {
                source.finished(&op, &(start..end), measured, Some(&error));
                failures = 0;
            }
            Err(error) => {
                let kind = error.kind;
                source.finished(&op, &(start..end), measured, Some(&error));
                shared.count_error(end);
                if kind == ErrorKind::Corrupt {
                    // Wrong data is not a refusal, so there is no pause.
                    look_again(shared, session, &op, error).await;
                    failures = 0;
                    now = shared.reactor.now();
                } else {
                    failures += 1;
                    now = pause(shared, failures, now).await;
                }
                shared.advance(now);
            }
        }
    }
    close(shared, session, &mut source).await;
}

/// Waits for an intended start or for the end, so that the window is as long as planned.
async fn wait_for(shared: &Shared<'_>, intended: u64) -> u64 {
    loop {
        let now = shared.reactor.now();
        shared.advance(now);
        let until = intended.min(shared.end_ns.get());
        if now >= until {
            return now;
        }
        shared.reactor.sleep_until(until.min(now + LONGEST_NAP_NS)).await;
    }
}

/// Reads a corrupt range once more and records the finding; this is not an operation of the load.
#[cold]
fn look_again<'a, S: Session>(
    shared: &'a Shared<'_>,
    session: &'a S,
    op: &'a Op,
    error: OpError,
) -> impl Future<Output = ()> {
    // Boxed, so that this rare case takes no space in every lane.
    Box::pin(async move {
        let place =
            shared.recorder.borrow_mut().note_corrupt(op, described(op, &error.detail, "no second read"));
        if !op.kind.can_be_verified() {
            return;
        }
        let second = session.perform(op).await;
        // Its calls are not the load's either.
        session.visit_procedures(op.lane, |_| {});
        let again = match second {
            Ok(_) => "a second read was right: the first was stale, torn or damaged on the way".to_owned(),
            Err(error) if error.kind == ErrorKind::Corrupt => "a second read was wrong too".to_owned(),
            Err(error) => format!("a second read failed: {}", error.kind),
        };
        if let Some(place) = place {
            shared.recorder.borrow_mut().amend_corrupt(place, described(op, &error.detail, &again));
        }
    })
}

/// Where and how the data was wrong, and what the second read showed.
fn described(op: &Op, detail: &str, again: &str) -> String {
    let Op { kind, object, offset, len, .. } = op;
    format!("{kind} of {object:016x} at {offset}, {len} bytes: {detail}; {again}")
}

/// Backs off from a target that keeps failing, and avoids spinning: no pause after the first error, then longer and
/// longer ones.
#[cold]
fn pause(shared: &Shared<'_>, failures: u32, now: u64) -> impl Future<Output = u64> {
    let reactor = shared.reactor.clone();
    let end = shared.end_ns.get();
    async move {
        if failures < 2 {
            return now;
        }
        let pause = FIRST_PAUSE * 2u32.pow((failures - 2).min(MAX_DOUBLINGS));
        reactor.sleep_until((now + pause.as_nanos() as u64).min(end)).await;
        reactor.now()
    }
}

/// Commits the file that the lane was writing, after the window, so that what was acknowledged is also durable.
async fn close<S: Session>(shared: &Shared<'_>, session: &S, source: &mut Source<'_>) {
    while let Some(op) = source.closing() {
        if shared.stopped.get() {
            return;
        }
        let start = shared.reactor.now();
        let result = session.perform(&op).await;
        let end = shared.reactor.now();
        shared.recorder.borrow_mut().record_closing(start, end, &result);
        source.closed(result.err().map(|error| error.kind));
        if !source.closes_more() {
            return;
        }
    }
}

/// Passes the record of an operation to the trace.
fn trace(
    shared: &Shared<'_>,
    op: &Op,
    (number, intended_ns, start_ns, end_ns): (u64, u64, u64, u64),
    measured: bool,
    result: &Result<Done, OpError>,
) {
    let Some(tracer) = &shared.tracer else { return };
    let Op { kind, lane, commit, object, offset, len, .. } = *op;
    let error = result.as_ref().err().map(|error| error.kind);
    tracer.borrow_mut().add(TraceRecord {
        worker: 0,
        lane,
        number,
        kind,
        commit,
        object,
        offset,
        len,
        intended_ns,
        start_ns,
        end_ns,
        error,
        measured,
    });
}
