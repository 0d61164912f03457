//! `file:///directory` and `block:///dev/device`: files of this machine, and whole block devices.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use drivers::DriverError;
use drivers::file::{Fallocate, FileConfig, FileDriver, Place as Where, drop_caches};
use experiment::{CacheControl, Cell, Job, Pass, SyntaxError, TargetKind, Workload};
use metrics::{ErrorKind, OpChange, OpKind};
use reactor::{BackendChoice as Backend, Durable};

use serde_json::Value;

use super::by_name::{FilesByName, FoundByName};
use super::engines::{self, JobEngines};
use super::file_kinds::{BLOCK, FILE};
use super::local_place::{self, LocalPlace};
use super::place::{Entered, OwnPlace};
use super::protocol::wrong;
use super::tree::tree_of;
use super::{
    ClearedFiles, FindingKind, FreeSpace, LaidOut, Look, OpenContext, OpenRequest, OpenTarget, Protocol,
    RemovalContext, RemoveLeftError, StageRunner, TargetError, file_by_name, file_job, file_pass,
};

/// The protocol of `file:` or `block:`.
pub(super) struct Files(&'static TargetKind);

/// The protocol of `file:`.
pub(super) static DIRECTORIES: Files = Files(&FILE);
/// The protocol of `block:`.
pub(super) static DEVICES: Files = Files(&BLOCK);

impl Protocol for Files {
    fn kind(&self) -> &'static TargetKind {
        self.0
    }

    /// Devices are files that a job names.
    fn engines(&self) -> JobEngines {
        if self.0.device { JobEngines::NONE } else { engines::files::ENGINES }
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Box<dyn OpenTarget>, TargetError> {
        Ok(Box::new(open(request)?))
    }

    fn remove_left(&self, place: &Value, cx: &mut RemovalContext<'_>) -> Result<(), RemoveLeftError> {
        local_place::remove_left(place, cx)
    }
}

/// A directory or a block device.
pub(super) struct FileTarget {
    pub(super) kind: &'static TargetKind,
    pub(super) driver: FileDriver,
    pub(super) place: OwnPlace,
    pub(super) destroy: Vec<PathBuf>,
    pub(super) cleared: ClearedFiles,
    /// Sizes that must be multiples of the device's alignment.
    pub(super) sizes: Vec<u64>,
    /// The workload changes existing data.
    pub(super) writes: bool,
    /// I/O backend requested by the options.
    pub(super) wanted: Option<Backend>,
    /// Bytes used of a device; `None` for a directory.
    pub(super) device_bytes: Option<u64>,
    /// The files of a mix that the user named.
    pub(super) by_name: Option<FilesByName>,
}

fn open(request: &OpenRequest<'_>) -> Result<FileTarget, TargetError> {
    let OpenRequest { target, workload, options: given, context, .. } = *request;
    let kind = request.url.kind();
    let path = PathBuf::from(request.url.path());
    let device = kind.device;
    let named = !device && workload.user_files().is_some();
    if named && !path.is_dir() {
        return Err(no_directory(request, &path));
    }
    let tree = if named { file_by_name::tree(request, &path)? } else { None };
    let (place, config_place) = if let (false, Some(job)) = (device, workload.stream()) {
        (OwnPlace::stays(&context.run), file_job::place(request, path, job)?)
    } else if let (false, Some(files)) = (device, workload.user_files()) {
        (OwnPlace::stays(&context.run), file_by_name::place(request, path, files, tree.as_ref()))
    } else if let (false, Some(pass)) = (device, workload.pass()) {
        (OwnPlace::stays(&context.run), file_pass::place(request, path, pass)?)
    } else if device {
        (OwnPlace::stays(&context.run), Where::Device(path))
    } else {
        directory(request, &path)?
    };
    let usual = FileConfig::new(config_place);
    let config = FileConfig {
        direct: given.flag("direct").unwrap_or(device),
        registered: given.flag("registered").unwrap_or(usual.registered),
        fdatasync: workload.fdatasync(),
        xattrs: !named && workload.does(|op| matches!(op, OpKind::Setxattr | OpKind::Getxattr)),
        fallocate: request.read("fallocate", fallocate)?.unwrap_or(usual.fallocate),
        file_bytes: workload.max_file_bytes(),
        tree: tree_of(request)?,
        trim: given.flag("trim").unwrap_or(usual.trim),
        durable: request.read("sync", durable)?.unwrap_or(usual.durable),
        open_files: match (workload.stream(), workload.user_files()) {
            (Some(job), _) => file_job::open_files(job, workload.jobs),
            (None, Some(_)) if tree.is_some() => usual.open_files,
            (None, Some(_)) => file_job::room_for(workload.files(), workload.jobs),
            (None, None) => usual.open_files,
        },
        ..usual
    };
    let sizes: Vec<u64> = workload
        .block_sizes()
        .iter()
        .map(|size| size.bytes)
        .chain([workload.file_bytes()].into_iter().filter(|_| workload.sizes().is_none()))
        .filter(|size| *size > 0)
        .collect();
    let driver = FileDriver::new(config)
        .map_err(|error| TargetError::Input(format!("target {}: {}", target.name, error.detail)))?;
    let device_bytes = match (device, workload.file_bytes()) {
        (false, _) => None,
        (true, asked) => {
            let size = driver.device_size()?;
            if asked > size {
                return Err(TargetError::Input(format!(
                    "target {}: {} bytes are to be used and {} has {size}; use at most that, or 0 for all of it",
                    target.name,
                    asked,
                    request.url.path()
                )));
            }
            Some(if asked == 0 { whole_blocks(size, workload) } else { asked })
        }
    };
    let mut opened = FileTarget {
        kind,
        driver,
        place,
        destroy: context.destroy.clone(),
        cleared: context.cleared.clone(),
        sizes,
        writes: workload.ops.iter().any(|op| op.op.traits().changes != OpChange::Nothing),
        wanted: reactor_of(request)?,
        device_bytes,
        by_name: None,
    };
    if let Some(tree) = tree {
        opened.by_name = FilesByName::of_tree(workload, tree);
        opened.writes = false;
    } else if let Some(mut files) = FilesByName::of(workload) {
        if files.wants_sizes() {
            files.set_sizes(&opened.found_by_name(&files)?)?;
        }
        opened.writes = workload.changes_data();
        opened.by_name = Some(files);
    }
    Ok(opened)
}

/// Our own directory inside the one that the URL names.
fn directory(request: &OpenRequest<'_>, parent: &Path) -> Result<(OwnPlace, Where), TargetError> {
    let context: &OpenContext = request.context;
    if !parent.is_dir() {
        return Err(no_directory(request, parent));
    }
    let Some(name) = request.options.text("directory") else {
        let path = parent.join(request.own_directory());
        return Ok((context.own_place(&LocalPlace::here(path.clone())), Where::Directory(path)));
    };
    if name.is_empty() || matches!(name, "." | "..") || name.contains('/') {
        return Err(request.wrong_option("directory", name, "write one name, without /"));
    }
    Ok((OwnPlace::stays(&context.run), Where::Directory(parent.join(name))))
}

/// Error for a directory that is missing, naming what is in its place.
pub(super) fn no_directory(request: &OpenRequest<'_>, path: &Path) -> TargetError {
    let problem = match (path.metadata(), path.parent()) {
        (Ok(found), _) if found.file_type().is_block_device() => {
            format!("it is a block device; write {}://{}", BLOCK.scheme, path.display())
        }
        (Ok(_), Some(parent)) => {
            format!("it is a file; name a directory, such as {}://{}", FILE.scheme, parent.display())
        }
        _ => "there is no such directory; make it, or name one that exists".to_owned(),
    };
    wrong(&request.target.url, &problem)
}

/// The largest part of a device that whole blocks of every size fill.
fn whole_blocks(size: u64, workload: &Workload) -> u64 {
    let largest = workload.block_sizes().iter().map(|size| size.bytes).max().unwrap_or(1).max(1);
    if size < largest { size } else { size / largest * largest }
}

fn fallocate(text: &str) -> Result<Fallocate, SyntaxError> {
    match text {
        "none" => Ok(Fallocate::None),
        "reserve" => Ok(Fallocate::Allocate),
        _ => Err(SyntaxError::Form("write none or reserve")),
    }
}

fn durable(text: &str) -> Result<Durable, SyntaxError> {
    match text {
        "none" => Ok(Durable::Nothing),
        "dsync" => Ok(Durable::Data),
        "sync" => Ok(Durable::All),
        _ => Err(SyntaxError::Form("write none, dsync or sync")),
    }
}

/// The backend that `engine`, `iopoll` and `sqpoll` ask for, if any.
fn reactor_of(request: &OpenRequest<'_>) -> Result<Option<Backend>, TargetError> {
    let OpenRequest { target, options: given, .. } = *request;
    let engine = given.text("engine").unwrap_or("auto");
    let polls = (given.flag("iopoll").unwrap_or(false), given.flag("sqpoll").unwrap_or(false));
    let polling = Backend::polling(polls.0, polls.1);
    match (engine, polls) {
        ("auto", (false, false)) => Ok(None),
        ("auto" | "uring", _) => Ok(Some(polling)),
        ("threads", (false, false)) => Ok(Some(Backend::Epoll)),
        ("threads", _) => Err(TargetError::Input(format!(
            "target {}: engine: threads cannot poll; take out iopoll and sqpoll, or choose uring",
            target.name
        ))),
        _ => Err(request.wrong_option("engine", engine, "write auto, uring or threads")),
    }
}

impl OpenTarget for FileTarget {
    fn kind(&self) -> &'static TargetKind {
        self.kind
    }

    fn driver(&self) -> &dyn StageRunner {
        &self.driver
    }

    fn own_facts(&self) -> BTreeMap<String, String> {
        let mut facts = self.driver.facts();
        facts.extend(self.by_name.as_ref().and_then(FilesByName::facts));
        facts
    }

    fn device_bytes(&self) -> Option<u64> {
        self.device_bytes
    }

    fn by_name(&self) -> Option<&FilesByName> {
        self.by_name.as_ref()
    }

    fn found_by_name(&self) -> Result<Vec<FoundByName>, TargetError> {
        self.by_name.as_ref().map_or(Ok(Vec::new()), |files| FileTarget::found_by_name(self, files))
    }

    fn place(&self) -> Option<&OwnPlace> {
        Some(&self.place)
    }

    fn look(&self, writes: bool) -> Look {
        match self.looked(writes) {
            Ok(look) => look,
            // A device that holds data or does not exist was named by mistake.
            Err(error) if self.is_device() => Look::default().with(FindingKind::Misuse, error.to_string()),
            Err(error) => Look::refused(&error),
        }
    }

    fn prepare(&self) -> Result<Entered, TargetError> {
        if let Some(files) = &self.by_name {
            self.enter_by_name(files, true)?;
            return Ok(Entered::Existing);
        }
        if self.is_named() {
            return Ok(Entered::Existing);
        }
        if self.is_device() {
            self.may_be_written()?;
            self.check_sizes()?;
            self.driver.prepare()?;
            return Ok(Entered::Existing);
        }
        // All checks come before anything is created.
        self.check_sizes()?;
        self.driver.check_xattrs()?;
        self.place.enter(|announce| self.driver.prepare_announced(announce), || self.driver.adopt())
    }

    fn adopt(&self) -> Result<(), TargetError> {
        if let Some(files) = self.by_name.as_ref().filter(|files| !files.are_filled()) {
            return self.enter_by_name(files, self.writes);
        }
        if self.is_named() {
            return Ok(());
        }
        if self.is_device() && self.writes {
            self.may_be_written()?;
        }
        self.driver.adopt()?;
        self.check_sizes()
    }

    fn remove_all(&self) -> Result<(), TargetError> {
        self.place.leave(|| self.driver.remove_all().map(drop))
    }

    fn items(&self, each: &mut dyn FnMut(u64, u64)) -> Result<bool, DriverError> {
        if self.is_device() {
            return Ok(false);
        }
        self.driver.files()?.iter().for_each(|(number, size)| each(*number, *size));
        Ok(true)
    }

    fn first_bytes(&self, object: u64, len: u32) -> Option<Vec<u8>> {
        let path = match &self.driver.config().place {
            Where::Directory(path) => path.join(self.driver.config().tree.path_of(object)),
            Where::Device(path) => path.clone(),
            Where::Named(_) if self.by_name.is_some() => self.driver.path_of(object),
            // Files named by jobs have no generation.
            Where::Named(_) | Where::Tree(_) => return None,
        };
        let mut data = Vec::new();
        std::fs::File::open(path).ok()?.take(len.into()).read_to_end(&mut data).ok()?;
        Some(data)
    }

    fn drop_cache(&self, wanted: CacheControl) -> String {
        if wanted == CacheControl::Drop {
            return match drop_caches() {
                Ok(()) => "dropped".to_owned(),
                Err(error) if error.kind == ErrorKind::AccessDenied => "refused: needs root".to_owned(),
                Err(error) => format!("refused: {}", error.detail),
            };
        }
        if let Some(files) = &self.by_name {
            return self.invalidate_by_name(files);
        }
        match self.driver.invalidate() {
            Ok(done) => done,
            Err(error) => format!("not invalidated: {}", error.detail),
        }
    }

    fn reactor(&self, wanted: Backend) -> Backend {
        self.wanted.unwrap_or(wanted)
    }

    fn directory(&self) -> Option<&Path> {
        match &self.driver.config().place {
            Where::Directory(path) => Some(path),
            Where::Tree(files) => Some(&files.directory),
            Where::Named(_) => self.directory_of_names(),
            Where::Device(_) => None,
        }
    }

    fn path_of(&self, object: u64) -> Option<PathBuf> {
        match &self.driver.config().place {
            Where::Directory(path) => Some(path.join(self.driver.config().tree.path_of(object))),
            Where::Named(_) | Where::Tree(_) => Some(self.driver.path_of(object)),
            Where::Device(_) => None,
        }
    }

    fn uses_page_cache(&self) -> bool {
        !self.driver.config().direct
    }

    fn lay_out_job(&self, job: &Job, cell: &Cell) -> Result<LaidOut, TargetError> {
        self.lay_out(job, cell)
    }

    fn lay_out_pass(&self, _: &Pass, lanes: u32) -> Result<(), TargetError> {
        self.make_directories(lanes)
    }

    fn finish_pass(&self, _: &Pass, lanes: u32) -> Result<(), TargetError> {
        self.remove_directories(lanes)
    }

    fn devices(&self, laid_out: &LaidOut) -> BTreeSet<u64> {
        self.devices_under(laid_out)
    }

    fn begin_files(&self, job: &Job, laid_out: &LaidOut) -> Result<(), TargetError> {
        self.forget_pages(job, laid_out)
    }

    fn finish_files(&self, job: &Job, laid_out: &LaidOut) -> Result<(), TargetError> {
        self.remove_files(job, laid_out)
    }
}

