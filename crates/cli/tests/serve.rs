//! `manometer serve`: runs from their post to their report, the queue, and what survives.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod serve_support;
mod support;

use std::process::Command;

use run_support::Lab;
use rustix::process::Signal;
use serde_json::{Value, json};
use serve_support::{SentEvent, Served, directory, state};
use store::{State, Store};
use support::{Stage, run, wait_until};

/// A target that answers after exactly 1 ms, on a virtual clock.
const EXACT: &str = "
name: exact
targets: {t: 'sim:?latency=1ms'}
workloads: {w: {ops: read, queue_depth: 4, block_size: 4KiB, file_size: 1MiB}}
stages: {warm_up: 1s, measure: {at_least: 10s, at_most: 10s}}
steady: none
";

/// A load of this host that lasts until it is stopped, and leaves it idle.
const LONG: &str = "
name: long
targets: {t: 'null:'}
workloads: {w: {ops: read, rate: 200/s, block_size: 4KiB, file_size: 1MiB}}
stages: {warm_up: 0s, measure: {at_least: 600s, at_most: 600s}}
steady: none
";

fn end(events: &[SentEvent]) -> &SentEvent {
    let last = events.last().expect("there are events");
    assert_eq!(last.kind, "end", "{last:?}");
    last
}

fn of_kind<'a>(events: &'a [SentEvent], kind: &str) -> Vec<&'a SentEvent> {
    events.iter().filter(|event| event.kind == kind).collect()
}

#[test]
fn a_posted_run_gives_what_the_command_line_gives() {
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let short = served.post("/api/v3/experiments/validate", EXACT);
    assert_eq!((short.status, &short.json()["cell_count"]), (200, &json!(1)), "{short:?}");
    assert_eq!(short.json()["expected_seconds"], json!({ "min": 11.0, "max": 11.0 }));

    let id = served.run(EXACT);
    let events = served.all_events(&id);
    assert_eq!(end(&events).data["state"], "finished", "{events:#?}");
    assert!(events.windows(2).all(|pair| pair[0].id + 1 == pair[1].id), "numbered without gaps");
    let measured: Vec<&SentEvent> =
        of_kind(&events, "interval").into_iter().filter(|event| event.data["stage"] == "measure").collect();
    let covered: f64 = measured.iter().map(|event| event.data["length_s"].as_f64().unwrap()).sum();
    assert!((covered - 10.0).abs() < 1e-6, "{covered} s in {} intervals", measured.len());
    let rate = measured[5].data["ops"][0]["ops_per_s"].as_f64().unwrap();
    assert!((3990.0..4010.0).contains(&rate), "{rate}");
    assert_eq!(of_kind(&events, "cell").len(), 1);
    assert!(
        of_kind(&events, "message").iter().any(|event| event.data["text"].as_str().unwrap().contains(&id))
    );
    // A reader that was away continues after the last event it had.
    let third = events[2].id;
    assert_eq!(served.events(&id, third).collect::<Vec<_>>(), events[3..]);

    let lab = Lab::new();
    assert_eq!(lab.run(EXACT).code, Some(0));
    let here = Store::open_existing(&state(&directory, "results.sqlite")).unwrap();
    let (posted, typed) = (here.cells(&id).unwrap(), lab.cells());
    let (posted, typed) = (posted[0].result.as_ref().unwrap(), typed[0].result.as_ref().unwrap());
    assert_eq!((&posted.total, &posted.steady, &posted.gates), (&typed.total, &typed.steady, &typed.gates));
    let mut show = Command::new(env!("CARGO_BIN_EXE_manometer"));
    let shown = run(show.args(["show", &id, "--results"]).arg(state(&directory, "results.sqlite")));
    assert!(shown.code == Some(0) && shown.stdout.contains(&id), "{shown:#?}");

    let cells = served.get_json(&format!("/api/v3/runs/{id}/cells"));
    assert_eq!(cells["cells"][0]["result"]["total"]["ok"], posted.total.ok);
    assert_eq!(cells["cells"][0]["state"], "finished");
    let page = served.get_json(&format!("/api/v3/runs/{id}/intervals?limit=4"));
    assert_eq!(page["intervals"].as_array().unwrap().len(), 4);
    let next = served.get_json(page["next"].as_str().unwrap());
    assert_eq!(next["intervals"][0]["interval"], 4);
    let report = served.get(&format!("/api/v3/runs/{id}/report"));
    assert!(report.status == 200 && report.head.contains("text/html"), "{}", report.head);
    let mut written = Command::new(env!("CARGO_BIN_EXE_manometer"));
    written.args(["report", &id, "--output-file", "-", "--results"]).arg(state(&directory, "results.sqlite"));
    assert!(report.body == run(&mut written).stdout, "the page of `manometer report`");
}

