//! `manometer serve`: schedules on a virtual clock, and the gate and webhook of a storage system that gets slower.
//!
//! The service of the first ones keeps its state in files; by `tests/real/postgres.sh`, on a PostgreSQL server.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod serve_support;
mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use array::faults::{FaultPlan, PathRule};
use database::DatabaseServer;
use exporters::PushOptions;
use jiff::Timestamp;
use rustix::process::Signal;
use serde_json::{Value, json};
use serve_support::{Served, directory};
use service::{RequestPolicy, ServeOptions, Service, ServiceTls, WebhookPolicy};
use support::{Stage, wait_until};
use tempfile::TempDir;

/// Finished at once, on a virtual clock of its own.
const EXACT: &str = "
name: exact
targets: {t: 'sim:?latency=1ms'}
workloads: {w: {ops: read, queue_depth: 4, block_size: 4KiB, file_size: 1MiB}}
stages: {warm_up: 1s, measure: {at_least: 10s, at_most: 10s}}
steady: none
";

/// Occupies this host until it is stopped.
const LONG: &str = "
name: long
targets: {t: 'null:'}
workloads: {w: {ops: read, rate: 200/s, block_size: 4KiB, file_size: 1MiB}}
stages: {warm_up: 0s, measure: {at_least: 600s, at_most: 600s}}
steady: none
";

/// The tests' PostgreSQL server, if they run on one.
fn database() -> Option<DatabaseServer> {
    let url = std::env::var("MANOMETER_TEST_DATABASE").ok()?;
    let password = std::fs::read_to_string(std::env::var("MANOMETER_TEST_PASSWORD_FILE").unwrap()).unwrap();
    Some(DatabaseServer::new(&url, Some(password.trim()), None).unwrap())
}

/// A service of this process with a clock that the test sets.
struct OnVirtualClock {
    service: Service,
    seconds: Arc<AtomicI64>,
}

impl OnVirtualClock {
    fn start(directory: &TempDir, time: &str) -> Self {
        let seconds = Arc::new(AtomicI64::new(0));
        let read = Arc::clone(&seconds);
        let options = ServeOptions {
            listen: "127.0.0.1:0".parse().unwrap(),
            directory: directory.path().join("state"),
            database: database(),
            token: None,
            tls: ServiceTls::Off,
            host_names: Vec::new(),
            policy: RequestPolicy::default(),
            program: env!("CARGO_BIN_EXE_manometer").into(),
            ssh_options: Vec::new(),
            storperf_sample: Duration::from_secs(60),
            request_cpu_percent: 100,
            pushes: PushOptions::default(),
            webhooks: WebhookPolicy::default(),
            clock: Arc::new(move || Timestamp::from_second(read.load(Ordering::Relaxed)).unwrap()),
            notes: Arc::new(|_| {}),
        };
        seconds.store(time.parse::<Timestamp>().unwrap().as_second(), Ordering::Relaxed);
        Self { service: Service::start(options).unwrap(), seconds }
    }

    fn set(&self, time: &str) {
        self.seconds.store(time.parse::<Timestamp>().unwrap().as_second(), Ordering::Relaxed);
    }

    /// A request; its status and JSON.
    fn request(&self, method: &str, path: &str, kind: &str, body: &str) -> (u16, Value) {
        exchange(self.service.address(), method, path, kind, body)
    }

    fn get(&self, path: &str) -> Value {
        let (status, json) = self.request("GET", path, "application/json", "");
        assert_eq!(status, 200, "{json}");
        json
    }

    fn schedule(&self, id: &str) -> Value {
        self.get(&format!("/api/v3/schedules/{id}"))
    }

    /// Waits until a schedule has this many runs and all have ended.
    fn wait_for_runs(&self, id: &str, count: usize) -> Value {
        let mut found = Value::Null;
        wait_until("the runs of a schedule", || {
            found = self.schedule(id);
            let runs = found["runs"].as_array().unwrap();
            runs.len() == count && runs.iter().all(|run| run["gate"].is_object())
        });
        found
    }
}

fn exchange(address: SocketAddr, method: &str, path: &str, kind: &str, body: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!("{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    stream
        .write_all(format!("{head}content-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}").as_bytes())
        .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, serde_json::from_str(body).unwrap_or(Value::Null))
}

