//! What an export says of itself before anything is made there: whether it answers, who may write, how much is free.

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

/// What was seen of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportLook {
    /// The address that was connected to.
    pub remote: SocketAddr,
    /// Our directory is there already.
    pub directory_exists: bool,
    /// Whether this user may add entries where the data is to lie; `None` where the server does not say.
    pub may_write: Option<bool>,
    /// The number by which the server tells its file systems apart.
    pub file_system: Option<u64>,
    /// Bytes that this user may still write; `None` where the server does not say.
    pub available_bytes: Option<u64>,
}

impl NfsDriver {
    /// Looks at the export; nothing is made or changed. No longer than `limit`, all in all.
    ///
    /// # Errors
    /// When the export cannot be opened; of kind `Rejected` when something else than a directory has our directory's name.
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

/// Whether entries can be added to a directory (ACCESS); a server that cannot be asked says nothing.
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
