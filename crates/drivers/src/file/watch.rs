//! Deadlines: no operation is waited for longer than it may take, even when the kernel never answers.
//!
//! A timer an operation would cost as much as a tenth of a cached read. Instead one task counts ticks, and every lane
//! notes the tick at which its operation began; the deadline is kept to within two ticks.

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use reactor::{Elapsed, Reactor, Signal, Task};

/// The lane is idle.
const IDLE: u32 = u32::MAX;
/// Ticks that a deadline is divided into, where it is not too short for that.
const TICKS: u32 = 10;
const TICK_MIN: Duration = Duration::from_millis(10);
const TICK_MAX: Duration = Duration::from_secs(1);

struct Lane {
    since: Cell<u32>,
    late: Signal,
}

struct Shared {
    tick: Cell<u32>,
    lanes: Vec<Lane>,
}

/// The deadlines of a session's lanes.
pub(super) struct Watch {
    shared: Rc<Shared>,
    task: Option<Task>,
}

impl Watch {
    pub(super) fn start(reactor: &Reactor, lanes: usize, limit: Duration) -> Self {
        let lane = || Lane { since: Cell::new(IDLE), late: reactor.signal() };
        let shared =
            Rc::new(Shared { tick: Cell::new(0), lanes: std::iter::repeat_with(lane).take(lanes).collect() });
        let tick = (limit / TICKS).clamp(TICK_MIN, TICK_MAX);
        let ticks = u32::try_from(limit.as_nanos().div_ceil(tick.as_nanos()) + 1).unwrap_or(u32::MAX);
        let task = reactor.spawn(count(reactor.clone(), Rc::clone(&shared), tick, ticks));
        Self { shared, task: Some(task) }
    }

    /// Waits for an operation of a lane, but no longer than it may take.
    #[inline]
    pub(super) async fn wait<F: Future>(
        &self,
        lane: u32,
        mut operation: Pin<&mut F>,
    ) -> Result<F::Output, Elapsed> {
        let lane = &self.shared.lanes[lane as usize];
        lane.since.set(self.shared.tick.get());
        lane.late.clear();
        let mut late = pin!(lane.late.wait());
        let result = poll_fn(|context| match operation.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Ok(value)),
            Poll::Pending => late.as_mut().poll(context).map(|()| Err(Elapsed)),
        })
        .await;
        lane.since.set(IDLE);
        result
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

/// Counts, and tells the lanes whose time is up.
async fn count(reactor: Reactor, shared: Rc<Shared>, tick: Duration, limit: u32) {
    loop {
        reactor.sleep(tick).await;
        // The largest number means idle.
        let now = (shared.tick.get() + 1) % IDLE;
        shared.tick.set(now);
        for lane in &shared.lanes {
            let since = lane.since.get();
            if since != IDLE && now.wrapping_sub(since) > limit {
                lane.late.set();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_too_long_is_given_up_and_the_next_begins_anew() {
        let reactor = Reactor::simulated();
        let limit = Duration::from_millis(500);
        let watch = Watch::start(&reactor, 2, limit);
        reactor.block_on(async {
            for _ in 0..3 {
                let start = reactor.now();
                assert!(watch.wait(1, pin!(std::future::pending::<()>())).await.is_err());
                let waited = Duration::from_nanos(reactor.now() - start);
                assert!(waited >= limit && waited <= limit + limit / 5, "{waited:?}");
                assert_eq!(watch.wait(1, pin!(reactor.sleep(limit))).await, Ok(()));
            }
        });
    }
}
