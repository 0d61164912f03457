//! When a measurement began: host samples are stored with the time since then.

use metrics::Interval;
use reactor::clock;

/// The start of a measurement, known once its first interval has arrived.
#[derive(Debug, Default)]
pub struct MeasurementStart {
    began_ns: Option<u64>,
}

impl MeasurementStart {
    /// Takes note of an interval that has just ended; the first tells when the measurement began.
    pub fn interval(&mut self, interval: &Interval) {
        self.began_ns.get_or_insert_with(|| clock::now_ns().saturating_sub(interval.length_ns));
    }

    /// Time since the start, in nanoseconds; `None` before the first interval.
    pub fn elapsed_ns(&self) -> Option<u64> {
        self.began_ns.map(|began_ns| clock::now_ns().saturating_sub(began_ns))
    }
}
