//! Names and attributes: every operation on files, and what is there afterwards.

use super::*;

pub(super) const OPS: [(OpKind, f64); 16] = [
    (OpKind::Create, 0.14),
    (OpKind::WriteFile, 0.03),
    (OpKind::Append, 0.03),
    (OpKind::Remove, 0.1),
    (OpKind::Rename, 0.1),
    (OpKind::Link, 0.1),
    (OpKind::Symlink, 0.1),
    (OpKind::Readlink, 0.05),
    (OpKind::Mkdir, 0.1),
    (OpKind::Rmdir, 0.05),
    (OpKind::Truncate, 0.05),
    (OpKind::Stat, 0.05),
    (OpKind::Access, 0.05),
    (OpKind::Chmod, 0.02),
    (OpKind::List, 0.02),
    (OpKind::Readdir, 0.01),
];

/// Runs all of them; nothing may fail.
pub(super) fn load(opened: &Opened, workload: &Workload) -> StageResult {
    opened.prepare().unwrap();
    fill(opened, workload, 1);
    let mix = mix_of(opened, workload);
    let mixed = stage(opened, workload, Load::Mix(mix), StopRule::Ops(4000), Sink::Buffer);
    assert_eq!(mixed.total.failed(), 0, "{:?}", mixed.error_samples);
    for (kind, share) in OPS {
        let done = mixed.total.op(kind).map_or(0, |stats| stats.ok);
        assert!(done as f64 > share * 2000.0, "{done} of {kind}");
    }
    // Files of the data set were queried, and not changed.
    let checked = check(opened, workload, ContentSummary::uniform(1));
    assert_eq!((checked.checked.wrong, checked.checked.unread), (0, 0), "{:?}", checked.error_samples);
    mixed
}

/// Removes what the mix left: all of it exists.
pub(super) fn remove(opened: &Opened, workload: &Workload, mixed: &StageResult) {
    let data_set = mixed.data_set.clone();
    let load = Load::Visit { data_set, kind: OpKind::Remove };
    let removed = stage(opened, workload, load, StopRule::Exhausted, Sink::Buffer);
    assert_eq!(removed.total.failed(), 0, "{:?}", removed.error_samples);
    assert_eq!(removed.total.ok(), mixed.data_set.objects());
}

#[test]
fn names_in_a_directory_are_what_the_load_left() {
    let (directory, _, run) = run();
    let url = format!("file://{}", directory.path().display());
    let workload = workload(&OPS);
    let opened = open(&target(&url, &[]), &workload, &options(&run)).unwrap();
    let mixed = load(&opened, &workload);
    let place = opened.directory().unwrap().to_owned();
    let mut there: Vec<(u64, char)> = std::fs::read_dir(&place)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter_map(|entry| {
            let kind = entry.file_type().unwrap();
            let kind = if kind.is_dir() {
                'd'
            } else if kind.is_symlink() {
                'l'
            } else {
                'f'
            };
            Some((u64::from_str_radix(entry.file_name().to_str()?, 16).ok()?, kind))
        })
        .filter(|(object, _)| *object >= 8)
        .collect();
    there.sort_unstable();
    let kind = |object| match object {
        object if drivers::numbers::is_directory(object) => 'd',
        object if drivers::numbers::is_symlink(object) => 'l',
        _ => 'f',
    };
    let mut left: Vec<_> = mixed.data_set.sizes().map(|(object, _)| (object, kind(object))).collect();
    left.sort_unstable();
    assert_eq!(there, left);
    assert!(['d', 'l', 'f'].iter().all(|kind| left.iter().filter(|(_, of)| of == kind).count() > 10));
    opened.cache(CacheControl::Invalidate);
    opened.remove_all().unwrap();
    assert!(!place.exists());
}

#[test]
fn names_on_an_export_are_what_the_load_left() {
    let (directory, _, run) = run();
    let array = Provisioned::start(directory.path());
    let workload = workload(&OPS);
    let opened = open(&array.nfs(), &workload, &options(&run)).unwrap();
    let mixed = load(&opened, &workload);
    costs(&mixed);
    remove(&opened, &workload, &mixed);
    opened.remove_all().unwrap();
    // Directories and links are removed with everything else.
    load(&opened, &workload);
    opened.remove_all().unwrap();
    assert!(run.remaining().is_empty());
}

