//! The most that a host could drive, as measured by `manometer calibrate`. Results are judged against it.

use serde::{Deserialize, Serialize};
use units::{ByteRate, OpRate};

/// Version of `schemas/calibration.schema.json`. Adding a field does not raise it; removing or redefining one does.
pub const CALIBRATION_VERSION: u32 = 1;

/// Result of calibrating one host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// `manometer.calibration`.
    pub schema: String,
    /// [`CALIBRATION_VERSION`].
    pub schema_version: u32,
    /// Version of the program that took the measurement.
    pub manometer_version: String,
    /// Name of the host (uname(2)).
    pub host: String,
    /// Kernel release.
    pub kernel: String,
    /// Start time, in RFC 3339 format.
    pub taken: String,
    /// Cores available to the process.
    pub cores: u32,
    /// `io_uring` or `epoll`.
    pub reactor: String,
    /// Measured seconds per piece.
    pub seconds: f64,
    /// How many times each piece was measured.
    pub repetitions: u32,
    /// What was measured.
    pub measures: Vec<CalibrationMeasure>,
    /// The resulting ceilings for each protocol.
    pub ceilings: Vec<Ceiling>,
    /// Facts about the host, by name.
    pub facts: std::collections::BTreeMap<String, String>,
    /// Whatever on this host would hold a measurement back, and how to fix it; one line each.
    pub remarks: Vec<String>,
}

/// One measured piece.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CalibrationMeasure {
    /// `null-one`, `nfs-read-1m`, …: the same in every version.
    pub name: String,
    /// Human-readable title.
    pub title: String,
    /// Unit of the values.
    pub unit: CalibrationUnit,
    /// Measured against wall-clock time.
    pub by_clock: Spread,
    /// Per second of CPU time used by the client's threads; absent where that adds nothing.
    pub per_cpu_second: Option<Spread>,
}

/// Unit of a calibration value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CalibrationUnit {
    /// Payload bytes per second.
    BytesPerS,
    /// Operations per second.
    OpsPerS,
    /// Nanoseconds.
    Nanoseconds,
}

impl CalibrationUnit {
    /// A value with its unit, for people.
    pub fn text(self, value: f64) -> String {
        match self {
            CalibrationUnit::BytesPerS => ByteRate(value).to_string(),
            CalibrationUnit::OpsPerS => OpRate(value).to_string(),
            CalibrationUnit::Nanoseconds if value < 1000.0 => format!("{value:.1} ns"),
            CalibrationUnit::Nanoseconds => units::latency(value as u64),
        }
    }
}

/// Several measurements of the same quantity.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The minimum.
    pub low: f64,
    /// The median.
    pub median: f64,
    /// The maximum.
    pub high: f64,
}

impl Spread {
    /// The spread of some values; `None` if there are none or one is NaN.
    pub fn of(values: &[f64]) -> Option<Spread> {
        let mut sorted = values.to_vec();
        if sorted.is_empty() || sorted.iter().any(|value| !value.is_finite()) {
            return None;
        }
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            1 => sorted[middle],
            _ => sorted[middle - 1].midpoint(sorted[middle]),
        };
        Some(Spread { low: sorted[0], median, high: sorted[sorted.len() - 1] })
    }

    /// The spread multiplied by `factor`.
    pub fn times(self, factor: f64) -> Spread {
        Spread { low: self.low * factor, median: self.median * factor, high: self.high * factor }
    }

    /// Distance between minimum and maximum as a share of the median; 0 when the median is 0.
    pub fn relative(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.high - self.low) / self.median }
    }
}

/// What a host's CPUs would allow over a protocol if nothing else limited it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// `nfs`, `s3` or `tcp`.
    pub protocol: String,
    /// `read`, `write`, `get`, `put`, `send` or `receive`.
    pub operation: String,
    /// Size of one operation, in bytes.
    pub block_bytes: u64,
    /// Unit of the values: bytes for large operations, operations for small ones.
    pub unit: CalibrationUnit,
    /// With one core that does nothing else.
    pub per_core: Spread,
    /// With all cores.
    pub all_cores: Spread,
}

impl Calibration {
    /// The measurement with this name.
    pub fn measure(&self, name: &str) -> Option<&CalibrationMeasure> {
        self.measures.iter().find(|measure| measure.name == name)
    }

    /// The ceiling of the protocol's operation closest in size; sizes are compared by their ratio.
    pub fn ceiling(&self, protocol: &str, operation: &str, block_bytes: u64) -> Option<&Ceiling> {
        let apart = |ceiling: &Ceiling| {
            ((ceiling.block_bytes.max(1) as f64).ln() - (block_bytes.max(1) as f64).ln()).abs()
        };
        self.ceilings
            .iter()
            .filter(|ceiling| ceiling.protocol == protocol && ceiling.operation == operation)
            .min_by(|a, b| apart(a).total_cmp(&apart(b)))
    }
}

impl Ceiling {
    /// Payload that all cores would move in operations of this size, in bytes per second.
    pub fn bytes_per_s(&self) -> Spread {
        match self.unit {
            CalibrationUnit::OpsPerS => self.all_cores.times(self.block_bytes as f64),
            _ => self.all_cores,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_least_middle_and_greatest() {
        let spread = Spread::of(&[3.0, 1.0, 2.0]).unwrap();
        assert_eq!(spread, Spread { low: 1.0, median: 2.0, high: 3.0 });
        assert_eq!(Spread::of(&[1.0, 2.0, 4.0, 8.0]).unwrap().median, 3.0);
        assert_eq!(spread.relative(), 1.0);
        assert_eq!(spread.times(2.0).high, 6.0);
        assert_eq!(Spread::of(&[]), None);
        assert_eq!(Spread::of(&[1.0, f64::NAN]), None);
        assert_eq!(Spread::of(&[0.0]).unwrap().relative(), 0.0);
    }

    #[test]
    fn the_ceiling_of_the_nearest_size_is_taken() {
        let ceiling = |block_bytes, unit| Ceiling {
            protocol: "nfs".into(),
            operation: "read".into(),
            block_bytes,
            unit,
            per_core: Spread::of(&[10.0]).unwrap(),
            all_cores: Spread::of(&[20.0]).unwrap(),
        };
        let calibration = Calibration {
            schema: "manometer.calibration".into(),
            schema_version: CALIBRATION_VERSION,
            manometer_version: String::new(),
            host: String::new(),
            kernel: String::new(),
            taken: String::new(),
            cores: 2,
            reactor: String::new(),
            seconds: 1.0,
            repetitions: 1,
            measures: Vec::new(),
            ceilings: vec![
                ceiling(4096, CalibrationUnit::OpsPerS),
                ceiling(1 << 20, CalibrationUnit::BytesPerS),
            ],
            facts: Default::default(),
            remarks: Vec::new(),
        };
        let of = |bytes| calibration.ceiling("nfs", "read", bytes).map(|found| found.block_bytes);
        assert_eq!(
            [of(512), of(32 << 10), of(128 << 10), of(8 << 20)].map(Option::unwrap),
            [4096, 4096, 1 << 20, 1 << 20]
        );
        assert_eq!(calibration.ceiling("nfs", "write", 4096), None);
        assert_eq!(calibration.ceilings[0].bytes_per_s().median, 20.0 * 4096.0);
        assert_eq!(calibration.ceilings[1].bytes_per_s().median, 20.0);
        let text = serde_json::to_string(&calibration).unwrap();
        assert_eq!(serde_json::from_str::<Calibration>(&text).unwrap(), calibration);
    }
}
