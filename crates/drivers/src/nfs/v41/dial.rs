//! Opens an export: a session, then the path from the root of the server's file systems. No portmapper, no MOUNT.

use std::net::SocketAddr;

use metrics::ErrorKind;
use reactor::Reactor;
use wire::nfs3::{FileHandle, Name};
use wire::nfs4::{Attribute, Attributes4, Bitmap, Fattr, Handle, Nfs4Status, OpArgument, Operation, PORT};

use super::super::caller::Caller;
use super::super::config::NfsConfig;
use super::super::connection::Way;
use super::super::dial::{Opened, SIZE_MAX, credential, refused};
use super::client::{Identity, OVERHEAD_BYTES, channel, join};
use super::gateway::in_session;
use crate::DriverError;

/// Limits of the file system and of the client's state.
const LIMITS: Bitmap = Bitmap::of(&[Attribute::LEASE_TIME, Attribute::MAX_READ, Attribute::MAX_WRITE]);

/// Opens the export for calls one at a time.
pub(in super::super) async fn open(
    reactor: &Reactor,
    config: &NfsConfig,
    number: u64,
    deadline_ns: u64,
) -> Result<Opened, DriverError> {
    open_session(reactor, config, number, deadline_ns, 1).await
}

/// Opens the export with a session of `slots` slots, if the server grants that many.
pub(in super::super) async fn open_session(
    reactor: &Reactor,
    config: &NfsConfig,
    number: u64,
    deadline_ns: u64,
    slots: u32,
) -> Result<Opened, DriverError> {
    let (config, options) = &config.at(number);
    let credential = credential(config);
    let port = config.nfs_port.unwrap_or(PORT);
    let way = Way { remote: SocketAddr::new(config.server, port), options: *options };
    let peer = ("NFS server", Some(&*config.export));
    let mut caller = Caller::connect(reactor, way.remote, options, peer, &credential, deadline_ns).await?;
    let wanted = channel(slots, config.read_size.unwrap_or(SIZE_MAX), config.write_size.unwrap_or(SIZE_MAX));
    join(&mut caller, &way, &Identity::unique(), wanted).await?;
    let granted = caller.session().map(|joined| joined.fore).unwrap_or(wanted);
    let root = find(&mut caller, config).await?;
    let operations = [OpArgument::PutFh(Handle(root)), OpArgument::GetAttr(LIMITS)];
    let limits = in_session(&mut caller, "GETATTR", &operations, false, |from| {
        from.next::<()>(Operation::PutFh)?;
        let found = Attributes4::of(&from.next::<Fattr<'_>>(Operation::GetAttr)?)?;
        Ok((found.read_max.unwrap_or(0), found.write_max.unwrap_or(0), found.lease_s))
    })
    .await?;
    let (read_max, write_max, lease_s) = limits.map_err(|status| unavailable(config, "GETATTR", status))?;
    if let (Some(joined), Some(lease_s)) = (caller.session_mut(), lease_s) {
        joined.lease_s = lease_s;
    }
    let bytes = |limit: u64| u32::try_from(limit).unwrap_or(u32::MAX);
    let (server_read_max, server_write_max) = (bytes(read_max), bytes(write_max));
    let size = |server: u32, channel: u32, cap: Option<u32>| {
        let server = if server > 0 { server } else { SIZE_MAX };
        server.min(cap.unwrap_or(SIZE_MAX)).min(channel.saturating_sub(OVERHEAD_BYTES)).max(512)
    };
    Ok(Opened {
        caller,
        way,
        root,
        server_read_max,
        server_write_max,
        read_size: size(server_read_max, granted.response_max, config.read_size),
        write_size: size(server_write_max, granted.request_max, config.write_size),
    })
}

/// Follows the export's path from the server's root.
async fn find(caller: &mut Caller, config: &NfsConfig) -> Result<FileHandle, DriverError> {
    let operations = [OpArgument::PutRootFh(()), OpArgument::GetFh(())];
    let root = in_session(caller, "PUTROOTFH", &operations, false, |from| {
        from.next::<()>(Operation::PutRootFh)?;
        from.next::<Handle>(Operation::GetFh)
    })
    .await?;
    let mut at = root.map_err(|status| unavailable(config, "PUTROOTFH", status))?;
    for part in config.export.split('/').filter(|part| !part.is_empty()) {
        let name = Name(part.as_bytes());
        let operations = [OpArgument::PutFh(at), OpArgument::Lookup(name), OpArgument::GetFh(())];
        let next = in_session(caller, "LOOKUP", &operations, false, |from| {
            from.next::<()>(Operation::PutFh)?;
            from.next::<()>(Operation::Lookup)?;
            from.next::<Handle>(Operation::GetFh)
        })
        .await?;
        at = next.map_err(|status| unavailable(config, &format!("LOOKUP {part}"), status))?;
    }
    Ok(at.0)
}

fn unavailable(config: &NfsConfig, step: &str, status: Nfs4Status) -> DriverError {
    let next = match status {
        Nfs4Status::NOENT | Nfs4Status::NOTDIR => {
            "there is no such path: write it as the server's NFSv4 root shows it, which may differ from version 3's"
        }
        Nfs4Status::ACCESS | Nfs4Status::PERM => {
            "the export is not allowed for this client: add this client's address to the export rule"
        }
        Nfs4Status::WRONGSEC => {
            "it accepts other security flavors only: allow AUTH_SYS (sec=sys) in the export rule"
        }
        _ => return refused(config, step, wire::nfs3::Status(status.0)),
    };
    let kind = match status {
        Nfs4Status::NOENT | Nfs4Status::NOTDIR => ErrorKind::NotFound,
        _ => ErrorKind::AccessDenied,
    };
    DriverError::new(kind, format!("export {}: {next}; {step} answers {status}", config.label()))
}
