//! The launcher with a small script as `kubectl`, and the manifests stored for Kubernetes' own check.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::*;
use crate::launch::tests::program;

const NEVER: &(dyn Fn() -> bool + Sync) = &|| false;

fn settings(seconds: u64) -> LaunchSettings<'static> {
    LaunchSettings::new("1.2.3", Duration::from_secs(seconds), NEVER)
}

fn silent() -> Say {
    Arc::new(|_| {})
}

fn pods(count: u32) -> Pods {
    Pods { count, image: "manometer:latest".to_owned(), ..Pods::default() }
}

/// A `kubectl` that records its calls, stores what was applied, and answers from files.
struct Fake(tempfile::TempDir);

impl Fake {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let script = format!(
            r#"#!/bin/sh
cd '{}' || exit 1
echo "$*" >>calls
for word; do
    case $word in
        --*) continue ;;
        apply) cat >applied; test ! -f refuse || {{ cat refuse >&2; exit 1; }}; exit 0 ;;
        get) case "$*" in *events*) cat events ;; *) cat pods ;; esac; exit ;;
        exec) echo ready; exec cat ;;
        delete) test ! -f stay || {{ cat stay >&2; exit 1; }}; exit 0 ;;
    esac
done
exit 9
"#,
            directory.path().display()
        );
        program(&directory.path().join("kubectl"), &script);
        let fake = Self(directory);
        fake.write("calls", "");
        fake.write("events", r#"{"items": []}"#);
        fake
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.path().join(name)).unwrap()
    }

    /// Pods with these statuses, on nodes of these names.
    fn answer(&self, pods: &[(&str, serde_json::Value)]) {
        let item = |(index, (node, status)): (usize, &(&str, serde_json::Value))| {
            serde_json::json!({
                "metadata": {
                    "name": format!("m-{index}"),
                    "annotations": {"batch.kubernetes.io/job-completion-index": index.to_string()},
                },
                "spec": {"nodeName": node},
                "status": status,
            })
        };
        let items: Vec<_> = pods.iter().enumerate().map(item).collect();
        self.write("pods", &serde_json::json!({"items": items}).to_string());
    }

    /// Launches; with `until_told`, the user gives up after the first message.
    fn launch(
        &self,
        pods: &Pods,
        seconds: u64,
        until_told: bool,
    ) -> (Result<Vec<Launched>, LaunchError>, Vec<String>) {
        let said = Arc::new(Mutex::new(Vec::new()));
        let kubectl = Kubectl::new(
            self.0.path().join("kubectl").into(),
            pods.context.as_deref(),
            pods.namespace.as_deref(),
        );
        let kept = said.clone();
        let say: Say = Arc::new(move |line| kept.lock().unwrap().push(line.to_owned()));
        let stop = || until_told && !said.lock().unwrap().is_empty();
        let settings = LaunchSettings::new("1.2.3", Duration::from_secs(seconds), &stop);
        let launched = launch_with(kubectl, "m", pods, &settings, &say);
        let said = said.lock().unwrap().clone();
        (launched, said)
    }

    fn deletions(&self) -> usize {
        self.read("calls").lines().filter(|line| line.contains("delete job m ")).count()
    }
}

fn running() -> serde_json::Value {
    serde_json::json!({"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]})
}

fn waiting(reason: &str) -> serde_json::Value {
    serde_json::json!({"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": reason}}}]})
}

fn failure(outcome: Result<Vec<Launched>, LaunchError>) -> String {
    outcome.unwrap_err().to_string()
}

