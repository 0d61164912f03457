//! Targets of experiments: from a URL and options to a driver, and everything around its use.
//!
//! A target's data lies in a place of the run's own (directory or prefix `manometer-<run id>`), which is journaled
//! before it is created, so that `manometer cleanup` can remove what a killed run left; or in one that the user names
//! with the option `directory`, which stays. Files that a mix or a job names stay, too. Block devices are used as a whole.

mod by_name;
mod check;
mod cleared;
mod complete;
mod engines;
mod existing_tree;
mod file;
mod file_by_name;
mod file_job;
mod file_kinds;
mod file_pass;
mod gluster;
mod gluster_place;
mod hosts;
mod iscsi;
mod iscsi_secrets;
mod iscsi_unit;
mod job;
mod journaled_place;
mod lay_out;
mod local_place;
mod look;
mod memcached;
mod memcached_place;
mod named_job;
mod net;
mod nfs;
mod nfs_by_name;
mod nfs_check;
mod nfs_job;
mod nfs_pass;
mod nfs_place;
mod null;
mod options;
mod pass_tree;
mod paths;
mod place;
mod protocol;
mod rados;
mod rados_check;
mod rados_options;
mod rados_place;
mod rados_pool;
mod rbd;
mod rbd_image;
mod rbd_place;
mod removal;
mod s3;
mod s3_check;
mod s3_place;
mod secrets;
mod sim;
#[cfg(test)]
mod tests;
mod tree;

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use drivers::DriverError;
use experiment::{Target, TargetKind, TargetOptions, TargetUrl, Workload};
use metrics::OpKind;
use provision::{ProvisionError, Run, RunId};
use serde::{Deserialize, Serialize};

pub use by_name::{FilesByName, FoundByName};
pub use check::{ArrayPlace, CheckTarget, CheckTraits, checked};
pub use cleared::ClearedFiles;
pub use engines::{
    EngineJob, EngineOption, EngineTarget, JobEngine, JobEngines, JobOperations, KeyOptions, OptionSupport,
    ValueKind,
};
pub use hosts::{HostAddressError, first_address};
pub use job::{LaidOut, LayOutStage};
pub use journaled_place::{JournaledPlace, PlaceEntry};
pub use local_place::LocalPlace;
pub use look::{Finding, FindingKind, FreeSpace, Look};
pub use nfs_place::NfsPlace;
pub use paths::InterfaceError;
pub use place::{Entered, OwnPlace};
pub use protocol::{OpenRequest, OpenTarget, Protocol, StageRunner};
pub use removal::{Removal, RemovalContext, RemoveLeftError};
pub use s3_place::{S3Place, no_keys};
pub use secrets::{AccessKey, HeldSecrets, ProcessEnvironment, Secrets};

/// What opening a target needs besides the target itself.
#[derive(Clone, Debug)]
pub struct OpenContext {
    /// The run: its journal records our place.
    pub run: Run,
    /// The run whose id names the place. If it is not `run`, the place belongs to another process and is never removed.
    pub place: RunId,
    /// Hosts that share the target's data, with numbers from 0; 1 when each has its own. A device is divided into as many
    /// slices.
    pub parts: u32,
    /// Devices and files that may be overwritten even if they hold data: paths, or URLs of remote ones.
    pub destroy: Vec<PathBuf>,
    /// Regular files that this run has already cleared for overwriting.
    pub cleared: ClearedFiles,
    /// The keys that came with the run.
    pub secrets: Arc<dyn Secrets>,
    /// Seed for randomness in a simulated target, unless its options give one.
    pub seed: u64,
    /// Timeouts for everything outside the load.
    pub patience: Patience,
}

/// Timeouts of a target where no load is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Patience {
    /// For the first contact, and for opening a worker's session.
    pub connect: Duration,
    /// For one response during removal.
    pub answer: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), answer: place::PATIENCE }
    }
}

impl OpenContext {
    /// Our place, which is removed with the run; or that of the agent whose run names it, which is not ours to remove.
    fn own_place<P: JournaledPlace>(&self, place: &P) -> OwnPlace {
        if *self.run.id() == self.place {
            OwnPlace::own(&self.run, PlaceEntry::of(place))
        } else {
            OwnPlace::stays(&self.run)
        }
    }

    /// That of the user, if it `stays`; otherwise ours.
    fn place_unless<P: JournaledPlace>(&self, stays: bool, place: impl FnOnce() -> P) -> OwnPlace {
        if stays { OwnPlace::stays(&self.run) } else { self.own_place(&place()) }
    }
}

