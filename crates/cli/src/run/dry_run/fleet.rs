//! A fleet, and the observed hosts of the server, in words, for people.

use experiment::{FailurePolicy, Fleet, Launcher, Observe, Sharing};

/// Maximum hosts named; the rest are counted.
const NAMED: usize = 8;

/// The fleet of a plan: hosts, launcher, sharing, and what happens when a host fails.
pub fn words(fleet: &Fleet) -> String {
    let started = started(&fleet.launcher);
    let sharing = match fleet.sharing {
        Sharing::Own => "each has a place of its own",
        Sharing::Disjoint => "each has files of its own in one place",
        Sharing::Common => "all load the files of all in one place",
        Sharing::Neighbour => "each reads what another wrote in one place",
    };
    let failure = match fleet.on_failure {
        FailurePolicy::GoOn => "the run goes on with the others",
        FailurePolicy::RepeatCell => "the cell is repeated with the others",
        FailurePolicy::Stop => "the run stops",
    };
    format!("Fleet: {started}; {sharing}; when one fails, {failure}\n")
}

/// How agents are started, and on which hosts.
fn started(launcher: &Launcher) -> String {
    match launcher {
        Launcher::Local { count } => format!("{count} agents on this host"),
        Launcher::Ssh { hosts, .. } => format!("{} by ssh: {}", counted(hosts.len(), "host"), names(hosts)),
        Launcher::Slurm { nodes: Some(nodes), .. } => {
            format!("{} by Slurm", counted(*nodes as usize, "node"))
        }
        Launcher::Slurm { nodes: None, .. } => "all nodes of the Slurm allocation".to_owned(),
        Launcher::Kubernetes(pods) => {
            format!("{} of {} by Kubernetes", counted(pods.count as usize, "pod"), pods.image)
        }
        Launcher::Command { hosts, command } => {
            format!("{} by {:?}: {}", counted(hosts.len(), "host"), command.join(" "), names(hosts))
        }
    }
}

/// The hosts of the server that are observed.
pub fn observed(observe: &Observe) -> String {
    format!("Observed for the verdict ({}): {}\n", observe.role, started(&observe.launcher))
}

fn names(hosts: &[String]) -> String {
    let shown = hosts.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match hosts.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn counted(n: usize, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}
