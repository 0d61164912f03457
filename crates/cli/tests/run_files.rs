//! Experiments on files: every byte is written, and any data that differs from what was written is detected.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;

use run_support::{Lab, names};
use store::{State, Validity};
use support::{Ended, run};

const BLOCK: u64 = 64 << 10;

/// Reads of files that stay in `data/kept`.
fn kept(prepare: &str) -> String {
    format!(
        "
targets: {{t: {{url: 'file://DATA', directory: kept}}}}
workloads: {{w: {{ops: read, block_size: 64KiB, queue_depth: 4, files: 2, file_size: 1MiB, verify: true}}}}
stages: {{prepare: {prepare}, warm_up: 0s, measure: {{at_least: 1s, at_most: 1s}}, verify: true}}
steady: none
"
    )
}

/// A lab in which `data/kept` holds the data set.
fn filled() -> (Lab, PathBuf) {
    let lab = Lab::new();
    let ended = lab.run(&kept("fill"));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let file = lab.data().join("kept/0000000000000001");
    (lab, file)
}

/// Runs again on the existing data, and finds it wrong.
fn found_wrong(lab: &Lab) -> Ended {
    let ended = lab.run(&kept("keep"));
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let result = &lab.results()[0];
    assert_eq!(result.verdict.validity, Validity::Invalid, "{:?}", result.verdict);
    let verify = result.stages.iter().find(|stage| stage.name == "verify").unwrap();
    let note = verify.note.as_deref().unwrap();
    assert!(note.starts_with("31 blocks right, 1 wrong"), "{note}");
    let reason = &result.verdict.reasons[0];
    assert!(reason.contains("0000000000000001") && reason.contains("bytes 131072 to 196608"), "{reason}");
    ended
}

/// Each has a directory of its own, so that no cell takes the files of another tree for its own.
#[test]
fn trees_are_compared_in_one_matrix() {
    let lab = Lab::new();
    let ended = lab.run(
        "
targets:
  flat: {url: 'file://DATA'}
  low: {url: 'file://DATA', depth: 1}
  high: {url: 'file://DATA', depth: 3, layout: own}
workloads: {w: {ops: {read-file: 50%, stat: 50%}, files: 20, file_size: 4KiB, verify: true}}
matrix: {target: [flat, low, high], repetitions: 2}
stages: {warm_up: 0s, measure: {at_least: 1s, at_most: 1s}}
steady: none
gates: [errors == 0]
",
    );
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(lab.results().len(), 6);
    lab.assert_clean();
    assert_eq!(names(&lab.data()), Vec::<String>::new());
}

#[test]
fn what_was_written_is_read_back() {
    let (lab, _) = filled();
    let ended = lab.run(&kept("keep"));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let result = &lab.results()[0];
    let verify = result.stages.iter().find(|stage| stage.name == "verify").unwrap();
    assert_eq!(
        verify.note.as_deref(),
        Some(
            "32 blocks right, 0 wrong, 0 unread, 0 uncertain after failed writes; before: pages of 2 files given \
             up (sync, posix_fadvise DONTNEED)"
        )
    );
    assert_eq!(verify.bytes, 2 << 20);
    assert!(result.total.ok > 0 && result.total.failed == 0);
}

#[test]
fn a_single_flipped_bit_is_found() {
    let (lab, file) = filled();
    let file = std::fs::File::options().read(true).write(true).open(file).unwrap();
    let at = 2 * BLOCK + 4321;
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], at).unwrap();
    let ended = found_wrong(&lab);
    assert!(ended.stdout.contains("INVALID"), "{}", ended.stdout);
}

#[test]
fn a_misplaced_block_is_found() {
    let (lab, file) = filled();
    let file = std::fs::File::options().read(true).write(true).open(file).unwrap();
    let mut block = vec![0; BLOCK as usize];
    file.read_exact_at(&mut block, 7 * BLOCK).unwrap();
    file.write_all_at(&block, 2 * BLOCK).unwrap();
    found_wrong(&lab);
}

#[test]
fn a_lost_write_is_found() {
    let (lab, file) = filled();
    // What a drive returns that acknowledged a write to a fresh block and dropped it.
    let file = std::fs::File::options().write(true).open(file).unwrap();
    file.write_all_at(&vec![0; BLOCK as usize], 2 * BLOCK).unwrap();
    found_wrong(&lab);
}

