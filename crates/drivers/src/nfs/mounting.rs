//! Gets the root handle of an export: the portmapper, or default ports, and MOUNT.

use std::net::SocketAddr;

use metrics::ErrorKind;
use reactor::{Reactor, SocketOptions};
use wire::mount::{self, DirPath, MountResult, Mounted};
use wire::nfs3::{self, FileHandle};
use wire::portmap::{self, Binding, Label, Mapping, UniversalAddress};
use wire::rpc::{AUTH_NONE, AUTH_SYS};
use wire::xdr::Decode;

use super::caller::{Caller, Failed, Target, no_answer};
use super::config::NfsConfig;
use super::errors::kind_of_mount;
use crate::DriverError;

/// Ports where servers usually listen for MOUNT, used when the portmapper does not help.
const MOUNT_PORTS: [u16; 2] = [nfs3::PORT, 20_048];

/// Where to find NFS and MOUNT.
struct Ports {
    nfs: u16,
    /// In the order to try them.
    mount: Vec<u16>,
    /// Why the portmapper did not help, when the ports are guesses.
    guessed: Option<Failed>,
}

/// Mounts the export; returns its root handle and the NFS port.
pub(super) async fn mount(
    reactor: &Reactor,
    config: &NfsConfig,
    options: &SocketOptions,
    credential: &[u8],
    deadline_ns: u64,
) -> Result<(FileHandle, u16), DriverError> {
    let started = reactor.now();
    let ports = find_ports(reactor, config, options, deadline_ns).await?;
    let mut attempts = Vec::new();
    for (index, port) in ports.mount.iter().enumerate() {
        // Each attempt gets a share of the remaining time.
        let now = reactor.now();
        let share = deadline_ns.saturating_sub(now) / (ports.mount.len() - index) as u64;
        let at = SocketAddr::new(config.server, *port);
        match mount_at(reactor, config, (at, options), credential, now + share).await {
            Ok(root) => return Ok((root, ports.nfs)),
            // Another program on a guessed port says so, or hangs up; the service itself gives its reason.
            Err(failed)
                if ports.guessed.is_none()
                    || matches!(failed.error.kind, ErrorKind::AccessDenied | ErrorKind::NotFound) =>
            {
                return Err(failed.error);
            }
            Err(failed) => attempts.push((*port, failed)),
        }
    }
    let portmapper = ports.guessed.expect("with known ports the first failure is returned");
    Err(nobody_helps(config, &portmapper, &attempts, &no_answer(started, deadline_ns)))
}

/// The error when the portmapper and all default ports failed.
fn nobody_helps(
    config: &NfsConfig,
    portmapper: &Failed,
    attempts: &[(u16, Failed)],
    no_answer: &str,
) -> DriverError {
    let label = config.label();
    let next =
        "check the address, that NFS is enabled there and that no firewall is between, or give the ports";
    let portmap_port = config.portmap_port;
    let text = if portmapper.unanswered && attempts.iter().all(|(_, failed)| failed.unanswered) {
        let ports: Vec<String> = attempts.iter().map(|(port, _)| port.to_string()).collect();
        let ports = ports.join(" and ");
        format!(
            "export {label}: {no_answer}, neither from the portmapper (port {portmap_port}) nor from MOUNT (port \
             {ports}): {next}"
        )
    } else {
        let causes: Vec<String> =
            attempts.iter().map(|(port, failed)| format!("MOUNT on port {port}: {}", failed.cause)).collect();
        let causes = causes.join("; ");
        format!("export {label}: portmapper on port {portmap_port}: {}; {causes}: {next}", portmapper.cause)
    };
    DriverError::new(ErrorKind::ConnectFailed, text)
}

