//! Paths of connections: which local addresses connect to which of the server's, spread evenly.

use std::net::{IpAddr, SocketAddr};

use reactor::{Device, SocketOptions};

use crate::interfaces;

#[cfg(test)]
mod tests;

/// Where connections leave this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceAddress {
    /// The local address.
    pub address: IpAddr,
    /// The interface, if one was named; packets leave by it whatever the routes say.
    pub device: Option<Device>,
    /// Why packets are not bound to the named interface; routing decides then.
    pub unbound: Option<String>,
}

/// An address of a server, with its port where that differs from the default or the requested one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataAddress {
    /// The address.
    pub ip: IpAddr,
    /// Its port.
    pub port: Option<u16>,
}

/// How sources and server addresses are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pairing {
    /// Each source with each address.
    #[default]
    Every,
    /// The first source with the first address, the second with the second, repeating the shorter list: for networks
    /// that cannot reach each other.
    InTurn,
}

/// The paths shared by the connections of all workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths {
    /// Local addresses; empty lets routing decide.
    pub sources: Vec<SourceAddress>,
    /// How sources and server addresses are combined.
    pub pairing: Pairing,
}

impl Paths {
    /// Number of distinct paths to this many addresses of the server.
    pub fn count(&self, addresses: usize) -> usize {
        let sources = self.sources.len().max(1);
        match self.pairing {
            Pairing::Every => sources * addresses.max(1),
            Pairing::InTurn => multiple(sources, addresses.max(1)),
        }
    }

    /// The source and the index of the server address for connection `number`, counted over all workers. As many
    /// consecutive connections as there are paths use each path once; fewer are spread evenly over sources and
    /// addresses.
    pub fn of(&self, number: u64, addresses: usize) -> (Option<&SourceAddress>, usize) {
        let (sources, addresses) = (self.sources.len().max(1), addresses.max(1));
        let source = (number % sources as u64) as usize;
        // After each full round, the pairing is shifted by one.
        let shift = match self.pairing {
            Pairing::Every => number / multiple(sources, addresses) as u64,
            Pairing::InTurn => 0,
        };
        let address = ((number % addresses as u64 + shift % addresses as u64) % addresses as u64) as usize;
        (self.sources.get(source), address)
    }

    /// The socket options of a connection from this source.
    pub fn options(source: Option<&SourceAddress>, usual: SocketOptions) -> SocketOptions {
        match source {
            Some(source) => SocketOptions {
                bind: Some(SocketAddr::new(source.address, 0)),
                device: source.device,
                ..usual
            },
            None => usual,
        }
    }

    /// One line on how the connections are distributed over the paths; `None` when there is only one path.
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

    /// Warning when there are fewer connections than paths.
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

/// Why a list of addresses cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Something in it is no address of a server.
    #[error("\"{0}\" is no address: write IP or IP:PORT, with commas between them")]
    NoAddress(String),
    /// Something stands there twice.
    #[error("{0} stands there twice")]
    Twice(String),
    /// Addresses of both kinds.
    #[error("{first} and {other}: IPv4 and IPv6 do not mix, give addresses of one kind")]
    Mixed {
        /// The first address.
        first: IpAddr,
        /// The first of the other kind.
        other: IpAddr,
    },
    /// A local address is of another kind than the server's.
    #[error(
        "{address} is of {}, and the server's addresses are of {}: give local addresses of the same kind",
        kind(address.is_ipv6()),
        kind(!address.is_ipv6())
    )]
    OtherKind {
        /// The local address.
        address: IpAddr,
    },
    /// An address is none of this machine.
    #[error("{0} is no address of this machine: \"ip address\" lists those that are")]
    NotOwn(IpAddr),
    /// A name is neither an address nor an interface.
    #[error("\"{name}\" is neither an address nor a network interface of this machine; there are {}", there.join(", "))]
    NoInterface {
        /// What was written.
        name: String,
        /// The interfaces that are there.
        there: Vec<String>,
    },
    /// An interface has no address of the kind that is needed.
    #[error("the interface {interface} has no {} address: give it one, or choose another", kind(*v6))]
    InterfaceWithoutAddress {
        /// Its name.
        interface: String,
        /// One of IPv6 is needed.
        v6: bool,
    },
    /// No interface has so long a name.
    #[error("\"{0}\" is too long for an interface's name")]
    TooLong(String),
}

