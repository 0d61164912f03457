//! What a protocol declares about itself, and what can be done with an open target.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use content::SizeTable;
use drivers::{Driver, DriverError, Payload};
use engine::{Control, DataSet, DataShape, StageError, StagePlan, StageResult};
use experiment::{
    CacheControl, Cell, Job, Pass, PassStep, Target, TargetKind, TargetOptions, TargetUrl, Workload,
};
use metrics::Interval;
use serde_json::Value;

use super::by_name::{FilesByName, FoundByName};
use super::check::CheckTraits;
use super::engines::JobEngines;
use super::job::{LaidOut, as_wanted};
use super::paths::InterfaceError;
use super::place::OwnPlace;
use super::removal::{RemovalContext, RemoveLeftError};
use super::{AccessKey, Entered, Look, OpenContext, Secrets, TargetError, complete};

/// Everything about a protocol except its load, in one place. Each protocol has one value in
/// [`PROTOCOLS`](super::PROTOCOLS).
pub trait Protocol: Sync {
    /// Scheme, operations, options and traits, which experiment files are checked against.
    fn kind(&self) -> &'static TargetKind;

    /// Creates a driver for a target. Resolves names and reads key files; creates nothing, and contacts nothing yet unless
    /// the sizes of files that the user named determine the data set.
    ///
    /// # Errors
    /// One line: what is wrong with the URL or an option, and how to write it.
    fn open(&self, request: &OpenRequest<'_>) -> Result<Box<dyn OpenTarget>, TargetError>;

    /// The engines by which job files name the protocol; none by default.
    fn engines(&self) -> JobEngines {
        JobEngines::NONE
    }

    /// How `manometer check` tests it; `None`: it does not.
    fn check(&self) -> Option<&'static CheckTraits> {
        None
    }

    /// Removes a place of this protocol that a dead run left, with all that is in it and nothing else; a missing place
    /// counts as removed. `place` is the run's journal entry. Blocks.
    ///
    /// # Errors
    /// [`RemoveLeftError`]: the place does not bear the run's own name, or could not be removed.
    fn remove_left(&self, place: &Value, cx: &mut RemovalContext<'_>) -> Result<(), RemoveLeftError> {
        let _ = (place, cx);
        Err(RemoveLeftError::NoProtocol(self.kind().scheme.to_owned()))
    }

    /// The key that agents receive for a target, if this host has one; without it they look for their own.
    fn key(&self, target: &Target, options: &TargetOptions, secrets: &dyn Secrets) -> Option<AccessKey> {
        let _ = options;
        secrets.key(&target.name)
    }
}

/// A request to open a target for a cell.
pub struct OpenRequest<'a> {
    /// The target as planned.
    pub target: &'a Target,
    /// Its URL in parts.
    pub url: &'a TargetUrl,
    /// Its options, parsed and checked.
    pub options: &'a TargetOptions,
    /// The load that it is opened for.
    pub workload: &'a Workload,
    /// What else opening needs.
    pub context: &'a OpenContext,
}

/// One line about a URL that cannot be used. Text that may hold a password is not echoed.
pub(super) fn wrong(url: &str, problem: &str) -> TargetError {
    let shown = if url.contains('@') { "…" } else { url };
    TargetError::Input(format!("target \"{shown}\": {problem}"))
}

impl OpenRequest<'_> {
    /// The name of the run's own directory on the target.
    pub(super) fn own_directory(&self) -> String {
        format!("{}{}", self.context.place.object_name(), self.target.directory_suffix())
    }

    /// One line about an option's value that cannot be used; `problem` says how to write it.
    pub(super) fn wrong_option(&self, name: &str, text: &str, problem: &str) -> TargetError {
        let shown = if problem.starts_with('"') { String::new() } else { format!("\"{text}\": ") };
        TargetError::Input(format!("target {}: {name}: {shown}{problem}", self.target.name))
    }

    /// A text option, parsed by `read`; `None` when it is not given.
    pub(super) fn read<T, E: std::fmt::Display>(
        &self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, TargetError> {
        let Some(text) = self.options.text(name) else { return Ok(None) };
        read(text).map(Some).map_err(|problem| self.wrong_option(name, text, &problem.to_string()))
    }
}

