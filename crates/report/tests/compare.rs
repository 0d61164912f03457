//! Comparisons: their texts, what is matched, the warnings, and that chance alone is not called a difference.
#![allow(clippy::unwrap_used)] // a test may fail loudly

mod fixture;

use report::{CompareOptions, Document, Metric, RunComparison};
use stats::Call;

fn choice(threshold: f64, metrics: &[&str]) -> CompareOptions {
    let metrics: Vec<Metric> = metrics.iter().map(|text| text.parse().unwrap()).collect();
    CompareOptions { metrics, threshold }
}

/// A run with one measurement per cell whose level is known to last, with figures given by hand.
fn run(id: &str, figures: &[f64]) -> Document {
    let mut document = fixture::simple(id, 1.0, 1);
    let (planned, view) = (document.run.plan.cells[0].clone(), document.cells[0].clone());
    document.run.plan.cells.clear();
    document.cells.clear();
    for (index, figure) in figures.iter().enumerate() {
        let (mut planned, mut view) = (planned.clone(), view.clone());
        planned.index = index as u32;
        planned.point = [("queue_depth".to_owned(), (index + 1).to_string())].into();
        planned.name = format!("randread queue_depth={}", index + 1);
        view.record.index = index as u32;
        let total = &mut view.record.result.as_mut().unwrap().total;
        total.bytes_per_s = fixture::sure(*figure);
        document.run.plan.cells.push(planned);
        document.cells.push(view);
    }
    fixture::by_rule(document, "sustained")
}

#[test]
fn a_comparison_reads_well() {
    let a = run("aaaaaaaa", &[1e9, 2e9, 3e9]);
    let mut b = run("bbbbbbbb", &[0.9e9, 2.001e9, 3.3e9]);
    b.run.environment.facts.insert("kernel".into(), "6.18.1".into());
    b.run.plan.cells.iter_mut().for_each(|cell| cell.workload.mix_mut().unwrap().file_bytes = 1 << 30);
    b.cells[1].record.result.as_mut().unwrap().steady.reached = false;
    let comparison = RunComparison::of(&a, &b, &choice(0.05, &[]));
    insta::assert_snapshot!("text", comparison.text(None));
    insta::assert_snapshot!("narrow", comparison.text(Some(80)));
    insta::assert_snapshot!("markdown", comparison.markdown());
    assert_eq!(comparison.regressions, 1);
}

#[test]
fn the_same_is_no_difference() {
    let a = run("aaaaaaaa", &[1e9, 2e9]);
    let b = run("bbbbbbbb", &[1.001e9, 1.998e9]);
    let comparison = RunComparison::of(&a, &b, &choice(0.05, &[]));
    assert!(comparison.cells.iter().all(|cell| cell.difference.call == Call::NoDifference));
    assert_eq!(comparison.summary, "no difference between A and B in 2 comparisons");
    assert_eq!(comparison.warnings, Vec::<String>::new());
}

/// One of many comparisons that looks different by chance is not called; a large difference is.
#[test]
fn many_comparisons_are_allowed_for() {
    let same: Vec<f64> = vec![1e9; 40];
    let mut other = same.clone();
    other[7] = 0.974e9;
    let alone =
        RunComparison::of(&run("aaaaaaaa", &same[7..8]), &run("bbbbbbbb", &other[7..8]), &choice(0.0, &[]));
    assert_eq!(alone.cells[0].difference.call, Call::Worse, "p = {}", alone.cells[0].difference.p_value);
    let many = RunComparison::of(&run("aaaaaaaa", &same), &run("bbbbbbbb", &other), &choice(0.0, &[]));
    assert_eq!(many.cells[7].difference.call, Call::NoDifference, "p = {}", many.cells[7].adjusted_p_value);
    assert!(many.cells[7].adjusted_p_value > many.cells[7].difference.p_value);
    other[7] = 0.9e9;
    let many = RunComparison::of(&run("aaaaaaaa", &same), &run("bbbbbbbb", &other), &choice(0.05, &[]));
    assert_eq!(many.cells[7].difference.call, Call::Worse);
    assert_eq!(many.regressions, 1);
}