fn kind(v6: bool) -> &'static str {
    if v6 { "IPv6" } else { "IPv4" }
}

/// Parses the server's addresses, each `IP` or `IP:PORT` (`[IPv6]:PORT`), separated by commas.
///
/// # Errors
/// An entry is no address, appears twice, or the address families are mixed.
pub fn addresses(text: &str) -> Result<Vec<DataAddress>, PathError> {
    let mut found: Vec<DataAddress> = Vec::new();
    for item in text.split(',').map(str::trim) {
        let plain = item.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        let address = match (plain, item.parse::<SocketAddr>()) {
            (Ok(ip), _) => DataAddress { ip, port: None },
            (_, Ok(whole)) if whole.port() > 0 => DataAddress { ip: whole.ip(), port: Some(whole.port()) },
            _ => {
                return Err(PathError::NoAddress(item.to_owned()));
            }
        };
        if found.contains(&address) {
            return Err(PathError::Twice(item.to_owned()));
        }
        found.push(address);
    }
    let ips: Vec<IpAddr> = found.iter().map(|address| address.ip).collect();
    family(&ips)?;
    Ok(found)
}

/// Parses local addresses and interface names, separated by commas. Connections go to `remotes`, whose family (IPv4 or
/// IPv6) determines which addresses of an interface are used.
///
/// # Errors
/// An address does not belong to this machine, an interface does not exist or has no address of the family, or the
/// families are mixed.
pub fn sources(text: &str, remotes: &[IpAddr]) -> Result<Vec<SourceAddress>, PathError> {
    let v6 = family(remotes)?;
    let own = interfaces::addresses();
    let mut sources: Vec<SourceAddress> = Vec::new();
    for item in text.split(',').map(str::trim) {
        let source = match item.parse::<IpAddr>() {
            Ok(address) => from_address(address, v6)?,
            Err(_) => from_interface(item, v6, &own)?,
        };
        if sources.iter().any(|known| known.address == source.address) {
            return Err(PathError::Twice(item.to_owned()));
        }
        sources.push(source);
    }
    Ok(sources)
}

/// Whether all are IPv6.
fn family(remotes: &[IpAddr]) -> Result<Option<bool>, PathError> {
    let v6 = remotes.first().map(IpAddr::is_ipv6);
    if let Some(other) = remotes.iter().find(|other| Some(other.is_ipv6()) != v6) {
        return Err(PathError::Mixed { first: remotes[0], other: *other });
    }
    Ok(v6)
}

fn from_address(address: IpAddr, v6: Option<bool>) -> Result<SourceAddress, PathError> {
    if v6.is_some_and(|v6| v6 != address.is_ipv6()) {
        return Err(PathError::OtherKind { address });
    }
    if !interfaces::is_own(address) {
        return Err(PathError::NotOwn(address));
    }
    Ok(SourceAddress { address, device: None, unbound: None })
}

fn from_interface(
    name: &str,
    v6: Option<bool>,
    own: &[interfaces::InterfaceAddress],
) -> Result<SourceAddress, PathError> {
    let there = || std::path::Path::new("/sys/class/net").join(name).exists();
    if name.is_empty() || name.contains('/') || !(own.iter().any(|known| known.interface == name) || there())
    {
        let mut there: Vec<String> = own.iter().map(|known| known.interface.clone()).collect();
        there.sort_unstable();
        there.dedup();
        return Err(PathError::NoInterface { name: name.to_owned(), there });
    }
    let usable = |address: &IpAddr| match address {
        IpAddr::V4(_) => v6 != Some(true),
        // Link-local addresses need a zone, which server addresses lack.
        IpAddr::V6(address) => v6 != Some(false) && !address.is_unicast_link_local(),
    };
    let of_it = own.iter().filter(|known| known.interface == name).map(|known| known.address);
    let Some(address) = of_it.into_iter().find(usable) else {
        let interface = name.to_owned();
        return Err(PathError::InterfaceWithoutAddress { interface, v6: v6 == Some(true) });
    };
    let device = Device::new(name).ok_or_else(|| PathError::TooLong(name.to_owned()))?;
    Ok(match device.probe() {
        Ok(()) => SourceAddress { address, device: Some(device), unbound: None },
        Err(error) => {
            SourceAddress { address, device: None, unbound: Some(format!("SO_BINDTODEVICE {name}: {error}")) }
        }
    })
}
