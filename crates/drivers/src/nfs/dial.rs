//! Opens an export: MOUNT, FSINFO, our directory; failures give one clear line.

use std::net::SocketAddr;

use metrics::ErrorKind;
use reactor::Reactor;
use wire::nfs3::{Attributes, DirArgs, FileHandle, FsinfoOk, LookupOk, Name, Procedure, Status};
use wire::rpc::{AuthSys, Gids};
use wire::xdr::Encode;

use super::caller::Caller;
use super::config::{NfsConfig, NfsVersion};
use super::connection::Way;
use super::errors::{advice, kind_of};
use super::{mounting, v41};
use crate::DriverError;

/// Maximum READ and WRITE unless configured otherwise.
pub(super) const SIZE_MAX: u32 = 1 << 20;

/// An opened export, with a connection that has nothing outstanding.
pub(super) struct Opened {
    pub(super) caller: Caller,
    /// Addresses of the connection.
    pub(super) way: Way,
    pub(super) root: FileHandle,
    pub(super) server_read_max: u32,
    pub(super) server_write_max: u32,
    pub(super) read_size: u32,
    pub(super) write_size: u32,
}

/// The body of our `AUTH_SYS` credential.
pub(super) fn credential(config: &NfsConfig) -> Vec<u8> {
    let names = rustix::system::uname();
    let machine = names.nodename().to_bytes();
    let mut body = Vec::new();
    AuthSys {
        stamp: 0,
        machine: &machine[..machine.len().min(64)],
        uid: config.uid,
        gid: config.gid,
        gids: Gids::new(&[]),
    }
    .encode(&mut body);
    body
}

/// Opens the export within `deadline_ns`, as connection number `number` over all workers.
pub(super) async fn open(
    reactor: &Reactor,
    config: &NfsConfig,
    number: u64,
    deadline_ns: u64,
) -> Result<Opened, DriverError> {
    if config.version == NfsVersion::V4_1 {
        return v41::open(reactor, config, number, deadline_ns).await;
    }
    let (config, options) = &config.at(number);
    let credential = credential(config);
    let (root, nfs_port) = mounting::mount(reactor, config, options, &credential, deadline_ns).await?;
    let way = Way { remote: SocketAddr::new(config.server, nfs_port), options: *options };
    let peer = ("NFS server", Some(&*config.export));
    let mut caller = Caller::connect(reactor, way.remote, options, peer, &credential, deadline_ns).await?;
    let fsinfo = caller
        .ask::<FsinfoOk, Option<Attributes>>(Procedure::Fsinfo, &root)
        .await?
        .map_err(|status| refused(config, "FSINFO", status))?;
    let size = |most: u32, preferred: u32, cap: Option<u32>| {
        let most = if most > 0 { most } else { preferred.max(4096) };
        most.min(cap.unwrap_or(SIZE_MAX))
    };
    Ok(Opened {
        caller,
        way,
        root,
        server_read_max: fsinfo.read_max,
        server_write_max: fsinfo.write_max,
        read_size: size(fsinfo.read_max, fsinfo.read_preferred, config.read_size),
        write_size: size(fsinfo.write_max, fsinfo.write_preferred, config.write_size),
    })
}

/// Turns the status of a procedure on the export into the reason why it cannot be used.
pub(super) fn refused(config: &NfsConfig, procedure: &str, status: Status) -> DriverError {
    let user = match status {
        Status::PERM | Status::ACCES => format!(" for uid {} gid {}", config.uid, config.gid),
        _ => String::new(),
    };
    let answer = config.version.shown(status);
    let text = format!("export {}: {procedure} answers {answer}{user}{}", config.label(), advice(status));
    DriverError::new(kind_of(status), text)
}

/// The error when our directory does not exist.
pub(super) fn not_there(config: &NfsConfig) -> DriverError {
    let text = format!(
        "directory {} in export {} does not exist: it must be prepared first",
        config.directory,
        config.label()
    );
    DriverError::new(ErrorKind::NotFound, text)
}

/// Finds a name in a directory; `None` when it does not exist.
pub(super) async fn lookup(
    caller: &mut Caller,
    config: &NfsConfig,
    directory: FileHandle,
    name: &str,
) -> Result<Option<FileHandle>, DriverError> {
    let arguments = DirArgs { directory, name: Name(name.as_bytes()) };
    match caller.ask::<LookupOk, Option<Attributes>>(Procedure::Lookup, &arguments).await? {
        Ok(found) => Ok(Some(found.file)),
        Err(Status::NOENT) => Ok(None),
        Err(status) => Err(refused(config, "LOOKUP", status)),
    }
}