#[test]
fn a_block_of_another_generation_is_found() {
    let (lab, file) = filled();
    // The same files written twice: same seed, same place, next generation.
    let twice =
        kept("fill_always").replace("directory: kept", "directory: other") + "matrix: {repetitions: 2}\n";
    let ended = lab.run(&twice);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let mut block = vec![0; BLOCK as usize];
    let other = std::fs::File::open(lab.data().join("other/0000000000000001")).unwrap();
    other.read_exact_at(&mut block, 2 * BLOCK).unwrap();
    let file = std::fs::File::options().write(true).open(file).unwrap();
    file.write_all_at(&block, 2 * BLOCK).unwrap();
    found_wrong(&lab);
}

#[test]
fn data_that_is_kept_must_be_there_in_full_size() {
    let (lab, file) = filled();
    std::fs::File::options().write(true).open(file).unwrap().set_len(BLOCK).unwrap();
    let ended = lab.run(&kept("keep"));
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let cell = &lab.cells()[0];
    assert_eq!(cell.state, State::Failed);
    assert!(cell.failure.as_ref().unwrap().contains("0000000000000001 has 65536 bytes"), "{cell:?}");
}

#[test]
fn prepare_leaves_no_hole() {
    let lab = Lab::new();
    let text = "
targets: {t: {url: 'file://DATA', directory: kept}}
workloads: {w: {ops: read, block_size: 4KiB, files: 3, file_size: 1500KiB}}
stages: {warm_up: 0s, measure: {at_least: 1s, at_most: 1s}}
steady: none
";
    let ended = lab.run(text);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let files: Vec<String> =
        names(&lab.data().join("kept")).into_iter().filter(|name| name.len() == 16).collect();
    assert_eq!(files.len(), 3, "{files:?}");
    for name in files {
        let facts = std::fs::metadata(lab.data().join("kept").join(&name)).unwrap();
        assert_eq!(facts.len(), 1500 << 10);
        assert!(facts.blocks() * 512 >= facts.len(), "{name} has only {} blocks", facts.blocks());
    }
    let prepare = lab.results()[0].stages.iter().find(|stage| stage.name == "prepare").unwrap().bytes;
    assert_eq!(prepare, 3 * (1500 << 10));
}

#[test]
fn verified_writes_hold_and_nothing_is_left_behind() {
    let lab = Lab::new();
    let text = "
targets: {t: 'file://DATA'}
defaults: {block_size: 16KiB, queue_depth: 4, files: 3, file_size: 1MiB, verify: true}
workloads:
  write: {ops: write, fsync_every: 8}
  mixed: {ops: {read: 50%, write: 50%}}
  read: {ops: read}
stages: {warm_up: 100ms, measure: {at_least: 1s, at_most: 1s}, verify: true}
steady: none
gates: [errors == 0]
";
    let ended = lab.run(text);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    for result in lab.results() {
        let verify = result.stages.iter().find(|stage| stage.name == "verify").unwrap();
        let note = verify.note.as_deref().unwrap();
        assert!(note.contains(" blocks right, 0 wrong, 0 unread, 0 uncertain"), "{note}");
        assert!(note.contains("pages of 3 files given up"), "{note}");
        assert_eq!(verify.bytes, 3 << 20, "everything was read");
    }
    // A writing load leaves content of many generations: the next verifying cell has everything rewritten.
    assert_dry_run_says_what_was_written(&lab);
    lab.assert_clean();
}

/// Crossed cells of a job use the same names: each recreates what the previous one removed.
#[test]
fn a_matrix_goes_over_a_job_that_removes_its_files() {
    let lab = Lab::new();
    let text = "
targets: {t: 'file://DATA'}
workloads:
  w:
    ops: {read: 50%, write: 50%}
    file_size: 1MiB
    verify: true
    job: {name: w, files: {layout: {unlink: true}}}
matrix: {block_size: [4KiB, 64KiB], queue_depth: [1, 4]}
gates: [errors == 0]
";
    let ended = lab.run(text);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let results = lab.results();
    assert_eq!(results.len(), 4);
    for (result, block) in results.iter().zip([4 << 10, 4 << 10, 64 << 10, 64 << 10]) {
        let done = |kind| result.ops.iter().find(|op| op.op == Some(kind)).map_or(0, |op| op.ok);
        let (read, written) = (done(metrics::OpKind::Read), done(metrics::OpKind::Write));
        // Every block once, read or written, plus rewrites.
        assert_eq!(read, (1 << 20) / block, "{written} written");
        assert!(written > 0);
    }
    assert!(names(&lab.data()).is_empty());
}

