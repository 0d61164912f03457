//! The checked-in schemas: is a document valid, and does the schema allow more than ever occurs?

use std::collections::BTreeSet;

use metrics::{ErrorKind, OpKind};
use serde_json::{Value, json};
use stats::limit::{Probe, ProbePoint};

fn schema(name: &str) -> Value {
    let text = match name {
        "run" => include_str!("../../../../schemas/run.schema.json"),
        "list" => include_str!("../../../../schemas/list.schema.json"),
        other => panic!("no schema {other}"),
    };
    serde_json::from_str(text).unwrap()
}

/// The document conforms to the schema, or to one of its definitions.
pub fn assert_valid(name: &str, definition: Option<&str>, document: &Value) {
    let mut schema = schema(name);
    if let Some(definition) = definition {
        schema = json!({"$defs": schema["$defs"], "$ref": format!("#/$defs/{definition}")});
    }
    let validator = jsonschema::draft202012::options().should_validate_formats(true).build(&schema).unwrap();
    let errors: Vec<String> =
        validator.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path)).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

/// A run with fields newer than the stored files: its first finding says that others use the same NIC, and its first
/// cell has the rule `sustained`, a trend, stalls, a probe and RPCs by procedure.
pub fn with_later_fields(mut run: Value) -> Value {
    assert_valid("run", None, &run);
    let steady = &mut run["cells"][0]["result"]["steady"];
    steady["trend"] =
        json!({"measure": "bytes-per-s", "mean": 1e9, "per_minute": -0.002, "per_minute_bound": 0.007});
    steady["stalls"] = json!({
        "count": 2, "seconds": 20.0, "longest_s": 12.0, "in_window": 1, "expected_in_window": 1.5, "cost": 0.03,
        "window_cost": 0.02
    });
    let outcome: stats::SteadyOutcome = serde_json::from_value(steady.clone()).unwrap();
    assert!(outcome.trend.is_some() && outcome.stalls.is_some());
    let sustained = json!({
        "horizon_s": 600.0, "half_width": 0.03, "drift": 0.05, "latency_drift": 0.1, "effective_samples": 30.0
    });
    let rule: experiment::SteadyRule = serde_json::from_value(json!({"sustained": sustained})).unwrap();
    run["run"]["plan"]["cells"][0]["steady"] = serde_json::to_value(rule).unwrap();
    let workload = &mut run["run"]["plan"]["cells"][0]["workload"];
    let mut batches: experiment::Workload = serde_json::from_value(workload.clone()).unwrap();
    batches.ops[0].op = metrics::OpKind::BatchDelete;
    assert!(batches.batch_size().is_some());
    let mix = batches.mix_mut().unwrap();
    mix.on_own = true;
    mix.sizes = Some(content::SizeDistribution {
        law: content::SizeLaw::Exponential { mean_bytes: 65_536 },
        limit_bytes: Some(1 << 20),
        seed: 1,
    });
    *workload = serde_json::to_value(batches).unwrap();
    let mut calls = metrics::ProcedureStats::new(metrics::CallKind::Lookup);
    calls.count(2, Some(1500));
    let summary = stats::ProcedureSummary {
        procedure: calls.procedure,
        calls: calls.calls,
        calls_per_op: 0.5,
        errors: calls.errors,
        mean_ns: calls.mean_ns(),
        max_ns: calls.max_ns,
        listing: Some(stats::ListingSummary {
            entries: 200_000,
            entries_per_op: 200_000.0,
            entries_per_s: 1e6,
            first_mean_ns: 1500.0,
            first_max_ns: 1500,
        }),
    };
    run["cells"][0]["result"]["total"]["procedures"] = json!([summary]);
    let server =
        json!({"server": "filer", "calls": 1000, "calls_per_op": 1.0, "errors": 2, "mean_ns": 1.5e6});
    let mut opened = server.clone();
    opened["servers"] = json!([server]);
    opened.as_object_mut().unwrap().remove("server");
    opened["procedure"] = json!("OPEN");
    let counters = ["mount", "gluster", "ceph", "command"];
    let counted = counters
        .map(|counter| json!({"counter": counter, "name": "x", "operations": 1000, "procedures": [opened]}));
    run["cells"][0]["result"]["server_calls"] = json!(counted);
    let words = || vec!["a".to_owned()];
    let via_ssh = experiment::Via::Ssh { host: "a".to_owned(), options: words() };
    let via_command = experiment::Via::Command { command: words() };
    let counters = [
        experiment::ServerCounters::Gluster { volume: "gv".to_owned(), options: words() },
        experiment::ServerCounters::Ceph { mds: words(), options: words() },
        experiment::ServerCounters::Command { run: words() },
    ];
    let accounts = counters.into_iter().zip([Some(via_ssh), Some(via_command), None]);
    let cells: Vec<Value> = accounts
        .map(|(counters, via)| {
            let accounting = experiment::Accounting { counters, via, timeout_ms: 30_000 };
            let mut cell = run["run"]["plan"]["cells"][0].clone();
            cell["target"]["accounting"] = json!(accounting);
            cell
        })
        .collect();
    run["run"]["plan"]["cells"].as_array_mut().unwrap().extend(cells);
    let limit = &mut run["cells"][0]["result"]["limit"];
    let mut finding: stats::limit::Bottleneck = serde_json::from_value(limit.clone()).unwrap();
    finding.doubts = vec!["other programs use eth0: 0.9 of 1.2 GB/s are not this load's".to_owned()];
    let part = stats::limit::ServerPart {
        name: "sdb".to_owned(),
        share: Some(0.97),
        bytes_per_s: 1e9,
        baseline_bytes_per_s: Some(1.1e9),
    };
    finding.servers = vec![stats::limit::ServerFinding {
        host: "osd-2".to_owned(),
        samples: 30,
        busy: 0.4,
        core: Some(part.clone()),
        disk: Some(part.clone()),
        nic: Some(part),
    }];
    let point = |asked_ops_per_s| ProbePoint {
        lanes: 4.0,
        asked_ops_per_s,
        ops_per_s: 1000.0,
        half_width: 0.01,
        bytes_per_s: 4e6,
        latency_s: 0.004,
    };
    finding.probe = Probe::of(5.0, point(Some(1000.0)), Some(point(None)), point(None));
    assert!(finding.probe.is_some());
    *limit = serde_json::to_value(finding).unwrap();
    run["run"]["plan"]["cells"][0]["stages"]["probe_s"] = json!(5.0);
    with_servers(&mut run["run"]["plan"]);
    run
}

