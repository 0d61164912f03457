//! The rules on series that mislead rules: slow levels, slow warm-ups, sawtooths, rare stalls.

use experiment::{LevelLimits, SteadyRule};
use fastrand::Rng;
use metrics::Interval;
use stats::{
    Better, Call, ComparedSide, Decision, Estimate, Floors, Measure, Monitor, SteadyOutcome, compare,
};

use crate::rules::default_rule;
use crate::series::{Noise, RATE, fill};

/// The longest measurement, in seconds.
const LIMIT_S: f64 = 1800.0;

/// The level at each second, queried in order; relative to 1.
type Level = Box<dyn FnMut(f64) -> f64>;

/// A target's throughput over time.
struct Target {
    name: &'static str,
    /// Its level, given a seeded generator.
    level: fn(&mut Rng) -> Level,
    /// Standard deviation of the noise per second, relative to the level.
    deviation: f64,
    /// Correlation of the noise between neighbours.
    rho: f64,
    /// The right figure: the long-run level. A drift has none.
    truth: Option<f64>,
}

/// Alternates between two levels for stretches whose lengths lie between two bounds; a run starts anywhere in one.
fn two_levels(rng: &mut Rng, other: f64, shortest_s: f64, longest_s: f64) -> Level {
    let mut rng = rng.fork();
    let mut stretch = move || shortest_s + (longest_s - shortest_s) * rng.f64();
    let first = stretch();
    let mut rest = Rng::with_seed(first.to_bits());
    let (mut end, mut high) = (first * rest.f64(), rest.bool());
    Box::new(move |t| {
        while t >= end {
            end += stretch();
            high = !high;
        }
        if high { 1.0 } else { other }
    })
}

/// Straight lines up and down around 1; a run starts anywhere.
fn sawtooth(rng: &mut Rng, period_s: f64, height: f64) -> Level {
    let phase = rng.f64();
    Box::new(move |t| {
        let at = (t / period_s + phase).fract();
        1.0 + height * (4.0 * (at - 0.5).abs() - 1.0)
    })
}

/// Drops to zero for a while now and then: either regularly or as a Poisson process.
fn stalls(rng: &mut Rng, length_s: f64, every_s: f64, regular: bool) -> Level {
    let mut rng = rng.fork();
    let mut gap =
        move || if regular { every_s } else { length_s - (every_s - length_s) * (1.0 - rng.f64()).ln() };
    let mut next = gap() * 0.5;
    let mut until = f64::NEG_INFINITY;
    Box::new(move |t| {
        while t >= next {
            until = next + length_s;
            next += gap();
        }
        // The share of the second without a stall.
        1.0 - (until.min(t + 1.0) - t).clamp(0.0, 1.0)
    })
}

/// One lane whose operations take 10 ms on average, from a long-tailed distribution; a long one spans seconds.
fn tail(rng: &mut Rng, draw: fn(&mut Rng) -> f64) -> Level {
    let mut rng = rng.fork();
    let mut ends = 0.0;
    Box::new(move |t| {
        let mut ended = 0.0;
        while ends < t + 1.0 {
            ends += 0.01 * draw(&mut rng);
            ended += 0.01;
        }
        ended
    })
}

/// The series, each with its right figure.
fn targets() -> Vec<Target> {
    let target = |name, level, deviation, rho, truth: f64| Target {
        name,
        level,
        deviation,
        rho,
        truth: truth.is_finite().then_some(truth),
    };
    vec![
        target("constant, cv 2 %", |_| Box::new(|_| 1.0), 0.02, 0.0, 1.0),
        target("AR(1) rho 0.95, cv 5 %", |_| Box::new(|_| 1.0), 0.05, 0.95, 1.0),
        target("two levels 1/0.6, 30–60 s each", |r| two_levels(r, 0.6, 30.0, 60.0), 0.02, 0.0, 0.8),
        target("two levels 1/0.6, 120–300 s each", |r| two_levels(r, 0.6, 120.0, 300.0), 0.02, 0.0, 0.8),
        target("cliff × 0.6 at 95 s", |_| Box::new(|t| if t < 95.0 { 1.0 } else { 0.6 }), 0.02, 0.0, 0.6),
        target("cliff × 0.6 at 57 s", |_| Box::new(|t| if t < 57.0 { 1.0 } else { 0.6 }), 0.02, 0.0, 0.6),
        target("sawtooth 90 s ± 20 %", |r| sawtooth(r, 90.0, 0.2), 0.02, 0.0, 1.0),
        target("sawtooth 20 s ± 20 %", |r| sawtooth(r, 20.0, 0.2), 0.02, 0.0, 1.0),
        target("warm-up −20 % over 300 s, cv 2 %", |_| warm_up(300.0), 0.02, 0.0, 1.0),
        target("warm-up −20 % over 300 s, cv 5 %", |_| warm_up(300.0), 0.05, 0.0, 1.0),
        target("warm-up −20 % over 1200 s, cv 2 %", |_| warm_up(1200.0), 0.02, 0.0, 1.0),
        target("warm-up −20 % over 1200 s, cv 5 %", |_| warm_up(1200.0), 0.05, 0.0, 1.0),
        target("stall 2 s every 300 s", |r| stalls(r, 2.0, 300.0, true), 0.02, 0.0, 1.0 - 2.0 / 300.0),
        target("stall 10 s, Poisson 300 s", |r| stalls(r, 10.0, 300.0, false), 0.02, 0.0, 1.0 - 10.0 / 300.0),
        target(
            "5 % of operations take 20 ×",
            |r| tail(r, |r| if r.f64() < 0.05 { 20.0 / 1.95 } else { 1.0 / 1.95 }),
            0.0,
            0.0,
            1.0,
        ),
        target("Pareto 1.5", |r| tail(r, |r| (1.0 - r.f64()).powf(-1.0 / 1.5) / 3.0), 0.0, 0.0, 1.0),
        target("Pareto 2.5", |r| tail(r, |r| (1.0 - r.f64()).powf(-1.0 / 2.5) * 0.6), 0.0, 0.0, 1.0),
        target("drift −1 % a minute, cv 2 %", |_| Box::new(|t| 1.0 - 0.01 * t / 60.0), 0.02, 0.0, f64::NAN),
        target("drift −2 % a minute, cv 5 %", |_| Box::new(|t| 1.0 - 0.02 * t / 60.0), 0.05, 0.0, f64::NAN),
        target(
            "drift −4 % a minute, cv 5 %",
            |_| Box::new(|t| (1.0 - 0.04 * t / 60.0).max(0.02)),
            0.05,
            0.0,
            f64::NAN,
        ),
    ]
}

