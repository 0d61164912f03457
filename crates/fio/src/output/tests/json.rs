//! JSON: keys, types and their order are fio's, except under `manometer`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::report::FioReport;

pub(super) fn text(report: &FioReport, bins: bool) -> String {
    let mut out = Vec::new();
    super::super::json::write(report, bins, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

pub(super) fn write(report: &FioReport, bins: bool) -> Value {
    serde_json::from_str(&text(report, bins)).unwrap()
}

/// Every path of a document with its type. Buckets count as one path, because their keys are values.
fn paths(value: &Value, at: &str, all: &mut BTreeMap<String, &'static str>) {
    let kind = match value {
        Value::Object(fields) => {
            for (key, value) in fields.iter().filter(|(key, _)| *key != "manometer") {
                let key = if at.ends_with("/bins") { "*" } else { key };
                paths(value, &format!("{at}/{key}"), all);
            }
            "object"
        }
        Value::Array(items) => {
            // Jobs are checked one by one; the numbers of a list as one.
            for (n, item) in items.iter().enumerate() {
                let n = if item.is_object() { n.to_string() } else { "*".to_owned() };
                paths(item, &format!("{at}/{n}"), all);
            }
            "array"
        }
        Value::String(_) => "string",
        Value::Number(number) if number.is_f64() => "real",
        Value::Number(_) => "whole",
        _ => "other",
    };
    all.insert(at.to_owned(), kind);
}

fn all_paths(value: &Value) -> BTreeMap<String, &'static str> {
    let mut all = BTreeMap::new();
    paths(value, "", &mut all);
    all
}

#[test]
fn keys_and_types_are_those_of_fio() {
    let theirs: Value = serde_json::from_str(&super::by_fio("plus.json")).unwrap();
    let mut report = super::sample();
    for (entry, job) in report.entries.iter_mut().zip(theirs["jobs"].as_array().unwrap()) {
        let options = job["job options"].as_object().unwrap();
        entry.options = options.iter().map(|(k, v)| (k.clone(), v.as_str().unwrap().to_owned())).collect();
    }
    let ours = all_paths(&write(&report, true));
    let mut theirs = all_paths(&theirs);
    // Data that is unknown here: per-second lists of a steady state, percentiles of the submission.
    theirs.retain(|path, _| {
        !path.contains("/steadystate/data/iops/") && !path.contains("/steadystate/data/bw/")
    });
    theirs.retain(|path, _| !path.contains("/slat_ns/percentile") && !path.contains("/slat_ns/bins"));
    assert_eq!(ours, theirs);
}

#[test]
fn jobs_of_hosts_stand_where_fio_has_them() {
    let theirs: Value = serde_json::from_str(&super::by_fio("client.json")).unwrap();
    let report = super::fleet();
    let ours = write(&report, true);
    let name = |document: &Value| -> Vec<(Value, Value)> {
        let stats = document["client_stats"].as_array().unwrap().iter();
        stats.map(|one| (one["jobname"].clone(), one["groupid"].clone())).collect()
    };
    assert_eq!(name(&ours), name(&theirs));
    let (of_ours, mut of_fio) = (all_paths(&ours), all_paths(&theirs));
    of_fio.retain(|path, _| !path.contains("/slat_ns/percentile") && !path.contains("/slat_ns/bins"));
    // The options given to jobs do not matter here.
    of_fio.retain(|path, _| !path.contains(" options"));
    for (path, kind) in &of_fio {
        assert_eq!(of_ours.get(path), Some(kind), "{path}");
    }
    let stats = ours["client_stats"].as_array().unwrap();
    assert!(ours.get("jobs").is_none(), "fio has one or the other");
    assert_eq!((&stats[0]["hostname"], &stats[0]["port"]), (&"alpha".into(), &2222.into()));
    assert_eq!((&stats[3]["hostname"], &stats[3]["port"]), (&"beta".into(), &22.into()));
    let of = |n: usize, direction: &str| stats[n][direction]["total_ios"].as_u64().unwrap();
    for direction in ["read", "write"] {
        assert_eq!(of(6, direction), (0..6).map(|n| of(n, direction)).sum::<u64>(), "{direction}");
    }
    assert!(of(6, "read") > 0 && stats[6].get("job options").is_none());
}

#[test]
fn one_job_on_one_host_is_not_added_up() {
    let mut report = super::fleet();
    report.clients.truncate(1);
    report.clients[0].entries.truncate(1);
    report.all_clients = None;
    let stats = write(&report, false)["client_stats"].clone();
    assert_eq!(stats.as_array().unwrap().len(), 1);
}

#[test]
fn lines_look_like_fios() {
    let ours = text(&super::sample(), false);
    let theirs = super::by_fio("plus.json");
    let shape = |line: &str| line.split_once(" : ").map(|(key, _)| key.to_owned());
    let known: Vec<String> = theirs.lines().filter_map(shape).collect();
    let mut inside = 0;
    for line in ours.lines() {
        // Our part is skipped, up to its end.
        if line.contains("\"manometer\" : {") {
            inside = line.len() - line.trim_start().len() + 1;
        }
        if inside > 0 {
            inside =
                if line.trim_start().starts_with('}') && line.len() - line.trim_start().len() + 1 == inside {
                    0
                } else {
                    inside
                };
            continue;
        }
        if let Some(key) = shape(line) {
            assert!(known.contains(&key), "fio has no line {line}");
        }
    }
    assert!(
        ours.starts_with("{\n  \"fio version\" : \"fio-3.33\",\n  \"timestamp\" : 1795318666,\n"),
        "{ours}"
    );
    assert!(ours.contains("\n        \"iops\" : 199.894792,\n"), "{ours}");
    assert!(!ours.contains("bins"));
}

#[test]
fn figures_are_in_the_units_of_fio() {
    let value = write(&super::sample(), false);
    let read = &value["jobs"][0]["read"];
    assert_eq!(read["io_bytes"], 380 * 4096);
    assert_eq!(
        (&read["io_kbytes"], &read["runtime"], &read["bw"]),
        (&1520.into(), &1901.into(), &799.into())
    );
    assert_eq!(
        (&read["bw_min"], &read["bw_max"], &read["bw_mean"]),
        (&800.into(), &808.into(), &804.0.into())
    );
    assert_eq!(
        (&read["bw_agg"], &read["iops_samples"], &read["iops_stddev"]),
        (&100.0.into(), &3.into(), &1.0.into())
    );
    let sync = &value["jobs"][0]["sync"];
    assert_eq!((&sync["total_ios"], &sync["lat_ns"]["N"]), (&95.into(), &95.into()));
    let trim = &value["jobs"][1]["trim"];
    assert_eq!(trim["clat_ns"]["percentile"].as_object().unwrap().len(), 2);
    assert_eq!(value["jobs"][1]["iodepth_level"]["4"], 100.0);
    assert_eq!(value["jobs"][1]["mixed"]["total_ios"], 512);
    assert_eq!(value["manometer"]["run"], "abcdefgh");
}

#[test]
fn documents_follow_the_schema() {
    let schema: Value =
        serde_json::from_str(include_str!("../../../../../schemas/fio-output.schema.json")).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let mut together = super::sample();
    together.entries[0].report.directions = experiment::ShownDirections::Together;
    together.disks[0].parts = vec![together.disks[0].clone()];
    let fio: Value = serde_json::from_str(&super::by_fio("plus.json")).unwrap();
    for document in [
        write(&super::sample(), true),
        write(&together, false),
        write(&FioReport::default(), false),
        write(&super::fleet(), true),
    ] {
        let errors: Vec<String> = validator
            .iter_errors(&document)
            .map(|error| format!("{}: {error}", error.instance_path))
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
    // fio's own document lacks only our part.
    let errors: Vec<String> = validator.iter_errors(&fio).map(|error| error.to_string()).collect();
    assert!(!errors.is_empty() && errors.iter().all(|error| error.contains("manometer")), "{errors:#?}");
    // Jobs of this host and jobs of others are mutually exclusive.
    let mut both = write(&super::fleet(), false);
    both["jobs"] = Value::Array(Vec::new());
    assert!(!validator.is_valid(&both));
}
