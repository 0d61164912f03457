//! More than two runs: what is compared with what, the trend, and that noise is no trend.
#![allow(clippy::unwrap_used)] // a test may fail loudly

mod fixture;

use report::{CompareOptions, Document, RunComparison, RunSeries};
use stats::Call;

/// A run of one cell whose level is known to last.
fn run(n: usize, bytes_per_s: f64) -> Document {
    let mut document = fixture::simple(&format!("aaaaaaa{n}"), 1.0, 1);
    document.cells.truncate(1);
    document.run.started = format!("2026-11-{:02}T03:00:00Z", n + 1).parse().unwrap();
    document.cells[0].record.result.as_mut().unwrap().total.bytes_per_s = fixture::sure(bytes_per_s);
    fixture::by_rule(document, "sustained")
}

fn series(figures: &[f64]) -> RunSeries {
    let runs: Vec<Document> = figures.iter().enumerate().map(|(n, figure)| run(n, *figure)).collect();
    RunSeries::of(&runs.iter().collect::<Vec<_>>(), &CompareOptions { threshold: 0.05, ..Default::default() })
}

#[test]
fn nightly_runs_read_well() {
    let found = series(&[1.0e9, 1.003e9, 0.998e9, 0.93e9, 0.931e9]);
    insta::assert_snapshot!("series", found.text(Some(100)));
    insta::assert_snapshot!("series_narrow", found.text(Some(80)));
    assert_eq!(found.regressions, 1);
    let calls: Vec<_> = found.cells[0]
        .figures
        .iter()
        .flatten()
        .map(|figure| figure.against_previous.as_ref().map(|difference| difference.call))
        .collect();
    let same = Some(Call::NoDifference);
    assert_eq!(calls, [None, same, same, Some(Call::Worse), same], "the night it happened is named");
    assert!(found.markdown().contains("| D | 2026-11-04 03:00"), "{}", found.markdown());
    assert!(found.markdown().contains("- D: aaaaaaa3"), "{}", found.markdown());
    assert!(found.html().contains("5 runs of"));
}

#[test]
fn a_slow_decline_is_a_trend_though_no_night_is_worse_than_the_one_before() {
    let found = series(&[1.0e9, 0.994e9, 0.99e9, 0.983e9, 0.98e9, 0.974e9, 0.969e9, 0.965e9]);
    let trend = found.cells[0].trend.unwrap();
    assert!((-0.006..=-0.004).contains(&trend.per_run), "{trend:?}");
    assert!(found.text(None).contains("it falls"), "{}", found.text(None));
    assert!(found.summary.contains("a figure falls from run to run"), "{}", found.summary);
    let same = series(&[1.0e9, 1.003e9, 0.998e9, 1.001e9, 0.999e9]);
    assert_eq!((same.summary.as_str(), same.regressions), ("E does not differ from A", 0));
    assert!(same.text(None).contains("none is shown"), "{}", same.text(None));
}

#[test]
fn single_runs_that_differ_are_unconfirmed() {
    let figures = [1.0e9, 1.001e9, 0.9e9];
    let runs = figures.iter().zip(0..).map(|(figure, n)| fixture::by_rule(run(n, *figure), "default"));
    let runs: Vec<Document> = runs.collect();
    let options = CompareOptions { threshold: 0.05, ..Default::default() };
    let found = RunSeries::of(&runs.iter().collect::<Vec<_>>(), &options);
    assert_eq!((found.regressions, found.unconfirmed_regressions), (0, 1));
    assert_eq!(
        found.summary,
        "C was worse than A, unconfirmed: confirm with repetitions: 3 or steady: sustained"
    );
    assert!(found.text(Some(100)).contains("worse, unconfirmed"), "{}", found.text(None));
}

/// Each single night is within what runs differ by; together they are not.
#[test]
fn a_level_changes_though_no_pair_of_runs_shows_it() {
    let figures = [1.0e9, 1.006e9, 0.996e9, 1.003e9, 0.994e9, 0.975e9, 0.981e9, 0.972e9, 0.979e9];
    let runs = figures.iter().zip(0..).map(|(figure, n)| fixture::by_rule(run(n, *figure), "default"));
    let runs: Vec<Document> = runs.collect();
    let found = RunSeries::of(&runs.iter().collect::<Vec<_>>(), &CompareOptions::default());
    let cell = &found.cells[0];
    let calls =
        cell.figures.iter().flatten().filter_map(|figure| Some(figure.against_previous.as_ref()?.call));
    assert!(calls.clone().all(|call| call != Call::Worse), "{:?}", calls.collect::<Vec<_>>());
    let [change] = cell.changes[..] else { panic!("{:?}", cell.changes) };
    assert_eq!((change.change.run, change.call), (5, Call::Worse));
    assert!((-0.03..-0.015).contains(&change.change.relative), "{change:?}");
    assert!(found.summary.contains("a level got worse"), "{}", found.summary);
    let text = found.text(Some(100));
    assert!(text.contains("level since F: −2.31 % ["), "{text}");
    assert!(found.html().contains("level since F: "), "the chart names it");
    assert!(found.markdown().contains("level since F: "));
}

/// Two filers, and NFS and S3: the same workload on targets with other names.
#[test]
fn other_targets_of_the_same_workload_belong_together() {
    let (a, mut b) = (run(0, 1e9), run(1, 2e9));
    b.run.plan.cells[0].target.name = "other".into();
    let target = a.run.plan.cells[0].target.name.clone();
    let found = RunComparison::of(&a, &b, &CompareOptions::default());
    assert_eq!(found.cells[0].target, format!("{target} → other"));
    assert_eq!(found.cells[0].difference.call, Call::Better);
    assert!(found.only_a.is_empty() && found.only_b.is_empty());
}

/// One cell of each: queue depth 1 and 16.
#[test]
fn single_cells_are_compared_whatever_they_are() {
    let (a, mut b) = (run(0, 1e9), run(1, 2e9));
    b.run.plan.cells[0].point = [("queue_depth".to_owned(), "16".to_owned())].into();
    let found = RunComparison::of(&a, &b, &CompareOptions::default());
    assert_eq!(found.cells.len(), 1);
    assert!(
        found.cells[0].cell.contains(" → ") && found.cells[0].cell.ends_with("queue_depth=16"),
        "{found:?}"
    );
}

#[test]
fn a_series_follows_its_schema() {
    let schema = include_str!("../../../schemas/run-series.schema.json");
    let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut json = series(&[1.0e9, 0.994e9, 0.99e9, 0.9e9]).json();
    let errors: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let stepped = series(&[1.0e9, 1.001e9, 0.999e9, 0.9e9, 0.901e9]).json();
    assert!(stepped["cells"][0]["changes"][0]["run"] == 3 && validator.is_valid(&stepped), "{stepped:#}");
    json["cells"][0]["figures"][1]["against_first"]["call"] = "great".into();
    assert!(!validator.is_valid(&json));
}
