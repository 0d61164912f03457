//! What Kubernetes reports about the pods of a Job: which run, where, and why the others do not.

use std::collections::BTreeMap;

use serde_json::Value;

use super::super::process::printable;

/// One pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pod {
    pub(super) name: String,
    /// Its completion index.
    pub(super) index: u32,
    pub(super) state: State,
}

/// State of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Its container runs, on this node.
    Running(String),
    /// Not running yet, and why.
    Waiting(String),
    /// It will never run, and why.
    Failed(String),
}

/// Waiting reasons that end only when somebody changes the pod.
const FINAL: [&str; 3] = ["ErrImageNeverPull", "InvalidImageName", "CreateContainerConfigError"];

/// The pods of a list from `kubectl get pods -o json`, by index. If several have the same index, the running one.
pub(super) fn read(list: &Value) -> Vec<Pod> {
    let mut pods: BTreeMap<u32, Pod> = BTreeMap::new();
    for item in list["items"].as_array().into_iter().flatten() {
        let Some(pod) = pod(item) else { continue };
        let better =
            |old: &Pod| matches!(pod.state, State::Running(_)) && !matches!(old.state, State::Running(_));
        if pods.get(&pod.index).is_none_or(better) {
            pods.insert(pod.index, pod);
        }
    }
    pods.into_values().collect()
}

fn pod(item: &Value) -> Option<Pod> {
    let metadata = &item["metadata"];
    // An annotation since the first version of Indexed Jobs; since Kubernetes 1.28 also a label.
    let key = "batch.kubernetes.io/job-completion-index";
    let index = metadata["annotations"][key].as_str().or_else(|| metadata["labels"][key].as_str())?;
    Some(Pod { name: metadata["name"].as_str()?.to_owned(), index: index.parse().ok()?, state: state(item) })
}

fn state(item: &Value) -> State {
    let status = &item["status"];
    if item["metadata"]["deletionTimestamp"].is_string() {
        return State::Failed("it was deleted".to_owned());
    }
    let container = &status["containerStatuses"][0]["state"];
    match status["phase"].as_str() {
        Some("Running") if container["running"].is_object() => {
            State::Running(item["spec"]["nodeName"].as_str().unwrap_or("a node without name").to_owned())
        }
        Some("Failed") => State::Failed(
            reason(&container["terminated"])
                .or_else(|| reason(status))
                .unwrap_or_else(|| "it failed without a reason".to_owned()),
        ),
        Some("Succeeded") => State::Failed("it ended before an agent was started in it".to_owned()),
        _ => waiting(status, container),
    }
}

fn waiting(status: &Value, container: &Value) -> State {
    if let Some(text) = reason(&container["waiting"]) {
        let name = container["waiting"]["reason"].as_str().unwrap_or_default();
        return if FINAL.contains(&name) { State::Failed(text) } else { State::Waiting(text) };
    }
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let unscheduled =
        |condition: &&Value| condition["type"] == "PodScheduled" && condition["status"] == "False";
    let text = conditions.clone().find(unscheduled).and_then(reason);
    State::Waiting(text.unwrap_or_else(|| "Pending".to_owned()))
}

/// `Reason: message` of a status.
fn reason(status: &Value) -> Option<String> {
    let part = |key: &str| status[key].as_str().map(short).filter(|text| !text.is_empty());
    match (part("reason"), part("message")) {
        (Some(reason), Some(message)) => Some(format!("{reason}: {message}")),
        (reason, message) => reason.or(message),
    }
}

/// Shortened, on one line.
fn short(text: &str) -> String {
    let text = printable(text);
    if text.chars().count() <= 400 { text } else { text.chars().take(400).chain(['…']).collect() }
}

/// The last warning about each object of this Job, by the object's name, from `kubectl get events -o json`: only there
/// does Kubernetes say why a volume cannot be mounted or a pod not be created.
pub(super) fn warnings(events: &Value, job: &str) -> BTreeMap<String, String> {
    let mut last: BTreeMap<String, (String, String)> = BTreeMap::new();
    for event in events["items"].as_array().into_iter().flatten() {
        let Some(name) = event["involvedObject"]["name"].as_str().filter(|name| name.starts_with(job)) else {
            continue;
        };
        let when = [&event["lastTimestamp"], &event["eventTime"], &event["firstTimestamp"]];
        let when = when.iter().find_map(|when| when.as_str()).unwrap_or_default().to_owned();
        if let Some(text) = reason(event)
            && last.get(name).is_none_or(|(before, _)| *before <= when)
        {
            last.insert(name.to_owned(), (when, text));
        }
    }
    last.into_iter().map(|(name, (_, text))| (name, text)).collect()
}