/// Each operation took exactly the RPCs that it needs, and every RPC belongs to an operation.
fn costs(mixed: &StageResult) {
    use metrics::CallKind::{self, Create, Lookup, Mkdir, Readlink, Remove, Rename, Rmdir, Setattr, Symlink};
    for (kind, stats) in &mixed.total.ops {
        let calls: u64 = stats.procedures.iter().map(|procedure| procedure.calls).sum();
        assert_eq!(calls, stats.rpcs, "{kind}");
    }
    let of = |kind| mixed.total.op(kind).unwrap();
    let calls = |kind, procedure: CallKind| {
        let list = &of(kind).procedures;
        list.iter().find(|stats| stats.procedure == procedure).map_or(0, |stats| stats.calls)
    };
    for (kind, procedure) in [
        (OpKind::Create, Create),
        (OpKind::Mkdir, Mkdir),
        (OpKind::Rename, Rename),
        (OpKind::Remove, Remove),
        (OpKind::Rmdir, Rmdir),
        (OpKind::Symlink, Symlink),
        (OpKind::Readlink, Readlink),
        (OpKind::Truncate, Setattr),
        (OpKind::Chmod, Setattr),
        (OpKind::Append, CallKind::Write),
        (OpKind::WriteFile, Create),
        (OpKind::WriteFile, CallKind::Write),
        (OpKind::Link, CallKind::Link),
    ] {
        assert_eq!(calls(kind, procedure), of(kind).ok, "{kind}");
        let [call] =
            of(kind).procedures.iter().filter(|stats| stats.procedure == procedure).collect::<Vec<_>>()[..]
        else {
            panic!("{procedure} is listed once")
        };
        assert!(
            call.ok == call.calls && call.errors == 0 && call.total_ns > 0 && call.max_ns > 0,
            "{call:?}"
        );
        assert!(call.max_ns <= call.total_ns && call.mean_ns() <= call.max_ns as f64);
    }
    // One or more pages each.
    for (kind, procedure) in [(OpKind::List, CallKind::Readdirplus), (OpKind::Readdir, CallKind::Readdir)] {
        assert!(calls(kind, procedure) >= of(kind).ok, "{kind}");
    }
    // Handles are looked up once a worker, and links never had one.
    let looked_up: u64 = mixed.total.ops.iter().map(|(kind, _)| calls(*kind, Lookup)).sum();
    let links =
        calls(OpKind::Readlink, Lookup) + calls(OpKind::Link, Lookup) + calls(OpKind::Truncate, Lookup);
    assert!(looked_up <= links + 2 * 8, "{looked_up} {links}");
}

#[test]
fn a_walk_from_the_root_looks_up_each_part_of_the_path() {
    let (directory, _, run) = run();
    let array = Provisioned::start(directory.path());
    let mut target = array.nfs();
    target.options.insert("lookup".into(), "each_component".into());
    let workload = workload(&OPS);
    let opened = open(&target, &workload, &options(&run)).unwrap();
    let mixed = load(&opened, &workload);
    for (kind, lookups) in [
        (OpKind::Create, 1),
        (OpKind::Rename, 1),
        (OpKind::Mkdir, 1),
        (OpKind::List, 1),
        (OpKind::Readdir, 1),
        (OpKind::Stat, 2),
        (OpKind::Chmod, 2),
        (OpKind::Append, 2),
        (OpKind::WriteFile, 1),
        (OpKind::Readlink, 2),
        // The file, and the directory of its new name.
        (OpKind::Link, 3),
    ] {
        let stats = mixed.total.op(kind).unwrap();
        let lookup = stats.procedures.iter().find(|stats| stats.procedure == metrics::CallKind::Lookup);
        assert_eq!(lookup.unwrap().calls, lookups * stats.ok, "{kind}");
    }
    opened.remove_all().unwrap();
}

/// Each of the 8 lanes fills one file, empties it, and begins again.
fn appends(opened: &Opened) {
    const LANES: u64 = 8;
    let workload = workload(&[(OpKind::Append, 1.0)]);
    opened.prepare().unwrap();
    let mix = Mix { fsync_every: 3, ..mix_of(opened, &workload) };
    let mixed = stage(opened, &workload, Load::Mix(mix), StopRule::Ops(1000), Sink::Buffer);
    assert_eq!(mixed.total.failed(), 0, "{:?}", mixed.error_samples);
    let done = |kind| mixed.total.op(kind).map_or(0, |stats| stats.ok);
    let (appended, emptied) = (done(OpKind::Append), done(OpKind::Truncate));
    assert_eq!(done(OpKind::Create), LANES);
    assert_eq!(mixed.total.bytes(), appended * 4096);
    assert!(emptied > 2 * LANES && done(OpKind::Commit) > appended / 4, "{emptied}");
    // What is there is what was appended since a file was last emptied.
    let mut sizes = Vec::new();
    assert!(opened.items(&mut |object, bytes| sizes.push((object, bytes))).unwrap());
    assert_eq!(sizes.len() as u64, LANES);
    assert_eq!(sizes.iter().map(|(_, bytes)| bytes).sum::<u64>(), appended * 4096 - emptied * (64 << 10));
    opened.remove_all().unwrap();
}

