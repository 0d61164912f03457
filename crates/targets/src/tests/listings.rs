//! Directories and buckets of many entries, listed in full by several lanes.

use metrics::CallKind;

use super::*;

const FILES: u64 = 200_000;

/// Creates `count` files or objects, lists all of them with four lanes, and removes them.
fn lists(opened: &Opened, kinds: &[(OpKind, CallKind)], count: u64) {
    let small = |ops: &[(OpKind, f64)]| {
        let mut workload = workload(ops);
        workload.queue_depth = 2;
        changed(workload, |mix| (mix.files, mix.file_bytes) = (count, 1))
    };
    let making = Workload { queue_depth: 16, ..small(&[(OpKind::Stat, 1.0)]) };
    opened.prepare().unwrap();
    let data_set = opened.data_set(&making);
    let each = |load| {
        let done = stage(opened, &making, load, StopRule::Exhausted, Sink::Buffer);
        assert_eq!((done.total.ok(), done.total.failed()), (count, 0), "{:?}", done.error_samples);
    };
    let visit = |kind| Load::Visit { data_set: data_set.clone(), kind };
    each(match data_set.shape() {
        DataShape::Files { .. } => visit(OpKind::Create),
        _ => Load::Fill { data_set: data_set.clone(), block_bytes: 1, generation: 1 },
    });
    for (kind, procedure) in kinds {
        let workload = small(&[(*kind, 1.0)]);
        let load = Load::Mix(mix_of(opened, &workload));
        let listed = stage(opened, &workload, load, StopRule::Ops(4), Sink::Buffer);
        assert_eq!(listed.total.failed(), 0, "{:?}", listed.error_samples);
        let stats = listed.total.op(*kind).unwrap();
        let calls = stats.procedures.iter().find(|calls| calls.procedure == *procedure).unwrap();
        let seen = calls.listing.unwrap();
        // Our directory may hold a marker file.
        let entries = seen.entries / stats.ok;
        assert!((count..=count + 1).contains(&entries) && seen.entries % stats.ok == 0, "{kind}: {entries}");
        assert_eq!(seen.started, stats.ok, "{kind}");
        assert!(calls.calls > stats.ok * (count / 4000) && calls.errors == 0, "{kind}: {calls:?}");
        // The first page comes long before the last one.
        let mean_ns = stats.service.mean_ns();
        assert!(seen.first_mean_ns() * 2.0 < mean_ns, "{kind}: {} of {mean_ns}", seen.first_mean_ns());
    }
    each(visit(OpKind::Remove));
}

const NAMES: [OpKind; 2] = [OpKind::List, OpKind::Readdir];

#[test]
fn a_directory_of_200_000_files_is_listed_in_full() {
    let (directory, _, run) = run();
    // In memory where that is possible: a disk would be busy with the files for long.
    let memory = tempfile::tempdir_in("/dev/shm").unwrap_or(directory);
    let url = format!("file://{}", memory.path().display());
    let opened = open(&target(&url, &[]), &workload(&[(OpKind::List, 1.0)]), &options(&run)).unwrap();
    let kinds = NAMES.map(|kind| (kind, CallKind::SysGetdents));
    lists(&opened, &kinds, FILES);
    opened.remove_all().unwrap();
}

#[test]
fn an_export_of_200_000_files_is_listed_in_full() {
    let (directory, _, run) = run();
    let array = Provisioned::start(directory.path());
    let opened = open(&array.nfs(), &workload(&[(OpKind::List, 1.0)]), &options(&run)).unwrap();
    let kinds = [(OpKind::List, CallKind::Readdirplus), (OpKind::Readdir, CallKind::Readdir)];
    lists(&opened, &kinds, FILES);
    opened.remove_all().unwrap();
}

/// Fewer: the array takes a millisecond for each request. A scripted server in the driver's own tests has 200,000.
#[test]
fn a_bucket_of_20_000_objects_is_listed_in_full() {
    let (directory, _, run) = run();
    let array = Provisioned::start(directory.path());
    let opened = open(&array.s3(), &workload(&[(OpKind::List, 1.0)]), &options(&run)).unwrap();
    lists(&opened, &[(OpKind::List, CallKind::ListObjectsV2)], 20_000);
    opened.remove_all().unwrap();
}
