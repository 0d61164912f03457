//! The key `files`: a number, files with names that the user gives, or a tree that exists.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use content::FileNames;
use metrics::OpKind::{
    self, Access, Close, Commit, Getxattr, List, Open, Read, ReadFile, Readdir, Readlink, Stat, Trim, Write,
    WriteZeroes,
};

use crate::fleet::{Fleet, Launcher, Sharing};
use crate::from_node;
use crate::kind::TargetKind;
use crate::known::{BEYOND, FILES};
use crate::plan::{Cell, Prepare};
use crate::reader::{Fields, Reader};
use crate::tree::{Node, Value};
use crate::user_files::{ExistingTree, USUAL_ENTRIES, UserFiles};

/// More files with names than this are a mistake: each is inspected before the run.
const MOST_FILES: u64 = 1_000_000;
/// Operations on files that exist.
const OPS: &[OpKind] = &[Read, Write, WriteZeroes, Trim, Commit, Stat];
/// Operations on a tree that exists, which is only read.
const TREE_OPS: &[OpKind] = &[Read, ReadFile, Stat, Open, Close, Access, Getxattr, Readlink, Readdir, List];
/// More entries than this would take too much memory.
const MOST_ENTRIES: u64 = 10_000_000;
/// What to write for a tree.
const TREE_HINT: &str = "write a directory that exists, such as tree: projects/2024, or tree: . for all";
/// What to write for names.
const HINT: &str = "write names: [db1.dat, db2.dat], or names: {format: db.$filenum}";

/// The key as written.
#[derive(Default)]
pub(super) struct Files {
    pub count: Option<u64>,
    pub names: Option<FileNames>,
    pub tree: Option<ExistingTree>,
}

/// Reads the key; `None` if it is invalid.
pub(super) fn files(fields: &Fields<'_>) -> Option<Files> {
    let reader = fields.reader;
    let before = reader.log.count();
    if let Some(node) = fields.get("files")
        && matches!(node.value, Value::List(_))
    {
        let text = "files is their number, or a map with their names";
        reader.fault(&node, text, "write files: {names: [db1.dat, db2.dat]}");
        return None;
    }
    let given = below(fields);
    given.check_keys(FILES);
    let count = given.get("count").and_then(|node| reader.integer(&node, 1, 1 << 40));
    let names = given.get("names").and_then(|node| names(reader, &node));
    let tree = tree(&given);
    if tree.is_some()
        && let Some(other) = ["count", "names"].into_iter().find(|key| given.has(key))
    {
        let text = "the files of a tree are those that it has: they are neither counted nor named here";
        given.fault(other, text, format!("remove {other}; entries limits how many are used"));
    }
    (reader.log.count() == before).then_some(Files { count, names, tree })
}

/// A tree that exists.
fn tree(given: &Fields<'_>) -> Option<ExistingTree> {
    let reader = given.reader;
    let entries = given.integer("entries", 1, MOST_ENTRIES, USUAL_ENTRIES);
    let sample = given.choice("beyond", BEYOND, "refuse") == "sample";
    let Some(node) = given.get("tree") else {
        if let Some(key) = ["entries", "beyond"].into_iter().find(|key| given.has(key)) {
            given.fault(key, format!("{key} is for a tree that exists"), "write tree, or remove it");
        }
        return None;
    };
    let path = reader.text(&node, TREE_HINT)?.to_string();
    if path.is_empty() || Path::new(&path).components().any(|part| part == Component::ParentDir) {
        reader.fault(&node, format!("{path:?} names no directory below the target"), TREE_HINT);
        return None;
    }
    Some(ExistingTree { path, entries, sample: sample.then_some(0) })
}

fn below<'r>(fields: &Fields<'r>) -> Fields<'r> {
    fields.below("files", "files", Some("count"))
}

