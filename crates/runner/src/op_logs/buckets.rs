//! fio's latency buckets (`stat.h` of fio, "Log File Formats" of its HOWTO): one for every nanosecond up to 128; above,
//! 64 of equal width for each power of two.
//!
//! fio stops after 29 groups of 64, at 17 seconds, and counts anything longer in the last one. Here the groups
//! continue.

use metrics::Histogram;

/// log2 of the buckets per power of two.
const WIDTH_BITS: u32 = 6;
/// Number of groups in fio.
pub const FIO_GROUPS: usize = 29;
/// Number of buckets in fio.
pub const FIO_BUCKETS: usize = FIO_GROUPS << WIDTH_BITS;

/// Bucket number of a latency.
pub fn number(ns: u64) -> usize {
    let top = 63 - ns.max(1).leading_zeros();
    if top <= WIDTH_BITS {
        return ns as usize;
    }
    let dropped = top - WIDTH_BITS;
    ((dropped as usize) << WIDTH_BITS) + (ns >> dropped) as usize
}

/// The latency that represents a bucket: its middle, in nanoseconds.
pub fn middle(number: usize) -> u64 {
    if number < 2 << WIDTH_BITS {
        return number as u64;
    }
    let dropped = (number >> WIDTH_BITS) - 1;
    let low = ((number & ((1 << WIDTH_BITS) - 1)) as u64 + (1 << WIDTH_BITS)) << dropped;
    low + (1 << (dropped - 1))
}

/// The middle and count of each non-empty bucket, in rising order.
pub fn of(histogram: &Histogram) -> Vec<(u64, u64)> {
    let mut bins: Vec<(u64, u64)> = Vec::new();
    for (ns, count) in histogram.counts() {
        let middle = middle(number(ns));
        match bins.last_mut() {
            Some((last, sum)) if *last == middle => *sum += count,
            _ => bins.push((middle, count)),
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middles_are_those_that_fio_prints() {
        // Keys of `bins`, and percentile values, from runs of fio 3.33.
        for middle_ns in
            [0, 9, 90, 131, 141, 262, 342, 382, 510, 564, 2864, 2960, 4640, 15_296, 228_352, 7_700_480]
        {
            assert_eq!(middle(number(middle_ns)), middle_ns);
        }
    }

    #[test]
    fn every_latency_is_within_its_bucket_and_buckets_rise() {
        for exponent in 0..48 {
            for step in 0..130u64 {
                let ns = (1u64 << exponent) + step * ((1 << exponent) / 130).max(1);
                let middle = middle(number(ns));
                assert!(middle.abs_diff(ns) as f64 <= ns as f64 / 128.0 + 1.0, "{ns} in {middle}");
                assert!(number(ns) <= number(ns + 1));
            }
        }
        assert_eq!(number(127) + 1, number(128));
        assert_eq!(number((1 << 34) - 1) + 1, FIO_BUCKETS);
    }

    #[test]
    fn seventy_seconds_are_seventy_seconds() {
        let mut histogram = Histogram::new();
        (0..3).for_each(|_| histogram.record(70_000_000_000));
        histogram.record(5);
        let bins = of(&histogram);
        assert_eq!((bins.len(), bins[0], bins[1].1), (2, (5, 1), 3));
        assert!((bins[1].0 as f64 / 70e9 - 1.0).abs() < 0.01);
    }
}
