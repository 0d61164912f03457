//! The rules on steady, warming, drifting and collapsing targets.

use experiment::{LevelLimits, SteadyRule};
use metrics::Interval;
use stats::{Decision, Floors, Measure, Monitor};

use crate::series::{Case, Noise, RATE, fill};

const LIMIT_S: f64 = 1800.0;

/// A rule's score on the runs of a case.
pub struct Score {
    pub declared: usize,
    pub runs: usize,
    times: Vec<f64>,
    square_error: f64,
    covered: usize,
    /// Among the runs with at least 30 effective samples.
    covered_30: usize,
    with_30: usize,
}

impl Score {
    pub fn median_time(&self) -> f64 {
        let mut times = self.times.clone();
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
    }
    pub fn rms(&self) -> f64 {
        (self.square_error / self.declared.max(1) as f64).sqrt()
    }
    pub fn coverage(&self) -> f64 {
        self.covered as f64 / self.declared.max(1) as f64
    }
    pub fn coverage_30(&self) -> f64 {
        self.covered_30 as f64 / self.with_30.max(1) as f64
    }
}

pub fn default_rule() -> SteadyRule {
    SteadyRule::Default(LevelLimits::default())
}

pub fn score(rule: &SteadyRule, case: &Case, runs: usize) -> Score {
    let mut score = Score {
        declared: 0,
        runs,
        times: Vec::new(),
        square_error: 0.0,
        covered: 0,
        covered_30: 0,
        with_30: 0,
    };
    let mut interval = Interval::default();
    for run in 0..runs {
        let bytes = (case.floor_s * RATE * 4096.0) as u64;
        // Other rules have no floor of their own.
        let seconds = if matches!(rule, SteadyRule::Default(_)) { 60.0 } else { 0.0 };
        let mut monitor = Monitor::new(rule, Floors { seconds, bytes, limit_seconds: LIMIT_S });
        let mut noise = Noise::new(run as u64, case.rho);
        let mut index = 0;
        let decision = loop {
            fill(&mut interval, index, case.value(index, &mut noise));
            match monitor.push(&interval) {
                Decision::GoOn => index += 1,
                decision => break decision,
            }
        };
        if decision != Decision::Steady {
            continue;
        }
        let outcome = monitor.outcome();
        let found = outcome.series.iter().find(|s| s.op.is_none() && s.measure == Measure::OpsPerS).unwrap();
        let e = &found.estimate;
        let truth = case.truth * RATE;
        score.declared += 1;
        score.times.push(f64::from(index + 1));
        score.square_error += (e.mean / truth - 1.0).powi(2);
        let covered = usize::from(e.low <= truth && truth <= e.high);
        score.covered += covered;
        if e.effective_samples >= 30.0 {
            score.with_30 += 1;
            score.covered_30 += covered;
        }
    }
    score
}

pub fn cases() -> Vec<Case> {
    let steady: fn(f64) -> f64 = |_| 1.0;
    let case =
        |name, level, deviation, rho, truth, floor_s| Case { name, level, deviation, rho, truth, floor_s };
    vec![
        case("steady, cv 2 %, rho 0", steady, 0.02, 0.0, 1.0, 0.0),
        case("steady, cv 5 %, rho 0", steady, 0.05, 0.0, 1.0, 0.0),
        case("steady, cv 5 %, rho 0.5", steady, 0.05, 0.5, 1.0, 0.0),
        case("steady, cv 5 %, rho 0.9", steady, 0.05, 0.9, 1.0, 0.0),
        case("steady, cv 10 %, rho 0", steady, 0.10, 0.0, 1.0, 0.0),
        case("steady, cv 10 %, rho 0.5", steady, 0.10, 0.5, 1.0, 0.0),
        case("steady, cv 10 %, rho 0.9", steady, 0.10, 0.9, 1.0, 0.0),
        case("warm-up +50 %, tau 60 s", |t| 1.0 + 0.5 * (-t / 60.0).exp(), 0.03, 0.5, 1.0, 0.0),
        case("warm-up −50 %, tau 60 s", |t| 1.0 - 0.5 * (-t / 60.0).exp(), 0.03, 0.5, 1.0, 0.0),
        case("drift −6 %/min for 700 s", |t| 1.0 - 0.001 * t.min(700.0), 0.03, 0.5, 0.3, 0.0),
        case("cliff −40 % at 100 s", |t| if t < 100.0 { 1.0 } else { 0.6 }, 0.03, 0.5, 0.6, 0.0),
        case("cliff −40 % at 200 s", |t| if t < 200.0 { 1.0 } else { 0.6 }, 0.03, 0.5, 0.6, 0.0),
        case("the same, floor of 250 s' bytes", |t| if t < 200.0 { 1.0 } else { 0.6 }, 0.03, 0.5, 0.6, 250.0),
    ]
}