/// The sizes of a workload's files or objects, if they differ.
fn sizes(workload: &Workload) -> Option<Arc<SizeTable>> {
    workload.sizes().map(|sizes| Arc::new(SizeTable::new(sizes.clone())))
}

/// Any driver: one virtual call per stage; the load loop inside is monomorphised for that driver.
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

    /// The driver that loads it.
    fn driver(&self) -> &dyn StageRunner;

    /// Protocol parameters, addresses, access paths: what is needed to reproduce the setup. Blocks briefly.
    fn own_facts(&self) -> BTreeMap<String, String>;

    /// The files, objects or device that a workload uses.
    fn shape(&self, workload: &Workload) -> DataShape {
        if let Some(bytes) = self.device_bytes() {
            return DataShape::Device { bytes };
        }
        if self.kind().holds_objects(&workload.ops) {
            return DataShape::Objects { object_bytes: workload.max_file_bytes() };
        }
        let largest = workload.block_sizes().iter().map(|size| size.bytes).max();
        DataShape::Files {
            file_bytes: workload.max_file_bytes(),
            block_bytes: largest.unwrap_or(workload.max_file_bytes()),
        }
    }

    /// Bytes used of a device; `None` for anything else.
    fn device_bytes(&self) -> Option<u64> {
        None
    }

    /// The files of a mix that the user named; `None` for all other data.
    fn by_name(&self) -> Option<&FilesByName> {
        None
    }

    /// The files of a mix that the user named, as they are now. Blocks.
    ///
    /// # Errors
    /// They cannot be inspected, or a name is taken by something else.
    fn found_by_name(&self) -> Result<Vec<FoundByName>, TargetError> {
        Ok(Vec::new())
    }

    /// The directory or prefix that holds the data; `None` where a target has none.
    #[doc(hidden)]
    fn place(&self) -> Option<&OwnPlace> {
        None
    }

    /// Inspects the target before anything is created or written: whether it answers, may be used, and has enough
    /// space. Changes nothing. `writes` says that the run will create or write something. Blocks, but no longer than
    /// the timeouts given at opening.
    fn look(&self, writes: bool) -> Look {
        let _ = writes;
        Look::default()
    }

    /// Creates our place on the target, journal first, or enters it again if this run (or the one being resumed)
    /// created it before. Blocks.
    ///
    /// # Errors
    /// One line: what was tried, on which address, what came back, and what to do next.
    fn prepare(&self) -> Result<Entered, TargetError> {
        Ok(Entered::New)
    }

    /// Uses our place as it is: it must exist. Blocks.
    ///
    /// # Errors
    /// As [`OpenTarget::prepare`]; the place does not exist.
    fn adopt(&self) -> Result<(), TargetError> {
        Ok(())
    }

    /// Removes our place with all that is in it and nothing else; a place that the user named stays. Blocks.
    ///
    /// # Errors
    /// What could not be removed; it stays in the journal.
    fn remove_all(&self) -> Result<(), TargetError> {
        Ok(())
    }

    /// Calls `each` with the number and size of every file or object there; `false` where the target cannot list them.
    /// Blocks.
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

    /// Drops what this client caches of the target; returns what was actually done, in words for the result.
    fn drop_cache(&self, wanted: CacheControl) -> String {
        let _ = wanted;
        let kind = self.kind();
        match (kind.imaginary, kind.objects) {
            (true, _) => "not possible: there is no cache".to_owned(),
            (false, true) => format!("not possible for {}: this client has no cache", kind.scheme),
            (false, false) => format!("not possible for {}: this client has no page cache", kind.scheme),
        }
    }

    /// Timeout for opening a session, where the protocol needs another than `usual`.
    fn connect_timeout(&self, usual: Duration) -> Duration {
        usual
    }

    /// The reactor that the target's options ask for, else `wanted`.
    fn reactor(&self, wanted: reactor::BackendChoice) -> reactor::BackendChoice {
        wanted
    }

    /// The network interface that leads to it.
    ///
    /// # Errors
    /// It is not reached over the network, or the interface cannot be determined.
    fn interface(&self) -> Result<String, InterfaceError> {
        Err(InterfaceError::NoNetwork)
    }

    /// The address of the single peer of a network-only load; `None` for storage.
    fn peer(&self) -> Option<SocketAddr> {
        None
    }

    /// The directory of this machine that holds the data set, where there is one.
    fn directory(&self) -> Option<&Path> {
        None
    }

    /// The path of a file of the data set on this machine, where there is one.
    fn path_of(&self, object: u64) -> Option<PathBuf> {
        let _ = object;
        None
    }

    /// True when reads may come from this machine's page cache.
    fn uses_page_cache(&self) -> bool {
        false
    }

    /// Inspects the files of a job and creates those that are missing or too short. Blocks.
    ///
    /// # Errors
    /// One line: which file, what was tried, what came back, what to do next.
    fn lay_out_job(&self, job: &Job, cell: &Cell) -> Result<LaidOut, TargetError> {
        Ok(LaidOut { files: as_wanted(job, cell.workload.jobs)?, stages: Vec::new() })
    }

    /// Makes the directories of a pass's files. Blocks.
    ///
    /// # Errors
    /// One line: which one could not be made.
    fn lay_out_pass(&self, pass: &Pass, lanes: u32) -> Result<(), TargetError> {
        let _ = (pass, lanes);
        Ok(())
    }

    /// Removes the empty directories of a pass that cleans up. Blocks.
    ///
    /// # Errors
    /// One line: which one could not be removed.
    fn finish_pass(&self, pass: &Pass, lanes: u32) -> Result<(), TargetError> {
        let _ = (pass, lanes);
        Ok(())
    }

    /// The numbers of the devices that a job's files lie on, or are; empty for remote targets.
    fn devices(&self, laid_out: &LaidOut) -> BTreeSet<u64> {
        let _ = laid_out;
        BTreeSet::new()
    }

    /// Prepares a job's files right before the load: drops the client's cached pages (`invalidate`). Blocks.
    ///
    /// # Errors
    /// The first file that could not be opened; one line.
    fn begin_files(&self, job: &Job, laid_out: &LaidOut) -> Result<(), TargetError> {
        let _ = (job, laid_out);
        Ok(())
    }

    /// Finishes with a job's files: removes them where the job says so (`unlink`). Blocks.
    ///
    /// # Errors
    /// The first file that could not be removed; the others are removed.
    fn finish_files(&self, job: &Job, laid_out: &LaidOut) -> Result<(), TargetError> {
        let _ = (job, laid_out);
        Ok(())
    }
}

