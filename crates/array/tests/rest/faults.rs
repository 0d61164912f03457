//! Management calls that fail, hang or lose their responses, and sessions that expire.

use std::net::TcpStream;
use std::time::Duration;

use array::faults::{FaultPlan, Match, SessionFault, StepAction, StepRule};
use array::{Array, Config};
use serde_json::{Value, json};

use super::http::{receive, send};
use super::{Client, message, plain};

/// A fault in the first creation of an account.
fn creation(then: StepAction) -> FaultPlan {
    let calls = Match { method: Some("POST".into()), path: Some("*/object-store-accounts".into()) };
    FaultPlan {
        management: vec![StepRule { calls, at: Some(1), then, status: Some(503) }],
        ..FaultPlan::default()
    }
}

fn create(client: &Client) -> std::io::Result<u16> {
    client.try_call("POST", "2.0/object-store-accounts?names=a", &json!({})).map(|answer| answer.status)
}

#[test]
fn a_call_fails_before_or_after_its_effect() {
    let array = Array::start(plain()).unwrap();
    let client = Client::open(&array);
    let exists = || array.state()["object_store_accounts"] == json!(["a"]);

    array.faults().set(creation(StepAction::Fail));
    assert_eq!((create(&client).unwrap(), exists()), (503, false));
    array.faults().set(creation(StepAction::Close));
    assert!(create(&client).is_err() && !exists());
    array.faults().set(creation(StepAction::DoThenClose));
    assert!(create(&client).is_err() && exists());
    let again = client.call("POST", "2.0/object-store-accounts?names=a", &json!({}));
    assert!(message(&again).contains("already exists"));
    client.call("DELETE", "2.0/object-store-accounts?names=a", &Value::Null);
    array.faults().set(creation(StepAction::DoThenFail));
    assert_eq!((create(&client).unwrap(), exists()), (503, true));
}

#[test]
fn a_call_hangs_and_others_do_not() {
    let array = Array::start(plain()).unwrap();
    let client = Client::open(&array);
    array.faults().set(creation(StepAction::DoThenHang));
    let mut stream = TcpStream::connect(array.management_address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let headers = [("x-auth-token", client.session.as_str())];
    send(&mut stream, "POST", "/api/2.0/object-store-accounts?names=a", &headers, b"{}").unwrap();
    assert!(receive(&mut stream, false).is_err());
    assert_eq!(client.call("GET", "2.0/object-store-accounts", &Value::Null).1["items"][0]["name"], "a");
}

#[test]
fn steps_are_counted_from_when_the_plan_was_put_in_force() {
    let third = StepRule { calls: Match::default(), at: Some(3), then: StepAction::Fail, status: None };
    let faults = FaultPlan { management: vec![third], ..FaultPlan::default() };
    let array = Array::start(Config { faults: faults.clone(), ..plain() }).unwrap();
    // The login is the first call.
    let client = Client::open(&array);
    let statuses = |count: usize| -> Vec<u16> {
        (0..count).map(|_| client.call("GET", "1.12/arrays", &Value::Null).0).collect()
    };
    assert_eq!(statuses(3), [200, 500, 200]);
    assert_eq!(array.faults().calls_counted(), 4);
    array.faults().set(faults);
    assert_eq!(statuses(3), [200, 200, 500]);
}

#[test]
fn sessions_expire_by_calls_and_by_time() {
    let session = SessionFault { expires_after_calls: Some(2), expires_after_ms: None };
    let array =
        Array::start(Config { faults: FaultPlan { session, ..FaultPlan::default() }, ..plain() }).unwrap();
    let client = Client::open(&array);
    let statuses: Vec<u16> = (0..4).map(|_| client.call("GET", "2.0/arrays", &Value::Null).0).collect();
    assert_eq!(statuses, [200, 200, 403, 403]);
    assert_eq!(Client::open(&array).call("GET", "2.0/arrays", &Value::Null).0, 200);

    array.faults().update(|plan| {
        plan.session = SessionFault { expires_after_calls: None, expires_after_ms: Some(1) };
    });
    let client = Client::open(&array);
    std::thread::sleep(Duration::from_millis(5));
    assert_eq!(client.call("GET", "1.12/arrays", &Value::Null).0, 401);
}

#[test]
fn a_fault_file_is_followed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("faults.json");
    std::fs::write(&path, "{}").unwrap();
    let array = Array::start(Config { fault_file: Some(path.clone()), ..plain() }).unwrap();
    let client = Client::open(&array);
    let status = || client.call("GET", "2.0/arrays", &Value::Null).0;
    assert_eq!(status(), 200);
    std::fs::write(&path, r#"{"management": [{"then": "fail", "status": 418}]}"#).unwrap();
    let followed = (0..600).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        status() == 418
    });
    assert!(followed);

    std::fs::write(&path, r#"{"managment": []}"#).unwrap();
    let error = Array::start(Config { fault_file: Some(path), ..plain() }).unwrap_err().to_string();
    assert!(error.contains("faults.json") && error.contains("managment"), "{error}");
}
