//! Signals and kills: measured data is kept, nothing is left behind, and the run resumes where it stopped.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use std::time::Duration;

use run_support::{Lab, names};
use rustix::process::Signal;
use store::{RunRecord, State, Store, Validity};
use support::{run, start, wait_until};

/// Cells long enough to be interrupted, on files.
const LONG: &str = "
targets: {t: 'file://DATA'}
workloads: {w: {ops: read, file_size: 1MiB, block_size: 4KiB}}
stages: {warm_up: 0s, measure: {at_least: 60s, at_most: 60s}}
matrix: {block_size: [4KiB, 8KiB]}
steady: none
";

/// Kills per test.
const KILLS: usize = 50;

#[test]
fn one_signal_ends_the_cell_keeps_it_and_cleans_up() {
    let lab = Lab::new();
    let file = lab.experiment("e.yaml", LONG);
    let running = start(lab.command().arg(&file));
    lab.wait_for_intervals(2);
    running.signal(Signal::INT);
    let ended = running.finish();
    assert_eq!(ended.code, Some(130), "{ended:#?}");
    let cells = lab.cells();
    assert_eq!((cells[0].state, cells[1].state), (State::Interrupted, State::Pending));
    let result = cells[0].result.as_ref().unwrap();
    assert!(result.total.ok > 0 && result.measured_s >= 1.0, "{result:#?}");
    assert!(
        result.verdict.reasons.iter().any(|reason| reason.starts_with("interrupted after")),
        "{result:#?}"
    );
    assert_eq!(lab.store().run("last").unwrap().state, State::Interrupted);
    assert!(ended.stdout.contains("manometer run --resume"), "{}", ended.stdout);
    lab.assert_clean();
}

#[test]
fn sigterm_twice_stops_at_once_and_still_cleans_up() {
    let lab = Lab::new();
    let file = lab.experiment("e.yaml", LONG);
    let running = start(lab.command().arg(&file));
    lab.wait_for_intervals(1);
    running.signal(Signal::TERM);
    running.signal(Signal::TERM);
    let ended = running.finish();
    assert_eq!(ended.code, Some(143), "{ended:#?}");
    assert_eq!(lab.cells()[0].state, State::Interrupted);
    lab.assert_clean();
}

/// A closed laptop lid, a frozen container, a debugger: a process that did not run did not measure.
#[test]
fn a_load_that_stood_still_is_no_valid_measurement() {
    let lab = Lab::new();
    let file = lab.experiment("e.yaml", &LONG.replace("60s", "6s").replace("4KiB, 8KiB", "4KiB"));
    let running = start(lab.command().arg(&file));
    lab.wait_for_intervals(1);
    running.signal(Signal::STOP);
    std::thread::sleep(Duration::from_millis(2500));
    running.signal(Signal::CONT);
    let ended = running.finish();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let cells = lab.cells();
    let verdict = &cells[0].result.as_ref().unwrap().verdict;
    assert_eq!(verdict.validity, Validity::Warn, "{verdict:#?}");
    let still = verdict.reasons.iter().any(|reason| reason.starts_with("the load stopped for "));
    assert!(still, "{verdict:#?}");
    lab.assert_clean();
}

#[test]
fn a_signal_before_anything_is_measured_ends_the_run_at_once() {
    let lab = Lab::new();
    let file = lab.experiment("e.yaml", &LONG.replace("warm_up: 0s", "warm_up: 100s"));
    let running = start(lab.command().arg(&file));
    wait_until("the data set", || {
        let place = names(&lab.data()).into_iter().find(|name| name.starts_with("manometer-"));
        place.is_some_and(|place| !names(&lab.data().join(place)).is_empty())
    });
    running.signal(Signal::INT);
    let ended = running.finish();
    assert_eq!(ended.code, Some(130), "{ended:#?}");
    assert_eq!(lab.cells()[0].state, State::Interrupted);
    lab.assert_clean();
}

#[test]
fn an_interrupted_run_is_resumed_where_it_was() {
    let lab = Lab::new();
    let text = LONG.replace("at_least: 60s, at_most: 60s", "at_least: 2s, at_most: 2s");
    let file = lab.experiment("e.yaml", &text);
    let running = start(lab.command().arg(&file));
    wait_until("the second cell", || {
        Store::open_existing(&lab.path("results.sqlite")).is_ok_and(|store| {
            store
                .run("last")
                .and_then(|record| store.cells(&record.id))
                .is_ok_and(|cells| cells[0].state == State::Finished && cells[1].state == State::Running)
        })
    });
    running.signal(Signal::INT);
    assert_eq!(running.finish().code, Some(130));
    let before = lab.cells();
    // With the unchanged file, and by the beginning of its id.
    let id = lab.store().run("last").unwrap().id;
    let ended = run(lab.command().args(["--resume", &id[..5]]).arg(&file));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let after = lab.cells();
    assert_eq!(after[0], before[0], "a cell that was finished stays as it is");
    assert_eq!(after[1].state, State::Finished);
    let run = lab.store().run("last").unwrap();
    assert_eq!((run.id, run.state), (id, State::Finished));
    lab.assert_clean();
}

