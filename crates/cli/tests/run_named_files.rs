//! Experiments on files with names that the user gives: existing ones are read and kept, overwritten only when that is
//! allowed, and missing ones are made only when that is asked for.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use run_support::{Lab, names};
use store::Validity;
use support::{Ended, Stage, run};

/// A workload on files with names, in the lab's data directory.
fn text(keys: &str) -> String {
    format!(
        "
targets: {{t: 'file://DATA'}}
workloads: {{w: {{block_size: 4KiB, queue_depth: 4, {keys}}}}}
stages: {{warm_up: 0s, measure: {{at_least: 1s, at_most: 1s}}}}
steady: none
gates: [errors == 0]
"
    )
}

const READS: &str = "ops: read, files: {names: [db1.dat, sub/db2.dat]}";
const MIXED: &str = "ops: {read: 70%, write: 30%}, files: {names: [db1.dat, sub/db2.dat]}";

/// Content and modification time of files.
fn state(paths: &[PathBuf]) -> Vec<(Vec<u8>, i64, i64)> {
    let one = |path: &PathBuf| {
        let facts = std::fs::metadata(path).unwrap();
        (std::fs::read(path).unwrap(), facts.mtime(), facts.mtime_nsec())
    };
    paths.iter().map(one).collect()
}

/// A lab with two files of different sizes, neither of which need be whole blocks.
fn lab() -> (Lab, [PathBuf; 2]) {
    let lab = Lab::new();
    let paths = [lab.data().join("db1.dat"), lab.data().join("sub/db2.dat")];
    std::fs::create_dir(lab.data().join("sub")).unwrap();
    std::fs::write(&paths[0], vec![1; 256 << 10]).unwrap();
    std::fs::write(&paths[1], vec![2; (1 << 20) + 1000]).unwrap();
    (lab, paths)
}

fn run_with(lab: &Lab, text: &str, arguments: &[&str]) -> Ended {
    let file = lab.experiment("experiment.yaml", text);
    run(lab.command().arg(file).args(arguments))
}

fn assert_refused(lab: &Lab, keys: &str, words: &[&str]) {
    for arguments in [&[][..], &["--dry-run"]] {
        run_with(lab, &text(keys), arguments).assert_one_line(2, words);
    }
}

#[test]
fn existing_files_are_read_and_not_touched() {
    let (lab, paths) = lab();
    let before = state(&paths);
    for keys in
        [READS.to_owned(), format!("{READS}, access: sequential"), format!("{READS}, file_size: 128KiB")]
    {
        let ended = run_with(&lab, &text(&keys), &["--dry-run"]);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        assert!(ended.stdout.contains("db1.dat, sub/db2.dat"), "{}", ended.stdout);
        assert!(ended.stdout.contains("To be written: nothing"), "{}", ended.stdout);
        let ended = lab.run(&text(&keys));
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let result = &lab.results()[0];
        assert!(result.total.ok > 0 && result.total.failed == 0, "{result:#?}");
        assert_eq!(result.target["data"], "stays after the run");
    }
    assert_eq!(state(&paths), before);
    assert_eq!(names(&lab.data()), ["db1.dat", "sub"]);
    lab.assert_clean();
}

#[test]
fn a_rate_a_matrix_a_sweep_and_direct_io_work_on_them() {
    let (lab, paths) = lab();
    let before = state(&paths);
    let crossed = text(&format!("{READS}, rate: 200/s, think: 1ms"))
        .replace("steady", "matrix: {files: [1, 2]}\nsteady")
        .replace("'file://DATA'", "{url: 'file://DATA', direct: true}");
    let ended = lab.run(&crossed);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(lab.results().len(), 2);
    let ended = lab.run(&text(&format!("{READS}, sweep: {{rates: [100/s, 200/s], point: 1s}}")));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(lab.results()[0].points.len(), 2);
    assert_eq!(state(&paths), before);
}

