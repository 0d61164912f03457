//! Where connections leave this machine and where they arrive: the options that network targets share.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use drivers::interfaces;
use drivers::paths::{self, DataAddress, Pairing, Paths, SourceAddress};
use experiment::{SyntaxError, Workload};

use super::{OpenRequest, TargetError};

/// The parsed options.
pub(super) struct NetworkPaths {
    /// Addresses of the server; empty to use the URL's host.
    pub(super) addresses: Vec<DataAddress>,
    pub(super) paths: Paths,
}

/// Reads `source`, `addresses`, `use_addresses` and `pairing`. Without `addresses`, connections go to `usual`, where
/// known.
///
/// # Errors
/// One line: which option cannot be used, why, and what to do next.
pub(super) fn read(request: &OpenRequest<'_>, usual: &[IpAddr]) -> Result<NetworkPaths, TargetError> {
    let mut addresses = request.read("addresses", paths::addresses)?.unwrap_or_default();
    let count: Option<usize> = request.options.number("use_addresses");
    if let Some(count) = count.filter(|count| *count > addresses.len()) {
        let problem = format!("the option addresses names {0}: write 1 to {0}", addresses.len());
        return Err(request.wrong_option("use_addresses", &count.to_string(), &problem));
    }
    addresses.truncate(count.unwrap_or(addresses.len()));
    let ips: Vec<IpAddr> = addresses.iter().map(|address| address.ip).collect();
    let remotes = if ips.is_empty() { usual } else { &ips };
    let sources = request.read("source", |text| paths::sources(text, remotes))?.unwrap_or_default();
    let pairing = request.read("pairing", |text| match text {
        "every" => Ok(Pairing::Every),
        "in-turn" => Ok(Pairing::InTurn),
        _ => Err(SyntaxError::Form("write every or in-turn")),
    })?;
    Ok(NetworkPaths { addresses, paths: Paths { sources, pairing: pairing.unwrap_or_default() } })
}

/// Why it is not known by which network interface a target is reached.
#[derive(Debug, thiserror::Error)]
pub enum InterfaceError {
    /// It is by none.
    #[error("the target is not reached over the network")]
    NoNetwork,
    /// No route leads to it.
    #[error("there is no route to {remote}: {why}")]
    NoRoute {
        /// Its address.
        remote: IpAddr,
        /// What the system says.
        why: std::io::Error,
    },
    /// The address that connections leave by is of no interface.
    #[error("no network interface has the address {0}")]
    NoInterface(IpAddr),
}

/// The network interface for connections to `remote`: that of the first source, or the one that routing chooses.
///
/// # Errors
/// It cannot be determined.
pub(super) fn interface(paths: &Paths, remote: IpAddr) -> Result<String, InterfaceError> {
    let first = paths.sources.first();
    if let Some(device) = first.and_then(|source| source.device) {
        return Ok(device.to_string());
    }
    let local = match first {
        Some(source) => source.address,
        None => routed(remote).map_err(|why| InterfaceError::NoRoute { remote, why })?,
    };
    interfaces::interface_of(local).ok_or(InterfaceError::NoInterface(local))
}

/// The local address that routing chooses for `remote`; nothing is sent.
fn routed(remote: IpAddr) -> std::io::Result<IpAddr> {
    let any: IpAddr = if remote.is_ipv4() { [0, 0, 0, 0].into() } else { [0u16; 8].into() };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect((remote, 9))?;
    Ok(socket.local_addr()?.ip())
}

/// Number of connections of all jobs of a workload, when each job opens at most `most`.
pub(super) fn connections(workload: &Workload, most: u32) -> u64 {
    u64::from(workload.jobs) * u64::from(most.min(workload.queue_depth))
}

