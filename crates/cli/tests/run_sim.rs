//! Experiments through the whole program on scripted targets, whose figures can be computed by hand.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use metrics::ErrorKind;
use run_support::Lab;
use store::{State, Validity};

/// A target that answers after exactly 1 ms.
const EXACT: &str = "
targets: {t: 'sim:?latency=1ms'}
workloads: {w: {ops: read, queue_depth: 4, block_size: 4KiB, file_size: 1MiB}}
stages: {warm_up: 1s, measure: {at_least: 10s, at_most: 10s}}
steady: none
";

fn near(found: f64, expected: f64) -> bool {
    (found - expected).abs() <= expected * 0.01
}

#[test]
fn figures_are_those_of_the_script() {
    let lab = Lab::new();
    let (ended, json) = lab.run_json(&format!(
        "{EXACT}gates: ['read.rate >= 3999/s', 'read.p99 <= 1.1 ms', 'read.bandwidth >= 16 MB/s', errors == 0]"
    ));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let result = &lab.results()[0];
    assert!(near(result.total.ops_per_s.mean, 4000.0), "{:?}", result.total.ops_per_s);
    assert!(near(result.total.bytes_per_s.mean, 4000.0 * 4096.0));
    assert!(near(result.total.response.p50_ns as f64, 1e6) && near(result.total.response.max_ns as f64, 1e6));
    assert!(near(result.measured_s, 10.0) && result.window_start_s == 0.0);
    assert_eq!(result.verdict.validity, Validity::Valid, "{:?}", result.verdict);
    assert!(result.gates.len() == 4 && result.gates.iter().all(|gate| gate.passed), "{:?}", result.gates);
    assert_eq!((&json["schema"], &json["schema_version"]), (&"manometer.run".into(), &1.into()));
    assert_eq!(json["run"]["state"], "finished");
    assert_eq!(json["cells"][0]["result"]["total"]["ok"], result.total.ok);
    for fact in ["kernel", "cpu.usable", "memory.bytes", "reactor", "manometer.version"] {
        assert!(json["run"]["environment"]["facts"][fact].is_string(), "{fact}");
    }
    lab.assert_clean();
}

#[test]
fn the_same_experiment_gives_the_same_figures() {
    let lab = Lab::new();
    let text = EXACT.replace("latency=1ms", "latency=exponential 1ms&noise=10%");
    lab.run(&text);
    let first = lab.results();
    lab.run(&text);
    assert_eq!(lab.results()[0].total, first[0].total);
}

#[test]
fn a_gate_that_fails_sets_the_exit_code_and_is_named() {
    let lab = Lab::new();
    let ended = lab.run(&format!("{EXACT}gates: ['read.p99 <= 500 us', 'read.rate >= 1/s']"));
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.stdout.contains("gate failed: read.p99 <= 500 us: it was 1.00 ms"), "{}", ended.stdout);
    assert!(ended.stdout.contains("1 of 2 gates failed"), "{}", ended.stdout);
    assert!(ended.stdout.contains("manometer report"), "{}", ended.stdout);
}

#[test]
fn the_rule_ends_the_measurement_and_only_its_window_is_reported() {
    let lab = Lab::new();
    // Twice as fast for the first 20 s, as a drive with a cache is.
    let text = "
targets: {t: 'sim:?latency=exponential 1ms'}
workloads: {w: {ops: read, queue_depth: 4, file_size: 1MiB}}
stages: {warm_up: 0s, measure: {at_least: 60s, at_most: 30m}}
";
    let ended = lab.run(text);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let result = &lab.results()[0];
    assert!(result.steady.reached, "{:?}", result.steady);
    assert!(result.measured_s >= 60.0 && result.measured_s < 1800.0, "{}", result.measured_s);
    let window = result.window_end_s - result.window_start_s;
    assert!(window > 0.0 && result.window_end_s <= result.measured_s + 1e-9);
    // Counters cover the window only.
    assert!(near(result.total.ok as f64 / window, result.total.ops_per_s.mean), "{:?}", result.total);
    let whole: u64 = result.stages.iter().find(|stage| stage.name == "measure").unwrap().ok;
    assert!(result.window_start_s == 0.0 || whole > result.total.ok);
}

