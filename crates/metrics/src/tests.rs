//! The promises of the measurements: accurate percentiles, and merging that is lossless and independent of order.

use proptest::prelude::*;

use crate::{ErrorKind, Histogram, Interval, OpKind, OpStats};

const HOUR_NS: u64 = 3600 * 1_000_000_000;

/// The value that the share `quantile` of all values do not exceed, by sorting.
fn exact(sorted: &[u64], quantile: f64) -> u64 {
    let rank = (quantile * sorted.len() as f64).ceil().max(1.0) as usize;
    sorted[rank.min(sorted.len()) - 1]
}

fn histogram(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    values.iter().for_each(|value| histogram.record(*value));
    histogram
}

fn assert_near_truth(mut values: Vec<u64>) {
    let measured = histogram(&values);
    values.sort_unstable();
    for quantile in [0.0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999, 1.0] {
        let (truth, found) = (exact(&values, quantile) as f64, measured.quantile_ns(quantile) as f64);
        let error = (found - truth).abs() / truth;
        assert!(error <= 0.01, "quantile {quantile}: {found} instead of {truth}, {error} off");
    }
    let mean = values.iter().map(|v| *v as f64).sum::<f64>() / values.len() as f64;
    assert!((measured.mean_ns() / mean - 1.0).abs() <= 0.01);
    assert_eq!(measured.count(), values.len() as u64);
}

/// A fixed sequence, so that running the test again reproduces a failure.
fn sequence(len: usize) -> impl Iterator<Item = f64> {
    let mut x = 88_172_645_463_325_252_u64;
    std::iter::repeat_with(move || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 11) as f64 / (1u64 << 53) as f64
    })
    .take(len)
}

#[test]
fn percentiles_are_within_one_percent_from_100_ns_to_24_h() {
    let (least, most) = (100.0_f64, (24 * HOUR_NS) as f64);
    let spread = (most / least).ln();
    assert_near_truth(sequence(200_000).map(|u| (least * (spread * u).exp()) as u64).collect());
}

#[test]
fn percentiles_are_within_one_percent_for_usual_shapes() {
    // Exponential around 1 ms, two modes of which one is a thousand times slower, and a single value.
    assert_near_truth(sequence(100_000).map(|u| 100 + (-1e6 * (1.0 - u).ln()) as u64).collect());
    assert_near_truth(
        sequence(100_000).map(|u| if u < 0.98 { 100_000 } else { 100_000_000 } + (u * 1e4) as u64).collect(),
    );
    assert_near_truth(vec![24 * HOUR_NS; 1000]);
    assert_near_truth(vec![100; 1000]);
}

#[test]
fn every_decade_is_kept_apart_to_the_promised_resolution() {
    for exponent in 2..=13 {
        let value = 10_u64.pow(exponent);
        let slower = value + value / 100;
        let histogram = histogram(&[value, slower]);
        let (low, high) = (histogram.quantile_ns(0.5), histogram.quantile_ns(1.0));
        assert!(low < high, "{value} ns and 1 % more look the same");
        assert!(low.abs_diff(value) <= value / 1000 && high.abs_diff(slower) <= slower / 1000);
    }
}

#[test]
fn latencies_outside_the_range_are_counted_at_its_edge() {
    let histogram = histogram(&[0, u64::MAX]);
    assert_eq!(histogram.count(), 2);
    assert!(histogram.max_ns() >= 48 * HOUR_NS);
    assert!(histogram.min_ns() <= 1);
}

#[test]
fn an_empty_histogram_has_zeros() {
    let empty = Histogram::new();
    assert_eq!((empty.count(), empty.quantile_ns(0.99), empty.max_ns(), empty.min_ns()), (0, 0, 0, 0));
    assert!(empty.mean_ns() == 0.0);
}

#[test]
fn a_stored_histogram_is_read_back_and_rubbish_is_refused() {
    let histogram = histogram(&[1, 150, 2_000_000, 24 * HOUR_NS]);
    assert_eq!(Histogram::from_bytes(&histogram.to_bytes()), Ok(histogram.clone()));
    assert!(Histogram::from_bytes(b"rubbish").is_err());
    assert!(Histogram::from_bytes(&histogram.to_bytes()[..20]).is_err());
}

