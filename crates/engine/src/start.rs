//! Waits for the common start: as punctually as the machine allows, and with the reason for any delay.

use std::time::Duration;

use reactor::{Backend, Reactor};

use crate::supervisor::Stop;
use crate::worker::nanoseconds;

/// How often to check for a stop while waiting.
const TICK: Duration = Duration::from_millis(20);

/// When a worker started, on the clock shared by all workers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Started {
    pub at_ns: u64,
    /// Upper bound of the part of the delay spent waiting for a core, in nanoseconds.
    pub core_wait_ns: u64,
}

/// Waits for the start, unless the stage is stopped earlier.
pub(crate) async fn wait(reactor: &Reactor, start_ns: u64, stop: Stop<'_>) -> Started {
    if reactor.backend() == Backend::Simulated {
        sleep(reactor, start_ns, stop).await;
        return Started::default();
    }
    sleep(reactor, start_ns.saturating_sub(nanoseconds(TICK)), stop).await;
    let before_ns = run_queue_wait_ns();
    sleep(reactor, start_ns, stop).await;
    let at_ns = reactor.now();
    let waited_ns = before_ns.zip(run_queue_wait_ns()).map_or(0, |(before, now)| now.saturating_sub(before));
    Started { at_ns, core_wait_ns: waited_ns.min(at_ns.saturating_sub(start_ns)) }
}

async fn sleep(reactor: &Reactor, until_ns: u64, stop: Stop<'_>) {
    while reactor.now() < until_ns && !stop.is_set() {
        reactor.sleep_until(until_ns.min(reactor.now() + nanoseconds(TICK))).await;
    }
}

/// How long this thread was runnable without a core, in nanoseconds; `None` if the kernel does not report it.
fn run_queue_wait_ns() -> Option<u64> {
    // Three numbers: time on a core, time waiting for one, time slices (Documentation/scheduler/sched-stats.rst).
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Control;
    use crate::supervisor::Signals;

    #[test]
    fn nobody_starts_early() {
        let (control, signals) = (Control::new(), Signals::new(None));
        let stop = Stop { control: &control, signals: &signals };
        let reactor = Reactor::open(reactor::BackendChoice::Auto).unwrap();
        for lead_ns in [0, 5_000_000, 45_000_000] {
            let start_ns = reactor.now() + lead_ns;
            let started = reactor.block_on(wait(&reactor, start_ns, stop));
            assert!(started.at_ns >= start_ns, "{started:?} before {start_ns}");
            assert!(started.core_wait_ns <= started.at_ns - start_ns, "{started:?}, start {start_ns}");
        }
    }

    #[test]
    fn who_is_stopped_waits_no_longer() {
        let (control, signals) = (Control::new(), Signals::new(None));
        control.stop();
        let stop = Stop { control: &control, signals: &signals };
        let reactor = Reactor::open(reactor::BackendChoice::Auto).unwrap();
        let start_ns = reactor.now() + 3_600_000_000_000;
        assert!(reactor.block_on(wait(&reactor, start_ns, stop)).at_ns < start_ns);
    }
}
