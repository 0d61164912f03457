//! `manometer serve` with clients that mean no good: mutated and huge bodies, slow connections, many readers. It stays up,
//! its memory stays bounded, and what it measures beside them stays exact.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod serve_support;
mod support;

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use serve_support::{SentEvents, Served, directory, state};
use store::Store;

/// Requests with mutated bodies.
const BODIES: u64 = 10_000;
/// Connections that keep them coming.
const CLIENTS: u64 = 4;
const SLOW: usize = 150;
const READERS: usize = 200;
/// What all of it may add to the service's memory.
const MAX_GROWTH: u64 = 160 << 20;

/// A target that answers after exactly 1 ms, on a virtual clock.
const EXACT: &str = "
name: exact
targets: {t: 'sim:?latency=1ms'}
workloads: {w: {ops: read, queue_depth: 4, block_size: 4KiB, file_size: 1MiB}}
stages: {warm_up: 1s, measure: {at_least: 10s, at_most: 10s}}
steady: none
";

/// A load of this host that lasts until it is stopped; whatever else is posted for this host waits.
const LONG: &str = "
name: long
targets: {t: 'null:'}
workloads: {w: {ops: read, rate: 200/s, block_size: 4KiB, file_size: 1MiB}}
stages: {warm_up: 0s, measure: {at_least: 600s, at_most: 600s}}
steady: none
";

/// A check of this host's storage, which is not there.
const CHECK: &str =
    r#"{"nfs": ["nfs://127.0.0.1:9/x"], "duration": "1s", "lanes": 2, "data_vip": ["127.0.0.1"]}"#;

const WORDS: [&str; 28] = [
    "{",
    "}",
    "[",
    "]",
    "[[[[[[[[",
    ": ",
    "- ",
    "\n",
    "\t",
    "'",
    "\"",
    "\\",
    "\\u0000",
    "&a ",
    "*a ",
    "<<: ",
    "!!binary ",
    "? ",
    "| ",
    "---\n",
    "\u{feff}",
    "\u{2028}",
    "\0",
    "18446744073709551616",
    "-1",
    "1e999",
    "null",
    "9999999TiB",
];

/// `text` with a few changes.
fn mutated(random: &mut fastrand::Rng, text: &str) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..random.usize(1..5) {
        let at = random.usize(..=bytes.len());
        let to = (at + random.usize(..40)).min(bytes.len());
        match random.u8(..5) {
            0 => drop(bytes.splice(at..at, WORDS[random.usize(..WORDS.len())].bytes())),
            1 => drop(bytes.drain(at..to)),
            2 => {
                let piece = bytes[at..to].to_vec();
                drop(bytes.splice(at..at, piece));
            }
            3 => bytes.truncate(at.max(1)),
            _ if at < bytes.len() => bytes[at] = random.u8(..),
            _ => {}
        }
    }
    bytes
}

/// A connection for many requests.
struct Kept {
    lines: BufReader<TcpStream>,
    host: String,
}

impl Kept {
    fn open(served: &Served) -> Self {
        Self { lines: BufReader::new(served.connect()), host: served.address.to_string() }
    }

    /// Sends a body; the response's status and its body.
    fn post(&mut self, path: &str, kind: &str, body: &[u8]) -> (u16, String) {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
            self.host,
            body.len()
        );
        let stream = self.lines.get_mut();
        stream.write_all(&[head.as_bytes(), body].concat()).unwrap();
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "it closed the connection");
            match line.trim_end().split_once(' ') {
                Some((version, rest)) if version.starts_with("HTTP/") => status = rest[..3].parse().unwrap(),
                Some((name, value)) if name.eq_ignore_ascii_case("content-length:") => {
                    length = value.parse().unwrap()
                }
                None if line == "\r\n" => break,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        self.lines.read_exact(&mut body).unwrap();
        (status, String::from_utf8(body).unwrap())
    }
}

/// Sends mutated bodies; every response is one that the document names.
fn send_mutated(served: &Served, client: u64) {
    let mut random = fastrand::Rng::with_seed(client);
    let mut connection = Kept::open(served);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/experiments");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let examples: Vec<String> =
        files.into_iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let json = serde_json::json!({ "experiment": EXACT, "keys": { "t": { "id": "i", "secret": "canary" } } })
        .to_string();
    for number in 0..BODIES / CLIENTS {
        // What is accepted waits behind the long run, so it must be for this host.
        let (path, kind, text) = match number % 10 {
            0 => ("/api/v3/runs", "application/yaml", EXACT),
            1 | 2 => ("/api/v3/experiments/validate", "application/json", &*json),
            3 => ("/api/v3/checks", "application/json", CHECK),
            _ => (
                "/api/v3/experiments/validate",
                "application/yaml",
                &*examples[random.usize(..examples.len())],
            ),
        };
        let sent = mutated(&mut random, text);
        let (status, answer) = connection.post(path, kind, &sent);
        let shown = || {
            format!("client {client}, body {number}: {status} {answer}\n{}", String::from_utf8_lossy(&sent))
        };
        let known = match path {
            "/api/v3/runs" | "/api/v3/checks" => matches!(status, 202 | 400 | 422 | 503),
            _ => matches!(status, 200 | 400 | 422),
        };
        assert!(known && serde_json::from_str::<serde_json::Value>(&answer).is_ok(), "{}", shown());
        assert!(!answer.contains("canary"), "{}", shown());
    }
}

