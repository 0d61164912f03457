//! What a protocol says of itself, and what can be done with a target that is open.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use drivers::{Driver, DriverError, Payload};
use engine::{Control, DataSet, DataShape, StageError, StagePlan, StageResult};
use experiment::{CacheControl, Cell, Job, Target, TargetKind, TargetOptions, TargetUrl, Workload};
use metrics::Interval;
use serde_json::Value;

use super::check::CheckTraits;
use super::engines::JobEngines;
use super::job::{LaidOut, as_wanted};
use super::place::OwnPlace;
use super::removal::{RemovalContext, RemoveLeftError};
use super::{AccessKey, Entered, Look, OpenContext, Secrets, TargetError, complete};

/// Everything about a protocol except its load, once. One value of it stands in [`PROTOCOLS`](super::PROTOCOLS).
pub trait Protocol: Sync {
    /// Scheme, operations, options and traits, as experiment files are checked by them.
    fn kind(&self) -> &'static TargetKind;

    /// Makes a driver for a target. Names are resolved and key files read; nothing is made, and nothing contacted yet.
    ///
    /// # Errors
    /// One line: what is wrong with the URL or an option, and how to write it.
    fn open(&self, request: &OpenRequest<'_>) -> Result<Box<dyn OpenTarget>, TargetError>;

    /// The engines by which job files name it; none unless it says so.
    fn engines(&self) -> JobEngines {
        JobEngines::NONE
    }

    /// What `manometer check` does with it; `None`: it is not tried.
    fn check(&self) -> Option<&'static CheckTraits> {
        None
    }

    /// Removes a place of this protocol that a dead run left, and all that is in it, nothing else; not finding it is success.
    /// `place` is what the run wrote into its journal. Blocks.
    ///
    /// # Errors
    /// [`RemoveLeftError`]: it does not bear the run's own name, or could not be removed.
    fn remove_left(&self, place: &Value, cx: &mut RemovalContext<'_>) -> Result<(), RemoveLeftError> {
        let _ = (place, cx);
        Err(RemoveLeftError::NoProtocol(self.kind().scheme.to_owned()))
    }

    /// The key that agents are given for a target, if this host has one; without one they look for their own.
    fn key(&self, target: &Target, options: &TargetOptions, secrets: &dyn Secrets) -> Option<AccessKey> {
        let _ = options;
        secrets.key(&target.name)
    }
}

/// A target that is to be opened for a cell.
pub struct OpenRequest<'a> {
    /// As the plan has it.
    pub target: &'a Target,
    /// Its URL in parts.
    pub url: &'a TargetUrl,
    /// Its options, read and checked.
    pub options: &'a TargetOptions,
    /// The load that it is opened for.
    pub workload: &'a Workload,
    /// What opening needs besides.
    pub context: &'a OpenContext,
}

/// One line about a URL that cannot be used. What may hold a password is not repeated.
pub(super) fn wrong(url: &str, problem: &str) -> TargetError {
    let shown = if url.contains('@') { "…" } else { url };
    TargetError::Input(format!("target \"{shown}\": {problem}"))
}

impl OpenRequest<'_> {
    /// One line about an option's value that cannot be used; `problem` says how to write it.
    pub(super) fn wrong_option(&self, name: &str, text: &str, problem: &str) -> TargetError {
        let shown = if problem.starts_with('"') { String::new() } else { format!("\"{text}\": ") };
        TargetError::Input(format!("target {}: {name}: {shown}{problem}", self.target.name))
    }

    /// A text option, read by `read`; `None` when it is not given.
    pub(super) fn read<T>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, TargetError> {
        let Some(text) = self.options.text(name) else { return Ok(None) };
        read(text).map(Some).map_err(|problem| self.wrong_option(name, text, &problem))
    }
}

/// Any driver: one virtual call a stage, and inside the load loop as it was made for that driver at compile time.
pub trait StageRunner {
    /// Runs a stage on the driver's target.
    ///
    /// # Errors
    /// As [`engine::run_stage`].
    fn run_stage(
        &self,
        plan: &StagePlan,
        control: &Control,
        observer: &mut dyn FnMut(&Interval),
    ) -> Result<StageResult, StageError>;
}

impl<D: Driver> StageRunner for D {
    fn run_stage(
        &self,
        plan: &StagePlan,
        control: &Control,
        observer: &mut dyn FnMut(&Interval),
    ) -> Result<StageResult, StageError> {
        engine::run_stage(self, plan, control, observer)
    }
}

/// A target that can be loaded.
pub trait OpenTarget: Send + Sync {
    /// The kind of target.
    fn kind(&self) -> &'static TargetKind;

    /// What loads it.
    fn driver(&self) -> &dyn StageRunner;

