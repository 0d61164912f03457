//! Whether a cell's figures can be used, and why not: a reason per line, worst first.

use experiment::{CacheControl, Cell};
use metrics::OpKind;
use stats::SteadyOutcome;
use stats::limit::{Bottleneck, Bound, Confidence};
use store::{OpSummary, OpenLoop, Validity, Verdict};
use units::{Size, Span};

/// Share of a core that other machines on the same hardware may take.
const STOLEN: f64 = 0.05;
/// Maximum share of the operations that may wait at the end.
const TOLERATED_BACKLOG: f64 = 0.01;
/// Relative half-width of the 95 % interval from which a figure is too uncertain to be valid.
pub const WIDEST_INTERVAL: f64 = 0.1;
/// Stalls outside the window that cost less than this share of the throughput deserve no warning.
const MISSED_STALLS: f64 = 0.005;
/// A worker that wakes this late, in nanoseconds, did not measure during that time.
const LONGEST_PAUSE_NS: u64 = 1_000_000_000;
/// Maximum share of failed operations at which the others are still usable.
const TOLERATED_ERRORS: f64 = 0.01;

/// What a cell's measurement is judged by.
#[derive(Clone, Debug, Default)]
pub struct CellEvidence {
    /// Successful operations in the whole measurement.
    pub ok: u64,
    /// Failed operations in the whole measurement, including its warm-up.
    pub failed: u64,
    /// Reads, of the load or of the verification, that did not return what was written; one line per kind.
    pub wrong_data: Vec<String>,
    /// What verification could not check, in a line.
    pub not_verified: Option<String>,
    /// Errors ended the measurement.
    pub error_limit_reached: bool,
    /// An example error.
    pub example: Option<String>,
    /// A signal ended the measurement.
    pub interrupted: bool,
    /// Bytes moved in the whole measurement.
    pub bytes: u64,
    /// Bytes moved in the measurement and its warm-up.
    pub moved: u64,
    /// Length of the whole measurement, in seconds.
    pub measured_s: f64,
    /// Operations that never ended.
    pub abandoned: u64,
    /// Intervals that were missed.
    pub unseen: u64,
    /// Longest delay of a worker's wake-up, in nanoseconds.
    pub longest_pause_ns: u64,
    /// What limited it; `None` on a virtual clock.
    pub limit: Option<Bottleneck>,
    /// Largest share of a core's time that the hypervisor gave to others.
    pub steal: f64,
    /// For a load with a rate: how well the schedule was kept.
    pub open_loop: Option<OpenLoop>,
    /// Why the figure is too uncertain, in a line.
    pub uncertain: Option<String>,
    /// Reads may come from this client's page cache.
    pub cacheable: bool,
    /// Bytes that one host loads, as found at the target.
    pub data_bytes: u64,
    /// Memory available for caching files, in bytes.
    pub cache_bytes: Option<u64>,
    /// Other reasons that make the figures doubtful.
    pub doubts: Vec<String>,
}

impl CellEvidence {
    /// Share of the operations that failed.
    fn failed_share(&self) -> f64 {
        let ended = self.ok + self.failed;
        if ended == 0 { 0.0 } else { self.failed as f64 / ended as f64 }
    }

    /// How many operations failed, how, and with what consequence.
    pub fn errors_line(&self) -> String {
        let example = self.example.as_ref().map_or_else(String::new, |text| format!(", such as {text}"));
        let ended = if self.error_limit_reached { "; they ended the cell" } else { "" };
        let percent = match self.failed_share() * 100.0 {
            percent if percent < 0.1 => "less than 0.1".to_owned(),
            percent => format!("{percent:.1}"),
        };
        format!("{} operations failed ({percent} %){ended}{example}", self.failed)
    }
}

/// The verdict of a cell.
pub fn judge(cell: &Cell, steady: &SteadyOutcome, evidence: &CellEvidence) -> Verdict {
    let mut reasons = invalid(cell, steady, evidence);
    let worst = if reasons.is_empty() { Validity::Valid } else { Validity::Invalid };
    let warnings = warnings(cell, steady, evidence);
    let validity = if warnings.is_empty() { worst } else { worst.max(Validity::Warn) };
    reasons.extend(warnings);
    Verdict { validity, reasons }
}

