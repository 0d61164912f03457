//! `manometer serve`: checks of storage, from their post to their report, and what remains of those that do not end.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod serve_support;
mod support;

use std::path::Path;
use std::process::Command;

use run_support::names;
use rustix::process::Signal;
use serde_json::{Value, json};
use serve_support::{SentEvent, Served, directory, state};
use support::{Stage, run};
use tempfile::TempDir;

const CHECKS: &str = "/api/v3/checks";
const CLEAN_UPS: &str = "/api/v3/clean-ups";

/// A short check with little load; `source` says of what.
fn short(source: &Value, seconds: u32) -> Value {
    let mut body = json!({
        "duration": format!("{seconds}s"), "workers": 1, "lanes": 2, "connections": 1, "block_size": "64KiB",
        "object_size": "128KiB", "dataset": "8MiB", "connect_timeout": "30s", "no_probe": true,
    });
    body.as_object_mut().unwrap().extend(source.as_object().unwrap().clone());
    body
}

/// The export, with the ports on which the stage really listens.
fn of_export(stage: &Stage) -> Value {
    json!({
        "nfs": [stage.nfs_url("projects")], "mount_port": stage.mount_port(), "portmap_port": stage.portmap_port(),
    })
}

fn stage_with_export() -> Stage {
    let mut stage = Stage::plain(1);
    stage.make_file_system("projects", "*(rw,no_root_squash)");
    stage.remember();
    stage
}

/// Runs a check to its end, and repeats it for longer while this machine is so busy that nothing is acknowledged in time;
/// returns its id and its result.
fn checked(served: &Served, source: &Value) -> (String, Value) {
    for seconds in [1, 4, 16] {
        let id = served.work(CHECKS, &short(source, seconds));
        let last = served.all_events(&id).pop().unwrap();
        assert_eq!(last.data["state"], "finished", "{last:?}");
        let result = served.get_json(&format!("/api/v3/runs/{id}/result"));
        let late = |row: &Value| row["result"] == "NOT MEASURED";
        if !result["rows"].as_array().unwrap().iter().any(late) {
            assert_eq!(result["success"], true, "{result:#}");
            assert_eq!(last.data["reason"], Value::Null);
            return (id, result);
        }
    }
    panic!("nothing was acknowledged in 16 s");
}

