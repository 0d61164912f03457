//! Misbehaving servers: each causes a named error, in bounded time and memory.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::net::TcpListener;
use std::time::Duration;

use provision::{ApiSecret, ArraySession, Cancel, Failure, Management, ManagementStep, ProvisionError};
use serde_json::{Value, json};
use support::{Fake, Reply, Scene, TOKEN, session};

fn failure(error: ProvisionError) -> (ManagementStep, Failure, String) {
    let text = error.to_string();
    assert!(!text.contains(TOKEN) && !text.contains('\n') && text.contains("next:"), "{text}");
    match error {
        ProvisionError::Call(call) => (call.step, call.failure, text),
        other => panic!("{other}"),
    }
}

fn open(management: &Management) -> (ManagementStep, Failure, String) {
    failure(Scene::new().open(management).unwrap_err())
}

#[test]
fn a_server_that_never_answers_ends_at_the_deadline() {
    let fake = Fake::start(|_| Reply::Hang);
    let management = Management { call_timeout: Duration::from_millis(200), ..fake.management() };
    let (step, failure, text) = open(&management);
    assert_eq!(step, ManagementStep::ListVersions);
    assert!(matches!(failure, Failure::Timeout { sent: true, .. }), "{text}");
    assert!(text.contains("no answer within 0.2 s") && text.contains(&fake.address.to_string()), "{text}");
}

#[test]
fn a_tls_handshake_that_never_comes_ends_at_the_deadline() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let fake = Fake::start(|_| Reply::Hang);
    let management = Management {
        address: listener.local_addr().unwrap().to_string(),
        call_timeout: Duration::from_millis(200),
        ..fake.management()
    };
    let (_, failure, text) = open(&management);
    assert!(matches!(failure, Failure::Timeout { sent: false, .. }), "{text}");
}

#[test]
fn a_refused_connection_and_a_server_without_tls_are_told_apart() {
    let fake = Fake::start(|_| Reply::Hang);
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let (_, failure, text) = open(&Management { address: closed.to_string(), ..fake.management() });
    assert!(matches!(failure, Failure::Connect(_)) && text.contains("refused"), "{text}");

    let plain = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = plain.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        let (mut stream, _) = plain.accept().unwrap();
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    let (_, failure, text) = open(&Management { address, ..fake.management() });
    assert!(matches!(failure, Failure::Tls { .. }) && text.contains("http://"), "{text}");
}

