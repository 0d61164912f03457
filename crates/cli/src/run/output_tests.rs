//! Tests of the output at the end of a run.

use experiment::{Plan, Settings, SourceText};
use jiff::Timestamp;
use stats::{Estimate, RunShape, SteadyOutcome, Window};
use store::{
    CellRecord, CellResult, Environment, GateResult, LatencySummary, OpSummary, RunRecord, State, StudyPoint,
    Validity, Verdict,
};

use runner::{in_a_line, success};

use super::output::{Flags, text};

fn plan() -> Plan {
    let text = "name: night\ntargets: {t: 'null:'}\nworkloads: {w: {ops: read}}\n\
        matrix: {queue_depth: [1, 2, 4, 8]}\ngates: [read.p99 <= 5 ms, read.rate >= 1k/s]\n";
    experiment::parse(&SourceText { file: "night.yaml", text }, &Settings::of(targets::kinds()))
        .unwrap_or_else(|faults| panic!("{faults}"))
}

fn estimate(mean: f64, half: f64) -> Estimate {
    Estimate {
        mean,
        low: mean - half,
        high: mean + half,
        deviation: half,
        samples: 100,
        effective_samples: 50.0,
        autocorrelation: 2.0,
    }
}

fn result(validity: Validity, passed: bool) -> CellResult {
    let response = LatencySummary {
        count: 100_000,
        min_ns: 100_000,
        mean_ns: 1.1e6,
        p50_ns: 1_000_000,
        p90_ns: 2_000_000,
        p95_ns: 3_000_000,
        p99_ns: 7_200_000,
        p999_ns: 9_000_000,
        p9999_ns: 10_000_000,
        max_ns: 11_000_000,
    };
    let total = OpSummary {
        op: None,
        ok: 100_000,
        failed: 0,
        errors: Default::default(),
        bytes: 409_600_000,
        rpcs: 100_000,
        retries: 0,
        procedures: Vec::new(),
        bytes_per_s: estimate(4.096e6, 8.2e4),
        ops_per_s: estimate(1000.0, 20.0),
        service: response,
        response,
        p99_ns: estimate(7.2e6, 1e5),
    };
    let gate =
        |text: &str, measured, limit, passed| GateResult { text: text.into(), measured, limit, passed };
    CellResult {
        measured_s: 100.0,
        window_start_s: 0.0,
        window_end_s: 100.0,
        steady: SteadyOutcome {
            rule: "default".into(),
            reached: validity != Validity::Invalid,
            reason: String::new(),
            window: Window { first: 0, end: 100 },
            criteria: Vec::new(),
            series: Vec::new(),
            shape: RunShape::Flat,
            regimes: Vec::new(),
            pts: Vec::new(),
            lost: None,
        stalls: None,
        trend: None,
            notes: Vec::new(),
        },
        ops: Vec::new(),
        open_loop: None,
        stages: Vec::new(),
        gates: vec![
            gate("read.p99 <= 5 ms", 7.2e6, 5e6, passed),
            gate("read.rate >= 1k/s", 1000.0, 1000.0, true),
        ],
        verdict: Verdict {
            validity,
            reasons: match validity {
                Validity::Valid => Vec::new(),
                _ => vec!["something that takes more than one line to be said because it goes into every detail of \
                           what was seen while the cell was measured"
                    .into()],
            },
        },
        error_samples: Vec::new(),
        cache: "kept".into(),
        client: Default::default(),
        target: Default::default(),
        points: Vec::new(),
        found_ops_per_s: None,
        hosts: Vec::new(),
        fleet: None,
        paths: Vec::new(),
        limit: None,
        server_calls: Vec::new(),
        total,
    }
}

fn record(index: u32, state: State, result: Option<CellResult>, failure: Option<&str>) -> CellRecord {
    CellRecord { index, state, started: None, finished: None, result, failure: failure.map(str::to_owned) }
}

fn run(state: State) -> RunRecord {
    RunRecord {
        id: "abcdefgh".into(),
        name: "night".into(),
        started: Timestamp::UNIX_EPOCH,
        finished: None,
        state,
        version: "0".into(),
        plan: plan(),
        environment: Environment::default(),
        hosts: Vec::new(),
    }
}

#[test]
fn people_see_a_line_a_cell_and_why_some_are_not_good() {
    let cells = [
        record(0, State::Finished, Some(result(Validity::Valid, true)), None),
        record(1, State::Finished, Some(result(Validity::Warn, false)), None),
        record(2, State::Failed, None, Some("the target is gone")),
        record(3, State::Pending, None, None),
    ];
    let flags = Flags { results: " --results r.sqlite".into(), journal: " --journal-dir j".into() };
    insta::assert_snapshot!(text(&run(State::Interrupted), &cells, None, &flags, ""));
}

