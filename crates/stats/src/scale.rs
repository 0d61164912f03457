//! Scale-out: what added hosts (or addresses) contribute, compared with what the same number contributed before.

use serde::{Deserialize, Serialize};

use crate::Estimate;
use crate::numbers::share;

/// An added host counts as scaling while it contributes at least this share of what each host contributed so far.
///
/// Below a half, each unit of throughput costs more than twice as many hosts as before. That is a convention, not a
/// law: efficiency falls without a step when hosts wait for each other (Amdahl 1967; Gunther, Guerrilla Capacity
/// Planning, 2007, chapter 4: contention and coherence), so a limit has to be agreed on. The whole interval must lie
/// below it, so that noise alone does not end the scaling.
pub const SCALES_FROM: f64 = 0.5;

/// A measurement with this many hosts or addresses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScalePoint {
    /// Number of hosts or addresses.
    pub count: u32,
    /// Total throughput in bytes or operations per second, with its 95 % interval.
    pub throughput: Estimate,
    /// 99th percentile of the latency, in nanoseconds.
    pub p99_ns: Option<f64>,
    /// What limited it, in words: `disk`, `network`.
    pub limit: Option<String>,
}

/// A share with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The point estimate.
    pub value: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
}

/// What a step to more hosts brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepVerdict {
    /// The added hosts contributed at least half of what the same number contributed before.
    Scales,
    /// They contributed less.
    Stops,
    /// The interval contains the limit: measure longer, or more often.
    Unclear,
}

/// A point of a scale-out study compared with the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaleStep {
    /// The measurement; repetitions with the same number of hosts are merged.
    pub point: ScalePoint,
    /// Throughput per host, relative to the first point: 1 is linear.
    pub efficiency: Ratio,
    /// Contribution of each host added since the previous point, relative to the contribution per host there: 1 is
    /// linear, 0 nothing, below 0 a loss. For a doubling it is the gain in throughput. `None` for the first point.
    pub marginal: Option<Ratio>,
    /// The resulting verdict; `None` for the first point.
    pub verdict: Option<StepVerdict>,
}

/// Where scaling stops, and what the limit is on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaleEnd {
    /// Largest number of hosts that still scaled.
    pub last: u32,
    /// The first number that did not.
    pub next: u32,
    /// The limit with `last` hosts.
    pub limit_before: Option<String>,
    /// The limit with `next` hosts.
    pub limit_after: Option<String>,
}

/// A scale-out study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// In order of host count.
    pub steps: Vec<ScaleStep>,
    /// The first step that contributed less than half; `None` if it scales as far as was measured, or the data cannot
    /// tell.
    pub end: Option<ScaleEnd>,
}

/// Evaluates the points of a scale-out study together. Points with the same count are repetitions: the mean of their
/// means counts, and their intervals shrink as those of independent measurements do. `None` with fewer than two counts,
/// or if nothing moved at some of them.
pub fn scaling(points: &[ScalePoint]) -> Option<Scaling> {
    let mut counts: Vec<u32> = points.iter().map(|point| point.count).filter(|count| *count > 0).collect();
    counts.sort_unstable();
    counts.dedup();
    let all: Vec<ScalePoint> = counts.iter().map(|count| repeated(points, *count)).collect();
    let moved = |point: &ScalePoint| point.throughput.mean.is_finite() && point.throughput.mean > 0.0;
    if all.len() < 2 || !all.iter().all(moved) {
        return None;
    }
    let first = &all[0];
    let mut steps: Vec<ScaleStep> = Vec::with_capacity(all.len());
    for (at, point) in all.iter().enumerate() {
        let hosts = f64::from(point.count) / f64::from(first.count);
        let grown = if at == 0 {
            Ratio { value: 1.0, low: 1.0, high: 1.0 }
        } else {
            ratio(&point.throughput, &first.throughput)
        };
        let before = at.checked_sub(1).map(|at| &all[at]);
        let marginal = before.map(|before| {
            let grown = ratio(&point.throughput, &before.throughput);
            let added = f64::from(point.count - before.count) / f64::from(before.count);
            Ratio {
                value: (grown.value - 1.0) / added,
                low: (grown.low - 1.0) / added,
                high: (grown.high - 1.0) / added,
            }
        });
        let verdict = marginal.map(|marginal| match marginal {
            Ratio { high, .. } if high < SCALES_FROM => StepVerdict::Stops,
            Ratio { low, .. } if low >= SCALES_FROM => StepVerdict::Scales,
            _ => StepVerdict::Unclear,
        });
        let efficiency =
            Ratio { value: grown.value / hosts, low: grown.low / hosts, high: grown.high / hosts };
        steps.push(ScaleStep { point: point.clone(), efficiency, marginal, verdict });
    }
    let end = steps.windows(2).find(|pair| pair[1].verdict == Some(StepVerdict::Stops)).map(|pair| {
        let (last, next) = (&pair[0].point, &pair[1].point);
        ScaleEnd {
            last: last.count,
            next: next.count,
            limit_before: last.limit.clone(),
            limit_after: next.limit.clone(),
        }
    });
    Some(Scaling { steps, end })
}