#[test]
fn appended_bytes_are_in_the_files() {
    let (directory, _, run) = run();
    let url = format!("file://{}", directory.path().display());
    appends(&open(&target(&url, &[]), &workload(&[(OpKind::Append, 1.0)]), &options(&run)).unwrap());
    let array = Provisioned::start(directory.path());
    appends(&open(&array.nfs(), &workload(&[(OpKind::Append, 1.0)]), &options(&run)).unwrap());
    assert!(run.remaining().is_empty());
}

#[test]
fn attributes_stay_with_their_files() {
    let (directory, _, run) = run();
    let url = format!("file://{}", directory.path().display());
    let workload = workload(&[(OpKind::Setxattr, 0.5), (OpKind::Getxattr, 0.5)]);
    let opened = open(&target(&url, &[]), &workload, &options(&run)).unwrap();
    assert!(opened.look(true).findings.is_empty());
    opened.prepare().unwrap();
    fill(&opened, &workload, 1);
    let mix = Mix { block_sizes: Vec::new(), ..mix_of(&opened, &workload) };
    let mixed = stage(&opened, &workload, Load::Mix(mix), StopRule::Ops(1000), Sink::Buffer);
    assert_eq!(mixed.total.failed(), 0, "{:?}", mixed.error_samples);
    assert!(workload.ops.iter().all(|op| mixed.total.op(op.op).unwrap().ok > 400));
    for object in 0..8 {
        let mut value = [0; 64];
        let len =
            rustix::fs::getxattr(opened.path_of(object).unwrap(), "user.manometer", &mut value).unwrap();
        assert_eq!((len, &value[..16]), (32, format!("{object:016x}").as_bytes()));
    }
    opened.remove_all().unwrap();
}

#[test]
fn files_are_opened_and_closed_while_others_come_and_go() {
    let (directory, _, run) = run();
    let url = format!("file://{}", directory.path().display());
    let ops = [(OpKind::Open, 0.3), (OpKind::Close, 0.3), (OpKind::Create, 0.2), (OpKind::Remove, 0.2)];
    let workload = workload(&ops);
    let opened = open(&target(&url, &[]), &workload, &options(&run)).unwrap();
    opened.prepare().unwrap();
    let mix = Mix { block_sizes: Vec::new(), ..mix_of(&opened, &workload) };
    let mixed = stage(&opened, &workload, Load::Mix(mix), StopRule::Ops(4000), Sink::Buffer);
    assert_eq!(mixed.total.failed(), 0, "{:?}", mixed.error_samples);
    let done = |kind| mixed.total.op(kind).map_or(0, |stats| stats.ok);
    let still_open = done(OpKind::Open) - done(OpKind::Close);
    assert!(done(OpKind::Open) > 1000 && still_open <= 8, "{still_open}");
    remove(&opened, &workload, &mixed);
    opened.remove_all().unwrap();
}

fn whole_files(opened: &Opened, durable: bool) {
    let ops = [(OpKind::WriteFile, 0.6), (OpKind::Remove, 0.2), (OpKind::Rename, 0.2)];
    let workload = workload(&ops);
    opened.prepare().unwrap();
    let mix = Mix { block_sizes: Vec::new(), fsync_every: u32::from(durable), ..mix_of(opened, &workload) };
    let mixed = stage(opened, &workload, Load::Mix(mix), StopRule::Ops(1000), Sink::Buffer);
    assert_eq!(mixed.total.failed(), 0, "{:?}", mixed.error_samples);
    let written = mixed.total.op(OpKind::WriteFile).unwrap();
    assert_eq!(written.bytes, written.ok * (64 << 10));
    let procedures: Vec<_> =
        written.procedures.iter().map(|stats| (stats.procedure.name(), stats.calls / written.ok)).collect();
    let sync = if durable { &[("fsync", 1)][..] } else { &[] };
    let commit = if durable { &[("COMMIT", 1)][..] } else { &[] };
    let expected = match written.procedures[0].procedure.is_system_call() {
        true => [&[("open", 1), ("write", 1)], sync, &[("close", 1)]].concat(),
        false => [&[("CREATE", 1), ("WRITE", 1)], commit].concat(),
    };
    assert_eq!(procedures, expected);
    let made = mixed.total.op(OpKind::Create).map_or(0, |stats| stats.ok);
    let mut sizes = Vec::new();
    assert!(opened.items(&mut |_, bytes| sizes.push(bytes)).unwrap());
    assert_eq!(sizes.len() as u64, written.ok + made - mixed.total.op(OpKind::Remove).unwrap().ok);
    let whole = sizes.iter().filter(|bytes| **bytes == 64 << 10).count();
    assert_eq!(whole + sizes.iter().filter(|bytes| **bytes == 0).count(), sizes.len());
    assert!(whole > 200, "{whole}");
    opened.remove_all().unwrap();
}