#[test]
fn a_data_set_is_written_once_for_all_cells_that_leave_it_as_it_is() {
    let lab = Lab::new();
    let text = "
targets: {t: 'file://DATA'}
workloads:
  read: {ops: read, file_size: 1MiB}
stages: {warm_up: 0s, measure: {at_least: 1s, at_most: 1s}}
matrix: {block_size: [4KiB, 8KiB], file_size: [1MiB, 2MiB]}
steady: none
";
    let ended = lab.run(text);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_dry_run_says_what_was_written(&lab);
    lab.assert_clean();
}

fn assert_dry_run_says_what_was_written(lab: &Lab) {
    let results = lab.results();
    let stages = results.iter().flat_map(|result| &result.stages).filter(|stage| stage.name == "prepare");
    let written: u64 = stages.map(|stage| stage.bytes).sum();
    let plan = lab.store().run("last").unwrap().plan;
    assert_eq!(written, plan.bytes_to_write(targets::kinds()).fill, "the dry run says what is written");
}

#[test]
fn a_target_that_is_gone_is_refused_and_without_a_look_fails_its_cells_alone() {
    let lab = Lab::new();
    let text = "
targets: {gone: 'nfs://127.0.0.1:1/export?mount_port=1', there: 'sim:?latency=1ms'}
defaults: {ops: read, file_size: 1MiB}
workloads: {a: {target: gone}, b: {target: there}}
stages: {warm_up: 0s, measure: {at_least: 1s, at_most: 1s}}
steady: none
";
    let refused = lab.run(text);
    assert!(refused.code == Some(1) && refused.stderr.contains("target gone: "), "{refused:#?}");
    assert!(lab.store().runs().unwrap().is_empty(), "a run that cannot begin was written down");
    let file = lab.experiment("experiment.yaml", text);
    let ended = run(lab.command().arg(file).arg("--no-preflight"));
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let cells = lab.cells();
    assert_eq!((cells[0].state, cells[1].state), (State::Failed, State::Finished), "{cells:#?}");
    let failure = cells[0].failure.as_ref().unwrap();
    assert!(failure.contains("127.0.0.1") && !failure.contains('\n'), "{failure}");
    lab.assert_clean();
}

#[test]
fn targets_of_one_url_with_directories_of_their_own_do_not_meet() {
    let lab = Lab::new();
    let text = "
targets:
  one: {url: 'file://DATA', directory: one}
  two: {url: 'file://DATA', directory: two}
workloads:
  small: {target: one, ops: read, files: 2, file_size: 1MiB, verify: true}
  large: {target: two, ops: read, files: 3, file_size: 2MiB, verify: true}
stages: {warm_up: 0s, measure: {at_least: 1s, at_most: 1s}, clean_up: false}
matrix: {repetitions: 2}
steady: none
gates: [errors == 0]
";
    let ended = lab.run(text);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let sizes = |name: &str| -> Vec<u64> {
        let files = std::fs::read_dir(lab.data().join(name)).unwrap().map(|entry| entry.unwrap());
        let ours = files.filter(|file| file.file_name() != ".manometer");
        ours.map(|file| file.metadata().unwrap().len()).collect()
    };
    assert_eq!((sizes("one"), sizes("two")), (vec![1 << 20; 2], vec![2 << 20; 3]));
    // Each was written once although cells of the other ran in between.
    assert_dry_run_says_what_was_written(&lab);
    assert_eq!(lab.store().run("last").unwrap().plan.bytes_to_write(targets::kinds()).fill, (2 + 6) << 20);
}

#[test]
fn each_cell_creates_where_no_earlier_load_has() {
    for prepare in ["fill", "none"] {
        let lab = Lab::new();
        let ended = lab.run(&format!(
            "
targets: {{t: 'file://DATA'}}
defaults: {{queue_depth: 4, file_size: 64KiB, block_size: 4KiB}}
workloads:
  make: {{ops: create}}
  records: {{ops: append}}
  mixed: {{ops: {{create: 60%, mkdir: 20%, symlink: 10%, remove: 10%}}}}
stages: {{prepare: {prepare}, warm_up: 0s, measure: {{at_least: 1s, at_most: 1s}}}}
steady: none
gates: [errors == 0]
"
        ));
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        assert_eq!(lab.results().len(), 3);
        lab.assert_clean();
    }
}