/// The rules in the order of the table.
fn rules() -> Vec<(&'static str, SteadyRule)> {
    let fio = SteadyRule::Fio { metric: "iops".to_owned(), slope: true, limit: 0.001, window_s: 30.0 };
    vec![
        ("snia, rounds of 1 s", SteadyRule::Snia { round_s: 1.0 }),
        ("snia, rounds of 60 s", SteadyRule::Snia { round_s: 60.0 }),
        ("fio iops_slope:0.1 %, 30 s", fio),
        ("storperf, 10 of 60 s", SteadyRule::Storperf { sample_s: 60.0, samples: 10 }),
        ("default", default_rule()),
    ]
}

#[test]
fn rules_on_simulated_measurements() {
    let runs = std::env::var("RUNS").ok().and_then(|r| r.parse().ok()).unwrap_or(100);
    println!("| case | {} |", rules().iter().map(|(name, _)| *name).collect::<Vec<_>>().join(" | "));
    println!("|---|---|---|---|---|---|");
    for case in cases() {
        let scores: Vec<(&str, Score)> =
            rules().into_iter().map(|(name, rule)| (name, score(&rule, &case, runs))).collect();
        let cells: Vec<String> = scores.iter().map(|(_, score)| score.to_string()).collect();
        println!("| {} | {} |", case.name, cells.join(" | "));
        check(&case, &scores);
    }
}

/// What `docs/steady-state.md` claims.
fn check(case: &Case, scores: &[(&str, Score)]) {
    let (_, default) = scores.last().unwrap();
    let name = case.name;
    if name.starts_with("steady") && default.with_30 >= 40 {
        // The claim is 90 to 98 of 100; a hundred runs scatter by another two or three.
        let allowed = 3.0 * (0.05f64 * 0.95 / default.with_30 as f64).sqrt();
        assert!(
            (0.95 - allowed.max(0.03)..=1.0).contains(&default.coverage_30()),
            "{name}: {}",
            default.coverage_30()
        );
        assert!(default.rms() <= 0.016, "{name}: {}", default.rms());
    }
    if name.starts_with("steady") && !name.contains("0.9") {
        assert_eq!(default.declared, default.runs, "{name}");
        assert!(default.median_time() <= 460.0, "{name}: {}", default.median_time());
    }
    if name.starts_with("warm-up") {
        for (other, s) in &scores[..scores.len() - 1] {
            assert!(default.rms() < s.rms(), "{name}: {} is not below {} of {other}", default.rms(), s.rms());
        }
    }
    if name.starts_with("warm-up") {
        assert!(default.rms() <= 0.006 && default.coverage() >= 0.88, "{name}: {default}");
    }
    if name.starts_with("drift") {
        // Half an hour is not enough to trust a level that drifted for 700 s; calling the drift steady would be worse.
        assert!(default.declared * 50 <= default.runs, "{name}: {default}");
    }
    if name.contains("floor") {
        assert!(default.rms() <= 0.02 && default.declared == default.runs, "{name}: {}", default.rms());
    }
}

/// Median time to the decision, error of the mean and coverage of its interval; the share of steady runs unless all
/// were steady.
impl std::fmt::Display for Score {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.declared == 0 {
            return f.write_str("never");
        }
        let (rms, coverage) = (100.0 * self.rms(), 100.0 * self.coverage());
        write!(f, "{:.0} s, {rms:.1} %, {coverage:.0} %", self.median_time())?;
        match self.declared == self.runs {
            true => Ok(()),
            false => write!(f, " ({:.0} % of runs)", 100.0 * self.declared as f64 / self.runs as f64),
        }
    }
}