/// 1000 operations per second, and a target that stalls for one second in every ten.
#[test]
fn an_open_loop_shows_a_stall_that_service_times_hide() {
    let lab = Lab::new();
    let ended = lab.run(
        "
targets: {t: 'sim:?latency=1ms&stall=1s/10s'}
workloads: {w: {ops: read, queue_depth: 10, rate: 1000/s, backlog: 5000, file_size: 1MiB}}
stages: {warm_up: 0s, measure: {at_least: 100s, at_most: 100s}}
steady: none
",
    );
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let result = &lab.results()[0];
    let mut expected = by_hand();
    expected.sort_unstable();
    let quantile = |share: f64| expected[((expected.len() as f64 * share).ceil() as usize).max(1) - 1] as f64;
    let response = &result.total.response;
    for (share, found) in [
        (0.5, response.p50_ns),
        (0.9, response.p90_ns),
        (0.95, response.p95_ns),
        (0.99, response.p99_ns),
        (0.999, response.p999_ns),
        (1.0, response.max_ns),
    ] {
        assert!(near(found as f64, quantile(share)), "p{share}: {found} ns, by hand {}", quantile(share));
    }
    // Ten operations in ten thousand were in service during a stall: service times alone hide it.
    assert!(near(result.total.service.p99_ns as f64, 1e6), "{:?}", result.total.service);
    assert!(response.p99_ns > 500 * result.total.service.p99_ns);
    let open = result.open_loop.unwrap();
    assert!(near(open.offered_ops_per_s, 1000.0), "{open:?}");
    assert!(open.deepest_backlog.abs_diff(990) <= 10 && open.shed == 0, "{open:?}");
}

/// Response times over 100 s: an operation starts each millisecond, ten lanes, first come first served. Operations that
/// would complete in a stall complete at its end; the position of the stall within each ten seconds does not matter.
fn by_hand() -> Vec<u64> {
    const MS: u64 = 1_000_000;
    let mut free = [0u64; 10];
    let mut responses = Vec::new();
    for number in 0..100_000u64 {
        let meant = number * MS;
        let lane = (0..10).min_by_key(|lane| free[*lane]).unwrap();
        let start = meant.max(free[lane]);
        let answer = start + MS;
        let phase = answer % (10_000 * MS);
        let stalled = (9_000 * MS..10_000 * MS).contains(&phase);
        let end = if stalled { answer - phase + 10_000 * MS } else { answer };
        free[lane] = end;
        responses.push(end - meant);
    }
    responses
}

#[test]
fn a_search_finds_the_rate_at_which_the_goal_stops_holding() {
    let lab = Lab::new();
    // Two lanes of 1 ms: they keep up with 2000 operations per second, and not one more.
    let ended = lab.run(
        "
targets: {t: 'sim:?latency=1ms'}
workloads: {w: {ops: read, queue_depth: 2, find: {goal: p99 <= 2 ms, from: 100/s, trial: 20s}, file_size: 1MiB}}
stages: {warm_up: 0s}
",
    );
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let result = &lab.results()[0];
    let found = result.found_ops_per_s.unwrap();
    assert!((1900.0..=2010.0).contains(&found), "{found}: {:#?}", result.points);
    assert!(result.points.len() >= 2);
    assert!(near(result.total.ops_per_s.mean, found), "the figures are those of the rate that was found");
    assert!(ended.stdout.contains("p99 <= 2 ms holds up to"), "{}", ended.stdout);
}

/// The target stalls for 0.4 s once a minute: one trial of 20 s in three sees that, and must not end the search.
#[test]
fn a_stall_in_one_trial_does_not_decide_a_search() {
    for warm_up in ["0s", "3s", "7s"] {
        let lab = Lab::new();
        let ended = lab.run(&format!(
            "
targets: {{t: 'sim:?latency=20ms&stall=400ms/60s'}}
workloads: {{w: {{ops: read, queue_depth: 4, find: {{goal: p99 <= 60 ms, from: 10/s, trial: 20s}}, file_size: 1MiB}}}}
stages: {{warm_up: {warm_up}}}
"
        ));
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let result = &lab.results()[0];
        // Four lanes of 20 ms: 200 operations per second.
        let found = result.found_ops_per_s.unwrap();
        assert!((180.0..=201.0).contains(&found), "{warm_up}: {found}: {:#?}", result.points);
    }
}