fn invalid(cell: &Cell, steady: &SteadyOutcome, evidence: &CellEvidence) -> Vec<String> {
    let mut reasons = evidence.wrong_data.clone();
    let share = evidence.failed_share();
    if evidence.error_limit_reached || share > TOLERATED_ERRORS {
        reasons.push(evidence.errors_line());
    }
    if evidence.ok == 0 && !cell.workload.only_lays_out() {
        reasons.push("no operation succeeded: there is nothing to report".to_owned());
        return reasons;
    }
    if evidence.interrupted {
        reasons.push(format!(
            "interrupted after {}: the figures cover the time until then",
            span(evidence.measured_s)
        ));
    }
    let judged = cell.study.is_none() && steady.rule != "none";
    if judged && !steady.reached {
        // The rule gives the reason itself.
        reasons.push(steady.reason.clone());
    }
    reasons.extend(floors(cell, evidence));
    reasons
}

/// Required minimums that the measurement did not reach.
fn floors(cell: &Cell, evidence: &CellEvidence) -> Option<String> {
    let stages = &cell.stages;
    let ended_otherwise = evidence.interrupted || evidence.error_limit_reached;
    if cell.workload.ends_by_itself() || cell.study.is_some() || ended_otherwise {
        return None;
    }
    if evidence.bytes < stages.measure_at_least_bytes {
        return Some(format!(
            "only {} of the required {} were moved: allow more time with measure_at_most",
            Size(evidence.bytes).rounded(),
            Size(stages.measure_at_least_bytes).rounded()
        ));
    }
    // A difference of one interval is rounding.
    (evidence.measured_s + 1.0 < stages.measure_at_least_s).then(|| {
        format!(
            "measured for only {} of the required {}",
            span(evidence.measured_s),
            span(stages.measure_at_least_s)
        )
    })
}

fn warnings(cell: &Cell, steady: &SteadyOutcome, evidence: &CellEvidence) -> Vec<String> {
    let mut reasons = Vec::new();
    let share = evidence.failed_share();
    if evidence.failed > 0 && !evidence.error_limit_reached && share <= TOLERATED_ERRORS {
        reasons.push(evidence.errors_line());
    }
    reasons.extend(evidence.not_verified.clone());
    if evidence.abandoned > 0 {
        reasons.push(format!("{} operations were never answered", evidence.abandoned));
    }
    let open_loop = evidence.open_loop.as_ref().into_iter();
    reasons.extend(open_loop.flat_map(|open| schedule(open, evidence.measured_s)));
    reasons.extend(client(evidence));
    reasons.extend(evidence.limit.iter().flat_map(|limit| limit.doubts.iter().cloned()));
    if evidence.unseen > 0 {
        reasons.push(format!(
            "{} intervals were missed because this machine was too busy: charts over time have gaps",
            evidence.unseen
        ));
    }
    if evidence.longest_pause_ns >= LONGEST_PAUSE_NS {
        reasons.push(format!(
            "the load stopped for {:.1} s because manometer was stopped, the machine was suspended, or no core was \
             available; what the target did in that time is unknown",
            evidence.longest_pause_ns as f64 / 1e9
        ));
    }
    reasons.extend(evidence.uncertain.clone());
    reasons.extend(cache(cell, evidence));
    reasons.extend(evidence.doubts.iter().cloned());
    reasons.extend(stalls_left_out(steady));
    reasons
}