#[test]
fn clearing_forgets_everything() {
    let mut histogram = histogram(&[5, 6, 7]);
    histogram.clear();
    assert_eq!(histogram, Histogram::new());
    let mut interval = interval(&[(OpKind::Read, 100, 4096)]);
    interval.clear();
    assert_eq!((interval.ok(), interval.failed(), interval.bytes()), (0, 0, 0));
    assert!(interval.ops.iter().all(|(_, stats)| stats.is_empty()));
}

fn stats(latencies: &[u64], failed: u64, open_loop: bool) -> OpStats {
    let mut stats = OpStats { response: open_loop.then(Box::default), ..OpStats::default() };
    for latency in latencies {
        stats.ok += 1;
        stats.bytes += 4096;
        stats.rpcs += 1;
        stats.service.record(*latency);
        if let Some(response) = &mut stats.response {
            response.record(latency * 2);
        }
    }
    stats.errors[ErrorKind::Busy as usize] = failed;
    stats.retries = failed * 3;
    stats
}

fn interval(ops: &[(OpKind, u64, u64)]) -> Interval {
    let mut interval = Interval::default();
    for (kind, latency, bytes) in ops {
        let stats = interval.op_mut(*kind);
        stats.ok += 1;
        stats.bytes += bytes;
        stats.service.record(*latency);
    }
    interval
}

fn merged(parts: &[&OpStats]) -> OpStats {
    let mut all = OpStats::default();
    parts.iter().for_each(|part| all.merge(part));
    all
}

#[test]
fn a_closed_loop_has_one_latency_for_both_meanings() {
    let closed = stats(&[100, 200], 0, false);
    assert_eq!(closed.response(), &closed.service);
}

#[test]
fn merging_keeps_service_and_response_apart() {
    let all = merged(&[&stats(&[100], 0, true), &stats(&[50], 0, false)]);
    assert_eq!((all.service.count(), all.response().count()), (2, 2));
    assert_eq!((all.service.max_ns(), all.response().max_ns()), (100, 200));
}

#[test]
fn intervals_merge_by_kind() {
    let mut all = interval(&[(OpKind::Read, 100, 1), (OpKind::Write, 200, 2)]);
    all.merge(&interval(&[(OpKind::Write, 300, 3), (OpKind::Stat, 50, 0)]));
    let count = |kind| all.op(kind).map(|stats| (stats.ok, stats.bytes));
    assert_eq!(count(OpKind::Read), Some((1, 1)));
    assert_eq!(count(OpKind::Write), Some((2, 5)));
    assert_eq!(count(OpKind::Stat), Some((1, 0)));
    assert_eq!(count(OpKind::Put), None);
    assert_eq!((all.ok(), all.bytes()), (4, 6));
}

#[test]
fn names_are_unique_and_index_their_tables() {
    for (at, kind) in ErrorKind::ALL.iter().enumerate() {
        assert_eq!(*kind as usize, at);
        assert!(!ErrorKind::ALL[..at].iter().any(|other| other.name() == kind.name()));
    }
    for (at, kind) in OpKind::ALL.iter().enumerate() {
        assert_eq!(*kind as usize, at);
        assert_eq!(kind.to_string(), kind.name());
    }
}

