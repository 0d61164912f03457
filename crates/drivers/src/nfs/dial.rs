//! Opening an export: ports, MOUNT, FSINFO, our directory; with one clear line when it cannot be opened.

use std::net::SocketAddr;

use metrics::ErrorKind;
use reactor::{Reactor, SocketOptions};
use wire::mount::{self, DirPath, MountResult};
use wire::nfs3::{
    self, Attributes, DirArgs, FileHandle, FsinfoOk, LookupOk, Name, Outcome, Procedure, Status,
};
use wire::portmap::{self, Mapping};
use wire::rpc::{AUTH_NONE, AUTH_SYS, AuthSys, Gids};
use wire::xdr::Encode;

use super::caller::{Caller, Target};
use super::config::NfsConfig;
use super::errors::{advice, kind_of, kind_of_mount};
use crate::DriverError;

/// Used when the portmapper does not answer: where servers listen for MOUNT.
const MOUNT_PORTS: [u16; 2] = [nfs3::PORT, 20_048];
/// Largest READ and WRITE unless the configuration says otherwise.
const SIZE_MAX: u32 = 1 << 20;

/// An export that was opened, with a connection that has nothing outstanding.
pub(super) struct Opened {
    pub(super) caller: Caller,
    pub(super) remote: SocketAddr,
    pub(super) root: FileHandle,
    pub(super) read_size: u32,
    pub(super) write_size: u32,
}

