//! `manometer serve`: what is refused, and how.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod serve_support;
mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use serde_json::json;
use serve_support::{Served, directory};
use support::run;

const TOKEN: &str = "a-token-of-thirty-two-characters";
const SIM: &str = "targets: {t: 'sim:'}\nworkloads: {w: {ops: read}}\n";

#[test]
fn a_token_is_required_in_the_header_and_shown_nowhere() {
    let directory = directory();
    let file = directory.path().join("token");
    std::fs::write(&file, format!("{TOKEN}\n")).unwrap();
    let served = Served::start(&directory, &["--token-file", file.to_str().unwrap()]);
    let get = |path: &str, header: &str| served.request("GET", path, header, "");
    let bearer = format!("authorization: Bearer {TOKEN}\r\n");
    assert_eq!(get("/api/v3/runs", &bearer).status, 200);
    let without = get("/api/v3/runs", "");
    assert!(without.status == 401 && without.head.contains("www-authenticate: bearer"), "{without:?}");
    assert_eq!(without.problem(), "no-token");
    assert_eq!(get("/api/v3/runs", &bearer.replace("a-token", "b-token")).problem(), "wrong-token");
    for path in [format!("/api/v3/runs?token={TOKEN}"), format!("/api/v3/runs?after={TOKEN}")] {
        let answer = get(&path, &bearer);
        assert_eq!((answer.status, answer.problem()), (400, "token-in-url".to_owned()));
        assert!(!answer.body.contains(TOKEN), "{answer:?}");
    }
    assert_eq!(get("/nothing", "").status, 401, "not even what exists is told");
    assert!(!served.messages().contains(TOKEN));
}

#[test]
fn beyond_this_host_a_token_is_required() {
    let directory = directory();
    let mut serve = Command::new(env!("CARGO_BIN_EXE_manometer"));
    let ended = run(serve
        .args(["serve", "--listen", "0.0.0.0:0", "--directory"])
        .arg(directory.path().join("state")));
    assert!(ended.code == Some(2) && ended.stderr.contains("--token-file"), "{ended:?}");
}

#[test]
fn plain_requests_to_an_encrypted_service_are_told_so() {
    let directory = directory();
    let served = Served::start(&directory, &["--tls"]);
    assert!(served.messages().contains("certificate: SHA-256 "), "{}", served.messages());
    let answer = served.get("/api/v3/runs");
    assert!(answer.status == 400 && answer.body.contains("https://"), "{answer:?}");
    let state = directory.path().join("state");
    drop(served);
    for (flags, said) in [
        (["--certificate", "a.pem"].as_slice(), "--key"),
        (&["--certificate", "/nowhere/a.pem", "--key", "/nowhere/b.pem"], "/nowhere/a.pem"),
    ] {
        let mut serve = Command::new(env!("CARGO_BIN_EXE_manometer"));
        let ended =
            run(serve.args(["serve", "--listen", "127.0.0.1:0", "--directory"]).arg(&state).args(flags));
        assert!(ended.code == Some(2) && ended.stderr.contains(said), "{ended:?}");
    }
}

#[test]
fn a_directory_has_one_service_and_no_other_readers() {
    let directory = directory();
    let state = directory.path().join("state");
    let served = Served::start(&directory, &[]);
    let serve = || {
        let mut serve = Command::new(env!("CARGO_BIN_EXE_manometer"));
        run(serve.args(["serve", "--listen", "127.0.0.1:0", "--directory"]).arg(&state))
    };
    assert_eq!(state.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let second = serve();
    assert!(second.code == Some(2) && second.stderr.contains("another service uses it"), "{second:?}");
    drop(served);
    std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o755)).unwrap();
    let open = serve();
    assert!(open.code == Some(2) && open.stderr.contains("chmod 700"), "{open:?}");
}

#[test]
fn other_sites_and_rebound_names_are_refused() {
    let directory = directory();
    let served = Served::start(&directory, &["--host-name", "lab.example"]);
    let with_host = |host: &str| {
        served.exchange(&format!("GET /api/v3/runs HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"))
    };
    assert_eq!(with_host("evil.example").problem(), "wrong-host");
    assert_eq!(with_host("evil.example").status, 421);
    assert_eq!((with_host("lab.example").status, with_host("localhost:5000").status), (200, 200));
    let yaml = "content-type: application/yaml\r\n";
    for header in ["origin: https://evil.example\r\n", "origin: null\r\n", "sec-fetch-site: cross-site\r\n"] {
        let answer = served.request("POST", "/api/v3/runs", &format!("{yaml}{header}"), SIM);
        assert_eq!((answer.status, answer.problem()), (403, "cross-site".to_owned()), "{header}");
    }
    let form = served.request("POST", "/api/v3/runs", "content-type: text/plain\r\n", SIM);
    assert_eq!((form.status, form.problem()), (415, "content-type".to_owned()));
    assert_eq!(served.get_json("/api/v3/runs")["runs"], json!([]), "nothing was started");
}

