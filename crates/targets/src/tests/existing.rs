//! A tree of files that exists: walked once, read in many ways, and left as it is.

use std::collections::BTreeMap;
use std::time::SystemTime;

use experiment::{ExistingTree, UserFiles};

use super::*;

fn tree(path: &str) -> ExistingTree {
    ExistingTree { path: path.to_owned(), entries: 1000, sample: None }
}

fn reading(ops: &[(OpKind, f64)], tree: ExistingTree) -> Workload {
    changed(workload(ops), |mix| {
        (mix.files, mix.file_bytes, mix.verify) = (0, 0, false);
        mix.user_files = Some(UserFiles::of_tree(tree));
    })
}

/// Everything that a directory holds: size and time of each entry, by path.
fn contents(directory: &Path) -> BTreeMap<std::path::PathBuf, (u64, SystemTime)> {
    let mut all = BTreeMap::new();
    let mut pending = vec![directory.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let found = path.symlink_metadata().unwrap();
            if found.is_dir() {
                pending.push(path.clone());
            }
            all.insert(path, (found.len(), found.modified().unwrap()));
        }
    }
    all
}

/// Runs the workload; every operation succeeds and occurs.
fn reads(opened: &Opened, workload: &Workload) -> StageResult {
    opened.adopt().unwrap();
    opened.check_complete(&opened.data_set(workload)).unwrap();
    let mix = mix_of(opened, workload);
    let result = stage(opened, workload, Load::Mix(mix), StopRule::Ops(4000), Sink::Buffer);
    assert_eq!(result.total.failed(), 0, "{:?}", result.error_samples);
    for op in &workload.ops {
        assert!(result.total.op(op.op).is_some_and(|stats| stats.ok > 100), "{}", op.op);
    }
    opened.remove_all().unwrap();
    result
}

const READS: [(OpKind, f64); 8] = [
    (OpKind::Read, 0.2),
    (OpKind::ReadFile, 0.1),
    (OpKind::Stat, 0.1),
    (OpKind::Open, 0.1),
    (OpKind::Close, 0.1),
    (OpKind::Access, 0.1),
    (OpKind::Readlink, 0.2),
    (OpKind::Readdir, 0.1),
];

/// Files of 0 to 29,000 bytes in two levels of directories, symbolic links, and a socket.
fn ground() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for file in 0..30 {
        let parent = directory.path().join(format!("top/{}/{}", file % 3, file % 2));
        std::fs::create_dir_all(&parent).unwrap();
        std::fs::write(parent.join(format!("file {file}")), vec![7; 1000 * file]).unwrap();
        std::os::unix::fs::symlink("/nowhere", parent.join(format!("link {file}"))).unwrap();
    }
    std::os::unix::net::UnixListener::bind(directory.path().join("top/socket")).unwrap();
    directory
}

#[test]
fn a_tree_is_read_and_left_as_it_is() {
    let (_directory, _, run) = run();
    let ground = ground();
    let before = contents(ground.path());
    let url = format!("file://{}", ground.path().display());
    for path in ["top", ".", "./top/"] {
        let ops = [&READS[..], &[(OpKind::Getxattr, 0.1), (OpKind::List, 0.1)]].concat();
        let workload = reading(&ops, tree(path));
        let opened = open(&target(&url, &[]), &workload, &options(&run)).unwrap();
        let result = reads(&opened, &workload);
        let read = result.total.op(OpKind::ReadFile).unwrap();
        let mean = read.bytes / read.ok;
        assert!((10_000..20_000).contains(&mean), "files have their own sizes: {mean}");
        let facts = opened.facts();
        let directories = if path == "." { 11 } else { 10 };
        let shown = format!(
            "30 files with 425 KiB, 30 symbolic links, {directories} directories, without 1 special files"
        );
        assert!(facts["files"].ends_with(&shown), "{}", facts["files"]);
        assert_eq!(contents(ground.path()), before, "nothing is written, created or removed");
    }
    // Who could not write the files reads them all the same: nothing asks for permission to write.
    let look = open(&target(&url, &[]), &reading(&READS, tree("top")), &options(&run)).unwrap().look(false);
    assert!(look.findings.is_empty() && look.seen.starts_with("tree top: 30 files"), "{}", look.seen);
}