/// A target cannot be used. One line: what was tried, what came back, what to do next.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// It is written wrongly: a usage error.
    #[error("{0}")]
    Input(String),
    /// It refused or did not answer.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The journal could not be written.
    #[error(transparent)]
    Journal(#[from] ProvisionError),
}

/// Every protocol, in the order of the documentation. To add one, add a line here.
pub static PROTOCOLS: &[&dyn Protocol] = &[
    &file::DIRECTORIES,
    &file::DEVICES,
    &nfs::Nfs,
    &s3::S3,
    &iscsi::Iscsi,
    &memcached::Memcached,
    &rados::Rados,
    &gluster::Gluster,
    &rbd::Rbd,
    &net::Tcp,
    &null::Null,
    &sim::Sim,
];

/// The kinds of targets, for the reader of experiment files.
pub fn kinds() -> &'static [&'static TargetKind] {
    static KINDS: LazyLock<Vec<&'static TargetKind>> =
        LazyLock::new(|| PROTOCOLS.iter().map(|protocol| protocol.kind()).collect());
    &KINDS
}

/// The kind of target that a URL names.
pub fn kind_of(url: &str) -> Option<&'static TargetKind> {
    experiment::kind_of(kinds(), url)
}

/// The engines by which job files name protocols, each with the kind of target that it loads.
pub fn job_engines() -> impl Iterator<Item = (&'static TargetKind, &'static JobEngine)> + Clone {
    PROTOCOLS
        .iter()
        .flat_map(|protocol| protocol.engines().engines.iter().map(|engine| (protocol.kind(), engine)))
}

/// The job options that only the protocols' engines have.
pub fn engine_options() -> impl Iterator<Item = &'static EngineOption> {
    PROTOCOLS.iter().flat_map(|protocol| protocol.engines().options)
}

/// The protocol, URL parts and options of a target.
fn parts(target: &Target) -> Result<(&'static dyn Protocol, TargetUrl, TargetOptions), TargetError> {
    let url = TargetUrl::parse(kinds(), &target.url).map_err(|fault| {
        TargetError::Input(format!("target {}: {}; {}", target.name, fault.text, fault.hint))
    })?;
    let kind = url.kind();
    let options = TargetOptions::read(kind, &url, &target.options)
        .map_err(|problem| TargetError::Input(format!("target {}: {problem}", target.name)))?;
    let protocol = PROTOCOLS.iter().copied().find(|protocol| std::ptr::eq(protocol.kind(), kind));
    let protocol = protocol.ok_or_else(|| {
        TargetError::Input(format!("target {}: there is no protocol for {}:", target.name, kind.scheme))
    })?;
    Ok((protocol, url, options))
}

/// The key that agents receive for a target, if this host has one.
pub fn key_of(target: &Target, secrets: &dyn Secrets) -> Option<AccessKey> {
    let (protocol, _, options) = parts(target).ok()?;
    protocol.key(target, &options, secrets)
}

/// The first operation of a pass that a kind of targets does not have. Experiment files are checked when they are read; command
/// lines of smallfile become passes without that.
fn lacking_op(kind: &TargetKind, workload: &Workload) -> Option<OpKind> {
    workload.pass()?;
    workload.ops.iter().map(|weighted| weighted.op).find(|op| !kind.ops.contains(op))
}

/// Opens a target for a workload. Resolves names and reads key files; creates nothing, and contacts nothing yet unless
/// the sizes of files that the user named determine the data set.
///
/// # Errors
/// One line: what is wrong with the URL or an option, and how to write it.
pub fn open(
    target: &Target,
    workload: &Workload,
    context: &OpenContext,
) -> Result<Box<dyn OpenTarget>, TargetError> {
    let (protocol, url, options) = parts(target)?;
    if workload.pass().is_some() && !protocol.kind().passes {
        let text =
            format!("target {}: there are no directories for a pass; use a file or nfs target", target.name);
        return Err(TargetError::Input(text));
    }
    if let Some(lacking) = lacking_op(protocol.kind(), workload) {
        let text =
            format!("target {}: a {} target has no operation {lacking}", target.name, protocol.kind().scheme);
        return Err(TargetError::Input(text));
    }
    protocol.open(&OpenRequest { target, url: &url, options: &options, workload, context })
}
