//! Of twenty comparisons of the same with the same, one is called a difference by chance alone. Holm's step-down
//! procedure (S. Holm, 1979, "A simple sequentially rejective multiple test procedure") keeps the chance of a single
//! false alarm in the whole table at 5 %.

use stats::{Call, Difference};

use super::CellComparison;

/// Adjusts the p-values of all comparisons, and takes back the calls that do not survive it.
pub fn adjust(cells: &mut [CellComparison]) {
    let adjusted = take_back(cells.iter_mut().map(|cell| &mut cell.difference));
    for (cell, adjusted) in cells.iter_mut().zip(adjusted) {
        cell.adjusted_p_value = adjusted;
    }
}

/// Takes back the calls that do not survive the adjustment; the adjusted p-values. What could not be compared was not tested, and
/// does not count.
pub fn take_back<'d>(differences: impl Iterator<Item = &'d mut Difference>) -> Vec<f64> {
    let mut all: Vec<&mut Difference> = differences.collect();
    let tested = |difference: &Difference| difference.call != Call::NotComparable;
    let plain: Vec<f64> = all.iter().filter(|one| tested(one)).map(|one| one.p_value).collect();
    let mut adjusted = stats::holm(&plain).into_iter();
    let take = |difference: &mut &mut Difference| {
        let p_value = if tested(difference) { adjusted.next().unwrap_or(1.0) } else { difference.p_value };
        if tested(difference) && p_value >= stats::SIGNIFICANCE {
            difference.call = Call::NoDifference;
            difference.regression = false;
        }
        p_value
    };
    all.iter_mut().map(take).collect()
}
