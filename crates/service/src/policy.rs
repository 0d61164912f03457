//! What an experiment from a request may use of this host. What is refused is named with its place in the file.

use std::collections::HashSet;
use std::net::{IpAddr, UdpSocket};
use std::path::{Component, Path, PathBuf};

use experiment::{
    Accounting, Cell, Diagnostics, Fleet, HostsFileError, Launcher, Logs, Plan, RefusedField, ServerCounters,
    Settings, SourceText, Target, TargetUrl, UrlForm, Via, Workload, bare_host,
};

use crate::options::RequestPolicy;

/// Name of a request's experiment in messages.
const FILE: &str = "experiment";

/// Each path that is checked is looked up.
const MOST_NAMED_FILES: u64 = 10_000;

/// The host name in the queue for loads of the service's own host.
pub(crate) const THIS_HOST: &str = "this host";

/// Parses an experiment without this process's environment and files, and applies the policy.
///
/// # Errors
/// All faults of the experiment, or everything in it that is refused.
pub(crate) fn plan(text: &str, policy: &RequestPolicy) -> Result<Plan, Diagnostics> {
    let source = SourceText { file: FILE, text };
    let read_hosts = |_: &str| Err(HostsFileError::NotAllowed);
    let settings = Settings { read_hosts: &read_hosts, ..Settings::of(targets::kinds()) };
    let plan = experiment::parse(&source, &settings)?;
    let refused = refused(&plan, policy);
    match refused.is_empty() {
        true => Ok(plan),
        false => Err(experiment::refuse(&source, &refused)),
    }
}

/// The hosts that a plan uses, as the queue names them.
pub(crate) fn hosts(plan: &Plan) -> Vec<String> {
    let mut hosts = match plan.fleet.as_ref().map(|fleet| &fleet.launcher) {
        None | Some(Launcher::Local { .. }) => vec![THIS_HOST.to_owned()],
        Some(Launcher::Ssh { hosts, .. } | Launcher::Command { hosts, .. }) => {
            hosts.iter().map(|host| queue_name(host)).collect()
        }
        // Their schedulers decide which hosts are free.
        Some(launcher @ (Launcher::Slurm { .. } | Launcher::Kubernetes(_))) => {
            vec![launcher.word().to_owned()]
        }
    };
    hosts.sort();
    hosts.dedup();
    hosts
}

/// A host's name in the queue, whatever user, port or case it is written with.
pub(crate) fn queue_name(host: &str) -> String {
    if is_this_host(host) { THIS_HOST.to_owned() } else { bare_host(host).to_ascii_lowercase() }
}

fn is_this_host(host: &str) -> bool {
    let bare = bare_host(host);
    match bare.parse::<IpAddr>().map(|address| address.to_canonical()) {
        // The system binds sockets to its own addresses only.
        Ok(address) => {
            address.is_loopback() || address.is_unspecified() || UdpSocket::bind((address, 0)).is_ok()
        }
        Err(_) => {
            bare.eq_ignore_ascii_case("localhost")
                || rustix::system::uname().nodename().to_str().is_ok_and(|own| bare.eq_ignore_ascii_case(own))
        }
    }
}

fn refused(plan: &Plan, policy: &RequestPolicy) -> Vec<RefusedField> {
    let (cells, max_cells) = (plan.cells.len(), policy.max_cells);
    if cells > max_cells as usize {
        let text =
            format!("the matrix has {cells} cells, more than the {max_cells} that this service accepts");
        let hint = "cross fewer values, split the experiment, or ask the operator for a larger --max-cells";
        return vec![field(&["matrix"], text, hint)];
    }
    let mut refused = Vec::new();
    if plan.results.is_some() {
        let hint = "take it out: the service keeps all results in its own file";
        refused.push(field(&["results"], "results: names a file of the service's host", hint));
    }
    if let Some(fleet) = &plan.fleet {
        refused.extend(refused_launcher("fleet", &fleet.launcher, policy));
    }
    if let Some(observe) = &plan.observe {
        refused.extend(refused_launcher("observe", &observe.launcher, policy));
    }
    if plan.server_scale.is_some() && !policy.commands {
        refused.push(field(&["scale", "server"], "a command can start any program here", ALLOW_COMMAND));
    }
    let mut allowed = AllowedPaths::of(&policy.paths);
    for cell in &plan.cells {
        refused.extend(refused_job(cell));
        refused.extend(refused_options(&cell.target));
        refused.extend(refused_accounting(&cell.target, policy));
        refused.extend(refused_provision(&cell.target, policy));
        if on_this_host(plan.fleet.as_ref()) {
            refused.extend(refused_path(cell, plan.fleet.is_some(), &mut allowed));
        }
    }
    refused
}