/// A list of names, or what a job says about them.
fn names(reader: &Reader<'_>, node: &Node) -> Option<FileNames> {
    let names: FileNames = match node.value {
        Value::Map(_) => from_node::read(reader, node)?,
        _ => {
            let listed = reader.list(node)?.iter().map(|item| reader.text(item, HINT)).collect::<Option<_>>();
            FileNames { listed: listed?, ..FileNames::default() }
        }
    };
    let mut seen = BTreeSet::new();
    for name in &names.listed {
        // Paths compare by their parts: `a//b` and `./a/b` are the same.
        let parts = Path::new(name).components().filter(|part| *part != Component::CurDir);
        if !seen.insert(parts.collect::<Vec<_>>()) {
            reader.fault(node, format!("{name:?} is named twice"), "name each file once");
            return None;
        }
        if name.ends_with('/') || Path::new(name).file_name().is_none() {
            reader.fault(node, format!("{name:?} names no file"), "write a file's name, such as db1.dat");
            return None;
        }
    }
    if names.listed.is_empty() && names.format.is_empty() {
        reader.fault(node, "there is no name here", HINT);
        return None;
    }
    Some(names)
}

/// The number of files of a mix, and those that the user named if it has them; faults are reported.
pub(super) fn of_mix(fields: &Fields<'_>, usual_files: u64, seed: u64) -> Option<(u64, Option<UserFiles>)> {
    let Files { count, names, tree } = files(fields)?;
    if let Some(mut tree) = tree {
        tree.sample = tree.sample.map(|_| seed);
        return Some((0, Some(UserFiles::of_tree(tree))));
    }
    let Some(names) = names else { return Some((count.unwrap_or(usual_files), None)) };
    let given = below(fields);
    let FileNames { directories, listed, format, .. } = &names;
    let listed_count = listed.len() as u64;
    let files = count.unwrap_or(listed_count.max(1));
    let fault = |key: &str, text: String, hint: &str| {
        given.fault(key, text, hint);
        None
    };
    if !directories.is_empty() {
        let text = "only jobs assign directories to their workers";
        return fault(
            "names",
            text.to_owned(),
            "write the directory in each name: [one/db1.dat, two/db2.dat]",
        );
    }
    if !listed.is_empty() && !format.is_empty() {
        return fault("names", "names are listed or follow a format, not both".to_owned(), HINT);
    }
    if let Some(word) = ["$jobname", "$jobnum"].into_iter().find(|word| format.contains(word)) {
        let text = format!("{word} has no meaning without a job: all workers use all files");
        return fault("names", text, "write $filenum, which numbers the files");
    }
    if listed.is_empty() && files > 1 && !format.contains("$filenum") {
        let text = format!("{files} files cannot all be named {format:?}");
        return fault("names", text, "write $filenum in it, or count: 1");
    }
    if !listed.is_empty() && files > listed_count {
        let text = format!("there are {listed_count} names for {files} files");
        return fault("count", text, "list more names, or use fewer files");
    }
    if files > MOST_FILES {
        let text = format!("{files} files with names are more than {MOST_FILES}");
        return fault("count", text, "use fewer, or files without names");
    }
    Some((files, Some(UserFiles { names, create: false, tree: None })))
}

/// Checks a complete mix that names its files.
pub(super) fn check(fields: &Fields<'_>, kind: &TargetKind, fleet: Option<&Fleet>, cell: &Cell) {
    let Some(files) = cell.workload.user_files() else { return };
    if !kind.user_files {
        let what = match (kind.device, kind.objects) {
            (true, _) => "it is one device",
            (_, true) => "it holds objects",
            _ => "it has no files",
        };
        let text = format!("a {} target has no files to name: {what}", kind.scheme);
        fields.fault("files", text, "remove names, or use a file or nfs target");
        return;
    }
    if cell.target.option("directory").is_some() {
        let text = "directory is for files without names: names start at the target's own directory";
        fields.fault("files", text, "remove the target's directory, and write it in the names");
    }
    if files.tree.is_some() {
        of_tree(fields, kind, cell);
    } else if let Some(op) = cell.workload.ops.iter().map(|weighted| weighted.op).find(|op| !OPS.contains(op))
    {
        let text = format!("{op} does not go with files that have names: it is for files of the run's own");
        fields.fault("ops", text, "use read, write, write-zeroes, trim, commit and stat, or remove names");
    }
    if let Some(fleet) = fleet {
        of_fleet(fields, kind, fleet, files, cell);
    }
}

