//! Everything written reads back equal, and a restarted cell starts empty.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod support;

use metrics::{ErrorKind, Interval, OpKind};
use store::{State, Store, StoreError, Validity};
use support::engine::{Results, shared};
use support::{cells, events, interval, moment, run};

fn all(store: &Store, run: &str, cell: u32, stage: &str, trial: u32) -> Vec<Interval> {
    store.intervals(run, cell, stage, trial, 0..u32::MAX).unwrap().map(Result::unwrap).collect()
}

#[test]
fn everything_is_read_back_as_it_was_written() {
    let results = Results::new();
    drop(results.sample());
    let store = results.open();
    let expected = store::RunRecord {
        state: State::Interrupted,
        finished: Some(moment(700)),
        ..run("aaaabbb2", "every alternative")
    };
    let fleet =
        store::RunRecord { state: State::Finished, finished: Some(moment(-700)), ..support::fleet_run() };
    assert_eq!(store.runs().unwrap(), vec![fleet, expected]);
    assert_eq!(store.cells("aaaabbb2").unwrap(), cells());
    assert_eq!(store.events("aaaabbb2").unwrap(), events());
    let measured: Vec<_> = (0..5).map(interval).collect();
    assert_eq!(all(&store, "aaaabbb2", 0, "measure", 0), measured);
    assert_eq!(all(&store, "aaaabbb2", 1, "measure", 0), measured);
    assert_eq!(all(&store, "aaaabbb2", 0, "warm-up", 0), vec![interval(0)]);
    assert_eq!(
        all(&store, "aaaabbb2", 1, "measure", 1),
        vec![Interval { length_ns: 1, ..Interval::default() }],
        "an interval in which nothing happened is an interval"
    );
    assert_eq!(all(&store, "aaaabbb2", 2, "measure", 0), vec![]);
    let kept: Vec<_> = store
        .stages("aaaabbb2", 1)
        .unwrap()
        .into_iter()
        .map(|key| (key.stage, key.trial, key.intervals))
        .collect();
    assert_eq!(kept, vec![("warm-up".into(), 0, 1), ("measure".into(), 0, 5), ("measure".into(), 1, 1)]);
}

#[test]
fn long_stages_are_read_over_many_pages_and_by_range() {
    let results = Results::new();
    let store = results.open();
    store.begin_run(&run("aaaabbb2", "long")).unwrap();
    let mut writer = store.writer("aaaabbb2").unwrap();
    for index in 0..300 {
        writer.interval(0, "measure", 0, &interval(index)).unwrap();
    }
    writer.finish().unwrap();
    assert_eq!(all(&store, "aaaabbb2", 0, "measure", 0), (0..300).map(interval).collect::<Vec<_>>());
    let some = store.intervals("aaaabbb2", 0, "measure", 0, 60..70).unwrap();
    let some: Vec<u32> = some.map(|interval| interval.unwrap().index).collect();
    assert_eq!(some, (60..70).collect::<Vec<_>>());
    let none = store.intervals("aaaabbb2", 0, "measure", 0, 300..400).unwrap();
    assert_eq!(none.count(), 0);
    let points: Vec<_> =
        store.series("aaaabbb2", 0, "measure", 0, 0..u32::MAX).unwrap().map(Result::unwrap).collect();
    assert_eq!(points.len(), 600);
    let (point, seventh) = (&points[14], interval(7));
    let read = seventh.op(OpKind::Read).unwrap();
    assert_eq!((point.interval, point.op, point.ok, point.bytes), (7, Some(OpKind::Read), 50, read.bytes));
    assert_eq!((point.start_ns, point.rpcs, point.retries), (7_000_000_000, 51, 1));
    assert_eq!(
        (point.p50_ns, point.p99_ns, point.p999_ns, point.max_ns),
        (
            read.response().quantile_ns(0.5),
            read.response().quantile_ns(0.99),
            read.response().quantile_ns(0.999),
            read.response().max_ns()
        )
    );
    assert_eq!(points[6 * 2 + 1].failed, 8);
}

#[test]
fn merging_a_window_adds_counts_and_histograms() {
    let results = Results::new();
    let store = results.sample();
    let merged = store.merged("aaaabbb2", 0, "measure", 0, 1..4).unwrap();
    let mut expected = interval(1);
    [2, 3].map(interval).iter().for_each(|other| expected.merge(other));
    expected.length_ns = 3_000_000_000;
    assert_eq!(merged, expected);
    let write = merged.op(OpKind::Write).unwrap();
    assert_eq!((write.errors[ErrorKind::NoSpace as usize], write.failed()), (2, 5));
    assert_eq!(store.merged("aaaabbb2", 0, "measure", 9, 0..4).unwrap(), Interval::default());
}