prop_compose! {
    fn some_stats()(latencies in prop::collection::vec(1u64..=48 * HOUR_NS, 0..20), failed in 0u64..5, open: bool) -> OpStats {
        stats(&latencies, failed, open)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn merging_knows_no_order(a in some_stats(), b in some_stats(), c in some_stats()) {
        let forth = merged(&[&a, &b, &c]);
        let back = merged(&[&c, &b, &a]);
        let grouped = merged(&[&a, &merged(&[&b, &c])]);
        for other in [&back, &grouped] {
            prop_assert_eq!(forth.ok, other.ok);
            prop_assert_eq!(forth.errors, other.errors);
            prop_assert_eq!(forth.retries, other.retries);
            prop_assert_eq!(&forth.service, &other.service);
            prop_assert_eq!(forth.response(), other.response());
        }
    }

    #[test]
    fn merging_with_nothing_changes_nothing(a in some_stats()) {
        prop_assert_eq!(&merged(&[&OpStats::default(), &a]), &a);
        let mut with_nothing = a.clone();
        with_nothing.merge(&OpStats::default());
        prop_assert_eq!(&with_nothing, &a);
    }

    #[test]
    fn a_merged_histogram_is_that_of_all_values(a in prop::collection::vec(1u64..HOUR_NS, 0..100), b in prop::collection::vec(1u64..HOUR_NS, 0..100)) {
        let mut parts = histogram(&a);
        parts.merge(&histogram(&b));
        let all: Vec<u64> = a.into_iter().chain(b).collect();
        prop_assert_eq!(parts, histogram(&all));
    }
}

/// However the counts are stored, the answers are the same to the last bit.
fn assert_same(one: &Histogram, other: &Histogram) {
    assert_eq!(one, other);
    assert_eq!(one.counts().collect::<Vec<_>>(), other.counts().collect::<Vec<_>>());
    assert_eq!((one.count(), one.min_ns(), one.max_ns()), (other.count(), other.min_ns(), other.max_ns()));
    assert_eq!(one.mean_ns().to_bits(), other.mean_ns().to_bits());
    for quantile in [0.0, 0.1, 0.5, 0.9, 0.99, 0.9999, 1.0] {
        assert_eq!(one.quantile_ns(quantile), other.quantile_ns(quantile), "quantile {quantile}");
    }
    assert_eq!(one.to_bytes(), other.to_bytes());
}

#[test]
fn an_empty_histogram_is_empty_in_every_form() {
    let mut cleared = histogram(&[5, 6]);
    cleared.clear();
    for empty in [Histogram::with_room(), cleared, Histogram::with_room().packed()] {
        assert_same(&empty, &Histogram::new());
    }
}

#[test]
fn idle_statistics_take_no_room() {
    assert!(size_of::<OpStats>() <= 256, "{}", size_of::<OpStats>());
    let interval = Interval::with_room(&[OpKind::Read, OpKind::Write], true);
    assert_eq!(interval.ops.iter().map(|(kind, _)| *kind).collect::<Vec<_>>(), [OpKind::Read, OpKind::Write]);
    assert!(interval.ops.iter().all(|(_, stats)| stats.is_empty() && stats.response.is_some()));
}

/// How another process decodes these bytes.
fn received(bytes: &[u8]) -> Result<Histogram, serde::de::value::Error> {
    use base64::Engine;
    use serde::Deserialize;
    use serde::de::IntoDeserializer;
    let text = base64::engine::general_purpose::STANDARD.encode(bytes);
    Histogram::deserialize(text.into_deserializer())
}

#[test]
fn what_is_received_is_read_to_the_last_bit_or_refused() {
    let edges = [0, 1, 2047, 2048, 2049, 4095, 4096, 1 << 40, (1 << 47) - 1, 48 * HOUR_NS, u64::MAX];
    let mut whole = histogram(&edges);
    (0..5_000_000).step_by(97).for_each(|value| whole.record(value));
    let bytes = whole.to_bytes();
    assert_same(&received(&bytes).unwrap(), &whole);
    let long = histogram(&(0..40_000_000).step_by(211).collect::<Vec<_>>());
    assert_same(&received(&long.to_bytes()).unwrap(), &long);
    // A number that is cut off, and a run of zeros beyond the last bucket.
    let with_length = |mut bytes: Vec<u8>| {
        let length = (bytes.len() - 40) as u32;
        bytes[4..8].copy_from_slice(&length.to_be_bytes());
        bytes
    };
    assert!(received(&with_length([&bytes[..], &[0x81]].concat())).is_err());
    let beyond = [&bytes[..40], &[0xFF, 0xFF, 0xFF, 0x7F, 2]].concat();
    assert!(received(&with_length(beyond)).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Values in any range, merged in any form and any order, also after a round trip over the wire.
    #[test]
    fn all_forms_of_a_histogram_say_the_same(
        lists in prop::collection::vec((prop::collection::vec(1u64..100_000_000_000, 0..300), any::<bool>()), 1..6),
    ) {
        let all: Vec<u64> = lists.iter().flat_map(|(values, _)| values.iter().copied()).collect();
        let whole = histogram(&all);
        let mut sum = Histogram::new();
        for (values, packed) in &lists {
            let part = histogram(values);
            sum.merge(&if *packed { part.packed() } else { part });
        }
        assert_same(&sum, &whole);
        assert_same(&whole.clone().packed(), &whole);
        assert_same(&Histogram::from_bytes(&whole.to_bytes()).unwrap(), &whole);
        let back = received(&whole.to_bytes()).unwrap();
        assert_same(&back, &whole);
        let mut more = back.packed();
        more.record(7);
        let mut expected = whole;
        expected.record(7);
        assert_same(&more, &expected);
    }
}
