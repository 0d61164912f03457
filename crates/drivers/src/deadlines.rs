//! Deadlines: no wait for an operation exceeds its time limit, even when the other side never answers.
//!
//! All operations of a session have the same time limit, so those that began first are due first. A list in that order,
//! linked through the lanes, is enough: starting and ending an operation take a few writes, nothing is allocated, and
//! no timer is set. One task sleeps until the first operation is due.
//!
//! Precision, the same for all drivers: an operation ends at most [`PRECISION`] after its deadline, at the next turn of
//! the loop. Its time counts from the turn of the loop in which it began ([`Reactor::turn_ns`]).

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use metrics::ErrorKind;
use reactor::{Elapsed, Reactor, Signal, Task};

use crate::Done;
use crate::failure::Failure;

/// How far past its deadline an operation may end.
const PRECISION: Duration = Duration::from_millis(1);
/// The lane has no operation.
const IDLE: u64 = u64::MAX;

/// A lane's place in the list.
struct Place {
    before: Cell<u32>,
    behind: Cell<u32>,
    due_ns: Cell<u64>,
}

/// The deadlines of the operations on a session's lanes.
pub(crate) struct Deadlines {
    reactor: Reactor,
    limit_ns: u64,
    /// One per lane; the last is the list's head and tail.
    places: Box<[Place]>,
}

/// An operation in progress; dropping it stops its clock.
pub(crate) struct Running<'a> {
    deadlines: &'a Deadlines,
    lane: u32,
    /// Deadline on the reactor's clock, in nanoseconds.
    pub(crate) due_ns: u64,
}

/// The task that looks for overdue operations; dropping this ends it.
pub(crate) struct Watching(Option<Task>);

impl Deadlines {
    /// For lanes whose operations may take up to `limit`.
    pub(crate) fn new(reactor: &Reactor, lanes: usize, limit: Duration) -> Rc<Self> {
        let end = lanes as u32;
        let place = || Place { before: Cell::new(end), behind: Cell::new(end), due_ns: Cell::new(IDLE) };
        let places = std::iter::repeat_with(place).take(lanes + 1).collect();
        Rc::new(Self { reactor: reactor.clone(), limit_ns: nanoseconds(limit), places })
    }

    /// Starts an operation on a lane that has no other.
    #[inline]
    pub(crate) fn begin(&self, lane: u32) -> Running<'_> {
        let due_ns = self.reactor.turn_ns().saturating_add(self.limit_ns).min(IDLE - 1);
        self.unlink(lane);
        let end = self.places.len() - 1;
        let place = &self.places[lane as usize];
        let last = self.places[end].before.replace(lane);
        self.places[last as usize].behind.set(lane);
        place.before.set(last);
        place.behind.set(end as u32);
        place.due_ns.set(due_ns);
        Running { deadlines: self, lane, due_ns }
    }

    #[inline]
    fn unlink(&self, lane: u32) {
        let place = &self.places[lane as usize];
        if place.due_ns.replace(IDLE) != IDLE {
            let (before, behind) = (place.before.get(), place.behind.get());
            self.places[before as usize].behind.set(behind);
            self.places[behind as usize].before.set(before);
        }
    }

    /// The lane with the earliest deadline, and that deadline.
    fn first(&self) -> Option<(u32, u64)> {
        let end = self.places.len() - 1;
        let lane = self.places[end].behind.get();
        (lane as usize != end).then(|| (lane, self.places[lane as usize].due_ns.get()))
    }

    /// Calls `each` for every lane whose operation is overdue; it must not end one.
    pub(crate) fn each_overdue(&self, now_ns: u64, mut each: impl FnMut(u32)) {
        let mut next = self.first();
        while let Some((lane, due_ns)) = next
            && due_ns <= now_ns
        {
            each(lane);
            let behind = self.places[lane as usize].behind.get();
            let at = behind as usize;
            next = (at + 1 != self.places.len()).then(|| (behind, self.places[at].due_ns.get()));
        }
    }

    /// Calls `end` with the current time whenever operations are overdue, and every [`PRECISION`] while they remain so.
    pub(crate) fn watch(self: &Rc<Self>, mut end: impl FnMut(u64) + 'static) -> Watching {
        let deadlines = Rc::clone(self);
        Watching(Some(self.reactor.spawn(async move {
            let reactor = &deadlines.reactor;
            loop {
                // Operations started from now on are due no earlier than this.
                let horizon = reactor.turn_ns().saturating_add(deadlines.limit_ns);
                let due_ns = deadlines.first().map_or(horizon, |(_, due_ns)| due_ns);
                let now_ns = reactor.now();
                if due_ns <= now_ns {
                    end(now_ns);
                }
                reactor.sleep_until(due_ns.max(now_ns + nanoseconds(PRECISION))).await;
            }
        })))
    }
}

impl Drop for Running<'_> {
    #[inline]
    fn drop(&mut self) {
        self.deadlines.unlink(self.lane);
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            task.abort();
        }
    }
}

/// Deadlines for operations that are futures: an overdue one is dropped where it stands.
pub(crate) struct TimeLimits {
    deadlines: Rc<Deadlines>,
    /// One per lane.
    late: Rc<[Signal]>,
    _watching: Watching,
}

