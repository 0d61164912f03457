//! `tcp://host:port`: blocks between this machine's memory and a peer's, in either direction, without storage.

use std::collections::BTreeMap;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use drivers::net::{NetConfig, NetDriver};
use experiment::OptionKind::{Bytes, Count, Flag};
use experiment::{CacheControl, CalibratedOp, OptionHelp, TargetKind, Transport, UrlForm};
use metrics::OpKind;

use super::engines::{self, JobEngines};
use super::options::{ADDRESSES, AT_LEAST_ONE, PAIRING, SOURCE, USE_ADDRESSES};
use super::paths::{named, shown};
use super::protocol::wrong;
use super::{OpenRequest, OpenTarget, Protocol, StageRunner, TargetError, paths};

/// The protocol of `tcp:`.
pub(super) struct Tcp;

const OPTIONS: &[OptionHelp] = &[
    OptionHelp::new("listen", Flag, "false", "wait for the other side to connect"),
    OptionHelp::new("connections", AT_LEAST_ONE, "1", "connections per job, shared by its lanes in turn"),
    SOURCE,
    ADDRESSES,
    USE_ADDRESSES,
    PAIRING,
    OptionHelp::new(
        "port_per_job",
        Flag,
        "false",
        "the first job uses the URL's port, each further job the next port",
    ),
    OptionHelp::new("pingpong", Flag, "false", "the receiver sends each block back before the next is sent"),
    OptionHelp::new("repeat", Flag, "false", "send the same bytes in every block, as iperf3 does"),
    OptionHelp::new("nodelay", Flag, "true", "TCP_NODELAY: send small blocks at once"),
    OptionHelp::new(
        "window_size",
        Bytes { least: 1, most: u32::MAX as u64 },
        "the kernel's",
        "size of the socket's send and receive buffers",
    ),
    OptionHelp::new(
        "mss",
        Count { least: 88, most: u32::MAX as u64 },
        "the path's",
        "largest TCP segment, in bytes (TCP_MAXSEG)",
    ),
    OptionHelp::new("ipv6", Flag, "false", "resolve host names to IPv6 addresses"),
];

static KIND: TargetKind = TargetKind {
    ranges: true,
    imaginary: true,
    sink_discard: true,
    calibrated: &[
        CalibratedOp::new(OpKind::Write, "send", "TCP send"),
        CalibratedOp::new(OpKind::Read, "receive", "TCP receive"),
    ],
    transport: Transport::Network,
    ..TargetKind::new("tcp", "tcp://host:port", UrlForm::HostAndPort, &[OpKind::Read, OpKind::Write], OPTIONS)
};

impl Protocol for Tcp {
    fn kind(&self) -> &'static TargetKind {
        &KIND
    }

    fn engines(&self) -> JobEngines {
        engines::net::ENGINES
    }

    fn open(&self, request: &OpenRequest<'_>) -> Result<Box<dyn OpenTarget>, TargetError> {
        Ok(Box::new(open(request)?))
    }
}

/// How long a listener waits for its peer, and a sender for its listener: people start them by hand, one after the
/// other.
const WAIT: Duration = Duration::from_secs(60);

/// A peer.
pub(super) struct NetTarget {
    pub(super) driver: NetDriver,
    /// Connections across all jobs.
    pub(super) connections: u64,
}

impl OpenTarget for NetTarget {
    fn kind(&self) -> &'static TargetKind {
        &KIND
    }

    fn driver(&self) -> &dyn StageRunner {
        &self.driver
    }

    fn own_facts(&self) -> BTreeMap<String, String> {
        let config = self.driver.config();
        let role = if config.listen { "listens on" } else { "connects to" };
        let mut facts = named([
            ("protocol", "blocks over TCP".to_owned()),
            (role, config.address.to_string()),
            ("connections per job", config.connections_per_worker.to_string()),
            ("pingpong", config.ping_pong.to_string()),
        ]);
        if !config.listen {
            let addresses = shown(&config.addresses);
            facts.extend(named(paths::facts(&config.paths, &addresses, self.connections)));
        }
        facts
    }

    fn drop_cache(&self, _: CacheControl) -> String {
        "not possible for tcp: there is no cache".to_owned()
    }

    fn connect_timeout(&self, usual: Duration) -> Duration {
        usual.max(WAIT)
    }

    fn interface(&self) -> Result<String, paths::InterfaceError> {
        let config = self.driver.config();
        paths::interface(&config.paths, config.address.ip())
    }

    fn peer(&self) -> Option<SocketAddr> {
        Some(self.driver.config().address)
    }
}