/// All measurements with the same number of hosts, merged into one.
fn repeated(points: &[ScalePoint], count: u32) -> ScalePoint {
    let same: Vec<&ScalePoint> = points.iter().filter(|point| point.count == count).collect();
    let n = same.len() as f64;
    let mean = |of: &dyn Fn(&ScalePoint) -> f64| same.iter().map(|point| of(point)).sum::<f64>() / n;
    let centre = mean(&|point| point.throughput.mean);
    let half = same.iter().map(|point| half_width(&point.throughput).powi(2)).sum::<f64>().sqrt() / n;
    let p99: Vec<f64> = same.iter().filter_map(|point| point.p99_ns).collect();
    let limit = same[0].limit.clone().filter(|limit| same.iter().all(|p| p.limit.as_ref() == Some(limit)));
    ScalePoint {
        count,
        throughput: Estimate {
            mean: centre,
            low: centre - half,
            high: centre + half,
            deviation: mean(&|point| point.throughput.deviation),
            samples: same.iter().map(|point| point.throughput.samples).sum(),
            effective_samples: same.iter().map(|point| point.throughput.effective_samples).sum(),
            autocorrelation: mean(&|point| point.throughput.autocorrelation),
        },
        p99_ns: (!p99.is_empty()).then(|| p99.iter().sum::<f64>() / p99.len() as f64),
        limit,
    }
}

fn half_width(estimate: &Estimate) -> f64 {
    ((estimate.high - estimate.low) / 2.0).max(0.0)
}

