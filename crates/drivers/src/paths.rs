//! Which way connections go: from which addresses of this machine to which of the server, evenly.

use std::net::{IpAddr, SocketAddr};

use reactor::{Device, SocketOptions};

use crate::interfaces;

/// Where connections leave this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The local address.
    pub address: IpAddr,
    /// The interface, where one was named; packets leave by it whatever the routes say.
    pub device: Option<Device>,
    /// Why packets are not held to the interface that was named: then the routes decide.
    pub unbound: Option<String>,
}

/// An address of a server, and the port there where it is not the one that is asked for or given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataAddress {
    /// The address.
    pub ip: IpAddr,
    /// Its port.
    pub port: Option<u16>,
}

/// How sources and the server's addresses go together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pairing {
    /// Each source with each address.
    #[default]
    Every,
    /// The first source with the first address, the second with the second, the shorter list again from its start:
    /// for networks that do not reach each other.
    InTurn,
}

/// The ways that the connections of all workers share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// Where they leave; empty lets the routes decide.
    pub sources: Vec<Source>,
    /// How sources and the server's addresses go together.
    pub pairing: Pairing,
}

impl Paths {
    /// How many different paths there are to so many addresses of the server.
    pub fn count(&self, addresses: usize) -> usize {
        let sources = self.sources.len().max(1);
        match self.pairing {
            Pairing::Every => sources * addresses.max(1),
            Pairing::InTurn => multiple(sources, addresses.max(1)),
        }
    }

    /// The source and the number of the server's address of connection `number`, counted over all workers. As many connections
    /// in a row as there are paths use each path once; any fewer spread over sources and addresses alike.
    pub fn of(&self, number: u64, addresses: usize) -> (Option<&Source>, usize) {
        let (sources, addresses) = (self.sources.len().max(1), addresses.max(1));
        let source = (number % sources as u64) as usize;
        // After each round in which all came equally often the pairs are shifted by one.
        let shift = match self.pairing {
            Pairing::Every => number / multiple(sources, addresses) as u64,
            Pairing::InTurn => 0,
        };
        let address = ((number % addresses as u64 + shift % addresses as u64) % addresses as u64) as usize;
        (self.sources.get(source), address)
    }

    /// The socket options of a connection by its source.
    pub fn options(source: Option<&Source>, usual: SocketOptions) -> SocketOptions {
        match source {
            Some(source) => SocketOptions {
                bind: Some(SocketAddr::new(source.address, 0)),
                device: source.device,
                ..usual
            },
            None => usual,
        }
    }

    /// One line on how the connections fall on the paths; `None` when there is one path only.
    pub fn describe(&self, addresses: usize, connections: u64) -> Option<String> {
        let paths = self.count(addresses) as u64;
        if paths < 2 {
            return None;
        }
        let each = match (connections / paths, connections % paths) {
            (each, 0) => format!("{each}"),
            (each, _) => format!("{each} or {}", each + 1),
        };
        Some(format!(
            "{paths} ({} by {addresses}), {connections} connections, {each} on each",
            self.sources.len().max(1)
        ))
    }

    /// What to say when there are fewer connections than paths.
    pub fn shortage(&self, addresses: usize, connections: u64) -> Option<String> {
        let paths = self.count(addresses) as u64;
        (connections < paths).then(|| {
            format!(
                "{connections} connections use {connections} of {paths} paths only: more connections, jobs or lanes use all"
            )
        })
    }
}

/// The least common multiple.
fn multiple(one: usize, other: usize) -> usize {
    let (mut divisor, mut rest) = (one, other);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    one / divisor * other
}

/// Reads the server's addresses, each as `IP` or `IP:PORT` (`[IPv6]:PORT`), with commas between them.
///
/// # Errors
/// In words: something is no address, stands there twice, or the kinds are mixed.
pub fn addresses(text: &str) -> Result<Vec<DataAddress>, String> {
    let mut found: Vec<DataAddress> = Vec::new();
    for item in text.split(',').map(str::trim) {
        let plain = item.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let address = match (plain, item.parse::<SocketAddr>()) {
            (Ok(ip), _) => DataAddress { ip, port: None },
            (_, Ok(whole)) if whole.port() > 0 => DataAddress { ip: whole.ip(), port: Some(whole.port()) },
            _ => {
                return Err(format!(
                    "\"{item}\" is no address: write IP or IP:PORT, with commas between them"
                ));
            }
        };
        if found.contains(&address) {
            return Err(format!("{item} stands there twice"));
        }
        found.push(address);
    }
    let ips: Vec<IpAddr> = found.iter().map(|address| address.ip).collect();
    family(&ips)?;
    Ok(found)
}

