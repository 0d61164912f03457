//! Of twenty comparisons of the same with the same, one is called a difference by chance alone. Holm's step-down
//! procedure (S. Holm, 1979, "A simple sequentially rejective multiple test procedure") keeps the chance of a single
//! false alarm in the whole table at 5 %.

use stats::Call;

use super::CellComparison;

/// Adjusts the p-values of all comparisons, and takes back the calls that do not survive it.
pub fn adjust(cells: &mut [CellComparison]) {
    let mut tested: Vec<&mut CellComparison> =
        cells.iter_mut().filter(|cell| cell.difference.call != Call::NotComparable).collect();
    let plain: Vec<f64> = tested.iter().map(|cell| cell.difference.p_value).collect();
    for (cell, adjusted) in tested.iter_mut().zip(stats::holm(&plain)) {
        cell.adjusted_p_value = adjusted;
        if adjusted >= stats::SIGNIFICANCE {
            cell.difference.call = Call::NoDifference;
            cell.difference.regression = false;
        }
    }
}
