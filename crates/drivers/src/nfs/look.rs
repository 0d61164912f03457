//! Inspects an export before anything is created on it: does it answer, who may write, how much space is free.

use std::net::SocketAddr;
use std::time::Duration;

use metrics::ErrorKind;
use reactor::Reactor;
use wire::nfs3::{AccessArgs, AccessOk, Attributes, FileHandle, FileType, FsstatOk, Procedure, Status};

use super::caller::Caller;
use super::dial::{self, refused};
use super::manage::{after, open_reactor};
use super::{NfsConfig, NfsDriver};
use crate::DriverError;

/// What was learned about an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportLook {
    /// The connected address.
    pub remote: SocketAddr,
    /// Our directory already exists.
    pub directory_exists: bool,
    /// Whether this user may add entries where the data will lie; `None` where the server does not say.
    pub may_write: Option<bool>,
    /// The server's number for the file system.
    pub file_system: Option<u64>,
    /// Bytes that this user may still write; `None` where the server does not say.
    pub available_bytes: Option<u64>,
}

impl NfsDriver {
    /// Inspects the export within `limit` in total; creates and changes nothing.
    ///
    /// # Errors
    /// When the export cannot be opened; kind `Rejected` when something other than a directory has our directory's
    /// name.
    pub fn look_at_export(&self, limit: Duration) -> Result<ExportLook, DriverError> {
        let reactor = open_reactor()?;
        reactor.block_on(look(&reactor, self.config(), limit))
    }
}

async fn look(reactor: &Reactor, config: &NfsConfig, limit: Duration) -> Result<ExportLook, DriverError> {
    let mut opened = dial::open(reactor, config, 0, after(reactor, limit)).await?;
    let caller = &mut opened.caller;
    let directory = match config.named {
        Some(_) => None,
        None => dial::lookup(caller, config, opened.root, &config.directory).await?,
    };
    let place = directory.unwrap_or(opened.root);
    let attributes = caller.ask::<Attributes, ()>(Procedure::Getattr, &place).await?.ok();
    if let (Some(_), Some(found)) = (directory, attributes)
        && found.kind != FileType::Directory
    {
        let text = format!(
            "{} in export {} is a file, not a directory; choose another name, or remove it",
            config.directory,
            config.label()
        );
        return Err(DriverError::new(ErrorKind::Rejected, text));
    }
    let may_write = may_write(caller, config, place).await?;
    let space = caller.ask::<FsstatOk, Option<Attributes>>(Procedure::Fsstat, &place).await?;
    Ok(ExportLook {
        remote: opened.way.remote,
        directory_exists: directory.is_some(),
        may_write,
        file_system: attributes.map(|attributes| attributes.fsid),
        available_bytes: space.ok().map(|space| space.available_bytes),
    })
}

/// Whether entries can be added to a directory (ACCESS); `None` when the server cannot be asked.
async fn may_write(
    caller: &mut Caller,
    config: &NfsConfig,
    directory: FileHandle,
) -> Result<Option<bool>, DriverError> {
    let wanted = AccessArgs::MODIFY | AccessArgs::EXTEND;
    let arguments = AccessArgs { file: directory, access: wanted };
    match caller.ask::<AccessOk, Option<Attributes>>(Procedure::Access, &arguments).await? {
        Ok(allowed) => Ok(Some(allowed.access & wanted == wanted)),
        Err(Status::NOTSUPP) => Ok(None),
        Err(status) => Err(refused(config, "ACCESS", status)),
    }
}