#[test]
fn a_schedule_starts_runs_at_its_times_and_survives_restarts() {
    let directory = directory();
    // In Berlin, clocks go back on 25 October.
    let served = OnVirtualClock::start(&directory, "2026-10-23T12:00:00Z");
    let form = json!({ "experiment": EXACT, "every": "1d at 02:30", "time_zone": "Europe/Berlin" });
    let (status, made) = served.request("POST", "/api/v3/schedules", "application/json", &form.to_string());
    assert_eq!(status, 201, "{made}");
    let next = json!(["2026-10-24T02:30:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"]);
    assert_eq!((&made["next"], &made["name"]), (&next, &json!("exact")));
    let id = made["id"].as_str().unwrap().to_owned();
    served.set("2026-10-24T00:30:02Z");
    let found = served.wait_for_runs(&id, 1);
    assert_eq!(found["runs"][0]["gate"]["verdict"], "first");
    assert_eq!((&found["next"][0], &found["missed"]), (&next[1], &json!(0)));
    served.set("2026-10-25T00:31:00Z");
    let found = served.wait_for_runs(&id, 2);
    assert_eq!(found["runs"][0]["gate"]["verdict"], "passed", "{found}");
    assert_eq!(found["runs"][0]["gate"]["reference"], json!([found["runs"][1]["id"]]));

    // Paused for a night: nothing starts, and nothing was missed.
    let (status, paused) = served.request("POST", &format!("/api/v3/schedules/{id}/pause"), "", "");
    assert_eq!((status, &paused["paused"], &paused["next"]), (200, &json!(true), &json!([])));
    served.set("2026-10-26T12:00:00Z");
    let (_, going) = served.request("POST", &format!("/api/v3/schedules/{id}/continue"), "", "");
    assert_eq!(going["next"][0], "2026-10-27T02:30:00+01:00");
    drop(served);

    // Down for three nights: one run for all of them.
    let served = OnVirtualClock::start(&directory, "2026-10-29T12:00:00Z");
    let found = served.wait_for_runs(&id, 3);
    assert_eq!((&found["missed"], &found["next"][0]), (&json!(2), &json!("2026-10-30T02:30:00+01:00")));

    // Its host is occupied: one run waits, and the next time is skipped.
    let (_, long) = served.request("POST", "/api/v3/runs", "application/yaml", LONG);
    let long = format!("/api/v3/runs/{}", long["id"].as_str().unwrap());
    wait_until("the long run", || served.get(&long)["state"] == "running");
    served.set("2026-10-30T01:30:01Z");
    wait_until("a run that waits", || served.schedule(&id)["runs"][0]["state"] == "queued");
    served.set("2026-10-31T01:30:01Z");
    wait_until("the skipped time", || served.schedule(&id)["skipped"] == 1);
    let found = served.schedule(&id);
    assert!(found["problem"].as_str().unwrap().contains("still queued"), "{found}");
    assert_eq!(found["runs"].as_array().unwrap().len(), 4);
    let (status, refused) = served.request("POST", &format!("/api/v3/schedules/{id}/start"), "", "");
    assert_eq!((status, &refused["code"]), (409, &json!("still-queued")));
    served.request("POST", &format!("{long}/stop"), "", "");
    let found = served.wait_for_runs(&id, 4);
    let (status, _) = served.request("DELETE", &format!("/api/v3/schedules/{id}"), "", "");
    assert_eq!(status, 204);
    assert_eq!(served.get("/api/v3/schedules"), json!({ "schedules": [] }));
    let run = served.get(&format!("/api/v3/runs/{}", found["runs"][0]["id"].as_str().unwrap()));
    assert_eq!((&run["schedule"], &run["gate"]["verdict"]), (&json!(id), &json!("passed")), "its runs stay");
}

#[test]
fn the_same_idempotency_key_makes_one_schedule() {
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let post = |form: &Value| {
        let headers = "content-type: application/json\r\nidempotency-key: nightly-1\r\n";
        served.request("POST", "/api/v3/schedules", headers, &form.to_string())
    };
    let form = json!({ "experiment": EXACT, "every": "1d at 02:00" });
    let (first, again) = (post(&form), post(&form));
    assert_eq!((first.status, again.status), (201, 200), "{again:?}");
    assert_eq!(first.json(), again.json());
    for (field, value) in
        [("every", json!("2d at 02:00")), ("threshold", json!(0.1)), ("experiment", json!(LONG))]
    {
        let mut other = form.clone();
        other[field] = value;
        let refused = post(&other);
        assert_eq!((refused.status, &*refused.problem()), (422, "idempotency-key"));
    }
    let path = format!("/api/v3/schedules/{}", first.json()["id"].as_str().unwrap());
    assert_eq!(served.request("DELETE", &path, "", "").status, 204);
    assert_eq!(post(&form).status, 201, "the key went with the schedule");
    assert_eq!(served.get_json("/api/v3/schedules")["schedules"].as_array().unwrap().len(), 1);
}

