//! After a measurement, tries half and twice as much in flight, outside the figures, as evidence for the verdict.

use engine::StageResult;
use experiment::{Arrivals, Cell, TRIAL_WARM_UP};
use fleet::StageRequest;
use host::load;
use metrics::Interval;
use stats::limit::{Probe, ProbePoint};

/// Maximum operations in flight per worker.
const MOST_LANES: u32 = 65_536;
/// Length of a check's trials, as a share of its phases' length.
const OF_A_PHASE: f64 = 0.1;
/// Their maximum length, in seconds.
const LONGEST_S: f64 = 3.0;
/// Minimum length of a phase for which there are trials, in seconds.
const SHORTEST_PHASE_S: f64 = 10.0;
/// A trial in which more than this share of the operations fails is inconclusive.
const FAILED: f64 = 0.01;

/// Why there is no probe, in a few words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoProbe {
    /// The load ends after its data or by itself.
    #[error("the load knows its own end")]
    EndsByItself,
    /// The cell is a study.
    #[error("a study tries several rates by itself")]
    Study,
    /// The cell belongs to a group.
    #[error("other cells are measured at the same time")]
    Together,
    /// Trials would use up its objects.
    #[error("its operations create or remove objects that later ones need")]
    ChangesObjects,
    /// The cell's data is verified.
    #[error("its data is verified, which a probe does not do")]
    Verified,
    /// The workload holds its lanes back.
    #[error("the workload pauses by itself")]
    Pauses,
    /// Twice as much in flight exceeds the maximum.
    #[error("a worker cannot have twice as many operations in flight")]
    TooManyInFlight,
    /// The rate is not constant.
    #[error("the rate changes by itself")]
    RateChanges,
    /// The measurement itself did nothing.
    #[error("nothing was done before it")]
    NothingBefore,
    /// A trial was interrupted.
    #[error("interrupted")]
    Interrupted,
    /// A trial is inconclusive.
    #[error("too many operations of a trial failed")]
    FailedOperations,
    /// A trial could not be run, as this line says.
    #[error("{0}")]
    Trial(String),
}

/// The trials of a cell's probe.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbePlan {
    /// Half as much in flight; `None` if it cannot be halved.
    pub half: Option<ProbeLoad>,
    /// Twice as much in flight.
    pub double: ProbeLoad,
}

/// The load of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeLoad {
    /// Operations in flight per worker.
    pub queue_depth: u32,
    /// When they start.
    pub arrivals: Arrivals,
}

impl ProbePlan {
    /// A closed loop halves and doubles the lanes, an open loop the rate.
    ///
    /// # Errors
    /// Such a cell cannot be probed.
    pub fn of(cell: &Cell) -> Result<Self, NoProbe> {
        let workload = &cell.workload;
        if workload.stream().is_some() || workload.ends_by_itself() {
            return Err(NoProbe::EndsByItself);
        }
        if cell.study.is_some() {
            return Err(NoProbe::Study);
        }
        if cell.group.is_some() {
            return Err(NoProbe::Together);
        }
        if load::makes_or_removes(cell) {
            return Err(NoProbe::ChangesObjects);
        }
        if load::verifies(cell) {
            return Err(NoProbe::Verified);
        }
        if workload.holds_lanes_back() {
            return Err(NoProbe::Pauses);
        }
        Self::of_load(workload.queue_depth, &workload.arrivals)
    }

