//! The Job whose pods hold the agents.

use experiment::Pods;
use serde_json::{Map, Value, json};

use super::{AGENT, GRACE_S};

/// The label by which a run's pods are found.
pub(super) const INSTANCE: &str = "app.kubernetes.io/instance";
/// The user and group of pods that name none: nobody in particular, the same as in our image.
const USER: u32 = 65532;
/// The longest that any run may last, in seconds: two weeks. Only for when nothing else ends the pods.
const DEADLINE_S: u64 = 14 * 24 * 3600;
/// How long a Job that has ended by itself stays to be looked at, in seconds.
const KEPT_S: u64 = 60;
/// Where the agent is looked for: the usual places, and the root of an image that holds nothing else.
const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/";
/// What an agent writes beside its data: the journal, and temporary files.
const SCRATCH: [(&str, &str); 2] = [("state", "/state"), ("tmp", "/tmp")];

/// An Indexed Job named `name`. Its pods wait; a pod in which no agent was for `quiet_s` seconds ends by itself.
pub(super) fn job(pods: &Pods, name: &str, quiet_s: u64) -> Value {
    let labels = json!({
        "app.kubernetes.io/name": "manometer",
        "app.kubernetes.io/component": "agent",
        INSTANCE: name,
    });
    let (volumes, mounts) = volumes(pods);
    let mut container = object(json!({
        "name": AGENT,
        "image": pods.image,
        "command": ["manometer", "agent", "--idle", quiet_s.to_string()],
        "env": [
            {"name": "PATH", "value": SEARCH_PATH},
            {"name": "XDG_STATE_HOME", "value": "/state"},
            {"name": "TMPDIR", "value": "/tmp"},
        ],
        "securityContext": {
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
        },
        // A pod that fails says why by its last lines.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": mounts,
    }));
    if let Some(policy) = &pods.pull_policy {
        container.insert("imagePullPolicy".into(), json!(policy));
    }
    if !pods.resources.is_empty() {
        // Requests equal to limits: the pod has what it was measured with, and is not evicted first.
        container.insert("resources".into(), json!({"requests": pods.resources, "limits": pods.resources}));
    }
    let mut spec = object(json!({
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": GRACE_S,
        // An agent asks nothing of Kubernetes.
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "securityContext": security(pods.user.unwrap_or(USER)),
        "containers": [container],
        "volumes": volumes,
    }));
    if pods.host_network {
        spec.insert("hostNetwork".into(), json!(true));
        // Names of services are found from the node's network too.
        spec.insert("dnsPolicy".into(), json!("ClusterFirstWithHostNet"));
    }
    if !pods.node_selector.is_empty() {
        spec.insert("nodeSelector".into(), json!(pods.node_selector));
    }
    let (key, value) = placement(pods, name);
    spec.insert(key.into(), value);
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "completionMode": "Indexed",
            "completions": pods.count,
            "parallelism": pods.count,
            // Nothing is tried again, and a pod that fails ends only itself: with `backoffLimit: 0` it would take all
            // others with it.
            "backoffLimitPerIndex": 0,
            "activeDeadlineSeconds": DEADLINE_S,
            "ttlSecondsAfterFinished": KEPT_S,
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    })
}

/// One pod a node, or spread as well as may be.
fn placement(pods: &Pods, name: &str) -> (&'static str, Value) {
    let ours = json!({"matchLabels": {INSTANCE: name}});
    let node = "kubernetes.io/hostname";
    if pods.share_nodes {
        let spread = json!([{
            "maxSkew": 1, "topologyKey": node, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": ours,
        }]);
        ("topologySpreadConstraints", spread)
    } else {
        let apart = json!({"podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": node, "labelSelector": ours}],
        }});
        ("affinity", apart)
    }
}

/// Under which user the agent runs.
fn security(user: u32) -> Value {
    json!({
        "runAsNonRoot": user != 0,
        "runAsUser": user,
        "runAsGroup": user,
        "fsGroup": user,
        // A volume with many files is not gone through at each start.
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    })
}

/// The volumes, and where they are mounted.
fn volumes(pods: &Pods) -> (Vec<Value>, Vec<Value>) {
    let mut wanted: Vec<(&str, &str, Value)> = Vec::new();
    if let Some(path) = &pods.host_path {
        // It must be there: one made by Kubernetes would belong to root, and lie on the node's own disk.
        wanted.push(("node", path, json!({"hostPath": {"path": path, "type": "Directory"}})));
    }
    if let Some((claim, path)) = &pods.claim {
        wanted.push(("claim", path, json!({"persistentVolumeClaim": {"claimName": claim}})));
    }
    for (name, path) in SCRATCH {
        if wanted.iter().all(|(_, taken, _)| taken.trim_end_matches('/') != path) {
            wanted.push((name, path, json!({"emptyDir": {"sizeLimit": "1Gi"}})));
        }
    }
    wanted
        .into_iter()
        .map(|(name, path, source)| {
            let mut volume = object(source);
            volume.insert("name".into(), json!(name));
            (Value::Object(volume), json!({"name": name, "mountPath": path}))
        })
        .unzip()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