#[test]
fn runs_of_one_host_wait_for_each_other_and_can_be_stopped() {
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let (first, second, third) = (served.run(LONG), served.run(LONG), served.run(EXACT));
    served.wait_for_intervals(&first, 2);
    assert_eq!([&first, &second, &third].map(|id| served.state(id)), ["running", "queued", "queued"]);
    let removed = served.request("DELETE", &format!("/api/v3/runs/{second}"), "", "");
    assert_eq!((removed.status, &removed.json()["state"]), (200, &json!("cancelled")), "{removed:?}");
    let stopped = served.request("POST", &format!("/api/v3/runs/{first}/stop"), "", "");
    assert_eq!(stopped.status, 202, "{stopped:?}");
    let events = served.all_events(&first);
    assert_eq!(end(&events).data["state"], "interrupted");
    assert!(end(&events).data["reason"].as_str().unwrap().contains("stopped by a request"), "{events:#?}");
    assert_eq!(end(&served.all_events(&third)).data["state"], "finished", "its turn came");
    let store = Store::open_existing(&state(&directory, "results.sqlite")).unwrap();
    let cell = &store.cells(&first).unwrap()[0];
    assert!(cell.state == State::Interrupted && cell.result.as_ref().unwrap().total.ok > 0, "{cell:#?}");
    let left = std::fs::read_dir(state(&directory, "journal")).unwrap();
    assert_eq!(left.count(), 0, "nothing is left to remove");
    let page = served.get_json("/api/v3/runs?limit=2");
    assert_eq!(page["runs"].as_array().unwrap().len(), 2);
    let rest = served.get_json(page["next"].as_str().unwrap());
    assert_eq!((&rest["runs"][0]["id"], &rest["next"]), (&json!(first), &Value::Null));
}

#[test]
fn the_same_idempotency_key_makes_one_run() {
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let headers = "content-type: application/yaml\r\nidempotency-key: nightly-1\r\n";
    let post = |text: &str| served.request("POST", "/api/v3/runs", headers, text);
    let (first, again) = (post(EXACT), post(EXACT));
    assert_eq!((first.status, again.status), (202, 200));
    assert_eq!(first.json()["id"], again.json()["id"]);
    let other = post(LONG);
    assert_eq!((other.status, other.problem()), (422, "idempotency-key".to_owned()));
}

#[test]
fn runs_on_two_hosts_are_side_by_side_with_their_own_keys() {
    let mut stage = Stage::plain(1);
    let (one, two) = (stage.make_bucket("one"), stage.make_bucket("two"));
    stage.remember();
    let directory = directory();
    let served = Served::start(&directory, &["--allow-command"]);
    let experiment = |host: &str, bucket: &str, seconds: u32| {
        format!(
            "targets: {{data: '{}'}}\n\
             workloads: {{w: {{target: data, ops: get, objects: 4, object_size: 64KiB, queue_depth: 1}}}}\n\
             stages: {{warm_up: 0s, measure: {{at_least: {seconds}s, at_most: {seconds}s}}}}\n\
             steady: none\n\
             fleet: {{command: {{hosts: [{host}], command: ['{}', agent]}}}}\n",
            stage.s3_url(bucket),
            env!("CARGO_BIN_EXE_manometer")
        )
    };
    let keys = |access: &str, secret: &str| json!({ "data": { "id": access, "secret": secret } });
    let long = served.run_with_keys(&experiment("alpha", "one", 600), keys(&one.access, &one.secret));
    let short = served.run_with_keys(&experiment("beta", "two", 3), keys(&two.access, &two.secret));
    let wrong = served.run_with_keys(&experiment("gamma", "two", 3), keys(&one.access, &one.secret));
    served.wait_for_intervals(&long, 1);
    assert_eq!(end(&served.all_events(&short)).data["state"], "finished");
    assert_eq!(served.state(&long), "running", "the other one's end does not touch it");
    let refused = served.all_events(&wrong);
    assert_eq!(end(&refused).data["state"], "failed", "the first key does not open the second bucket");
    served.request("POST", &format!("/api/v3/runs/{long}/stop"), "", "");
    assert_eq!(end(&served.all_events(&long)).data["state"], "interrupted");
    let store = Store::open_existing(&state(&directory, "results.sqlite")).unwrap();
    let result = store.cells(&short).unwrap().remove(0).result.unwrap();
    assert!(result.total.failed == 0 && result.total.ok > 0, "{result:#?}");
    served.signal(Signal::TERM);
    let (code, messages) = served.finish();
    assert_eq!(code, Some(0), "{messages}");
    let mut everything = messages.into_bytes();
    for file in std::fs::read_dir(directory.path().join("state")).unwrap() {
        everything.extend(std::fs::read(file.unwrap().path()).unwrap_or_default());
    }
    for secret in [&one.secret, &two.secret] {
        let found = everything.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!found, "a secret is in a message or a file");
    }
    stage.assert_untouched();
}