#[test]
fn a_cell_that_begins_anew_has_nothing_of_the_attempt_before() {
    let results = Results::new();
    let store = results.sample();
    let mut writer = store.writer("aaaabbb2").unwrap();
    writer.interval(1, "verify", 0, &interval(0)).unwrap();
    writer.flush().unwrap();
    store.begin_cell("aaaabbb2", 0, moment(1000)).unwrap();
    let cell = store.cells("aaaabbb2").unwrap().remove(0);
    assert_eq!((cell.state, cell.started, cell.finished), (State::Running, Some(moment(1000)), None));
    assert_eq!((cell.result, cell.failure), (None, None));
    assert!(store.stages("aaaabbb2", 0).unwrap().is_empty());
    // The other cell kept its own, even where row numbers are reused.
    assert_eq!(all(&store, "aaaabbb2", 1, "measure", 0).len(), 5);
    writer.interval(0, "measure", 0, &interval(0)).unwrap();
    writer.interval(1, "verify", 0, &interval(1)).unwrap();
    writer.finish().unwrap();
    assert_eq!(all(&store, "aaaabbb2", 0, "measure", 0), vec![interval(0)]);
    assert_eq!(all(&store, "aaaabbb2", 1, "verify", 0), vec![interval(0), interval(1)]);
}

#[test]
fn an_interval_is_never_written_twice() {
    let results = Results::new();
    let store = results.sample();
    let mut writer = store.writer("aaaabbb2").unwrap();
    writer.interval(0, "measure", 0, &interval(4)).unwrap();
    let error = writer.flush().unwrap_err();
    assert!(error.to_string().to_lowercase().contains("unique"), "{error}");
    assert!(writer.interval(0, "measure", 0, &interval(5)).is_err(), "nothing is written after an error");
    assert_eq!(all(&store, "aaaabbb2", 0, "measure", 0).len(), 5);
}

#[test]
fn numbers_that_json_cannot_say_do_not_make_a_result_unreadable() {
    let results = Results::new();
    let store = results.sample();
    let mut cell = cells().remove(0);
    let result = cell.result.as_mut().unwrap();
    result.total.ops_per_s.low = f64::NEG_INFINITY;
    result.gates[0].measured = f64::NAN;
    result.client.insert("cpu.busiest".into(), f64::INFINITY);
    store.finish_cell("aaaabbb2", &cell).unwrap();
    let read = store.cells("aaaabbb2").unwrap().remove(0).result.unwrap();
    assert_eq!((read.total.ops_per_s.low, read.gates[0].measured), (-f64::MAX, 0.0));
    assert_eq!(read.client["cpu.busiest"], f64::MAX);
}

#[test]
fn a_run_is_found_by_id_beginning_name_or_last() {
    let results = Results::new();
    let store = results.open();
    let error = store.run("last").unwrap_err().to_string();
    assert!(error.contains("the file holds none") && error.contains("manometer run"), "{error}");
    for (second, (id, name)) in
        [("aaaabbb2", "nightly"), ("aaaaccc3", "nightly"), ("zzzz2222", "once")].iter().enumerate()
    {
        let mut record = run(id, name);
        record.started = moment(second as i64);
        store.begin_run(&record).unwrap();
    }
    let id = |text: &str| store.run(text).map(|run| run.id);
    assert_eq!(id("aaaabbb2").unwrap(), "aaaabbb2");
    assert_eq!(id("aaaac").unwrap(), "aaaaccc3");
    assert_eq!(id("z").unwrap(), "zzzz2222");
    assert_eq!(id("once").unwrap(), "zzzz2222");
    assert_eq!(id("last").unwrap(), "zzzz2222");
    assert_eq!(id("last~0").unwrap(), "zzzz2222");
    assert_eq!(id("last~2").unwrap(), "aaaabbb2");
    for text in ["aaaa", "nightly"] {
        let error = id(text).unwrap_err();
        assert!(matches!(error, StoreError::Ambiguous { .. }));
        let line = error.to_string();
        assert!(line.contains("aaaaccc3 (nightly), aaaabbb2 (nightly)") && !line.contains('\n'), "{line}");
    }
    for text in ["", "b", "last~3", "last~", "last~x", "last~-1", "NIGHTLY", "aaaabbb22", "%", "*"] {
        let error = id(text).unwrap_err();
        assert!(matches!(error, StoreError::Unknown { .. }), "{text}: {error}");
        assert!(error.to_string().contains("zzzz2222 (once)"), "{error}");
    }
    assert!(store.begin_run(&run("aaaabbb2", "again")).is_err(), "an id is given once");
}

#[test]
fn a_summary_counts_cells_and_takes_the_worst_verdict() {
    let results = Results::new();
    let store = results.sample();
    store.begin_run(&run("zzzz2222", "running now")).unwrap();
    let [_fleet, first, second]: [store::RunSummary; 3] = store.summaries().unwrap().try_into().unwrap();
    assert_eq!((first.cells_done, first.cells, first.cells_failed), (3, 7, 1));
    assert_eq!(
        (first.verdict, first.state, first.abandoned),
        (Some(Validity::Invalid), State::Interrupted, false)
    );
    assert_eq!((second.cells_done, second.cells, second.verdict), (0, 7, None));
    assert!(second.state == State::Running && !second.abandoned, "this process lives");
    assert_eq!(second.kind, "run");
}

