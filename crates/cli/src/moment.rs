//! The moment, for records and reports.

use jiff::Timestamp;
use reactor::clock;

/// Now, on the wall clock.
pub fn now() -> Timestamp {
    Timestamp::try_from(clock::wall()).unwrap_or(Timestamp::UNIX_EPOCH)
}
