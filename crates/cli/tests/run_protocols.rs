//! Experiments over NFS and S3, closed and open loop, against the simulated array.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use run_support::Lab;
use store::State;
use support::{Stage, run};

#[test]
fn nfs_and_s3_are_loaded_in_both_loops_verified_and_left_as_they_were() {
    let mut stage = Stage::plain(1);
    stage.make_file_system("projects", "*(rw,no_root_squash)");
    let keys = stage.make_bucket("archive");
    stage.remember();
    let lab = Lab::new();
    let text = "
targets:
  nfs: {url: 'NFS_URL', mount_port: MOUNT_PORT}
  s3: S3_URL
workloads:
  files: {target: nfs, ops: {read: 50%, write: 50%}, block_size: 32KiB, files: 2, file_size: 256KiB, queue_depth: 4}
  paced-files: {target: nfs, ops: read, rate: 50/s, files: 2, file_size: 256KiB, queue_depth: 4}
  objects: {target: s3, ops: {get: 50%, put: 50%}, objects: 4, object_size: 64KiB, queue_depth: 4}
  paced-objects: {target: s3, ops: get, rate: {poisson: 20/s}, objects: 4, object_size: 64KiB, queue_depth: 4}
defaults: {verify: true}
stages: {warm_up: 0s, measure: {at_least: 1s, at_most: 1s}, verify: true}
steady: none
gates: [errors == 0]
";
    let text =
        text.replace("NFS_URL", &stage.nfs_url("projects")).replace("S3_URL", &stage.s3_url("archive"));
    let text = text.replace("MOUNT_PORT", &stage.mount_port().to_string());
    let file = lab.experiment("protocols.yaml", &text);
    let mut command = lab.command();
    command.env("AWS_ACCESS_KEY_ID", &keys.access).env("AWS_SECRET_ACCESS_KEY", &keys.secret);
    let ended = run(command.arg(file));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(!ended.stdout.contains(&keys.secret) && !ended.stderr.contains(&keys.secret));
    for cell in lab.cells() {
        assert_eq!(cell.state, State::Finished, "{cell:#?}");
        let result = cell.result.unwrap();
        assert!(result.total.ok > 0 && result.total.failed == 0, "{result:#?}");
        let verify = result.stages.iter().find(|stage| stage.name == "verify").unwrap();
        assert!(verify.note.as_ref().unwrap().contains(" 0 wrong, 0 unread"), "{verify:?}");
        assert!(verify.bytes > 0);
        assert_eq!(result.open_loop.is_some(), cell.index % 2 == 1, "cell {}", cell.index);
        assert!(result.total.service.p50_ns <= result.total.response.p50_ns);
    }
    stage.assert_untouched();
    lab.assert_clean();
}
