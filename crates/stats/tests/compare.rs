//! Comparisons with values worked out by hand.

#![allow(clippy::unwrap_used)] // a test may fail loudly

use stats::{Better, Call, ComparedSide, Difference, Estimate, LevelHeld, compare, estimate, holm};

/// A run with this mean, standard error and number of effective samples.
fn run(mean: f64, error: f64, effective: f64) -> Estimate {
    let deviation = error * effective.sqrt();
    Estimate {
        mean,
        low: mean - 2.0 * error,
        high: mean + 2.0 * error,
        deviation,
        samples: effective as u64,
        effective_samples: effective,
        autocorrelation: 1.0,
    }
}

fn of(a: &[Estimate], b: &[Estimate], better: Better) -> Difference {
    compare(
        &ComparedSide { repetitions: a, level: LevelHeld::Horizon },
        &ComparedSide { repetitions: b, level: LevelHeld::Horizon },
        better,
        0.05,
    )
}

#[test]
fn repetitions_by_hand() {
    // 98 100 102 against 93 95 97: means 100 and 95; relative variances of the means 4/3/100² and 4/3/95²;
    // ln 0.95 = −0.051293; error √(1.3333e−4 + 1.4774e−4) = 0.016765; t = −3.0595; Welch's freedom
    // (2.8107e−4)² / ((1.3333e−4)²/2 + (1.4774e−4)²/2) = 3.9895; p by Student's t = 0.0378.
    let a: Vec<Estimate> = [98.0, 100.0, 102.0].map(|m| run(m, 0.1, 50.0)).to_vec();
    let b: Vec<Estimate> = [93.0, 95.0, 97.0].map(|m| run(m, 0.1, 50.0)).to_vec();
    let d = of(&a, &b, Better::Higher);
    assert!((d.relative + 0.05).abs() < 1e-12);
    assert!((d.p_value - 0.0378).abs() < 5e-4, "{}", d.p_value);
    // t(0.975, 3.9895) = 2.7788: −0.051293 ± 0.046586.
    assert!(
        (d.low - (-0.097_879f64).exp_m1()).abs() < 2e-4 && (d.high - (-0.004_707f64).exp_m1()).abs() < 2e-4
    );
    assert_eq!((d.call, d.regression), (Call::Worse, false));
    assert_eq!(d.test, "Welch's t-test on 3 and 3 repetitions");
    // The same numbers as latencies are an improvement.
    assert_eq!(of(&a, &b, Better::Lower).call, Call::Better);
    assert_eq!(of(&b, &a, Better::Lower).call, Call::Worse);
}

#[test]
fn single_runs_by_hand() {
    // 1 % error per side, 0.7 % between runs: error √(2·(1e−4 + 0.49e−4)) = 0.017263. ln 0.94 = −0.061875, t −3.584.
    // Degrees of freedom per side 41·1.49² = 91.02, both 182.05; p = 0.00043; t(0.975, 182) = 1.9731: −0.061875 ±
    // 0.034062.
    let d = of(&[run(100.0, 1.0, 42.0)], &[run(94.0, 0.94, 42.0)], Better::Higher);
    assert!((d.p_value - 0.00043).abs() < 1e-5, "{}", d.p_value);
    assert_eq!((d.call, d.regression), (Call::Worse, true));
    assert!(d.test.contains("42 and 42 effective samples of one run each"), "{}", d.test);
    assert!(d.line().starts_with("worse: -6.0 % (95 % interval -9.1 % to -2.7 %, p 0.0004)"), "{}", d.line());
}

#[test]
fn what_runs_differ_by_is_allowed_for() {
    // No noise within the runs: a difference of 1 % is below twice √2 · 0.7 %, one of 3 % is above.
    let quiet = |mean| [estimate(&[mean; 60])];
    assert_eq!(of(&quiet(100.0), &quiet(99.0), Better::Higher).call, Call::NoDifference);
    assert_eq!(of(&quiet(100.0), &quiet(97.0), Better::Higher).call, Call::Worse);
    assert_eq!(of(&quiet(100.0), &quiet(100.0), Better::Higher).p_value, 1.0);
    // One side's repetitions show the variation for the other: here 3 %.
    let spread: Vec<Estimate> = [97.0, 100.0, 103.0].map(|m| run(m, 0.01, 50.0)).to_vec();
    let d = of(&spread, &quiet(96.0), Better::Higher);
    assert_eq!(d.call, Call::NoDifference);
    assert!(d.test.contains("3 repetitions and 60 effective samples"), "{}", d.test);
    // Repetitions that agree better than their own noise allows are luck.
    let lucky: Vec<Estimate> = [100.0, 100.001, 100.002].map(|m| run(m, 2.0, 50.0)).to_vec();
    let other: Vec<Estimate> = [101.0, 101.001, 101.002].map(|m| run(m, 2.0, 50.0)).to_vec();
    assert_eq!(of(&lucky, &other, Better::Higher).call, Call::NoDifference);
}

