//! Of twenty comparisons of the same with the same, one is called a difference by chance alone. Holm's step-down
//! procedure (S. Holm, 1979, "A simple sequentially rejective multiple test procedure") keeps the chance of a single
//! false alarm in the whole table at 5 %.

use stats::Call;

use super::CellComparison;

/// A difference is called one when its adjusted p-value is below this.
const LEVEL: f64 = 0.05;

/// Adjusts the p-values of all comparisons, and takes back the calls that do not survive it.
pub fn adjust(cells: &mut [CellComparison]) {
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by(|a, b| cells[*a].difference.p_value.total_cmp(&cells[*b].difference.p_value));
    let mut most: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        let factor = (cells.len() - rank) as f64;
        let cell = &mut cells[at];
        most = most.max((cell.difference.p_value * factor).min(1.0));
        cell.adjusted_p_value = most;
        if most >= LEVEL {
            cell.difference.call = Call::NoDifference;
            cell.difference.regression = false;
        }
    }
}