#[test]
fn what_exists_is_overwritten_only_with_permission() {
    let (lab, paths) = lab();
    let before = state(&paths);
    let [one, two] = paths.each_ref().map(|path| path.display().to_string());
    let refused = run_with(&lab, &text(MIXED), &[]);
    assert_eq!(refused.code, Some(2), "{refused:#?}");
    for path in [&one, &two] {
        assert!(refused.stderr.contains(&format!("give --destroy {path}")), "{refused:#?}");
    }
    run_with(&lab, &text(MIXED), &["--destroy", &one]).assert_one_line(2, &[&two, "nothing was written"]);
    run_with(&lab, &text(MIXED), &["--no-preflight", "--destroy", &one]);
    assert_eq!(state(&paths), before, "it was touched");

    let ended = run_with(&lab, &text(MIXED), &["--destroy", &one, "--destroy", &two]);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let after = state(&paths);
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.0.len(), after.0.len(), "files keep their sizes");
        assert_ne!(before.0, after.0);
    }
    // Only whole blocks are used.
    assert_eq!(after[1].0[1 << 20..], before[1].0[1 << 20..]);
    lab.assert_clean();
}

#[test]
fn missing_and_small_files_are_one_line_before_the_run() {
    let (lab, paths) = lab();
    let before = state(&paths);
    let missing = READS.replace("db1.dat", "db3.dat");
    assert_refused(&lab, &missing, &["db3.dat is missing", "stages: {prepare: fill}"]);
    assert_refused(&lab, &format!("{missing}, file_size: 64KiB"), &["db3.dat is missing", "prepare: fill"]);
    let two = READS.replace("db1.dat", "db3.dat").replace("db2.dat", "db4.dat");
    assert_refused(&lab, &two, &["db3.dat, ", "db4.dat are missing"]);
    assert_refused(&lab, &format!("{READS}, file_size: 512KiB"), &["db1.dat has 262144 bytes", "512KiB"]);
    let larger = READS.to_owned() + ", file_size: 2MiB";
    let ended = run_with(&lab, &text(&larger), &[]);
    assert_eq!((ended.code, ended.stderr.lines().count()), (Some(2), 2), "both are named: {ended:#?}");
    let large_block = text(READS).replace("4KiB", "512KiB");
    run_with(&lab, &large_block, &[]).assert_one_line(2, &["less than a block of 512KiB"]);
    assert_refused(&lab, "ops: read, files: {names: [sub]}", &["neither a file nor a device"]);
    assert_eq!(state(&paths), before);
    assert_eq!(names(&lab.data()), ["db1.dat", "sub"]);
}

/// Files that are to be filled are made, verified and kept; the next run may use them, but not overwrite them.
#[test]
fn files_that_the_run_makes_are_verified_and_stay() {
    let lab = Lab::new();
    let paths = [lab.data().join("new1.dat"), lab.data().join("a/b/new2.dat")];
    let files = "file_size: 256KiB, files: {names: [new1.dat, a/b/new2.dat]}, verify: true";
    let fill = text(&format!("ops: {{read: 50%, write: 50%}}, {files}"))
        .replace("warm_up", "prepare: fill, verify: true, warm_up");
    let ended = run_with(&lab, &fill, &["--dry-run"]);
    assert!(ended.code == Some(0) && ended.stdout.contains("512 KiB to prepare"), "{ended:#?}");
    assert_eq!(names(&lab.data()), Vec::<String>::new());
    let ended = lab.run(&fill);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let result = &lab.results()[0];
    assert_ne!(result.verdict.validity, Validity::Invalid, "{:?}", result.verdict);
    let verify = result.stages.iter().find(|stage| stage.name == "verify").unwrap();
    assert!(verify.note.as_ref().unwrap().contains(" 0 wrong, 0 unread"), "{verify:?}");
    assert_eq!(verify.bytes, 512 << 10);
    assert!(paths.iter().all(|path| path.metadata().unwrap().len() == 256 << 10));
    lab.assert_clean();

    let before = state(&paths);
    let refused = run_with(&lab, &fill, &[]);
    assert_eq!(refused.code, Some(2), "{refused:#?}");
    assert!(refused.stderr.contains("prepare: keep"), "{refused:#?}");
    assert_eq!(state(&paths), before);

    // A pass of writes leaves several generations, so they are filled again to be verified by the next run.
    let destroy: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    let allowed = ["--destroy", &*destroy[0], "--destroy", &*destroy[1]];
    let filled = text(&format!("ops: read, {files}")).replace("warm_up", "prepare: fill, warm_up");
    let ended = run_with(&lab, &filled, &allowed);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let before = state(&paths);
    let ended = run_with(&lab, &text(&format!("ops: read, {files}")), &[]);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(state(&paths), before);

    // What is not ours cannot be compared.
    std::fs::write(&paths[1], vec![3; 256 << 10]).unwrap();
    assert_refused(&lab, &format!("ops: read, {files}"), &["nothing can be compared", "verify: false"]);
}

