//! What a run looks like as a whole: its stretches, its shape, and whether it lost a level.
//!
//! The vocabulary follows Barrett, Bolz-Tereick, Killick, Mount and Tratt 2017, "Virtual machine warmup blows hot and
//! cold", which classifies runs by change points.

use crate::history::Grid;
use crate::numbers::share;
use crate::{Loss, Regime, RunShape, Window, change, estimate};

/// Levels that differ by less than this count as the same.
const SAME: f64 = 0.05;
/// Minimum effective samples for a stretch to count as a held level.
const HELD: f64 = 15.0;

/// The stretches of a series between its change points, in order.
pub(crate) fn regimes(values: &[f64], grid: &Grid) -> Vec<Regime> {
    let mut edges = vec![0];
    edges.extend(change::points(values));
    edges.push(values.len());
    edges
        .windows(2)
        .filter(|pair| pair[0] < pair[1])
        .map(|pair| Regime {
            window: Window { first: grid.first(pair[0]), end: grid.end(pair[1] - 1) },
            estimate: estimate(&values[pair[0]..pair[1]]),
        })
        .collect()
}

/// The shape formed by stretches of throughput.
pub(crate) fn classify(regimes: &[Regime]) -> RunShape {
    let total: u64 = regimes.iter().map(|r| r.estimate.samples).sum();
    let (Some(last), true) = (regimes.last(), total >= 2 * change::SHORTEST as u64) else {
        return RunShape::Unsettled;
    };
    // One step up or down for each significant change; slow slopes appear as stairs in one direction.
    let mut levels = vec![regimes[0].estimate.mean];
    for regime in &regimes[1..] {
        let mean = regime.estimate.mean;
        if differ(levels[levels.len() - 1], mean) {
            levels.push(mean);
        }
    }
    if levels.len() == 1 {
        return RunShape::Flat;
    }
    // "And stayed": the final level was held for a while.
    let held: u64 = regimes
        .iter()
        .rev()
        .take_while(|r| !differ(r.estimate.mean, last.estimate.mean))
        .map(|r| r.estimate.samples)
        .sum();
    if held * 5 < total {
        return RunShape::Unsettled;
    }
    let turns = levels.windows(3).filter(|w| (w[1] > w[0]) != (w[2] > w[1])).count();
    let returned = levels[..levels.len() - 2].iter().any(|l| !differ(*l, last.estimate.mean));
    if turns > 0 && (returned || turns > 1) {
        return RunShape::MultiModal;
    }
    match last.estimate.mean > levels[levels.len() - 2] {
        true => RunShape::WarmUp,
        false => RunShape::Slowdown,
    }
}

/// The first time that a long-held level was left for a lower one.
pub(crate) fn loss(regimes: &[Regime]) -> Option<Loss> {
    regimes.windows(2).find_map(|pair| {
        let (before, after) = (&pair[0].estimate, &pair[1].estimate);
        let lower = after.mean < before.mean && differ(before.mean, after.mean);
        (lower && before.effective_samples >= HELD).then_some(Loss {
            interval: pair[1].window.first,
            before: before.mean,
            after: after.mean,
        })
    })
}

/// Whether two levels differ.
pub(crate) fn differ(a: f64, b: f64) -> bool {
    share((a - b).abs(), a.abs().max(b.abs())) > SAME
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Noise;

    fn of(level: impl Fn(u32) -> f64, n: u32) -> (RunShape, Vec<Regime>) {
        let mut noise = Noise::new(17, 0.3);
        let values: Vec<f64> = (0..n).map(|i| level(i) * (1.0 + 0.02 * noise.next())).collect();
        let found = regimes(&values, &Grid::plain(n));
        (classify(&found), found)
    }

    #[test]
    fn each_shape_has_its_name() {
        assert_eq!(of(|_| 100.0, 200).0, RunShape::Flat);
        assert_eq!(of(|i| if i < 50 { 60.0 } else { 100.0 }, 200).0, RunShape::WarmUp);
        assert_eq!(of(|i| if i < 90 { 100.0 } else { 60.0 }, 200).0, RunShape::Slowdown);
        assert_eq!(of(|i| if i / 40 % 2 == 0 { 100.0 } else { 60.0 }, 200).0, RunShape::MultiModal);
        assert_eq!(of(|i| if i < 185 { 100.0 } else { 60.0 }, 200).0, RunShape::Unsettled);
        assert_eq!(of(|_| 100.0, 6).0, RunShape::Unsettled);
        // Up, then below the start: the end level counts.
        assert_eq!(of(|i| [60.0, 100.0, 40.0][i as usize / 70], 210).0, RunShape::Slowdown);
        assert_eq!(of(|i| 100.0 - 50.0 * (-f64::from(i) / 20.0).exp(), 200).0, RunShape::WarmUp);
        assert_eq!(classify(&[]), RunShape::Unsettled);
    }

    #[test]
    fn a_cliff_is_a_loss_and_a_warm_up_is_none() {
        let (_, found) = of(|i| if i < 90 { 100.0 } else { 60.0 }, 200);
        let lost = loss(&found).unwrap();
        assert!(
            lost.interval.abs_diff(90) <= 2
                && (lost.before - 100.0).abs() < 2.0
                && (lost.after - 60.0).abs() < 2.0
        );
        assert_eq!(loss(&of(|i| if i < 50 { 60.0 } else { 100.0 }, 200).1), None);
        assert_eq!(loss(&of(|_| 100.0, 200).1), None);
    }
}
