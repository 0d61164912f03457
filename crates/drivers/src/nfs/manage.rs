//! Work before and after the load: creating, listing and removing our directory.
//!
//! These block the calling thread on a small reactor of their own.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::time::Duration;

use metrics::{ErrorKind, OpKind};
use reactor::{BackendChoice, Reactor};
use wire::nfs3::{
    Attributes, CreateOk, DirArgs, FileHandle, MkdirArgs, Name, Procedure, ProcedureResult, ReadArgs, ReadOk,
    ReaddirArgs, ReaddirOk, ReaddirplusArgs, ReaddirplusOk, SetAttributes, Status, Verifier, WccData,
};
use wire::xdr::Decode;

use super::caller::Caller;
use super::connection::LISTING_BYTES;
use super::dial::{self, Opened, refused};
use super::lane::{is_ours, name_of};
use super::{NfsConfig, NfsDriver, NfsSession};
use crate::numbers::is_directory;
use crate::{Announce, DriverError, Op, Payload, Session, Sink, WorkerContext};

/// Files removed concurrently.
const REMOVERS: u32 = 32;

/// Limits of a server, and the sizes used; in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerLimits {
    /// The connected address.
    pub remote: SocketAddr,
    /// The largest READ that the server accepts (FSINFO's `rtmax`).
    pub read_max: u32,
    /// The largest WRITE that the server accepts (FSINFO's `wtmax`).
    pub write_max: u32,
    /// The largest READ requested.
    pub read_size: u32,
    /// The largest WRITE requested.
    pub write_size: u32,
}

impl NfsDriver {
    /// Creates our directory in the export. No single reply may take longer than `limit`.
    ///
    /// # Errors
    /// When the export cannot be opened or written, and when the directory exists: it belongs to somebody else then.
    pub fn prepare(&self, limit: Duration) -> Result<(), DriverError> {
        self.prepare_announced(limit, &mut || Ok(()))
    }

    /// As [`Self::prepare`]; calls `announce` right before MKDIR is sent. Without that call nothing can have been
    /// created.
    ///
    /// # Errors
    /// As [`Self::prepare`], and what `announce` returns: then MKDIR is not sent.
    pub fn prepare_announced(&self, limit: Duration, announce: Announce<'_>) -> Result<(), DriverError> {
        let reactor = open_reactor()?;
        reactor.block_on(make_directory(&reactor, self.config(), limit, announce))
    }

    /// Checks that our directory exists, created by an earlier run or by the one being resumed. No single reply may
    /// take longer than `limit`.
    ///
    /// # Errors
    /// When the export cannot be opened; kind `NotFound` when the directory does not exist.
    pub fn adopt(&self, limit: Duration) -> Result<(), DriverError> {
        let reactor = open_reactor()?;
        let config = self.config();
        let (_, directory) = reactor.block_on(open_directory(&reactor, config, limit))?;
        directory.map(drop).ok_or_else(|| dial::not_there(config))
    }

    /// The first `len` bytes of a file, or all of a shorter one. No single reply may take longer than `limit`.
    ///
    /// # Errors
    /// When the export cannot be opened, or the directory or file does not exist.
    pub fn beginning(&self, object: u64, len: u32, limit: Duration) -> Result<Vec<u8>, DriverError> {
        let reactor = open_reactor()?;
        reactor.block_on(beginning(&reactor, self.config(), object, len, limit))
    }

    /// The server's limits and the sizes used. No single reply may take longer than `limit`.
    ///
    /// # Errors
    /// When the export cannot be opened.
    pub fn limits(&self, limit: Duration) -> Result<ServerLimits, DriverError> {
        let reactor = open_reactor()?;
        let opened = reactor.block_on(dial::open(&reactor, self.config(), 0, after(&reactor, limit)))?;
        Ok(ServerLimits {
            remote: opened.way.remote,
            read_max: opened.server_read_max,
            write_max: opened.server_write_max,
            read_size: opened.read_size,
            write_size: opened.write_size,
        })
    }

    /// Removes our directory and the files in it that the driver created; returns their number. A missing directory is
    /// no error. No single reply may take longer than `limit`.
    ///
    /// # Errors
    /// When the export cannot be opened, a file cannot be removed, or the directory holds anything else.
    pub fn remove_all(&self, limit: Duration) -> Result<u64, DriverError> {
        remove_all(&open_reactor()?, self.config(), limit)
    }