#[test]
fn agents_are_started_in_the_pods_and_the_job_goes_with_the_last() {
    let fake = Fake::new();
    fake.answer(&[("n1", running()), ("n2", running())]);
    let wanted = Pods { namespace: Some("bench".into()), context: Some("lab".into()), ..pods(2) };
    let (agents, said) = fake.launch(&wanted, 20, false);
    let mut agents = agents.unwrap();
    assert_eq!(agents.iter().map(|agent| agent.name.as_str()).collect::<Vec<_>>(), ["n1", "n2"]);
    assert!(said.contains(&"agent n2: pod m-1 on node n2".to_owned()), "{said:?}");
    for agent in &mut agents {
        agent.input.write_all(b"frame").unwrap();
        let mut bytes = [0; 11];
        agent.output.read_exact(&mut bytes).unwrap();
        assert_eq!(&bytes, b"ready\nframe");
    }
    let calls = fake.read("calls");
    let place = "--context=lab --namespace=bench";
    assert_eq!(calls.lines().next(), Some(format!("{place} apply -f -").as_str()));
    assert!(calls.contains(&format!("{place} exec -i m-1 -c agent -- manometer agent\n")), "{calls}");
    drop(agents.pop());
    assert_eq!(fake.deletions(), 0);
    drop(agents);
    assert_eq!(fake.deletions(), 1);
    let applied: serde_json::Value = serde_json::from_str(&fake.read("applied")).unwrap();
    assert_eq!(applied, manifest::job(&wanted, "m", 600));
}

#[test]
fn pods_that_share_a_node_have_numbers() {
    let fake = Fake::new();
    fake.answer(&[("n1", running()), ("n2", running()), ("n1", running())]);
    let agents = fake.launch(&pods(3), 20, false).0.unwrap();
    assert_eq!(agents.iter().map(|agent| agent.name.as_str()).collect::<Vec<_>>(), ["n1/0", "n1/1", "n2"]);
}

#[test]
fn what_kubectl_refuses_is_said_in_its_words() {
    let fake = Fake::new();
    fake.write("refuse", "Error from server (Forbidden): jobs.batch is forbidden\n");
    let text = failure(fake.launch(&pods(1), 20, false).0);
    assert_eq!(text, "kubectl apply -f - failed: Error from server (Forbidden): jobs.batch is forbidden");
    // Nothing was created.
    assert_eq!(fake.deletions(), 0);
}

#[test]
fn a_cluster_that_does_not_answer_is_said_without_kubectls_advice_to_check_less() {
    let fake = Fake::new();
    let text = "error: error validating \"STDIN\": error validating data: failed to download openapi: Get \
                \"http://localhost:8080/openapi/v2?timeout=32s\": dial tcp [::1]:8080: connect: connection refused; if you \
                choose to ignore these errors, turn validation off with --validate=false\n";
    fake.write("refuse", text);
    let text = failure(fake.launch(&pods(1), 20, false).0);
    assert!(text.contains("the cluster does not answer (Get \"http://localhost:8080"), "{text}");
    assert!(text.contains("next: see that `kubectl get pods` works") && !text.contains("validat"), "{text}");
}

#[test]
fn a_pod_that_will_never_run_ends_the_start_at_once() {
    let fake = Fake::new();
    fake.answer(&[("n1", running()), ("n2", waiting("ErrImageNeverPull"))]);
    let text = failure(fake.launch(&pods(2), 600, false).0);
    assert!(text.starts_with("pod m-1: ErrImageNeverPull; next: "), "{text}");
    assert_eq!(fake.deletions(), 1);
}

#[test]
fn pods_that_do_not_run_in_time_are_named_with_their_reason() {
    let fake = Fake::new();
    fake.answer(&[
        ("n1", running()),
        ("n2", waiting("ImagePullBackOff")),
        ("n3", waiting("ImagePullBackOff")),
    ]);
    let text = failure(fake.launch(&pods(3), 2, false).0);
    let ending = "did not all run within 2 s: pod m-1 and 1 more: ImagePullBackOff";
    assert!(text.ends_with(ending), "{text}");
    assert_eq!(fake.deletions(), 1);
}

#[test]
fn an_event_says_why_no_pod_is_made() {
    let fake = Fake::new();
    fake.answer(&[]);
    let event = serde_json::json!({"items": [{
        "involvedObject": {"name": "m"}, "reason": "FailedCreate", "message": "pods \"m-0\" is forbidden: exceeded quota",
    }]});
    fake.write("events", &event.to_string());
    let (outcome, said) = fake.launch(&pods(1), 600, true);
    let reason = "job m: FailedCreate: pods \"m-0\" is forbidden: exceeded quota";
    assert_eq!(said, [format!("0 of 1 pods run; {reason}")]);
    assert!(failure(outcome).contains("before it was interrupted"));
}

