//! The current time, for records and reports.

use std::sync::OnceLock;

use jiff::{SignedDuration, Timestamp};
use reactor::clock;

/// Now, from the wall clock as first read by this process. Setting the clock meanwhile neither reorders times nor
/// changes the durations between them.
pub fn now() -> Timestamp {
    static BEGAN: OnceLock<(Timestamp, u64)> = OnceLock::new();
    let (began, began_ns) = *BEGAN.get_or_init(|| (wall(), clock::now_ns()));
    let passed_ns = clock::now_ns().saturating_sub(began_ns);
    let passed = SignedDuration::from_nanos(i64::try_from(passed_ns).unwrap_or(i64::MAX));
    began.checked_add(passed).unwrap_or(began)
}

fn wall() -> Timestamp {
    Timestamp::try_from(clock::wall()).unwrap_or(Timestamp::UNIX_EPOCH)
}
