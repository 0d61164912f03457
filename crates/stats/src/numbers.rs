//! Basic formulas: moments, line fit, medians, Student's t.

use statrs::distribution::{ContinuousCDF, Gamma, StudentsT};

/// The arithmetic mean; 0 if empty.
pub(crate) fn mean(values: &[f64]) -> f64 {
    match values.len() {
        0 => 0.0,
        n => values.iter().sum::<f64>() / n as f64,
    }
}

/// The sample variance (divided by n − 1); 0 for fewer than two values.
pub(crate) fn variance(values: &[f64]) -> f64 {
    if values.len() < 2 {
        return 0.0;
    }
    let mean = mean(values);
    values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (values.len() - 1) as f64
}

/// Maximum minus minimum; `None` if empty.
pub(crate) fn range(values: &[f64]) -> Option<f64> {
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    Some(high - low)
}

/// The median; sorts its argument. 0 if empty.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    let n = values.len();
    if n == 0 {
        return 0.0;
    }
    values.sort_unstable_by(f64::total_cmp);
    if n % 2 == 1 { values[n / 2] } else { 0.5 * (values[n / 2 - 1] + values[n / 2]) }
}

/// `value` as a share of `mean`. Zero over zero is zero; anything else over zero is the largest finite number, so that
/// it exceeds every limit and can still be stored.
pub(crate) fn share(value: f64, mean: f64) -> f64 {
    let share = value / mean.abs();
    match share.is_nan() {
        true => 0.0,
        false => share.clamp(-f64::MAX, f64::MAX),
    }
}

/// A line fitted by least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Line {
    /// Rise per unit of x.
    pub slope: f64,
    /// Mean of x; the line passes through it at the mean of y.
    pub centre: f64,
    /// Mean of y.
    pub mean: f64,
    /// Sum of squared distances of x from its mean.
    pub spread: f64,
}

impl Line {
    /// Fits y on x; `None` without points or when all x are equal. x is centred first, so that timestamps in seconds
    /// since 1970 lose no digits.
    pub(crate) fn fit(points: impl Iterator<Item = (f64, f64)> + Clone) -> Option<Line> {
        let (mut n, mut sum_x, mut sum_y) = (0.0, 0.0, 0.0);
        for (x, y) in points.clone() {
            n += 1.0;
            sum_x += x;
            sum_y += y;
        }
        if n == 0.0 {
            return None;
        }
        let (centre, mean) = (sum_x / n, sum_y / n);
        let (mut spread, mut product) = (0.0, 0.0);
        for (x, y) in points {
            spread += (x - centre) * (x - centre);
            product += (x - centre) * (y - mean);
        }
        (spread > 0.0).then(|| Line { slope: product / spread, centre, mean, spread })
    }

    /// Fits evenly spaced values, at 0, 1, 2 and so on.
    pub(crate) fn even(values: &[f64]) -> Option<Line> {
        Line::fit(values.iter().enumerate().map(|(i, &y)| (i as f64, y)))
    }

    /// The line's value at `x`.
    pub(crate) fn at(&self, x: f64) -> f64 {
        self.mean + self.slope * (x - self.centre)
    }
}

/// The value that Student's t with `freedom` degrees of freedom exceeds with probability `1 - probability`. Fewer than
/// one degree of freedom counts as one.
pub(crate) fn t_quantile(probability: f64, freedom: f64) -> f64 {
    let freedom = if freedom.is_nan() { 1.0 } else { freedom.clamp(1.0, 1e6) };
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::MAX, |t| t.inverse_cdf(probability))
}

/// Two-sided probability that Student's t is at least as far from 0 as `t`.
pub(crate) fn t_two_sided(t: f64, freedom: f64) -> f64 {
    let freedom = if freedom.is_nan() { 1.0 } else { freedom.clamp(1.0, 1e6) };
    StudentsT::new(0.0, 1.0, freedom).map_or(1.0, |d| (2.0 * d.cdf(-t.abs())).clamp(0.0, 1.0))
}

/// Upper 95 % bound of a Poisson mean after `seen` events (Garwood 1936); 3 after none.
pub(crate) fn poisson_bound(seen: f64) -> f64 {
    Gamma::new(seen + 1.0, 1.0).map_or(f64::MAX, |gamma| gamma.inverse_cdf(0.95))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_by_hand() {
        let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
        assert_eq!(mean(&values), 5.0);
        assert!((variance(&values) - 32.0 / 7.0).abs() < 1e-12);
        assert_eq!(range(&values), Some(7.0));
        assert_eq!(median(&mut values.clone()), 4.5);
        assert_eq!((mean(&[]), variance(&[1.0]), range(&[])), (0.0, 0.0, None));
    }

    #[test]
    fn the_bound_on_rare_events_is_the_rule_of_three_and_garwoods_table() {
        for (seen, bound) in [(0.0, 2.996), (1.0, 4.744), (4.0, 9.154), (10.0, 16.962)] {
            assert!((poisson_bound(seen) - bound).abs() < 2e-3, "{seen}: {}", poisson_bound(seen));
        }
    }

    #[test]
    fn a_line_by_hand() {
        // y = 6 5 7 10 at 1..4: Sxx 5, Sxy 7, slope 1.4, through (2.5, 7).
        let line = Line::fit([(1.0, 6.0), (2.0, 5.0), (3.0, 7.0), (4.0, 10.0)].into_iter()).unwrap();
        assert!((line.slope - 1.4).abs() < 1e-12);
        assert!((line.at(1.0) - 4.9).abs() < 1e-12 && (line.at(4.0) - 9.1).abs() < 1e-12);
        assert_eq!(Line::even(&[1.0]), None);
        assert_eq!(Line::even(&[]), None);
    }

    #[test]
    fn student_t_as_in_the_tables() {
        for (probability, freedom, value) in
            [(0.975, 1.0, 12.7062), (0.975, 9.0, 2.2622), (0.95, 29.0, 1.6991), (0.975, 1e6, 1.9600)]
        {
            assert!((t_quantile(probability, freedom) - value).abs() < 1e-3, "{probability} {freedom}");
        }
        assert!((t_two_sided(2.2622, 9.0) - 0.05).abs() < 1e-4);
        assert!((t_two_sided(0.0, 3.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn shares_of_nothing_are_numbers() {
        assert_eq!(share(0.0, 0.0), 0.0);
        assert_eq!(share(1.0, 0.0), f64::MAX);
        assert_eq!(share(1.0, -4.0), 0.25);
    }
}
