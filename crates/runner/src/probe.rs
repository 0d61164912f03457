//! After a measurement: what half and twice as much in flight gives, outside of the figures, as evidence for the verdict.

use engine::StageResult;
use experiment::{Arrivals, Cell};
use fleet::StageRequest;
use host::load;
use metrics::Interval;
use stats::limit::{Probe, ProbePoint};

/// The most operations that a worker keeps in flight.
const MOST_LANES: u32 = 65_536;
/// Load before a trial, by its measured length: connections open, windows grow.
const WARM_UP: f64 = 0.25;
/// The length of a check's trials, by that of its phases.
const OF_A_PHASE: f64 = 0.1;
/// And at most, in seconds.
const LONGEST_S: f64 = 3.0;
/// Shorter phases have no time for trials, in seconds.
const SHORTEST_PHASE_S: f64 = 10.0;
/// A trial of which more than this share of the operations fails says nothing.
const FAILED: f64 = 0.01;

/// The trials that a probe of a cell is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbePlan {
    /// Half as much; `None` where there is no half of it.
    pub half: Option<ProbeLoad>,
    /// Twice as much.
    pub double: ProbeLoad,
}

/// The load of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeLoad {
    /// Operations that each worker keeps in flight.
    pub queue_depth: u32,
    /// When they start.
    pub arrivals: Arrivals,
}

impl ProbePlan {
    /// In a closed loop the lanes are halved and doubled, in an open one the rate.
    ///
    /// # Errors
    /// Why there is none of such a cell, in a few words.
    pub fn of(cell: &Cell) -> Result<Self, &'static str> {
        let workload = &cell.workload;
        if workload.stream().is_some() || workload.ends_by_itself() {
            return Err("the load knows its own end");
        }
        if cell.study.is_some() {
            return Err("a study tries several rates by itself");
        }
        if cell.group.is_some() {
            return Err("other cells are measured at the same time");
        }
        if load::makes_or_removes(cell) {
            return Err("its operations make or remove what the next ones would find");
        }
        if load::verifies(cell) {
            return Err("its data is compared, and nothing may be found wrong outside of the figures");
        }
        if workload.holds_lanes_back() {
            return Err("the workload pauses by itself");
        }
        Self::of_load(workload.queue_depth, &workload.arrivals)
    }

    /// The same of a load that may be repeated as often as one likes.
    ///
    /// # Errors
    /// Why there is none.
    pub fn of_load(queue_depth: u32, arrivals: &Arrivals) -> Result<Self, &'static str> {
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
            (Arrivals::Closed, ..) if queue_depth > MOST_LANES / 2 => {
                Err("twice as many operations are more than a worker can have in flight")
            }
            (Arrivals::Closed, ..) => Ok(Self {
                half: (queue_depth > 1).then(|| lanes(queue_depth / 2)),
                double: lanes(queue_depth * 2),
            }),
            (_, half @ Some(_), Some(double)) => Ok(Self { half, double }),
            _ => Err("the rate changes by itself"),
        }
    }
}

/// Runs the trial of this number and shows each of its intervals; else why it could not, in a few words.
pub type RunTrial<'a> =
    dyn FnMut(u32, StageRequest, &mut dyn FnMut(&Interval)) -> Result<StageResult, String> + 'a;

/// Seconds of each trial of a phase that is measured for so long; `None` where there is no time for any.
pub fn seconds_of_phase(measured_s: f64) -> Option<f64> {
    (measured_s >= SHORTEST_PHASE_S).then(|| (measured_s * OF_A_PHASE).min(LONGEST_S))
}

/// Carries the trials out by `run`, which is told the number of each, and judges them. `request` is what was measured, as it was asked
/// for, on so many hosts.
///
/// # Errors
/// In a few words: why a trial failed.
pub fn carry_out(
    plan: &ProbePlan,
    seconds: f64,
    measured: ProbePoint,
    request: &StageRequest,
    run: &mut RunTrial<'_>,
) -> Result<Probe, String> {
    // Per worker of every host, whatever their number is.
    let workers = measured.lanes / f64::from(request.queue_depth.unwrap_or(1).max(1));
    let mut trial = |number: u32, load: &ProbeLoad| {
        let request = StageRequest {
            arrivals: load.arrivals.clone(),
            queue_depth: Some(load.queue_depth),
            warm_up_s: seconds * WARM_UP,
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
            return Err("interrupted".to_owned());
        }
        if all.failed() as f64 > FAILED * (all.ok + all.failed()) as f64 || all.ok == 0 {
            return Err("too many operations of a trial failed".to_owned());
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
    Probe::of(seconds, measured, half, double).ok_or_else(|| "nothing was done before it".to_owned())
}

/// What came of a load with so many lanes in a window of so many nanoseconds; how well its rate is known is the half of a relative interval.
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
