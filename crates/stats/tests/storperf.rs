//! `StorPerf`'s formulas against its own tests and sample reports.

#![allow(clippy::unwrap_used)] // a test may fail loudly

use serde_json::Value;
use stats::storperf::{
    average, fit_excursion, is_steady, range, sample_number, series_max, series_min, series_slope, slope,
};

fn vectors() -> Vec<Value> {
    let text = include_str!("data/storperf-vectors.json");
    let file: Value = serde_json::from_str(text).unwrap();
    file["vectors"].as_array().unwrap().clone()
}

fn points(series: &Value) -> Vec<(f64, f64)> {
    series.as_array().unwrap().iter().map(|p| (p[0].as_f64().unwrap(), p[1].as_f64().unwrap())).collect()
}

/// Values as points at a distance of one.
fn numbered(values: impl Iterator<Item = f64>) -> Vec<(f64, f64)> {
    values.enumerate().map(|(i, v)| (i as f64, v)).collect()
}

fn close(found: Option<f64>, expected: &Value, what: &str) {
    match (found, expected.as_f64()) {
        (None, None) => {}
        (Some(found), Some(expected)) => {
            let tolerance = 1e-9 * expected.abs().max(1e-3);
            assert!((found - expected).abs() <= tolerance, "{what}: {found} instead of {expected}");
        }
        (found, _) => panic!("{what}: {found:?} instead of {expected}"),
    }
}

/// Whether two lists of points are equal except for the last digits.
fn same(found: &[(f64, f64)], expected: &Value, what: &str) {
    let expected = points(expected);
    assert_eq!(found.len(), expected.len(), "{what}");
    for (a, b) in found.iter().zip(expected) {
        assert!(
            a.0 == b.0 && (a.1 - b.1).abs() <= 1e-9 * b.1.abs().max(1.0),
            "{what}: {a:?} instead of {b:?}"
        );
    }
}

/// Every vector whose result this crate computes; the exact result where the original lost digits.
#[test]
fn every_vector() {
    let mut checked = 0;
    for vector in vectors() {
        let what = format!("{} {}", vector["kind"], vector["name"]);
        let input = &vector["input"];
        let mut series = match (&input["series"], &input["values"], &input["graphite_points"]) {
            (Value::Array(_), _, _) => points(&input["series"]),
            (_, Value::Array(values), _) => numbered(values.iter().map(|v| v.as_f64().unwrap())),
            (_, _, Value::Array(_)) => points(&input["graphite_points"]),
            _ => generated(input["generator"].as_str().unwrap_or_else(|| panic!("{what}: no input"))),
        };
        if let Some(start) = input["workload_start"].as_f64() {
            for point in &mut series {
                point.0 = sample_number(point.0, start) as f64;
            }
        }
        let samples = input["steady_state_samples"].as_u64().unwrap_or(0) as usize;
        let mut expected = vector["expected"].clone();
        if vector["numerical_artifact"] == true {
            for (key, exact) in vector["expected_exact"].as_object().unwrap() {
                expected[key] = exact.clone();
            }
        }
        for (key, wanted) in expected.as_object().unwrap() {
            let what = format!("{what}: {key}");
            checked += 1;
            match key.as_str() {
                "slope" => close(slope(&series), wanted, &what),
                "range" => close(range(&series), wanted, &what),
                "average" => close(average(&series), wanted, &what),
                "fit_excursion" => close(fit_excursion(&series), wanted, &what),
                "steady_state" | "terminate_current_run" => {
                    assert_eq!(is_steady(&series, samples), wanted.as_bool().unwrap(), "{what}");
                }
                "series_slope" => same(&series_slope(&series), wanted, &what),
                "series_min" | "wanted" => same(&series_min(&series), wanted, &what),
                "series_max" => same(&series_max(&series), wanted, &what),
                "series" | "slope_data" => same(&series, wanted, &what),
                "snia_pts_steady" => {
                    let pts = fit_excursion(&series).zip(range(&series)).zip(average(&series));
                    let found = pts.map(|((line, range), mean)| range <= 0.2 * mean && line <= 0.1 * mean);
                    assert_eq!(found, wanted.as_bool(), "{what}");
                }
                // Which column goes where, and what was sent to a results database: no formulas.
                "range_data" | "average_data" | "pushed_to_results_db" | "original" => checked -= 1,
                other => panic!("{what}: what is {other}?"),
            }
        }
    }
    assert!(checked >= 100, "{checked} expectations were checked");
}

/// `uniform(-10000,10000) x 100 + [16956.3334,-18954.98]`: the extremes decide, whatever lies between.
fn generated(text: &str) -> Vec<(f64, f64)> {
    let (count, extremes) = text.split_once(" x ").and_then(|(_, rest)| rest.split_once(" + ")).unwrap();
    let mut rng = fastrand::Rng::with_seed(4);
    let uniform = (0..count.parse::<usize>().unwrap()).map(|_| rng.f64() * 20_000.0 - 10_000.0);
    let extremes: Vec<f64> = serde_json::from_str(extremes).unwrap();
    numbered(uniform.collect::<Vec<_>>().into_iter().chain(extremes))
}

/// Four or more evenly spaced samples within the range cannot fail the slope test: the rule's weakness, demonstrated.
#[test]
fn the_slope_test_never_binds() {
    let mut rng = fastrand::Rng::with_seed(8);
    for _ in 0..20_000 {
        let n = rng.usize(4..12);
        let series = numbered((0..n).map(|_| 100.0 + 20.0 * rng.f64()));
        let mean = average(&series).unwrap();
        if range(&series).unwrap() <= 0.2 * mean {
            assert!(slope(&series).unwrap().abs() <= 0.1 * mean);
        }
    }
}

#[test]
fn sample_numbers_round_halves_to_even() {
    for (seconds, number) in [(0.0, 0), (29.0, 0), (31.0, 1), (90.0, 2), (150.0, 2), (210.0, 4), (-90.0, -2)]
    {
        assert_eq!(sample_number(1000.0 + seconds, 1000.0), number, "{seconds}");
    }
}
