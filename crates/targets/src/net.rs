//! `tcp://host:port`: blocks from this machine's memory to a peer's, or the other way, without storage.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use drivers::net::{NetConfig, NetDriver};
use experiment::{Target, Workload};
use metrics::OpKind;

use super::options::Options;
use super::url::{TargetUrl, form, wrong};
use super::{Opened, TargetError, paths};

/// How long a listener waits for its peer, and a sender for its listener: they are started by hand, one after the other.
pub(super) const WAIT: Duration = Duration::from_secs(60);

/// A peer.
pub struct NetTarget {
    pub(super) driver: NetDriver,
    /// Connections of all jobs.
    pub(super) connections: u64,
}

impl Opened {
    /// The address that a `tcp://` target listens on or connects to; `None` of other targets.
    pub fn peer(&self) -> Option<SocketAddr> {
        match self {
            Opened::Net(target) => Some(target.driver.config().address),
            _ => None,
        }
    }
}

pub(super) fn open(target: &Target, url: &TargetUrl, workload: &Workload) -> Result<NetTarget, TargetError> {
    let given = Options::new(target, url, &[])?;
    let mixed = [OpKind::Read, OpKind::Write].map(|op| workload.ops.iter().any(|weighted| weighted.op == op));
    if mixed == [true, true] {
        return Err(TargetError::Input(format!(
            "target {}: a connection is read or written, not both; write two workloads, or use the option pingpong",
            target.name
        )));
    }
    if !matches!(&*url.path, "" | "/") {
        return Err(wrong(&target.url, &format!("nothing stands behind the port; write {}", form("tcp"))));
    }
    let sizes = "a number from 1 to 4294967295";
    let window = given.bytes("window_size")?.map(|bytes| {
        u32::try_from(bytes)
            .map_err(|_| given.wrong("window_size", &bytes.to_string(), &format!("write {sizes}")))
    });
    let usual = NetConfig::new(address(&target.url, &url.authority, given.flag("ipv6")?.unwrap_or(false))?);
    let ways = paths::read(&given, &[usual.address.ip()])?;
    let config = NetConfig {
        addresses: ways.addresses,
        paths: ways.paths,
        listen: given.flag("listen")?.unwrap_or(usual.listen),
        connections_per_worker: given
            .number("connections", "a whole number from 1 on")?
            .unwrap_or(usual.connections_per_worker),
        port_per_worker: given.flag("port_per_job")?.unwrap_or(usual.port_per_worker),
        first_number: workload.job.as_ref().map_or(0, |job| job.first_number),
        ping_pong: given.flag("pingpong")?.unwrap_or(usual.ping_pong),
        repeat: given.flag("repeat")?.unwrap_or(usual.repeat),
        nodelay: given.flag("nodelay")?.unwrap_or(usual.nodelay),
        window_bytes: window.transpose()?,
        segment_bytes: given.number("mss", sizes)?,
        ..usual
    };
    let connections = paths::connections(workload, config.connections_per_worker);
    let driver = NetDriver::new(config)
        .map_err(|error| TargetError::Input(format!("target {}: {}", target.name, error.detail)))?;
    Ok(NetTarget { driver, connections })
}

/// `host:port` or `[IPv6]:port`; the first address of a name, of the wanted family.
fn address(url: &str, authority: &str, ipv6: bool) -> Result<SocketAddr, TargetError> {
    let problem = |what: &str| wrong(url, &format!("{what}; write {}", form("tcp")));
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