/// From 0.8 to 1 in a straight line.
fn warm_up(over_s: f64) -> Level {
    Box::new(move |t| 1.0 - 0.2 * (1.0 - t / over_s).max(0.0))
}

/// One measurement judged by a rule.
struct Run {
    outcome: SteadyOutcome,
    seconds: f64,
    /// Mean level of the ten minutes after its end.
    after: f64,
}

impl Run {
    /// Operations per second, relative to level 1.
    fn estimate(&self) -> Estimate {
        let wanted =
            |series: &&stats::SeriesEstimate| series.op.is_none() && series.measure == Measure::OpsPerS;
        let found = self.outcome.series.iter().find(wanted).unwrap().estimate;
        let of = |value: f64| value / RATE;
        Estimate {
            mean: of(found.mean),
            low: of(found.low),
            high: of(found.high),
            deviation: of(found.deviation),
            ..found
        }
    }
}

impl Target {
    /// One measurement through a rule.
    fn measure(&self, rule: &SteadyRule, seed: u64) -> Run {
        let mut interval = Interval::default();
        let mut monitor = Monitor::new(rule, Floors { seconds: 60.0, bytes: 0, limit_seconds: LIMIT_S });
        let mut noise = Noise::new(seed, self.rho);
        let mut level = (self.level)(&mut Rng::with_seed(seed ^ 0x5eed));
        let mut index = 0;
        loop {
            let value = level(f64::from(index)) * (1.0 + self.deviation * noise.next());
            fill(&mut interval, index, value.max(0.0));
            index += 1;
            if monitor.push(&interval) != Decision::GoOn {
                break;
            }
        }
        let after = (0..600).map(|s| level(f64::from(index + s))).sum::<f64>() / 600.0;
        Run { outcome: monitor.outcome(), seconds: f64::from(index), after }
    }
}

/// A rule's results on the runs of one target.
struct Row {
    runs: usize,
    /// Times to the decision of runs called steady, in order.
    times: Vec<f64>,
    /// Root mean square of their figures' relative errors.
    rms: f64,
    /// Runs called steady whose interval covers the truth.
    covered: usize,
    /// Runs called steady whose figure differs by more than 5 % from the ten minutes that follow.
    off_later: usize,
    /// Share of pairs of runs in which a difference is called.
    different: f64,
    /// Share of pairs of runs in which an unconfirmed difference is called.
    unconfirmed: f64,
    /// Share of pairs of three runs each in which a difference is called.
    repeated_different: f64,
}