#[test]
fn facts_that_are_known_late_are_kept_and_what_made_a_run_is_its_kind() {
    let results = Results::new();
    let store = results.open();
    let mut made = run("zzzz2222", "network");
    made.environment.facts.insert(store::MADE_BY.into(), "network".into());
    store.begin_run(&made).unwrap();
    let late = [("kernel", "late"), ("copy", "12.0 GB/s")].map(|(name, value)| (name.into(), value.into()));
    store.keep_facts("zzzz2222", &late).unwrap();
    let facts = store.run("zzzz2222").unwrap().environment.facts;
    assert_eq!((&*facts["kernel"], &*facts["copy"]), ("late", "12.0 GB/s"));
    assert_eq!(store.summaries().unwrap()[0].kind, "network");
    assert!(store.keep_facts("aaaa2222", &late).is_err());
}

#[test]
fn forgetting_a_run_leaves_the_others_and_gives_the_room_back() {
    let results = Results::new();
    let store = results.sample();
    let before = store.bytes();
    store.begin_run(&run("zzzz2222", "large")).unwrap();
    let mut writer = store.writer("zzzz2222").unwrap();
    (0..1200).for_each(|index| writer.interval(3, "measure", 0, &interval(index)).unwrap());
    writer.finish().unwrap();
    let large = store.bytes();
    // A server looks after its own files.
    assert!(shared() || large > before + 1_000_000, "{before} {large}");
    assert!(matches!(store.forget("zzzz"), Err(StoreError::Unknown { .. })), "only the exact id will do");
    store.forget("zzzz2222").unwrap();
    let left = store.bytes();
    assert!(shared() || left < before + 100_000, "{} bytes were not given back", left - before);
    assert_eq!(store.runs().unwrap().len(), 2);
    assert_eq!(store.cells("aaaabbb2").unwrap(), cells());
    assert_eq!(all(&store, "aaaabbb2", 1, "measure", 0), (0..5).map(interval).collect::<Vec<_>>());
    assert!(matches!(store.forget("zzzz2222"), Err(StoreError::Unknown { .. })));
}

/// As an earlier version stored them: fields common to both kinds of load beside those of one kind.
#[test]
fn plans_of_earlier_versions_hold_both_kinds_of_load() {
    let text = include_str!("../../../tests/data/results/jobs.plan.json");
    let plan: experiment::Plan = serde_json::from_str(text).unwrap();
    let [mixed, plain] = plan.cells.as_slice() else { panic!("{} cells", plan.cells.len()) };
    let job = mixed.workload.stream().unwrap();
    assert_eq!((&*job.name, job.commits.fdatasync_every, job.files.per_worker()), ("mixed", 8, 2));
    assert_eq!((mixed.workload.files(), mixed.workload.file_bytes()), (4, 65536));
    assert_eq!(mixed.workload.block_sizes().len(), 3);
    let mix = plain.workload.mix().unwrap();
    assert_eq!((mix.file_bytes, mix.placement.as_ref().map(|p| p.cores.len())), (1 << 30, Some(1)));
    // And as this version stores them, for readers of an earlier version.
    let before: serde_json::Value = serde_json::from_str(text).unwrap();
    assert_eq!(serde_json::to_value(&plan).unwrap(), before);
}

#[test]
fn calls_by_procedure_are_kept_with_their_operation() {
    use metrics::{CallKind, ProcedureStats};
    let results = Results::new();
    let store = results.open();
    store.begin_run(&run("aaaabbb2", "every alternative")).unwrap();
    let mut interval = Interval { length_ns: 1_000_000_000, ..Interval::default() };
    let mut calls = ProcedureStats::new(CallKind::Create);
    calls.count(2, Some(1500));
    calls.count(1, None);
    calls.page(7, Some(1700));
    calls.page(3, None);
    interval.op_mut(OpKind::Create).called(&calls);
    interval.op_mut(OpKind::Create).ok = 1;
    interval.op_mut(OpKind::Read).ok = 3;
    store.begin_cell("aaaabbb2", 1, moment(0)).unwrap();
    let mut writer = store.writer("aaaabbb2").unwrap();
    writer.interval(1, "measure", 0, &interval).unwrap();
    writer.finish().unwrap();
    let read: Vec<Interval> =
        store.intervals("aaaabbb2", 1, "measure", 0, 0..9).unwrap().map(Result::unwrap).collect();
    let of = |kind| read[0].op(kind).unwrap().procedures.clone();
    assert_eq!(of(OpKind::Create), [calls]);
    let listing = of(OpKind::Create)[0].listing.unwrap();
    assert_eq!((listing.entries, listing.started, listing.first_total_ns), (10, 1, 1700));
    assert_eq!((calls.calls, calls.ok, calls.errors, calls.max_ns), (3, 1, 1, 1500));
    assert!(of(OpKind::Read).is_empty());
}