/// The ratio of two throughputs with its interval: relative errors of independent measurements add as squares
/// (first-order error of a quotient; accurate to a hundredth while both are below 10 %).
fn ratio(above: &Estimate, below: &Estimate) -> Ratio {
    let value = above.mean / below.mean;
    let error = share(half_width(above), above.mean).hypot(share(half_width(below), below.mean));
    Ratio { value, low: value * (1.0 - error), high: value * (1.0 + error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(count: u32, mean: f64, half: f64, limit: &str) -> ScalePoint {
        let throughput = Estimate {
            mean,
            low: mean - half,
            high: mean + half,
            deviation: half,
            samples: 60,
            effective_samples: 30.0,
            autocorrelation: 2.0,
        };
        ScalePoint { count, throughput, p99_ns: Some(1e6 * f64::from(count)), limit: Some(limit.to_owned()) }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    /// The shape of the classic object storage study: first the disks limit, then the network.
    #[test]
    fn the_end_is_found_with_the_limit_on_both_sides() {
        let study = scaling(&[
            point(1, 100.0, 3.0, "disk"),
            point(2, 190.0, 4.0, "disk"),
            point(4, 340.0, 6.8, "disk"),
            point(8, 400.0, 8.0, "network"),
            point(16, 404.0, 8.0, "network"),
        ])
        .unwrap();
        let efficiency: Vec<f64> = study.steps.iter().map(|step| step.efficiency.value).collect();
        for (found, by_hand) in efficiency.iter().zip([1.0, 0.95, 0.85, 0.5, 0.2525]) {
            assert!(close(*found, by_hand), "{found} {by_hand}");
        }
        let marginal: Vec<f64> =
            study.steps.iter().filter_map(|step| step.marginal).map(|marginal| marginal.value).collect();
        // 190 / 100 − 1, 340 / 190 − 1, 400 / 340 − 1, 404 / 400 − 1.
        for (found, by_hand) in marginal.iter().zip([0.9, 150.0 / 190.0, 60.0 / 340.0, 0.01]) {
            assert!(close(*found, by_hand), "{found} {by_hand}");
        }
        // 340 to 400: relative errors 2 % and 2 %, together √8 %, of 400 / 340.
        let interval = study.steps[3].marginal.unwrap();
        let half = 400.0 / 340.0 * 0.0008f64.sqrt();
        assert!(close(interval.high - interval.value, half) && close(interval.value - interval.low, half));
        let verdicts: Vec<_> = study.steps.iter().map(|step| step.verdict).collect();
        use StepVerdict::{Scales, Stops};
        assert_eq!(verdicts, [None, Some(Scales), Some(Scales), Some(Stops), Some(Stops)]);
        let end = study.end.unwrap();
        assert_eq!((end.last, end.next), (4, 8));
        assert_eq!(
            (end.limit_before.as_deref(), end.limit_after.as_deref()),
            (Some("disk"), Some("network"))
        );
        assert_eq!((study.steps[0].efficiency.low, study.steps[0].efficiency.high), (1.0, 1.0));
    }

    /// Steps need not be doublings, and the first point need not be one host.
    #[test]
    fn steps_of_any_length_are_measured_alike() {
        // 3 hosts give 300, 100 each. 4 give 380: the added one 80. 6 give 400: the two added ones 10 each, against 95.
        let study = scaling(&[
            point(4, 380.0, 1.0, "disk"),
            point(3, 300.0, 1.0, "disk"),
            point(6, 400.0, 1.0, "network"),
        ])
        .unwrap();
        let found: Vec<f64> =
            study.steps.iter().filter_map(|step| step.marginal).map(|marginal| marginal.value).collect();
        assert!(close(found[0], 0.8) && close(found[1], 10.0 / 95.0), "{found:?}");
        assert!(close(study.steps[2].efficiency.value, 400.0 / 600.0));
        let end = study.end.unwrap();
        assert_eq!((end.last, end.next), (4, 6));
    }

    #[test]
    fn noise_alone_does_not_end_the_scaling() {
        // 100 ± 20 and 140 ± 20: the gain is 0.4, but could be more than a half.
        let study = scaling(&[point(1, 100.0, 20.0, "disk"), point(2, 140.0, 20.0, "disk")]).unwrap();
        assert_eq!(study.steps[1].verdict, Some(StepVerdict::Unclear));
        assert_eq!(study.end, None);
        // Measured precisely, the same gain means that scaling has stopped.
        let study = scaling(&[point(1, 100.0, 1.0, "disk"), point(2, 140.0, 1.0, "disk")]).unwrap();
        assert_eq!(study.end.unwrap().last, 1);
    }

    #[test]
    fn repetitions_are_one_point() {
        let study = scaling(&[
            point(1, 90.0, 4.0, "disk"),
            point(2, 200.0, 6.0, "disk"),
            point(1, 110.0, 3.0, "network"),
        ])
        .unwrap();
        let first = &study.steps[0].point;
        assert_eq!((study.steps.len(), first.throughput.mean, first.limit.as_deref()), (2, 100.0, None));
        // √(4² + 3²) / 2.
        assert!(close(first.throughput.high, 102.5) && close(study.steps[1].efficiency.value, 1.0));
        assert_eq!(first.throughput.samples, 120);
    }

    #[test]
    fn too_little_says_nothing() {
        assert_eq!(scaling(&[]), None);
        assert_eq!(scaling(&[point(1, 5.0, 0.0, "x"), point(1, 5.0, 0.0, "x")]), None);
        assert_eq!(scaling(&[point(1, 0.0, 0.0, "x"), point(2, 5.0, 0.0, "x")]), None);
        assert_eq!(scaling(&[point(0, 5.0, 0.0, "x"), point(2, 5.0, 0.0, "x")]), None);
        assert_eq!(scaling(&[point(1, f64::NAN, 0.0, "x"), point(2, 5.0, 0.0, "x")]), None);
    }
}
