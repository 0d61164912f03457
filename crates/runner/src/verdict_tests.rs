//! Tests of the verdict.

use experiment::{CacheControl, Cell, ErrorPolicy, Plan, Settings, SourceText, SteadyRule};
use metrics::{Interval, OpKind, OpStats};
use stats::limit::{Bottleneck, Bound, Evidence as Limits, Host, ObservedLoad, judge as judge_limit};
use stats::{RunShape, SteadyOutcome, Window, WindowSums};
use store::{OpenLoop, Validity};

use super::verdict::{CellEvidence, judge, uncertain};

fn cell() -> Cell {
    let text = "targets: {t: 'file:///mnt/data'}\n\
        workloads: {w: {ops: read, files: 4, file_size: 1GiB, jobs: 1}}\n";
    let plan: Plan =
        experiment::parse(&SourceText { file: "test.yaml", text }, &Settings::of(targets::kinds()))
            .unwrap_or_else(|faults| panic!("{faults}"));
    Cell { cache: CacheControl::Keep, ..plan.cells[0].clone() }
}

fn steady(rule: &str, reached: bool) -> SteadyOutcome {
    SteadyOutcome {
        rule: rule.into(),
        reached,
        reason: "no steady state: the drift is too large".into(),
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
    }
}

/// A finding that a worker's core was full.
fn client_bound() -> Bottleneck {
    let host = Host { samples: 10, workers: 1, ran: 0.97, ..Host::default() };
    let load = ObservedLoad { ops_per_s: 1.0, ..ObservedLoad::default() };
    judge_limit(&Limits { load: load.clone(), hosts: vec![Host { load, ..host }], ..Limits::default() })
}

/// A flawless measurement.
fn flawless() -> CellEvidence {
    CellEvidence { ok: 100_000, bytes: 1 << 50, measured_s: 1e6, ..CellEvidence::default() }
}

/// The verdict of a cell with one flaw, and its only reason.
fn flawed(change: impl Fn(&mut CellEvidence)) -> (Validity, String) {
    let mut evidence = flawless();
    change(&mut evidence);
    let verdict = judge(&cell(), &steady("default", true), &evidence);
    assert_eq!(verdict.reasons.len(), 1, "{verdict:?}");
    (verdict.validity, verdict.reasons[0].clone())
}

#[test]
fn without_a_flaw_it_is_valid() {
    let verdict = judge(&cell(), &steady("default", true), &flawless());
    assert_eq!((verdict.validity, verdict.reasons.len()), (Validity::Valid, 0), "{verdict:?}");
}

#[test]
fn a_valid_figure_is_known_to_a_tenth() {
    let second = |ops: u64| Interval {
        length_ns: 1_000_000_000,
        ops: vec![(OpKind::Read, OpStats { ok: ops, bytes: ops * 4096, ..OpStats::default() })],
        ..Interval::default()
    };
    let of = |rates: &[u64]| {
        let mut sums = WindowSums::default();
        rates.iter().for_each(|ops| sums.add(&second(*ops)));
        uncertain(&sums.finish(None).total.summary)
    };
    assert_eq!(of(&[1000, 1001, 999, 1000, 1002, 998]), None);
    let said = of(&[1000, 100, 1900, 400]).unwrap_or_default();
    assert!(said.starts_with("throughput is only known to ± ") && said.ends_with("measure longer"), "{said}");
    assert!(of(&[1000]).is_some_and(|said| said.starts_with("measured for one interval")));
    assert_eq!(of(&[]), None, "what did nothing has another fault");
    let (validity, reason) = flawed(|evidence| evidence.uncertain = Some("± 53 %".into()));
    assert_eq!((validity, reason.as_str()), (Validity::Warn, "± 53 %"));
}

#[test]
fn no_steady_state_is_invalid_unless_no_rule_was_asked_for() {
    let verdict = judge(&cell(), &steady("default", false), &flawless());
    assert_eq!(verdict.validity, Validity::Invalid);
    assert_eq!(verdict.reasons, ["no steady state: the drift is too large"]);
    let cell = Cell { steady: SteadyRule::None, ..cell() };
    assert_eq!(judge(&cell, &steady("none", false), &flawless()).validity, Validity::Valid);
}

