//! Named files before and after the load: inspected, created, removed.
//!
//! These block the calling thread on a small reactor of their own.

use std::collections::BTreeMap;
use std::time::Duration;

use metrics::ErrorKind;
use reactor::Reactor;
use wire::nfs3::{
    Attributes, CreateArgs, CreateHow, CreateOk, DirArgs, FileHandle, FileType, LookupOk, MkdirArgs, Name,
    Procedure, SetAttributes, Status, WccData,
};

use super::caller::Caller;
use super::dial::{self, Opened, refused};
use super::manage::{after, open_reactor};
use super::named::split;
use super::{NfsConfig, NfsDriver};
use crate::DriverError;

/// A named file: its worker, and its path from the export's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPath {
    /// The worker that uses it, from 0, which determines the address.
    pub worker: u32,
    /// As [`ExportFiles::path`](super::ExportFiles::path) returns it.
    pub path: String,
}

/// What was found at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathState {
    /// Nothing; its directory may be missing too.
    Missing,
    /// A file of this many bytes.
    File(u64),
}

impl NfsDriver {
    /// Inspects files. No single reply may take longer than `limit`.
    ///
    /// # Errors
    /// When an export cannot be opened, or the name belongs to something other than a file.
    pub fn look_at(&self, files: &[NamedPath], limit: Duration) -> Result<Vec<PathState>, DriverError> {
        self.each_file(files, limit, async |walk, path| {
            let (parent, name) = split(path);
            let Some(directory) = walk.directory(parent, false).await? else { return Ok(PathState::Missing) };
            match walk.find(directory, name).await? {
                None => Ok(PathState::Missing),
                Some((_, Some(FileType::Regular), size)) => Ok(PathState::File(size)),
                Some((_, None, size)) => Ok(PathState::File(size)),
                Some(_) => {
                    let text = format!(
                        "{path} in export {} is no file: choose another name, or remove it",
                        walk.config.label()
                    );
                    Err(DriverError::new(ErrorKind::AlreadyExists, text))
                }
            }
        })
    }

    /// Creates missing files, empty, with their parent directories. Existing ones are left as they are. No single reply
    /// may take longer than `limit`.
    ///
    /// # Errors
    /// When an export cannot be opened, or a file cannot be created.
    pub fn make(&self, files: &[NamedPath], limit: Duration) -> Result<(), DriverError> {
        let made = self.each_file(files, limit, async |walk, path| {
            let (parent, name) = split(path);
            let directory = walk.directory(parent, true).await?;
            let directory =
                directory.ok_or_else(|| refused(&walk.config, &format!("MKDIR {parent}"), Status::NOENT))?;
            let attributes = SetAttributes { mode: Some(reactor::FILE_MODE), ..SetAttributes::default() };
            let place = DirArgs { directory, name: Name(name.as_bytes()) };
            let arguments = CreateArgs { place, how: CreateHow::Unchecked(attributes) };
            match walk.caller.ask::<CreateOk, WccData>(Procedure::Create, &arguments).await? {
                // Some servers report EXIST even for an unchecked CREATE.
                Ok(_) | Err(Status::EXIST) => Ok(()),
                Err(status) => Err(refused(&walk.config, &format!("CREATE {path}"), status)),
            }
        });
        made.map(drop)
    }

    /// Removes files; missing ones are no error. No single reply may take longer than `limit`.
    ///
    /// # Errors
    /// When an export cannot be opened, or a file cannot be removed.
    pub fn remove_files(&self, files: &[NamedPath], limit: Duration) -> Result<(), DriverError> {
        let removed = self.each_file(files, limit, async |walk, path| {
            let (parent, name) = split(path);
            let Some(directory) = walk.directory(parent, false).await? else { return Ok(()) };
            let place = DirArgs { directory, name: Name(name.as_bytes()) };
            match walk.caller.ask::<WccData, WccData>(Procedure::Remove, &place).await? {
                Ok(_) | Err(Status::NOENT) => Ok(()),
                Err(status) => Err(refused(&walk.config, &format!("REMOVE {path}"), status)),
            }
        });
        removed.map(drop)
    }

    /// Makes directories and those above them, at every address. No single reply may take longer than `limit`.
    ///
    /// # Errors
    /// When an export cannot be opened, or a directory cannot be made.
    pub fn make_directories(
        &self,
        paths: impl Iterator<Item = String>,
        limit: Duration,
    ) -> Result<(), DriverError> {
        let made = self.each(self.at_every_address(paths), limit, async |walk, path: String| {
            walk.directory(&path, true).await.map(drop)
        });
        made.map(drop)
    }

    /// Removes directories and those above them, as far as they are empty, up to and without their top; at every address.
    /// Each is a path and its top. No single reply may take longer than `limit`.
    ///
    /// # Errors
    /// When an export cannot be opened, or an empty directory cannot be removed.
    pub fn remove_directories(
        &self,
        directories: impl Iterator<Item = (String, String)>,
        limit: Duration,
    ) -> Result<(), DriverError> {
        let all = self.at_every_address(directories);
        let removed = self.each(all, limit, async |walk, (mut path, top): (String, String)| {
            while path != top && !path.is_empty() && walk.remove_directory(&path).await? {
                path.truncate(split(&path).0.len());
            }
            Ok(())
        });
        removed.map(drop)
    }

    /// Each item once for a worker of each address.
    fn at_every_address<I: Clone>(&self, items: impl Iterator<Item = I>) -> impl Iterator<Item = (u32, I)> {
        let addresses = 1 + self.config().more.len() as u32;
        items.flat_map(move |item| (0..addresses).map(move |worker| (worker, item.clone())))
    }

