//! A fleet in the form of experiment files.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::convert::span;
use crate::fleet::{Fleet, Launcher, Pods, SILENCE_TIMEOUT_MS};

/// The section `fleet`.
#[derive(Serialize)]
pub(crate) struct FleetForm<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    hosts: Option<&'a [String]>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    ssh_options: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    binary: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    local: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slurm: Option<SlurmForm<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kubernetes: Option<PodsForm<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<CommandForm<'a>>,
    sharing: &'static str,
    on_host_failure: &'static str,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    variables: &'a BTreeMap<String, BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    start_timeout: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    silence_timeout: Option<String>,
}

#[derive(Serialize)]
struct SlurmForm<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    nodes: Option<u32>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    options: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    binary: Option<&'a str>,
}

#[derive(Serialize)]
struct CommandForm<'a> {
    hosts: &'a [String],
    command: &'a [String],
}

#[derive(Serialize)]
struct ClaimForm<'a> {
    name: &'a str,
    path: &'a str,
}

#[derive(Serialize)]
struct PodsForm<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    claim: Option<ClaimForm<'a>>,
    /// The keys match those of the file, except the claim, which is a pair.
    #[serde(flatten)]
    rest: Pods,
}

impl<'a> FleetForm<'a> {
    pub fn of(fleet: &'a Fleet) -> Self {
        let millis = |ms: u64, default: u64| (ms != default).then(|| span(ms as f64 / 1000.0));
        let mut form = FleetForm {
            hosts: None,
            ssh_options: &[],
            binary: None,
            local: None,
            slurm: None,
            kubernetes: None,
            command: None,
            sharing: fleet.sharing.word(),
            on_host_failure: fleet.on_failure.word(),
            variables: &fleet.variables,
            start_timeout: millis(fleet.start_timeout_ms, fleet.launcher.start_timeout_ms()),
            silence_timeout: millis(fleet.silence_timeout_ms, SILENCE_TIMEOUT_MS),
        };
        match &fleet.launcher {
            Launcher::Local { count } => form.local = Some(*count),
            Launcher::Ssh { hosts, options, binary } => {
                form.hosts = Some(hosts);
                form.ssh_options = options;
                form.binary = binary.as_deref();
            }
            Launcher::Slurm { nodes, options, binary } => {
                form.slurm = Some(SlurmForm { nodes: *nodes, options, binary: binary.as_deref() });
            }
            Launcher::Kubernetes(pods) => {
                let claim = pods.claim.as_ref().map(|(name, path)| ClaimForm { name, path });
                let rest = Pods { claim: None, ..(**pods).clone() };
                form.kubernetes = Some(PodsForm { claim, rest });
            }
            Launcher::Command { hosts, command } => form.command = Some(CommandForm { hosts, command }),
        }
        form
    }
}
