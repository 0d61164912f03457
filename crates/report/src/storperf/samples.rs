//! The samples of a cell as `StorPerf` takes them: one each minute, or as often as the cell's rule says.

use metrics::{OpDirection, SeriesPoint};
use store::{CellRecord, RunRecord, Store, StoreError};

use crate::document::MEASURE;

/// Share of a sample that a measurement may be too short: it ends with an interval, which may be some milliseconds early.
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

/// The samples of a cell, in order. Each holds its own time only.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StorperfSamples {
    /// Reads and writes of each sample, by direction.
    samples: Vec<[StorperfSums; 2]>,
    /// Length of each.
    length_s: f64,
}

impl StorperfSamples {
    /// The samples of a cell's last measurement, also while it runs. An incomplete last sample is none, unless there is
    /// no other.
    ///
    /// # Errors
    /// The results file cannot be read.
    pub fn of(store: &Store, run: &RunRecord, cell: &CellRecord, sample_s: f64) -> Result<Self, StoreError> {
        let stages = store.stages(&run.id, cell.index)?;
        let Some(measured) = stages.iter().rfind(|key| key.stage == MEASURE) else {
            return Ok(Self::default());
        };
        let points = store.series(&run.id, cell.index, MEASURE, measured.trial, 0..u32::MAX)?;
        let points = points.collect::<Result<Vec<SeriesPoint>, StoreError>>()?;
        let so_far = || points.last().map_or(0.0, |point| point.start_s() + point.length_s());
        let measured_s = cell.result.as_ref().map_or_else(so_far, |result| result.measured_s);
        let mut samples = Self::lasting(measured_s, sample_s);
        points.iter().for_each(|point| samples.add(point, sample_s));
        Ok(samples)
    }

    fn lasting(measured_s: f64, sample_s: f64) -> Self {
        let whole = (measured_s / sample_s + ROUNDING).floor();
        match whole {
            0.0 if measured_s > 0.0 => Self { samples: vec![Default::default()], length_s: measured_s },
            _ => Self { samples: vec![Default::default(); whole as usize], length_s: sample_s },
        }
    }

    fn add(&mut self, point: &SeriesPoint, sample_s: f64) {
        let Some(op) = point.op.filter(|op| op.reads() || op.writes()) else { return };
        let number = (point.start_ns as f64 / 1e9 / sample_s) as usize;
        let Some(sample) = self.samples.get_mut(number) else { return };
        let direction = if op.reads() { OpDirection::Read } else { OpDirection::Write };
        sample[direction as usize].add(point);
    }

    /// Nothing was measured.
    pub fn is_empty(&self) -> bool {
        self.samples.is_empty()
    }

    /// The last `count` samples of a series: number of the sample, from 1, and value.
    pub fn last(&self, metric: StorperfMetric, direction: OpDirection, count: usize) -> Vec<(f64, f64)> {
        let first = self.samples.len().saturating_sub(count);
        let value = |sample: &[StorperfSums; 2]| sample[direction as usize].value(metric, self.length_s);
        let numbered = self.samples.iter().zip(1_u32..).skip(first);
        numbered.map(|(sample, number)| (f64::from(number), value(sample))).collect()
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

    fn samples(seconds: u64) -> StorperfSamples {
        let mut samples = StorperfSamples::lasting(seconds as f64 - 0.003, 60.0);
        // Nothing happens in the third second of each minute.
        for n in (0..seconds).filter(|n| n % 60 != 2) {
            samples.add(&second(n, Some(OpKind::Read), 60), 60.0);
            samples.add(&second(n, Some(OpKind::Stat), 10), 60.0);
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
        assert!(StorperfSamples::lasting(0.0, 60.0).is_empty());
    }

    #[test]
    fn a_minute_in_which_nothing_ended_counts() {
        let mut samples = StorperfSamples::lasting(180.0, 60.0);
        (0..60).chain(120..180).for_each(|n| samples.add(&second(n, Some(OpKind::Write), 1), 60.0));
        assert_eq!(
            samples.last(StorperfMetric::Iops, OpDirection::Write, 10),
            [(1.0, 1.0), (2.0, 0.0), (3.0, 1.0)]
        );
    }
}