fn assert_conforms(result: &Value) {
    let schema: Value = serde_json::from_str(include_str!("../../../schemas/check.schema.json")).unwrap();
    let validator = jsonschema::draft202012::options().build(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(result).map(|error| format!("{}: {error}", error.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

fn of_kind<'a>(events: &'a [SentEvent], kind: &str) -> Vec<&'a SentEvent> {
    events.iter().filter(|event| event.kind == kind).collect()
}

/// Nothing of it is in any file below the service's directory.
fn assert_absent(directory: &TempDir, secret: &str) {
    fn files(directory: &Path) -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }
    for path in files(&directory.path().join("state")) {
        let content = std::fs::read(&path).unwrap();
        let found = content.windows(secret.len()).any(|part| part == secret.as_bytes());
        assert!(!found, "{} contains the secret", path.display());
    }
}

#[test]
fn a_demonstration_is_a_run_like_any_other() {
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let (id, result) = checked(&served, &json!({ "demo": true }));
    assert_conforms(&result);
    assert_eq!((&result["run_id"], &result["settings"]["lanes"]), (&json!(id), &json!(2)));
    assert_eq!(result["rows"].as_array().unwrap().len(), 4, "NFS and S3 through two addresses");

    let events = served.all_events(&id);
    assert_eq!(events[0].data["state"], "queued");
    assert!(!of_kind(&events, "interval").is_empty(), "{events:#?}");
    let cells = of_kind(&events, "cell");
    assert!(cells.len() == 8 && cells.iter().all(|cell| cell.data["state"] == "finished"), "{cells:#?}");
    let shown = served.get_json(&format!("/api/v3/runs/{id}"));
    assert_eq!((&shown["kind"], &shown["name"]), (&json!("check"), &json!("check")));
    assert_eq!(shown["hosts"], json!(["this host"]));
    assert_eq!((&shown["links"]["experiment"], shown["links"]["result"].is_string()), (&Value::Null, true));
    let cells = served.get_json(&format!("/api/v3/runs/{id}/cells"));
    assert_eq!(cells["cells"].as_array().unwrap().len(), 8);
    let intervals = served.get_json(&format!("/api/v3/runs/{id}/intervals?cell=1"));
    assert!(!intervals["intervals"].as_array().unwrap().is_empty(), "{intervals}");
    let report = served.get(&format!("/api/v3/runs/{id}/report"));
    assert!(report.status == 200 && report.body.contains("nfs 127."), "{}", report.head);
    let posted = served.get(&format!("/api/v3/runs/{id}/request"));
    assert_eq!((posted.status, &posted.json()["demo"]), (200, &json!(true)));
    assert!(posted.head.contains("content-type: application/json"), "{}", posted.head);
    assert_eq!(served.get(&format!("/api/v3/runs/{id}/experiment")).problem(), "not-an-experiment");
    let compared = served.get(&format!("/api/v3/runs/{id}/compare?with={id}"));
    assert_eq!((compared.status, &compared.json()["a"]["id"]), (200, &json!(id)));
    assert_eq!(names(&state(&directory, "scratch")), Vec::<String>::new());

    let experiment = served.run("targets: {t: 'sim:'}\nworkloads: {w: {ops: read}}\nstages: {measure: 5s}\n");
    assert_eq!(served.get_json(&format!("/api/v3/runs/{experiment}"))["kind"], "experiment");
    assert_eq!(served.get(&format!("/api/v3/runs/{experiment}/result")).problem(), "experiment");
}

#[test]
fn two_checks_of_an_export_are_compared_and_leave_nothing() {
    let stage = stage_with_export();
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let (first, _) = checked(&served, &of_export(&stage));
    let (second, result) = checked(&served, &of_export(&stage));
    assert_eq!(result["rows"][0]["data_vip"], stage.ip(0).to_string());
    let compared = served.get_json(&format!("/api/v3/runs/{second}/compare?with={first}"));
    let cell = format!("nfs write address={}", stage.ip(0));
    let cells = compared["cells"].as_array().unwrap();
    assert!(cells.iter().any(|found| found["cell"] == *cell), "{compared:#}");
    let history = served.get_json("/api/v3/history?name=check");
    assert_eq!(history["runs"].as_array().map(Vec::len), Some(2), "{history}");
    stage.assert_untouched();
    assert_eq!(names(&state(&directory, "journal")), Vec::<String>::new());
}

#[test]
fn the_token_and_the_keys_stay_in_memory() {
    let mut stage = Stage::new(1);
    stage.remember();
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let token = stage.array.token().reveal().to_owned();
    let array = json!({
        "array": {
            "management": stage.array.management_address().to_string(), "token": token,
            "tls_fingerprint": stage.array.fingerprint().unwrap(),
        },
        "mount_port": stage.mount_port(), "portmap_port": stage.portmap_port(), "s3_port": stage.s3_port(),
    });
    let (id, result) = checked(&served, &array);
    assert_eq!(result["array"]["management"], stage.array.management_address().to_string());
    assert_eq!(result["rows"].as_array().unwrap().len(), 2, "NFS and S3");
    stage.assert_untouched();

    let mut bucket = Stage::plain(1);
    let keys = bucket.make_bucket("archive");
    bucket.remember();
    let wrong = "a-canary-of-a-secret-that-opens-nothing";
    let of_bucket = |secret: &str| {
        let keys = json!({ "s3": { "id": keys.access, "secret": secret } });
        json!({ "s3": [bucket.s3_url("archive")], "keys": keys })
    };
    let (with_keys, _) = checked(&served, &of_bucket(&keys.secret));
    bucket.assert_untouched();
    // A refused secret is in no error either.
    let refused = served.work(CHECKS, &short(&of_bucket(wrong), 1));
    let last = served.all_events(&refused).pop().unwrap();
    assert_eq!(last.data["state"], "finished", "{last:?}");
    assert!(last.data["reason"].as_str().unwrap().contains("broken"), "{last:?}");

    for secret in [&*token, &*keys.secret, wrong] {
        for id in [&id, &with_keys, &refused] {
            for part in ["", "/events", "/cells", "/result", "/report", "/request"] {
                let answer = served.get(&format!("/api/v3/runs/{id}{part}"));
                assert!(answer.status == 200 && !answer.body.contains(secret), "{part}");
            }
        }
        assert!(!served.messages().contains(secret));
        assert_absent(&directory, secret);
    }
    assert_eq!(names(&state(&directory, "journal")), Vec::<String>::new());
}

#[test]
fn a_stopped_check_leaves_nothing_and_a_waiting_one_is_taken_from_the_queue() {
    let stage = stage_with_export();
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let first = served.work(CHECKS, &short(&of_export(&stage), 600));
    let second = served.work(CHECKS, &short(&of_export(&stage), 600));
    served.wait_for_intervals(&first, 1);
    assert_eq!([&first, &second].map(|id| served.state(id)), ["running", "queued"]);
    assert_eq!(served.get(&format!("/api/v3/runs/{first}/result")).problem(), "no-results");
    assert_eq!(names(&state(&directory, "journal")).len(), 1);
    let removed = served.request("DELETE", &format!("/api/v3/runs/{second}"), "", "");
    assert_eq!((removed.status, &removed.json()["state"]), (200, &json!("cancelled")), "{removed:?}");
    let stopped = served.request("POST", &format!("/api/v3/runs/{first}/stop"), "", "");
    assert_eq!(stopped.status, 202, "{stopped:?}");
    let last = served.all_events(&first).pop().unwrap();
    assert_eq!(last.data, json!({ "state": "interrupted", "reason": "stopped by a request" }));
    let result = served.get_json(&format!("/api/v3/runs/{first}/result"));
    assert_conforms(&result);
    assert_eq!((&result["interrupted_by"], &result["success"]), (&json!("a request"), &json!(false)));
    stage.assert_untouched();
    assert_eq!(names(&state(&directory, "journal")), Vec::<String>::new());
    for id in [&first, &second] {
        let refused = served.request("POST", &format!("/api/v3/runs/{id}/resume"), "", "");
        assert_eq!((refused.status, &*refused.problem()), (409, "not-an-experiment"));
        assert!(refused.body.contains("next: post it again (POST /api/v3/checks)"), "{refused:?}");
    }
}

#[test]
fn a_check_of_a_killed_service_is_interrupted_and_can_be_cleaned_up() {
    let stage = stage_with_export();
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let id = served.work(CHECKS, &short(&of_export(&stage), 600));
    let mut queued = vec![served.work(CHECKS, &short(&of_export(&stage), 600))];
    let keys = json!({ "s3": { "id": "me", "secret": "canary" } });
    queued.push(served.work(CHECKS, &json!({ "s3": ["s3://b?endpoint=http://127.0.0.1:9"], "keys": keys })));
    served.wait_for_intervals(&id, 1);
    served.signal(Signal::KILL);
    assert_eq!(served.finish().0, None);

    let served = Served::start(&directory, &[]);
    let found = served.get_json(&format!("/api/v3/runs/{id}"));
    let reason = found["reason"].as_str().unwrap();
    assert!(
        found["state"] == "interrupted" && reason.contains("next: post it again; or `manometer"),
        "{found}"
    );
    assert_eq!(served.get(&format!("/api/v3/runs/{id}/result")).problem(), "no-results");
    let intervals = served.get_json(&format!("/api/v3/runs/{id}/intervals"));
    assert!(!intervals["intervals"].as_array().unwrap().is_empty(), "{intervals}");
    let lost = served.get_json(&format!("/api/v3/runs/{}", queued[1]));
    assert!(lost["state"] == "interrupted" && lost["reason"].as_str().unwrap().contains("post it again"));
    // What waits without secrets is started by the next service.
    served.wait_for_intervals(&queued[0], 1);
    served.signal(Signal::TERM);
    assert_eq!(served.finish().0, Some(0));

    let mut clean_up = Command::new(env!("CARGO_BIN_EXE_manometer"));
    let ended = run(clean_up.args(["cleanup", "--journal-dir"]).arg(state(&directory, "journal")));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(names(&state(&directory, "journal")), Vec::<String>::new());
    stage.assert_untouched();
}

#[test]
fn what_a_killed_check_left_on_an_array_is_listed_and_removed_by_a_request() {
    let mut stage = Stage::new(1);
    stage.remember();
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let (address, token) =
        (stage.array.management_address().to_string(), stage.array.token().reveal().to_owned());
    let array = json!({
        "array": { "management": address, "token": token, "tls_fingerprint": stage.array.fingerprint().unwrap() },
        "mount_port": stage.mount_port(), "portmap_port": stage.portmap_port(), "s3_port": stage.s3_port(),
    });
    let id = served.work(CHECKS, &short(&array, 600));
    served.wait_for_intervals(&id, 1);
    // Under way, nothing is left, and nothing is removed.
    assert_eq!(served.get_json("/api/v3/leftovers")["leftovers"], json!([]));
    let clean_up = json!({ "run": id, "token": token });
    assert_eq!(served.post_json(CLEAN_UPS, &clean_up).problem(), "under-way");
    served.signal(Signal::KILL);
    assert_eq!(served.finish().0, None);

    let served = Served::start(&directory, &[]);
    let left = served.get_json("/api/v3/leftovers")["leftovers"].clone();
    assert_eq!(
        (&left[0]["run"], &left[0]["array"], &left[0]["state"]),
        (&json!(id), &json!(address), &json!("interrupted"))
    );
    let kinds: Vec<&str> =
        left[0]["items"].as_array().unwrap().iter().map(|item| item["kind"].as_str().unwrap()).collect();
    for kind in ["file-system", "bucket", "account", "user"] {
        assert!(kinds.contains(&kind), "{kind} is not among {kinds:?}");
    }
    let arrays = served.get_json("/api/v3/arrays")["arrays"].clone();
    assert_eq!(
        (&arrays[0]["address"], &arrays[0]["left_count"]),
        (&json!(address), &json!(kinds.len())),
        "{arrays}"
    );

    // A token is needed, and a wrong one removes nothing and is kept nowhere.
    let refused = served.post_json(CLEAN_UPS, &json!({ "run": id }));
    assert_eq!((refused.status, &refused.json()["field"]), (422, &json!("token")), "{refused:?}");
    let wrong = "a-canary-of-a-token-that-opens-nothing";
    let failed = served.work(CLEAN_UPS, &json!({ "run": id, "token": wrong }));
    let last = served.all_events(&failed).pop().unwrap();
    assert!(last.data["state"] == "finished" && last.data["reason"].is_string(), "{last:?}");
    assert_eq!(served.get_json(&format!("/api/v3/runs/{failed}/result"))["removed"], json!([]));

    let headers = "Content-Type: application/json\r\nIdempotency-Key: once\r\n";
    let first = served.request("POST", CLEAN_UPS, headers, &clean_up.to_string());
    assert_eq!((first.status, &first.json()["kind"]), (202, &json!("clean-up")), "{first:?}");
    let cleaning = first.json()["id"].as_str().unwrap().to_owned();
    let last = served.all_events(&cleaning).pop().unwrap();
    assert_eq!(last.data, json!({ "state": "finished", "reason": null }));
    let result = served.get_json(&format!("/api/v3/runs/{cleaning}/result"));
    assert_eq!((&result["cleaned"], &result["left"]), (&json!(true), &json!([])), "{result}");
    assert_eq!(result["removed"].as_array().map(Vec::len), Some(kinds.len()), "{result}");
    // Repeated, it is the same run, although nothing is left.
    let again = served.request("POST", CLEAN_UPS, headers, &clean_up.to_string());
    assert_eq!((again.status, &again.json()["id"]), (200, &json!(cleaning)), "{again:?}");
    assert_eq!(served.post_json(CLEAN_UPS, &clean_up).problem(), "no-leftovers");
    stage.assert_untouched();
    assert_eq!(names(&state(&directory, "journal")), Vec::<String>::new());
    for secret in [wrong, &*token] {
        assert!(!served.messages().contains(secret));
        assert_absent(&directory, secret);
    }

    // A check that ends says what it created.
    let (id, result) = checked(&served, &array);
    assert!(!result["array"]["created"].as_array().unwrap().is_empty(), "{result}");
    let path = format!("/api/v3/arrays/{}", address.replace(':', "%3A"));
    let shown = served.get_json(&path);
    assert_eq!((&shown["runs"][0]["id"], &shown["left"]), (&json!(id), &json!([])), "{shown}");
    assert_eq!(shown["runs"][0]["created"], result["array"]["created"]);
    assert_eq!(shown["api_version"], result["array"]["api_version"]);
    assert_eq!(served.get("/api/v3/arrays/nowhere").problem(), "no-such-array");
}

#[test]
fn wrong_requests_name_their_field_and_start_nothing() {
    let directory = directory();
    let served = Served::start(&directory, &["--allow-local", "--allow-command", "--allow-path", "/"]);
    for (body, field, said) in [
        (json!({}), Value::Null, "names no storage"),
        (json!({ "demo": true, "seconds": 1 }), json!("seconds"), "unknown field"),
        (json!({ "demo": true, "duration": 1 }), json!("duration"), "a string"),
        (json!({ "nfs": ["http://h/x"] }), json!("nfs"), "nfs://"),
        (json!({ "s3": ["s3://b?endpoint=https://h&tls_ca=/etc/passwd"] }), json!("s3"), "reads files"),
        (
            json!({ "array": { "management": "h", "token_file": "/x" } }),
            json!("array.token_file"),
            "unknown field",
        ),
        (json!({ "array": { "management": "h", "token": ["canary"] } }), json!("array.token"), "a string"),
    ] {
        let answer = served.post_json(CHECKS, &body);
        assert_eq!((answer.status, answer.problem()), (422, "field".to_owned()), "{answer:?}");
        let problem = answer.json();
        assert_eq!(problem.get("field").unwrap_or(&Value::Null), &field, "{problem}");
        assert!(problem["detail"].as_str().unwrap().contains(said), "{problem}");
        assert!(!answer.body.contains("canary"), "{problem}");
    }
    let json = "content-type: application/json\r\n";
    for (headers, body, status, code) in [
        (json, "{\"demo\": tru}", 400, "json"),
        (json, "", 400, "json"),
        (json, "[]", 400, "json"),
        ("content-type: application/yaml\r\n", "demo: true", 415, "content-type"),
        ("content-type: application/json\r\norigin: http://evil.example\r\n", "{}", 403, "cross-site"),
    ] {
        let answer = served.request("POST", CHECKS, headers, body);
        assert_eq!((answer.status, &*answer.problem()), (status, code), "{body}: {answer:?}");
    }
    let keyed = |body: &Value| {
        let headers = format!("{json}idempotency-key: nightly\r\n");
        served.request("POST", CHECKS, &headers, &body.to_string())
    };
    assert_eq!(served.get_json("/api/v3/runs")["runs"], json!([]), "nothing was started");
    let body = json!({ "nfs": ["nfs://127.0.0.1:9/x"], "connect_timeout": "1s" });
    let (first, again) = (keyed(&body), keyed(&body));
    assert_eq!((first.status, again.status), (202, 200), "{first:?} {again:?}");
    assert_eq!(first.json()["id"], again.json()["id"]);
    assert_eq!(keyed(&json!({ "demo": true })).problem(), "idempotency-key");
}
