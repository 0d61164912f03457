//! `manometer serve`: calibrations of its host.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod serve_support;
mod support;

use run_support::names;
use serde_json::{Value, json};
use serve_support::{Served, directory, state};
use support::children;

const CALIBRATIONS: &str = "/api/v3/calibrations";

#[test]
fn a_calibration_is_a_run_whose_result_is_kept() {
    let directory = directory();
    let served = Served::start(&directory, &["--allow-local"]);
    let id = served.work(CALIBRATIONS, &json!({ "seconds": 0.05, "repetitions": 1 }));
    let events = served.all_events(&id);
    assert_eq!(events.last().unwrap().data, json!({ "state": "finished", "reason": null }), "{events:#?}");
    assert!(events.iter().any(|event| event.kind == "interval"));
    let result = served.get_json(&format!("/api/v3/runs/{id}/result"));
    let schema: Value =
        serde_json::from_str(include_str!("../../../schemas/calibration.schema.json")).unwrap();
    let validator = jsonschema::draft202012::options().build(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(&result).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    assert_eq!((&result["seconds"], &result["repetitions"]), (&json!(0.05), &json!(1)));
    let shown = served.get_json(&format!("/api/v3/runs/{id}"));
    assert_eq!((&shown["kind"], &shown["hosts"]), (&json!("calibration"), &json!(["this host"])));
    let cells = served.get_json(&format!("/api/v3/runs/{id}/cells"));
    let ended = events.iter().filter(|event| event.kind == "cell").count();
    assert_eq!(cells["cells"].as_array().unwrap().len(), ended, "{cells}");
    assert_eq!(served.get(&format!("/api/v3/runs/{id}/report")).status, 200);
    // Later results on this host are judged against it.
    assert_eq!(names(&state(&directory, "calibration")).len(), 1);
    assert_eq!(names(&state(&directory, "scratch")), Vec::<String>::new());
    let refused = served.request("POST", &format!("/api/v3/runs/{id}/resume"), "", "");
    assert_eq!((refused.status, &*refused.problem()), (409, "not-an-experiment"));
}

#[test]
fn a_stopped_calibration_keeps_its_run_and_nothing_else() {
    let directory = directory();
    let served = Served::start(&directory, &["--allow-local"]);
    let id = served.work(CALIBRATIONS, &json!({ "seconds": 5, "repetitions": 100 }));
    served.wait_for_intervals(&id, 1);
    assert_eq!(children(served.id()).len(), 1, "the simulated array");
    let stopped = served.request("POST", &format!("/api/v3/runs/{id}/stop"), "", "");
    assert_eq!(stopped.status, 202, "{stopped:?}");
    let last = served.all_events(&id).pop().unwrap();
    assert_eq!(last.data, json!({ "state": "interrupted", "reason": "stopped by a request" }));
    assert_eq!(served.get(&format!("/api/v3/runs/{id}/result")).problem(), "no-results");
    let intervals = served.get_json(&format!("/api/v3/runs/{id}/intervals"));
    assert!(!intervals["intervals"].as_array().unwrap().is_empty(), "{intervals}");
    assert_eq!(children(served.id()), Vec::new());
    assert_eq!(names(&state(&directory, "scratch")), Vec::<String>::new());
    assert!(!state(&directory, "calibration").exists());
}

#[test]
fn a_calibration_needs_the_operators_permission() {
    let directory = directory();
    let served = Served::start(&directory, &["--allow-command"]);
    let refused = served.post_json(CALIBRATIONS, &json!({}));
    assert_eq!((refused.status, &*refused.problem()), (422, "not-allowed"));
    assert!(refused.body.contains("--allow-local"), "{refused:?}");
    let unknown = served.post_json(CALIBRATIONS, &json!({ "program": "/bin/sh" }));
    assert_eq!((unknown.status, &unknown.json()["field"]), (422, &json!("program")), "{unknown:?}");
    assert_eq!(served.get_json("/api/v3/runs")["runs"], json!([]), "nothing was started");
}