    /// Protocol parameters, addresses, ways of access: what is needed to set it up again. Blocks for a moment.
    fn own_facts(&self) -> BTreeMap<String, String>;

    /// The files, objects or device that a workload uses.
    fn shape(&self, workload: &Workload) -> DataShape {
        if let Some(bytes) = self.device_bytes() {
            return DataShape::Device { bytes };
        }
        if self.kind().holds_objects(&workload.ops) {
            return DataShape::Objects { object_bytes: workload.file_bytes() };
        }
        let largest = workload.block_sizes().iter().map(|size| size.bytes).max();
        DataShape::Files {
            file_bytes: workload.file_bytes(),
            block_bytes: largest.unwrap_or(workload.file_bytes()),
        }
    }

    /// Bytes that are used of a device; `None` of anything else.
    fn device_bytes(&self) -> Option<u64> {
        None
    }

    /// The directory or prefix that holds the data; `None` where a target has none.
    #[doc(hidden)]
    fn place(&self) -> Option<&OwnPlace> {
        None
    }

    /// Looks at what can be known before anything is made or written: whether it answers, may be used, and has how much room. Nothing is
    /// changed. `writes` says that something is to be made or written there. Blocks, no longer than the patience of the opening.
    fn look(&self, writes: bool) -> Look {
        let _ = writes;
        Look::default()
    }

    /// Makes our place on the target, the journal first, or enters it again if this run (or the one that is resumed)
    /// made it before. Blocks.
    ///
    /// # Errors
    /// One line: what was tried, on which address, what came back, and what to do next.
    fn prepare(&self) -> Result<Entered, TargetError> {
        Ok(Entered::New)
    }

    /// Uses our place as it is: it must be there. Blocks.
    ///
    /// # Errors
    /// As [`OpenTarget::prepare`]; it is not there.
    fn adopt(&self) -> Result<(), TargetError> {
        Ok(())
    }

    /// Removes our place and all that is in it, nothing else; a place that the user named stays. Blocks.
    ///
    /// # Errors
    /// What could not be removed; it stays in the journal.
    fn remove_all(&self) -> Result<(), TargetError> {
        Ok(())
    }

    /// Tells each file or object that lies there, by its number and size; `false` where that cannot be asked. Blocks.
    ///
    /// # Errors
    /// The listing failed.
    fn items(&self, each: &mut dyn FnMut(u64, u64)) -> Result<bool, DriverError> {
        let _ = each;
        Ok(false)
    }

    /// The first bytes of a file or object, at most `len`; `None` when nothing can be read there. Blocks.
    fn first_bytes(&self, object: u64, len: u32) -> Option<Vec<u8>> {
        let _ = (object, len);
        None
    }

    /// Gives up what this client caches of the target; what was really done, in words for the result.
    fn drop_cache(&self, wanted: CacheControl) -> String {
        let _ = wanted;
        let kind = self.kind();
        match (kind.imaginary, kind.objects) {
            (true, _) => "not possible: there is no cache".to_owned(),
            (false, true) => format!("not possible for {}: this client has no cache", kind.scheme),
            (false, false) => format!("not possible for {}: this client has no page cache", kind.scheme),
        }
    }

    /// How long a session may take to open, where the protocol needs another time than is `usual`.
    fn connect_timeout(&self, usual: Duration) -> Duration {
        usual
    }

    /// The reactor that the target's options ask for, else the one that is `wanted`.
    fn reactor(&self, wanted: reactor::BackendChoice) -> reactor::BackendChoice {
        wanted
    }

    /// The network interface by which it is reached.
    ///
    /// # Errors
    /// In words: it is not reached over the network, or that cannot be told.
    fn interface(&self) -> Result<String, String> {
        Err("the target is not reached over the network".to_owned())
    }

    /// The address of the one peer that a load of the network alone goes to or comes from; `None` of storage.
    fn peer(&self) -> Option<SocketAddr> {
        None
    }

    /// The directory of this machine that holds the data set, where there is one.
    fn directory(&self) -> Option<&Path> {
        None
    }

    /// True when reads may come from this machine's page cache.
    fn uses_page_cache(&self) -> bool {
        false
    }

    /// Looks at the files of a job and makes those that are missing or too short. Blocks.
    ///
    /// # Errors
    /// One line: which file, what was tried, what came back, what to do next.
    fn lay_out_job(&self, job: &Job, cell: &Cell) -> Result<LaidOut, TargetError> {
        Ok(LaidOut { files: as_wanted(job, cell.workload.jobs)?, stages: Vec::new() })
    }

    /// The numbers of the devices that a job's files lie on, or are; none where the target is not of this machine.
    fn devices(&self, laid_out: &LaidOut) -> BTreeSet<u64> {
        let _ = laid_out;
        BTreeSet::new()
    }