#[test]
fn times_missed_are_skipped_if_the_schedule_says_so() {
    let directory = directory();
    let served = OnVirtualClock::start(&directory, "2026-10-23T12:00:00Z");
    let form = json!({ "experiment": EXACT, "every": "6h", "missed_rule": "skip" });
    let (_, made) = served.request("POST", "/api/v3/schedules", "application/json", &form.to_string());
    let id = made["id"].as_str().unwrap().to_owned();
    drop(served);
    let served = OnVirtualClock::start(&directory, "2026-10-24T13:00:00Z");
    wait_until("the skipped times", || served.schedule(&id)["missed"] == 4);
    let found = served.schedule(&id);
    assert_eq!((&found["runs"], &found["next"][0]), (&json!([]), &json!("2026-10-24T18:00:00+00:00")));
}

/// Two workers of a cell, three times: runs are compared with their spread.
const NIGHTLY: &str = "
name: nightly
targets: {t: {url: 'NFS_URL', mount_port: MOUNT_PORT}}
workloads: {w: {ops: read, block_size: 4KiB, file_size: 64KiB, queue_depth: 2}}
stages: {warm_up: 0s, measure: {at_least: 1s, at_most: 1s}}
matrix: {repetitions: 3}
steady: none
";

/// What a receiver of webhooks got: heads and bodies.
type Received = Arc<Mutex<Vec<(String, Value)>>>;

/// Answers the first request with 503 and the others with 204.
fn receive(listener: TcpListener) -> Received {
    let received = Received::default();
    let own = Arc::clone(&received);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                assert!(lines.read_line(&mut head).unwrap() > 0, "{head}");
            }
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            let mut body = vec![0; length.parse().unwrap()];
            lines.read_exact(&mut body).unwrap();
            let mut all = own.lock().unwrap();
            let status = if all.is_empty() { "503 Service Unavailable" } else { "204 No Content" };
            all.push((head, serde_json::from_slice(&body).unwrap()));
            drop(all);
            let answer = format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
            stream.write_all(answer.as_bytes()).unwrap();
        }
    });
    received
}

fn slow_down(stage: &Stage, latency: &str) {
    let rule = PathRule { latency: Some(latency.parse().unwrap()), ..PathRule::default() };
    stage.array.faults().set(FaultPlan { paths: vec![rule], ..FaultPlan::default() });
}

