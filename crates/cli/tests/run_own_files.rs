//! Loads that use the files that they create, on four agents: a right server is right, and one that loses something is named.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use array::faults::{FaultPlan, PathRule};
use array::{Array, Config};
use run_support::Lab;
use store::CellResult;
use support::{Ended, run};

const HOSTS: [&str; 4] = ["local-0", "local-1", "local-2", "local-3"];

/// Appends, renames and removes on four agents, and reads of what they left, with this rule of faults.
fn churn(rule: PathRule) -> (Ended, CellResult) {
    let lab = Lab::new();
    let exports = vec!["bench".to_owned()];
    let array = Array::start(Config { exports, ..Config::loopback() }).unwrap();
    array.faults().set(FaultPlan { paths: vec![rule], ..FaultPlan::default() });
    let data = &array.data()[0];
    let text = format!(
        "
targets: {{t: {{url: 'nfs://{}:{}/bench?mount_port={}', lookup: each_component, depth: 1, directories: 3}}}}
workloads:
  churn:
    works_on: own
    ops: {{write-file: 15%, append: 20%, read-file: 25%, stat: 10%, overwrite: 5%, rename: 15%, remove: 10%}}
    queue_depth: 2
    file_size: 16KiB
    block_size: 4KiB
    verify: true
stages: {{warm_up: 0s, measure: {{at_least: 2s, at_most: 2s}}}}
steady: none
",
        data.ip, data.nfs_port, data.mount_port
    );
    let file = lab.experiment("churn.yaml", &text);
    let ended = run(lab.command().args(["--local", "4"]).arg(file));
    lab.assert_clean();
    let result = lab.results().remove(0);
    (ended, result)
}

/// The reason that names what was lost: with the operation, the file, and the host that found it.
fn assert_named(result: &CellResult, begin: &str, parts: &[&str]) {
    let reasons = &result.verdict.reasons;
    let found = reasons.iter().any(|reason| {
        reason.contains(begin)
            && parts.iter().all(|part| reason.contains(part))
            && HOSTS.iter().any(|host| reason.contains(&format!(": {host}: ")))
            && reason.contains("/bench/manometer-")
    });
    assert!(found, "{reasons:#?}");
}

#[test]
fn a_server_that_keeps_everything_gives_no_error() {
    let (ended, result) = churn(PathRule::default());
    assert_eq!((ended.code, result.total.failed), (Some(0), 0), "{ended:#?}");
    assert!(result.hosts.iter().all(|host| host.total.ok > 0), "{:#?}", result.hosts);
}

#[test]
fn a_lost_rename_is_named() {
    let (ended, result) = churn(PathRule { lost_rename_share: Some(0.02), ..PathRule::default() });
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert_named(&result, "not what must exist", &["NFS3ERR_NOENT", "lost: the server had acknowledged"]);
}

#[test]
fn a_stale_read_is_named() {
    let (ended, result) = churn(PathRule { stale_read_share: Some(0.02), ..PathRule::default() });
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let parts = ["read-file of 8", "stale read", "a second read was right"];
    assert_named(&result, "reads returned wrong data", &parts);
}