    /// Names and sizes of the files in our directory. No single reply may take longer than `limit`.
    ///
    /// # Errors
    /// When the export cannot be opened or the directory does not exist.
    pub fn list(&self, limit: Duration) -> Result<Vec<(String, u64)>, DriverError> {
        let mut files = Vec::new();
        self.list_each(limit, |name, size| files.push((name.to_owned(), size)))?;
        Ok(files)
    }

    /// As [`Self::list`], one file at a time, for any number of files.
    ///
    /// # Errors
    /// As [`Self::list`].
    pub fn list_each(&self, limit: Duration, mut visit: impl FnMut(&str, u64)) -> Result<(), DriverError> {
        let reactor = open_reactor()?;
        reactor.block_on(list(&reactor, self.config(), limit, &mut visit))
    }
}

pub(super) fn open_reactor() -> Result<Reactor, DriverError> {
    Reactor::open(BackendChoice::Auto)
        .map_err(|e| DriverError::new(ErrorKind::Local, format!("no reactor can be opened: {e}")))
}

pub(super) fn after(reactor: &Reactor, limit: Duration) -> u64 {
    reactor.now() + limit.as_nanos() as u64
}

async fn make_directory(
    reactor: &Reactor,
    config: &NfsConfig,
    limit: Duration,
    announce: Announce<'_>,
) -> Result<(), DriverError> {
    let Opened { mut caller, root, .. } = dial::open(reactor, config, 0, after(reactor, limit)).await?;
    announce()?;
    caller.set_deadline(after(reactor, limit));
    let arguments = MkdirArgs {
        place: DirArgs { directory: root, name: Name(config.directory.as_bytes()) },
        attributes: SetAttributes { mode: Some(0o755), ..SetAttributes::default() },
    };
    match caller.ask::<CreateOk, WccData>(Procedure::Mkdir, &arguments).await? {
        Ok(_) => Ok(()),
        Err(Status::EXIST) => {
            let text = format!(
                "directory {} exists already in export {}: it is not ours, so nothing was touched; choose \
                 another name or remove it",
                config.directory,
                config.label()
            );
            Err(DriverError::new(ErrorKind::AlreadyExists, text))
        }
        Err(status) => Err(refused(config, "MKDIR", status)),
    }
}

/// Opens the export and finds our directory.
async fn open_directory(
    reactor: &Reactor,
    config: &NfsConfig,
    limit: Duration,
) -> Result<(Opened, Option<FileHandle>), DriverError> {
    let mut opened = dial::open(reactor, config, 0, after(reactor, limit)).await?;
    opened.caller.set_deadline(after(reactor, limit));
    let directory = dial::lookup(&mut opened.caller, config, opened.root, &config.directory).await?;
    Ok((opened, directory))
}

async fn beginning(
    reactor: &Reactor,
    config: &NfsConfig,
    object: u64,
    len: u32,
    limit: Duration,
) -> Result<Vec<u8>, DriverError> {
    let path = match &config.named {
        Some(named) => named.path(object),
        None => format!("{}/{}", config.directory, String::from_utf8_lossy(&name_of(object))),
    };
    let mut opened = dial::open(reactor, config, 0, after(reactor, limit)).await?;
    let mut file = opened.root;
    for part in path.split('/') {
        let found = dial::lookup(&mut opened.caller, config, file, part).await?;
        file = found.ok_or_else(|| refused(config, "LOOKUP", Status::NOENT))?;
    }
    let mut data = Vec::new();
    while (data.len() as u64) < u64::from(len) {
        opened.caller.set_deadline(after(reactor, limit));
        let count = (len - data.len() as u32).min(opened.read_size);
        let arguments = ReadArgs { file, offset: data.len() as u64, count };
        let read = opened.caller.ask_with(Procedure::Read, &arguments, |from| {
            let outcome = ProcedureResult::<ReadOk<'_>, Option<Attributes>>::decode(from)?;
            Ok(outcome.map(|ok| {
                data.extend_from_slice(&ok.data[..ok.data.len().min(count as usize)]);
                ok.eof || ok.data.is_empty()
            }))
        });
        if read.await?.map_err(|status| refused(config, "READ", status))? {
            break;
        }
    }
    Ok(data)
}