#[test]
fn the_threshold_decides_about_regressions_only() {
    let slower = |to: f64| of(&[run(100.0, 0.1, 900.0)], &[run(to, 0.1, 900.0)], Better::Higher);
    assert_eq!((slower(96.0).call, slower(96.0).regression), (Call::Worse, false));
    assert_eq!((slower(94.0).call, slower(94.0).regression), (Call::Worse, true));
    assert_eq!((slower(106.0).call, slower(106.0).regression), (Call::Better, false));
    // Far off but uncertain: not significant, so no regression.
    let unsure = of(&[run(100.0, 9.0, 30.0)], &[run(90.0, 9.0, 30.0)], Better::Higher);
    assert_eq!((unsure.call, unsure.regression), (Call::NoDifference, false));
}

#[test]
fn nothing_to_compare_is_said() {
    let d = of(&[], &[run(1.0, 0.1, 30.0)], Better::Higher);
    assert_eq!((d.call, d.test.as_str()), (Call::NoDifference, "none: one side has no result"));
    let d = of(&[estimate(&[5.0])], &[run(1.0, 0.1, 30.0)], Better::Higher);
    assert_eq!(d.call, Call::NoDifference);
    assert!(d.test.starts_with("none: too few"));
    let zero = [estimate(&[0.0; 60])];
    assert_eq!(of(&zero, &zero, Better::Higher).call, Call::NoDifference);
    assert_eq!(of(&zero, &[run(5.0, 0.1, 40.0)], Better::Higher).call, Call::Better);
    assert_eq!(of(&[run(5.0, 0.1, 40.0)], &zero, Better::Higher).call, Call::Worse);
}

#[test]
fn holm_by_hand() {
    // Sorted 0.005 0.01 0.03 0.04, times 4 3 2 1: 0.02 0.03 0.06 0.06 (never decreasing).
    let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
    for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
        assert!((found - expected).abs() < 1e-12, "{adjusted:?}");
    }
    assert!(holm(&[]).is_empty());
}

/// A run that alternated between levels says nothing about the next one; its repetitions do.
#[test]
fn a_single_run_without_a_level_cannot_be_compared() {
    let (a, b) = ([run(100.0, 0.1, 50.0)], [run(60.0, 0.1, 50.0)]);
    let unsettled = |repetitions| ComparedSide { repetitions, level: LevelHeld::Unsettled };
    let settled = |repetitions| ComparedSide { repetitions, level: LevelHeld::Window };
    for (one, two) in [(unsettled(&a), settled(&b)), (settled(&a), unsettled(&b))] {
        let d = compare(&one, &two, Better::Higher, 0.05);
        assert_eq!((d.call, d.regression, d.p_value), (Call::NotComparable, false, 1.0));
        assert!(d.test.starts_with("none: a single run without a steady level"), "{}", d.test);
    }
    let (a, b) =
        ([98.0, 100.0, 102.0].map(|m| run(m, 0.1, 50.0)), [58.0, 60.0, 62.0].map(|m| run(m, 0.1, 50.0)));
    assert_eq!(compare(&unsettled(&a), &unsettled(&b), Better::Higher, 0.05).call, Call::Worse);
}

/// A target that alternates between two levels differs from itself just as much.
#[test]
fn a_change_takes_repetitions_or_a_lasting_level() {
    let (high, low) = (run(100.0, 0.1, 50.0), run(60.0, 0.1, 50.0));
    let found = |a: &[Estimate], of_a: LevelHeld, b: &[Estimate], of_b: LevelHeld| {
        let d = compare(
            &ComparedSide { repetitions: a, level: of_a },
            &ComparedSide { repetitions: b, level: of_b },
            Better::Higher,
            0.05,
        );
        (d.call, d.regression, d.unconfirmed_regression)
    };
    let (confirmed, unconfirmed) = ((Call::Worse, true, false), (Call::UnconfirmedWorse, false, true));
    use LevelHeld::{Horizon, Unsettled, Window};
    assert_eq!(found(&[high], Window, &[low], Window), unconfirmed);
    assert_eq!(found(&[low], Window, &[high], Window), (Call::UnconfirmedBetter, false, false));
    assert_eq!(found(&[high], Horizon, &[low], Horizon), confirmed);
    assert_eq!(found(&[high], Horizon, &[low], Window), unconfirmed, "each side must last");
    assert_eq!(found(&[high; 2], Window, &[low; 2], Window), unconfirmed, "two agree too easily");
    assert_eq!(found(&[high; 3], Unsettled, &[low; 3], Window), confirmed);
    assert_eq!(found(&[high; 3], Window, &[low], Window), unconfirmed);
    assert_eq!(found(&[high; 3], Window, &[low], Horizon), confirmed);
    assert_eq!(found(&[high], Window, &[high], Window).0, Call::NoDifference);
}
