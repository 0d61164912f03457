//! A sample for each minute of a cell, as `StorPerf` takes them.

use metrics::{OpDirection, SeriesPoint};
use store::{CellRecord, RunRecord, Store, StoreError};

use crate::document::MEASURE;

/// Length of a sample.
const SAMPLE_S: f64 = 60.0;
/// Share of a minute that a measurement may be too short: it ends with an interval, which may be some milliseconds early.
const ROUNDING: f64 = 0.02;

/// What a sample says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorperfMetric {
    /// KiB per second.
    Bandwidth,
    /// Operations per second.
    Iops,
    /// Mean latency in nanoseconds.
    Latency,
}

impl StorperfMetric {
    /// All of them.
    pub const ALL: [StorperfMetric; 3] =
        [StorperfMetric::Bandwidth, StorperfMetric::Iops, StorperfMetric::Latency];

    /// Its name in `StorPerf`'s reports.
    pub const fn name(self) -> &'static str {
        match self {
            StorperfMetric::Bandwidth => "bw",
            StorperfMetric::Iops => "iops",
            StorperfMetric::Latency => "lat_ns.mean",
        }
    }
}

/// The directions that `StorPerf` reports, with its names for them. Other operations have no place in its reports.
pub const DIRECTIONS: [(OpDirection, &str); 2] = [(OpDirection::Read, "read"), (OpDirection::Write, "write")];

/// What moved in one direction during a sample.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StorperfSums {
    ok: u64,
    bytes: u64,
    latency_ns: f64,
}

impl StorperfSums {
    /// Adds an operation's part of an interval.
    pub fn add(&mut self, point: &SeriesPoint) {
        self.ok += point.ok;
        self.bytes += point.bytes;
        self.latency_ns += point.mean_ns * point.ok as f64;
    }

    /// No operation ended.
    pub fn is_empty(&self) -> bool {
        self.ok == 0
    }

    /// A value of a sample of this length, in `StorPerf`'s unit. Latency is 0 if nothing ended.
    pub fn value(&self, metric: StorperfMetric, length_s: f64) -> f64 {
        match metric {
            StorperfMetric::Bandwidth => self.bytes as f64 / 1024.0 / length_s,
            StorperfMetric::Iops => self.ok as f64 / length_s,
            StorperfMetric::Latency if self.ok == 0 => 0.0,
            StorperfMetric::Latency => self.latency_ns / self.ok as f64,
        }
    }
}

/// The minutes of a cell, in order. Nothing in them is older than their minute.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MinuteSamples {
    /// Reads and writes of each minute, by direction.
    minutes: Vec<[StorperfSums; 2]>,
    /// Length of each.
    length_s: f64,
}

impl MinuteSamples {
    /// The samples of a cell's last measurement. An incomplete last minute is none, unless there is no other.
    ///
    /// # Errors
    /// The results file cannot be read.
    pub fn of(store: &Store, run: &RunRecord, cell: &CellRecord) -> Result<Self, StoreError> {
        let stages = store.stages(&run.id, cell.index)?;
        let (Some(result), Some(measured)) = (&cell.result, stages.iter().rfind(|key| key.stage == MEASURE))
        else {
            return Ok(Self::default());
        };
        let mut samples = Self::lasting(result.measured_s);
        for point in store.series(&run.id, cell.index, MEASURE, measured.trial, 0..u32::MAX)? {
            samples.add(&point?);
        }
        Ok(samples)
    }

    fn lasting(measured_s: f64) -> Self {
        let whole = (measured_s / SAMPLE_S + ROUNDING).floor();
        match whole {
            0.0 if measured_s > 0.0 => Self { minutes: vec![Default::default()], length_s: measured_s },
            _ => Self { minutes: vec![Default::default(); whole as usize], length_s: SAMPLE_S },
        }
    }

    fn add(&mut self, point: &SeriesPoint) {
        let Some(op) = point.op.filter(|op| op.reads() || op.writes()) else { return };
        let number = (point.start_ns as f64 / 1e9 / SAMPLE_S) as usize;
        let Some(minute) = self.minutes.get_mut(number) else { return };
        let direction = if op.reads() { OpDirection::Read } else { OpDirection::Write };
        minute[direction as usize].add(point);
    }

    /// Nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.minutes.is_empty()
    }

    /// The last `count` samples of a series: number of the minute, from 1, and value.
    pub fn last(&self, metric: StorperfMetric, direction: OpDirection, count: usize) -> Vec<(f64, f64)> {
        let first = self.minutes.len().saturating_sub(count);
        let value = |minute: &[StorperfSums; 2]| minute[direction as usize].value(metric, self.length_s);
        let numbered = self.minutes.iter().zip(1_u32..).skip(first);
        numbered.map(|(minute, number)| (f64::from(number), value(minute))).collect()
    }
}

#[cfg(test)]
mod tests {
    use metrics::OpKind;

    use super::*;

    fn second(n: u64, op: Option<OpKind>, ok: u64) -> SeriesPoint {
        SeriesPoint {
            interval: n as u32,
            start_ns: n * 1_000_000_000,
            length_ns: 1_000_000_000,
            op,
            ok,
            bytes: ok * 4096,
            mean_ns: 1000.0 * (n / 60 + 1) as f64,
            ..SeriesPoint::default()
        }
    }

    fn samples(seconds: u64) -> MinuteSamples {
        let mut samples = MinuteSamples::lasting(seconds as f64 - 0.003);
        // Nothing happens in the third second of each minute.
        for n in (0..seconds).filter(|n| n % 60 != 2) {
            samples.add(&second(n, Some(OpKind::Read), 60));
            samples.add(&second(n, Some(OpKind::Stat), 10));
        }
        samples
    }

    #[test]
    fn a_sample_holds_its_own_minute_only() {
        let samples = samples(150);
        let series = |metric, direction| samples.last(metric, direction, 10);
        assert_eq!(series(StorperfMetric::Iops, OpDirection::Read), [(1.0, 59.0), (2.0, 59.0)]);
        assert_eq!(series(StorperfMetric::Bandwidth, OpDirection::Read), [(1.0, 236.0), (2.0, 236.0)]);
        assert_eq!(series(StorperfMetric::Latency, OpDirection::Read), [(1.0, 1000.0), (2.0, 2000.0)]);
        assert_eq!(series(StorperfMetric::Iops, OpDirection::Write), [(1.0, 0.0), (2.0, 0.0)]);
        assert_eq!(
            samples.last(StorperfMetric::Latency, OpDirection::Read, 1),
            [(2.0, 2000.0)],
            "the last ones count"
        );
    }

    #[test]
    fn less_than_a_minute_is_one_sample() {
        let [(number, iops)] = samples(30).last(StorperfMetric::Iops, OpDirection::Read, 10)[..] else {
            panic!()
        };
        assert!(number == 1.0 && (iops - 58.0).abs() < 0.01, "{iops}");
        assert!(MinuteSamples::lasting(0.0).is_empty());
    }

    #[test]
    fn a_minute_in_which_nothing_ended_counts() {
        let mut samples = MinuteSamples::lasting(180.0);
        (0..60).chain(120..180).for_each(|n| samples.add(&second(n, Some(OpKind::Write), 1)));
        assert_eq!(
            samples.last(StorperfMetric::Iops, OpDirection::Write, 10),
            [(1.0, 1.0), (2.0, 0.0), (3.0, 1.0)]
        );
    }
}