impl Row {
    fn of(target: &Target, rule: &SteadyRule, runs: usize) -> Self {
        let runs: Vec<Run> = (0..runs as u64).map(|seed| target.measure(rule, seed)).collect();
        let steady: Vec<&Run> = runs.iter().filter(|run| run.outcome.reached).collect();
        let count = |holds: &dyn Fn(&Run) -> bool| steady.iter().filter(|run| holds(run)).count();
        let errors: Vec<f64> =
            steady.iter().map(|run| run.estimate().mean / target.truth.unwrap_or(run.after) - 1.0).collect();
        let mut times: Vec<f64> = steady.iter().map(|run| run.seconds).collect();
        times.sort_by(f64::total_cmp);
        let pairs: Vec<Call> = (0..runs.len())
            .flat_map(|b| (0..b).map(move |a| (a, b)))
            .map(|(a, b)| called(&[&runs[a]], &[&runs[b]]))
            .collect();
        let share = |calls: &[Call], is: fn(Call) -> bool| {
            calls.iter().filter(|call| is(**call)).count() as f64 / calls.len() as f64
        };
        let confirmed = |call: Call| matches!(call, Call::Better | Call::Worse);
        let unconfirmed = |call: Call| matches!(call, Call::UnconfirmedBetter | Call::UnconfirmedWorse);
        Self {
            runs: runs.len(),
            times,
            rms: (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt(),
            covered: count(&|run| {
                let Estimate { low, high, .. } = run.estimate();
                target.truth.is_some_and(|truth| low <= truth && truth <= high)
            }),
            off_later: count(&|run| (run.estimate().mean / run.after - 1.0).abs() > 0.05),
            different: share(&pairs, confirmed),
            unconfirmed: share(&pairs, unconfirmed),
            repeated_different: share(&repeated_calls(&runs), confirmed),
        }
    }

    fn called_steady(&self) -> usize {
        self.times.len()
    }
}

fn called(a: &[&Run], b: &[&Run]) -> Call {
    let estimates = |runs: &[&Run]| runs.iter().map(|run| run.estimate()).collect::<Vec<_>>();
    let level = |runs: &[&Run]| runs.iter().map(|run| run.outcome.level_held()).min().unwrap();
    let (of_a, of_b) = (estimates(a), estimates(b));
    let one = ComparedSide { repetitions: &of_a, level: level(a) };
    compare(&one, &ComparedSide { repetitions: &of_b, level: level(b) }, Better::Higher, 0.05).call
}

/// Calls of pairs of three runs each, drawn at random without a run on both sides.
fn repeated_calls(runs: &[Run]) -> Vec<Call> {
    let mut rng = Rng::with_seed(3);
    let mut order: Vec<&Run> = runs.iter().collect();
    let mut draw = || {
        rng.shuffle(&mut order);
        called(&order[..3], &order[3..6])
    };
    (0..2000).map(|_| draw()).collect()
}

/// Called steady, median time, RMS error, interval covers the truth, off by more than 5 % ten minutes later; then the
/// calls in A/A pairs: different, different but unconfirmed, different with three repetitions each.
impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let n = self.called_steady();
        let [different, unconfirmed, repeated] =
            [self.different, self.unconfirmed, self.repeated_different].map(|share| 100.0 * share);
        let calls = format!("{different:.0} %, {unconfirmed:.0} %, {repeated:.0} %");
        if n == 0 {
            return write!(f, "0; A/A {calls}");
        }
        let (median, rms) = (self.times[n / 2], 100.0 * self.rms);
        write!(f, "{n}, {median:.0} s, {rms:.1} %, {}, {}; A/A {calls}", self.covered, self.off_later)
    }
}

fn sustained(horizon_s: f64) -> SteadyRule {
    SteadyRule::Sustained { horizon_s, limits: LevelLimits::default() }
}

/// Nothing can predict what has not happened: without a stall in the window, rarer ones cannot be excluded.
const UNFORESEEABLE: &str = "stall 10 s, Poisson 300 s";

#[test]
fn rules_on_targets_that_are_not_what_they_seem() {
    let runs = std::env::var("RUNS").ok().and_then(|r| r.parse().ok()).unwrap_or(20);
    let horizon_s = std::env::var("HORIZON_S").ok().and_then(|s| s.parse().ok()).unwrap_or(600.0);
    println!("| series | default | sustained |\n|---|---|---|");
    for target in targets() {
        let [default, sustained] =
            [default_rule(), sustained(horizon_s)].map(|rule| Row::of(&target, &rule, runs));
        println!("| {} | {default} | {sustained} |", target.name);
        check(&target, &default, &sustained);
    }
}

/// What `docs/steady-state.md` claims about `sustained`, with a margin for the scatter of so few runs.
fn check(target: &Target, default: &Row, sustained: &Row) {
    let name = target.name;
    let slow = ["two levels", "over 1200 s", "drift", "Pareto 1.5"].iter().any(|what| name.contains(what));
    assert!(!slow || sustained.called_steady() == 0, "{name}: {sustained}");
    assert!(
        slow || name == UNFORESEEABLE || sustained.called_steady() * 10 >= sustained.runs * 7,
        "{name}: {sustained}"
    );
    // No rule calls equal targets different, neither single runs nor three repetitions.
    for row in [default, sustained] {
        assert!(row.different <= 0.05 && row.repeated_different <= 0.05, "{name}: {row}");
    }
    if name != UNFORESEEABLE {
        assert_eq!(sustained.off_later, 0, "{name}: {sustained}");
        // 85 of 100 with the slowest noise, 95 of 100 elsewhere, with a margin of three standard errors.
        let room = 3.0 * (0.85 * 0.15 / sustained.called_steady().max(1) as f64).sqrt();
        let share = sustained.covered as f64 / sustained.called_steady().max(1) as f64;
        assert!(slow || share >= 0.85 - room, "{name}: {sustained}");
    }
}