#[test]
fn a_killed_service_keeps_what_was_measured_and_its_queue() {
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let (running, queued) = (served.run(LONG), served.run(EXACT));
    served.wait_for_intervals(&running, 2);
    served.signal(Signal::KILL);
    assert_eq!(served.finish().0, None);

    let served = Served::start(&directory, &[]);
    let run = served.get_json(&format!("/api/v3/runs/{running}"));
    assert_eq!(run["state"], "interrupted");
    assert!(run["reason"].as_str().unwrap().contains("the service ended while it ran"), "{run}");
    let intervals = served.get_json(&format!("/api/v3/runs/{running}/intervals"));
    assert!(!intervals["intervals"].as_array().unwrap().is_empty());
    let events = served.all_events(&running);
    assert_eq!((events.len(), &end(&events).data["state"]), (1, &json!("interrupted")));
    assert_eq!(end(&served.all_events(&queued)).data["state"], "finished", "the queue survived");
    let store = Store::open_existing(&state(&directory, "results.sqlite")).unwrap();
    assert_eq!(store.run(&running).unwrap().state, State::Interrupted);
}

#[test]
fn a_signal_ends_runs_cleanly_and_leaves_the_queue_for_the_next_service() {
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let (running, queued) = (served.run(LONG), served.run(EXACT));
    served.wait_for_intervals(&running, 1);
    served.signal(Signal::TERM);
    let (code, messages) = served.finish();
    assert!(code == Some(0) && messages.contains("stopped by SIGTERM"), "{code:?}: {messages}");
    let store = Store::open_existing(&state(&directory, "results.sqlite")).unwrap();
    let cell = &store.cells(&running).unwrap()[0];
    assert!(cell.state == State::Interrupted && cell.result.is_some(), "{cell:#?}");
    let served = Served::start(&directory, &[]);
    assert_eq!(end(&served.all_events(&queued)).data["state"], "finished");
}

#[test]
fn fifty_readers_and_one_that_never_reads_hold_nothing_up() {
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let id = served.run(LONG);
    let silent = served.events(&id, 0);
    let seen = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..50).map(|_| scope.spawn(|| served.all_events(&id))).collect();
        served.wait_for_intervals(&id, 3);
        served.request("POST", &format!("/api/v3/runs/{id}/stop"), "", "");
        readers.into_iter().map(|reader| reader.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(seen.iter().all(|events| *events == seen[0]), "all see the same");
    assert_eq!(end(&seen[0]).data["state"], "interrupted");
    drop(silent);
    wait_until("a free service", || served.get("/api/v3/runs").status == 200);
}

