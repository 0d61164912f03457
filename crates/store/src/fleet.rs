//! What is stored about the hosts of a fleet, beside their combined results.

use std::collections::BTreeMap;

use metrics::PathFacts;
use serde::{Deserialize, Serialize};
use stats::{Measure, OpSummary};

use crate::record::Environment;

/// Maximum fleet size for which intervals of single hosts are stored; larger fleets store only the combined intervals,
/// and each host's sums over its whole measurement.
pub const HOSTS_KEPT: usize = 64;

/// A host of a run, and facts that may explain its numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRecord {
    /// Its name in the fleet, which is unique.
    pub name: String,
    /// Its kernel, processors, network interfaces: named as in the run's environment.
    pub environment: Environment,
}

/// One host's result in a cell. Figures cover the reported window of the combined result, in which every host has the
/// same interval numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostResult {
    /// The host.
    pub name: String,
    /// Its index in the fleet, from 0.
    pub index: u32,
    /// All of its operations together.
    pub total: OpSummary,
    /// Each operation.
    pub ops: Vec<OpSummary>,
    /// Start of its first worker, in nanoseconds after the common start; negative if early. `None` if it never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ns: Option<i64>,
    /// Its clock relative to the coordinator's; `None` for the coordinator itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<HostClock>,
    /// When it was lost, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<LostHost>,
    /// The host during the measurement, like the combined result's `client`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub client: BTreeMap<String, f64>,
    /// What each of its paths to a server carried in the measured window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathFacts>,
}

/// A host's clock as seen from the coordinator, measured by round trips (no wall clock is used).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostClock {
    /// Offset from the coordinator's clock to the host's, in nanoseconds.
    pub offset_ns: i64,
    /// Uncertainty of the offset, in nanoseconds: half of the shortest round trip, plus the effect of drift.
    pub uncertainty_ns: u64,
    /// How much faster the host's clock runs, in parts per million.
    pub drift_ppm: f64,
    /// The shortest round trip, in nanoseconds.
    pub round_trip_ns: u64,
}

/// A host that failed during a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LostHost {
    /// When, in seconds since the measurement began; negative before it.
    pub at_s: f64,
    /// Why, in one line.
    pub why: String,
}

/// How evenly the hosts of a fleet performed in one cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetFigures {
    /// Time between the first and the last host's start, in nanoseconds.
    pub start_skew_ns: u64,
    /// Uncertainty of that skew, in nanoseconds.
    pub skew_uncertainty_ns: u64,
    /// Throughput (if bytes were moved), operations per second and 99th percentile over the hosts that finished.
    pub spread: Vec<HostSpread>,
}

/// One figure over the hosts of a fleet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostSpread {
    /// The figure.
    pub measure: Measure,
    /// The min.
    pub least: f64,
    /// The max.
    pub greatest: f64,
    /// The mean.
    pub mean: f64,
    /// Coefficient of variation: standard deviation over mean; 0 if all are equal.
    pub variation: f64,
    /// The worst host: lowest throughput, or highest latency.
    pub slowest: String,
}

impl FleetFigures {
    /// The figures of a fleet. Lost hosts are excluded from the spread: they did not measure the whole time.
    pub fn of(hosts: &[HostResult], start_skew_ns: u64, skew_uncertainty_ns: u64) -> Self {
        let whole: Vec<&HostResult> = hosts.iter().filter(|host| host.lost.is_none()).collect();
        let moved = whole.iter().any(|host| host.total.bytes > 0);
        let timed = whole.iter().any(|host| host.total.response.count > 0);
        let of = |wanted: bool, measure: Measure| wanted.then(|| spread(&whole, measure)).flatten();
        let spread = [of(moved, Measure::BytesPerS), of(true, Measure::OpsPerS), of(timed, Measure::P99Ns)];
        Self { start_skew_ns, skew_uncertainty_ns, spread: spread.into_iter().flatten().collect() }
    }
}

/// A host's value of `measure`.
fn value(host: &HostResult, measure: Measure) -> f64 {
    let total = &host.total;
    match measure {
        Measure::BytesPerS => total.bytes_per_s.mean,
        Measure::OpsPerS => total.ops_per_s.mean,
        Measure::P50Ns => total.response.p50_ns as f64,
        Measure::P99Ns => total.response.p99_ns as f64,
        Measure::MeanNs => total.response.mean_ns,
    }
}

fn spread(hosts: &[&HostResult], measure: Measure) -> Option<HostSpread> {
    let values: Vec<f64> = hosts.iter().map(|host| value(host, measure)).collect();
    let most_is_worst = !matches!(measure, Measure::BytesPerS | Measure::OpsPerS);
    let order = |a: &(usize, &f64), b: &(usize, &f64)| a.1.total_cmp(b.1).then(b.0.cmp(&a.0));
    let least = values.iter().enumerate().min_by(order)?;
    let greatest = values.iter().enumerate().max_by(order)?;
    let slowest = if most_is_worst { greatest.0 } else { least.0 };
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (values.len().max(2) - 1) as f64).sqrt();
    Some(HostSpread {
        measure,
        least: *least.1,
        greatest: *greatest.1,
        mean,
        variation: if mean > 0.0 { deviation / mean } else { 0.0 },
        slowest: hosts[slowest].name.clone(),
    })
}