/// Reads and overwrites whole files of the data set, which keep their number and size.
fn whole_files_again(opened: &Opened, durable: bool, lookups: u64) {
    let ops = [(OpKind::ReadFile, 0.5), (OpKind::Overwrite, 0.5)];
    let workload = workload(&ops);
    opened.prepare().unwrap();
    fill(opened, &workload, 1);
    let mix = |ops: &[(OpKind, f64)], verify| Mix {
        ops: ops.iter().map(|(op, weight)| WeightedOp { op: *op, weight: *weight }).collect(),
        block_sizes: Vec::new(),
        fsync_every: u32::from(durable),
        verify,
        ..mix_of(opened, &workload)
    };
    let run = |mix, sink| {
        let mixed = stage(opened, &workload, Load::Mix(mix), StopRule::Ops(400), sink);
        assert_eq!(mixed.total.failed(), 0, "{:?}", mixed.error_samples);
        mixed
    };
    let read = run(mix(&[(OpKind::ReadFile, 1.0)], true), Sink::Verify);
    assert_eq!((read.total.ok(), read.total.bytes()), (400, 400 * (64 << 10)));
    let both = run(mix(&ops, false), Sink::Buffer);
    let emptied = run(mix(&[(OpKind::TruncateOverwrite, 1.0)], false), Sink::Buffer);
    let commit = if durable { &[("COMMIT", 1)][..] } else { &[] };
    let sync = if durable { &[("fsync", 1)][..] } else { &[] };
    let written = [&[("open", 1), ("write", 1)], sync, &[("close", 1)]].concat();
    for (result, kind, calls, system_calls) in [
        (&both, OpKind::ReadFile, [&[("READ", 1)][..], &[]], vec![("open", 1), ("read", 1), ("close", 1)]),
        (&both, OpKind::Overwrite, [&[("WRITE", 1)], commit], written.clone()),
        (&emptied, OpKind::TruncateOverwrite, [&[("SETATTR", 1), ("WRITE", 1)], commit], written),
    ] {
        let stats = result.total.op(kind).unwrap();
        assert_eq!(stats.bytes, stats.ok * (64 << 10), "{kind}");
        let procedures = stats.procedures.iter().filter(|stats| stats.procedure.name() != "LOOKUP");
        let found: Vec<_> =
            procedures.map(|calls| (calls.procedure.name(), calls.calls / stats.ok)).collect();
        let of_system = stats.procedures.iter().any(|stats| stats.procedure.is_system_call());
        assert_eq!(found, if of_system { system_calls } else { calls.concat() }, "{kind}");
        let looked_up = stats.procedures.iter().find(|stats| stats.procedure.name() == "LOOKUP");
        let looked_up = looked_up.map_or(0, |stats| stats.calls);
        // Handles that are kept are looked up once by each worker.
        assert!(looked_up == lookups * stats.ok || lookups == 0 && looked_up <= 16, "{kind}: {looked_up}");
    }
    let mut sizes = Vec::new();
    assert!(opened.items(&mut |_, bytes| sizes.push(bytes)).unwrap());
    assert_eq!(sizes, [64 << 10; 8]);
    // All of it was written again.
    let checked = check(opened, &workload, ContentSummary::uniform(1));
    assert_eq!(checked.checked.right, 0);
    opened.remove_all().unwrap();
}

#[test]
fn whole_files_are_read_and_overwritten() {
    let (directory, _, run) = run();
    let array = Provisioned::start(directory.path());
    let mut walking = array.nfs();
    walking.options.insert("lookup".into(), "each_component".into());
    let file = target(&format!("file://{}", directory.path().display()), &[]);
    let workload = workload(&[(OpKind::ReadFile, 1.0)]);
    for durable in [false, true] {
        for (target, lookups) in [(&file, 0), (&array.nfs(), 0), (&walking, 2)] {
            whole_files_again(&open(target, &workload, &options(&run)).unwrap(), durable, lookups);
        }
    }
    assert!(run.remaining().is_empty());
}

#[test]
fn files_written_as_a_whole_are_whole() {
    let (directory, _, run) = run();
    let url = format!("file://{}", directory.path().display());
    let array = Provisioned::start(directory.path());
    for durable in [false, true] {
        let workload = workload(&[(OpKind::WriteFile, 1.0)]);
        whole_files(&open(&target(&url, &[]), &workload, &options(&run)).unwrap(), durable);
        whole_files(&open(&array.nfs(), &workload, &options(&run)).unwrap(), durable);
    }
    assert!(run.remaining().is_empty());
}
