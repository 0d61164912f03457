//! Searches for the deepest queue at which operations are fast enough.

use experiment::LatencyTarget;

/// Good windows required just below the lowest bad depth before that depth is tried again.
const STABLE: u32 = 3;

/// The search: doubles the depth while all goes well, then bisects between the deepest good and the lowest bad depth.
#[derive(Debug)]
pub(super) struct Search {
    target_ns: u64,
    window_ns: u64,
    share: f64,
    run_on: bool,
    most: u32,
    depth: u32,
    good: u32,
    /// The lowest bad depth; above the maximum if there was none.
    bad: u32,
    stable: u32,
    window_from_ns: u64,
    seen: u64,
    slow: u64,
    /// The current depth is the result; the load continues for one more window.
    last_window: bool,
    settle: bool,
}

/// The outcome of a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found {
    /// No decision yet.
    Nothing,
    /// The depth changed.
    Changed,
    /// This is the result, and the job is over.
    Depth,
    /// Not even a single operation at a time is fast enough.
    None,
}

impl Search {
    pub(super) fn new(target: &LatencyTarget, most: u32, start_ns: u64) -> Search {
        let ns = |seconds: f64| (seconds * 1e9).round() as u64;
        Search {
            target_ns: ns(target.target_s),
            window_ns: ns(target.window_s),
            share: target.percentile / 100.0,
            run_on: target.run_on,
            most,
            depth: 1,
            good: 1,
            bad: most + 1,
            stable: 0,
            window_from_ns: start_ns,
            seen: 0,
            slow: 0,
            last_window: false,
            settle: false,
        }
    }

    /// The current depth.
    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    /// Whether an operation may start with this many in flight. After the depth was lowered, all of them must end
    /// first.
    pub(super) fn may_begin(&mut self, now: u64, in_flight: u32) -> bool {
        if self.settle && in_flight == 0 {
            self.settle = false;
            self.window_from_ns = now;
        }
        !self.settle && in_flight < self.depth
    }

    /// An operation has ended.
    pub(super) fn ended(&mut self, now: u64, latency_ns: u64) -> Found {
        if self.settle {
            // It was started at the previous depth.
            return Found::Nothing;
        }
        self.seen += 1;
        self.slow += u64::from(latency_ns > self.target_ns);
        if now.saturating_sub(self.window_from_ns) < self.window_ns {
            return Found::Nothing;
        }
        let fast = (self.seen - self.slow) as f64 / self.seen as f64;
        let found = if fast >= self.share { self.went_well() } else { self.went_badly() };
        (self.window_from_ns, self.seen, self.slow) = (now, 0, 0);
        found
    }

    fn went_well(&mut self) -> Found {
        let depth = self.depth;
        self.good = depth;
        if depth + 1 == self.bad && self.bad <= self.most {
            self.stable += 1;
            if self.stable >= STABLE {
                (self.bad, self.stable) = (self.bad + 1, 0);
            }
        }
        let next = if self.bad > self.most { depth * 2 } else { u32::midpoint(depth, self.bad) };
        self.depth = next.min(self.most);
        if self.depth != depth {
            self.last_window = false;
            return Found::Changed;
        }
        match (self.run_on, self.last_window) {
            (true, _) => Found::Nothing,
            (false, true) => Found::Depth,
            (false, false) => {
                self.last_window = true;
                Found::Nothing
            }
        }
    }

    fn went_badly(&mut self) -> Found {
        let depth = self.depth;
        self.last_window = false;
        self.stable = 0;
        if depth == 1 {
            return if self.run_on { Found::Nothing } else { Found::None };
        }
        self.bad = depth;
        if depth == self.good {
            self.good -= 1;
        }
        self.depth = u32::midpoint(depth, self.good).clamp(1, depth - 1);
        self.settle = true;
        Found::Changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: u64 = 1_000_000;

    /// The depth found if depths up to `fast` are fast enough, and the depths tried.
    fn search(most: u32, fast: u32) -> (Found, Vec<u32>) {
        let target = LatencyTarget { target_s: 1e-3, window_s: 1e-3, percentile: 100.0, run_on: false };
        let mut search = Search::new(&target, most, 0);
        let mut way = vec![1];
        for window in (1..200).step_by(2) {
            let latency = if search.depth() <= fast { 900_000 } else { 1_100_000 };
            search.may_begin(window * WINDOW - 1, 0);
            let found = search.ended((window + 1) * WINDOW, latency);
            way.push(search.depth());
            if matches!(found, Found::Depth | Found::None) {
                return (found, way);
            }
        }
        (Found::Nothing, way)
    }

    #[test]
    fn the_depth_is_doubled_then_narrowed_down() {
        // 1, 2, 4, 8 are good, 16 is not; 12, 10 are in between; 11 is too deep.
        let (found, way) = search(32, 10);
        assert_eq!(found, Found::Depth);
        assert_eq!(way, [1, 2, 4, 8, 16, 12, 10, 11, 10, 10, 10]);
    }

    #[test]
    fn the_whole_queue_may_be_fast_enough_and_one_operation_too_slow() {
        assert_eq!(search(8, 100), (Found::Depth, vec![1, 2, 4, 8, 8, 8]));
        assert_eq!(search(8, 0), (Found::None, vec![1, 1]));
    }

    #[test]
    fn a_share_may_be_slow() {
        let target = LatencyTarget { target_s: 1e-3, window_s: 1e-3, percentile: 75.0, run_on: false };
        let mut search = Search::new(&target, 4, 0);
        for at in [1, 2, 3] {
            assert_eq!(search.ended(at, 1), Found::Nothing);
        }
        assert_eq!((search.ended(WINDOW, u64::MAX), search.depth()), (Found::Changed, 2));
    }
}
