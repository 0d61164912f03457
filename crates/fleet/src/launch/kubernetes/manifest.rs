//! The Job whose pods hold the agents.

use experiment::Pods;
use serde_json::{Map, Value, json};

use super::{AGENT, GRACE_S};

/// The label by which a run's pods are found.
pub(super) const INSTANCE: &str = "app.kubernetes.io/instance";
/// Default user and group of pods: unprivileged, the same as in our image.
const USER: u32 = 65532;
/// Maximum duration of any run, in seconds: two weeks. Only for when nothing else ends the pods.
const DEADLINE_S: u64 = 14 * 24 * 3600;
/// How long a Job that ended by itself is kept for inspection, in seconds.
const KEPT_S: u64 = 60;
/// Search path for the agent: the usual directories, and the root of an image that contains nothing else.
const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/";
/// What an agent writes besides its data: the journal, and temporary files.
const SCRATCH: [(&str, &str); 2] = [("state", "/state"), ("tmp", "/tmp")];

/// An Indexed Job named `name`. Its pods wait; a pod without an agent for `quiet_s` seconds ends by itself.
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
        // A failed pod reports its last log lines as the reason.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": mounts,
    }));
    if let Some(policy) = &pods.pull_policy {
        container.insert("imagePullPolicy".into(), json!(policy));
    }
    if !pods.resources.is_empty() {
        // Requests equal to limits: the pod has the resources it was measured with, and is not evicted first.
        container.insert("resources".into(), json!({"requests": pods.resources, "limits": pods.resources}));
    }
    let mut spec = object(json!({
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": GRACE_S,
        // Agents do not use the Kubernetes API.
        "automountServiceAccountToken": false,
        "enableServiceLinks": false,
        "securityContext": security(pods.user.unwrap_or(USER)),
        "containers": [container],
        "volumes": volumes,
    }));
    if pods.host_network {
        spec.insert("hostNetwork".into(), json!(true));
        // Service names also resolve in the node's network.
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
            // No retries, and a failed pod ends only itself: with `backoffLimit: 0` it would end all others, too.
            "backoffLimitPerIndex": 0,
            "activeDeadlineSeconds": DEADLINE_S,
            "ttlSecondsAfterFinished": KEPT_S,
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    })
}

/// One pod per node, or spread as evenly as possible.
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

/// The user that the agent runs as.
fn security(user: u32) -> Value {
    json!({
        "runAsNonRoot": user != 0,
        "runAsUser": user,
        "runAsGroup": user,
        "fsGroup": user,
        // Avoids traversing a volume with many files at each start.
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    })
}

/// The volumes, and where they are mounted.
fn volumes(pods: &Pods) -> (Vec<Value>, Vec<Value>) {
    let mut wanted: Vec<(&str, &str, Value)> = Vec::new();
    if let Some(path) = &pods.host_path {
        // It must exist: Kubernetes would create it owned by root, on the node's own disk.
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