#[test]
fn metrics_show_the_runs_under_way_and_no_others() {
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let scrape = || {
        let answer = served.get("/metrics");
        assert!(answer.status == 200 && answer.head.contains("application/openmetrics-text"), "{answer:?}");
        assert!(answer.body.ends_with("# EOF\n"), "{answer:?}");
        answer.body
    };
    let idle = scrape();
    assert!(idle.contains("manometer_queue_length 0") && idle.contains("manometer_running_runs 0"), "{idle}");
    let experiment = LONG.replace("name: long", "name: 'say \"hi\"'");
    let (running, waiting) = (served.run(&experiment), served.run(LONG));
    served.wait_for_intervals(&running, 2);
    let busy = scrape();
    assert!(busy.contains("manometer_queue_length 1") && busy.contains("manometer_running_runs 1"), "{busy}");
    let labels = format!(
        "{{run=\"{running}\",experiment=\"say \\\"hi\\\"\",cell=\"0\",target=\"t\",stage=\"measure\",operation=\"read\""
    );
    let value = |name: &str, more: &str| -> f64 {
        let start = format!("manometer_{name}{labels}{more}}} ");
        let line = busy.lines().find_map(|line| line.strip_prefix(&start));
        line.unwrap_or_else(|| panic!("no {start} in {busy}")).parse().unwrap()
    };
    assert!((1.0..=1000.0).contains(&value("operations_per_second", "")));
    assert!((4096.0..=4096e3).contains(&value("bytes_per_second", "")));
    assert_eq!(value("interval_failed_operations", ""), 0.0);
    let (median, max) = (
        value("interval_response_time_seconds", ",quantile=\"0.5\""),
        value("interval_response_time_seconds", ",quantile=\"1\""),
    );
    assert!(0.0 < median && median <= max, "{median} {max}");
    assert!(value("response_time_seconds_count", "") > 0.0);
    served.request("DELETE", &format!("/api/v3/runs/{waiting}"), "", "");
    served.request("POST", &format!("/api/v3/runs/{running}/stop"), "", "");
    assert_eq!(end(&served.all_events(&running)).data["state"], "interrupted");
    let after = scrape();
    assert!(after.contains("manometer_queue_length 0") && !after.contains(&running), "{after}");
}

#[test]
fn a_job_file_of_fio_runs_as_the_command_line_runs_it() {
    const JOBS: &str = "[global]\nioengine=null\nsize=1m\nbs=4k\nio_size=2m\n[one]\nrw=read\n[two]\nstonewall\nrw=randwrite\n";
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let headers = "content-type: application/json\r\nidempotency-key: jobs-1\r\n";
    let post = |path: &str, body: &Value| served.request("POST", path, headers, &body.to_string());
    let body = json!({ "jobs": JOBS, "name": "nightly" });
    let (first, again) = (post("/api/v3/fio-jobs", &body), post("/api/v3/fio-jobs", &body));
    assert_eq!((first.status, again.status), (202, 200), "{first:?}");
    let id = first.json()["id"].as_str().unwrap().to_owned();
    assert_eq!((&first.json()["name"], &again.json()["id"]), (&json!("nightly"), &json!(id)));
    assert_eq!(end(&served.all_events(&id)).data["state"], "finished");
    let cells = served.get_json(&format!("/api/v3/runs/{id}/cells"));
    let totals = |cell: usize| {
        let ops = cells["cells"][cell]["result"]["ops"].as_array().unwrap();
        ops.iter().map(|op| (op["op"].clone(), op["ok"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(
        (totals(0), totals(1)),
        (vec![(json!("read"), json!(512))], vec![(json!("write"), json!(512))])
    );

    let converted = post("/api/v3/fio-jobs/convert", &body).json();
    assert_eq!((&converted["hosts"], &converted["cell_count"]), (&json!(["this host"]), &json!(2)));
    assert_eq!(converted["experiment"], served.get(&format!("/api/v3/runs/{id}/experiment")).body);
    for (body, status, code) in [
        (json!({ "jobs": "[a]\nrw=read\nsize=1m\n" }), 422, "jobs"),
        (json!({ "jobs": "[a]\nrw=sideways\n" }), 422, "jobs"),
        (json!({ "jobs": JOBS, "hosts": ["a;b"] }), 400, "hosts"),
        (json!({ "jobs": JOBS, "name": " " }), 400, "name"),
        (json!({ "jobs": JOBS, "host": "a" }), 400, "json"),
        (json!({ "jobs": JOBS, "name": "weekly" }), 422, "idempotency-key"),
    ] {
        let answer = post("/api/v3/fio-jobs", &body);
        assert_eq!((answer.status, &*answer.problem()), (status, code), "{body}: {answer:?}");
    }
}