#[test]
fn where_nothing_was_measured_there_is_no_table_and_no_report() {
    let cells =
        [record(0, State::Failed, None, Some("the target is gone")), record(1, State::Pending, None, None)];
    let shown = text(&run(State::Failed), &cells, None, &Flags::default(), "");
    assert!(shown.starts_with("\ncell 1 ("), "{shown}");
    assert_eq!(shown.matches("the target is gone").count(), 1, "{shown}");
    assert!(shown.ends_with("1 failed, 1 not run.\nNext: manometer run --resume abcdefgh\n"), "{shown}");
}

/// Two crossed parameters, two repetitions, one workload with a mix of operations and one without.
fn large() -> (RunRecord, Vec<CellRecord>) {
    let text = "name: nightly\ntargets: {t: 'null:'}\nworkloads:\n  randread: {ops: read}\n  oltp: {ops: {read: 70%, write: 30%}}\n\
        matrix: {block_size: [4KiB, 64KiB], queue_depth: [1, 32], repetitions: 2}\n";
    let plan = experiment::parse(&SourceText { file: "nightly.yaml", text }, &Settings::of(targets::kinds()))
        .unwrap_or_else(|faults| panic!("{faults}"));
    let cells = plan.cells.iter().map(|cell| {
        let mut result = result(Validity::Valid, true);
        let point = f64::from(cell.index % 8 + 1);
        let factor = point * (1.0 + 0.004 * f64::from(cell.repetition));
        result.total.bytes_per_s = estimate(1.234e8 * factor, 1.5e6 * factor);
        result.total.ops_per_s = estimate(30_123.0 * factor, 400.0 * factor);
        if cell.workload_name == "oltp" {
            let of = |op, share: f64| OpSummary {
                op: Some(op),
                bytes_per_s: estimate(1.234e8 * factor * share, 1.5e6),
                ops_per_s: estimate(30_123.0 * factor * share, 400.0),
                ..result.total.clone()
            };
            result.ops = vec![of(metrics::OpKind::Read, 0.7), of(metrics::OpKind::Write, 0.3)];
        }
        if cell.index == 3 {
            result.verdict =
                Verdict { validity: Validity::Warn, reasons: vec!["the client was the limit".into()] };
            result.steady.reached = false;
        }
        result.gates.clear();
        record(cell.index, State::Finished, Some(result), None)
    });
    let cells = cells.collect();
    (RunRecord { plan, name: "nightly".into(), ..run(State::Finished) }, cells)
}

#[test]
fn tables_fit_the_terminal() {
    let (run, cells) = large();
    for width in [80, 100, 120] {
        let table = super::cells::table(&run, &cells, width, false);
        let widest = table.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(width), "{width}:\n{table}");
        insta::assert_snapshot!(format!("cells_at_{width}"), table);
    }
}

/// Points come in the order of their rates; several trials at one rate are numbered in the order in which they ran.
#[test]
fn trials_at_one_rate_are_numbered() {
    let point = |offered_ops_per_s, ops_per_s, held| StudyPoint {
        offered_ops_per_s,
        ops_per_s,
        bytes_per_s: 0.0,
        response: LatencySummary::default(),
        deepest_backlog: 0,
        held,
    };
    let points = vec![
        point(0.0, 90.0, false),
        point(80.0, 79.0, false),
        point(40.0, 40.0, true),
        point(80.0, 78.0, true),
    ];
    let lines = super::output::points(&CellResult { points, ..result(Validity::Valid, true) });
    let ends = lines
        .iter()
        .map(|line| (line.split_once(" done").unwrap().0.trim(), line.rsplit("  ").next().unwrap()));
    let expected = [
        ("closed loop:         90/s", ""),
        ("40/s:         40/s", "held"),
        ("80/s:         79/s", "not held, trial 1 of 2"),
        ("80/s:         78/s", "held, trial 2 of 2"),
    ];
    assert_eq!(ends.collect::<Vec<_>>(), expected);
}

#[test]
fn success_needs_every_cell_and_every_gate() {
    let good = record(0, State::Finished, Some(result(Validity::Invalid, true)), None);
    assert!(success(std::slice::from_ref(&good)));
    assert!(!success(&[
        good.clone(),
        record(1, State::Finished, Some(result(Validity::Valid, false)), None)
    ]));
    for state in [State::Pending, State::Running, State::Interrupted, State::Failed] {
        assert!(!success(&[good.clone(), record(1, state, None, None)]), "{state:?}");
    }
    let mut corrupt = result(Validity::Invalid, true);
    let detail = "another place's block".to_owned();
    corrupt.error_samples.push(store::ErrorSample { kind: metrics::ErrorKind::Corrupt, detail });
    assert!(!success(&[record(0, State::Finished, Some(corrupt), None)]));
}

#[test]
fn a_cell_in_a_line() {
    let finished = record(0, State::Finished, Some(result(Validity::Valid, false)), None);
    assert_eq!(in_a_line(&finished), "4.1 MB/s ± 2.0 %, 1.0k/s ± 2.0 %, p99 7.20 ms · VALID · 1 gate failed");
    assert_eq!(in_a_line(&record(0, State::Failed, None, Some("gone"))), "failed: gone");
    assert!(in_a_line(&record(0, State::Interrupted, None, None)).starts_with("interrupted"));
}