/// What lets requests start commands.
pub(crate) const ALLOW_COMMAND: &str = "ask the operator to start the service with --allow-command";

fn field(path: &[&str], text: impl Into<String>, hint: impl Into<String>) -> RefusedField {
    let path = path.iter().map(|key| (*key).to_owned()).collect();
    RefusedField { path, text: text.into(), hint: hint.into() }
}

/// Whether some of the load may come from this host.
fn on_this_host(fleet: Option<&Fleet>) -> bool {
    match fleet.map(|fleet| &fleet.launcher) {
        None | Some(Launcher::Local { .. } | Launcher::Command { .. }) => true,
        Some(Launcher::Ssh { hosts, .. }) => hosts.iter().any(|host| is_this_host(host)),
        Some(Launcher::Slurm { .. } | Launcher::Kubernetes(_)) => false,
    }
}

fn refused_launcher(section: &str, launcher: &Launcher, policy: &RequestPolicy) -> Option<RefusedField> {
    let starts = |path: &[&str], what: &str| {
        (!policy.commands).then(|| field(path, format!("{what} can start any program here"), ALLOW_COMMAND))
    };
    match launcher {
        Launcher::Local { .. } => (!policy.local).then(|| {
            let hint = "ask the operator to start the service with --allow-local";
            field(&[section, "local"], "processes of the service's host are not allowed", hint)
        }),
        Launcher::Command { .. } => starts(&[section, "command"], "a command"),
        // ProxyCommand of ssh and prologs of Slurm are commands of this host.
        Launcher::Ssh { options, .. } if !options.is_empty() => {
            starts(&[section, "ssh_options"], "an option of ssh")
        }
        Launcher::Slurm { options, .. } if !options.is_empty() => {
            starts(&[section, "slurm", "options"], "an option of Slurm")
        }
        Launcher::Ssh { binary: Some(_), .. } => starts(&[section, "binary"], "another binary"),
        Launcher::Slurm { binary: Some(_), .. } => starts(&[section, "slurm", "binary"], "another binary"),
        Launcher::Ssh { .. } | Launcher::Slurm { .. } | Launcher::Kubernetes(_) => None,
    }
}

/// Commands that read counters: like launchers, they start programs of this host.
fn refused_accounting(target: &Target, policy: &RequestPolicy) -> Option<RefusedField> {
    let Accounting { counters, via, .. } = target.accounting.as_ref()?;
    let plain_ssh = matches!(via, Some(Via::Ssh { options, .. }) if options.is_empty());
    let what = match (counters, plain_ssh) {
        (ServerCounters::Command { .. }, _) => "a command",
        (counters, _) if !counters.options().is_empty() => "an option of gluster or ceph",
        (_, true) => return None,
        (_, false) => "accounting without ssh, or with options of ssh",
    };
    (!policy.commands).then(|| {
        field(
            &["targets", &target.name, "accounting"],
            format!("{what} can start any program here"),
            ALLOW_COMMAND,
        )
    })
}

/// Tools that create something on a server: they start programs of this host, or of that one with this user's rights.
fn refused_provision(target: &Target, policy: &RequestPolicy) -> Option<RefusedField> {
    let refused = target.provision.is_some() && !policy.commands;
    refused.then(|| {
        field(&["targets", &target.name, "provision"], "provision can start any program here", ALLOW_COMMAND)
    })
}

/// What a job does with files of this host beside those of its load.
fn refused_job(cell: &Cell) -> Option<RefusedField> {
    let job = cell.workload.stream()?;
    let refused = |key: &str, text: &str| {
        let hint = "take it out, or run the experiment with `manometer run`";
        Some(field(&["workloads", &cell.workload_name, "job", key], text, hint))
    };
    if job.logs != Logs::default() {
        return refused("logs", "the service writes no logs of single operations");
    }
    if job.replay.is_some() {
        return refused("replay", "the service replays no logs: they are files of its host");
    }
    None
}

/// Options that make this host read its own files.
fn refused_options(target: &Target) -> Vec<RefusedField> {
    let Some(kind) = targets::kind_of(&target.url) else { return Vec::new() };
    let given = kind.options.iter().filter(|help| help.reads_file && target.option(help.name).is_some());
    let refuse = |name: &str| {
        let hint = "take it out; keys go into \"keys\" of the JSON body";
        field(&["targets", &target.name, name], format!("{name} reads files of the service's host"), hint)
    };
    given.map(|help| refuse(help.name)).collect()
}