/// Single runs under the default rule describe the minutes in which they were measured.
#[test]
fn a_difference_between_single_runs_is_unconfirmed() {
    let single = |id, figures: &[f64]| fixture::by_rule(run(id, figures), "default");
    let a = single("aaaaaaaa", &[1e9, 2e9, 3e9]);
    let found = RunComparison::of(&a, &single("bbbbbbbb", &[0.9e9, 2.001e9, 3.3e9]), &choice(0.05, &[]));
    insta::assert_snapshot!("unconfirmed", found.text(Some(80)));
    assert_eq!((found.regressions, found.unconfirmed_regressions), (0, 1));
    let alone =
        RunComparison::of(&single("aaaaaaaa", &[1e9]), &single("bbbbbbbb", &[0.9e9]), &choice(0.0, &[]));
    assert_eq!(
        alone.summary,
        "B was worse than A: −10.0 %; unconfirmed, because single runs do not show that it lasts: confirm with \
         repetitions: 3 or steady: sustained"
    );
    let page = alone.html(&a, &a);
    assert!(page.contains("! UNCONFIRMED") && !page.contains("NOT WORSE"), "{page}");
}

#[test]
fn from_three_times_as_much_on_a_difference_is_a_factor() {
    let of = |factor: f64| {
        let found =
            RunComparison::of(&run("aaaaaaaa", &[1e9]), &run("bbbbbbbb", &[factor * 1e9]), &choice(0.0, &[]));
        (found.summary.clone(), found.text(None))
    };
    let (summary, text) = of(2.9);
    assert_eq!(summary, "B is better than A: +190 %");
    assert!(text.contains("+190 % [+") && !text.contains("× "), "{text}");
    let (summary, text) = of(41.7);
    assert_eq!(summary, "B is better than A: × 41.7");
    assert!(text.contains("× 41.7 [× 4") && text.contains(" to × 4"), "{text}");
    let (summary, _) = of(1.0 / 41.7);
    assert_eq!(summary, "B is worse than A: −97.6 %");
}

#[test]
fn repetitions_of_a_point_are_one_sample() {
    let repeated = |id: &str, figures: &[f64]| {
        let mut document = run(id, figures);
        for (n, cell) in document.run.plan.cells.iter_mut().enumerate() {
            cell.point = [("queue_depth".to_owned(), "1".to_owned())].into();
            cell.repetition = n as u32 + 1;
        }
        document
    };
    let a = repeated("aaaaaaaa", &[1.00e9, 1.01e9, 0.99e9]);
    let b = repeated("bbbbbbbb", &[0.90e9, 0.91e9, 0.89e9]);
    let comparison = RunComparison::of(&a, &b, &choice(0.05, &[]));
    assert_eq!(comparison.cells.len(), 1);
    assert_eq!(comparison.cells[0].a.len(), 3);
    assert!(
        comparison.cells[0].difference.test.contains("3 and 3 repetitions"),
        "{}",
        comparison.cells[0].difference.test
    );
    assert_eq!(comparison.cells[0].difference.call, Call::Worse);
}

#[test]
fn what_only_one_has_is_listed() {
    let a = run("aaaaaaaa", &[1e9, 2e9]);
    let mut b = run("bbbbbbbb", &[1e9, 2e9]);
    b.run.plan.cells[1].workload_name = "other".into();
    let comparison = RunComparison::of(&a, &b, &choice(0.0, &["bandwidth", "p99"]));
    assert_eq!(comparison.cells.len(), 2);
    assert_eq!(comparison.only_a, ["randread queue_depth=2 on shelf"]);
    assert_eq!(comparison.only_b, ["other queue_depth=2 on shelf"]);
    let nothing =
        RunComparison::of(&a, &fixture::document("cccccccc", "none", Vec::new()), &choice(0.0, &[]));
    assert!(nothing.summary.starts_with("nothing to compare"));
}

#[test]
fn names_do_not_steer_the_terminal() {
    let mut a = run("aaaaaaaa", &[1e9, 2e9]);
    a.run.name = "a\u{1b}[2Jb\nc".into();
    a.run.plan.cells[0].workload_name = "x\u{1b}]0;y\u{7}\nz".into();
    let text = RunComparison::of(&a, &a, &choice(0.0, &[])).text(None);
    assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    assert_eq!(
        text.lines().filter(|line| line.starts_with('z') || line.starts_with('c')).count(),
        1,
        "{text}"
    );
}

