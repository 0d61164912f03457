//! An experiment beats an inference: trials at half and twice the concurrency, and their effect on a finding.

use serde::{Deserialize, Serialize};

use super::finding::{Bottleneck, Bound, Cause, Confidence, EvidenceRow};
use super::target::MORE_WOULD_TELL;
use super::words::{percent, time};

/// If doubling the concurrency multiplies throughput by at most this, something is full.
const FULL_BELOW: f64 = 1.15;
/// From this gain on there is capacity left: the time per operation, or the number of lanes, is the limit.
const ROOM_FROM: f64 = 1.6;
/// How far the interval of the gain may extend beyond either threshold.
const BLUR: f64 = 0.15;

/// The results at half and twice the concurrency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Measured length of each trial, in seconds.
    pub seconds: f64,
    /// The measurement itself, before the trials.
    pub measured: ProbePoint,
    /// At half the concurrency; `None` if it cannot be halved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half: Option<ProbePoint>,
    /// At twice the concurrency.
    pub double: ProbePoint,
    /// Operations per second at twice the concurrency, divided by those measured.
    pub gain: f64,
    /// The conclusion.
    pub says: ProbeFinding,
}

/// A load and its results.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProbePoint {
    /// Operations that can be in flight at once, over all hosts.
    pub lanes: f64,
    /// Requested operations per second; `None` in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_ops_per_s: Option<f64>,
    /// Successful operations per second.
    pub ops_per_s: f64,
    /// Relative half-width of its 95 % interval; 0 if unknown.
    pub half_width: f64,
    /// Payload bytes per second.
    pub bytes_per_s: f64,
    /// Mean service time, in seconds.
    pub latency_s: f64,
}

/// The conclusion from a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeFinding {
    /// More operations in flight only wait: the target, or the path to it, is full.
    Full,
    /// Throughput grew with concurrency.
    Room,
    /// In between, or too uncertain.
    Between,
}

impl Probe {
    /// Evaluates the trials; `None` if the measurement had no successful operations.
    pub fn of(
        seconds: f64,
        measured: ProbePoint,
        half: Option<ProbePoint>,
        double: ProbePoint,
    ) -> Option<Probe> {
        if measured.ops_per_s <= 0.0 {
            return None;
        }
        let gain = double.ops_per_s / measured.ops_per_s;
        let blur = gain * measured.half_width.hypot(double.half_width);
        let says = if gain <= FULL_BELOW && gain + blur <= FULL_BELOW + BLUR {
            ProbeFinding::Full
        } else if gain >= ROOM_FROM && gain - blur >= ROOM_FROM - BLUR {
            ProbeFinding::Room
        } else {
            ProbeFinding::Between
        };
        Some(Probe { seconds, measured, half, double, gain, says })
    }

    /// Whether the rate was halved and doubled, not the number of lanes.
    fn is_open_loop(&self) -> bool {
        self.double.asked_ops_per_s.is_some()
    }

    /// In words: the result at twice the load, and the conclusion.
    pub fn sentence(&self) -> String {
        let Probe { measured, double, gain, .. } = self;
        let what = match double.asked_ops_per_s {
            Some(asked) => format!("twice the rate ({asked:.0} op/s)"),
            None => format!("twice the operations in flight ({:.0})", double.lanes),
        };
        let gave = match self.says {
            ProbeFinding::Full if *gain >= 1.0 => format!("{} more throughput", percent(gain - 1.0)),
            ProbeFinding::Full => format!("{} less throughput", percent(1.0 - gain)),
            _ => format!("{gain:.2} times the throughput"),
        };
        let latency = match measured.latency_s > 0.0 {
            true => format!(" and {:.2} times the latency", double.latency_s / measured.latency_s),
            false => String::new(),
        };
        let says = match (self.says, self.is_open_loop()) {
            (ProbeFinding::Full, _) => "the target or the path is full",
            (ProbeFinding::Room, false) => "what is in flight is the limit",
            (ProbeFinding::Room, true) => "there is room for more",
            (ProbeFinding::Between, _) => "neither full nor free",
        };
        format!("{what} gave {gave}{latency}: {says}")
    }

    /// The trials as rows of evidence.
    fn rows(&self) -> Vec<EvidenceRow> {
        let row = |name: &str, point: &ProbePoint, says: &str| {
            let load = match point.asked_ops_per_s {
                Some(asked) => format!("{asked:.0} op/s asked for"),
                None => format!("{:.0} in flight", point.lanes),
            };
            EvidenceRow {
                name: name.to_owned(),
                value: format!(
                    "{load}: {:.2} × the throughput, {}",
                    point.ops_per_s / self.measured.ops_per_s,
                    time(point.latency_s)
                ),
                limit: format!("{FULL_BELOW} ×, {ROOM_FROM} ×"),
                says: says.to_owned(),
            }
        };
        let says = match self.says {
            ProbeFinding::Full => "full",
            ProbeFinding::Room => "room for more",
            ProbeFinding::Between => "neither full nor free",
        };
        let mut rows = vec![row("probe with twice as much", &self.double, says)];
        if let Some(half) = &self.half {
            let kept = half.ops_per_s * FULL_BELOW >= self.measured.ops_per_s;
            let says = if kept { "half would do" } else { "less with less" };
            rows.push(EvidenceRow { limit: String::new(), ..row("probe with half as much", half, says) });
        }
        rows
    }
}

