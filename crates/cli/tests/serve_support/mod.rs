//! `manometer serve` as a process, and a small HTTP client.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::wait_until;

/// Maximum time without a byte from the service; a guard against hangs.
const SILENCE: Duration = Duration::from_secs(120);

/// A running service. Its directory stays when it is killed.
pub struct Served {
    child: Child,
    pub address: SocketAddr,
    messages: Arc<Mutex<String>>,
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of a problem.
    pub fn problem(&self) -> String {
        assert!(self.head.contains("application/problem+json"), "{self:?}");
        let json = self.json();
        assert_eq!(json["status"], self.status, "{self:?}");
        json["code"].as_str().unwrap().to_owned()
    }
}

/// One server-sent event.
#[derive(Clone, Debug, PartialEq)]
pub struct SentEvent {
    pub id: u64,
    pub kind: String,
    pub data: Value,
}

/// The directory of a service's state.
pub fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

impl Served {
    /// Starts a service on a free port of the loopback address.
    pub fn start(directory: &TempDir, flags: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--directory"]).arg(directory.path().join("state"));
        command.args(flags).env("HOME", directory.path()).env("CANARY", "of the service's environment");
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let messages = Arc::new(Mutex::new(String::new()));
        let address = loop {
            let mut line = String::new();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it ended: {}", messages.lock().unwrap());
            messages.lock().unwrap().push_str(&line);
            if let Some((_, address)) = line.split_once("listening on http") {
                let address = address.trim_start_matches('s').trim_start_matches("://");
                break address.split_whitespace().next().unwrap().parse().unwrap();
            }
        };
        let told = Arc::clone(&messages);
        std::thread::spawn(move || {
            for line in lines.lines().map_while(Result::ok) {
                told.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        Self { child, address, messages }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it has reported so far.
    pub fn messages(&self) -> String {
        self.messages.lock().unwrap().clone()
    }

    /// Its resident memory.
    pub fn resident_bytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(SILENCE)).unwrap();
        stream
    }

    /// Sends a request as it is written and reads the whole response.
    pub fn exchange(&self, request: &str) -> Answer {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no response: {text:?}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    /// A request with more header lines (each ended by CRLF) and a body.
    pub fn request(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let (address, length) = (self.address, body.len());
        self.exchange(&format!(
            "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n\
             {headers}\r\n{body}"
        ))
    }

    pub fn get(&self, path: &str) -> Answer {
        self.request("GET", path, "", "")
    }

    /// A list or object that must be there.
    pub fn get_json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }

    /// Posts an experiment as YAML.
    pub fn post(&self, path: &str, experiment: &str) -> Answer {
        self.request("POST", path, "content-type: application/yaml\r\n", experiment)
    }

    /// Posts a run that must be accepted; returns its id.
    pub fn run(&self, experiment: &str) -> String {
        let answer = self.post("/api/v3/runs", experiment);
        assert_eq!(answer.status, 202, "{answer:?}");
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    /// The same with keys.
    pub fn run_with_keys(&self, experiment: &str, keys: Value) -> String {
        let body = json!({ "experiment": experiment, "keys": keys }).to_string();
        let answer = self.request("POST", "/api/v3/runs", "content-type: application/json\r\n", &body);
        assert_eq!(answer.status, 202, "{answer:?}");
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    /// Posts JSON.
    pub fn post_json(&self, path: &str, body: &Value) -> Answer {
        self.request("POST", path, "content-type: application/json\r\n", &body.to_string())
    }

    /// Posts other work than an experiment, which must be accepted; returns its run's id.
    pub fn work(&self, path: &str, body: &Value) -> String {
        let answer = self.post_json(path, body);
        assert_eq!(answer.status, 202, "{answer:?}");
        answer.json()["id"].as_str().unwrap().to_owned()
    }

    pub fn state(&self, run: &str) -> String {
        self.get_json(&format!("/api/v3/runs/{run}"))["state"].as_str().unwrap().to_owned()
    }

    /// Waits until a run has stored this many intervals of its first cell.
    pub fn wait_for_intervals(&self, run: &str, count: usize) {
        self.wait_for_intervals_of(run, 0, count);
    }

    /// The same of the cell with this number.
    pub fn wait_for_intervals_of(&self, run: &str, cell: u32, count: usize) {
        let path = format!("/api/v3/runs/{run}/intervals?cell={cell}");
        wait_until("intervals", || match self.get(&path) {
            Answer { status: 200, body, .. } => {
                let json: Value = serde_json::from_str(&body).unwrap();
                json["intervals"].as_array().unwrap().len() >= count
            }
            _ => false,
        });
    }

    /// Opens the events of a run, after the one with the number `last`.
    pub fn events(&self, run: &str, last: u64) -> SentEvents {
        self.events_at(&format!("/api/v3/runs/{run}/events"), last)
    }

    /// All events of a run with the parts of single hosts.
    pub fn events_with_hosts(&self, run: &str) -> SentEvents {
        self.events_at(&format!("/api/v3/runs/{run}/events?hosts=true"), 0)
    }

    fn events_at(&self, path: &str, last: u64) -> SentEvents {
        let mut stream = self.connect();
        let address = self.address;
        // HTTP/1.0: the body is sent as it is and ends with the connection.
        let request = format!("GET {path} HTTP/1.0\r\nhost: {address}\r\nlast-event-id: {last}\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut lines = BufReader::new(stream);
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert!(line.contains(" 200 "), "{line}");
        while line != "\r\n" {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "the head broke off");
        }
        SentEvents { lines }
    }

    /// All events of a run, to its end.
    pub fn all_events(&self, run: &str) -> Vec<SentEvent> {
        self.events(run, 0).collect()
    }

    pub fn signal(&self, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end; returns its exit code and what it reported.
    pub fn finish(mut self) -> (Option<i32>, String) {
        let mut code = None;
        wait_until("the service's end", || {
            code = self.child.try_wait().unwrap();
            code.is_some()
        });
        (code.unwrap().code(), self.messages())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The events of a stream as they arrive; ends with the stream.
pub struct SentEvents {
    lines: BufReader<TcpStream>,
}

impl Iterator for SentEvents {
    type Item = SentEvent;

    fn next(&mut self) -> Option<SentEvent> {
        let mut event = SentEvent { id: 0, kind: String::new(), data: Value::Null };
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some(("id", id)) => event.id = id.parse().unwrap(),
                Some(("event", kind)) => event.kind = kind.to_owned(),
                Some(("data", data)) => event.data = serde_json::from_str(data).unwrap(),
                _ if line == "\n" && !event.kind.is_empty() => return Some(event),
                _ => {}
            }
        }
    }
}

/// A path below the state directory.
pub fn state(directory: &TempDir, name: &str) -> PathBuf {
    directory.path().join("state").join(name)
}