#[test]
fn faults_and_refusals_have_their_line_and_column() {
    let directory = directory();
    let allowed = directory.path().join("allowed");
    std::fs::create_dir(&allowed).unwrap();
    symlink("/etc", allowed.join("out")).unwrap();
    let served = Served::start(&directory, &["--allow-path", allowed.to_str().unwrap()]);
    let below = |rest: &str| {
        format!("workloads: {{w: {{ops: read}}}}\ntargets:\n  t: file://{}{rest}\n", allowed.display())
    };
    for path in ["/api/v3/experiments/validate", "/api/v3/runs"] {
        for (text, line, said) in [
            (below("/out"), 3, "not among the paths"),
            (below("/../.."), 3, "not among the paths"),
            (format!("{SIM}name: '${{env:CANARY}}'\n"), 3, "CANARY"),
            (format!("{SIM}results: /tmp/x.sqlite\n"), 3, "results: names a file"),
            (format!("{SIM}fleet: {{hosts: '@/etc/passwd'}}\n"), 3, "reads no files"),
            (format!("{SIM}fleet: {{local: 2}}\n"), 3, "not allowed"),
            (format!("{SIM}fleet: {{command: {{hosts: [a], command: [sh, -c, x]}}}}\n"), 3, "any program"),
            (SIM.replace("ops: read", "ops: reed"), 2, "reed"),
        ] {
            let answer = served.post(path, &text);
            assert_eq!((answer.status, answer.problem()), (422, "experiment".to_owned()), "{text}");
            let json = answer.json();
            let fault = &json["faults"][0];
            assert_eq!(json["faults"].as_array().unwrap().len(), 1, "{json}");
            assert_eq!(fault["line"], line, "{json}");
            assert!(fault["column"].as_u64().unwrap() >= 1, "{json}");
            assert!(fault["text"].as_str().unwrap().contains(said), "{json}");
            assert!(!answer.body.contains("of the service's environment"), "{json}");
        }
    }
    assert_eq!(served.post("/api/v3/experiments/validate", &below("/new")).status, 200);
    assert_eq!(served.get_json("/api/v3/runs")["runs"], json!([]), "nothing was started");
}

#[test]
fn malformed_requests_are_problems_and_the_service_stays_up() {
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let json = "content-type: application/json\r\n";
    let secret = r#"{"experiment": "x", "keys": {"t": {"id": "a", "secret": ["hunter2"]}}}"#;
    let refused = served.request("POST", "/api/v3/runs", json, secret);
    assert_eq!((refused.status, refused.problem()), (400, "json".to_owned()));
    assert!(!refused.body.contains("hunter2"), "{refused:?}");
    for (method, path, status) in [
        ("GET", "/api/v3/runs/nonesuch", 404),
        ("GET", "/api/v3/runs/..%2f..%2fetc%2fpasswd", 404),
        ("GET", "/api/v3/runs/%ff", 400),
        ("GET", "/api/v3/runs/last/report", 404),
        ("POST", "/api/v3/runs/nonesuch/stop", 404),
        ("GET", "/api/v3/runs/nonesuch/events", 404),
        ("GET", "/api/v3/runs?limit=0", 400),
        ("GET", "/api/v3/runs?limit=x", 400),
        ("GET", "/api/v3/runs?other=1", 400),
        ("PUT", "/api/v3/runs", 405),
        ("GET", "/nothing", 404),
        ("POST", "/", 405),
    ] {
        let answer = served.request(method, path, "", "");
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        answer.problem();
    }
    let declared = format!(
        "POST /api/v3/runs HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: application/yaml\r\n\
         content-length: 999999999\r\n\r\n",
        served.address
    );
    assert_eq!(served.exchange(&declared).problem(), "too-large");
    // Without a declared length, the service stops reading at its limit.
    let mut stream = TcpStream::connect(served.address).unwrap();
    let head = declared.replace("content-length: 999999999", "transfer-encoding: chunked");
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
    let sent = (0..10_000).take_while(|_| stream.write_all(chunk.as_bytes()).is_ok()).count();
    assert!(sent < 1000, "{sent} chunks of 64 KiB were taken");
    let mut answer = Vec::new();
    // The connection may be reset before the response is read.
    if stream.read_to_end(&mut answer).is_ok() && !answer.is_empty() {
        assert!(answer.starts_with(b"HTTP/1.1 413"), "{}", String::from_utf8_lossy(&answer));
    }
    assert_eq!(served.get("/api/v3/runs").status, 200);
}

#[test]
fn a_password_in_the_url_is_refused_and_not_repeated() {
    let directory = directory();
    let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
    command.args(["serve", "--database", "postgres://lab:canary@db.example/lab", "--directory"]);
    let output = command.arg(directory.path().join("state")).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("--database-password-file FILE") && !text.contains("canary"), "{text}");
    assert!(!directory.path().join("state").exists(), "nothing was created");
}
