//! The most a host can drive, if `manometer calibrate` was run there.

use metrics::OpKind;
use stats::Calibration;

/// One kind of work: operations of one size over one protocol.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// The target's scheme: `nfs`, `s3`, `tcp`.
    pub scheme: &'a str,
    /// The operation.
    pub op: OpKind,
    /// Size of one operation, in bytes.
    pub bytes: u64,
}

/// Upper limit that a host's processors set for this work, in payload bytes per second, from its calibration; `None`
/// where the calibration did not measure such work.
pub fn ceiling(calibration: &Calibration, work: &Work) -> Option<f64> {
    let kind = targets::kinds().iter().find(|kind| kind.scheme == work.scheme)?;
    let calibrated = kind.calibrated.iter().find(|calibrated| calibrated.op == work.op)?;
    let nearest = calibration.ceiling(work.scheme, calibrated.name, work.bytes)?;
    // The ceiling for sizes in between is different and was not measured.
    let alike = (0.5..=2.0).contains(&(work.bytes as f64 / nearest.block_bytes.max(1) as f64));
    alike.then(|| nearest.bytes_per_s().high)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use stats::{CalibrationUnit, Ceiling, Spread};

    use super::*;

    #[test]
    fn the_ceiling_is_that_of_the_same_operation_of_about_the_same_size() {
        let ceiling = |operation: &str, block_bytes: u64, unit, most: f64| Ceiling {
            protocol: "nfs".into(),
            operation: operation.into(),
            block_bytes,
            unit,
            per_core: Spread::of(&[1.0]).unwrap(),
            all_cores: Spread::of(&[most / 2.0, most]).unwrap(),
        };
        let calibration = Calibration {
            schema: String::new(),
            schema_version: stats::CALIBRATION_VERSION,
            manometer_version: String::new(),
            host: "h".into(),
            kernel: String::new(),
            taken: String::new(),
            cores: 2,
            reactor: String::new(),
            seconds: 1.0,
            repetitions: 2,
            measures: Vec::new(),
            ceilings: vec![
                ceiling("read", 4096, CalibrationUnit::OpsPerS, 1000.0),
                ceiling("read", 1 << 20, CalibrationUnit::BytesPerS, 5e9),
                ceiling("write", 1 << 20, CalibrationUnit::BytesPerS, 3e9),
            ],
            facts: BTreeMap::new(),
            remarks: Vec::new(),
        };
        let of = |op, bytes| super::ceiling(&calibration, &Work { scheme: "nfs", op, bytes });
        assert_eq!(of(OpKind::Read, 1 << 20), Some(5e9));
        assert_eq!(of(OpKind::Write, 512 << 10), Some(3e9));
        assert_eq!(of(OpKind::Read, 4096), Some(4096.0 * 1000.0));
        assert_eq!(of(OpKind::Read, 64 << 10), None);
        assert_eq!(of(OpKind::Stat, 1 << 20), None);
    }
}
