//! Experiments over NFS and S3, closed and open loop, against the simulated array.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use std::time::Duration;

use array::faults::FaultPlan;
use metrics::OpKind;
use run_support::Lab;
use rustix::process::Signal;
use store::State;
use support::{Stage, run, start};

#[test]
fn nfs_and_s3_are_loaded_in_both_loops_verified_and_left_as_they_were() {
    load_nfs_and_s3(MOUNT_PORT);
}

#[test]
fn nfs_4_1_and_s3_are_loaded_in_both_loops_verified_and_left_as_they_were() {
    load_nfs_and_s3("version: '4.1'");
}

/// An array with the export `projects`, and a directory for results.
fn exported() -> (Stage, Lab) {
    let mut stage = Stage::plain(1);
    stage.make_file_system("projects", "*(rw,no_root_squash)");
    stage.remember();
    (stage, Lab::new())
}

/// One directory of the run serves both, so that they can be compared on one export.
#[test]
fn both_versions_of_nfs_are_measured_on_one_export_in_one_run() {
    let (stage, lab) = exported();
    let text = "
targets:
  three: {url: 'NFS_URL', mount_port: MOUNT_PORT}
  four: {url: 'NFS_URL', version: '4.1'}
workloads:
  first: {target: three, ops: {read: 50%, write: 50%}, block_size: 32KiB, files: 2, file_size: 256KiB}
  second: {target: four, ops: {read: 50%, write: 50%}, block_size: 32KiB, files: 2, file_size: 256KiB}
  third: {target: three, ops: read, block_size: 32KiB, files: 2, file_size: 128KiB}
  fourth: {target: four, ops: read-file, files: 40, file_size: 4KiB}
defaults: {verify: true}
stages: {warm_up: 0s, measure: {at_least: 1s, at_most: 1s}, verify: true}
steady: none
gates: [errors == 0]
";
    let ended = run(lab.command().arg(lab.experiment("versions.yaml", &stage.filled(text))));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let cells = lab.cells();
    assert_eq!(cells.len(), 4);
    for cell in cells {
        assert_eq!(cell.state, State::Finished, "{cell:#?}");
        let total = cell.result.unwrap().total;
        assert!(total.ok > 0 && total.failed == 0, "{total:?}");
    }
    stage.assert_untouched();
    lab.assert_clean();
}

/// Each has a directory of its own: what one user makes another may not be able to write to or remove.
#[test]
fn users_and_trees_are_measured_beside_each_other_on_one_export() {
    let (stage, lab) = exported();
    let text = "
targets:
  plain: {url: 'NFS_URL', mount_port: MOUNT_PORT}
  user: {url: 'NFS_URL', mount_port: MOUNT_PORT, uid: 1000, gid: 100}
  flat: {url: 'NFS_URL', mount_port: MOUNT_PORT, depth: 2, directories: 2}
  deep: {url: 'NFS_URL', version: '4.1', depth: 3, directories: 2}
workloads:
  a: {target: plain}
  b: {target: user}
  c: {target: flat}
  d: {target: deep}
defaults: {ops: {read-file: 50%, write-file: 50%}, files: 20, file_size: 4KiB, verify: true}
stages: {warm_up: 0s, measure: {at_least: 1s, at_most: 1s}}
steady: none
gates: [errors == 0]
";
    let ended = run(lab.command().arg(lab.experiment("users.yaml", &stage.filled(text))));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(lab.cells().iter().filter(|cell| cell.state == State::Finished).count(), 4);
    stage.assert_untouched();
    lab.assert_clean();
}

/// Each step of a pass that NFS has, over either version, with handles that are kept and with each path walked again.
#[test]
fn passes_make_use_and_remove_a_tree_on_an_export() {
    let (stage, lab) = exported();
    let targets = [
        "url: 'NFS_URL', mount_port: MOUNT_PORT",
        "url: 'NFS_URL', mount_port: MOUNT_PORT, lookup: each_component",
        "url: 'NFS_URL', version: '4.1'",
        "url: 'NFS_URL', version: '4.1', lookup: each_component, connections: 2",
    ];
    /// The cell that removes files and renamed files.
    const REMOVING: usize = 6;
    for target in targets {
        let pass = |steps: &str| {
            format!(
                "{{pass: {{steps: [{steps}], files: 21, file_bytes: 24KiB, record_bytes: 4KiB, fsync: true, verify: true, \
                 tree: {{files_per_directory: 4, directories_per_directory: 3}}}}}}"
            )
        };
        let workloads = [
            ("create", "write-file, read-file"),
            ("use", "append, stat, chmod, symlink, mkdir"),
            ("rewrite", "truncate-overwrite, overwrite, read-file"),
            ("move", "rename, rmdir"),
            ("swap", "write-temporary, chmod-temporary, rename-temporary, read-file"),
            ("list", "readdir, stat"),
            ("remove", "remove, remove-renamed"),
            ("clean", "clean-up"),
            ("again", "write-file, mkdir, symlink, rename"),
            ("clean-again", "clean-up"),
        ]
        .map(|(name, steps)| format!("  {name}: {}\n", pass(steps)))
        .concat();
        let text = format!(
            "targets: {{t: {{{target}}}}}\ndefaults: {{jobs: 2, queue_depth: 2}}\nworkloads:\n{workloads}gates: [errors == 0]\n"
        );
        let ended = run(lab.command().arg(lab.experiment("passes.yaml", &stage.filled(&text))));
        assert_eq!(ended.code, Some(0), "{target}: {ended:#?}");
        for cell in lab.cells() {
            let result = cell.result.unwrap();
            let (index, done) = (cell.index as usize, result.ops);
            assert!(!done.is_empty(), "{target}, cell {index}");
            for done in done {
                // Each of four lanes has files in six directories; one of the cells removes both trees.
                let op = done.op.unwrap();
                let wanted = match op {
                    OpKind::Readdir => 4 * 6,
                    OpKind::Remove if index == REMOVING => 2 * 4 * 21,
                    _ => 4 * 21,
                };
                assert_eq!(done.ok, wanted, "{target}, cell {index}: {op}");
            }
        }
        stage.assert_untouched();
    }
    lab.assert_clean();
}

