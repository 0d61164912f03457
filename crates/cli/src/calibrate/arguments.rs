//! The arguments of `manometer calibrate`.

use checks::CalibrateRequest;
use clap::Args;

use crate::results::{ResultsFile, ResultsFormat};

/// Measures the most that this client can drive, whatever the storage: its processors, its memory, its
/// kernel.
///
/// NFS and S3 are measured against a simulated array in memory, in a separate process on the loopback
/// interface. The result is saved beside the results file as this host's calibration, and stored in it like a
/// run, for `manometer list`, `show`, `report` and `compare`.
///
/// Exit code: 0 measured, 1 something could not be measured or stored, 2 wrong usage, 129, 130 or 143
/// interrupted.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct CalibrateArguments {
    /// Measured seconds of each step per repetition
    #[arg(long, value_name = "SECONDS", default_value_t = CalibrateRequest::USUAL_SECONDS, value_parser = seconds)]
    pub seconds: f64,
    /// Number of measurements of each step, alternating with the others; their spread is shown
    #[arg(long, value_name = "N", default_value_t = CalibrateRequest::USUAL_REPETITIONS, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repetitions: u32,
    /// How I/O is submitted to the kernel
    #[arg(long, value_name = "KIND", default_value = "auto")]
    pub reactor: reactor::BackendChoice,
    /// Format of the result
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    pub output: ResultsFormat,
    #[command(flatten)]
    pub file: ResultsFile,
}

const EXAMPLES: &str = "\
Examples:
  manometer calibrate
  manometer calibrate --seconds 0.2 --repetitions 3
  manometer calibrate --output json > this-host.json";

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if CalibrateRequest::SECONDS.contains(&seconds) => Ok(seconds),
        _ => Err("write seconds from 0.05 to 600, such as 1 or 0.5".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_have_bounds() {
        assert_eq!(seconds("0.5"), Ok(0.5));
        for wrong in ["0", "601", "-1", "x", "NaN", "inf"] {
            assert!(seconds(wrong).unwrap_err().contains("0.05 to 600"), "{wrong}");
        }
    }
}
