//! When a request is retried, and after what pause: the standard mode of the AWS SDKs, and `Retry-After`.

use std::time::Duration;

use super::failure::{Again, Failure};

/// Maximum retries of a request for which the server sends no Retry-After: one more attempt than the SDKs' three.
const MAX_RETRIES: u32 = 3;
/// Maximum first pause after a temporary fault: a lost connection, 500, 502, 504.
const BASE: Duration = Duration::from_millis(50);
/// Maximum first pause when the server asks for less load.
const THROTTLED_BASE: Duration = Duration::from_secs(1);
/// Maximum of our own pauses.
const LONGEST: Duration = Duration::from_secs(20);

/// What to do after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing: this is the result.
    GiveUp,
    /// Retry after this pause.
    Again(Duration),
}

/// The attempts of one request.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tries {
    /// Retries so far.
    pub(super) again: u32,
    /// Those among them for which the server sent no time.
    own: u32,
}

impl Tries {
    /// What to do about a failure, with `left` until the deadline and `random` from 0 to 1.
    ///
    /// If the server sends a time (Retry-After), the request is retried then, until the deadline; a time beyond the
    /// deadline is ignored. Otherwise the *n*-th pause is `random` × base × 2^(*n* − 1), at most 20 s (full jitter).
    pub(super) fn next(&mut self, failure: &Failure, left: Duration, random: f64) -> Next {
        let base = match failure.again {
            Again::Never => return Next::GiveUp,
            Again::AtOnce => Duration::ZERO,
            Again::AfterPause => BASE,
            Again::Throttled => THROTTLED_BASE,
        };
        if let Some(wait) = failure.retry_after.filter(|wait| !wait.is_zero() && *wait < left) {
            self.again += 1;
            return Next::Again(wait);
        }
        if self.own == MAX_RETRIES {
            return Next::GiveUp;
        }
        let pause = (base * (1 << self.own)).min(LONGEST).mul_f64(random);
        self.own += 1;
        self.again += 1;
        Next::Again(pause)
    }
}

#[cfg(test)]
mod tests {
    use metrics::ErrorKind;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    fn failure(again: Again, retry_after_s: Option<u64>) -> Failure {
        let retry_after = retry_after_s.map(Duration::from_secs);
        Failure { again, retry_after, ..Failure::new(ErrorKind::Busy, "no") }
    }

    fn pauses_ms(failure: &Failure, random: f64) -> Vec<u128> {
        let mut tries = Tries::default();
        let next = || match tries.next(failure, MINUTE, random) {
            Next::GiveUp => None,
            Next::Again(pause) => Some(pause.as_millis()),
        };
        std::iter::from_fn(next).take(100).collect()
    }

    #[test]
    fn pauses_double_and_are_jittered_in_full() {
        assert_eq!(pauses_ms(&failure(Again::Never, Some(1)), 1.0), []);
        assert_eq!(pauses_ms(&failure(Again::AtOnce, None), 1.0), [0, 0, 0]);
        assert_eq!(pauses_ms(&failure(Again::AfterPause, None), 1.0), [50, 100, 200]);
        assert_eq!(pauses_ms(&failure(Again::Throttled, None), 1.0), [1000, 2000, 4000]);
        assert_eq!(pauses_ms(&failure(Again::Throttled, None), 0.25), [250, 500, 1000]);
        assert_eq!(pauses_ms(&failure(Again::Throttled, None), 0.0), [0, 0, 0]);
    }

    #[test]
    fn the_server_is_believed_until_the_deadline() {
        let busy = failure(Again::Throttled, Some(2));
        let mut tries = Tries::default();
        for again in 1..=40 {
            assert_eq!(tries.next(&busy, MINUTE, 0.5), Next::Again(Duration::from_secs(2)));
            assert_eq!(tries.again, again);
        }
        // A time beyond the deadline is ignored, and so is "at once": a few of our own pauses instead.
        assert_eq!(pauses_ms(&failure(Again::Throttled, Some(60)), 1.0), [1000, 2000, 4000]);
        assert_eq!(pauses_ms(&failure(Again::AfterPause, Some(0)), 1.0), [50, 100, 200]);
    }
}
