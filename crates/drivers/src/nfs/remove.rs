//! Removes our directory, after the load or what a killed run left.
//!
//! This blocks the calling thread.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::Duration;

use metrics::{ErrorKind, OpKind};
use reactor::Reactor;
use wire::nfs3::{
    Attributes, DirArgs, FileHandle, Name, Procedure, ProcedureResult, ReaddirArgs, ReaddirOk, Status,
    Verifier, WccData,
};
use wire::xdr::Decode;

use super::caller::Caller;
use super::connection::LISTING_BYTES;
use super::dial::{self, Opened, refused};
use super::lane::is_ours;
use super::manage::{after, open_directory};
use super::{NfsConfig, NfsSession};
use crate::numbers::is_directory;
use crate::own_directory;
use crate::{DriverError, Op, Payload, Session, Sink, WorkerContext};

/// Files removed concurrently.
const REMOVERS: u32 = 32;

/// Removes our directory with everything in it that we made; returns the number of files. No single reply may take longer
/// than `limit`.
pub(super) fn remove_all(reactor: &Reactor, config: &NfsConfig, limit: Duration) -> Result<u64, DriverError> {
    let (Opened { caller, root, .. }, directory) =
        reactor.block_on(open_directory(reactor, config, limit))?;
    let Some(directory) = directory else { return Ok(0) };
    let context = WorkerContext {
        worker: 0,
        lanes: REMOVERS,
        payload: Payload::new(0),
        sink: Sink::Discard,
        op_timeout: limit,
        connect_timeout: limit,
    };
    let session = reactor.block_on(NfsSession::open(reactor, config, &context))?;
    let mut removal = Removal { reactor, config, limit, caller, session, removed: 0 };
    removal.empty(directory, 0)?;
    match removal.remove_directory(root, &config.directory)? {
        true => Ok(removal.removed),
        false => {
            let directory = format_args!("{} in export {}", config.directory, config.label());
            let text = own_directory::holds_others(directory);
            Err(DriverError::new(ErrorKind::AlreadyExists, text))
        }
    }
}

/// A removal in progress.
struct Removal<'a> {
    reactor: &'a Reactor,
    config: &'a NfsConfig,
    limit: Duration,
    caller: Caller,
    session: NfsSession,
    removed: u64,
}

impl Removal<'_> {
    /// Removes our files from a directory at this level of the tree, and the directories of the tree in it; false if it
    /// is no directory.
    fn empty(&mut self, directory: FileHandle, level: u32) -> Result<bool, DriverError> {
        let mut below = BTreeSet::new();
        // Each page continues where the last one ended. Removing while listing may hide some names, so this repeats until
        // a pass from the start finds nothing.
        let (mut from, mut found_in_pass) = (None, false);
        loop {
            let Some(Page { objects, directories, next }) = self.page(directory, from)? else {
                return Ok(false);
            };
            found_in_pass |= !objects.is_empty();
            below.extend(directories.into_iter().filter(|_| level < self.config.tree.depth()));
            self.session.enter(directory);
            self.removed += remove_objects(self.reactor, &self.session, &objects)?;
            from = next;
            if from.is_none() && !std::mem::take(&mut found_in_pass) {
                break;
            }
        }
        for name in below {
            self.begin();
            let found =
                self.reactor.block_on(dial::lookup(&mut self.caller, self.config, directory, &name))?;
            // One that holds files of others stays, and so does ours.
            if let Some(found) = found
                && self.empty(found, level + 1)?
            {
                self.remove_directory(directory, &name)?;
            }
        }
        Ok(true)
    }

    /// Gives the next reply its time.
    fn begin(&mut self) {
        self.caller.set_deadline(after(self.reactor, self.limit));
    }

    /// The next page of a directory; `None` if it is none, but a file with a directory's name.
    fn page(&mut self, directory: FileHandle, from: Next) -> Result<Option<Page>, DriverError> {
        self.begin();
        let tree = &self.config.tree;
        let (cookie, verifier) = from.unwrap_or_default();
        let arguments = ReaddirArgs { directory, cookie, verifier, count: LISTING_BYTES };
        let mut page = Page::default();
        let asked = self.caller.ask_with(Procedure::Readdir, &arguments, |from| {
            let outcome = ProcedureResult::<ReaddirOk, Option<Attributes>>::decode(from)?;
            Ok(outcome.map(|ok| {
                for Name(name) in ok.entries.iter().map(|entry| entry.name) {
                    page.objects.extend(object_of(name));
                    let text = std::str::from_utf8(name).ok();
                    page.directories.extend(text.filter(|_| tree.names_directory(name)).map(str::to_owned));
                }
                ok.entries.last().filter(|_| !ok.eof).map(|entry| (entry.cookie, ok.verifier))
            }))
        });
        match self.reactor.block_on(asked)? {
            Ok(next) => Ok(Some(Page { next, ..page })),
            Err(Status::BAD_COOKIE) if from.is_some() => Ok(Some(page)),
            Err(Status::NOTDIR) => Ok(None),
            Err(status) => Err(refused(self.config, "READDIR", status)),
        }
    }

    /// Removes a directory; false if something is left in it.
    fn remove_directory(&mut self, parent: FileHandle, name: &str) -> Result<bool, DriverError> {
        self.begin();
        let place = DirArgs { directory: parent, name: Name(name.as_bytes()) };
        let asked = self.caller.ask::<WccData, WccData>(Procedure::Rmdir, &place);
        match self.reactor.block_on(asked)? {
            Ok(_) | Err(Status::NOENT) => Ok(true),
            Err(Status::NOTEMPTY | Status::EXIST) => Ok(false),
            Err(status) => Err(refused(self.config, "RMDIR", status)),
        }
    }
}

/// Where a listing continues.
type Next = Option<(u64, Verifier)>;

/// What is ours on a page of a directory.
#[derive(Default)]
struct Page {
    objects: Vec<u64>,
    directories: Vec<String>,
    /// Where to continue, unless it is the last.
    next: Next,
}

/// The object of a file that the driver created.
fn object_of(name: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(name).ok().filter(|_| is_ours(name))?;
    u64::from_str_radix(text, 16).ok()
}

/// Removes files, many at a time; returns their number.
fn remove_objects(reactor: &Reactor, session: &NfsSession, objects: &[u64]) -> Result<u64, DriverError> {
    let next = Cell::new(0);
    let removed = Cell::new(0);
    let failure = RefCell::new(None);
    let remover = async |lane: u32| {
        while let Some(&object) = objects.get(next.get()) {
            next.set(next.get() + 1);
            let kind = if is_directory(object) { OpKind::Rmdir } else { OpKind::Remove };
            let op = Op::new(kind, lane, object);
            match session.perform(&op).await {
                Ok(_) => removed.set(removed.get() + 1),
                Err(e) if e.kind == ErrorKind::NotFound => {}
                Err(e) => {
                    next.set(objects.len());
                    failure.borrow_mut().get_or_insert(DriverError::new(e.kind, e.detail));
                }
            }
        }
    };
    let lanes = (0..REMOVERS).map(&remover).collect();
    reactor.run_lanes(lanes, std::future::pending::<()>());
    failure.into_inner().map_or(Ok(removed.get()), Err)
}