    /// Applies `step` to each file, at its worker's address.
    fn each_file<T>(
        &self,
        files: &[NamedPath],
        limit: Duration,
        step: impl AsyncFnMut(&mut Walk, &str) -> Result<T, DriverError>,
    ) -> Result<Vec<T>, DriverError> {
        self.each(files.iter().map(|file| (file.worker, file.path.as_str())), limit, step)
    }

    /// Applies `step` to each item, at the address of the worker beside it.
    fn each<I, T>(
        &self,
        items: impl Iterator<Item = (u32, I)>,
        limit: Duration,
        mut step: impl AsyncFnMut(&mut Walk, I) -> Result<T, DriverError>,
    ) -> Result<Vec<T>, DriverError> {
        let reactor = open_reactor()?;
        reactor.block_on(async {
            let addresses = 1 + self.config().more.len();
            let mut walks: Vec<Option<Walk>> = (0..addresses).map(|_| None).collect();
            let mut results = Vec::with_capacity(items.size_hint().0);
            for (worker, item) in items {
                let walk = &mut walks[worker as usize % addresses];
                let walk = match walk {
                    Some(walk) => walk,
                    None => walk.insert(Walk::open(&reactor, self.config().of_worker(worker), limit).await?),
                };
                walk.caller.set_deadline(after(&reactor, limit));
                results.push(step(walk, item).await?);
            }
            Ok(results)
        })
    }
}

/// An export with the directories found so far.
struct Walk {
    config: NfsConfig,
    caller: Caller,
    root: FileHandle,
    /// Directories known to exist.
    known: BTreeMap<String, FileHandle>,
}

impl Walk {
    async fn open(reactor: &Reactor, config: NfsConfig, limit: Duration) -> Result<Self, DriverError> {
        let Opened { caller, root, .. } = dial::open(reactor, &config, 0, after(reactor, limit)).await?;
        Ok(Self { config, caller, root, known: BTreeMap::new() })
    }

    /// Looks up a name: its handle, its type where the server returns it, and its size.
    async fn find(
        &mut self,
        directory: FileHandle,
        name: &str,
    ) -> Result<Option<(FileHandle, Option<FileType>, u64)>, DriverError> {
        let arguments = DirArgs { directory, name: Name(name.as_bytes()) };
        let found = self.caller.ask::<LookupOk, Option<Attributes>>(Procedure::Lookup, &arguments).await?;
        let found = match found {
            Ok(found) => found,
            // Its directory may have been removed by another host.
            Err(Status::NOENT | Status::STALE) => return Ok(None),
            Err(status) => return Err(refused(&self.config, &format!("LOOKUP {name}"), status)),
        };
        let attributes = match found.attributes {
            Some(attributes) => Some(attributes),
            None => self.caller.ask::<Attributes, ()>(Procedure::Getattr, &found.file).await?.ok(),
        };
        let size = attributes.as_ref().map_or(0, |attributes| attributes.size);
        Ok(Some((found.file, attributes.map(|attributes| attributes.kind), size)))
    }

    /// A directory by its path; a missing one is created if `make`, else `None`.
    async fn directory(&mut self, path: &str, make: bool) -> Result<Option<FileHandle>, DriverError> {
        if path.is_empty() {
            return Ok(Some(self.root));
        }
        let (mut handle, mut end) = (self.root, 0);
        for part in path.split('/') {
            end += part.len();
            if let Some(known) = self.known.get(&path[..end]) {
                handle = *known;
            } else {
                handle = match self.find(handle, part).await? {
                    Some((found, ..)) => found,
                    None if !make => return Ok(None),
                    None => self.make_directory(handle, part, path).await?,
                };
                self.known.insert(path[..end].to_owned(), handle);
            }
            end += 1;
        }
        Ok(Some(handle))
    }

    /// Removes a directory; false if it is not empty. One that is missing is as good as removed.
    async fn remove_directory(&mut self, path: &str) -> Result<bool, DriverError> {
        let (parent, name) = split(path);
        let Some(directory) = self.directory(parent, false).await? else { return Ok(true) };
        let place = DirArgs { directory, name: Name(name.as_bytes()) };
        self.known.remove(path);
        match self.caller.ask::<WccData, WccData>(Procedure::Rmdir, &place).await? {
            Ok(_) | Err(Status::NOENT | Status::STALE) => Ok(true),
            // Other files, or another worker's. Some servers say EXIST instead (RFC 1813, 3.3.13).
            Err(Status::NOTEMPTY | Status::EXIST) => Ok(false),
            Err(status) => Err(refused(&self.config, &format!("RMDIR {path}"), status)),
        }
    }

    async fn make_directory(
        &mut self,
        parent: FileHandle,
        name: &str,
        path: &str,
    ) -> Result<FileHandle, DriverError> {
        let arguments = MkdirArgs {
            place: DirArgs { directory: parent, name: Name(name.as_bytes()) },
            attributes: SetAttributes { mode: Some(reactor::DIRECTORY_MODE), ..SetAttributes::default() },
        };
        match self.caller.ask::<CreateOk, WccData>(Procedure::Mkdir, &arguments).await? {
            Err(status) if status != Status::EXIST => {
                Err(refused(&self.config, &format!("MKDIR {path}"), status))
            }
            _ => {
                let found = self.find(parent, name).await?;
                found
                    .map(|(handle, ..)| handle)
                    .ok_or_else(|| refused(&self.config, &format!("LOOKUP {path}"), Status::NOENT))
            }
        }
    }
}