/// Connections that send their requests a byte at a time, until the service ends them.
fn send_slowly(served: &Served) {
    let address = served.address;
    let open = |number: usize| {
        let mut stream = served.connect();
        let begun = match number % 3 {
            0 => String::new(),
            1 => format!("GET /api/v3/runs HTTP/1.1\r\nhost: {address}\r\nx-slow: "),
            _ => format!(
                "POST /api/v3/runs HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/yaml\r\n\
                 content-length: 100000\r\n\r\n"
            ),
        };
        stream.write_all(begun.as_bytes()).unwrap();
        stream.set_read_timeout(Some(Duration::from_millis(2))).unwrap();
        (number, stream)
    };
    let mut slow: Vec<(usize, TcpStream)> = (0..SLOW).map(open).collect();
    while !slow.is_empty() {
        slow.retain_mut(|(number, stream)| {
            let mut answer = [0; 1000];
            let drip = *number % 3 == 0 || stream.write_all(b"x").is_ok();
            match stream.read(&mut answer) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => drip,
                Ok(0) | Err(_) => false,
                Ok(length) => {
                    let text = String::from_utf8_lossy(&answer[..length]);
                    assert!(text.starts_with("HTTP/1.1 408"), "{text}");
                    false
                }
            }
        });
    }
}

/// Bodies and heads that are too large, or that grow when they are parsed.
fn send_huge(served: &Served) {
    let validate = "/api/v3/experiments/validate";
    let yaml = "content-type: application/yaml\r\n";
    let declared = served.exchange(&format!(
        "POST {validate} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{yaml}content-length: 999999999999999\r\n\r\n",
        served.address
    ));
    assert_eq!((declared.status, declared.problem()), (413, "too-large".to_owned()));
    // Without a declared length; the service need not read it to its end.
    let mut stream = served.connect();
    let head = format!(
        "POST {validate} HTTP/1.1\r\nhost: {}\r\n{yaml}transfer-encoding: chunked\r\n\r\n",
        served.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = [b"100000\r\n".as_slice(), &vec![b'x'; 1 << 20], b"\r\n"].concat();
    let refused = (0..256).any(|_| stream.write_all(&chunk).is_err());
    assert!(refused, "it read 256 MiB");
    let mut connection = Kept::open(served);
    let nested = "[".repeat(500_000);
    let aliases = (1..40).fold("a0: &a0 [x, x]\n".to_owned(), |text, n| {
        format!("{text}a{n}: &a{n} [*a{0}, *a{0}, *a{0}, *a{0}]\n", n - 1)
    });
    let long = format!("name: {}\n", "x".repeat(2_000_000));
    let many = "? a\n".repeat(250_000);
    for text in [&nested, &aliases, &long, &many] {
        let (status, answer) = connection.post(validate, "application/yaml", text.as_bytes());
        assert_eq!(status, 422, "{:.80}: {answer:.300}", text);
        let form = serde_json::json!({ "experiment": text }).to_string();
        let (status, answer) = connection.post(validate, "application/json", form.as_bytes());
        assert!(matches!(status, 413 | 422), "{:.80}: {status} {answer:.300}", text);
    }
    let (status, answer) = connection.post(validate, "application/json", nested.as_bytes());
    assert_eq!(status, 400, "{answer}");
    let head = served.exchange(&format!(
        "GET /api/v3/runs HTTP/1.1\r\nhost: {}\r\nx-large: {}\r\n\r\n",
        served.address,
        "x".repeat(1 << 17)
    ));
    assert_eq!(head.status, 431, "{head:?}");
}

#[test]
fn hostile_clients_neither_end_the_service_nor_change_what_it_measures() {
    let directory = directory();
    // A debug build needs ten times the CPU time of a release build for each request.
    let served = Served::start(&directory, &["--allow-command", "--request-cpu=50"]);
    let elsewhere = format!(
        "{EXACT}fleet: {{command: {{hosts: [beta], command: ['{}', agent]}}}}\n",
        env!("CARGO_BIN_EXE_manometer")
    );
    let run_elsewhere = || {
        let id = served.run(&elsewhere);
        let last = served.all_events(&id).pop().unwrap();
        assert_eq!(last.data["state"], "finished", "{last:?}");
        let store = Store::open_existing(&state(&directory, "results.sqlite")).unwrap();
        store.cells(&id).unwrap().remove(0).result.unwrap()
    };
    let undisturbed = run_elsewhere();
    let long = served.run(LONG);
    served.wait_for_intervals(&long, 1);
    let before = served.resident_bytes();

    let readers: Vec<SentEvents> = (0..READERS).map(|_| served.events(&long, 0)).collect();
    let beside = std::thread::scope(|scope| {
        scope.spawn(|| send_slowly(&served));
        for client in 0..CLIENTS {
            let served = &served;
            scope.spawn(move || send_mutated(served, client));
        }
        let huge = scope.spawn(|| send_huge(&served));
        let beside = run_elsewhere();
        huge.join().unwrap();
        beside
    });
    let after = served.resident_bytes();
    assert!(after < before + MAX_GROWTH, "{} MiB became {} MiB", before >> 20, after >> 20);
    assert_eq!((&beside.total, &beside.steady), (&undisturbed.total, &undisturbed.steady));

    assert_eq!(served.state(&long), "running");
    served.request("POST", &format!("/api/v3/runs/{long}/stop"), "", "");
    for events in readers {
        let events: Vec<_> = events.collect();
        assert_eq!(events.last().unwrap().kind, "end");
        assert!(events.windows(2).all(|pair| pair[0].id + 1 == pair[1].id), "numbered without gaps");
    }
}