#[test]
fn where_a_rate_was_given_the_latency_is_compared() {
    let everything = fixture::everything();
    let comparison = RunComparison::of(&everything, &everything, &choice(0.0, &[]));
    let metric =
        |cell: &str| comparison.cells.iter().find(|other| other.cell == cell).unwrap().metric.clone();
    assert_eq!(metric("oltp"), "p99");
    assert_eq!(metric("load-curve"), "rate");
    assert_eq!(metric("randread block_size=4KiB queue_depth=1"), "bandwidth");
    // A metric that an operation lacks is reported as missing.
    let writes = RunComparison::of(&everything, &everything, &choice(0.0, &["write.p99"]));
    assert_eq!(writes.cells.len(), 1);
    assert!(writes.warnings.iter().any(|text| text.contains("write.p99 was not measured in both runs")));
}

#[test]
fn operations_that_list_are_compared_by_their_entries() {
    use metrics::{CallKind, OpKind};
    let listing = |id: &str, ops_per_s: f64, entries_per_op: f64| {
        let mut document = run(id, &[0.0]);
        let result = document.cells[0].record.result.as_mut().unwrap();
        result.total.bytes = 0;
        let mut summary = stats::OpSummary { op: Some(OpKind::Readdir), ..result.total.clone() };
        summary.ops_per_s = fixture::sure(ops_per_s);
        summary.procedures = vec![stats::ProcedureSummary {
            procedure: CallKind::Readdir,
            calls: 100,
            calls_per_op: 10.0,
            errors: 0,
            mean_ns: 1e6,
            max_ns: 2_000_000,
            listing: Some(stats::ListingSummary {
                entries: 1000,
                entries_per_op,
                entries_per_s: ops_per_s * entries_per_op,
                first_mean_ns: 1e6,
                first_max_ns: 2_000_000,
            }),
        }];
        result.ops = vec![summary];
        document
    };
    // Fewer listings of larger directories: more entries.
    let (a, b) = (listing("aaaaaaaa", 100.0, 1000.0), listing("bbbbbbbb", 80.0, 2000.0));
    let comparison = RunComparison::of(&a, &b, &choice(0.0, &[]));
    let entries = &comparison.cells[1];
    assert_eq!((comparison.cells[0].metric.as_str(), entries.metric.as_str()), ("rate", "readdir.entries"));
    assert!((entries.a_mean() - 1e5).abs() < 1e-6 && (entries.b_mean() - 1.6e5).abs() < 1e-6);
    assert_eq!(entries.difference.call, Call::Better);
    assert!((entries.difference.relative - 0.6).abs() < 1e-3, "{:?}", entries.difference);
    // The only operation that lists need not be named; one that lists nothing has no entries.
    let named = RunComparison::of(&a, &b, &choice(0.0, &["entries", "read.entries"]));
    assert_eq!(named.cells.iter().map(|cell| &*cell.metric).collect::<Vec<_>>(), ["entries"]);
    assert!(named.warnings.iter().any(|text| text.contains("read.entries was not measured in both runs")));
}

#[test]
fn a_comparison_follows_its_schema() {
    let schema = include_str!("../../../schemas/comparison.schema.json");
    let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let a = run("aaaaaaaa", &[1e9, 2e9]);
    let json =
        RunComparison::of(&a, &run("bbbbbbbb", &[1e9, 1e9]), &choice(0.05, &["bandwidth", "rate"])).json();
    let errors: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let mut broken = json.clone();
    broken["cells"][0]["difference"]["call"] = "great".into();
    assert!(!validator.is_valid(&broken));
}

#[test]
fn a_page_shows_the_figures_and_both_curves() {
    let a = fixture::simple("aaaaaaaa", 1.0, 1);
    let mut b = fixture::simple("bbbbbbbb", 0.9, 2);
    b.run.name = "<script>alert(1)</script>".into();
    let comparison = RunComparison::of(&a, &b, &choice(0.05, &[]));
    let page = comparison.html(&a, &b);
    assert_eq!(page.matches("<script").count(), 2, "the data and the page's own, and none of a name");
    assert_eq!(page.matches("class=\"line side-a\"").count(), 6);
    assert_eq!(page.matches("class=\"line side-b\"").count(), 6);
    for cell in &comparison.cells {
        assert!(page.contains(&format!("<data value=\"{}\"", cell.difference.relative)));
    }
}