    /// What is done to a job's files right before the load: the client's cached pages are given up (`invalidate`). Blocks.
    ///
    /// # Errors
    /// The first file that could not be opened; one line.
    fn begin_files(&self, job: &Job, laid_out: &LaidOut) -> Result<(), TargetError> {
        let _ = (job, laid_out);
        Ok(())
    }

    /// What is done with a job's files when it is over: they are removed where the job says so (`unlink`). Blocks.
    ///
    /// # Errors
    /// The first file that could not be removed; the others are removed.
    fn finish_files(&self, job: &Job, laid_out: &LaidOut) -> Result<(), TargetError> {
        let _ = (job, laid_out);
        Ok(())
    }
}

impl dyn OpenTarget {
    /// True when workers run on a virtual clock, so that a stage takes no time.
    pub fn virtual_clock(&self) -> bool {
        self.kind().virtual_clock
    }

    /// True when the files of a job are laid out right before the job, not before all jobs.
    pub fn lays_out_late(&self) -> bool {
        self.kind().late_layout
    }

    /// What is done to files that are laid out right before the load of a cell with a job. Blocks.
    ///
    /// # Errors
    /// The first file that could not be opened; one line.
    pub fn begin_job(&self, cell: &Cell, laid_out: &LaidOut) -> Result<(), TargetError> {
        cell.workload.stream().map_or(Ok(()), |job| self.begin_files(job, laid_out))
    }

    /// Does what is to be done with a job's files when it is over. Blocks.
    ///
    /// # Errors
    /// The first file that could not be removed; the others are removed.
    pub fn finish_job(&self, cell: &Cell, laid_out: &LaidOut) -> Result<(), TargetError> {
        cell.workload.stream().map_or(Ok(()), |job| self.finish_files(job, laid_out))
    }

    /// All that a workload uses, complete.
    pub fn data_set(&self, workload: &Workload) -> DataSet {
        DataSet::laid_out(self.shape(workload), workload.files())
    }

    /// The part of an agent that shares a place with others: the n-th this many files or objects, for each of `parts`.
    pub fn data_set_of(&self, workload: &Workload, first_part: u32, parts: u32) -> DataSet {
        let (first, parts) = (u64::from(first_part), u64::from(parts));
        DataSet::laid_out_from(self.shape(workload), first * workload.files(), parts * workload.files())
    }

    /// Takes the place over from an agent that is lost: it is in our journal from now on.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn inherit(&self) -> Result<(), TargetError> {
        self.place().map_or(Ok(()), OwnPlace::inherit)
    }

    /// True when what is there stays after the run: the user named the place, or it is a device.
    pub fn stays(&self) -> bool {
        self.place().is_some_and(OwnPlace::is_kept)
    }

    /// Of which generation the data set is that lies there, as the first bytes of the file or object with this number say;
    /// `None` when nothing of this payload lies there. Blocks.
    pub fn held_generation(&self, payload: &Payload, first: u64) -> Option<u32> {
        complete::held_generation(self, payload, first)
    }

    /// Sees that every file or object of a data set is there in full size. Blocks; reads no content.
    ///
    /// # Errors
    /// The first that is not, or how many are missing; the listing failed.
    pub fn check_complete(&self, data_set: &DataSet) -> Result<(), TargetError> {
        complete::check(self, data_set)
    }

    /// Does to the client's caches what is asked, as far as it can be done; what was really done, in words for the
    /// result.
    pub fn cache(&self, wanted: CacheControl) -> String {
        if wanted == CacheControl::Keep { "kept".to_owned() } else { self.drop_cache(wanted) }
    }

    /// What the result must say of the target: protocol parameters, addresses, ways of access. Blocks for a moment.
    pub fn facts(&self) -> BTreeMap<String, String> {
        let mut facts = self.own_facts();
        let data = if self.stays() { "stays after the run" } else { "in a place of the run's own" };
        facts.insert("data".to_owned(), data.to_owned());
        facts
    }

    /// Looks at the files of a job's cell and makes those that are missing or too short, as its [`experiment::Layout`]
    /// says; what must be filled or read is left to the stages. Of a cell without a job there are no files. Blocks.
    ///
    /// # Errors
    /// One line: which file, what was tried, what came back, what to do next.
    pub fn lay_out(&self, cell: &Cell) -> Result<LaidOut, TargetError> {
        let Some(job) = cell.workload.stream() else { return Ok(LaidOut::default()) };
        let mut laid_out = self.lay_out_job(job, cell)?;
        if job.files.layout.create_only {
            // With nothing to use, the load is over before it begins.
            laid_out.files.iter_mut().flatten().for_each(|file| file.length = 0);
        }
        Ok(laid_out)
    }
}
