//! `NFS3ERR_JUKEBOX` and its like: the server is busy and asks for the call to be repeated later (RFC 1813, 2.6).

use wire::nfs3::Status;
use wire::nfs4::Nfs4Status;

/// First wait; each one doubles, up to the last.
const FIRST_NS: u64 = 50_000_000;
const LAST_NS: u64 = 1_000_000_000;

/// True when the server asks for the call to be repeated later: `NFS3ERR_JUKEBOX`, which is `NFS4ERR_DELAY`; in version 4.1
/// also during the grace period after its restart, and when it executed a call that may be repeated without keeping the
/// reply.
#[inline]
pub(super) fn asks_for_later(status: Status) -> bool {
    matches!(Nfs4Status(status.0), Nfs4Status::DELAY | Nfs4Status::GRACE | Nfs4Status::RETRY_UNCACHED_REP)
}

/// The waits between repetitions of a call.
pub(super) struct Later {
    wait_ns: u64,
}

impl Later {
    pub(super) fn new() -> Self {
        Self { wait_ns: FIRST_NS }
    }

    /// When to repeat the call; `None` when that would be past the deadline.
    pub(super) fn next_ns(&mut self, now_ns: u64, deadline_ns: u64) -> Option<u64> {
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