#[test]
fn searches_sweeps_and_rates_go_with_jobs() {
    let lab = Lab::new();
    let ended = lab.run(
        "
targets: {t: 'sim:?latency=1ms'}
defaults: {queue_depth: 2}
workloads:
  found: {ops: read, find: {goal: p99 <= 2 ms, from: 100/s, trial: 20s}, job: {region: {size: {bytes: 1MiB}}}}
  swept: {ops: {read: 70%, write: 30%}, sweep: {rates: [500/s, 4000/s], point: 10s}, job: {region: {size: {bytes: 1MiB}}}}
  ended: {ops: write, rate: 100/s, job: {region: {size: {bytes: 1MiB}}}}
  timed: {ops: read, rate: 4000/s, job: {region: {size: {bytes: 1MiB}}, ending: {runtime_s: 10, time_based: true}}}
stages: {warm_up: 0s}
",
    );
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let results = lab.results();
    let [found, swept, ended, timed] = results.as_slice() else { panic!("{}", results.len()) };
    assert!(
        found.found_ops_per_s.is_some_and(|found| (1900.0..=2010.0).contains(&found)),
        "{:#?}",
        found.points
    );
    let held: Vec<_> = swept.points.iter().map(|point| (point.offered_ops_per_s, point.held)).collect();
    assert_eq!(held, [(500.0, true), (4000.0, false)]);
    // 256 blocks at 100 per second.
    assert_eq!(ended.total.ok, 256);
    assert!(near(ended.measured_s, 2.56), "{}", ended.measured_s);
    assert_eq!(ended.open_loop.as_ref().map(|open| (open.late_starts, open.missed_starts)), Some((0, 0)));
    // A rate that was not kept is reported in the same words as for a mix.
    let open = timed.open_loop.as_ref().unwrap();
    assert!(near(open.offered_ops_per_s, 4000.0) && open.missed_starts > 0, "{open:?}");
    assert_eq!(timed.verdict.validity, Validity::Warn, "{:?}", timed.verdict);
}

#[test]
fn pauses_go_with_mixes_and_errors_end_jobs() {
    let lab = Lab::new();
    lab.run(
        "
targets: {t: 'sim:?latency=1ms'}
workloads: {w: {ops: read, queue_depth: 2, think: 4ms, file_size: 1MiB}}
stages: {warm_up: 0s, measure: 10s}
steady: none
",
    );
    assert!(near(lab.results()[0].total.ops_per_s.mean, 400.0), "{:?}", lab.results()[0].total);
    let ended = lab.run(
        "
targets: {t: 'sim:?latency=1ms&errors=1/10'}
workloads:
  w:
    ops: read
    errors: {stop_cell_after: 20}
    job: {region: {size: {bytes: 1MiB}}, ending: {runtime_s: 60, time_based: true, errors: {go_on_read: true}}}
",
    );
    assert_eq!(lab.cells()[0].state, State::Failed, "{ended:#?}");
    assert_eq!(lab.results()[0].total.failed, 20);
}

#[test]
fn a_goal_that_never_holds_is_said_to() {
    let lab = Lab::new();
    lab.run(
        "
targets: {t: 'sim:?latency=5ms'}
workloads: {w: {ops: read, queue_depth: 2, find: {goal: p99 <= 2 ms, from: 100/s, trial: 10s}, file_size: 1MiB}}
stages: {warm_up: 0s}
",
    );
    let result = &lab.results()[0];
    assert_eq!(result.found_ops_per_s, None);
    assert!(
        result.points.iter().all(|point| !point.held || point.offered_ops_per_s == 0.0),
        "{:#?}",
        result.points
    );
}

#[test]
fn a_sweep_has_a_point_at_each_rate() {
    let lab = Lab::new();
    let ended = lab.run(
        "
targets: {t: 'sim:?latency=1ms'}
workloads: {w: {ops: read, queue_depth: 2, sweep: {rates: [500/s, 1000/s, 4000/s], point: 10s}, file_size: 1MiB}}
stages: {warm_up: 0s}
",
    );
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let points = &lab.results()[0].points;
    let held: Vec<(f64, bool)> = points.iter().map(|point| (point.offered_ops_per_s, point.held)).collect();
    assert_eq!(held, [(500.0, true), (1000.0, true), (4000.0, false)]);
    assert!(points[2].deepest_backlog > 1000 && near(points[2].ops_per_s, 2000.0), "{:?}", points[2]);
}

