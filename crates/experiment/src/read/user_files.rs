//! The key `files`: a number, or files with names that the user gives.

use std::collections::BTreeSet;
use std::path::{Component, Path};

use content::FileNames;
use metrics::OpKind::{self, Commit, Read, Stat, Trim, Write};

use crate::fleet::{Fleet, Launcher, Sharing};
use crate::from_node;
use crate::kind::TargetKind;
use crate::known::FILES;
use crate::plan::Cell;
use crate::reader::{Fields, Reader};
use crate::tree::{Node, Value};
use crate::user_files::UserFiles;

/// More files with names than this are a mistake: each is inspected before the run.
const MOST_FILES: u64 = 1_000_000;
/// Operations on files that exist.
const OPS: &[OpKind] = &[Read, Write, Trim, Commit, Stat];
/// What to write for names.
const HINT: &str = "write names: [db1.dat, db2.dat], or names: {format: db.$filenum}";

/// The key as written.
#[derive(Default)]
pub(super) struct Files {
    pub count: Option<u64>,
    pub names: Option<FileNames>,
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
    (reader.log.count() == before).then_some(Files { count, names })
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

/// The number of files of a mix, and their names if it has them; faults are reported.
pub(super) fn of_mix(fields: &Fields<'_>, usual_files: u64) -> Option<(u64, Option<FileNames>)> {
    let Files { count, names } = files(fields)?;
    let Some(names) = names else { return Some((count.unwrap_or(usual_files), None)) };
    let given = below(fields);
    let FileNames { directories, listed, format } = &names;
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
    Some((files, Some(names)))
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
    if let Some(op) = cell.workload.ops.iter().map(|weighted| weighted.op).find(|op| !OPS.contains(op)) {
        let text = format!("{op} does not go with files that have names: it is for files of the run's own");
        fields.fault("ops", text, "use read, write, trim, commit and stat, or remove names");
    }
    if let Some(fleet) = fleet {
        of_fleet(fields, kind, fleet, files, cell);
    }
}

/// Which host uses which files, where that is possible.
fn of_fleet(fields: &Fields<'_>, kind: &TargetKind, fleet: &Fleet, files: &UserFiles, cell: &Cell) {
    let one_place = kind.remote || matches!(fleet.launcher, Launcher::Local { .. });
    let differ = cell.target.url.contains('{') || files.names.format.contains("$clientuid");
    let changes = files.create || cell.workload.does(OpKind::changes_data);
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
        Sharing::Disjoint if fleet.count().is_some_and(|hosts| u64::from(hosts) > cell.workload.files()) => {
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
