//! Creates our directory and its tree, finds a leaf of it, and checks that it is the tree that the configuration wants.

use std::time::Duration;

use metrics::ErrorKind;
use reactor::Reactor;
use wire::nfs3::{CreateOk, DirArgs, FileHandle, MkdirArgs, Name, Procedure, SetAttributes, Status, WccData};

use super::NfsConfig;
use super::caller::Caller;
use super::dial::{self, Opened, refused};
use super::manage::after;
use crate::tree::{MAX_DIRECTORIES, directory_name};
use crate::{Announce, DriverError};

/// Our directory, just made.
pub(super) struct Made {
    caller: Caller,
    root: FileHandle,
    /// Its handle, if the server returned it.
    handle: Option<FileHandle>,
}

/// Creates our directory.
pub(super) async fn make_ours(
    reactor: &Reactor,
    config: &NfsConfig,
    limit: Duration,
    announce: Announce<'_>,
) -> Result<Made, DriverError> {
    let Opened { mut caller, root, .. } = dial::open(reactor, config, 0, after(reactor, limit)).await?;
    announce()?;
    caller.set_deadline(after(reactor, limit));
    match make_directory(&mut caller, root, &config.directory).await? {
        Ok(made) => Ok(Made { caller, root, handle: made.file }),
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

/// The error after our directory was made and its tree was not: if it is still there, the kind of the error says so.
pub(super) fn unfinished(error: DriverError, removed: Result<u64, DriverError>) -> DriverError {
    match removed {
        Ok(_) => error,
        Err(left) => {
            let text =
                format!("{}; what was made could not be removed either: {}", error.detail, left.detail);
            DriverError::new(ErrorKind::ServerFault, text)
        }
    }
}

/// Creates the directories of the tree, each level before those below it.
pub(super) async fn make_levels(
    (reactor, limit): (&Reactor, Duration),
    config: &NfsConfig,
    Made { mut caller, root, handle }: Made,
) -> Result<(), DriverError> {
    let (caller, tree) = (&mut caller, &config.tree);
    if tree.is_flat() {
        return Ok(());
    }
    let mut level = vec![handle_of(caller, config, (root, &config.directory), handle).await?];
    for depth in 1..=tree.depth() {
        let mut below = Vec::new();
        for parent in level {
            for name in (0..tree.directories()).map(directory_name) {
                caller.set_deadline(after(reactor, limit));
                let made = match make_directory(caller, parent, &name).await? {
                    Ok(made) => made.file,
                    // Made by an earlier transmission, whose reply was lost: our directory is new.
                    Err(Status::EXIST) => None,
                    Err(status) => return Err(refused(config, "MKDIR", status)),
                };
                if depth < tree.depth() {
                    below.push(handle_of(caller, config, (parent, &name), made).await?);
                }
            }
        }
        level = below;
    }
    Ok(())
}

async fn make_directory(
    caller: &mut Caller,
    parent: FileHandle,
    name: &str,
) -> Result<Result<CreateOk, Status>, DriverError> {
    let arguments = MkdirArgs {
        place: DirArgs { directory: parent, name: Name(name.as_bytes()) },
        attributes: SetAttributes { mode: Some(reactor::DIRECTORY_MODE), ..SetAttributes::default() },
    };
    Ok(caller.ask::<CreateOk, WccData>(Procedure::Mkdir, &arguments).await?)
}

/// The handle of a directory just made, which not every server returns.
async fn handle_of(
    caller: &mut Caller,
    config: &NfsConfig,
    (parent, name): (FileHandle, &str),
    returned: Option<FileHandle>,
) -> Result<FileHandle, DriverError> {
    if let Some(handle) = returned {
        return Ok(handle);
    }
    let found = dial::lookup(caller, config, parent, name).await?;
    found.ok_or_else(|| refused(config, "LOOKUP", Status::NOENT))
}

/// A leaf of the tree in our directory; `None` if it does not exist.
pub(super) async fn find(
    caller: &mut Caller,
    config: &NfsConfig,
    ours: FileHandle,
    leaf: u32,
) -> Result<Option<FileHandle>, DriverError> {
    let mut handle = ours;
    for (name, _) in config.tree.way_to(leaf) {
        let name = String::from_utf8_lossy(&name);
        let Some(found) = dial::lookup(caller, config, handle, &name).await? else { return Ok(None) };
        handle = found;
    }
    Ok(Some(handle))
}

/// Checks that our directory has the tree that is wanted: files of another one would not be found. Its layout leaves no
/// trace.
pub(super) async fn check(
    caller: &mut Caller,
    config: &NfsConfig,
    ours: FileHandle,
) -> Result<(), DriverError> {
    let tree = &config.tree;
    let Some(last) = find(caller, config, ours, tree.leaves() - 1).await? else {
        return Err(another(config));
    };
    let deeper = dial::lookup(caller, config, last, &directory_name(0)).await?;
    let wider = match !tree.is_flat() && tree.directories() < MAX_DIRECTORIES {
        true => dial::lookup(caller, config, ours, &directory_name(tree.directories())).await?,
        false => None,
    };
    if deeper.or(wider).is_some() { Err(another(config)) } else { Ok(()) }
}

/// The error for a directory that was made with another tree.
pub(super) fn another(config: &NfsConfig) -> DriverError {
    let text = format!(
        "directory {} in export {} was made with another tree, and the target has {}: give the target the same, or name \
         another directory",
        config.directory,
        config.label(),
        config.tree
    );
    DriverError::new(ErrorKind::Rejected, text)
}
