//! Invariants that hold for every input, however odd.

#![allow(clippy::unwrap_used)] // a test may fail loudly

use experiment::{LevelLimits, SteadyRule};
use metrics::{Interval, OpKind};
use proptest::prelude::*;
use stats::{
    Better, Call, ComparedSide, Estimate, Floors, LevelHeld, Monitor, SteadyOutcome, compare, estimate, holm,
    percentile,
};

/// Any finite number.
fn any_finite() -> impl Strategy<Value = f64> {
    any::<f64>().prop_filter("finite", |v| v.is_finite())
}

fn check(e: &Estimate) {
    for v in [e.mean, e.low, e.high, e.deviation, e.effective_samples, e.autocorrelation] {
        assert!(v.is_finite(), "{e:?}");
    }
    assert!(e.low <= e.mean && e.mean <= e.high, "{e:?}");
    assert!(e.effective_samples <= e.samples as f64 && e.autocorrelation >= 1.0, "{e:?}");
}

fn rules() -> Vec<SteadyRule> {
    let fio = |metric: &str, slope| SteadyRule::Fio {
        metric: metric.to_owned(),
        slope,
        limit: 0.01,
        window_s: 5.0,
    };
    vec![
        SteadyRule::Default(LevelLimits::default()),
        SteadyRule::Default(LevelLimits {
            half_width: 0.0,
            drift: 0.0,
            latency_drift: 0.0,
            effective_samples: 0.0,
        }),
        SteadyRule::Snia { round_s: 3.0 },
        SteadyRule::Storperf { sample_s: 2.0, samples: 10 },
        fio("iops", true),
        fio("lat", false),
        fio("bw", true),
        SteadyRule::None,
    ]
}

