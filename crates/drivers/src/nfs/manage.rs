//! Work before and after the load: creating and listing our directory; [`remove`](super::remove) removes it.
//!
//! These block the calling thread on a small reactor of their own.

use std::net::SocketAddr;
use std::time::Duration;

use metrics::ErrorKind;
use reactor::{BackendChoice, Reactor};
use wire::nfs3::{
    Attributes, FileHandle, Name, Procedure, ProcedureResult, ReadArgs, ReadOk, ReaddirplusArgs,
    ReaddirplusOk, Status,
};
use wire::xdr::Decode;

use super::caller::Caller;
use super::connection::LISTING_BYTES;
use super::dial::{self, Opened, refused};
use super::{NfsConfig, NfsDriver, remove, tree};
use crate::{Announce, DriverError};

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
    /// Creates our directory in the export, with its tree. No single reply may take longer than `limit`.
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
        let config = self.config();
        let ours = reactor.block_on(tree::make_ours(&reactor, config, limit, announce))?;
        let made = reactor.block_on(tree::make_levels((&reactor, limit), config, ours));
        made.map_err(|error| tree::unfinished(error, remove::remove_all(&reactor, config, limit)))
    }

    /// Checks that our directory exists, created by an earlier run or by the one being resumed. No single reply may
    /// take longer than `limit`.
    ///
    /// # Errors
    /// When the export cannot be opened; kind `NotFound` when the directory does not exist, `Rejected` when it has another
    /// tree.
    pub fn adopt(&self, limit: Duration) -> Result<(), DriverError> {
        let reactor = open_reactor()?;
        let config = self.config();
        let (mut opened, directory) = reactor.block_on(open_directory(&reactor, config, limit))?;
        let directory = directory.ok_or_else(|| dial::not_there(config))?;
        reactor.block_on(tree::check(&mut opened.caller, config, directory))
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

    /// Removes our directory, the files that the driver created in it or its tree, and the tree; returns the
    /// number of files. A missing directory is
    /// no error. No single reply may take longer than `limit`.
    ///
    /// # Errors
    /// When the export cannot be opened, a file cannot be removed, or the directory holds anything else.
    pub fn remove_all(&self, limit: Duration) -> Result<u64, DriverError> {
        remove::remove_all(&open_reactor()?, self.config(), limit)
    }

    /// Names and sizes of the files in our directory and its tree. No single reply may take longer than `limit`.
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

/// Opens the export and finds our directory.
pub(super) async fn open_directory(
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
        None => format!("{}/{}", config.directory, config.tree.path_of(object).display()),
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
    for leaf in 0..config.tree.leaves() {
        caller.set_deadline(after(reactor, limit));
        let leaf = tree::find(&mut caller, config, directory, leaf).await?;
        let leaf = leaf.ok_or_else(|| tree::another(config))?;
        list_directory((reactor, limit), &mut caller, config, leaf, visit).await?;
    }
    Ok(())
}

async fn list_directory(
    (reactor, limit): (&Reactor, Duration),
    caller: &mut Caller,
    config: &NfsConfig,
    directory: FileHandle,
    visit: &mut dyn FnMut(&str, u64),
) -> Result<(), DriverError> {
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