/// Whether a probe may change a finding or its confidence: if something was seen to be full, it hardly can.
pub fn is_undecided(finding: &Bottleneck) -> bool {
    match finding.cause {
        Cause::Service | Cause::Depth | Cause::NotTaken => true,
        Cause::PathRate | Cause::Loss | Cause::Baseline => finding.confidence != Confidence::High,
        // Without any operation there is nothing to double.
        Cause::Nothing => finding.bound == Bound::Unclear,
        _ => false,
    }
}

/// Applies a probe to a finding: it confirms, refutes, or leaves it open.
pub fn decide(finding: Bottleneck, probe: Probe) -> Bottleneck {
    let mut finding = match (probe.says, probe.is_open_loop()) {
        // A higher rate on the same lanes: whatever held the load back still does.
        (ProbeFinding::Between, _) | (_, true) => with_words(finding, &probe),
        (ProbeFinding::Full, false) => full(finding, &probe),
        (ProbeFinding::Room, false) => room(finding, &probe),
    };
    finding.evidence.extend(probe.rows());
    finding.probe = Some(probe);
    finding
}

fn full(finding: Bottleneck, probe: &Probe) -> Bottleneck {
    match (finding.bound, finding.cause) {
        // Alternative causes lowered the confidence before, and more concurrency does not separate them.
        (Bound::Target, Cause::Service) => {
            let sure = finding.confidence == Confidence::Medium;
            let finding = with_words(finding, probe);
            let finding = if sure { with_confidence(finding, Confidence::High) } else { finding };
            Bottleneck { next: "look at the target: its processors, disks and limits".to_owned(), ..finding }
        }
        (Bound::Target, Cause::ServerDisk | Cause::ServerCore) => {
            with_confidence(with_words(finding, probe), Confidence::High)
        }
        (Bound::Tool, Cause::Depth) => {
            let next = "look at the target: its processors, disks and limits; more in flight only waits";
            instead(finding, (Bound::Target, Cause::Service, Confidence::Medium), probe, next)
        }
        _ => with_words(finding, probe),
    }
}

fn room(finding: Bottleneck, probe: &Probe) -> Bottleneck {
    let next = || format!("more in flight: {:.0} and more at once", probe.double.lanes * 2.0);
    match (finding.bound, finding.cause) {
        (Bound::Tool, Cause::Depth) => with_confidence(with_words(finding, probe), Confidence::High),
        // These rules saw nothing full: they work by elimination.
        (Bound::Target, Cause::Service | Cause::Disk | Cause::ServerDisk | Cause::ServerCore)
        | (Bound::Unclear, Cause::Nothing) => {
            instead(finding, (Bound::Tool, Cause::Depth, Confidence::High), probe, &next())
        }
        // A full resource could not give that much more.
        (Bound::Network, Cause::PathRate | Cause::LineRate | Cause::Baseline | Cause::ServerLineRate)
        | (Bound::Client, Cause::Ceiling)
        | (Bound::Target, Cause::NotTaken | Cause::DiskQuota | Cause::ServerCores) => {
            instead(finding, (Bound::Tool, Cause::Depth, Confidence::Medium), probe, &next())
        }
        // A window, a buffer and loss limit each connection, and a worker may do more per turn of its loop.
        _ => {
            let most = finding.confidence.min(Confidence::Medium);
            with_confidence(with_words(finding, probe), most)
        }
    }
}

/// The same finding, extended by the conclusion from the probe.
fn with_words(finding: Bottleneck, probe: &Probe) -> Bottleneck {
    Bottleneck { sentence: format!("{}; {}", without_probe(&finding), probe.sentence()), ..finding }
}

/// A different finding, based on the probe; the original one is appended to its sentence.
fn instead(
    finding: Bottleneck,
    (bound, cause, confidence): (Bound, Cause, Confidence),
    probe: &Probe,
    next: &str,
) -> Bottleneck {
    let before = match finding.bound {
        Bound::Unclear => String::new(),
        _ => format!("; without this probe: {}", without_probe(&finding)),
    };
    let sentence = format!("{}{}: {}{before}", bound.words(), confidence.words(), probe.sentence());
    let (place, next) = (String::new(), next.to_owned());
    Bottleneck { bound, cause, confidence, place, share: None, sentence, next, ..finding }
}

/// A finding's sentence without its remark that more operations in flight would tell more: they were tried.
fn without_probe(finding: &Bottleneck) -> String {
    finding.sentence.replace(&format!("; {MORE_WOULD_TELL}"), "")
}

/// The same finding with a different confidence.
fn with_confidence(finding: Bottleneck, confidence: Confidence) -> Bottleneck {
    let head = finding.bound.words();
    let before = format!("{head}{}: ", finding.confidence.words());
    let sentence = finding.sentence.replacen(&before, &format!("{head}{}: ", confidence.words()), 1);
    Bottleneck { confidence, sentence, ..finding }
}
