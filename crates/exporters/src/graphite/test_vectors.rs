//! `StorPerf`'s own tests as inputs and expected outputs; each names its source.

use serde_json::Value;

/// The vectors of a kind.
pub(crate) fn vectors(kind: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(include_str!("../../tests/data/storperf-vectors.json")).unwrap();
    let vectors = file["vectors"].as_array().unwrap().iter();
    vectors.filter(|vector| vector["kind"] == kind).cloned().collect()
}