/// A fleet that shares the data, observed servers and their sizes.
fn with_servers(plan: &mut Value) {
    use experiment::{Fleet, Launcher, Observe, Plan, ServerScale};
    let words = || vec!["a".to_owned()];
    let value = json!({
        "name": "osds", "values": ["1", "2"], "set": ["./set", "{value}"], "ready": words(), "reset": words(),
        "timeout_ms": 1000, "interval_ms": 10, "data": "keep"
    });
    let mut changed: Plan = serde_json::from_value(plan.clone()).unwrap();
    let variables = [("*".to_owned(), [("ip".to_owned(), "10.0.0.1".to_owned())].into())].into();
    changed.fleet = Some(Fleet {
        sharing: experiment::Sharing::Neighbour,
        on_failure: experiment::FailurePolicy::RepeatCell,
        variables,
        ..Fleet::of(Launcher::Local { count: 2 })
    });
    changed.observe = Some(Observe::of(Launcher::Ssh { hosts: words(), options: Vec::new(), binary: None }));
    changed.server_scale = Some(serde_json::from_value::<ServerScale>(value).unwrap());
    *plan = serde_json::to_value(changed).unwrap();
}

/// Fields in the run's schema that occur in none of the documents, as `definition/field`.
pub fn never_seen(documents: &[(Option<&str>, &Value)]) -> BTreeSet<String> {
    let schema = schema("run");
    let mut seen = BTreeSet::new();
    for (definition, document) in documents {
        match definition {
            None => walk(&schema, &schema, "", document, &mut seen),
            Some(name) => walk(&schema, &schema["$defs"][name], name, document, &mut seen),
        }
    }
    let mut all = BTreeSet::new();
    fields(&schema, "", &mut all);
    for (name, definition) in schema["$defs"].as_object().unwrap() {
        fields(definition, name, &mut all);
    }
    all.difference(&seen).cloned().collect()
}

/// Every field that a schema names outside its definitions.
fn fields(schema: &Value, at: &str, all: &mut BTreeSet<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        all.insert(format!("{at}/{name}"));
        fields(property, &format!("{at}/{name}"), all);
    }
    for alternative in schema["oneOf"].as_array().into_iter().flatten() {
        fields(alternative, at, all);
    }
}

/// Walks a document along the schema and records each field on the way.
fn walk(root: &Value, schema: &Value, at: &str, value: &Value, seen: &mut BTreeSet<String>) {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.strip_prefix("#/$defs/").unwrap();
        return walk(root, &root["$defs"][name], name, value, seen);
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        if let Some(inner) = value.get(name) {
            seen.insert(format!("{at}/{name}"));
            walk(root, property, &format!("{at}/{name}"), inner, seen);
        }
    }
    for inner in value.as_array().into_iter().flatten() {
        walk(root, &schema["items"], at, inner, seen);
    }
    if schema["additionalProperties"].is_object() {
        for inner in value.as_object().into_iter().flat_map(|object| object.values()) {
            walk(root, &schema["additionalProperties"], at, inner, seen);
        }
    }
    let alternatives = [&schema["oneOf"], &schema["anyOf"]].into_iter().flat_map(Value::as_array).flatten();
    for alternative in alternatives.filter(|_| !value.is_null()) {
        walk(root, alternative, at, value, seen);
    }
}

/// The schema names operations and errors as the program does.
pub fn assert_names_are_complete() {
    let schema = schema("run");
    let names = |definition: &str| -> Vec<String> {
        serde_json::from_value(schema["$defs"][definition]["enum"].clone()).unwrap()
    };
    assert_eq!(names("OpKind"), OpKind::ALL.iter().map(|op| op.name()).collect::<Vec<_>>());
    assert_eq!(names("ErrorKind"), ErrorKind::ALL.iter().map(|kind| kind.name()).collect::<Vec<_>>());
}
