//! Walks through a tree of an export that exists.

use std::time::Duration;

use content::EntryKind;
use metrics::ErrorKind;
use reactor::Reactor;
use wire::nfs3::{
    Attributes, DirArgs, FileHandle, FileType, LookupOk, Name, Procedure, ProcedureResult, ReaddirplusArgs,
    ReaddirplusOk, Status,
};
use wire::xdr::Decode;

use super::NfsDriver;
use super::caller::Caller;
use super::config::NfsConfig;
use super::connection::LISTING_BYTES;
use super::dial::{self, refused};
use super::manage::{after, open_reactor};
use crate::DriverError;
use crate::tree_walk::{LeftOut, Pending, VisitEntry, WalkError, below, top_of};

impl NfsDriver {
    /// Walks the tree at `path` below the export's root. Entries are visited with paths from there. Symbolic links are not
    /// followed. What vanishes meanwhile is left out. No single reply may take longer than `limit`.
    ///
    /// # Errors
    /// The export cannot be opened, a directory cannot be read, or what `visit` returns.
    pub fn walk_tree(
        &self,
        path: &str,
        limit: Duration,
        visit: VisitEntry<'_>,
    ) -> Result<LeftOut, WalkError> {
        let reactor = open_reactor()?;
        let config = self.config().of_worker(0);
        reactor.block_on(walk((&reactor, limit), &config, path, visit))
    }
}

/// An entry of a directory, as one page shows it.
struct Listed {
    name: String,
    file: Option<FileHandle>,
    attributes: Option<Attributes>,
}

async fn walk(
    (reactor, limit): (&Reactor, Duration),
    config: &NfsConfig,
    path: &str,
    visit: VisitEntry<'_>,
) -> Result<LeftOut, WalkError> {
    let opened = dial::open(reactor, config, 0, after(reactor, limit)).await?;
    let (mut caller, mut handle) = (opened.caller, opened.root);
    // Paths begin at the export's root, whether they start with / or not.
    let top = top_of(path.trim_start_matches('/'));
    for part in top.split('/').filter(|part| *part != ".") {
        caller.set_deadline(after(reactor, limit));
        let found = dial::lookup(&mut caller, config, handle, part).await?;
        handle = found.ok_or_else(|| refused(config, &format!("LOOKUP {top}"), Status::NOENT))?;
    }
    let mut left_out = LeftOut::default();
    visit(EntryKind::Directory, &top, 0)?;
    let mut pending = Pending::from(top, Some(boxed(handle)));
    while let Some((directory, found)) = pending.next() {
        let Some(handle) = found.as_deref().and_then(FileHandle::new) else { continue };
        let (mut cookie, mut verifier) = (0, [0; 8]);
        loop {
            caller.set_deadline(after(reactor, limit));
            let arguments = ReaddirplusArgs {
                directory: handle,
                cookie,
                verifier,
                dir_count: LISTING_BYTES / 4,
                max_count: LISTING_BYTES,
            };
            let page = page(&mut caller, &arguments, &mut left_out).await?;
            let (entries, next) = match page {
                Ok(page) => page,
                Err(Status::NOENT | Status::STALE) => break,
                Err(status) => {
                    return Err(refused(config, &format!("READDIRPLUS {directory}"), status).into());
                }
            };
            for mut entry in entries {
                let path = below(&directory, &entry.name);
                caller.set_deadline(after(reactor, limit));
                let is_directory = |entry: &Listed| {
                    entry.attributes.is_some_and(|attributes| attributes.kind == FileType::Directory)
                };
                // Not every server returns all of it, and over version 4.1 a page has no handles.
                if entry.attributes.is_none() || is_directory(&entry) && entry.file.is_none() {
                    complete(&mut caller, config, handle, &mut entry).await?;
                }
                match entry.attributes {
                    None => {}
                    Some(found) if found.kind == FileType::Directory => {
                        visit(EntryKind::Directory, &path, 0)?;
                        pending.add(path, entry.file.map(boxed))?;
                    }
                    Some(found) if found.kind == FileType::Symlink => visit(EntryKind::Link, &path, 0)?,
                    Some(found) if found.kind == FileType::Regular => {
                        visit(EntryKind::File, &path, found.size)?;
                    }
                    Some(_) => left_out.others += 1,
                }
            }
            match next {
                Some((next_cookie, next_verifier)) if next_cookie != cookie => {
                    (cookie, verifier) = (next_cookie, next_verifier);
                }
                Some(_) => {
                    let text = format!(
                        "READDIRPLUS {directory}, {}: the server returns a page that leads no further",
                        config.label()
                    );
                    return Err(DriverError::new(ErrorKind::Protocol, text).into());
                }
                None => break,
            }
        }
    }
    Ok(left_out)
}

/// A handle has only a part of the length that is possible.
fn boxed(handle: FileHandle) -> Box<[u8]> {
    handle.as_bytes().into()
}

type Page = (Vec<Listed>, Option<(u64, [u8; 8])>);

/// A page of a directory, and where the next one begins.
async fn page(
    caller: &mut Caller,
    arguments: &ReaddirplusArgs,
    left_out: &mut LeftOut,
) -> Result<Result<Page, Status>, DriverError> {
    let read = caller.ask_with(Procedure::Readdirplus, arguments, |from| {
        let outcome = ProcedureResult::<ReaddirplusOk, Option<Attributes>>::decode(from)?;
        Ok(outcome.map(|ok| {
            let mut listed = Vec::with_capacity(ok.entries.len());
            for entry in ok.entries.iter().filter(|entry| !matches!(entry.name.0, b"." | b"..")) {
                match std::str::from_utf8(entry.name.0) {
                    Ok(name) => listed.push(Listed {
                        name: name.to_owned(),
                        file: entry.file,
                        attributes: entry.attributes,
                    }),
                    Err(_) => left_out.names += 1,
                }
            }
            let last = ok.entries.last().map(|entry| (entry.cookie, ok.verifier));
            (listed, last.filter(|_| !ok.eof))
        }))
    });
    Ok(read.await?)
}

/// Looks up what a page did not show of an entry; what has vanished has no attributes then.
async fn complete(
    caller: &mut Caller,
    config: &NfsConfig,
    directory: FileHandle,
    entry: &mut Listed,
) -> Result<(), DriverError> {
    let place = DirArgs { directory, name: Name(entry.name.as_bytes()) };
    let found = match caller.ask::<LookupOk, Option<Attributes>>(Procedure::Lookup, &place).await? {
        Ok(found) => found,
        Err(Status::NOENT) => {
            entry.attributes = None;
            return Ok(());
        }
        Err(status) => return Err(refused(config, &format!("LOOKUP {}", entry.name), status)),
    };
    entry.file = Some(found.file);
    entry.attributes = match found.attributes {
        Some(attributes) => Some(attributes),
        None => caller.ask::<Attributes, ()>(Procedure::Getattr, &found.file).await?.ok(),
    };
    Ok(())
}
