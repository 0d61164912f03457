//! Layers: a crate may use only crates above it, plus `units` and `metrics`, which any crate may use.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::Finding;

/// From the top layer to the bottom. `bench` and `xtask` are outside the layers.
const ORDER: [&str; 25] = [
    "units",
    "metrics",
    "content",
    "experiment",
    "stats",
    "reactor",
    "wire",
    "drivers",
    "engine",
    "array",
    "provision",
    "targets",
    "fleet",
    "provisioners",
    "database",
    "store",
    "host",
    "runner",
    "fio",
    "smallfile",
    "checks",
    "report",
    "exporters",
    "service",
    "manometer",
];

/// May use every crate, and no crate may use them.
const BESIDE: [&str; 2] = ["bench", "xtask"];

/// A crate of this workspace and the crates of this workspace that it uses.
pub struct Uses {
    name: String,
    uses: Vec<String>,
}

impl Uses {
    /// The crate's name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// The crates of the workspace, from `cargo metadata`.
pub fn dependencies(root: &Path) -> Result<Vec<Uses>> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root)
        .output()
        .context("running cargo metadata")?;
    ensure!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr).trim());
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata")?;
    Ok(from_metadata(&metadata))
}

fn from_metadata(metadata: &Value) -> Vec<Uses> {
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
    list(metadata, "packages")
        .iter()
        .map(|package| Uses {
            name: name(package),
            // Only crates of this workspace are given by a path. Dependencies of tests count too.
            uses: list(package, "dependencies")
                .iter()
                .filter(|dependency| dependency["path"].is_string())
                .map(name)
                .collect(),
        })
        .collect()
}

/// Every dependency that goes down or sideways instead of up.
pub fn check(crates: &[Uses]) -> Vec<Finding> {
    let layer = |name: &str| ORDER.iter().position(|other| *other == name);
    let mut findings = Vec::new();
    for Uses { name, uses } in crates {
        if BESIDE.contains(&name.as_str()) {
            continue;
        }
        let Some(own) = layer(name) else {
            findings.push(Finding::new(
                "Cargo.toml",
                0,
                format!("the crate {name} has no layer: give it a place in xtask/src/tidy/layers.rs"),
            ));
            continue;
        };
        for used in uses {
            if layer(used).is_none_or(|theirs| theirs >= own) {
                findings.push(Finding::new(
                    "Cargo.toml",
                    0,
                    format!("{name} uses {used}, which is not above it in the order of the layers"),
                ));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, uses: &[&str]) -> usize {
        check(&[Uses { name: name.into(), uses: uses.iter().map(ToString::to_string).collect() }]).len()
    }

    #[test]
    fn looking_up_is_allowed_and_looking_down_is_not() {
        assert_eq!(found("engine", &["drivers", "metrics", "units"]), 0);
        assert_eq!(found("drivers", &["engine"]), 1);
        assert_eq!(found("metrics", &["units"]), 0);
        assert_eq!(found("units", &["metrics"]), 1);
        assert_eq!(found("engine", &["engine"]), 1);
        assert_eq!(found("engine", &["bench"]), 1);
        assert_eq!(found("bench", &["array", "engine"]), 0);
        assert_eq!(found("newcomer", &[]), 1);
    }

    #[test]
    fn metadata_is_read_with_dependencies_of_tests() {
        let metadata = serde_json::json!({"packages": [{"name": "wire", "dependencies": [
            {"name": "array", "path": "/x", "kind": "dev"}, {"name": "serde", "kind": null}]}]});
        assert_eq!(check(&from_metadata(&metadata)).len(), 1);
    }
}
