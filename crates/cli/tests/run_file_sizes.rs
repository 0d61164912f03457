//! Experiments on files and objects of different sizes: made, read whole and in blocks, rewritten and verified.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use std::collections::BTreeMap;

use content::{SizeDistribution, SizeLaw, SizeTable};
use metrics::OpKind;
use run_support::Lab;
use store::State;
use support::{Stage, run};

/// The sizes of the files in a directory, by name.
fn sizes_in(directory: &std::path::Path) -> BTreeMap<String, u64> {
    let entries = std::fs::read_dir(directory).unwrap().map(Result::unwrap);
    entries.map(|entry| (entry.file_name().into_string().unwrap(), entry.metadata().unwrap().len())).collect()
}

#[test]
fn files_have_the_sizes_of_their_numbers_and_are_verified() {
    let lab = Lab::new();
    let text = |seed: u32, prepare: &str, workloads: &str| {
        format!(
            "
seed: {seed}
targets: {{t: {{url: 'file://DATA', directory: kept, fallocate: reserve}}}}
workloads:
{workloads}
  whole: {{ops: read-file, verify: true}}
defaults: {{files: 40, file_size: {{lognormal: {{median: 4KiB, sigma: 1.2}}, max: 64KiB}}}}
stages: {{prepare: {prepare}, warm_up: 0s, measure: {{at_least: 1s, at_most: 1s}}}}
steady: none
gates: [errors == 0]
"
        )
    };
    // The last one fills again what the first one changed.
    let more = "  blocks: {ops: {read: 50%, write: 50%}, block_size: 1KiB, queue_depth: 4, verify: true}
  made: {ops: {write-file: 50%, remove: 30%, stat: 10%, append: 10%}, block_size: 1KiB}";
    let ended = lab.run(&text(5, "fill", more));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let law = SizeLaw::Lognormal { median_bytes: 4096, sigma: 1.2 };
    let table = SizeTable::new(SizeDistribution { law, limit_bytes: Some(64 << 10), seed: 5 });
    let expected: BTreeMap<String, u64> =
        (0..40).map(|number| (format!("{number:016x}"), table.bytes_of(number))).collect();
    let mut found = sizes_in(&lab.data().join("kept"));
    // What lanes create has other numbers.
    found.retain(|name, _| name.starts_with("00"));
    assert_eq!(found, expected);
    for result in lab.results() {
        assert!(result.total.ok > 0 && result.total.failed == 0, "{result:#?}");
    }
    let whole = &lab.results()[2];
    let op = whole.ops.iter().find(|op| op.op == Some(OpKind::ReadFile)).unwrap();
    let mean = table.in_bytes().before(40) as f64 / 40.0;
    let read = op.bytes as f64 / op.ok as f64;
    assert!((read / mean - 1.0).abs() < 0.5, "{read} bytes per file, {mean} on average");

    // Another run finds the same files, and one with another seed refuses them.
    let again = lab.run(&text(5, "keep", ""));
    assert_eq!(again.code, Some(0), "{again:#?}");
    let other = lab.run(&text(6, "keep", ""));
    assert_ne!(other.code, Some(0));
    assert!(other.stderr.contains("bytes and should have"), "{other:#?}");
}

#[test]
fn exports_and_buckets_hold_files_of_different_sizes() {
    load_different_sizes("mount_port: MOUNT_PORT", "{write-file: 50%, remove: 50%}");
    load_different_sizes("version: '4.1'", "{write-file: 40%, open: 20%, remove: 40%}");
}

/// Loads an export with these options, of which one workload does these operations, and a bucket.
fn load_different_sizes(nfs: &str, ops: &str) {
    let mut stage = Stage::plain(1);
    stage.make_file_system("projects", "*(rw,no_root_squash)");
    let keys = stage.make_bucket("archive");
    stage.remember();
    let lab = Lab::new();
    let text = "
targets:
  nfs: {url: 'NFS_URL', OPTIONS}
  s3: {url: 'S3_URL', part_size: 5MiB}
workloads:
  blocks: {target: nfs, ops: {read: 50%, write: 50%}, block_size: 4KiB, files: 30, file_size: {exponential: 16KiB}, queue_depth: 4, verify: true}
  whole: {target: nfs, ops: read-file, files: 30, file_size: {exponential: 16KiB}, verify: true}
  made: {target: nfs, ops: OPS, file_size: {shares: {1KiB: 50%, 100KiB: 50%}}}
  objects: {target: s3, ops: {get: 50%, put: 50%}, objects: 30, object_size: {shares: {1KiB: 80%, 6MiB: 20%}}, queue_depth: 2, verify: true}
  churned: {target: s3, ops: {put: 40%, delete: 30%, copy: 30%}, object_size: {exponential: 16KiB}}
stages: {warm_up: 0s, measure: {at_least: 1s, at_most: 1s}}
steady: none
gates: [errors == 0]
";
    let file = lab.experiment("sizes.yaml", &stage.filled(&text.replace("OPTIONS", nfs).replace("OPS", ops)));
    let mut command = lab.command();
    command.env("AWS_ACCESS_KEY_ID", &keys.access).env("AWS_SECRET_ACCESS_KEY", &keys.secret);
    let ended = run(command.arg(file));
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    for cell in lab.cells() {
        assert_eq!(cell.state, State::Finished, "{cell:#?}");
        let result = cell.result.unwrap();
        assert!(result.total.ok > 0 && result.total.failed == 0, "{result:#?}");
        if let Some(verify) = result.stages.iter().find(|stage| stage.name == "verify") {
            assert!(verify.note.as_ref().unwrap().contains(" 0 wrong, 0 unread"), "{verify:?}");
        }
    }
    stage.assert_untouched();
    lab.assert_clean();
}
