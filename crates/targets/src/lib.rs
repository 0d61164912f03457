//! Targets of experiments: from a URL and options to a driver, and what surrounds its use.
//!
//! A target's data lies in a place of the run's own (directory or prefix `manometer-<run id>`), which is in the journal
//! before it is made, so that `manometer cleanup` removes what a killed run left; or in one that the user names
//! by the option `directory`, which stays. Block devices are used as a whole.

mod cache;
mod cleared;
mod complete;
mod facts;
mod file;
mod file_job;
mod job;
mod net;
mod nfs;
mod nfs_job;
mod options;
mod paths;
mod place;
mod s3;
mod secrets;
mod sim;
#[cfg(test)]
mod tests;
mod url;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use drivers::null::NullDriver;
use drivers::sim::SimDriver;
use drivers::{DriverError, Payload};
use engine::{Control, DataSet, Shape, StageError, StagePlan, StageResult};
use experiment::{CacheControl, Target, Workload};
use metrics::Interval;
use provision::{ProvisionError, Run, RunId};

pub use cleared::ClearedFiles;
pub use job::{LaidOut, LayOutStage};
pub use place::{Entered, never_made};
pub use secrets::{AccessKey, HeldSecrets, Secrets};
use url::TargetUrl;

/// What opening a target needs besides the target itself.
#[derive(Clone, Debug)]
pub struct OpenContext {
    /// The run: its journal knows our place.
    pub run: Run,
    /// The run whose id names the place. Another than `run`: the place is somebody else's, and nothing is ever removed.
    pub place: RunId,
    /// The block device that may be overwritten although it holds something.
    pub destroy: Option<PathBuf>,
    /// Regular files that this run has cleared for overwriting already.
    pub cleared: ClearedFiles,
    /// The keys that came with the run.
    pub secrets: Arc<dyn Secrets>,
    /// Seed of what is random in a simulated target, unless its options say otherwise.
    pub seed: u64,
    /// The longest that first contact may take.
    pub connect_timeout: Duration,
}

impl OpenContext {
    /// Our place, which is removed with the run; or that of the agent whose run names it, which is not ours to remove.
    fn own_place(&self, entry: place::Entry) -> place::Place {
        if *self.run.id() == self.place {
            place::Place::own(&self.run, entry)
        } else {
            place::Place::stays(&self.run)
        }
    }
}