impl TimeLimits {
    /// For lanes whose operations may take up to `limit`.
    pub(crate) fn start(reactor: &Reactor, lanes: usize, limit: Duration) -> Self {
        let deadlines = Deadlines::new(reactor, lanes, limit);
        let late: Rc<[Signal]> = std::iter::repeat_with(|| reactor.signal()).take(lanes).collect();
        let (list, signals) = (Rc::downgrade(&deadlines), Rc::clone(&late));
        let watching = deadlines.watch(move |now_ns| {
            if let Some(list) = list.upgrade() {
                list.each_overdue(now_ns, |lane| signals[lane as usize].set());
            }
        });
        Self { deadlines, late, _watching: watching }
    }

    /// Waits for a lane's operation, but no longer than its time limit.
    ///
    /// # Errors
    /// [`Elapsed`] when the time limit came first.
    #[inline]
    pub(crate) async fn wait<F: Future>(
        &self,
        lane: u32,
        mut operation: Pin<&mut F>,
    ) -> Result<F::Output, Elapsed> {
        let late = &self.late[lane as usize];
        late.clear();
        let _running = self.deadlines.begin(lane);
        let mut late = pin!(late.wait());
        poll_fn(|context| match operation.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Ok(value)),
            Poll::Pending => late.as_mut().poll(context).map(|()| Err(Elapsed)),
        })
        .await
    }
}

impl TimeLimits {
    /// Waits for an operation of a client library; one that takes too long fails as timed out.
    ///
    /// # Errors
    /// The operation failed, or its time limit came first.
    #[inline]
    pub(crate) async fn run<F: Future<Output = Result<Done, Failure>>>(
        &self,
        lane: u32,
        operation: Pin<&mut F>,
    ) -> Result<Done, Failure> {
        self.wait(lane, operation).await.unwrap_or_else(|_| {
            let limit = Duration::from_nanos(self.deadlines.limit_ns);
            Err(Failure::new(ErrorKind::TimedOut, format!("not done within {limit:?}")))
        })
    }
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const LIMIT: Duration = Duration::from_millis(500);

    #[test]
    fn what_takes_too_long_is_given_up_in_time_and_the_next_begins_anew() {
        let reactor = Reactor::simulated();
        let limits = TimeLimits::start(&reactor, 2, LIMIT);
        reactor.block_on(async {
            for _ in 0..3 {
                let start = reactor.now();
                assert!(limits.wait(1, pin!(std::future::pending::<()>())).await.is_err());
                let late = Duration::from_nanos(reactor.now() - start) - LIMIT;
                assert!(late <= PRECISION, "{late:?}");
                let almost = LIMIT - Duration::from_nanos(1);
                assert_eq!(limits.wait(1, pin!(reactor.sleep(almost))).await, Ok(()));
            }
        });
    }

    /// Any number of operations of different lengths: each that exceeds its limit ends within the precision, and no
    /// other is ended.
    #[test]
    fn each_lane_has_its_own_deadline() {
        const LANES: u32 = 50;
        let reactor = Reactor::simulated();
        let limits = TimeLimits::start(&reactor, LANES as usize, LIMIT);
        let ended = RefCell::new(Vec::new());
        let lane = async |lane: u32| {
            let mut random = fastrand::Rng::with_seed(lane.into());
            for _ in 0..20 {
                let span = Duration::from_micros(random.u64(1..1_000_000));
                let start = reactor.now();
                let result = limits.wait(lane, pin!(reactor.sleep(span))).await;
                ended.borrow_mut().push((span, Duration::from_nanos(reactor.now() - start), result));
            }
        };
        reactor.run_lanes((0..LANES).map(lane).collect(), std::future::pending::<()>());
        let ended = ended.into_inner();
        assert_eq!(ended.len(), 1000);
        for (span, waited, result) in ended {
            match result {
                Ok(()) => assert!(span == waited && span <= LIMIT + PRECISION, "{span:?} {waited:?}"),
                Err(_) => {
                    assert!(
                        span > LIMIT && waited >= LIMIT && waited <= LIMIT + PRECISION,
                        "{span:?} {waited:?}"
                    );
                }
            }
        }
    }

    /// An overdue operation that does not end is reported again: nothing waits forever.
    #[test]
    fn overdue_operations_are_told_of_until_they_end() {
        let reactor = Reactor::simulated();
        let deadlines = Deadlines::new(&reactor, 3, LIMIT);
        let told = Rc::new(RefCell::new(Vec::new()));
        let (list, notes) = (Rc::clone(&deadlines), Rc::clone(&told));
        let _watching = deadlines.watch(move |now_ns| {
            list.each_overdue(now_ns, |lane| notes.borrow_mut().push((now_ns / 1_000_000, lane)));
        });
        reactor.block_on(async {
            let first = deadlines.begin(2);
            reactor.sleep(Duration::from_millis(1)).await;
            let second = deadlines.begin(0);
            assert_eq!((first.due_ns, second.due_ns), (500_000_000, 501_000_000));
            reactor.sleep(Duration::from_micros(500_500)).await;
            drop(first);
            reactor.sleep(Duration::from_millis(1)).await;
            drop(second);
            reactor.sleep(Duration::from_secs(5)).await;
        });
        assert_eq!(*told.borrow(), [(500, 2), (501, 2), (501, 0), (502, 0)]);
    }
}