impl dyn OpenTarget {
    /// True when workers run on a virtual clock, so that a stage takes no real time.
    pub fn virtual_clock(&self) -> bool {
        self.kind().virtual_clock
    }

    /// True when the files of a job are laid out right before that job, not before all jobs.
    pub fn lays_out_late(&self) -> bool {
        self.kind().late_layout
    }

    /// Prepares files that are laid out right before the load of a job's cell. Blocks.
    ///
    /// # Errors
    /// The first file that could not be opened; one line.
    pub fn begin_job(&self, cell: &Cell, laid_out: &LaidOut) -> Result<(), TargetError> {
        cell.workload.stream().map_or(Ok(()), |job| self.begin_files(job, laid_out))
    }

    /// Finishes with a job's files after the job. Blocks.
    ///
    /// # Errors
    /// The first file that could not be removed; the others are removed.
    pub fn finish_job(&self, cell: &Cell, laid_out: &LaidOut) -> Result<(), TargetError> {
        if let Some(pass) = cell.workload.pass() {
            return match pass.does(|step| step == PassStep::CleanUp) {
                true => self.finish_pass(pass, cell.workload.jobs * cell.workload.queue_depth),
                false => Ok(()),
            };
        }
        cell.workload.stream().map_or(Ok(()), |job| self.finish_files(job, laid_out))
    }

