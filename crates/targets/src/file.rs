//! `file:///directory` and `block:///dev/device`: files of this machine, and block devices as a whole.

use std::io::Read;
use std::path::{Path, PathBuf};

use drivers::DriverError;
use drivers::file::{Fallocate, FileConfig, FileDriver, Place as Where};
use experiment::{Target, Workload};
use metrics::OpChange;
use provision::LocalPlace;
use reactor::{Choice, Durable};

use super::options::Options;
use super::place::{Entered, Entry, Place};
use super::url::{TargetUrl, form, wrong};
use super::{ClearedFiles, OpenContext, TargetError, file_job};

/// A directory or a block device.
pub struct FileTarget {
    pub(super) driver: FileDriver,
    pub(super) place: Place,
    pub(super) destroy: Option<PathBuf>,
    pub(super) cleared: ClearedFiles,
    /// Sizes that must fit the device's alignment.
    pub(super) sizes: Vec<u64>,
    /// The workload changes what is there.
    pub(super) writes: bool,
    /// Which interface the options ask for.
    pub(super) wanted: Option<Choice>,
    /// Bytes of the device that are used; 0 in a directory.
    pub(super) device_bytes: u64,
}

pub(super) fn open(
    target: &Target,
    url: &TargetUrl,
    workload: &Workload,
    options: &OpenContext,
) -> Result<FileTarget, TargetError> {
    let given = Options::new(target, url, &[])?;
    if !url.authority.is_empty() || url.path.len() < 2 {
        let problem = format!("three slashes begin the path of this machine; write {}", form(&url.scheme));
        return Err(wrong(&target.url, &problem));
    }
    let path = PathBuf::from(&url.path);
    let device = url.scheme == "block";
    let (place, config_place) = if let (false, Some(job)) = (device, &workload.job) {
        (Place::stays(&options.run), file_job::place(target, &given, path, workload, job)?)
    } else if device {
        (Place::stays(&options.run), Where::Device(path))
    } else {
        directory(target, &given, &path, options)?
    };
    let usual = FileConfig::new(config_place);
    let config = FileConfig {
        direct: given.flag("direct")?.unwrap_or(device),
        registered: given.flag("registered")?.unwrap_or(usual.registered),
        fdatasync: workload.fdatasync,
        fallocate: given.read("fallocate", fallocate)?.unwrap_or(usual.fallocate),
        file_bytes: workload.file_bytes,
        trim: given.flag("trim")?.unwrap_or(usual.trim),
        durable: given.read("sync", durable)?.unwrap_or(usual.durable),
        open_files: workload
            .job
            .as_ref()
            .map_or(usual.open_files, |job| file_job::open_files(job, workload.jobs)),
        ..usual
    };
    let sizes: Vec<u64> = workload
        .block_sizes
        .iter()
        .map(|size| size.bytes)
        .chain([workload.file_bytes])
        .filter(|size| *size > 0)
        .collect();
    let driver = FileDriver::new(config)
        .map_err(|error| TargetError::Input(format!("target {}: {}", target.name, error.detail)))?;
    let device_bytes = match (device, workload.file_bytes) {
        (false, _) => 0,
        (true, asked) => {
            let size = driver.device_size()?;
            if asked > size {
                return Err(TargetError::Input(format!(
                    "target {}: {} bytes are to be used and {} has {size}; use at most that, or 0 for all of it",
                    target.name, asked, url.path
                )));
            }
            if asked == 0 { whole_blocks(size, workload) } else { asked }
        }
    };
    Ok(FileTarget {
        driver,
        place,
        destroy: options.destroy.clone(),
        cleared: options.cleared.clone(),
        sizes,
        writes: workload.ops.iter().any(|op| op.op.traits().changes != OpChange::Nothing),
        wanted: reactor_of(target, &given)?,
        device_bytes,
    })
}

/// Our directory in the one that the URL names.
fn directory(
    target: &Target,
    given: &Options,
    parent: &Path,
    options: &OpenContext,
) -> Result<(Place, Where), TargetError> {
    if !parent.is_dir() {
        return Err(wrong(&target.url, "there is no such directory; make it, or name one that exists"));
    }
    let Some(name) = given.text("directory") else {
        let path = parent.join(options.place.object_name());
        let entry = Entry::Local(LocalPlace::here(path.clone()));
        return Ok((options.own_place(entry), Where::Directory(path)));
    };
    if name.is_empty() || matches!(name, "." | "..") || name.contains('/') {
        return Err(given.wrong("directory", name, "write one name, without /"));
    }
    Ok((Place::stays(&options.run), Where::Directory(parent.join(name))))
}

