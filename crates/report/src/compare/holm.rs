//! Of twenty comparisons of identical runs, one is expected to look different by chance. Holm's step-down procedure (S.
//! Holm, 1979, "A simple sequentially rejective multiple test procedure") limits the probability of even one false
//! alarm in the whole table to 5 %.

use stats::{Call, Difference};

use super::CellComparison;

/// Adjusts the p-values of all comparisons, and withdraws calls that are no longer significant.
pub fn adjust(cells: &mut [CellComparison]) {
    let adjusted = take_back(cells.iter_mut().map(|cell| &mut cell.difference));
    for (cell, adjusted) in cells.iter_mut().zip(adjusted) {
        cell.adjusted_p_value = adjusted;
    }
}

/// Withdraws calls that are not significant after the adjustment; returns the adjusted p-values. Comparisons that could
/// not be made were not tested and do not count.
pub fn take_back<'d>(differences: impl Iterator<Item = &'d mut Difference>) -> Vec<f64> {
    let mut all: Vec<&mut Difference> = differences.collect();
    let tested = |difference: &Difference| difference.call != Call::NotComparable;
    let plain: Vec<f64> = all.iter().filter(|one| tested(one)).map(|one| one.p_value).collect();
    let mut adjusted = stats::holm(&plain).into_iter();
    let take = |difference: &mut &mut Difference| {
        let p_value = if tested(difference) { adjusted.next().unwrap_or(1.0) } else { difference.p_value };
        if tested(difference) && p_value >= stats::SIGNIFICANCE {
            difference.withdraw();
        }
        p_value
    };
    all.iter_mut().map(take).collect()
}