/// Cells of one run: the first makes the files, the others use them without asking.
#[test]
fn later_cells_use_what_an_earlier_cell_made() {
    let lab = Lab::new();
    let text = "
targets: {t: 'file://DATA'}
workloads:
  make: {ops: read, file_size: 256KiB, files: {names: [a, b]}, verify: true, stages: {prepare: fill}}
  overlap: {ops: read, file_size: 128KiB, files: {names: [b, c]}, verify: true, stages: {prepare: fill}}
  again: {ops: read, file_size: 256KiB, files: {names: [a, b]}, verify: true, stages: {prepare: fill}}
  use: {ops: {read: 50%, write: 50%}, files: {names: [a, b]}}
  own: {ops: read, file_size: 64KiB, files: 2}
stages: {warm_up: 0s, measure: {at_least: 1s, at_most: 1s}}
steady: none
gates: [errors == 0]
";
    let ended = lab.run(text);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(lab.results().iter().all(|result| result.total.ok > 0 && result.total.failed == 0));
    assert_eq!(names(&lab.data()), ["a", "b", "c"]);
    let sizes = ["a", "b", "c"].map(|name| lab.data().join(name).metadata().unwrap().len());
    assert_eq!(sizes, [256 << 10, 256 << 10, 128 << 10]);
    lab.assert_clean();
}

#[test]
fn a_hole_in_a_file_is_a_warning() {
    let lab = Lab::new();
    let file = std::fs::File::create(lab.data().join("sparse")).unwrap();
    file.set_len(1 << 20).unwrap();
    let ended = run_with(&lab, &text("ops: read, files: {names: [sparse]}"), &["--dry-run"]);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(ended.stderr.contains("sparse has holes"), "{ended:#?}");
}

/// Two agents divide the files, or both use all of them.
#[test]
fn a_fleet_divides_files_or_shares_them() {
    let (lab, paths) = lab();
    let before = state(&paths);
    for sharing in ["own", "common", "disjoint"] {
        let text = format!("fleet: {{local: 2, sharing: {sharing}}}{}", text(READS));
        let ended = lab.run(&text);
        assert_eq!(ended.code, Some(0), "{sharing}: {ended:#?}");
        let result = &lab.results()[0];
        assert!(result.hosts.len() == 2 && result.hosts.iter().all(|host| host.total.ok > 0), "{result:#?}");
    }
    assert_eq!(state(&paths), before);
    let fill =
        format!("fleet: {{local: 2, sharing: disjoint}}{}", text(&format!("{MIXED}, file_size: 64KiB")))
            .replace("db1", "new1")
            .replace("db2", "new2")
            .replace("warm_up", "prepare: fill, warm_up");
    let ended = lab.run(&fill);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let sizes = ["new1.dat", "sub/new2.dat"].map(|name| lab.data().join(name).metadata().unwrap().len());
    assert_eq!(sizes, [64 << 10; 2]);
    lab.assert_clean();
}