/// A target cannot be used. One line: what was tried, what came back, what to do next.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// It was written wrongly: wrong usage.
    #[error("{0}")]
    Input(String),
    /// It refused or did not answer.
    #[error(transparent)]
    Driver(#[from] DriverError),
    /// The journal could not be written.
    #[error(transparent)]
    Journal(#[from] ProvisionError),
}

/// A target that can be loaded.
pub enum Opened {
    /// Files of this machine, or a block device.
    File(file::FileTarget),
    /// Over NFS.
    Nfs(nfs::NfsTarget),
    /// Over S3.
    S3(s3::S3Target),
    /// A peer over TCP.
    Net(net::NetTarget),
    /// Nothing: every operation succeeds at once.
    Null(NullDriver),
    /// A script on a virtual clock.
    Sim(sim::SimTarget),
}

/// The S3 key that agents are given for a target, if this host has one.
pub fn key_of(target: &Target, secrets: &dyn Secrets) -> Option<AccessKey> {
    s3::key_of(target, secrets)
}

/// Makes a driver for a target. Names are resolved and key files read; nothing is made, and nothing contacted yet.
///
/// # Errors
/// One line: what is wrong with the URL or an option, and how to write it.
pub fn open(target: &Target, workload: &Workload, options: &OpenContext) -> Result<Opened, TargetError> {
    let url = TargetUrl::parse(&target.url)?;
    Ok(match &*url.scheme {
        "file" | "block" => Opened::File(file::open(target, &url, workload, options)?),
        "nfs" => Opened::Nfs(nfs::open(target, &url, workload, options)?),
        "s3" => Opened::S3(s3::open(target, &url, workload, options)?),
        "tcp" => Opened::Net(net::open(target, &url, workload)?),
        "null" => {
            options::Options::new(target, &url, &[])?;
            Opened::Null(NullDriver)
        }
        "sim" => Opened::Sim(sim::open(target, &url, options)?),
        other => return Err(url::wrong(&target.url, &format!("{other}: targets cannot be opened here"))),
    })
}

impl Opened {
    /// The files, objects or device that a workload uses.
    pub fn shape(&self, workload: &Workload) -> Shape {
        let whole = |op: &experiment::WeightedOp| op.op.is_for_objects();
        let objects = match self {
            Opened::S3(_) => true,
            Opened::File(target) if target.is_device() => {
                return Shape::Device { bytes: target.device_bytes };
            }
            Opened::File(_) | Opened::Nfs(_) | Opened::Net(_) => false,
            Opened::Null(_) | Opened::Sim(_) => workload.ops.iter().any(whole),
        };
        if objects {
            return Shape::Objects { object_bytes: workload.file_bytes };
        }
        let largest = workload.block_sizes.iter().map(|size| size.bytes).max();
        Shape::Files { file_bytes: workload.file_bytes, block_bytes: largest.unwrap_or(workload.file_bytes) }
    }

    /// All that a workload uses, complete.
    pub fn data_set(&self, workload: &Workload) -> DataSet {
        DataSet::laid_out(self.shape(workload), workload.files)
    }

    /// The part of an agent that shares a place with others: the n-th so many files or objects, for each of `parts`.
    pub fn data_set_of(&self, workload: &Workload, first_part: u32, parts: u32) -> DataSet {
        let (first, parts) = (u64::from(first_part), u64::from(parts));
        DataSet::laid_out_from(self.shape(workload), first * workload.files, parts * workload.files)
    }

    /// Makes our place on the target, the journal first, or enters it again if this run (or the one that is resumed)
    /// made it before. Blocks.
    ///
    /// # Errors
    /// One line: what was tried, on which address, what came back, and what to do next.
    pub fn prepare(&self) -> Result<Entered, TargetError> {
        match self {
            Opened::File(target) => target.prepare(),
            Opened::Nfs(target) => target.prepare(),
            Opened::S3(target) => target.prepare(),
            Opened::Net(_) | Opened::Null(_) | Opened::Sim(_) => Ok(Entered::New),
        }
    }

    /// Uses our place as it is: it must be there. Blocks.
    ///
    /// # Errors
    /// As [`Opened::prepare`]; it is not there.
    pub fn adopt(&self) -> Result<(), TargetError> {
        match self {
            Opened::File(target) => target.adopt(),
            Opened::Nfs(target) => target.adopt(),
            Opened::S3(target) => target.adopt(),
            Opened::Net(_) | Opened::Null(_) | Opened::Sim(_) => Ok(()),
        }
    }

    /// Takes the place over from an agent that is lost: it is in our journal from now on.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn inherit(&self) -> Result<(), TargetError> {
        match self {
            Opened::File(target) => target.place.inherit(),
            Opened::Nfs(target) => target.place.inherit(),
            Opened::S3(target) => target.place.inherit(),
            Opened::Net(_) | Opened::Null(_) | Opened::Sim(_) => Ok(()),
        }
    }

    /// Removes our place and all that is in it, nothing else; a place that the user named stays. Blocks.
    ///
    /// # Errors
    /// What could not be removed; it stays in the journal.
    pub fn remove_all(&self) -> Result<(), TargetError> {
        match self {
            Opened::File(target) => target.remove_all(),
            Opened::Nfs(target) => target.remove_all(),
            Opened::S3(target) => target.remove_all(),
            Opened::Net(_) | Opened::Null(_) | Opened::Sim(_) => Ok(()),
        }
    }

    /// Of which generation the data set is that lies there, as the first bytes of the file or object with this number say;
    /// `None` when nothing of this payload lies there. Blocks.
    pub fn held_generation(&self, payload: &Payload, first: u64) -> Option<u32> {
        complete::held_generation(self, payload, first)
    }

    /// Does to the client's caches what is asked, as far as it can be done; what was really done, in words for the
    /// result.
    pub fn cache(&self, wanted: CacheControl) -> String {
        cache::control(self, wanted)
    }

    /// What the result must say of the target: protocol parameters, addresses, ways of access. Blocks for a moment.
    pub fn facts(&self) -> BTreeMap<String, String> {
        facts::of(self)
    }

    /// True when workers run on a virtual clock, so that a stage takes no time.
    pub fn virtual_clock(&self) -> bool {
        matches!(self, Opened::Sim(_))
    }

    /// How long a session may take to open, where the target's kind needs another time than is `usual`.
    pub fn connect_timeout(&self, usual: Duration) -> Duration {
        match self {
            Opened::Net(_) => usual.max(net::WAIT),
            _ => usual,
        }
    }

    /// The reactor that the target's options ask for, else the one that is `wanted`.
    pub fn reactor(&self, wanted: reactor::Choice) -> reactor::Choice {
        match self {
            Opened::File(target) => target.reactor(wanted),
            _ => wanted,
        }
    }

    /// The network interface by which it is reached.
    ///
    /// # Errors
    /// In words: it is not reached over the network, or that cannot be told.
    pub fn interface(&self) -> Result<String, String> {
        match self {
            Opened::Nfs(target) => {
                let config = target.driver.config();
                paths::interface(&config.paths, config.server)
            }
            Opened::S3(target) => {
                let remote = target.driver.addresses()[0].ip();
                paths::interface(&target.driver.config().paths, remote)
            }
            Opened::Net(target) => {
                let config = target.driver.config();
                paths::interface(&config.paths, config.address.ip())
            }
            Opened::File(_) | Opened::Null(_) | Opened::Sim(_) => {
                Err("the target is not reached over the network".to_owned())
            }
        }
    }

    /// The directory of this machine that holds the data set, where there is one.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Opened::File(target) => target.directory(),
            _ => None,
        }
    }

    /// True when reads may come from this machine's page cache.
    pub fn uses_page_cache(&self) -> bool {
        matches!(self, Opened::File(target) if !target.driver.config().direct)
    }

    /// True when the files of a job are laid out right before the job, not before all jobs: what an earlier job of the run
    /// writes over the network is not written twice.
    pub fn lays_out_late(&self) -> bool {
        matches!(self, Opened::Nfs(_))
    }

    /// True when what is there stays after the run: the user named the place, or it is a device.
    fn stays(&self) -> bool {
        match self {
            Opened::File(target) => target.place.is_kept(),
            Opened::Nfs(target) => target.place.is_kept(),
            Opened::S3(target) => target.place.is_kept(),
            Opened::Net(_) | Opened::Null(_) | Opened::Sim(_) => false,
        }
    }

    /// Sees that every file or object of a data set is there in full size. Blocks; reads no content.
    ///
    /// # Errors
    /// The first that is not, or how many are missing; the listing failed.
    pub fn check_complete(&self, data_set: &DataSet) -> Result<(), TargetError> {
        complete::check(self, data_set)
    }

    /// Runs a stage on the target. The load loop is made for each driver at compile time.
    ///
    /// # Errors
    /// As [`engine::run_stage`].
    pub fn run_stage(
        &self,
        plan: &StagePlan,
        control: &Control,
        observer: &mut dyn FnMut(&Interval),
    ) -> Result<StageResult, StageError> {
        match self {
            Opened::File(target) => engine::run_stage(&target.driver, plan, control, observer),
            Opened::Nfs(target) => engine::run_stage(&target.driver, plan, control, observer),
            Opened::S3(target) => engine::run_stage(&target.driver, plan, control, observer),
            Opened::Net(target) => engine::run_stage(&target.driver, plan, control, observer),
            Opened::Null(driver) => engine::run_stage(driver, plan, control, observer),
            Opened::Sim(target) => engine::run_stage::<SimDriver>(&target.driver, plan, control, observer),
        }
    }
}
