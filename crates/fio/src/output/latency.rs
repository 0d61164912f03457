//! Latency figures: the content of a `clat_ns`, `lat_ns` or `slat_ns`.

use metrics::Histogram;

/// fio's default percentiles.
pub const USUAL_PERCENTILES: [f64; 17] =
    [1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99];

/// Figures of one latency, in nanoseconds; all 0 without operations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyOutput {
    /// The min.
    pub min: u64,
    /// The max.
    pub max: u64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation; 0 with fewer than two operations.
    pub deviation: f64,
    /// Number of operations.
    pub count: u64,
    /// Percentiles in list order, with their latencies; `None`: not shown.
    pub percentiles: Option<Vec<(f64, u64)>>,
    /// fio's non-empty buckets, by their middles; empty if percentiles are not shown.
    pub bins: Vec<(u64, u64)>,
}

impl LatencyOutput {
    /// The figures of a histogram, with these percentiles (0 to 100) if any.
    pub fn of(histogram: &Histogram, percentiles: Option<&[f64]>) -> LatencyOutput {
        let count = histogram.count();
        if count == 0 {
            return LatencyOutput::default();
        }
        let mean = histogram.mean_ns();
        LatencyOutput {
            min: histogram.min_ns(),
            max: histogram.max_ns(),
            mean,
            deviation: deviation(histogram, mean),
            count,
            percentiles: percentiles
                .map(|list| list.iter().map(|p| (*p, at_percent(histogram, *p))).collect()),
            bins: percentiles.map(|_| runner::op_logs::buckets::of(histogram)).unwrap_or_default(),
        }
    }
}

/// The latency at a percentile (0 to 100), in nanoseconds; 0 when empty.
pub fn at_percent(histogram: &Histogram, percent: f64) -> u64 {
    // 99.9 / 100 is slightly more than 0.999, which would be one operation too many in a thousand.
    histogram.quantile_ns((percent * 1e9).round() / 1e11)
}

/// The standard deviation of the sample, in nanoseconds.
fn deviation(histogram: &Histogram, mean: f64) -> f64 {
    let count = histogram.count();
    if count < 2 {
        return 0.0;
    }
    let squares: f64 = histogram
        .counts()
        .map(|(ns, count)| {
            let distance = ns.min(histogram.max_ns()) as f64 - mean;
            count as f64 * distance * distance
        })
        .sum();
    (squares / (count - 1) as f64).sqrt()
}

/// Shares of operations by latency, in percent: below each limit, but not below the previous one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shares {
    /// In nanoseconds: below 2, 4, 10, 20, 50, 100, 250, 500, 750, 1000.
    pub ns: [f64; 10],
    /// In microseconds, with the same limits; the first starts at one microsecond.
    pub us: [f64; 10],
    /// In milliseconds: the same limits, then below 2000, and the rest.
    pub ms: [f64; 12],
}

/// The limits shared by the three scales.
pub const LIMITS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

impl Shares {
    /// The shares in these histograms combined.
    pub fn of<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> Shares {
        let mut shares = Shares::default();
        let mut all = 0;
        for (ns, count) in histograms.flat_map(|histogram| histogram.counts().collect::<Vec<_>>()) {
            all += count;
            *shares.place(ns) += count as f64;
        }
        let Shares { ns, us, ms } = &mut shares;
        for share in ns.iter_mut().chain(us).chain(ms) {
            *share = if all == 0 { 0.0 } else { *share * 100.0 / all as f64 };
        }
        shares
    }

    fn place(&mut self, ns: u64) -> &mut f64 {
        let below = |value: u64| LIMITS.iter().position(|limit| value < *limit).unwrap_or(LIMITS.len());
        match ns {
            0..1_000 => &mut self.ns[below(ns)],
            1_000..1_000_000 => &mut self.us[below(ns / 1_000)],
            1_000_000..1_000_000_000 => &mut self.ms[below(ns / 1_000_000)],
            1_000_000_000..2_000_000_000 => &mut self.ms[10],
            _ => &mut self.ms[11],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_those_of_the_operations() {
        let mut histogram = Histogram::new();
        [2, 4, 4, 4, 5, 5, 7, 9].into_iter().for_each(|ns| histogram.record(ns));
        let latency = LatencyOutput::of(&histogram, Some(&[50.0, 100.0]));
        assert_eq!((latency.min, latency.max, latency.count), (2, 9, 8));
        assert!((latency.mean - 5.0).abs() < 1e-9);
        assert!((latency.deviation - (32.0f64 / 7.0).sqrt()).abs() < 1e-9);
        assert_eq!(latency.percentiles, Some(vec![(50.0, 4), (100.0, 9)]));
        assert_eq!(latency.bins, [(2, 1), (4, 3), (5, 2), (7, 1), (9, 1)]);
        assert_eq!(LatencyOutput::of(&Histogram::new(), Some(&[50.0])), LatencyOutput::default());
    }

    #[test]
    fn shares_fall_between_their_limits() {
        let mut histogram = Histogram::new();
        for ns in [1, 2, 999, 1_000, 249_000, 250_001, 1_000_000, 999_000_000, 1_500_000_000, 70_000_000_000]
        {
            histogram.record(ns);
        }
        let shares = Shares::of([&histogram].into_iter());
        assert_eq!((shares.ns[0], shares.ns[1], shares.ns[9]), (10.0, 10.0, 10.0));
        assert_eq!((shares.us[0], shares.us[6], shares.us[7]), (10.0, 10.0, 10.0));
        assert_eq!((shares.ms[0], shares.ms[9], shares.ms[10], shares.ms[11]), (10.0, 10.0, 10.0, 10.0));
    }
}