fn open(request: &OpenRequest<'_>) -> Result<NetTarget, TargetError> {
    let OpenRequest { target, url, options: given, workload, .. } = *request;
    let mixed = [OpKind::Read, OpKind::Write].map(|op| workload.ops.iter().any(|weighted| weighted.op == op));
    if mixed == [true, true] {
        return Err(TargetError::Input(format!(
            "target {}: a connection is read or written, not both; write two workloads, or use the option pingpong",
            target.name
        )));
    }
    let usual = NetConfig::new(address(&target.url, url.authority(), given.flag("ipv6").unwrap_or(false))?);
    let ways = paths::read(request, &[usual.address.ip()])?;
    let config = NetConfig {
        addresses: ways.addresses,
        paths: ways.paths,
        listen: given.flag("listen").unwrap_or(usual.listen),
        connections_per_worker: given.number("connections").unwrap_or(usual.connections_per_worker),
        port_per_worker: given.flag("port_per_job").unwrap_or(usual.port_per_worker),
        first_number: workload.stream().map_or(0, |job| job.first_number),
        ping_pong: given.flag("pingpong").unwrap_or(usual.ping_pong),
        repeat: given.flag("repeat").unwrap_or(usual.repeat),
        nodelay: given.flag("nodelay").unwrap_or(usual.nodelay),
        window_bytes: given.number("window_size"),
        segment_bytes: given.number("mss"),
        ..usual
    };
    let connections = paths::connections(workload, config.connections_per_worker);
    let driver = NetDriver::new(config)
        .map_err(|error| TargetError::Input(format!("target {}: {}", target.name, error.detail)))?;
    Ok(NetTarget { driver, connections })
}

/// Resolves `host:port` or `[IPv6]:port` to the first address of the wanted family.
fn address(url: &str, authority: &str, ipv6: bool) -> Result<SocketAddr, TargetError> {
    let problem = |what: &str| wrong(url, &format!("{what}; write {}", KIND.example));
    let (host, port) = authority.rsplit_once(':').ok_or_else(|| problem("the port is missing"))?;
    let port: u16 = match port.parse() {
        Ok(port) if port > 0 => port,
        _ => return Err(problem(&format!("\"{port}\" is no port from 1 to 65535"))),
    };
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    if bare.is_empty() {
        return Err(problem("the host is missing"));
    }
    let unknown = |why: &str| {
        let next = "check its spelling, or give an address";
        wrong(url, &format!("the host {bare} has no address ({why}); {next}"))
    };
    let found = (bare, port).to_socket_addrs().map_err(|error| unknown(&error.to_string()))?;
    let mut found =
        found.filter(|address| address.is_ipv6() == ipv6 || bare.parse::<std::net::IpAddr>().is_ok());
    found
        .next()
        .ok_or_else(|| unknown(if ipv6 { "none of IPv6" } else { "none of IPv4; ipv6=true takes others" }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        for (text, ipv6, expected) in [
            ("127.0.0.1:9000", false, "127.0.0.1:9000"),
            ("[::1]:9000", false, "[::1]:9000"),
            ("localhost:80", false, "127.0.0.1:80"),
        ] {
            assert_eq!(address("tcp://x", text, ipv6).unwrap().to_string(), expected);
        }
        for (text, problem) in [
            ("127.0.0.1", "the port is missing"),
            ("127.0.0.1:0", "no port from 1 to 65535"),
            (":5", "the host is missing"),
        ] {
            let error = address("tcp://x", text, false).unwrap_err().to_string();
            assert!(error.contains(problem) && !error.contains('\n'), "{error}");
        }
    }
}