#[test]
fn a_namespace_that_will_never_let_the_pods_in_ends_the_start() {
    let fake = Fake::new();
    fake.answer(&[]);
    let event = serde_json::json!({"items": [{
        "involvedObject": {"name": "m"}, "reason": "FailedCreate", "message": "forbidden: violates PodSecurity \"baseline\"",
    }]});
    fake.write("events", &event.to_string());
    let text = failure(fake.launch(&pods(1), 600, false).0);
    assert!(
        text.starts_with("job m: FailedCreate: forbidden: violates PodSecurity \"baseline\"; next: "),
        "{text}"
    );
    assert_eq!(fake.deletions(), 1);
}

#[test]
fn what_cannot_be_removed_is_told_with_the_command_that_removes_it() {
    let fake = Fake::new();
    fake.answer(&[("n1", waiting("InvalidImageName"))]);
    fake.write("stay", "no route to host\n");
    let (outcome, said) = fake.launch(&pods(1), 20, false);
    assert!(failure(outcome).contains("InvalidImageName"));
    assert!(said[0].starts_with("job m could not be removed: "), "{said:?}");
    assert!(said[0].contains("no route to host; next: run `kubectl delete job m "), "{said:?}");
}

#[test]
fn an_interrupted_start_leaves_nothing() {
    let fake = Fake::new();
    fake.answer(&[("n1", waiting("ContainerCreating"))]);
    let kubectl = Kubectl::new(fake.0.path().join("kubectl").into(), None, None);
    let looks = std::sync::atomic::AtomicU32::new(0);
    let stop = || looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 20;
    let settings = LaunchSettings::new("1.2.3", Duration::from_secs(600), &stop);
    let text = failure(launch_with(kubectl, "m", &pods(1), &settings, &silent()));
    assert!(text.contains("before it was interrupted"), "{text}");
    assert!(fake.read("calls").lines().last().unwrap().starts_with("delete job m "));
}

#[test]
fn a_program_that_is_not_there_is_said() {
    let kubectl = Kubectl::new("/nonexistent/kubectl".into(), None, None);
    let text = failure(launch_with(kubectl, "m", &pods(1), &settings(5), &silent()));
    assert!(text.starts_with("kubectl cannot be run"), "{text}");
    let none = launch(&pods(0), &settings(5), &silent());
    assert!(matches!(none, Err(LaunchError::Input(_))));
    let without = launch(&Pods { image: String::new(), ..pods(1) }, &settings(5), &silent());
    assert!(failure(without).contains("container image"));
}

/// The manifests that `interop/run.sh go` reads with Kubernetes' own types.
fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubernetes")
}

#[test]
fn the_manifests_are_those_that_kubernetes_was_asked_about() {
    let small = |text: &str| text.to_owned();
    let everything = Pods {
        count: 12,
        image: "registry.example.com/bench/manometer:1".into(),
        namespace: Some("bench".into()),
        node_selector: [(small("kubernetes.io/arch"), small("amd64"))].into(),
        resources: [(small("cpu"), small("8")), (small("memory"), small("4Gi"))].into(),
        host_network: true,
        host_path: Some("/mnt/scratch".into()),
        claim: Some(("data".into(), "/data".into())),
        pull_policy: Some("Always".into()),
        user: Some(0),
        ..Pods::default()
    };
    let cases = [
        ("plain.json", pods(2)),
        ("everything.json", everything),
        ("shared-nodes.json", Pods { share_nodes: true, host_path: Some("/tmp/".into()), ..pods(4) }),
    ];
    for (file, pods) in cases {
        let wanted = manifest::job(&pods, "manometer-example", 660);
        let path = kept().join(file);
        if std::env::var_os("MANOMETER_KEEP").is_some() {
            std::fs::write(&path, format!("{wanted:#}\n")).unwrap();
        }
        let kept: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(kept, wanted, "{file}: run this test with MANOMETER_KEEP=1 and look at what changed");
    }
}