/// Reads local addresses and names of interfaces, with commas between them. Connections go to `remotes`, whose kind
/// (IPv4 or IPv6) the addresses of interfaces are of.
///
/// # Errors
/// In words: an address is not of this machine, an interface is not there or has no address of the kind, or the kinds are
/// mixed; and what to do next.
pub fn sources(text: &str, remotes: &[IpAddr]) -> Result<Vec<Source>, String> {
    let v6 = family(remotes)?;
    let own = interfaces::addresses();
    let mut sources: Vec<Source> = Vec::new();
    for item in text.split(',').map(str::trim) {
        let source = match item.parse::<IpAddr>() {
            Ok(address) => from_address(address, v6)?,
            Err(_) => from_interface(item, v6, &own)?,
        };
        if sources.iter().any(|known| known.address == source.address) {
            return Err(format!("{item} stands there twice"));
        }
        sources.push(source);
    }
    Ok(sources)
}

/// Whether all are of IPv6.
fn family(remotes: &[IpAddr]) -> Result<Option<bool>, String> {
    let v6 = remotes.first().map(IpAddr::is_ipv6);
    if let Some(other) = remotes.iter().find(|other| Some(other.is_ipv6()) != v6) {
        let first = remotes[0];
        return Err(format!("{first} and {other}: IPv4 and IPv6 do not mix, give addresses of one kind"));
    }
    Ok(v6)
}

fn from_address(address: IpAddr, v6: Option<bool>) -> Result<Source, String> {
    if v6.is_some_and(|v6| v6 != address.is_ipv6()) {
        let kind = |v6: bool| if v6 { "IPv6" } else { "IPv4" };
        return Err(format!(
            "{address} is of {}, and the server's addresses are of {}: give local addresses of the same kind",
            kind(address.is_ipv6()),
            kind(!address.is_ipv6())
        ));
    }
    if !interfaces::is_own(address) {
        return Err(format!("{address} is no address of this machine: \"ip address\" lists those that are"));
    }
    Ok(Source { address, device: None, unbound: None })
}