/// As much of a device as has only whole blocks of every size.
fn whole_blocks(size: u64, workload: &Workload) -> u64 {
    let largest = workload.block_sizes.iter().map(|size| size.bytes).max().unwrap_or(1).max(1);
    if size < largest { size } else { size / largest * largest }
}

fn fallocate(text: &str) -> Result<Fallocate, String> {
    match text {
        "none" => Ok(Fallocate::None),
        "reserve" => Ok(Fallocate::Allocate),
        _ => Err("write none or reserve".to_owned()),
    }
}

fn durable(text: &str) -> Result<Durable, String> {
    match text {
        "none" => Ok(Durable::Nothing),
        "dsync" => Ok(Durable::Data),
        "sync" => Ok(Durable::All),
        _ => Err("write none, dsync or sync".to_owned()),
    }
}

/// The interface that `engine`, `iopoll` and `sqpoll` ask for, if they do.
fn reactor_of(target: &Target, given: &Options) -> Result<Option<Choice>, TargetError> {
    let engine = given.text("engine").unwrap_or("auto");
    let polls = (given.flag("iopoll")?.unwrap_or(false), given.flag("sqpoll")?.unwrap_or(false));
    let polling = Choice::polling(polls.0, polls.1);
    match (engine, polls) {
        ("auto", (false, false)) => Ok(None),
        ("auto" | "uring", _) => Ok(Some(polling)),
        ("threads", (false, false)) => Ok(Some(Choice::Epoll)),
        ("threads", _) => Err(TargetError::Input(format!(
            "target {}: engine: threads cannot poll; take out iopoll and sqpoll, or choose uring",
            target.name
        ))),
        _ => Err(given.wrong("engine", engine, "write auto, uring or threads")),
    }
}

impl FileTarget {
    pub(super) fn prepare(&self) -> Result<Entered, TargetError> {
        if self.is_named() {
            return Ok(Entered::Existing);
        }
        if self.is_device() {
            self.may_be_written()?;
            self.check_sizes()?;
            self.driver.prepare()?;
            return Ok(Entered::Existing);
        }
        // Whatever can be checked is checked before anything is made.
        self.check_sizes()?;
        self.place.enter(|announce| self.driver.prepare_announced(announce), || self.driver.adopt())
    }

    pub(super) fn adopt(&self) -> Result<(), TargetError> {
        if self.is_named() {
            return Ok(());
        }
        if self.is_device() && self.writes {
            self.may_be_written()?;
        }
        self.driver.adopt()?;
        self.check_sizes()
    }

    pub(super) fn remove_all(&self) -> Result<(), TargetError> {
        self.place.leave(|| self.driver.remove_all().map(drop))
    }

    /// The first bytes of the file with this number, or of the device; at most `len`.
    pub(super) fn beginning(&self, number: u64, len: u64) -> std::io::Result<Vec<u8>> {
        let path = match &self.driver.config().place {
            Where::Directory(path) => path.join(format!("{number:016x}")),
            Where::Device(path) => path.clone(),
            // What jobs name has no generation.
            Where::Named(_) => return Err(std::io::ErrorKind::Unsupported.into()),
        };
        let mut data = Vec::new();
        std::fs::File::open(path)?.take(len).read_to_end(&mut data)?;
        Ok(data)
    }

    /// Looks what the device holds before it is overwritten.
    fn may_be_written(&self) -> Result<(), DriverError> {
        let path = self.driver.config().place.path();
        self.cleared.check(path, self.destroy.as_deref(), |free| self.driver.check_device(free))
    }

    /// The directory that holds the files.
    pub(super) fn directory(&self) -> Option<&Path> {
        match &self.driver.config().place {
            Where::Directory(path) => Some(path),
            Where::Device(_) | Where::Named(_) => None,
        }
    }

    pub(super) fn is_device(&self) -> bool {
        matches!(self.driver.config().place, Where::Device(_))
    }

    /// True when the files are those of a job, which the user named.
    pub(super) fn is_named(&self) -> bool {
        matches!(self.driver.config().place, Where::Named(_))
    }

    pub(super) fn reactor(&self, wanted: Choice) -> Choice {
        self.wanted.unwrap_or(wanted)
    }

    /// Past the page cache not every size can be read or written: better said now than by every operation.
    fn check_sizes(&self) -> Result<(), TargetError> {
        self.sizes.iter().try_for_each(|size| Ok(self.driver.check_block_bytes(*size)?))
    }
}
