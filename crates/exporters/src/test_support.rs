//! Plans for tests.

use experiment::{Plan, Settings, SourceText, parse};

/// The plan of an experiment.
pub(crate) fn plan(text: &str) -> Plan {
    parse(&SourceText { file: "t.yaml", text }, &Settings::of(targets::kinds()))
        .unwrap_or_else(|faults| panic!("\n{faults}"))
}