fn check_outcome(outcome: &SteadyOutcome) {
    let text = serde_json::to_string(outcome).unwrap();
    let back: SteadyOutcome = serde_json::from_str(&text).unwrap();
    assert_eq!(back.criteria.len(), outcome.criteria.len());
    assert!(!text.contains("null,\"limit\"") && !outcome.reason.contains("NaN"), "{text}");
    for criterion in &outcome.criteria {
        assert!(criterion.value.is_finite() && criterion.limit.is_finite(), "{criterion:?}");
        assert!(!criterion.to_string().contains("inf"), "{criterion}");
    }
    for series in &outcome.series {
        check(&series.estimate);
        assert!(
            series.drift.is_finite() && series.drift_bound.is_finite() && series.drift_bound >= 0.0,
            "{series:?}"
        );
    }
    for regime in &outcome.regimes {
        check(&regime.estimate);
        assert!(regime.window.first < regime.window.end);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn estimates_are_numbers(values in prop::collection::vec(any_finite(), 0..80)) {
        check(&estimate(&values));
        let e = percentile(&values.iter().map(|v| v / 4.0).collect::<Vec<_>>(), 0.3, 1);
        prop_assert!(e.low.is_finite() && e.high.is_finite() && e.low <= e.mean && e.mean <= e.high);
    }

    #[test]
    fn estimates_scale_with_their_unit(
        values in prop::collection::vec(0.0..1000.0f64, 1..120),
        scale in prop::sample::select(vec![1e-9, 0.125, 3.0, 1e12]),
    ) {
        let (one, other) = (estimate(&values), estimate(&values.iter().map(|v| v * scale).collect::<Vec<_>>()));
        for (a, b) in [(one.mean, other.mean), (one.low, other.low), (one.high, other.high), (one.deviation, other.deviation)] {
            prop_assert!((a * scale - b).abs() <= 1e-9 * scale * 1000.0, "{a} {b}");
        }
        prop_assert!((one.effective_samples / other.effective_samples - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_shift_moves_the_mean_and_keeps_the_width(values in prop::collection::vec(0.0..10.0f64, 2..100), by in -100.0..100.0f64) {
        let (one, other) = (estimate(&values), estimate(&values.iter().map(|v| v + by).collect::<Vec<_>>()));
        prop_assert!((one.mean + by - other.mean).abs() < 1e-9);
        prop_assert!(((one.high - one.low) - (other.high - other.low)).abs() < 1e-6 * (1.0 + one.high - one.low));
    }

    /// Swapping the sides mirrors the comparison.
    #[test]
    fn comparisons_are_symmetric(
        a in prop::collection::vec((1.0..1e9f64, 0.0..0.2f64, 2.0..500.0f64), 1..5),
        b in prop::collection::vec((1.0..1e9f64, 0.0..0.2f64, 2.0..500.0f64), 1..5),
    ) {
        let runs = |of: &[(f64, f64, f64)]| of.iter().map(|(mean, spread, effective)| Estimate {
            mean: *mean, low: *mean, high: *mean, deviation: mean * spread, samples: 500,
            effective_samples: *effective, autocorrelation: 1.0,
        }).collect::<Vec<_>>();
        let (a, b) = (runs(&a), runs(&b));
        let of = |a: &[Estimate], b: &[Estimate], better| compare(&ComparedSide { repetitions: a, level: LevelHeld::Horizon }, &ComparedSide { repetitions: b, level: LevelHeld::Horizon }, better, 0.05);
        let (ahead, back) = (of(&a, &b, Better::Higher), of(&b, &a, Better::Higher));
        prop_assert!((ahead.p_value - back.p_value).abs() < 1e-9);
        prop_assert!(ahead.low <= ahead.relative && ahead.relative <= ahead.high, "{ahead:?}");
        let mirrored = match back.call { Call::Better => Call::Worse, Call::Worse => Call::Better, other => other };
        prop_assert_eq!(ahead.call, mirrored);
        prop_assert_eq!(ahead.call == Call::NoDifference, ahead.low <= 0.0 && ahead.high >= 0.0, "{:?}", ahead);
        prop_assert_eq!(of(&a, &b, Better::Lower).call, back.call);
        prop_assert!(!ahead.regression || ahead.call == Call::Worse);
        prop_assert_eq!(of(&a, &a, Better::Higher).call, Call::NoDifference);
    }

    #[test]
    fn comparing_odd_numbers_gives_numbers(a in any_finite(), b in any_finite(), spread in any_finite(), effective in 0.0..1e6f64) {
        let run = |mean: f64| Estimate {
            mean, low: mean, high: mean, deviation: spread.abs(), samples: 9, effective_samples: effective, autocorrelation: 1.0,
        };
        for (one, two) in [(vec![run(a)], vec![run(b)]), (vec![run(a), run(b)], vec![run(b)]), (vec![run(a), run(b)], vec![run(b), run(a)])] {
            let d = compare(&ComparedSide { repetitions: &one, level: LevelHeld::Horizon }, &ComparedSide { repetitions: &two, level: LevelHeld::Horizon }, Better::Lower, 0.05);
            prop_assert!(d.relative.is_finite() && d.low.is_finite() && d.high.is_finite(), "{d:?}");
            prop_assert!((0.0..=1.0).contains(&d.p_value), "{d:?}");
            prop_assert!(!d.line().contains("NaN") && !d.line().contains("inf"), "{}", d.line());
        }
    }

    #[test]
    fn holm_only_raises_and_keeps_the_order(p in prop::collection::vec(0.0..=1.0f64, 0..30)) {
        let adjusted = holm(&p);
        for i in 0..p.len() {
            prop_assert!(p[i] <= adjusted[i] && adjusted[i] <= 1.0);
            for j in 0..p.len() {
                prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever a measurement looks like, every rule gives an outcome that can be stored and printed.
    #[test]
    fn outcomes_are_numbers(
        seconds in prop::collection::vec((0u64..3, 0u64..2_000_000, 0u64..60, 1u64..2_000_000_000), 0..90),
        floor in 0.0..30.0f64,
        limit in 10.0..80.0f64,
    ) {
        for rule in rules() {
            let mut monitor = Monitor::new(&rule, Floors { seconds: floor, bytes: 1000, limit_seconds: limit });
            for (index, (kind, ok, latencies, length)) in seconds.iter().enumerate() {
                let kind = [OpKind::Read, OpKind::Write, OpKind::Commit][*kind as usize];
                let mut interval = Interval { index: index as u32, length_ns: *length, ..Interval::default() };
                let stats = interval.op_mut(kind);
                stats.ok = *ok;
                stats.bytes = ok.wrapping_mul(977) * u64::from(kind != OpKind::Commit);
                for i in 0..*latencies * 10 {
                    stats.service.record(i * ok);
                }
                monitor.push(&interval);
            }
            check_outcome(&monitor.outcome());
            let progress = monitor.progress();
            prop_assert!(progress.elapsed_s.is_finite() && progress.next_look_s.is_finite());
        }
    }
}
