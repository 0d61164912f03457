//! Where a warm-up ends: MSER-5.
//!
//! White 1997; Spratt 1998; the best simple truncation rule in the comparisons of Hoad, Robinson and Davies 2008 and of
//! Mahajan and Ingalls 2004. Values are averaged in batches of five, and the cut is where the rest has the smallest
//! standard error of the mean: it minimises `Σ (Y_i − mean_d)² / (n − d)²` over i ≥ d.

/// Values in a batch.
const BATCH: usize = 5;

/// Number of initial values that do not belong to the steady part. At most three quarters of all: a later cut means
/// that the series is too short.
pub(crate) fn cut(values: &[f64]) -> usize {
    let batches: Vec<f64> = values.chunks_exact(BATCH).map(crate::numbers::mean).collect();
    let n = batches.len();
    if n < 4 {
        return 0;
    }
    // Sums from the end, around a value near the mean, to lose no digits.
    let about = crate::numbers::mean(&batches);
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for d in (0..n).rev() {
        let y = batches[d] - about;
        sum += y;
        squares += y * y;
        let left = (n - d) as f64;
        if d <= n * 3 / 4 && n - d >= 3 {
            let statistic = (squares - sum * sum / left).max(0.0) / (left * left);
            // The earliest among equals: nothing is cut without a reason.
            if statistic <= best.0 {
                best = (statistic, d);
            }
        }
    }
    best.1 * BATCH
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Noise;

    #[test]
    fn a_step_is_cut_where_it_is() {
        let values: Vec<f64> =
            (0..100).map(|i| if i < 20 { 50.0 } else { 100.0 + f64::from(i % 5) }).collect();
        assert_eq!(cut(&values), 20);
    }

    #[test]
    fn by_hand() {
        // Batch means 9 1 3 2 2 2 2 2 (n 8, d at most 6 and three left): d 2 leaves 3 2 2 2 2 2, sum of squares
        // 5/6, over 36 = 0.0231; d 3 leaves equal values: 0. So the cut is at the third batch.
        let values: Vec<f64> =
            [9.0, 1.0, 3.0, 2.0, 2.0, 2.0, 2.0, 2.0].iter().flat_map(|&v| [v; 5]).collect();
        assert_eq!(cut(&values), 15);
    }

    #[test]
    fn fewer_values_are_worth_less() {
        // Batch means 2 4 1 3 1 3 1 3: all of them 9.5/8² = 0.148, the last six 6/6² = 0.167, the last three
        // 2.67/3² = 0.296. Their variances alone fall, from 1.19 to 0.89.
        let values: Vec<f64> =
            [2.0, 4.0, 1.0, 3.0, 1.0, 3.0, 1.0, 3.0].iter().flat_map(|&v| [v; 5]).collect();
        assert_eq!(cut(&values), 0);
    }

    #[test]
    fn flat_or_short_series_lose_nothing() {
        assert_eq!(cut(&[7.0; 300]), 0);
        assert_eq!(cut(&[1.0, 9.0, 3.0]), 0);
        assert_eq!(cut(&[]), 0);
    }

    #[test]
    fn steady_noise_is_rarely_cut_by_half() {
        let late = (0..400u64)
            .filter(|&run| {
                let mut noise = Noise::new(run, 0.5);
                let values: Vec<f64> = (0..200).map(|_| 10.0 + noise.next()).collect();
                cut(&values) > 100
            })
            .count();
        assert!(late < 60, "{late} of 400");
    }
}
