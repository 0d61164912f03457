//! Estimators of the autocorrelation time, compared by what matters in the end: how often the 95 % interval covers the
//! truth.

use statrs::distribution::{ContinuousCDF, StudentsT};
use stats::estimate;

use crate::series::Noise;

/// An estimator of a series' autocorrelation time.
type Way = fn(&[f64]) -> f64;

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let m = mean(values);
    values.iter().map(|v| (v - m) * (v - m)).sum::<f64>() / (values.len() - 1) as f64
}

/// Assumes independent values.
fn independent(_: &[f64]) -> f64 {
    1.0
}

/// Batch means of doubling size, until the time is below a fifth of the batch.
fn doubling(values: &[f64]) -> f64 {
    let whole = variance(values);
    let (mut time, mut batch) = (1.0f64, 1.0);
    let mut means = values.to_vec();
    while means.len() >= 8 {
        let found = batch * variance(&means) / whole;
        if found <= 0.2 * batch && batch > 1.0 {
            break;
        }
        time = time.max(found);
        means = means.chunks_exact(2).map(mean).collect();
        batch *= 2.0;
    }
    time
}

/// Overlapping batch means, batches of √n.
fn overlapping(values: &[f64]) -> f64 {
    let (n, batch) = (values.len(), (values.len() as f64).sqrt() as usize);
    let m = mean(values);
    let squares: f64 = values.windows(batch).map(|w| (mean(w) - m).powi(2)).sum();
    let (n, b) = (n as f64, batch as f64);
    n * b / ((n - b) * (n - b + 1.0)) * squares / variance(values)
}

/// Geyer's initial monotone sequence on plain sample autocovariances.
fn geyer(values: &[f64]) -> f64 {
    let (n, m) = (values.len(), mean(values));
    let lag = |k: usize| (0..n - k).map(|i| (values[i] - m) * (values[i + k] - m)).sum::<f64>() / n as f64;
    let (whole, mut sum, mut last, mut k) = (lag(0), -1.0, f64::INFINITY, 0);
    while k + 1 < n / 2 {
        let pair = (lag(k) + lag(k + 1)) / whole;
        if pair <= 0.0 {
            break;
        }
        last = last.min(pair);
        sum += 2.0 * last;
        k += 2;
    }
    sum
}

/// The one in use.
fn ours(values: &[f64]) -> f64 {
    estimate(values).autocorrelation
}

/// The share of runs whose interval covers the true mean, 0.
fn coverage(way: Way, rho: f64, mixed: bool, n: usize, runs: u64) -> f64 {
    let covered = (0..runs)
        .filter(|&run| {
            let mut noise = Noise::new(run, rho);
            let mut white = Noise::new(run + 1_000_000, 0.0);
            let values: Vec<f64> =
                (0..n).map(|_| noise.next() + if mixed { white.next() } else { 0.0 }).collect();
            let effective = n as f64 / way(&values).clamp(1.0, n as f64 / 2.0);
            let t = StudentsT::new(0.0, 1.0, (effective - 1.0).max(1.0)).unwrap().inverse_cdf(0.975);
            mean(&values).abs() <= t * (variance(&values) / effective).sqrt()
        })
        .count();
    covered as f64 / runs as f64
}

#[test]
fn the_estimator_of_autocorrelation_against_others() {
    let runs = std::env::var("RUNS").ok().and_then(|r| r.parse().ok()).unwrap_or(300);
    let ways: [(&str, Way); 5] = [
        ("independent", independent),
        ("batch doubling", doubling),
        ("overlapping batches", overlapping),
        ("Geyer, plain", geyer),
        ("used here", ours),
    ];
    println!("| series | n | true n_eff | {} |", ways.map(|w| w.0).join(" | "));
    println!("|---|---|---|---|---|---|---|---|");
    for (name, rho, mixed, tau) in [
        ("rho 0", 0.0, false, 1.0),
        ("rho 0.5", 0.5, false, 3.0),
        ("rho 0.7", 0.7, false, 5.67),
        ("rho 0.9", 0.9, false, 19.0),
        ("rho 0.9 and as much white noise", 0.9, true, 10.0),
    ] {
        for n in [60, 120, 300, 600] {
            let found = ways.map(|(_, way)| coverage(way, rho, mixed, n, runs));
            let worth = n as f64 / tau;
            let cells = found.map(|c| format!("{:.0} %", 100.0 * c)).join(" | ");
            println!("| {name} | {n} | {worth:.0} | {cells} |");
            let [.., used] = found;
            assert!(worth < 30.0 || (0.89..=0.985).contains(&used), "{name}, {n}: {used}");
            // Never worse than the others, where those are not wide at random.
            assert!(found[..4].iter().all(|other| used >= other - 0.03), "{name}, {n}: {found:?}");
        }
    }
}