/// Invariants of a results file at any moment.
fn assert_whole(store: &Store, record: &RunRecord) {
    for cell in store.cells(&record.id).unwrap() {
        if cell.state == State::Finished {
            assert!(cell.result.is_some(), "{cell:?}");
        }
        let mut next_ns = 0;
        for (number, interval) in
            store.intervals(&record.id, cell.index, "measure", 0, 0..u32::MAX).unwrap().enumerate()
        {
            let interval = interval.unwrap();
            assert_eq!(interval.index as usize, number, "an interval is missing in cell {}", cell.index);
            assert_eq!(interval.start_ns, next_ns, "cell {} interval {number}", cell.index);
            next_ns += interval.length_ns;
        }
        if let Some(result) = &cell.result
            && result.client["unseen-intervals"] == 0.0
        {
            assert!(
                (next_ns as f64 / 1e9 - result.measured_s).abs() < 1e-3,
                "{next_ns} {}",
                result.measured_s
            );
        }
    }
}

#[test]
fn killed_at_any_moment_nothing_is_lost_and_the_matrix_is_completed() {
    let lab = Lab::new();
    // Verified files, a target that answers at once, and one on a virtual clock.
    let file = lab.experiment(
        "e.yaml",
        "
targets: {d: 'file://DATA', n: 'null:', s: 'sim:?latency=1ms'}
defaults: {ops: read, file_size: 1MiB, block_size: 4KiB, queue_depth: 2}
workloads:
  files: {target: d, verify: true}
  nothing: {target: n}
  script: {target: s, stages: {measure: {at_least: 20s, at_most: 20s}}}
  writes: {target: d, ops: write, verify: true}
stages: {warm_up: 0s, measure: {at_least: 1s, at_most: 1s}}
matrix: {repetitions: 6}
steady: none
",
    );
    let mut random = fastrand::Rng::with_seed(7);
    let mut finished = 0;
    let mut kills = 0;
    let mut resume = false;
    while kills < KILLS {
        let mut command = lab.command();
        if resume {
            command.args(["--resume", "last"])
        } else {
            command.arg(&file)
        };
        let running = start(&mut command);
        std::thread::sleep(Duration::from_millis(random.u64(20..1800)));
        running.signal(Signal::KILL);
        let ended = running.finish();
        match ended.code {
            // Ended before the kill: the next is a new run.
            Some(0) => resume = false,
            Some(code) => panic!("{code}: {ended:#?}"),
            None => {
                kills += 1;
                let path = lab.path("results.sqlite");
                let (store, record) = match Store::open_existing(&path).and_then(|s| Ok((s.run("last")?, s)))
                {
                    Ok((record, store)) => (store, record),
                    // Killed before the first run was stored; later there is always one.
                    Err(error) => {
                        assert!(!resume, "{error}");
                        continue;
                    }
                };
                assert_whole(&store, &record);
                let done =
                    store.cells(&record.id).unwrap().iter().filter(|c| c.state == State::Finished).count();
                assert!(!resume || done >= finished, "finished cells were lost");
                finished = done;
                resume = record.state != State::Finished;
            }
        }
    }
    if !resume {
        let running = start(lab.command().arg(&file));
        lab.wait_for_intervals(1);
        running.signal(Signal::KILL);
        running.finish();
    }
    let ended = run(lab.command().args(["--resume", "last"]));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let store = lab.store();
    let record = store.run("last").unwrap();
    assert_eq!(record.state, State::Finished);
    assert!(store.cells(&record.id).unwrap().iter().all(|cell| cell.state == State::Finished));
    assert_whole(&store, &record);
    // Runs that were killed before their results file listed them left places that the clean-up knows.
    let mut cleanup = std::process::Command::new(env!("CARGO_BIN_EXE_manometer"));
    let cleaned = run(cleanup.arg("cleanup").arg("--journal-dir").arg(lab.path("journal")));
    assert_eq!(cleaned.code, Some(0), "{cleaned:#?}");
    lab.assert_clean();
}

#[test]
fn data_that_went_bad_while_nobody_watched_is_found_after_resuming() {
    let lab = Lab::new();
    let file = lab.experiment(
        "e.yaml",
        "
targets: {t: 'file://DATA'}
workloads: {w: {ops: read, file_size: 1MiB, block_size: 64KiB, verify: true}}
stages: {warm_up: 0s, measure: {at_least: 1s, at_most: 1s}, verify: true}
matrix: {repetitions: 4}
steady: none
",
    );
    let running = start(lab.command().arg(&file));
    lab.wait_for_intervals(2);
    running.signal(Signal::KILL);
    running.finish();
    let place = names(&lab.data()).into_iter().find(|name| name.starts_with("manometer-")).unwrap();
    let path = lab.data().join(place).join("0000000000000000");
    let mut content = std::fs::read(&path).unwrap();
    content[500_000] ^= 1;
    std::fs::write(&path, content).unwrap();
    let ended = run(lab.command().args(["--resume", "last"]));
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.stdout.contains("do not contain what was written"), "{}", ended.stdout);
    let events = lab.store().events(&lab.store().run("last").unwrap().id).unwrap();
    assert!(
        events.iter().any(|event| event.kind == "resume" && event.text.starts_with("the data set exists"))
    );
    lab.assert_clean();
}