    /// The complete data set of a workload.
    pub fn data_set(&self, workload: &Workload) -> DataSet {
        if let Some(files) = self.by_name() {
            return files.data_set(files.numbers());
        }
        DataSet::laid_out(self.shape(workload), workload.files()).drawn_from(sizes(workload))
    }

    /// One agent's share of a place used by several: every `parts`-th file or object, starting at `first_part`.
    pub fn data_set_of(&self, workload: &Workload, first_part: u32, parts: u32) -> DataSet {
        let (first, parts) = (u64::from(first_part), u64::from(parts));
        DataSet::laid_out_from(self.shape(workload), first * workload.files(), parts * workload.files())
            .drawn_from(sizes(workload))
    }

    /// Takes over the place of a lost agent: it is in our journal from now on.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn inherit(&self) -> Result<(), TargetError> {
        self.place().map_or(Ok(()), OwnPlace::inherit)
    }

    /// True when the data stays after the run: the user named the place, or it is a device.
    pub fn stays(&self) -> bool {
        self.place().is_some_and(OwnPlace::is_kept)
    }

    /// The generation of the existing data set, from the first bytes of the file or object with this number; `None`
    /// when no data of this payload is there. Blocks.
    pub fn held_generation(&self, payload: &Payload, first: u64) -> Option<u32> {
        complete::held_generation(self, payload, first)
    }

    /// Checks that every file or object of a data set exists in full size. Blocks; reads no content.
    ///
    /// # Errors
    /// The first with a wrong size, or how many are missing; the listing failed.
    pub fn check_complete(&self, data_set: &DataSet) -> Result<(), TargetError> {
        let Some(files) = self.by_name() else { return complete::check(self, data_set) };
        self.found_by_name()?.iter().try_for_each(|file| files.used_of(file).map(drop))
    }

    /// Applies the requested cache control to the client's caches as far as possible; returns what was actually done,
    /// in words for the result.
    pub fn cache(&self, wanted: CacheControl) -> String {
        if wanted == CacheControl::Keep { "kept".to_owned() } else { self.drop_cache(wanted) }
    }

    /// Facts about the target for the result: protocol parameters, addresses, access paths. Blocks briefly.
    pub fn facts(&self) -> BTreeMap<String, String> {
        let mut facts = self.own_facts();
        let data = if self.stays() { "stays after the run" } else { "in a place of the run's own" };
        facts.insert("data".to_owned(), data.to_owned());
        facts
    }

    /// Inspects the files of a job's cell and creates those that are missing or too short, as its
    /// [`experiment::Layout`] says; filling and reading are left to the stages. A cell without a job has no files.
    /// Blocks.
    ///
    /// # Errors
    /// One line: which file, what was tried, what came back, what to do next.
    pub fn lay_out(&self, cell: &Cell) -> Result<LaidOut, TargetError> {
        if let Some(pass) = cell.workload.pass().filter(|pass| pass.does(PassStep::makes)) {
            self.lay_out_pass(pass, cell.workload.jobs * cell.workload.queue_depth)?;
        }
        let Some(job) = cell.workload.stream() else { return Ok(LaidOut::default()) };
        let mut laid_out = self.lay_out_job(job, cell)?;
        if job.files.layout.create_only {
            // With no bytes to use, the load ends at once.
            laid_out.files.iter_mut().flatten().for_each(|file| file.length = 0);
        }
        Ok(laid_out)
    }
}