/// A path of this host that is not below an allowed one.
fn refused_path(cell: &Cell, substituted: bool, allowed: &mut AllowedPaths) -> Option<RefusedField> {
    let target = &cell.target;
    // What is provisioned is on a server, and its URL is not complete yet.
    if target.provision.is_some() {
        return None;
    }
    let refuse = |text: String, hint: &str| Some(field(&["targets", &target.name], text, hint));
    let url = match TargetUrl::parse(targets::kinds(), &target.url) {
        Ok(url) if url.kind().form == UrlForm::Path => url,
        Ok(_) => return None,
        Err(_) => return refuse("the target's URL cannot be read".to_owned(), "write it without variables"),
    };
    let own = target.option("directory").map(|name| Path::new(url.path()).join(name));
    // A job has its files where it names them, not below its target; a device is used as a whole.
    let whole = cell.workload.stream().is_none() || url.kind().device;
    let whole = whole.then(|| PathBuf::from(url.path()));
    let of_pass = cell.workload.pass().into_iter().flat_map(|pass| &pass.tree.directories);
    let of_pass = of_pass.map(|directory| Path::new(url.path()).join(directory));
    let paths = [whole, own].into_iter().flatten().chain(of_pass);
    for path in paths {
        let text = path.display().to_string();
        if substituted && text.contains('{') {
            return refuse(
                format!("{text} differs by host"),
                "write a path without {…} for the service's host",
            );
        }
        if !allowed.contain(&path) {
            let hint = "ask the operator to start the service with --allow-path DIRECTORY";
            return refuse(format!("{text} is not among the paths allowed on the service's host"), hint);
        }
    }
    let (key, count) = match (cell.workload.stream(), cell.workload.user_files()) {
        (Some(job), _) => ("job", u64::from(cell.workload.jobs) * u64::from(job.files.per_worker())),
        // The top directory stands for all of a tree.
        (None, Some(files)) if files.tree.is_some() => ("files", 1),
        (None, Some(_)) => ("files", cell.workload.files()),
        (None, None) => return None,
    };
    let path_to_names = ["workloads", &cell.workload_name, key];
    if count > MOST_NAMED_FILES {
        let text = format!("the service checks the paths of at most {MOST_NAMED_FILES} files with names");
        return Some(field(&path_to_names, text, "use fewer, or files without names"));
    }
    let outside = (0..count).filter_map(|file| named_file(&cell.workload, file)).find_map(|name| {
        let path = Path::new(url.path()).join(name);
        (!allowed.contain(&path)).then_some(path)
    })?;
    let text = format!("{} is not among the paths allowed on the service's host", outside.display());
    Some(field(&path_to_names, text, "name files below the target's own directory"))
}

/// The name of a file that the user named, by its number over all workers.
fn named_file(workload: &Workload, file: u64) -> Option<String> {
    let Some(job) = workload.stream() else { return Some(workload.user_files()?.path(file)) };
    let per_worker = u64::from(job.files.per_worker());
    let worker = u32::try_from(file / per_worker).ok()?;
    let number = job.first_number.checked_add(worker)?;
    Some(job.files.names.path(&job.name, number, u32::try_from(file % per_worker).ok()?))
}

/// The paths that requests may use, as links stand while one request is checked.
struct AllowedPaths {
    roots: Vec<PathBuf>,
    /// Paths found allowed: cells share targets and files, and each check costs system calls.
    found: HashSet<PathBuf>,
}

impl AllowedPaths {
    fn of(roots: &[PathBuf]) -> Self {
        let roots = roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
        Self { roots, found: HashSet::new() }
    }

    /// Whether a path, with all symbolic links and `..` resolved, is an allowed one or below one.
    fn contain(&mut self, path: &Path) -> bool {
        if self.found.contains(path) {
            return true;
        }
        let resolved = resolved(path);
        let inside = resolved.is_some_and(|path| self.roots.iter().any(|root| path.starts_with(root)));
        if inside {
            self.found.insert(path.to_owned());
        }
        inside
    }
}

/// The path without symbolic links; what does not exist yet stays as written, and must not lead upwards.
fn resolved(path: &Path) -> Option<PathBuf> {
    let mut rest = Vec::new();
    let mut existing = path;
    loop {
        match existing.canonicalize() {
            Ok(found) => return Some(rest.iter().rev().fold(found, |path, name| path.join(name))),
            // A dangling link could lead anywhere once its destination exists.
            Err(_) if existing.symlink_metadata().is_ok() => return None,
            Err(_) => {
                let Some(Component::Normal(name)) = existing.components().next_back() else { return None };
                rest.push(name.to_owned());
                existing = existing.parent()?;
            }
        }
    }
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;