#[test]
fn what_makes_figures_unusable() {
    let invalid = |change: fn(&mut CellEvidence)| {
        let (validity, reason) = flawed(change);
        assert_eq!(validity, Validity::Invalid, "{reason}");
        reason
    };
    assert!(invalid(|e| e.wrong_data = vec!["a block is stale".into()]).contains("stale"));
    assert!(invalid(|e| e.failed = 2000).contains("2000 operations failed (2.0 %)"));
    assert!(invalid(|e| (e.failed, e.error_limit_reached) = (5, true)).contains("they ended the cell"));
    assert!(invalid(|e| e.ok = 0).contains("nothing to report"));
    assert!(invalid(|e| e.interrupted = true).contains("interrupted after"));
    assert!(invalid(|e| e.measured_s = 1.0).contains("measured for only 1s of the required"));
}

#[test]
fn what_makes_figures_doubtful() {
    let warn = |change: fn(&mut CellEvidence)| {
        let (validity, reason) = flawed(change);
        assert_eq!(validity, Validity::Warn, "{reason}");
        reason
    };
    assert!(warn(|e| e.failed = 10).contains("10 operations failed (less than 0.1 %)"));
    assert!(warn(|e| e.limit = Some(client_bound())).contains("the client was the limit"));
    let shared = |e: &mut CellEvidence| {
        let doubts = vec!["other programs use vda: 1.1 of 1.1 GB/s are not this load's".to_owned()];
        e.limit = Some(Bottleneck { bound: Bound::Unclear, doubts, ..client_bound() });
    };
    assert!(warn(shared).starts_with("other programs use vda: 1.1 of"));
    assert!(warn(|e| e.steal = 0.2).contains("hypervisor"));
    assert!(warn(|e| e.unseen = 3).contains("3 intervals were missed"));
    assert!(warn(|e| e.longest_pause_ns = 3_040_000_000).contains("the load stopped for 3.0 s"));
    assert!(warn(|e| e.abandoned = 2).contains("were never answered"));
    assert!(warn(|e| e.not_verified = Some("nothing was verified".into())).contains("verified"));
    let open = OpenLoop { shed: 7, ..OpenLoop::default() };
    let shed = move |e: &mut CellEvidence| e.open_loop = Some(open);
    assert!(flawed(shed).1.contains("7 operations were shed"));
    let open = OpenLoop { missed_starts: 9, ..OpenLoop::default() };
    let missed = move |e: &mut CellEvidence| e.open_loop = Some(open);
    assert!(flawed(missed).1.contains("9 operations were still waiting"));
}

#[test]
fn reads_from_memory_are_doubted_only_where_they_are_possible() {
    let cached = |evidence: &mut CellEvidence| {
        evidence.cacheable = true;
        evidence.cache_bytes = Some(8 << 30);
    };
    assert!(flawed(cached).1.contains("fits into this client's memory"));
    let mut evidence = flawless();
    cached(&mut evidence);
    evidence.cache_bytes = Some(2 << 30);
    let verdict = |evidence: &CellEvidence| judge(&cell(), &steady("default", true), evidence).validity;
    assert_eq!(verdict(&evidence), Validity::Valid, "the data is larger than the memory");
    cached(&mut evidence);
    let emptied = Cell { cache: CacheControl::Invalidate, ..cell() };
    let after = |moved| {
        let evidence = CellEvidence { moved, ..evidence.clone() };
        judge(&emptied, &steady("default", true), &evidence).validity
    };
    assert_eq!(
        (after(4 << 30), after(5 << 30)),
        (Validity::Valid, Validity::Warn),
        "each block was read once"
    );
    evidence.cacheable = false;
    assert_eq!(verdict(&evidence), Validity::Valid, "it was read past the cache");
}

#[test]
fn the_worst_comes_first_and_decides() {
    let evidence = CellEvidence { wrong_data: vec!["wrong".into()], steal: 0.5, failed: 10, ..flawless() };
    let cell = Cell { errors: ErrorPolicy::Continue, ..cell() };
    let verdict = judge(&cell, &steady("default", false), &evidence);
    assert_eq!(verdict.validity, Validity::Invalid);
    assert_eq!(verdict.reasons.len(), 4);
    assert_eq!(verdict.reasons[0], "wrong");
    assert!(verdict.reasons[1].starts_with("no steady state"));
}