impl FileTarget {
    fn looked(&self, writes: bool) -> Result<Look, TargetError> {
        if let Some(files) = &self.by_name {
            return self.look_by_name(files, writes);
        }
        if self.is_named() {
            return Ok(Look::default());
        }
        if self.is_device() {
            if writes {
                self.may_be_written()?;
            }
            self.driver.adopt()?;
        }
        self.check_sizes()?;
        self.driver.check_xattrs()?;
        let Some(directory) = self.driver.look_at_directory(writes)? else {
            return Ok(Look { seen: "the device can be used".to_owned(), ..Look::default() });
        };
        let path = self.driver.config().place.path();
        let space = directory.available_bytes.map(|available_bytes| FreeSpace {
            file_system: directory.file_system.to_string(),
            place: path.parent().unwrap_or(path).display().to_string(),
            available_bytes,
            holds_data: directory.exists,
        });
        Ok(Look { space, seen: "the directory can be used".to_owned(), ..Look::default() })
    }

    /// Checks for existing data on the device before it is overwritten.
    fn may_be_written(&self) -> Result<(), DriverError> {
        let path = self.driver.config().place.path();
        self.cleared.check(path, &self.destroy, |free| self.driver.check_device(free))
    }

    pub(super) fn is_device(&self) -> bool {
        matches!(self.driver.config().place, Where::Device(_))
    }

    /// True for files that the user named: those of a job, of a mix, or of a pass.
    pub(super) fn is_named(&self) -> bool {
        matches!(self.driver.config().place, Where::Named(_) | Where::Tree(_))
    }

    /// Direct I/O does not support every size: one error up front beats an error from every operation.
    fn check_sizes(&self) -> Result<(), TargetError> {
        self.sizes.iter().try_for_each(|size| Ok(self.driver.check_block_bytes(*size)?))
    }
}
