//! What is kept of the hosts of a fleet, beside what all of them did together.

use std::collections::BTreeMap;

use metrics::PathFacts;
use serde::{Deserialize, Serialize};
use stats::{Measure, OpSummary};

use crate::record::Environment;

/// Intervals of single hosts are kept for fleets of this many; of a larger one only those of all together, and each
/// host's sums over its whole measurement.
pub const HOSTS_KEPT: usize = 64;

/// A host of a run, and what may explain its numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostRecord {
    /// As the fleet names it; no two of a fleet have the same.
    pub name: String,
    /// Its kernel, processors, network interfaces: names as in the run's environment.
    pub environment: Environment,
}

/// What one host of a fleet did in a cell. Figures are of the window that is reported of the whole, in which every
/// host has the same numbers of intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostResult {
    /// The host.
    pub name: String,
    /// Its place in the fleet, from 0.
    pub index: u32,
    /// All of its operations together.
    pub total: OpSummary,
    /// Each kind.
    pub ops: Vec<OpSummary>,
    /// When its first worker started, in nanoseconds after the common start; negative when it was early. `None` when it
    /// never did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_ns: Option<i64>,
    /// Its clock beside that of the side that leads; `None` for the host that leads itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<HostClock>,
    /// When it was given up, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<LostHost>,
    /// The host while it measured, as the whole's `client`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub client: BTreeMap<String, f64>,
    /// What each of its paths to a server carried in the measured window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathFacts>,
}

/// A host's clock as seen from the side that leads, by messages to and fro (no wall clock is used).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostClock {
    /// What must be added to the leader's clock to have the host's, in nanoseconds.
    pub offset_ns: i64,
    /// By how much this may be wrong, in nanoseconds: half of the shortest round trip, and what the drift adds.
    pub uncertainty_ns: u64,
    /// How much faster the host's clock runs, in parts of a million.
    pub drift_ppm: f64,
    /// The shortest round trip that was seen, in nanoseconds.
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

/// How even the hosts of a fleet were, in one cell.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FleetFigures {
    /// Between the first and the last host's start, in nanoseconds.
    pub start_skew_ns: u64,
    /// By how much this may be wrong, in nanoseconds.
    pub skew_uncertainty_ns: u64,
    /// Throughput (of what moved bytes), operations a second and 99th percentile over the hosts that came to the end.
    pub spread: Vec<HostSpread>,
}

/// One figure over the hosts of a fleet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostSpread {
    /// Which.
    pub measure: Measure,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub greatest: f64,
    /// The mean.
    pub mean: f64,
    /// Standard deviation over mean (coefficient of variation); 0 when all are equal.
    pub variation: f64,
    /// The host with the worst: least throughput, longest latency.
    pub slowest: String,
}

impl FleetFigures {
    /// The figures of a fleet. Hosts that were lost take no part in the spread: they did not measure all the time.
    pub fn of(hosts: &[HostResult], start_skew_ns: u64, skew_uncertainty_ns: u64) -> Self {
        let whole: Vec<&HostResult> = hosts.iter().filter(|host| host.lost.is_none()).collect();
        let moved = whole.iter().any(|host| host.total.bytes > 0);
        let timed = whole.iter().any(|host| host.total.response.count > 0);
        let of = |wanted: bool, measure: Measure| wanted.then(|| spread(&whole, measure)).flatten();
        let spread = [of(moved, Measure::BytesPerS), of(true, Measure::OpsPerS), of(timed, Measure::P99Ns)];
        Self { start_skew_ns, skew_uncertainty_ns, spread: spread.into_iter().flatten().collect() }
    }
}

/// What `measure` is of a host.
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
