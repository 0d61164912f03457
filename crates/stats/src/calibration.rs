//! What a host could drive at most, as `manometer calibrate` found it: results are judged against it.

use serde::{Deserialize, Serialize};

/// Version of `schemas/calibration.schema.json`. Adding a field does not raise it; removing or redefining one does.
pub const CALIBRATION_VERSION: u32 = 1;

/// What one host did when it was calibrated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// `manometer.calibration`.
    pub schema: String,
    /// [`CALIBRATION_VERSION`].
    pub schema_version: u32,
    /// Version of the program that measured.
    pub manometer_version: String,
    /// Name of the host (uname(2)).
    pub host: String,
    /// Release of its kernel.
    pub kernel: String,
    /// When it began, as RFC 3339 writes it.
    pub taken: String,
    /// Cores that the process could use.
    pub cores: u32,
    /// `io_uring` or `epoll`.
    pub reactor: String,
    /// Measured seconds of each piece.
    pub seconds: f64,
    /// How often each piece was measured.
    pub repetitions: u32,
    /// What was measured.
    pub measures: Vec<CalibrationMeasure>,
    /// What follows from it for each protocol.
    pub ceilings: Vec<Ceiling>,
    /// Facts about the host, by name.
    pub facts: std::collections::BTreeMap<String, String>,
    /// What on this host will hold a measurement back, and how to fix it; one line each.
    pub remarks: Vec<String>,
}

/// One piece that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CalibrationMeasure {
    /// `null-one`, `nfs-read-1m`, …: the same in every version.
    pub name: String,
    /// For people.
    pub title: String,
    /// What the values are.
    pub unit: CalibrationUnit,
    /// By the clock.
    pub by_clock: Spread,
    /// Per second of processor time that the client's threads used; absent where that says nothing more.
    pub per_cpu_second: Option<Spread>,
}

/// What a value of a calibration is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CalibrationUnit {
    /// Payload bytes a second.
    BytesPerS,
    /// Operations a second.
    OpsPerS,
    /// Nanoseconds.
    Nanoseconds,
}

/// Several measurements of the same.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The least.
    pub low: f64,
    /// The one in the middle.
    pub median: f64,
    /// The greatest.
    pub high: f64,
}

impl Spread {
    /// Of some values; `None` of none, or when one is no number.
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

    /// The same, this many times as large.
    pub fn times(self, factor: f64) -> Spread {
        Spread { low: self.low * factor, median: self.median * factor, high: self.high * factor }
    }

    /// How far the least and the greatest are apart, as a share of the median; 0 when that is 0.
    pub fn relative(&self) -> f64 {
        if self.median == 0.0 { 0.0 } else { (self.high - self.low) / self.median }
    }
}

/// What the processors of a host would allow over a protocol if nothing else held it back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// `nfs`, `s3` or `tcp`.
    pub protocol: String,
    /// `read`, `write`, `get`, `put`, `send` or `receive`.
    pub operation: String,
    /// Size of one operation, in bytes.
    pub block_bytes: u64,
    /// What the values are: bytes of large operations, operations of small ones.
    pub unit: CalibrationUnit,
    /// With one core that does nothing else.
    pub per_core: Spread,
    /// With all cores.
    pub all_cores: Spread,
}

impl Calibration {
    /// What was measured under a name.
    pub fn measure(&self, name: &str) -> Option<&CalibrationMeasure> {
        self.measures.iter().find(|measure| measure.name == name)
    }

    /// The ceiling of a protocol's operation whose size is the nearest: sizes are compared by their ratio.
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
    /// The payload that all cores would move, in bytes a second, in operations of this size.
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
