//! The checked-in JSON Schema is the one that the code generates; valid files conform to it, invalid ones do not.
#![allow(clippy::unwrap_used)] // a test may fail loudly

use std::path::{Path, PathBuf};

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn schema_file() -> PathBuf {
    root().join("schemas/experiment.schema.json")
}

fn validator() -> jsonschema::Validator {
    let schema: Value = serde_json::from_str(&std::fs::read_to_string(schema_file()).unwrap()).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap_or_else(|error| panic!("{error}"));
    jsonschema::validator_for(&schema).unwrap()
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn the_checked_in_schema_is_up_to_date() {
    let mut made = serde_json::to_string_pretty(&experiment::schema(targets::kinds())).unwrap();
    made.push('\n');
    if std::env::var_os("MANOMETER_UPDATE_SCHEMA").is_some() {
        std::fs::write(schema_file(), made).unwrap();
        return;
    }
    let kept = std::fs::read_to_string(schema_file()).unwrap();
    // Two documents of this size side by side help nobody.
    assert!(
        kept == made,
        "run with MANOMETER_UPDATE_SCHEMA=1 to regenerate the schema, and look at the difference"
    );
}

#[test]
fn every_example_conforms_and_names_the_schema() {
    let validator = validator();
    let mut count = 0;
    for entry in std::fs::read_dir(root().join("examples/experiments")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let first = text.lines().next().unwrap();
        let named = first
            .strip_prefix("# yaml-language-server: $schema=")
            .unwrap_or_else(|| panic!("{path:?}: {first}"));
        assert!(path.parent().unwrap().join(named).exists(), "{path:?}: {named}");
        let errors: Vec<_> = validator
            .iter_errors(&yaml(&text))
            .map(|error| format!("{}: {error}", error.instance_path))
            .collect();
        assert!(errors.is_empty(), "{path:?}: {errors:#?}");
        count += 1;
    }
    assert!(count >= 9, "{count}");
}

#[test]
fn mistakes_of_structure_do_not_conform() {
    let validator = validator();
    let with =
        |rest: &str| yaml(&format!("targets: {{d: file:///x}}\nworkloads:\n  w:\n    ops: read\n{rest}"));
    for right in [
        "",
        "    queue_depth: 4\n",
        "    find: p99 <= 2 ms\n",
        "matrix: {anything: [1]}\n",
        "gates: errors == 0\n",
        "gates: [write-file.p99 <= 5 ms, 'get . rate >= 100']\n",
    ] {
        assert!(validator.is_valid(&with(right)), "{right}");
    }
    for wrong in [
        "    queue_dept: 4\n",
        "    queue_depth: 0\n",
        "    queue_depth: many\n",
        "    block_size: 4 KiBB\n",
        "    access: squential\n",
        "    access: {zipf: 1, pareto: 0.2}\n",
        "    access: strided\n",
        "    rate: {ramp: {from: 1/s}}\n",
        "    rate: 10 MB/s\n",
        "    verify: maybe\n",
        "    compressible: 1.5\n",
        "    op_timeout: 30 parsecs\n",
        "    find: {from: 1/s}\n",
        "    sweep: []\n",
        "    gates: [read.bandwith >= 3 GB/s]\n",
        "matrix: {queue_depth: []}\n",
        "matrix: {queue_depth: 4}\n",
        "matrix: {order: shufled}\n",
        "stages: {warmup: 10s}\n",
        "stages: {measure: {atleast: 60s}}\n",
        "steady: sniaa\n",
        "steady: {snia: {samples: 5}}\n",
        "errors: {stop_cell_after: 0}\n",
        "cache: flush\n",
        "colour: blue\n",
    ] {
        assert!(!validator.is_valid(&with(wrong)), "{wrong}");
    }
    for wrong in [
        "workloads: {w: {ops: read}}\n",
        "targets: {d: /mnt/data}\nworkloads: {w: {ops: read}}\n",
        "targets: {d: {direct: true}}\nworkloads: {w: {ops: read}}\n",
        "targets: {d: {url: 'null:', colour: blue}}\nworkloads: {w: {ops: read}}\n",
        "targets: {}\nworkloads: {w: {ops: read}}\n",
        "targets: {'a b': 'null:'}\nworkloads: {w: {ops: read}}\n",
        "- read\n",
    ] {
        assert!(!validator.is_valid(&yaml(wrong)), "{wrong}");
    }
}
