//! Measurements that leave a run while it lasts: `/metrics` for Prometheus, and a push to Graphite.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod serve_support;
mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;
use std::thread::{JoinHandle, spawn};

use metrics::OpKind;
use run_support::Lab;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use serve_support::{Served, directory};
use support::{run, wait_until};

const EXPERIMENT: &str = "
name: rated
targets: {t: 'null:'}
workloads: {mix: {ops: {read: 70%, write: 30%}, rate: 500/s, block_size: 4KiB, queue_depth: 8, file_size: 1MiB}}
stages: {warm_up: 0s, measure: {at_least: SECONDS, at_most: SECONDS}}
steady: none
";

/// A line that Carbon would receive: path and value.
type Line = (String, f64);

/// Receives like Carbon: everything until the connection is closed.
fn carbon() -> (String, JoinHandle<Vec<Line>>) {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap().to_string();
    let reader = spawn(move || {
        let mut text = String::new();
        server.accept().unwrap().0.read_to_string(&mut text).unwrap();
        let line = |line: &str| {
            let (path, rest) = line.split_once(' ').unwrap();
            (path.to_owned(), rest.split_once(' ').unwrap().0.parse().unwrap())
        };
        text.lines().map(line).collect()
    });
    (address, reader)
}

fn values(lines: &[Line], run: &str, metric: &str) -> Vec<f64> {
    let start = format!("{run}.mix.queue-depth.8.block-size.4096.");
    let end = format!("-t.jobs.1.{metric}");
    let of = lines.iter().filter(|line| line.0.starts_with(&start) && line.0.ends_with(&end));
    of.map(|line| line.1).collect()
}

fn get(address: SocketAddr, path: &str, host: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn prometheus_reads_a_run_while_it_lasts() {
    let lab = Lab::new();
    let file = lab.experiment("e.yaml", &EXPERIMENT.replace("SECONDS", "600s"));
    let mut command = lab.command();
    let mut running =
        command.arg(file).args(["--metrics-listen", "0"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(running.stderr.take().unwrap()).lines().map_while(Result::ok);
    let address = lines.find_map(|line| {
        Some(line.split_once("metrics at http://")?.1.strip_suffix("/metrics").unwrap().to_owned())
    });
    let address: SocketAddr = address.unwrap().parse().unwrap();
    assert!(address.ip().is_loopback());
    let rest = spawn(move || lines.for_each(drop));
    let scrape = || get(address, "/metrics", &address.to_string());
    let measured = |op: &str| format!("stage=\"measure\",operation=\"{op}\"");
    let mut text = String::new();
    wait_until("an interval", || {
        text = scrape();
        text.contains(&measured("read")) && text.contains(&measured("write"))
    });
    assert!(text.contains("application/openmetrics-text") && text.ends_with("# EOF\n"), "{text}");
    assert!(text.contains("manometer_response_time_seconds_bucket{le=\"+Inf\","), "{text}");
    assert!(get(address, "/", "localhost").starts_with("HTTP/1.1 404"));
    let rebound = get(address, "/metrics", "page.example");
    assert!(rebound.starts_with("HTTP/1.1 421") && !rebound.contains("manometer_"), "{rebound}");
    kill_process(Pid::from_child(&running), Signal::INT).unwrap();
    assert_eq!(running.wait().unwrap().code(), Some(130));
    rest.join().unwrap();
    assert!(TcpStream::connect(address).is_err(), "it listens only while the run lasts");
}

#[test]
fn graphite_receives_what_the_results_hold() {
    let lab = Lab::new();
    let (address, reader) = carbon();
    let file = lab.experiment("e.yaml", &EXPERIMENT.replace("SECONDS", "3s"));
    let ended = run(lab.command().arg(file).args(["--graphite", &address, "--graphite-every", "1s"]));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(!ended.stderr.contains("Graphite"), "{ended:#?}");
    let lines = reader.join().unwrap();
    let store = lab.store();
    let record = store.run("last").unwrap();
    let points = store.series(&record.id, 0, "measure", 0, 0..u32::MAX).unwrap();
    // Operations, bytes and the sum of latencies of each second.
    let mut seconds = [[0.0; 3]; 3];
    for point in points.map(Result::unwrap).filter(|point| point.op == Some(OpKind::Read)) {
        // An interval may end some microseconds late.
        let Some(second) = seconds.get_mut((point.start_s() + 0.01) as usize) else { continue };
        second[0] += point.ok as f64;
        second[1] += point.bytes as f64;
        second[2] += point.ok as f64 * point.mean_ns;
    }
    for (metric, of) in [
        ("read.iops", (|[ok, _, _]| ok) as fn([f64; 3]) -> f64),
        ("read.bw", |[_, bytes, _]| bytes / 1024.0),
        ("read.lat_ns.mean", |[ok, _, latency_ns]| latency_ns / ok),
    ] {
        let (sent, stored) = (values(&lines, &record.id, metric), seconds.map(of));
        assert_eq!(sent.len(), stored.len(), "{metric}: {lines:?}");
        let same = |(sent, stored): (&f64, &f64)| (sent / stored - 1.0).abs() < 0.01;
        assert!(sent.iter().zip(&stored).all(same), "{metric}: {sent:?} {stored:?}");
    }
}

#[test]
fn a_service_pushes_the_measurements_of_its_runs() {
    let directory = directory();
    let (address, reader) = carbon();
    let served = Served::start(&directory, &["--graphite", &address, "--graphite-every", "1s"]);
    let id = served.run(&EXPERIMENT.replace("SECONDS", "2s"));
    let events = served.all_events(&id);
    assert_eq!(events.last().unwrap().data["state"], Value::from("finished"));
    served.signal(Signal::TERM);
    let (code, messages) = served.finish();
    assert!(code == Some(0) && !messages.contains("not delivered"), "{messages}");
    let lines = reader.join().unwrap();
    assert!(values(&lines, &id, "write.iops").len() >= 2, "{lines:?}");
}

#[test]
fn a_graphite_server_that_is_absent_is_a_warning_at_the_end() {
    let lab = Lab::new();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let file = lab.experiment("e.yaml", &EXPERIMENT.replace("SECONDS", "2s"));
    let ended = run(lab.command().arg(file).args(["--graphite", &address, "--graphite-every", "1s"]));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let told: Vec<_> = ended.stderr.lines().filter(|line| line.contains("Graphite at")).collect();
    assert!(told.len() == 1 && told[0].contains("were not delivered: Connection refused"), "{ended:#?}");
}

#[test]
fn wrong_addresses_are_refused_before_anything_begins() {
    let lab = Lab::new();
    let file = lab.experiment("e.yaml", &EXPERIMENT.replace("SECONDS", "2s"));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let held = TcpListener::bind(taken).unwrap();
    for (flag, value, words) in [
        ("--metrics-listen", taken.to_string().as_str(), "cannot listen on"),
        ("--metrics-listen", "localhost:x", "write ADDRESS:PORT"),
        ("--graphite", "http://graphite:2003", "write HOST:PORT"),
        ("--graphite-every", "10s", "--graphite"),
    ] {
        let ended = run(lab.command().arg(&file).args([flag, value]));
        assert!(ended.code == Some(2) && ended.stderr.contains(words), "{flag} {value}: {ended:#?}");
    }
    drop(held);
    assert!(!lab.path("results.sqlite").exists());
}