#[test]
fn errors_are_counted_and_end_what_the_policy_says() {
    let failing = EXACT.replace("latency=1ms", "latency=1ms&errors=1/100");
    let two = "matrix: {block_size: [4KiB, 8KiB]}\n";
    let lab = Lab::new();
    let ended = lab.run(&format!("{failing}{two}errors: continue\n"));
    let cells = lab.cells();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(cells.iter().all(|cell| cell.state == State::Finished), "{cells:#?}");
    let total = &lab.results()[0].total;
    assert!(total.failed > 300 && total.errors.values().sum::<u64>() == total.failed, "{total:?}");

    let ended = lab.run(&format!("{failing}{two}errors: {{stop_cell_after: 20}}\n"));
    let cells = lab.cells();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(cells.iter().all(|cell| cell.state == State::Failed && cell.result.is_some()), "{cells:#?}");
    assert!(cells[0].failure.as_ref().unwrap().contains("they ended the cell"), "{cells:#?}");

    let ended = lab.run(&format!("{failing}{two}errors: stop\n"));
    let states: Vec<State> = lab.cells().iter().map(|cell| cell.state).collect();
    assert_eq!((ended.code, states), (Some(1), vec![State::Failed, State::Pending]), "{ended:#?}");
    assert!(ended.stderr.contains("1 cell was not run"), "{}", ended.stderr);
    assert!(!ended.stdout.contains("panicked") && !ended.stderr.contains("panicked"));
    assert!(
        !lab.cells()[0].result.as_ref().unwrap().error_samples.iter().any(|s| s.kind == ErrorKind::Corrupt)
    );
}

/// A command that counts 1000 LOOKUPs of each of two servers every time it is asked.
fn counting(lab: &Lab) -> String {
    let script = lab.path("counters.sh");
    let text = "#!/bin/sh\nd=$(dirname \"$0\"); echo x >>\"$d/asked\"; n=$(wc -l <\"$d/asked\")\n\
                echo one LOOKUP $((n * 1000)) $((n * 2000000))\necho two LOOKUP $((n * 1000)) $((n * 4000000))\n";
    std::fs::write(&script, text).unwrap();
    script.display().to_string()
}

#[test]
fn calls_that_a_command_counts_are_divided_by_operations() {
    let lab = Lab::new();
    let target = format!(
        "targets: {{t: {{url: 'sim:?latency=1ms', accounting: {{command: [sh, {}]}}}}}}",
        counting(&lab)
    );
    let text = EXACT.replace("targets: {t: 'sim:?latency=1ms'}", &target);
    let (ended, json) = lab.run_json(&text);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let counted = &json["cells"][0]["result"]["server_calls"][0];
    assert_eq!(counted["counter"], "command");
    let operations = counted["operations"].as_u64().unwrap();
    assert!(operations >= lab.results()[0].total.ok, "{counted}");
    let lookups = &counted["procedures"][0];
    assert_eq!((&lookups["procedure"], &lookups["calls"]), (&"LOOKUP".into(), &2000.into()));
    assert_eq!(
        (&lookups["calls_per_op"], &lookups["mean_ns"]),
        (&(2000.0 / operations as f64).into(), &3000.0.into())
    );
    assert_eq!(lookups["servers"].as_array().unwrap().len(), 2);
}

#[test]
fn counters_that_cannot_be_read_are_a_warning() {
    let lab = Lab::new();
    let target =
        "targets: {t: {url: 'sim:?latency=1ms', accounting: {command: [sh, -c, 'echo broken >&2; exit 7']}}}";
    let (ended, json) = lab.run_json(&EXACT.replace("targets: {t: 'sim:?latency=1ms'}", target));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(ended.stderr.contains("exit code 7: broken"), "{}", ended.stderr);
    assert!(json["cells"][0]["result"].get("server_calls").is_none());
}
