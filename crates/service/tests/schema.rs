//! The checked-in OpenAPI documents are those that the code generates.
#![allow(clippy::unwrap_used)] // a test may fail loudly

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Each document with its file.
fn documents() -> [(PathBuf, String); 2] {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas");
    [
        (directory.join("openapi-v3.json"), service::openapi_json()),
        (directory.join("openapi-storperf.json"), service::storperf_openapi_json()),
    ]
}

#[test]
fn the_checked_in_documents_are_up_to_date() {
    for (file, made) in documents() {
        if std::env::var_os("MANOMETER_UPDATE_SCHEMA").is_some() {
            std::fs::write(file, made).unwrap();
            continue;
        }
        let kept = std::fs::read_to_string(&file).unwrap();
        assert!(
            kept == made,
            "run with MANOMETER_UPDATE_SCHEMA=1 to regenerate {}, and look at the difference",
            file.display()
        );
    }
}

/// Every `$ref` below a value.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("$ref").and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|inner| references(inner, found));
        }
        Value::Array(items) => items.iter().for_each(|inner| references(inner, found)),
        _ => {}
    }
}

#[test]
fn every_reference_has_a_schema_and_every_error_is_a_problem() {
    for (_, document) in documents() {
        check(&serde_json::from_str(&document).unwrap());
    }
}

fn check(document: &Value) {
    let mut named = BTreeSet::new();
    references(document, &mut named);
    for reference in &named {
        let found = document.pointer(reference.strip_prefix('#').unwrap());
        let found = found.unwrap_or_else(|| panic!("{reference} is not defined"));
        assert!(found["$ref"] != **reference, "{reference} refers to itself");
    }
    let (mut operations, mut ids) = (0, BTreeSet::new());
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            operations += 1;
            ids.insert(operation["operationId"].as_str().unwrap());
            assert!(operation["summary"].is_string(), "{method} {path} has no summary");
            for (status, response) in operation["responses"].as_object().unwrap() {
                let problem = response["content"]["application/problem+json"].is_object();
                assert_eq!(problem, status.as_str() >= "400", "{method} {path} {status}");
            }
        }
    }
    assert_eq!(ids.len(), operations, "each operation has an id of its own");
}