/// One line for each reason, with the pods that have it: `pod a, and 3 more: Unschedulable: …`.
pub(super) fn grouped<'a>(reasons: impl Iterator<Item = (&'a str, &'a str)>) -> Vec<String> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (pod, reason) in reasons {
        groups.entry(reason).or_default().push(pod);
    }
    let line = |(reason, pods): (&str, Vec<&str>)| match pods.len() {
        1 => format!("pod {}: {reason}", pods[0]),
        n => format!("pod {} and {} more: {reason}", pods[0], n - 1),
    };
    groups.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn item(index: u32, status: Value) -> Value {
        json!({
            "metadata": {
                "name": format!("m-{index}-x"),
                "annotations": {"batch.kubernetes.io/job-completion-index": index.to_string()},
            },
            "spec": {"nodeName": format!("node{index}")},
            "status": status,
        })
    }

    fn state_of(status: Value) -> State {
        read(&json!({"items": [item(0, status)]})).remove(0).state
    }

    fn running() -> Value {
        json!({"phase": "Running", "containerStatuses": [{"state": {"running": {"startedAt": "x"}}}]})
    }

    #[test]
    fn pods_come_by_index_and_a_running_one_goes_before_one_that_failed() {
        let failed = json!({"phase": "Failed", "reason": "Evicted", "message": "low on\nmemory"});
        let list = json!({"items": [item(10, running()), item(2, failed.clone()), item(2, running()), item(1, failed)]});
        let pods = read(&list);
        assert_eq!(pods.iter().map(|pod| pod.index).collect::<Vec<_>>(), [1, 2, 10]);
        assert_eq!(pods[0].state, State::Failed("Evicted: low on memory".into()));
        assert_eq!(pods[1].state, State::Running("node2".into()));
        assert_eq!(pods[2].name, "m-10-x");
    }

    #[test]
    fn each_reason_not_to_run_is_told() {
        let unscheduled = json!({"phase": "Pending", "conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes are available"},
        ]});
        assert_eq!(state_of(unscheduled), State::Waiting("Unschedulable: 0/2 nodes are available".into()));
        let waiting = |reason: &str| {
            state_of(json!({"phase": "Pending", "containerStatuses": [
                {"state": {"waiting": {"reason": reason, "message": "x/y:1"}}},
            ]}))
        };
        assert_eq!(waiting("ImagePullBackOff"), State::Waiting("ImagePullBackOff: x/y:1".into()));
        assert_eq!(waiting("ErrImageNeverPull"), State::Failed("ErrImageNeverPull: x/y:1".into()));
        let ended = json!({"phase": "Failed", "containerStatuses": [
            {"state": {"terminated": {"reason": "Error", "exitCode": 2, "message": "unexpected argument '--idle'"}}},
        ]});
        assert_eq!(state_of(ended), State::Failed("Error: unexpected argument '--idle'".into()));
        assert_eq!(state_of(json!({})), State::Waiting("Pending".into()));
        assert_eq!(state_of(json!({"phase": "Failed"})), State::Failed("it failed without a reason".into()));
        let mut deleted = item(0, running());
        deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        assert_eq!(read(&json!({"items": [deleted]}))[0].state, State::Failed("it was deleted".into()));
    }

    #[test]
    fn what_is_no_pod_of_an_indexed_job_is_passed_over() {
        assert!(read(&json!({"items": [{"metadata": {"name": "other"}}, 7, null]})).is_empty());
        assert!(read(&json!("nothing")).is_empty());
    }

    #[test]
    fn the_last_warning_about_each_object_is_kept() {
        let event = |name: &str, when: &str, text: &str| json!({"involvedObject": {"name": name}, "lastTimestamp": when, "reason": "FailedMount", "message": text});
        let events = json!({"items": [event("m-0-x", "2", "new"), event("m-0-x", "1", "old"), event("other", "3", "no")]});
        assert_eq!(
            warnings(&events, "m"),
            BTreeMap::from([("m-0-x".to_owned(), "FailedMount: new".to_owned())])
        );
    }

    #[test]
    fn pods_with_the_same_reason_share_a_line() {
        let lines = grouped([("a", "full"), ("b", "full"), ("c", "gone")].into_iter());
        assert_eq!(lines, ["pod a and 1 more: full", "pod c: gone"]);
    }
}
