//! Two runs compared, a hundred times and more: equal ones, and pairs in which one is 5 % worse.

use experiment::SteadyRule;
use metrics::Interval;
use stats::{Better, Call, ComparedSide, Decision, Estimate, Floors, LevelHeld, Measure, Monitor, compare};

use crate::rules::default_rule;
use crate::series::{Noise, fill, fill_latency};

/// A pair of results to simulate.
struct Pair {
    name: &'static str,
    deviation: f64,
    rho: f64,
    /// Standard deviation of each run's own level, which no single run shows.
    between: f64,
    repetitions: usize,
    /// Use rule `none` with this length in seconds.
    fixed_s: Option<f64>,
    /// Simulate and compare p99 instead of throughput.
    latency: bool,
    /// Minimum share of equal pairs that must be called equal. A hundred pairs scatter by two or three around the
    /// table's figures from a thousand; where those are near 95 %, this leaves a margin.
    equal: f64,
    /// Minimum share of 5 % slowdowns that must be called worse.
    found: f64,
}

/// Simulates one run through the whole monitor and returns what it reports.
fn run(pair: &Pair, level: f64, seed: u64, interval: &mut Interval) -> Estimate {
    let mut monitor = match pair.fixed_s {
        Some(seconds) => {
            Monitor::new(&SteadyRule::None, Floors { seconds, bytes: 0, limit_seconds: seconds })
        }
        None => Monitor::new(&default_rule(), Floors { seconds: 60.0, bytes: 0, limit_seconds: 600.0 }),
    };
    let mut noise = Noise::new(seed, pair.rho);
    let mut other = Noise::new(seed ^ 0xabcd_ef00, 0.3);
    let level = level * (1.0 + pair.between * crate::series::normal(&mut noise.rng));
    let mut index = 0;
    loop {
        let value = (level * (1.0 + pair.deviation * noise.next())).max(1e-6);
        if pair.latency {
            fill(interval, index, 1.0 + 0.02 * other.next());
            fill_latency(interval, value);
        } else {
            fill(interval, index, value);
        }
        if monitor.push(interval) != Decision::GoOn {
            break;
        }
        index += 1;
    }
    let measure = if pair.latency { Measure::P99Ns } else { Measure::OpsPerS };
    let outcome = monitor.outcome();
    outcome.series.iter().find(|s| s.measure == measure).unwrap().estimate
}

/// The share of pairs whose second run is called worse, and the share called different at all.
fn share_called(pair: &Pair, factor: f64, pairs: u64) -> (f64, f64) {
    let (mut worse, mut called) = (0, 0);
    let mut interval = Interval::default();
    for seed in 0..pairs {
        let mut side = |level: f64, side: u64| -> Vec<Estimate> {
            (0..pair.repetitions)
                .map(|r| run(pair, level, (seed * 2 + side) * 64 + r as u64 + 1_000_000, &mut interval))
                .collect()
        };
        let (a, b) = (side(1.0, 0), side(factor, 1));
        let better = if pair.latency { Better::Lower } else { Better::Higher };
        let difference = compare(
            &ComparedSide { repetitions: &a, level: LevelHeld::Horizon },
            &ComparedSide { repetitions: &b, level: LevelHeld::Horizon },
            better,
            0.05,
        );
        worse += u32::from(difference.call == Call::Worse);
        called += u32::from(difference.call != Call::NoDifference);
    }
    (f64::from(worse) / pairs as f64, f64::from(called) / pairs as f64)
}

fn pairs() -> Vec<Pair> {
    let pair = |name, deviation, rho, between, repetitions, latency, equal, found| Pair {
        name,
        deviation,
        rho,
        between,
        repetitions,
        fixed_s: None,
        latency,
        equal,
        found,
    };
    vec![
        pair("throughput, cv 5 %, rho 0.5", 0.05, 0.5, 0.0, 1, false, 0.95, 0.80),
        Pair {
            fixed_s: Some(60.0),
            ..pair("the same, 60 s without a rule", 0.05, 0.5, 0.0, 1, false, 0.95, 0.65)
        },
        pair("throughput, cv 2 %, rho 0", 0.02, 0.0, 0.0, 1, false, 0.95, 0.95),
        pair("throughput, cv 10 %, rho 0", 0.10, 0.0, 0.0, 1, false, 0.95, 0.65),
        pair("throughput, cv 10 %, rho 0.5", 0.10, 0.5, 0.0, 1, false, 0.92, 0.60),
        pair("throughput, cv 5 %, rho 0.9", 0.05, 0.9, 0.0, 1, false, 0.92, 0.45),
        pair("throughput, cv 5 %, rho 0.5, runs differ by 1 %", 0.05, 0.5, 0.01, 1, false, 0.78, 0.78),
        pair("the same, 3 repetitions", 0.05, 0.5, 0.01, 3, false, 0.95, 0.78),
        pair("the same, 5 repetitions", 0.05, 0.5, 0.01, 5, false, 0.94, 0.95),
        pair("p99, cv 5 %, rho 0.5", 0.05, 0.5, 0.0, 1, true, 0.95, 0.80),
        pair("p99, cv 10 %, rho 0.3", 0.10, 0.3, 0.0, 1, true, 0.92, 0.45),
    ]
}

#[test]
fn equal_runs_are_called_equal_and_slower_ones_slower() {
    let runs: u64 = std::env::var("PAIRS").ok().and_then(|r| r.parse().ok()).unwrap_or(100);
    println!("| case | repetitions | equal: no difference | 5 % worse: found |\n|---|---|---|---|");
    for pair in pairs() {
        let (_, called) = share_called(&pair, 1.0, runs);
        let (worse, _) = share_called(&pair, if pair.latency { 1.05 } else { 0.95 }, runs);
        println!(
            "| {} | {} | {:.1} % | {:.1} % |",
            pair.name,
            pair.repetitions,
            100.0 * (1.0 - called),
            100.0 * worse
        );
        assert!(1.0 - called >= pair.equal, "{}: {called} of equal pairs were called different", pair.name);
        assert!(worse >= pair.found, "{}: only {worse} of the slowdowns were found", pair.name);
    }
}
