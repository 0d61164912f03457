//! Turns a request into a plan.

use std::collections::BTreeMap;

use content::FileTree;
use experiment::{
    CacheControl, Cell, ErrorPolicy, FileAttributes, Fleet, Launcher, Pass, Plan, Stages, SteadyRule,
    Stonewall, Target, Workload, escape_braces,
};

use crate::{ParameterError, Request};

/// Bytes of a KiB.
const KIB: u64 = 1024;
/// Timeout of an operation on a file, in seconds.
const OP_TIMEOUT_S: f64 = 600.0;
/// The seed of every file's content: what one command writes, a later one compares.
const SEED: u64 = 1;

/// Context outside the command line that affects its meaning.
#[derive(Clone, Copy, Debug)]
pub struct SmallfileContext<'a> {
    /// The directory for relative names: absolute.
    pub directory: &'a str,
    /// The name of this host.
    pub host: &'a str,
}

/// The plan of a request: one cell, whose load is a pass.
///
/// # Errors
/// What is asked for cannot be done: one line.
pub fn plan(request: &Request, around: &SmallfileContext<'_>) -> Result<Plan, ParameterError> {
    let (url, tops) = place(request, around)?;
    let pass = Pass {
        steps: request.operation.steps.to_vec(),
        files: request.files,
        file_bytes: request.file_size_kib * KIB,
        sizes: request.sizes,
        record_bytes: request.record_size_kib * KIB,
        tree: FileTree {
            directories: tops,
            // In a fleet each host has its own name.
            host: if request.host_set.is_some() { String::new() } else { around.host.to_owned() },
            files_per_directory: request.files_per_dir,
            directories_per_directory: request.dirs_per_dir,
            hashed: request.hash_into_dirs,
            shared: request.same_dir,
            prefix: request.prefix.clone(),
            suffix: request.suffix.clone(),
        },
        fsync: request.fsync,
        pause_s: request.pause_us as f64 * 1e-6,
        attributes: FileAttributes { count: request.xattr_count, bytes: request.xattr_size },
        verify: request.verify_read,
        stonewall: match (request.stonewall, request.finish) {
            _ if request.operation.name == "cleanup" => Stonewall::None,
            (false, _) => Stonewall::None,
            (true, true) => Stonewall::EndCounting,
            (true, false) => Stonewall::End,
        },
        next_host: request.permute_host_dirs,
    };
    if let Some(fault) = pass.fault(request.threads) {
        return Err(ParameterError::Together(format!("{fault}; next: change the parameter")));
    }
    let fleet = request
        .host_set
        .clone()
        .map(|hosts| Fleet::of(Launcher::Ssh { hosts, options: Vec::new(), binary: None }));
    let name = request.operation.name.to_owned();
    let cell = Cell {
        index: 0,
        name: name.clone(),
        workload_name: name.clone(),
        point: BTreeMap::new(),
        repetition: 1,
        target: Target::new("top", if fleet.is_some() { escape_braces(&url) } else { url }, BTreeMap::new()),
        workload: Workload::of_pass(pass, request.threads, OP_TIMEOUT_S),
        stages: Stages::of_pass(),
        steady: SteadyRule::None,
        gates: Vec::new(),
        cache: CacheControl::Keep,
        errors: ErrorPolicy::Continue,
        study: None,
        group: None,
        agents: None,
    };
    Ok(Plan {
        name: format!("smallfile {name}"),
        description: None,
        seed: SEED,
        results: request.results.clone(),
        fleet,
        observe: None,
        server_scale: None,
        cells: vec![cell],
    })
}

/// The target's URL, and the directories of the tree if there are several.
fn place(request: &Request, around: &SmallfileContext<'_>) -> Result<(String, Vec<String>), ParameterError> {
    if let Some(url) = request.top.iter().find(|top| top.contains("://")) {
        if request.top.len() > 1 {
            let text = format!("--top {url}: a URL is the only place; next: name it alone, or directories");
            return Err(ParameterError::Together(text));
        }
        return Ok((url.clone(), Vec::new()));
    }
    let tops: Vec<String> = request.top.iter().map(|top| absolute(top, around.directory)).collect();
    if let Some(top) = tops.iter().find(|top| top.contains(['?', '#'])) {
        let text = format!("--top {top}: a directory's name has neither ? nor #; next: name another");
        return Err(ParameterError::Together(text));
    }
    let url = format!("file://{}", tops.first().map_or("", String::as_str));
    Ok((url, if tops.len() > 1 { tops } else { Vec::new() }))
}

/// A path from the root on.
fn absolute(path: &str, directory: &str) -> String {
    let path = path.strip_prefix("./").unwrap_or(path).trim_end_matches('/');
    if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("{}/{path}", directory.trim_end_matches('/'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split_arguments;

    fn planned(line: &str) -> Result<Plan, ParameterError> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let request = Request::of(&split_arguments(&arguments).unwrap())?;
        plan(&request, &SmallfileContext { directory: "/data/me", host: "here" })
    }

    #[test]
    fn a_url_is_the_only_top() {
        let one = planned("--operation create --top nfs://filer/export?version=4.1").unwrap();
        assert_eq!(one.cells[0].target.url, "nfs://filer/export?version=4.1");
        assert!(one.cells[0].workload.pass().unwrap().tree.directories.is_empty());
        let two = planned("--operation create --top nfs://filer/export,/b").unwrap_err().to_string();
        assert!(two.contains("a URL is the only place"), "{two}");
    }

    #[test]
    fn a_command_line_is_one_pass() {
        let line =
            "--operation ls-l --files 30 --threads 3 --top smf,/b --pause 50 --finish N --host-set a,b";
        let plan = planned(line).unwrap();
        let [cell] = plan.cells.as_slice() else { panic!("one cell") };
        assert_eq!(cell.target.url, "file:///data/me/smf");
        let pass = cell.workload.pass().unwrap();
        assert_eq!(pass.tree.directories, ["/data/me/smf", "/b"]);
        assert_eq!((pass.stonewall, pass.tree.host.as_str()), (Stonewall::End, ""));
        assert!((pass.pause_s - 5e-5).abs() < 1e-12);
        assert_eq!((cell.workload.jobs, cell.workload.ops.len()), (3, 2));
        assert_eq!(plan.fleet.unwrap().host_names().unwrap(), ["a", "b"]);
    }
}