/// Why the main figure of a measurement is too uncertain: its interval is wider than [`WIDEST_INTERVAL`], or there is
/// none. `None` where it is certain enough, and where nothing was done.
pub fn uncertain(total: &OpSummary) -> Option<String> {
    let (name, figure) = match total.bytes {
        0 => ("operations a second are", &total.ops_per_s),
        _ => ("throughput is", &total.bytes_per_s),
    };
    let half_width = figure.relative_half_width();
    if total.ok == 0 {
        None
    } else if figure.samples < 2 {
        Some(
            "measured for one interval: the uncertainty of the figures is unknown; measure longer".to_owned(),
        )
    } else {
        (half_width > WIDEST_INTERVAL).then(|| {
            format!(
                "{name} only known to ± {:.0} % (95 % interval; VALID needs {:.0} % or better): measure longer",
                half_width * 100.0,
                WIDEST_INTERVAL * 100.0
            )
        })
    }
}

/// What stalls outside the reported window cost, if more than the figure's own uncertainty: a window that missed them
/// overstates what the target delivers in the long run.
fn stalls_left_out(steady: &SteadyOutcome) -> Option<String> {
    let stalls = steady.stalls?;
    let half_width = steady.series.first()?.estimate.relative_half_width();
    let (count, left_out) = (stalls.count - stalls.in_window, stalls.cost - stalls.window_cost);
    (count > 0 && left_out > half_width.max(MISSED_STALLS)).then(|| {
        format!(
            "{} of {} stalls (the longest {:.0} s) lie outside the reported window: over the whole measurement they \
             cost {:.1} % of the throughput",
            count,
            stalls.count,
            stalls.longest_s,
            stalls.cost * 100.0
        )
    })
}

/// How well an open loop kept its schedule.
fn schedule(open: &OpenLoop, measured_s: f64) -> Vec<String> {
    let mut reasons = Vec::new();
    if open.shed > 0 {
        reasons.push(format!(
            "{} operations were shed because the backlog was full: the target does not keep up with the rate",
            open.shed
        ));
    }
    // A few operations always wait near the limit; a growing backlog is different.
    if open.missed_starts as f64 > open.offered_ops_per_s * measured_s * TOLERATED_BACKLOG {
        reasons.push(format!(
            "{} operations were still waiting to start at the end: the target does not keep up with the rate",
            open.missed_starts
        ));
    }
    reasons
}

/// The client as the limit: the limit itself is reported separately.
fn client(evidence: &CellEvidence) -> Vec<String> {
    let mut reasons = Vec::new();
    let bound = |limit: &&Bottleneck| limit.bound == Bound::Client && limit.confidence > Confidence::Low;
    if evidence.limit.as_ref().filter(bound).is_some() {
        reasons.push("the client was the limit: the target may be able to do more".to_owned());
    }
    if evidence.steal > STOLEN {
        reasons.push(format!(
            "the hypervisor gave {:.0} % of a core to other machines: use a quieter machine",
            evidence.steal * 100.0
        ));
    }
    reasons
}

/// Reads that the client's memory may have served.
fn cache(cell: &Cell, evidence: &CellEvidence) -> Option<String> {
    let reads = cell.workload.does(OpKind::reads);
    let bytes = match cell.workload.files().saturating_mul(cell.workload.file_bytes()) {
        // Only the target knows.
        0 => evidence.data_bytes,
        planned => planned,
    };
    let memory = evidence.cache_bytes?;
    if cell.workload.works_on_own() {
        return (evidence.cacheable && reads).then(|| {
            "files were read by the client that had just written them: reads may have been served from its memory; \
             use direct: true"
                .to_owned()
        });
    }
    // Dropped caches stay empty only as long as nothing is read twice.
    let emptied = cell.cache != CacheControl::Keep || cell.workload.gives_up_pages();
    let once = emptied && evidence.moved <= bytes;
    (evidence.cacheable && reads && bytes < memory && !once).then(|| {
        let how = if emptied { "was read more than once" } else { "caches were kept" };
        format!(
            "the data set ({}) fits into this client's memory ({}) and {how}: reads may have been served \
             from memory; use direct: true or a larger data set",
            Size(bytes).rounded(),
            Size(memory).rounded()
        )
    })
}

fn span(seconds: f64) -> Span {
    let rounded = (seconds.max(0.0) * 10.0).round() / 10.0;
    Span(std::time::Duration::try_from_secs_f64(rounded).unwrap_or_default())
}
