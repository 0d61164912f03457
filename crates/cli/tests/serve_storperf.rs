//! `manometer serve` as StorPerf's clients see it, without a host to log in to; tests/real has one.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod serve_support;
mod support;

use serde_json::{Value, json};
use serve_support::{Answer, Served, directory};
use support::wait_until;

const SECRET: &str = "hush-3141592653";

fn send(served: &Served, path: &str, body: &Value) -> Answer {
    served.request("POST", path, "content-type: application/json\r\n", &body.to_string())
}

/// The message of a refusal.
fn refused(answer: &Answer, status: u16) -> String {
    assert_eq!(answer.status, status, "{answer:?}");
    answer.json()["message"].as_str().unwrap().to_owned()
}

#[test]
fn a_job_whose_host_cannot_be_reached_fails_with_the_reason() {
    let directory = directory();
    let target = directory.path().join("data");
    std::fs::create_dir(&target).unwrap();
    let allowed = format!("--allow-path={}", target.display());
    let served = Served::start(&directory, &[&allowed]);
    let body = json!({
        "target": target, "workload": "rr,ws", "block_sizes": "4k", "queue_depths": "1,8",
        // Nothing listens there.
        "slave_addresses": ["127.0.0.1:1"], "username": "nobody", "password": SECRET, "metadata": {"pod_name": "lab"},
    });
    let answer = send(&served, "/api/v2.0/jobs", &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    let id = answer.json()["job_id"].as_str().unwrap().to_owned();
    let about = |kind: &str| served.get_json(&format!("/api/v1.0/jobs?id={id}&type={kind}"));
    wait_until("the job's end", || {
        !["Queued", "Running"].contains(&about("status")["Status"].as_str().unwrap())
    });
    let status = about("status");
    assert!(
        status["Status"] == "Failed" && status["Reason"].as_str().unwrap().contains("127.0.0.1:1"),
        "{status}"
    );
    assert_eq!(about("metrics"), json!({}));
    let metadata = about("metadata");
    assert_eq!((&metadata["pod_name"], &metadata["queue_depths"]), (&json!("lab"), &json!("1,8")));
    assert_eq!(metadata.get("report"), None, "it measured nothing");
    assert_eq!(served.get_json("/api/v1.0/jobs"), json!({ "job_ids": [id] }));
    assert_eq!(served.get_json("/api/v1.0/jobs?type=status")[&id]["Status"], "Failed");
    assert_eq!(served.get_json("/api/v1.0/jobs?type=metadata"), json!({ "results": [] }));
    assert_eq!(
        served.get_json(&format!("/api/v3/runs/{id}"))["state"],
        "failed",
        "it is a run like any other"
    );
    let stopped = served.request("DELETE", "/api/v1.0/jobs", "", "");
    assert_eq!((stopped.status, stopped.json()), (200, json!({ "Slaves": true })), "none runs");
    let logs = served.get_json("/api/v1.0/logs?lines=all");
    assert!(logs["logs"].to_string().contains(&id), "{logs}");
    let mut kept = format!("{metadata}{logs}{}", served.messages());
    for entry in std::fs::read_dir(directory.path().join("state")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            kept.push_str(&String::from_utf8_lossy(&std::fs::read(path).unwrap()));
        }
    }
    assert!(kept.contains(&id) && !kept.contains(SECRET), "the password stays in memory");
}

#[test]
fn what_is_refused_says_why_in_a_message() {
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let hosts = json!(["203.0.113.1"]);
    for (path, body, status, said) in [
        ("/api/v2.0/jobs", json!({}), 400, "Missing job data"),
        ("/api/v2.0/jobs", json!({"workload": "zz", "slave_addresses": hosts}), 400, "Unknown workload: zz"),
        ("/api/v1.0/jobs", json!({"workload": "rr", "stack_name": "none"}), 400, "Stack none does not exist"),
        ("/api/v2.0/jobs", json!({"slave_addresses": ["-oProxyCommand=touch /tmp/x"]}), 400, "host"),
        (
            "/api/v2.0/jobs",
            json!({"slave_addresses": ["127.0.0.1"], "target": "/etc"}),
            400,
            "not among the paths",
        ),
        (
            "/api/v2.0/jobs",
            json!({"slave_addresses": hosts, "workloads": {"w": {"exec_prerun": "reboot"}}}),
            400,
            "parameter validation failed",
        ),
        ("/api/v1.0/initializations", json!({"slave_addresses": hosts, "mkfs": "xfs -f"}), 400, "mkfs"),
        ("/api/v1.0/initializations", json!({"slave_addresses": hosts, "filesize": "1001"}), 400, "512"),
        ("/api/v1.0/configurations", json!({"agent_count": 3}), 501, "slave_addresses"),
    ] {
        let message = refused(&send(&served, path, &body), status);
        assert!(message.contains(said) && !message.contains('\n'), "{path} {body}: {message}");
    }
    assert_eq!(served.get("/api/v1.0/jobs?id=none&type=status").status, 404);
    assert_eq!(served.get("/api/v1.0/jobs?type=sideways").status, 400);
    let form = served.request("POST", "/api/v2.0/jobs", "content-type: text/plain\r\n", "{}");
    assert_eq!(form.status, 415, "what any page can send without asking");
    assert_eq!(served.get_json("/api/v1.0/jobs"), json!({ "job_ids": [] }), "nothing was added");
}

#[test]
fn a_group_of_hosts_stands_for_its_addresses() {
    let directory = directory();
    let served = Served::start(&directory, &[]);
    let group =
        json!({"stack_name": "lab", "slave_addresses": "203.0.113.1,203.0.113.2", "password": SECRET});
    let made = send(&served, "/api/v1.0/configurations", &group);
    assert!(made.status == 200 && made.json()["agent_count"] == 2 && !made.body.contains(SECRET), "{made:?}");
    let shown = served.get_json("/api/v1.0/configurations?stack_name=lab");
    assert_eq!(shown["slave_addresses"], json!(["203.0.113.1", "203.0.113.2"]));
    let job = json!({"stack_name": "lab", "target": "/mnt/data", "workload": "rr"});
    let id = send(&served, "/api/v1.0/jobs", &job).json()["job_id"].as_str().unwrap().to_owned();
    let run = served.get_json(&format!("/api/v3/runs/{id}"));
    assert_eq!(run["hosts"], json!(["203.0.113.1", "203.0.113.2"]));
    let removed = served.request("DELETE", "/api/v1.0/configurations?stack_name=lab", "", "");
    assert_eq!(removed.json(), json!({ "stack_id": "lab" }));
    assert!(refused(&send(&served, "/api/v1.0/jobs", &job), 400).contains("Stack lab does not exist"));
    // Twice: at once.
    for _ in 0..2 {
        served.request("DELETE", &format!("/api/v3/runs/{id}"), "", "");
    }
}