#[test]
fn steps_that_nfs_does_not_have_are_refused_by_name() {
    let (stage, lab) = exported();
    let text = "
targets: {t: {url: 'NFS_URL', mount_port: MOUNT_PORT}}
workloads: {w: {pass: {steps: [write-file, setxattr]}}}
";
    let ended = run(lab.command().arg(lab.experiment("xattr.yaml", &stage.filled(text))));
    assert!(ended.code == Some(2) && ended.stderr.contains("setxattr"), "{ended:#?}");
    stage.assert_untouched();
}

/// How version 3 finds the MOUNT service.
const MOUNT_PORT: &str = "mount_port: MOUNT_PORT";

fn load_nfs_and_s3(nfs: &str) {
    let mut stage = Stage::plain(1);
    stage.make_file_system("projects", "*(rw,no_root_squash)");
    let keys = stage.make_bucket("archive");
    stage.remember();
    let lab = Lab::new();
    let text = "
targets:
  nfs: {url: 'NFS_URL', OPTIONS}
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
    let file = lab.experiment("protocols.yaml", &stage.filled(&text.replace("OPTIONS", nfs)));
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

/// A prefix exists once an object bears it: the other hosts need not find one before the data set is written.
#[test]
fn hosts_share_the_objects_of_a_prefix() {
    let mut stage = Stage::plain(1);
    let keys = stage.make_bucket("archive");
    stage.remember();
    for sharing in ["disjoint", "common", "neighbour"] {
        let lab = Lab::new();
        let text = format!(
            "
targets: {{t: S3_URL}}
workloads: {{w: {{ops: get, objects: 8, object_size: 16KiB, queue_depth: 2, verify: true}}}}
fleet: {{local: 2, sharing: {sharing}}}
stages: {{warm_up: 0s, measure: {{at_least: 1s, at_most: 1s}}}}
steady: none
gates: [errors == 0]
"
        );
        let mut command = lab.command();
        command.env("AWS_ACCESS_KEY_ID", &keys.access).env("AWS_SECRET_ACCESS_KEY", &keys.secret);
        let ended = run(command.arg(lab.experiment("prefix.yaml", &stage.filled(&text))));
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        assert!(lab.cells()[0].result.as_ref().unwrap().total.ok > 0);
        lab.assert_clean();
    }
    stage.assert_untouched();
}

#[test]
fn the_third_signal_leaves_at_once_and_says_what_is_left() {
    let (stage, lab) = exported();
    let text = format!(
        "
targets: {{t: {{url: '{}', mount_port: {}}}}}
workloads: {{w: {{ops: read, block_size: 4KiB, file_size: 64KiB}}}}
stages: {{warm_up: 0s, measure: {{at_least: 60s, at_most: 60s}}}}
steady: none
",
        stage.nfs_url("projects"),
        stage.mount_port()
    );
    let file = lab.experiment("e.yaml", &text);
    let running = start(lab.command().arg(file));
    lab.wait_for_intervals(1);
    // From now on nobody answers: neither the operations nor the clean-up end soon.
    let mut faults = FaultPlan::default();
    faults.add_flag(&format!("{}=drop", stage.ip(0))).unwrap();
    stage.array.faults().set(faults);
    for signal in [Signal::INT, Signal::TERM, Signal::INT] {
        running.signal(signal);
        // Spaced apart, so that the kernel does not merge them.
        std::thread::sleep(Duration::from_millis(500));
    }
    let ended = running.finish();
    assert_eq!(ended.code, Some(130), "{ended:#?}");
    ended.assert_one_line(130, &["left at once", "manometer-", "manometer cleanup"]);
    stage.array.faults().set(FaultPlan::default());
    let mut cleanup = std::process::Command::new(env!("CARGO_BIN_EXE_manometer"));
    let cleaned = run(cleanup.arg("cleanup").arg("--journal-dir").arg(lab.path("journal")));
    assert_eq!(cleaned.code, Some(0), "{cleaned:#?}");
    stage.assert_untouched();
    lab.assert_clean();
}