/// Checks a mix over a tree that exists: nothing in it may change.
fn of_tree(fields: &Fields<'_>, kind: &TargetKind, cell: &Cell) {
    let mut ops = cell.workload.ops.iter().map(|weighted| weighted.op);
    if let Some(op) = ops.find(|op| !TREE_OPS.contains(op)) {
        let text =
            format!("a tree that exists is only read, and {op} is not among the operations that only read");
        let there: Vec<_> = TREE_OPS.iter().filter(|op| kind.ops.contains(op)).map(|op| op.name()).collect();
        let hint = format!("use {}, or files of the run's own", crate::reader::one_of(&there));
        fields.fault("ops", text, hint);
    } else if cell.stages.prepare != Prepare::Keep {
        let text = "a tree that exists is used as it is: nothing is filled or created";
        below_stages(fields, text, "remove prepare");
    } else if cell.workload.works_on_own() {
        fields.fault("works_on", "in a tree that exists nothing is created", "remove works_on");
    } else if cell.workload.verifies() || cell.stages.verify {
        let text = "what the files of a tree must hold is not known, so nothing can be compared";
        fields.fault(if fields.has("verify") { "verify" } else { "files" }, text, "write verify: false");
    } else if kind.page_cache && cell.target.flag(kind, "direct") && cell.workload.does(OpKind::reads) {
        let text = "direct I/O moves multiples of 512 bytes, and the files of a tree have any size";
        fields.fault("files", text, "write direct: false");
    }
}

/// Which host uses which files, where that is possible.
fn of_fleet(fields: &Fields<'_>, kind: &TargetKind, fleet: &Fleet, files: &UserFiles, cell: &Cell) {
    let one_place = kind.remote || matches!(fleet.launcher, Launcher::Local { .. });
    let differ = cell.target.url.contains('{') || files.names.format.contains("$clientuid");
    let changes = files.create || cell.workload.changes_data();
    match fleet.sharing {
        Sharing::Own if one_place && !differ && changes => fields.fault(
            "files",
            "all hosts would write the same files, and sharing: own gives each host its own",
            "write {host} in the target's URL, $clientuid in names: {format: …}, or sharing: disjoint",
        ),
        Sharing::Common if files.create => below_stages(
            fields,
            "files that all hosts use, as sharing: common says, must exist",
            "fill them by a run on one host, then write prepare: keep; or write sharing: disjoint",
        ),
        Sharing::Disjoint
            if files.tree.is_none()
                && fleet.count().is_some_and(|hosts| u64::from(hosts) > cell.workload.files()) =>
        {
            let (files, hosts) = (cell.workload.files(), fleet.count().unwrap_or(0));
            let text = format!("sharing: disjoint divides {files} files among {hosts} hosts: some have none");
            fields.fault("files", text, "name at least one file for each host, or write sharing: common");
        }
        Sharing::Neighbour => fields.fault(
            "files",
            "with sharing: neighbour hosts read what their neighbours wrote in numbered files",
            "remove names, or write sharing: own, disjoint or common",
        ),
        _ => {}
    }
}

/// Reports a fault at the key `prepare` if it is given, otherwise at the names.
fn below_stages(fields: &Fields<'_>, text: &str, hint: &str) {
    match fields.below("stages", "stages", None).get("prepare") {
        Some(node) => fields.reader.fault(&node, text, hint),
        None => fields.fault("files", text, hint),
    }
}