/// An experiment on an export of the array.
fn over_nfs(stage: &Stage, keys: &str, stages: &str) -> String {
    format!(
        "
targets: {{t: {{url: '{}', mount_port: {}}}}}
workloads: {{w: {{block_size: 4KiB, queue_depth: 4, {keys}}}}}
stages: {{{stages}warm_up: 0s, measure: {{at_least: 1s, at_most: 1s}}}}
steady: none
gates: [errors == 0]
",
        stage.nfs_url("projects"),
        stage.mount_port()
    )
}

#[test]
fn files_on_an_export_are_made_read_and_kept() {
    let stage = Stage::plain(1);
    stage.make_file_system("projects", "*(rw,no_root_squash)");
    let lab = Lab::new();
    let reads = "ops: read, files: {names: [db1.dat, /sub/db2.dat]}";
    run_with(&lab, &over_nfs(&stage, reads, ""), &[]).assert_one_line(2, &["db1.dat", "are missing"]);
    let sized = format!("{reads}, file_size: 256KiB");
    let ended = run_with(&lab, &over_nfs(&stage, &sized, ""), &["--dry-run"]);
    assert_eq!((ended.code, ended.stderr.lines().count()), (Some(2), 2), "both are named: {ended:#?}");
    let all = format!("{sized}, verify: true").replace("ops: read", "ops: {read: 50%, write: 50%}");
    let ended = run_with(&lab, &over_nfs(&stage, &all, "prepare: fill, verify: true, "), &[]);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let result = &lab.results()[0];
    let verify = result.stages.iter().find(|stage| stage.name == "verify").unwrap();
    assert!(verify.note.as_ref().unwrap().contains(" 0 wrong, 0 unread"), "{verify:?}");
    assert_eq!(verify.bytes, 512 << 10);
    assert_eq!(result.target["data"], "stays after the run");
    lab.assert_clean();

    let ended = run_with(&lab, &over_nfs(&stage, reads, ""), &[]);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(lab.results()[0].total.ok > 0 && lab.results()[0].total.failed == 0);
    let small = format!("{reads}, file_size: 1MiB");
    let ended = run_with(&lab, &over_nfs(&stage, &small, ""), &[]);
    assert!(
        ended.code == Some(2) && ended.stderr.contains("has 262144 bytes and file_size is 1MiB"),
        "{ended:#?}"
    );

    let mixed = reads.replace("ops: read", "ops: {read: 50%, write: 50%}");
    let refused = run_with(&lab, &over_nfs(&stage, &mixed, ""), &[]);
    let [one, two] = ["db1.dat", "sub/db2.dat"].map(|name| format!("{}/{name}", stage.nfs_url("projects")));
    assert_eq!(refused.code, Some(2), "{refused:#?}");
    assert!(refused.stderr.contains(&format!("give --destroy {one}")), "{refused:#?}");
    run_with(&lab, &over_nfs(&stage, &mixed, ""), &["--destroy", &one]).assert_one_line(2, &[&two]);
    let ended = run_with(&lab, &over_nfs(&stage, &mixed, ""), &["--destroy", &one, "--destroy", &two]);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
}

#[test]
fn a_device_and_a_directory_are_not_taken_for_files() {
    let lab = Lab::new();
    let null = text("ops: read, files: {names: [/dev/null]}");
    run_with(&lab, &null, &[]).assert_one_line(2, &["/dev/null", "character device"]);
    let nowhere = text(READS).replace("DATA", &lab.path("nowhere").display().to_string());
    assert!(!Path::new(&lab.path("nowhere")).exists());
    run_with(&lab, &nowhere, &[]).assert_one_line(2, &["nowhere", "there is no such directory"]);
}
