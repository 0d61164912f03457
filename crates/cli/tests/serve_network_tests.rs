//! `manometer serve`: tests of the network between agents on this host.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod serve_support;
mod support;

use std::net::TcpListener;

use serde_json::{Value, json};
use serve_support::{Served, directory};
use support::{children, wait_until};

const NETWORK_TESTS: &str = "/api/v3/network-tests";

/// Consecutive ports that are free now; each call starts elsewhere.
fn port() -> u16 {
    loop {
        let first = fastrand::u16(20_000..50_000);
        if (first..first + 8).all(|port| TcpListener::bind(("127.0.0.1", port)).is_ok()) {
            return first;
        }
    }
}

#[test]
fn a_network_test_is_a_run_with_its_matrix() {
    let directory = directory();
    let served = Served::start(&directory, &["--allow-local"]);
    let body = json!({
        "fleet": { "local": 3 }, "streams": [1], "duration": "500ms", "ramp": "200ms", "port": port(),
    });
    let ids = [(); 2].map(|()| {
        let id = served.work(NETWORK_TESTS, &body);
        let last = served.all_events(&id).pop().unwrap();
        // Loopback links of a busy machine may differ, which is a reason and no failure.
        assert_eq!(last.data["state"], "finished", "{last:?}");
        id
    });
    let id = &ids[1];
    let result = served.get_json(&format!("/api/v3/runs/{id}/result"));
    let schema: Value = serde_json::from_str(include_str!("../../../schemas/network.schema.json")).unwrap();
    let validator = jsonschema::draft202012::options().build(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&result).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    let links = result["links"].as_array().unwrap();
    assert!(
        links.len() == 3 && links.iter().all(|link| link["throughput"]["mean"].as_f64() > Some(0.0)),
        "{result}"
    );
    assert_eq!(result["judgement"]["failed"], json!([]));
    let shown = served.get_json(&format!("/api/v3/runs/{id}"));
    assert_eq!((&shown["kind"], &shown["hosts"]), (&json!("network-test"), &json!(["this host"])));
    let success = result["judgement"]["findings"] == json!([]);
    assert_eq!(shown["reason"].is_null(), success, "{shown}");
    let events = served.all_events(id);
    assert!(events.iter().any(|event| event.kind == "interval"), "{events:#?}");
    let cells = served.get_json(&format!("/api/v3/runs/{id}/cells"));
    assert_eq!(cells["cells"].as_array().unwrap().len(), 3);
    assert_eq!(served.get(&format!("/api/v3/runs/{id}/report")).status, 200);
    let compared = served.get_json(&format!("/api/v3/runs/{id}/compare?with={}", ids[0]));
    assert_eq!(compared["cells"].as_array().unwrap().len(), 3, "{compared:#}");
    let refused = served.request("POST", &format!("/api/v3/runs/{id}/resume"), "", "");
    assert_eq!((refused.status, &*refused.problem()), (409, "not-an-experiment"));

    // Its links are kept as a baseline, which is no run to compare with.
    let json_type = "Content-Type: application/json\r\n";
    let path = "/api/v3/baselines/before%20the%2Fupgrade";
    let kept = served.request("PUT", path, json_type, &json!({ "run": id }).to_string());
    assert_eq!((kept.status, &kept.json()["kind"]), (200, &json!("network")), "{kept:?}");
    let shown = served.get_json(path);
    assert_eq!((&shown["name"], &shown["kept"]), (&json!("before the/upgrade"), &result["taken"]));
    assert_eq!(shown["links"].as_array().map(Vec::len), Some(3), "{shown}");
    let compared = served.get(&format!("/api/v3/runs/{id}/compare?baseline=before%20the%2Fupgrade"));
    assert_eq!((compared.status, &*compared.problem()), (409, "network-baseline"));

    // Cells of an experiment are, also under the name of an earlier one.
    let run = served.run("targets: {t: 'sim:'}\nworkloads: {w: {ops: read}}\nstages: {measure: 5s}\n");
    served.all_events(&run);
    for of in [&run, &run] {
        let kept = served.request("PUT", "/api/v3/baselines/a", json_type, &json!({ "run": of }).to_string());
        assert_eq!((kept.status, &kept.json()["cell_count"]), (200, &json!(1)), "{kept:?}");
    }
    let compared = served.get_json(&format!("/api/v3/runs/{run}/compare?baseline=a"));
    assert_eq!((&compared["a"]["baseline"], &compared["a"]["id"]), (&json!("a"), &json!(run)), "{compared}");
    let page = served.get_json("/api/v3/baselines?limit=1");
    assert_eq!(
        (&page["baselines"][0]["name"], &page["next"]),
        (&json!("a"), &json!("/api/v3/baselines?limit=1&after=a"))
    );
    for (body, status) in
        [(json!({}), 422), (json!({ "run": "../x" }), 422), (json!({ "run": "abcdefgh" }), 404)]
    {
        let refused = served.request("PUT", "/api/v3/baselines/b", json_type, &body.to_string());
        assert_eq!(refused.status, status, "{body}: {refused:?}");
    }
    let long = format!("/api/v3/baselines/{}", "x".repeat(101));
    assert_eq!(served.request("PUT", &long, json_type, &json!({ "run": run }).to_string()).status, 422);
    assert_eq!(served.get(&format!("/api/v3/runs/{run}/compare")).status, 400);
    assert_eq!(served.request("DELETE", "/api/v3/baselines/a", "", "").status, 204);
    assert_eq!(served.request("DELETE", "/api/v3/baselines/a", "", "").problem(), "no-such-baseline");
}

#[test]
fn a_stopped_network_test_leaves_no_agents() {
    let directory = directory();
    let served = Served::start(&directory, &["--allow-local"]);
    let id =
        served.work(NETWORK_TESTS, &json!({ "fleet": { "local": 2 }, "duration": "600s", "port": port() }));
    served.wait_for_intervals(&id, 1);
    assert_eq!(children(served.id()).len(), 2, "its agents");
    let stopped = served.request("POST", &format!("/api/v3/runs/{id}/stop"), "", "");
    assert_eq!(stopped.status, 202, "{stopped:?}");
    let last = served.all_events(&id).pop().unwrap();
    assert_eq!(last.data, json!({ "state": "interrupted", "reason": "stopped by a request" }));
    wait_until("the agents' end", || children(served.id()).is_empty());
    assert_eq!(served.get(&format!("/api/v3/runs/{id}/result")).problem(), "no-results");
}

#[test]
fn launchers_have_the_rules_of_experiments() {
    let directory = directory();
    let served = Served::start(&directory, &[]);
    for (fleet, said) in [
        (json!({ "local": 2 }), "--allow-local"),
        (json!({ "command": { "hosts": ["a", "b"], "command": ["sh", "{host}"] } }), "--allow-command"),
        (json!({ "hosts": ["a", "b"], "ssh_options": ["-oProxyCommand=x"] }), "--allow-command"),
        (json!({ "hosts": "@/etc/passwd" }), "reads no files"),
    ] {
        let answer = served.post_json(NETWORK_TESTS, &json!({ "fleet": fleet }));
        assert_eq!((answer.status, &answer.json()["field"]), (422, &json!("fleet")), "{answer:?}");
        assert!(answer.json()["detail"].as_str().unwrap().contains(said), "{answer:?}");
    }
    assert_eq!(served.get_json("/api/v3/runs")["runs"], json!([]), "nothing was started");
}