fn from_interface(
    name: &str,
    v6: Option<bool>,
    own: &[interfaces::InterfaceAddress],
) -> Result<Source, String> {
    let there = || std::path::Path::new("/sys/class/net").join(name).exists();
    if name.is_empty() || name.contains('/') || !(own.iter().any(|known| known.interface == name) || there())
    {
        let mut names: Vec<&str> = own.iter().map(|known| known.interface.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        return Err(format!(
            "\"{name}\" is neither an address nor a network interface of this machine; there are {}",
            names.join(", ")
        ));
    }
    let usable = |address: &IpAddr| match address {
        IpAddr::V4(_) => v6 != Some(true),
        // Addresses of one link only need a zone, which servers' addresses do not have.
        IpAddr::V6(address) => v6 != Some(false) && !address.is_unicast_link_local(),
    };
    let of_it = own.iter().filter(|known| known.interface == name).map(|known| known.address);
    let Some(address) = of_it.into_iter().find(usable) else {
        let kind = if v6 == Some(true) { "IPv6" } else { "IPv4" };
        return Err(format!("the interface {name} has no {kind} address: give it one, or choose another"));
    };
    let device =
        Device::new(name).ok_or_else(|| format!("\"{name}\" is too long for an interface's name"))?;
    Ok(match device.probe() {
        Ok(()) => Source { address, device: Some(device), unbound: None },
        Err(error) => {
            Source { address, device: None, unbound: Some(format!("SO_BINDTODEVICE {name}: {error}")) }
        }
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn some(count: u8) -> Vec<Source> {
        let source = |last| Source { address: IpAddr::from([127, 0, 0, last]), device: None, unbound: None };
        (1..=count).map(source).collect()
    }

    #[test]
    fn every_pair_gets_its_share() {
        for (sources, addresses) in [(1, 1), (2, 2), (2, 4), (4, 2), (3, 2), (6, 4), (1, 5), (0, 3)] {
            let paths = Paths { sources: some(sources), pairing: Pairing::Every };
            let count = paths.count(addresses);
            assert_eq!(count, sources.max(1) as usize * addresses);
            let mut pairs: BTreeMap<(Option<IpAddr>, usize), u32> = BTreeMap::new();
            for number in 0..3 * count as u64 {
                let (source, address) = paths.of(number, addresses);
                *pairs.entry((source.map(|source| source.address), address)).or_default() += 1;
            }
            assert_eq!(pairs.len(), count, "{sources} by {addresses}");
            assert!(pairs.values().all(|uses| *uses == 3), "{sources} by {addresses}: {pairs:?}");
            // Few connections use as many sources and addresses as they can.
            let few: Vec<_> = (0..2).map(|number| paths.of(number, addresses)).collect();
            assert!(few[0].1 != few[1].1 || addresses == 1);
            assert!(few[0].0 != few[1].0 || sources < 2);
        }
    }

    #[test]
    fn rails_keep_to_themselves() {
        let paths = Paths { sources: some(2), pairing: Pairing::InTurn };
        assert_eq!((paths.count(2), paths.count(4)), (2, 4));
        for number in 0..16 {
            let (source, address) = paths.of(number, 4);
            assert_eq!(source.unwrap().address, paths.sources[address % 2].address);
        }
    }

    #[test]
    fn too_few_connections_are_told() {
        let paths = Paths { sources: some(2), pairing: Pairing::Every };
        assert_eq!(paths.shortage(2, 4), None);
        assert!(paths.shortage(2, 3).unwrap().starts_with("3 connections use 3 of 4 paths only"));
        assert_eq!(paths.describe(2, 6).unwrap(), "4 (2 by 2), 6 connections, 1 or 2 on each");
        assert_eq!(Paths::default().describe(1, 6), None);
    }

    #[test]
    fn addresses_of_servers_are_read() {
        let read = addresses("10.0.0.1, 10.0.0.2:2050").unwrap();
        assert_eq!(read.iter().map(|address| address.port).collect::<Vec<_>>(), [None, Some(2050)]);
        assert_eq!(addresses("[2001:db8::1]:80,2001:db8::2,[2001:db8::3]").unwrap().len(), 3);
        for (text, problem) in [
            ("", "\"\" is no address"),
            ("host", "\"host\" is no address"),
            ("10.0.0.1:0", "\"10.0.0.1:0\" is no address"),
            ("10.0.0.1,10.0.0.1", "10.0.0.1 stands there twice"),
            ("10.0.0.1,::1", "10.0.0.1 and ::1: IPv4 and IPv6 do not mix"),
        ] {
            let error = addresses(text).unwrap_err();
            assert!(error.starts_with(problem), "{error}");
        }
    }

    #[test]
    fn sources_are_read() {
        let remote: [IpAddr; 1] = ["127.0.0.1".parse().unwrap()];
        let both = sources("127.0.0.2, lo", &remote).unwrap();
        assert_eq!(both[0].address, IpAddr::from([127, 0, 0, 2]));
        assert_eq!(both[1].address, IpAddr::from([127, 0, 0, 1]));
        assert_eq!(both[1].device.is_some(), both[1].unbound.is_none());
        for (text, problem) in [
            ("192.0.2.1", "192.0.2.1 is no address of this machine"),
            (
                "no-such-0",
                "\"no-such-0\" is neither an address nor a network interface of this machine; there are",
            ),
            ("::1", "::1 is of IPv6, and the server's addresses are of IPv4"),
            ("127.0.0.2,127.0.0.2", "127.0.0.2 stands there twice"),
            ("", "\"\" is neither"),
        ] {
            let error = sources(text, &remote).unwrap_err();
            assert!(error.starts_with(problem) && !error.contains('\n'), "{error}");
        }
        let mixed: [IpAddr; 2] = [remote[0], "::1".parse().unwrap()];
        assert!(sources("lo", &mixed).unwrap_err().contains("IPv4 and IPv6 do not mix"));
    }
}