#[test]
fn answers_that_are_no_answers_are_named_in_bounded_memory() {
    let endless = |prefix: &str, count: usize| {
        let mut bytes = prefix.as_bytes().to_vec();
        bytes.resize(bytes.len() + count, b'x');
        bytes
    };
    type Check = fn(&Failure) -> bool;
    let no_answer: Check = |failure| matches!(failure, Failure::Answer(_));
    let broken: Check = |failure| matches!(failure, Failure::Broken(_));
    for (name, bytes, check) in [
        ("head of 1 MiB", endless("HTTP/1.1 200 OK\r\nx: ", 1 << 20), no_answer),
        ("body over the limit", endless("HTTP/1.1 200 OK\r\n\r\n", 9 << 20), no_answer),
        (
            "body over the limit, announced",
            endless("HTTP/1.1 200 OK\r\ncontent-length: 90000000\r\n\r\n", 9 << 20),
            no_answer,
        ),
        ("short body", endless("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n", 10), broken),
        ("not HTTP", b"SSH-2.0-OpenSSH_9.2\r\n\r\n".to_vec(), no_answer),
        ("closed", Vec::new(), broken),
        ("not JSON", b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>".to_vec(), no_answer),
        ("other JSON", b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n[]".to_vec(), no_answer),
    ] {
        let fake = Fake::start(move |_| Reply::Raw(bytes.clone()));
        let (step, failure, text) = open(&fake.management());
        assert_eq!(step, ManagementStep::ListVersions);
        assert!(check(&failure), "{name}: {text}");
        assert!(text.len() < 1000, "{name}: {} characters", text.len());
    }
}

#[test]
fn a_refused_token_is_said_to_be_one_and_never_shown() {
    let fake = Fake::start(|seen| match seen.path() {
        "/api/api_version" => Reply::Json(200, json!({ "versions": ["2.0"] })),
        _ => Reply::error(401, &format!("bad token {TOKEN}"), ""),
    });
    let (step, _, text) = open(&fake.management());
    assert_eq!(step, ManagementStep::Login);
    assert!(text.contains("HTTP 401: bad token [secret]") && text.contains("check the API token"), "{text}");
    let error = Scene::new()
        .open(&Management { token: ApiSecret::new(""), ..fake.management() })
        .unwrap_err()
        .to_string();
    assert!(error.contains("FB_TOKEN"), "{error}");
}

#[test]
fn a_session_that_ends_is_renewed_and_the_call_repeated() {
    for status in [401, 403] {
        let mut logins = 0;
        let fake = Fake::start(move |seen| match seen.path() {
            "/api/api_version" => Reply::Json(200, json!({ "versions": ["2.0"] })),
            "/api/login" => {
                logins += 1;
                session(&format!("session-{logins}"))
            }
            _ if seen.header("x-auth-token") == Some("session-1") => {
                Reply::error(status, "Session has expired.", "")
            }
            _ => Reply::Json(200, json!({ "items": [] })),
        });
        let choice = Scene::new().open(&fake.management()).unwrap().data_addresses().unwrap();
        assert_eq!(choice.chosen, []);
        let lines: Vec<_> = fake.seen().iter().map(|seen| seen.path().to_owned()).collect();
        let interfaces = "/api/2.0/network-interfaces";
        assert_eq!(
            lines[..6],
            ["/api/api_version", "/api/login", interfaces, "/api/login", interfaces, "/api/2.0/subnets"],
            "{lines:?}"
        );
    }
}

#[test]
fn a_lasting_refusal_is_an_error_after_one_renewal() {
    let fake = Fake::logged_in(&["2.0"], |_| Reply::error(403, "Operation not permitted.", ""));
    let (step, _, text) =
        failure(Scene::new().open(&fake.management()).unwrap().data_addresses().unwrap_err());
    assert_eq!(step, ManagementStep::ListInterfaces);
    assert!(text.contains("HTTP 403: Operation not permitted.") && text.contains("array_admin"), "{text}");
    assert_eq!(fake.lines().len(), 2);
}

#[test]
fn pages_are_followed_to_their_end_in_both_generations() {
    for (version, parameter) in [("1.12", "token"), ("2.29", "continuation_token")] {
        let fake = Fake::logged_in(&[version], move |seen| {
            if seen.path().ends_with("subnets") {
                return Reply::Json(200, json!({ "items": [] }));
            }
            let page: u8 = seen.query(parameter).map_or(0, |token| token.parse().unwrap());
            let item = json!({ "name": format!("data{page}"), "address": format!("10.0.{page}.1"), "services": ["data"] });
            let token = if page < 2 { json!((page + 1).to_string()) } else { Value::Null };
            Reply::Json(
                200,
                match parameter {
                    "token" => json!({ "items": [item], "pagination_info": { "continuation_token": token } }),
                    _ => json!({ "items": [item], "continuation_token": token }),
                },
            )
        });
        let choice = Scene::new().open(&fake.management()).unwrap().data_addresses().unwrap();
        let chosen: Vec<_> = choice.chosen.iter().map(|found| found.address.to_string()).collect();
        assert_eq!(chosen, ["10.0.0.1", "10.0.1.1", "10.0.2.1"]);
    }
}

#[test]
fn pages_without_end_are_an_error() {
    let same = Fake::logged_in(&["2.0"], |_| {
        Reply::Json(200, json!({ "items": [], "continuation_token": "again" }))
    });
    let (_, _, text) = failure(Scene::new().open(&same.management()).unwrap().data_addresses().unwrap_err());
    assert!(text.contains("continued by itself"), "{text}");
    let mut count = 0;
    let fresh = Fake::logged_in(&["2.0"], move |_| {
        count += 1;
        Reply::Json(200, json!({ "items": [], "continuation_token": count.to_string() }))
    });
    let (_, _, text) = failure(Scene::new().open(&fresh.management()).unwrap().data_addresses().unwrap_err());
    assert!(text.contains("pages"), "{text}");
}

#[test]
fn cancelling_ends_a_call_that_hangs() {
    let fake = Fake::logged_in(&["2.0"], |_| Reply::Hang);
    let scene = Scene::new();
    let cancel = Cancel::new();
    let mut session = ArraySession::open(&fake.management(), &scene.run, &cancel).unwrap();
    let from_elsewhere = cancel.clone();
    let waiter = std::thread::spawn(move || {
        while fake.lines().is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        from_elsewhere.cancel();
    });
    let error = session.data_addresses().unwrap_err();
    assert!(error.is_cancelled(), "{error}");
    waiter.join().unwrap();
    assert!(session.data_addresses().unwrap_err().is_cancelled());
}