#[test]
fn a_tree_that_is_too_large_or_lacks_something_is_refused_or_sampled() {
    let (_directory, _, run) = run();
    let ground = ground();
    let url = format!("file://{}", ground.path().display());
    let opened = |ops: &[(OpKind, f64)], tree| {
        open(&target(&url, &[]), &reading(ops, tree), &options(&run)).map_err(|error| error.to_string())
    };
    let stat = [(OpKind::Stat, 1.0)];
    let few = ExistingTree { entries: 7, ..tree("top") };
    for (refused, expected) in [
        (
            opened(&stat, few.clone()).err(),
            "tree top: it has more than 7 files; next: name a smaller part of it",
        ),
        (opened(&stat, tree("none")).err(), "none"),
        (opened(&stat, tree("top/0/0/file 0")).err(), "file 0"),
    ] {
        assert!(refused.as_ref().is_some_and(|text| text.contains(expected)), "{refused:?}");
    }
    std::fs::create_dir(ground.path().join("empty")).unwrap();
    let refused = opened(&stat, tree("empty")).err().unwrap();
    assert!(refused.contains("tree empty: it has no files, which stat needs"), "{refused}");
    let sample = ExistingTree { sample: Some(5), ..few };
    let workload = reading(&READS, sample.clone());
    let opened = opened(&READS, sample).unwrap();
    assert!(opened.facts()["files"].contains("7 of 30 files"), "{}", opened.facts()["files"]);
    reads(&opened, &workload);
}

#[test]
fn a_tree_of_an_export_is_read_and_left_as_it_is() {
    let (directory, _, run) = run();
    let array = Provisioned::start(directory.path());
    let mut kept = array.nfs();
    kept.options.insert("directory".to_owned(), "kept".to_owned());
    kept.options.insert("depth".to_owned(), "1".to_owned());
    kept.options.insert("directories".to_owned(), "3".to_owned());
    let making = workload(&[(OpKind::Symlink, 0.5), (OpKind::Mkdir, 0.5)]);
    let maker = open(&kept, &making, &options(&run)).unwrap();
    maker.prepare().unwrap();
    fill(&maker, &making, 1);
    let mix = Mix { block_sizes: Vec::new(), ..mix_of(&maker, &making) };
    let made = stage(&maker, &making, Load::Mix(mix), StopRule::Ops(600), Sink::Buffer);
    let of = |kind| made.total.op(kind).unwrap().ok;
    let mut before = Vec::new();
    maker.items(&mut |number, bytes| before.push((number, bytes))).unwrap();
    for lookup in ["cached", "each_component"] {
        let workload = reading(&READS[..3], tree("kept"));
        // Version 3 has no open.
        let ops = [&READS[..3], &READS[5..]].concat();
        let workload = Workload { ops: super::workload(&ops).ops, ..workload };
        let mut target = array.nfs();
        target.options.insert("lookup".to_owned(), lookup.to_owned());
        let opened = open(&target, &workload, &options(&run)).unwrap();
        let shown = format!(
            "8 files with 512 KiB, {} symbolic links, {} directories",
            of(OpKind::Symlink),
            of(OpKind::Mkdir) + 4
        );
        assert!(opened.facts()["files"].ends_with(&shown), "{}: {shown}", opened.facts()["files"]);
        let result = reads(&opened, &workload);
        assert_eq!(result.total.op(OpKind::ReadFile).map(|stats| stats.bytes / stats.ok), Some(64 << 10));
        let mut after = Vec::new();
        maker.items(&mut |number, bytes| after.push((number, bytes))).unwrap();
        assert_eq!(before, after);
    }
}