    /// The same for a load that can be repeated any number of times.
    ///
    /// # Errors
    /// It cannot be probed.
    pub fn of_load(queue_depth: u32, arrivals: &Arrivals) -> Result<Self, NoProbe> {
        let lanes = |queue_depth| ProbeLoad { queue_depth, arrivals: arrivals.clone() };
        let rate = |factor: f64| {
            let arrivals = match arrivals {
                Arrivals::Constant { ops_per_s } => Arrivals::Constant { ops_per_s: ops_per_s * factor },
                Arrivals::Poisson { ops_per_s } => Arrivals::Poisson { ops_per_s: ops_per_s * factor },
                _ => return None,
            };
            Some(ProbeLoad { queue_depth, arrivals })
        };
        match (arrivals, rate(0.5), rate(2.0)) {
            (Arrivals::Closed, ..) if queue_depth > MOST_LANES / 2 => Err(NoProbe::TooManyInFlight),
            (Arrivals::Closed, ..) => Ok(Self {
                half: (queue_depth > 1).then(|| lanes(queue_depth / 2)),
                double: lanes(queue_depth * 2),
            }),
            (_, half @ Some(_), Some(double)) => Ok(Self { half, double }),
            _ => Err(NoProbe::RateChanges),
        }
    }
}

/// Runs the trial with this number and shows each of its intervals.
pub type RunTrial<'a> =
    dyn FnMut(u32, StageRequest, &mut dyn FnMut(&Interval)) -> Result<StageResult, NoProbe> + 'a;

/// Length of each trial after a phase of this length, in seconds; `None` if there is no time for trials.
pub fn seconds_of_phase(measured_s: f64) -> Option<f64> {
    (measured_s >= SHORTEST_PHASE_S).then(|| (measured_s * OF_A_PHASE).min(LONGEST_S))
}

/// Runs the trials through `run`, which receives the number of each, and judges them. `request` is the measurement as
/// requested, on this number of hosts.
///
/// # Errors
/// A trial failed.
pub fn carry_out(
    plan: &ProbePlan,
    seconds: f64,
    measured: ProbePoint,
    request: &StageRequest,
    run: &mut RunTrial<'_>,
) -> Result<Probe, NoProbe> {
    // Per worker of every host, whatever the number of workers.
    let workers = measured.lanes / f64::from(request.queue_depth.unwrap_or(1).max(1));
    let mut trial = |number: u32, load: &ProbeLoad| {
        let request = StageRequest {
            arrivals: load.arrivals.clone(),
            queue_depth: Some(load.queue_depth),
            warm_up_s: seconds * TRIAL_WARM_UP,
            limit_s: seconds,
            ..request.clone()
        };
        let mut rates = Vec::new();
        let result = run(number, request, &mut |interval| {
            if interval.length_ns > 0 {
                rates.push(interval.all_ops().ok as f64 * 1e9 / interval.length_ns as f64);
            }
        })?;
        let all = result.total.all_ops();
        if result.stopped {
            return Err(NoProbe::Interrupted);
        }
        if all.failed() as f64 > FAILED * (all.ok + all.failed()) as f64 || all.ok == 0 {
            return Err(NoProbe::FailedOperations);
        }
        let half_width = stats::estimate(&rates).relative_half_width();
        Ok(point(
            (&result.total, result.window_ns),
            workers * f64::from(load.queue_depth),
            &load.arrivals,
            half_width,
        ))
    };
    let half = plan.half.as_ref().map(|load| trial(0, load)).transpose()?;
    let double = trial(1, &plan.double)?;
    Probe::of(seconds, measured, half, double).ok_or(NoProbe::NothingBefore)
}

/// Result of a load with this many lanes over a window of `window_ns` nanoseconds; `half_width` is the relative
/// half-width of its rate's confidence interval.
pub fn point(
    (total, window_ns): (&Interval, u64),
    lanes: f64,
    arrivals: &Arrivals,
    half_width: f64,
) -> ProbePoint {
    let per_second = |count: u64| count as f64 * 1e9 / window_ns.max(1) as f64;
    let all = total.all_ops();
    ProbePoint {
        lanes,
        asked_ops_per_s: match arrivals {
            Arrivals::Constant { ops_per_s } | Arrivals::Poisson { ops_per_s } => Some(*ops_per_s),
            _ => None,
        },
        ops_per_s: per_second(all.ok),
        half_width: if half_width.is_finite() { half_width } else { 0.0 },
        bytes_per_s: per_second(total.bytes()),
        latency_s: all.service.mean_ns() / 1e9,
    }
}