async fn find_ports(
    reactor: &Reactor,
    config: &NfsConfig,
    options: &SocketOptions,
    deadline_ns: u64,
) -> Result<Ports, DriverError> {
    if let (Some(nfs), Some(mount)) = (config.nfs_port, config.mount_port) {
        return Ok(Ports { nfs, mount: vec![mount], guessed: None });
    }
    let guess = |reason: Failed| Ports {
        nfs: config.nfs_port.unwrap_or(nfs3::PORT),
        mount: config.mount_port.map_or_else(|| MOUNT_PORTS.to_vec(), |port| vec![port]),
        guessed: Some(reason),
    };
    // A portmapper behind a firewall must leave time for the guesses.
    let now = reactor.now();
    let portmap_deadline = now + deadline_ns.saturating_sub(now) / 3;
    let at = SocketAddr::new(config.server, config.portmap_port);
    let plain = SocketOptions { reserved_port: false, ..*options };
    let connected = Caller::connect(reactor, at, &plain, ("portmapper", None), &[], portmap_deadline).await;
    let mut caller = match connected {
        Ok(caller) => caller,
        Err(failed) => return Ok(guess(failed)),
    };
    let mut found = [config.nfs_port, config.mount_port];
    let programs = [(nfs3::PROGRAM, nfs3::VERSION, "NFS"), (mount::PROGRAM, mount::VERSION, "MOUNT")];
    for (port, (program, version, name)) in found.iter_mut().zip(programs) {
        if port.is_some() {
            continue;
        }
        match registered_port(&mut caller, program, version).await {
            Ok(Some(number)) => *port = Some(number),
            Err(failed) => return Ok(guess(failed)),
            Ok(None) => {
                let text = format!(
                    "portmapper at {at}: {name} version {version} over TCP is not registered there; enable \
                     NFSv3 on the server, or give the ports"
                );
                return Err(DriverError::new(ErrorKind::Rejected, text));
            }
        }
    }
    let [Some(nfs), Some(mount)] = found else { unreachable!("both were filled in above") };
    Ok(Ports { nfs, mount: vec![mount], guessed: None })
}

/// The port of a program over TCP; `None` when it is not registered.
async fn registered_port(caller: &mut Caller, program: u32, version: u32) -> Result<Option<u16>, Failed> {
    if caller.is_ipv6() {
        // Version 2 supports IPv4 addresses only, and rpcbind answers it over IPv4 only. Other portmappers may have
        // nothing else.
        let call = Target {
            program: portmap::PROGRAM,
            version: portmap::VERSION_4,
            procedure: portmap::PROC_GETADDR,
            name: "GETADDR",
        };
        let binding = Binding {
            program,
            version,
            network: Label(portmap::NETWORK_TCP6),
            address: UniversalAddress(b""),
            owner: Label(b""),
        };
        match caller.call(call, &binding, |from| Ok(UniversalAddress::decode(from)?.port())).await {
            Err(failed) if failed.error.kind == ErrorKind::Rejected => {}
            other => return other,
        }
    }
    let call = Target {
        program: portmap::PROGRAM,
        version: portmap::VERSION,
        procedure: portmap::PROC_GETPORT,
        name: "GETPORT",
    };
    let mapping = Mapping { program, version, protocol: portmap::PROTOCOL_TCP, port: 0 };
    let number = caller.fetch::<u32>(call, &mapping).await?;
    Ok(u16::try_from(number).ok().filter(|&port| port > 0))
}

async fn mount_at(
    reactor: &Reactor,
    config: &NfsConfig,
    (at, options): (SocketAddr, &SocketOptions),
    credential: &[u8],
    deadline_ns: u64,
) -> Result<FileHandle, Failed> {
    let call = |procedure, name| Target { program: mount::PROGRAM, version: mount::VERSION, procedure, name };
    let peer = ("MOUNT service", Some(&*config.export));
    let mut caller = Caller::connect(reactor, at, options, peer, credential, deadline_ns).await?;
    let path = DirPath(config.export.as_bytes());
    let result = caller.fetch::<MountResult>(call(mount::PROC_MNT, "MNT"), &path).await?;
    let root = judge(config, result).map_err(|error| Failed {
        cause: error.detail.to_string(),
        error,
        unanswered: false,
    })?;
    // The handle stays valid; this only removes us from the server's list of mounts.
    caller.set_deadline(deadline_ns.min(reactor.now() + 1_000_000_000));
    let _ = caller.fetch::<()>(call(mount::PROC_UMNT, "UMNT"), &path).await;
    Ok(root)
}

/// The root handle, or why the export is unavailable.
fn judge(config: &NfsConfig, result: MountResult) -> Result<FileHandle, DriverError> {
    let label = config.label();
    let Mounted { root, flavors } = result.map_err(|status| {
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
    if !flavors.is_empty() && !flavors.iter().any(usable) {
        let text = format!(
            "export {label}: it accepts security flavors {flavors:?} only: allow AUTH_SYS (sec=sys) in the \
             export rule"
        );
        return Err(DriverError::new(ErrorKind::AccessDenied, text));
    }
    Ok(root)
}