#[test]
fn a_storage_system_that_gets_slower_is_reported_by_webhook_and_in_the_api() {
    let stage = Stage::plain(1);
    stage.make_file_system("projects", "*(rw,no_root_squash)");
    slow_down(&stage, "5ms");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let receiver = listener.local_addr().unwrap();
    let received = receive(listener);
    let directory = directory();
    let token = directory.path().join("hook-token");
    std::fs::write(&token, "of-the-operator\n").unwrap();
    let allowed = format!("{receiver}={}", token.display());
    let served = Served::start(&directory, &["--webhook-host", &allowed]);
    let experiment = stage.filled(NIGHTLY);
    let form = json!({
        "experiment": experiment,
        "every": "1d at 02:00",
        "threshold": 0.2,
        "webhook": format!("http://{receiver}/hidden-path?hidden=query"),
    });
    let json = "content-type: application/json\r\n";
    let made = served.request("POST", "/api/v3/schedules", json, &form.to_string());
    assert_eq!(made.status, 201, "{made:?}");
    assert_eq!(made.json()["webhook"], format!("http://{receiver}"));
    let path = format!("/api/v3/schedules/{}", made.json()["id"].as_str().unwrap());
    let night = |verdict: &str| -> Value {
        let started = served.request("POST", &format!("{path}/start"), "", "");
        assert_eq!(started.status, 202, "{started:?}");
        let run = format!("/api/v3/runs/{}", started.json()["id"].as_str().unwrap());
        wait_until("the gate", || served.get_json(&run)["gate"].is_object());
        let found = served.get_json(&run);
        assert_eq!(found["gate"]["verdict"], verdict, "{found:#}");
        found
    };
    night("first");
    let passed = night("passed");
    assert!(passed["webhook"].is_null() && received.lock().unwrap().is_empty(), "{passed:#}");
    slow_down(&stage, "25ms");
    let slower = night("slower");
    assert_eq!(slower["gate"]["confirmed"], true, "{slower:#}");
    let cell = &slower["gate"]["slower"][0];
    assert!(cell["relative"].as_f64().unwrap() < -0.5 && cell["high"].as_f64().unwrap() < 0.0, "{slower:#}");
    let run = format!("/api/v3/runs/{}", slower["id"].as_str().unwrap());
    wait_until("the webhook", || served.get_json(&run)["webhook"]["state"] == "delivered");
    assert_eq!(
        served.get_json(&run)["webhook"],
        json!({ "state": "delivered", "attempts": 2, "error": null })
    );
    let calls = received.lock().unwrap().clone();
    assert_eq!(calls.len(), 2, "the receiver refused the first attempt");
    for (head, body) in calls {
        assert!(head.starts_with("post /hidden-path?hidden=query http/1.1\r\n"), "{head}");
        assert!(head.contains("authorization: bearer of-the-operator\r\n"), "{head}");
        assert!(head.contains("content-type: application/json\r\n"), "{head}");
        assert_eq!((&body["event"], &body["run"]), (&json!("slower"), &slower["id"]));
        assert_eq!((&body["gate"], &body["path"]), (&slower["gate"], &json!(run)));
    }
    let whole = served.get(&path);
    let runs: Vec<Value> = whole.json()["runs"].as_array().unwrap().clone();
    let verdicts: Vec<&Value> = runs.iter().map(|run| &run["gate"]["verdict"]).collect();
    assert_eq!(verdicts, [&json!("slower"), &json!("passed"), &json!("first")]);
    assert!(!whole.body.contains("hidden"), "{whole:?}");
    served.signal(Signal::TERM);
    let (code, messages) = served.finish();
    assert!(code == Some(0) && messages.contains("slower than in the last 2 runs"), "{messages}");
    assert!(!messages.contains("hidden") && !messages.contains("of-the-operator"), "{messages}");
}

#[test]
fn what_is_wrong_with_a_schedule_is_one_line() {
    let directory = directory();
    let served = Served::start(&directory, &["--webhook-host", "hooks.example"]);
    let json = "content-type: application/json\r\n";
    let good = json!({ "experiment": EXACT, "every": "1d at 02:00" });
    for (field, value, status, code) in [
        ("every", json!("1d"), 422, "schedule"),
        ("every", json!(7), 400, "json"),
        ("time_zone", json!("Mars/Olympus"), 422, "schedule"),
        ("time_zone", json!("../../etc/passwd"), 422, "schedule"),
        ("threshold", json!(7), 422, "schedule"),
        ("missed_rule", json!("twice"), 400, "json"),
        ("webhook", json!("http://127.0.0.1/hidden"), 422, "webhook"),
        ("webhook", json!("http://hooks.example:81/hidden"), 422, "webhook"),
        ("webhook", json!("https://hooks.example@evil.example/hidden"), 422, "webhook"),
        ("webhook", json!("file:///hidden"), 422, "webhook"),
        (
            "experiment",
            json!("targets: {t: 'file:///etc'}\nworkloads: {w: {ops: read}}\n"),
            422,
            "experiment",
        ),
        ("unknown", json!(1), 400, "json"),
    ] {
        let mut form = good.clone();
        form[field] = value;
        let answer = served.request("POST", "/api/v3/schedules", json, &form.to_string());
        assert_eq!((answer.status, &*answer.problem()), (status, code), "{form}: {answer:?}");
        assert!(!answer.body.contains("hidden"), "{answer:?}");
        assert!(!answer.json()["detail"].as_str().unwrap().contains('\n'));
    }
    let answer = served.request("POST", "/api/v3/schedules", "content-type: text/plain\r\n", "{}");
    assert_eq!(answer.status, 415);
    for path in ["/api/v3/schedules/aaaaaaaa", "/api/v3/schedules/..%2fx"] {
        assert_eq!(served.get(path).problem(), "no-such-schedule");
    }
    assert_eq!(served.get_json("/api/v3/schedules"), json!({ "schedules": [] }));
}
