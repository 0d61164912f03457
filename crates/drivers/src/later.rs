//! Waits before asking again what the other side is too busy for.

/// First wait; each one doubles, up to the last.
const FIRST_NS: u64 = 50_000_000;
const LAST_NS: u64 = 1_000_000_000;

/// The waits between repetitions.
pub(crate) struct Later {
    wait_ns: u64,
}

impl Later {
    pub(crate) fn new() -> Self {
        Self { wait_ns: FIRST_NS }
    }

    /// When to ask again; `None` when that would be past the deadline.
    pub(crate) fn next_ns(&mut self, now_ns: u64, deadline_ns: u64) -> Option<u64> {
        let next_ns = now_ns.saturating_add(self.wait_ns);
        self.wait_ns = (2 * self.wait_ns).min(LAST_NS);
        (next_ns < deadline_ns).then_some(next_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_second_and_end_with_the_deadline() {
        let mut later = Later::new();
        let waits: Vec<u64> =
            (0..7).filter_map(|_| later.next_ns(0, u64::MAX)).map(|ns| ns / 1_000_000).collect();
        assert_eq!(waits, [50, 100, 200, 400, 800, 1000, 1000]);
        assert_eq!(Later::new().next_ns(100, 50_000_100), None);
        assert_eq!(Later::new().next_ns(100, 50_000_101), Some(50_000_100));
    }
}