async fn list(
    reactor: &Reactor,
    config: &NfsConfig,
    limit: Duration,
    visit: &mut dyn FnMut(&str, u64),
) -> Result<(), DriverError> {
    let (Opened { mut caller, .. }, directory) = open_directory(reactor, config, limit).await?;
    let Some(directory) = directory else { return Err(dial::not_there(config)) };
    let (mut cookie, mut verifier) = (0, [0; 8]);
    loop {
        caller.set_deadline(after(reactor, limit));
        let arguments = ReaddirplusArgs {
            directory,
            cookie,
            verifier,
            dir_count: LISTING_BYTES / 4,
            max_count: LISTING_BYTES,
        };
        let page = caller
            .ask_with(Procedure::Readdirplus, &arguments, |from| {
                let outcome = ProcedureResult::<ReaddirplusOk, Option<Attributes>>::decode(from)?;
                Ok(outcome.map(|ok| {
                    for entry in ok.entries.iter().filter(|entry| !is_dot(entry.name)) {
                        let size = entry.attributes.map_or(0, |attributes| attributes.size);
                        visit(&String::from_utf8_lossy(entry.name.0), size);
                    }
                    let next = ok.entries.last().map(|entry| entry.cookie);
                    (next, ok.verifier, ok.eof)
                }))
            })
            .await?;
        match page.map_err(|status| refused(config, "READDIRPLUS", status))? {
            (Some(next), next_verifier, false) => (cookie, verifier) = (next, next_verifier),
            _ => return Ok(()),
        }
    }
}

fn is_dot(name: Name<'_>) -> bool {
    matches!(name.0, b"." | b"..")
}

fn remove_all(reactor: &Reactor, config: &NfsConfig, limit: Duration) -> Result<u64, DriverError> {
    let (Opened { mut caller, root, .. }, directory) =
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
    let mut removed = 0;
    // Each page continues where the last one ended. Removing while listing may hide some names, so this repeats until a
    // pass from the start finds nothing.
    let (mut from, mut found_in_pass) = (None, false);
    loop {
        caller.set_deadline(after(reactor, limit));
        let (objects, next) = reactor.block_on(page(&mut caller, config, directory, from))?;
        found_in_pass |= !objects.is_empty();
        removed += remove_objects(reactor, &session, &objects)?;
        from = next;
        if from.is_none() && !std::mem::take(&mut found_in_pass) {
            break;
        }
    }
    caller.set_deadline(after(reactor, limit));
    reactor.block_on(remove_directory(&mut caller, config, root))?;
    Ok(removed)
}

/// Where a listing continues.
type Next = Option<(u64, Verifier)>;

/// Our files on the next page of the directory, and where to continue.
async fn page(
    caller: &mut Caller,
    config: &NfsConfig,
    directory: FileHandle,
    from: Next,
) -> Result<(Vec<u64>, Next), DriverError> {
    let (cookie, verifier) = from.unwrap_or_default();
    let arguments = ReaddirArgs { directory, cookie, verifier, count: LISTING_BYTES };
    let mut objects = Vec::new();
    let page = caller
        .ask_with(Procedure::Readdir, &arguments, |from| {
            let outcome = ProcedureResult::<ReaddirOk, Option<Attributes>>::decode(from)?;
            Ok(outcome.map(|ok| {
                objects.extend(ok.entries.iter().filter_map(|entry| object_of(entry.name)));
                ok.entries.last().filter(|_| !ok.eof).map(|entry| (entry.cookie, ok.verifier))
            }))
        })
        .await?;
    match page {
        Ok(next) => Ok((objects, next)),
        Err(Status::BAD_COOKIE) if from.is_some() => Ok((objects, None)),
        Err(status) => Err(refused(config, "READDIR", status)),
    }
}

async fn remove_directory(
    caller: &mut Caller,
    config: &NfsConfig,
    root: FileHandle,
) -> Result<(), DriverError> {
    let place = DirArgs { directory: root, name: Name(config.directory.as_bytes()) };
    match caller.ask::<WccData, WccData>(Procedure::Rmdir, &place).await? {
        Ok(_) | Err(Status::NOENT) => Ok(()),
        Err(Status::NOTEMPTY | Status::EXIST) => {
            let text = format!(
                "directory {} in export {} holds files that are not ours and was left with them: remove them \
                 by hand",
                config.directory,
                config.label()
            );
            Err(DriverError::new(ErrorKind::AlreadyExists, text))
        }
        Err(status) => Err(refused(config, "RMDIR", status)),
    }
}

/// The object of a file that the driver created.
fn object_of(name: Name<'_>) -> Option<u64> {
    let text = std::str::from_utf8(name.0).ok().filter(|_| is_ours(name.0))?;
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