/// The socket options of every connection: small calls leave at once, from a reserved port where permitted.
pub(super) fn options() -> SocketOptions {
    SocketOptions { reserved_port: true, ..SocketOptions::default() }
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

/// An NFS procedure for [`Caller::call`].
pub(super) fn nfs(procedure: Procedure) -> Target {
    Target {
        program: nfs3::PROGRAM,
        version: nfs3::VERSION,
        procedure: procedure as u32,
        name: procedure.name(),
    }
}

/// Opens the export within `deadline_ns`.
pub(super) async fn open(
    reactor: &Reactor,
    config: &NfsConfig,
    deadline_ns: u64,
) -> Result<Opened, DriverError> {
    let credential = credential(config);
    let ports = find_ports(reactor, config, deadline_ns).await?;
    let root = match mount_any(reactor, config, &ports, &credential, deadline_ns).await {
        Ok(root) => root,
        Err(e) => return Err(ports.explain(e)),
    };
    let remote = SocketAddr::new(config.server, ports.nfs);
    let caller = Caller::connect(
        reactor,
        remote,
        &options(),
        ("NFS server", Some(&config.export)),
        &credential,
        deadline_ns,
    )
    .await;
    let mut caller = caller.map_err(|e| ports.explain(e))?;
    let fsinfo = caller
        .fetch::<Outcome<FsinfoOk, Option<Attributes>>>(nfs(Procedure::Fsinfo), &root)
        .await?
        .map_err(|failure| refused(config, "FSINFO", failure.status))?;
    let size = |most: u32, preferred: u32, cap: Option<u32>| {
        let most = if most > 0 { most } else { preferred.max(4096) };
        most.min(cap.unwrap_or(SIZE_MAX))
    };
    Ok(Opened {
        caller,
        remote,
        root,
        read_size: size(fsinfo.read_max, fsinfo.read_preferred, config.read_size),
        write_size: size(fsinfo.write_max, fsinfo.write_preferred, config.write_size),
    })
}

/// A status of a procedure on the export as the reason why it cannot be used.
pub(super) fn refused(config: &NfsConfig, procedure: &str, status: Status) -> DriverError {
    let user = match status {
        Status::PERM | Status::ACCES => format!(" for uid {} gid {}", config.uid, config.gid),
        _ => String::new(),
    };
    let text = format!("export {}: {procedure} answers {status}{user}{}", config.label(), advice(status));
    DriverError::new(kind_of(status), text)
}

/// Finds a name in a directory; `None` when it is not there.
pub(super) async fn lookup(
    caller: &mut Caller,
    config: &NfsConfig,
    directory: FileHandle,
    name: &str,
) -> Result<Option<FileHandle>, DriverError> {
    let arguments = DirArgs { directory, name: Name(name.as_bytes()) };
    let outcome =
        caller.fetch::<Outcome<LookupOk, Option<Attributes>>>(nfs(Procedure::Lookup), &arguments).await?;
    match outcome {
        Ok(found) => Ok(Some(found.file)),
        Err(failure) if failure.status == Status::NOENT => Ok(None),
        Err(failure) => Err(refused(config, "LOOKUP", failure.status)),
    }
}

/// Where to find NFS and MOUNT.
struct Ports {
    nfs: u16,
    /// In the order in which to try them.
    mount: Vec<u16>,
    /// Why the portmapper could not tell, when it was asked.
    guessed: Option<String>,
}

impl Ports {
    /// Adds to an error that the ports were a guess.
    fn explain(&self, mut error: DriverError) -> DriverError {
        if let Some(reason) = &self.guessed {
            error.detail = format!(
                "{}; the ports are guesses because the portmapper did not help ({reason}); enable NFS \
                 there, or give the ports",
                error.detail
            )
            .into();
        }
        error
    }
}

async fn find_ports(reactor: &Reactor, config: &NfsConfig, deadline_ns: u64) -> Result<Ports, DriverError> {
    if let (Some(nfs), Some(mount)) = (config.nfs_port, config.mount_port) {
        return Ok(Ports { nfs, mount: vec![mount], guessed: None });
    }
    let guess = |reason: String| Ports {
        nfs: config.nfs_port.unwrap_or(nfs3::PORT),
        mount: config.mount_port.map_or_else(|| MOUNT_PORTS.to_vec(), |port| vec![port]),
        guessed: Some(reason),
    };
    // A portmapper behind a firewall must leave time for the guess.
    let now = reactor.now();
    let portmap_deadline = now + deadline_ns.saturating_sub(now) / 3;
    let at = SocketAddr::new(config.server, config.portmap_port);
    let plain = SocketOptions::default();
    let mut caller =
        match Caller::connect(reactor, at, &plain, ("portmapper", None), &[], portmap_deadline).await {
            Ok(caller) => caller,
            Err(e) => return Ok(guess(e.detail.into())),
        };
    let mut found = [config.nfs_port, config.mount_port];
    let programs = [(nfs3::PROGRAM, nfs3::VERSION, "NFS"), (mount::PROGRAM, mount::VERSION, "MOUNT")];
    for (port, (program, version, name)) in found.iter_mut().zip(programs) {
        if port.is_some() {
            continue;
        }
        let target = Target {
            program: portmap::PROGRAM,
            version: portmap::VERSION,
            procedure: portmap::PROC_GETPORT,
            name: "GETPORT",
        };
        let mapping = Mapping { program, version, protocol: portmap::PROTOCOL_TCP, port: 0 };
        match caller.fetch::<u32>(target, &mapping).await {
            Ok(number) => match u16::try_from(number) {
                Ok(number) if number > 0 => *port = Some(number),
                _ => {
                    let text = format!(
                        "portmapper at {at}: {name} version {version} over TCP is not registered there; enable \
                         NFSv3 on the server, or give the ports"
                    );
                    return Err(DriverError::new(ErrorKind::Rejected, text));
                }
            },
            Err(e) => return Ok(guess(e.detail.into())),
        }
    }
    let [Some(nfs), Some(mount)] = found else { unreachable!("both were filled in above") };
    Ok(Ports { nfs, mount: vec![mount], guessed: None })
}

/// Tries the MOUNT ports in turn; the last failure to connect is the one reported.
async fn mount_any(
    reactor: &Reactor,
    config: &NfsConfig,
    ports: &Ports,
    credential: &[u8],
    deadline_ns: u64,
) -> Result<FileHandle, DriverError> {
    let mut last = None;
    for (index, port) in ports.mount.iter().enumerate() {
        // Each attempt gets its share of what is left.
        let now = reactor.now();
        let share = deadline_ns.saturating_sub(now) / (ports.mount.len() - index) as u64;
        let at = SocketAddr::new(config.server, *port);
        match mount_at(reactor, config, at, credential, now + share).await {
            Ok(root) => return Ok(root),
            // Another program on a guessed port says so, or hangs up.
            Err(e)
                if ports.guessed.is_some()
                    && e.kind != ErrorKind::AccessDenied
                    && e.kind != ErrorKind::NotFound =>
            {
                last = Some(e);
            }
            Err(e) => return Err(e),
        }
    }
    Err(last.expect("there is at least one port"))
}

async fn mount_at(
    reactor: &Reactor,
    config: &NfsConfig,
    at: SocketAddr,
    credential: &[u8],
    deadline_ns: u64,
) -> Result<FileHandle, DriverError> {
    let call = |procedure, name| Target { program: mount::PROGRAM, version: mount::VERSION, procedure, name };
    let mut caller = Caller::connect(
        reactor,
        at,
        &options(),
        ("MOUNT service", Some(&config.export)),
        credential,
        deadline_ns,
    )
    .await?;
    let path = DirPath(config.export.as_bytes());
    let result = caller.fetch::<MountResult>(call(mount::PROC_MNT, "MNT"), &path).await?;
    let label = config.label();
    let mounted = result.map_err(|status| {
        let kind = kind_of_mount(status);
        let next = match kind {
            ErrorKind::AccessDenied => {
                "the export is not allowed for this client: add this client's address to the export rule"
            }
            ErrorKind::NotFound => {
                "there is no such export: check the path (showmount -e lists what there is)"
            }
            _ => "the server cannot mount it: see the server's log",
        };
        DriverError::new(kind, format!("export {label}: {next}; MNT answers {status}"))
    })?;
    let usable = |flavor: &u32| *flavor == AUTH_SYS || *flavor == AUTH_NONE;
    if !mounted.flavors.is_empty() && !mounted.flavors.iter().any(usable) {
        let text = format!(
            "export {label}: it accepts security flavors {:?} only: allow AUTH_SYS (sec=sys) in the export rule",
            mounted.flavors
        );
        return Err(DriverError::new(ErrorKind::AccessDenied, text));
    }
    // The handle stays valid; this only takes us off the server's list of mounts.
    caller.set_deadline(deadline_ns.min(reactor.now() + 1_000_000_000));
    let _ = caller.fetch::<()>(call(mount::PROC_UMNT, "UMNT"), &path).await;
    Ok(mounted.root)
}