/// Names and values as facts of a target.
pub(super) fn named<'a>(facts: impl IntoIterator<Item = (&'a str, String)>) -> BTreeMap<String, String> {
    facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Addresses as given by the user.
pub(super) fn shown(addresses: &[DataAddress]) -> Vec<String> {
    let one = |address: &DataAddress| match address.port {
        Some(port) => SocketAddr::new(address.ip, port).to_string(),
        None => address.ip.to_string(),
    };
    addresses.iter().map(one).collect()
}

/// Facts for the result about the network paths, including whether there are too few connections for them.
pub(super) fn facts(paths: &Paths, addresses: &[String], connections: u64) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if !paths.sources.is_empty() {
        let sources: Vec<String> = paths.sources.iter().map(source).collect();
        facts.push(("source", sources.join(", ")));
    }
    if addresses.len() > 1 {
        facts.push(("data addresses", addresses.join(", ")));
    }
    let count = addresses.len().max(1);
    if let Some(text) = paths.describe(count, connections) {
        facts.push(("paths", text));
    }
    if let Some(text) = paths.shortage(count, connections) {
        facts.push(("paths.warning", text));
    }
    facts
}

fn source(source: &SourceAddress) -> String {
    let address = source.address;
    match (&source.device, &source.unbound) {
        (Some(device), _) => format!("{address} ({device}, bound to it)"),
        (None, Some(refusal)) => {
            format!("{address} ({refusal}; the address is used, the routes choose the way)")
        }
        (None, None) => address.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::with_request;

    fn read_from(query: &str) -> Result<NetworkPaths, TargetError> {
        let text = format!("nfs://127.0.0.1/export?{query}");
        with_request(&text, &[], |request| read(request, &["127.0.0.1".parse().unwrap()]))
    }

    #[test]
    fn options_become_ways() {
        let ways =
            read_from("source=127.0.0.2,lo&addresses=127.0.0.3,127.0.0.4:2050&pairing=in-turn").unwrap();
        assert_eq!((ways.addresses.len(), ways.paths.sources.len()), (2, 2));
        assert_eq!(ways.paths.pairing, Pairing::InTurn);
        let few = read_from("addresses=127.0.0.3,127.0.0.4,127.0.0.5&use_addresses=2").unwrap();
        assert_eq!(few.addresses.len(), 2);
        for (query, problem) in [
            ("source=192.0.2.1", "target t: source: \"192.0.2.1\": 192.0.2.1 is no address of this machine"),
            ("source=no-such-0", "is neither an address nor a network interface"),
            (
                "source=127.0.0.1&addresses=[::1]",
                "127.0.0.1 is of IPv4, and the server's addresses are of IPv6",
            ),
            ("addresses=127.0.0.1,::1", "IPv4 and IPv6 do not mix"),
            ("use_addresses=2", "use_addresses: \"2\": the option addresses names 0"),
            ("addresses=127.0.0.1&use_addresses=2", "names 1: write 1 to 1"),
            ("pairing=all", "pairing: \"all\" does not fit; write every or in-turn"),
        ] {
            let error = read_from(query).err().unwrap().to_string();
            assert!(error.contains(problem) && !error.contains('\n'), "{query}: {error}");
        }
    }

    #[test]
    fn the_interface_is_the_sources_or_the_routes() {
        let loopback = "127.0.0.1".parse().unwrap();
        assert_eq!(interface(&Paths::default(), loopback).unwrap(), "lo");
        let ways = read_from("source=127.0.0.2").unwrap();
        assert_eq!(interface(&ways.paths, loopback).unwrap(), "lo");
    }

    #[test]
    fn facts_say_what_is_used_and_when_it_is_too_little() {
        let ways = read_from("source=127.0.0.2,127.0.0.3&addresses=127.0.0.4,127.0.0.5").unwrap();
        let addresses = ["127.0.0.4".to_owned(), "127.0.0.5".to_owned()];
        let names = |connections| -> Vec<&str> {
            facts(&ways.paths, &addresses, connections).into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names(4), ["source", "data addresses", "paths"]);
        assert_eq!(names(3), ["source", "data addresses", "paths", "paths.warning"]);
        assert!(facts(&Paths::default(), &[], 1).is_empty());
    }
}
