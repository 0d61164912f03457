//! The files in `examples/` are correct: they parse, take both inputs from the Secret, and use existing flags.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn kubernetes(name: &str) -> Value {
    let text = std::fs::read_to_string(example("kubernetes").join(name)).unwrap();
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The pod of a Job or DaemonSet, and its manometer container.
fn pod_and_container(object: &Value, list: &str) -> (Value, Value) {
    let pod = object["spec"]["template"]["spec"].clone();
    let container = pod[list].as_array().unwrap()[0].clone();
    (pod, container)
}

fn assert_takes_its_inputs_from_the_secret(pod: &Value, container: &Value) {
    let secret = kubernetes("secret.yaml");
    let variables = container["env"].as_array().unwrap();
    for input in ["FB_MGMT_VIP", "FB_TOKEN"] {
        let variable = variables.iter().find(|variable| variable["name"] == input).expect(input);
        let reference = &variable["valueFrom"]["secretKeyRef"];
        assert_eq!(reference["name"], secret["metadata"]["name"]);
        assert!(secret["stringData"][reference["key"].as_str().unwrap()].is_string(), "{reference}");
    }
    let help = Command::new(env!("CARGO_BIN_EXE_manometer")).args(["check", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let arguments = container["args"].as_array().unwrap();
    assert_eq!(arguments[0], "check");
    for argument in &arguments[1..] {
        let flag = argument.as_str().unwrap().split('=').next().unwrap();
        assert!(help.contains(&format!("{flag} ")), "{flag} is no flag of check");
        // Expanded names must be among the variables.
        if let Some((_, rest)) = argument.as_str().unwrap().split_once("$(") {
            let name = rest.trim_end_matches(')');
            assert!(variables.iter().any(|variable| variable["name"] == name), "{name}");
        }
    }
    // The journal needs a location that this user may write to.
    let mount = container["volumeMounts"].as_array().unwrap().iter().find(|m| m["mountPath"] == "/state");
    let volume = mount.expect("/state is mounted")["name"].clone();
    assert!(pod["volumes"].as_array().unwrap().iter().any(|v| v["name"] == volume));
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
}

#[test]
fn the_job_checks_once() {
    let job = kubernetes("job.yaml");
    assert_eq!((&job["apiVersion"], &job["kind"]), (&"batch/v1".into(), &"Job".into()));
    assert_eq!(job["spec"]["backoffLimit"], 0);
    let (pod, container) = pod_and_container(&job, "containers");
    assert_eq!(pod["restartPolicy"], "Never");
    assert_takes_its_inputs_from_the_secret(&pod, &container);
}

#[test]
fn the_daemon_set_checks_from_every_node() {
    let set = kubernetes("daemonset.yaml");
    assert_eq!((&set["apiVersion"], &set["kind"]), (&"apps/v1".into(), &"DaemonSet".into()));
    assert_eq!(set["spec"]["selector"]["matchLabels"], set["spec"]["template"]["metadata"]["labels"]);
    let (pod, container) = pod_and_container(&set, "initContainers");
    assert_takes_its_inputs_from_the_secret(&pod, &container);
}

#[test]
fn the_role_lets_a_fleet_be_started_and_removed_and_nothing_else() {
    let text = std::fs::read_to_string(example("kubernetes/fleet-rbac.yaml")).unwrap();
    let (role, binding) = text.split_once("\n---\n").unwrap();
    let role: Value = serde_saphyr::from_str(role).unwrap();
    let binding: Value = serde_saphyr::from_str(binding).unwrap();
    assert_eq!(binding["roleRef"]["name"], role["metadata"]["name"]);
    let rules = role["rules"].as_array().unwrap();
    let verbs = |resource: &str| -> Vec<String> {
        let rule =
            rules.iter().find(|rule| rule["resources"] == serde_json::json!([resource])).expect(resource);
        serde_json::from_value(rule["verbs"].clone()).unwrap()
    };
    // The verbs that `kubectl apply`, `get`, `exec` and `delete --wait` need.
    assert_eq!(verbs("jobs"), ["get", "list", "watch", "create", "patch", "delete"]);
    assert_eq!(verbs("pods"), ["get", "list", "watch"]);
    assert_eq!(verbs("pods/exec"), ["get", "create"]);
    assert_eq!(verbs("events"), ["list"]);
    assert_eq!(rules.len(), 4);
}

#[test]
fn the_container_file_starts_from_nothing_and_runs_as_nobody() {
    let text = std::fs::read_to_string(example("container/Containerfile")).unwrap();
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines[0], "FROM scratch");
    assert!(lines.contains(&"USER 65532:65532"));
    assert!(lines.contains(&"ENTRYPOINT [\"/manometer\"]"));
    assert!(lines.iter().any(|line| line.contains("XDG_STATE_HOME=/state")));
}
