//! Chooses the data addresses of an array to test: one per subnet, with the reasons.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::Deserialize;

/// A chosen data address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataInterface {
    /// The address.
    pub address: IpAddr,
    /// Name of its subnet; empty if the array gives none.
    pub subnet: String,
    /// Name of the network interface.
    pub interface: String,
    /// MTU in bytes configured on the array for it.
    pub mtu: Option<u32>,
}

/// The addresses to test, with the reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressChoice {
    /// One for each subnet with an enabled data interface, in order of address.
    pub chosen: Vec<DataInterface>,
    /// One printable line per interface: why it was chosen or skipped.
    pub reasons: Vec<String>,
}

/// A network interface, as listed by both API generations.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Interface {
    pub name: String,
    #[serde(default)]
    pub address: Option<String>,
    #[serde(default)]
    pub enabled: Option<bool>,
    #[serde(default)]
    pub mtu: Option<u32>,
    #[serde(default)]
    pub services: Option<Vec<String>>,
    #[serde(default)]
    pub subnet: Option<Reference>,
    #[serde(default)]
    pub attached_servers: Option<Vec<Reference>>,
}

/// A subnet, as listed by both API generations.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Subnet {
    pub name: String,
    #[serde(default)]
    pub enabled: Option<bool>,
    #[serde(default)]
    pub mtu: Option<u32>,
    #[serde(default)]
    pub prefix: Option<String>,
    #[serde(default)]
    pub interfaces: Option<Vec<Reference>>,
}

/// A reference to another object.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Reference {
    #[serde(default)]
    pub name: Option<String>,
}

/// The array's own server, which exports everything not assigned to another (since API 2.19).
const OWN_SERVER: &str = "_array_server";

/// Chooses one address per subnet.
pub(crate) fn choose(interfaces: &[Interface], subnets: &[Subnet]) -> AddressChoice {
    let mut reasons = Vec::new();
    let mut candidates: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
    for interface in interfaces {
        let services = interface.services.as_deref().unwrap_or_default();
        if !services.iter().any(|service| service == "data") {
            continue;
        }
        let subnet = subnet_of(interface, subnets);
        match judge(interface, subnet) {
            Ok(candidate) => candidates.entry(candidate.group()).or_default().push(candidate),
            Err(why) => reasons.push(format!("{} left out: {why}", interface.name)),
        }
    }
    let mut chosen = Vec::new();
    for (_, mut group) in candidates {
        // Interfaces of the array's own server come first, because it exports our file system.
        group.sort_by(|a, b| {
            (a.foreign.is_some(), &a.found.interface).cmp(&(b.foreign.is_some(), &b.found.interface))
        });
        let mut group = group.into_iter();
        let Some(first) = group.next() else { continue };
        let subnet = if first.found.subnet.is_empty() {
            "no named subnet".to_owned()
        } else {
            format!("subnet {}", first.found.subnet)
        };
        let mtu = first.found.mtu.map(|mtu| format!(", MTU {mtu}")).unwrap_or_default();
        let attached = first
            .foreign
            .as_ref()
            .map(|server| format!(", attached to server {server}, not to the array's own"))
            .unwrap_or_default();
        reasons.push(format!(
            "{} ({}) chosen for {subnet}{mtu}{attached}",
            first.found.interface, first.found.address
        ));
        for other in group {
            reasons.push(format!(
                "{} ({}) left out: {subnet} is tested through {}",
                other.found.interface, other.found.address, first.found.interface
            ));
        }
        chosen.push(first.found);
    }
    chosen.sort_by_key(|found| found.address);
    AddressChoice { chosen, reasons }
}

struct Candidate {
    found: DataInterface,
    /// The server it is attached to, if not the array's own.
    foreign: Option<String>,
}

impl Candidate {
    /// Grouping key: the subnet, or the interface itself if the array gives none.
    fn group(&self) -> String {
        if self.found.subnet.is_empty() {
            format!("\u{10ffff}{}", self.found.interface)
        } else {
            self.found.subnet.clone()
        }
    }
}

/// Why an interface is left out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum Unsuitable {
    #[error("it has no address")]
    NoAddress,
    #[error("{0:?} is not an address")]
    NotAnAddress(String),
    #[error("{0} is disabled")]
    Disabled(IpAddr),
    #[error("the subnet {subnet} of {address} is disabled")]
    SubnetDisabled { subnet: String, address: IpAddr },
}

fn judge(interface: &Interface, subnet: Option<&Subnet>) -> Result<Candidate, Unsuitable> {
    let text = interface.address.as_deref().unwrap_or_default();
    let address: IpAddr = text.parse().map_err(|_| {
        if text.is_empty() { Unsuitable::NoAddress } else { Unsuitable::NotAnAddress(text.to_owned()) }
    })?;
    if interface.enabled == Some(false) {
        return Err(Unsuitable::Disabled(address));
    }
    if let Some(subnet) = subnet.filter(|subnet| subnet.enabled == Some(false)) {
        return Err(Unsuitable::SubnetDisabled { subnet: subnet.name.clone(), address });
    }
    let named = interface.subnet.as_ref().and_then(|subnet| subnet.name.clone());
    let servers: Vec<String> =
        interface.attached_servers.iter().flatten().filter_map(|server| server.name.clone()).collect();
    let foreign = servers.first().filter(|_| !servers.iter().any(|server| server == OWN_SERVER)).cloned();
    let found = DataInterface {
        address,
        subnet: subnet.map(|subnet| subnet.name.clone()).or(named).unwrap_or_default(),
        interface: interface.name.clone(),
        // The subnet's MTU is the configured one; the interface's is derived from it.
        mtu: subnet.and_then(|subnet| subnet.mtu).or(interface.mtu),
    };
    Ok(Candidate { found, foreign })
}

/// The subnet of an interface: by its own reference (since 1.9), by the subnet's list of interfaces, or by the prefix.
fn subnet_of<'a>(interface: &Interface, subnets: &'a [Subnet]) -> Option<&'a Subnet> {
    let named = interface.subnet.as_ref().and_then(|subnet| subnet.name.as_deref());
    let by_name = || subnets.iter().find(|subnet| Some(subnet.name.as_str()) == named);
    let lists = |subnet: &&Subnet| {
        subnet.interfaces.iter().flatten().any(|listed| listed.name.as_deref() == Some(&interface.name))
    };
    let address: Option<IpAddr> = interface.address.as_deref().and_then(|text| text.parse().ok());
    let contains = |subnet: &&Subnet| {
        address.zip(subnet.prefix.as_deref()).is_some_and(|(address, prefix)| within(address, prefix))
    };
    by_name().or_else(|| subnets.iter().find(lists)).or_else(|| subnets.iter().find(contains))
}

/// Whether `address` is in the network `prefix`, written as `10.0.0.0/24`.
fn within(address: IpAddr, prefix: &str) -> bool {
    let Some((network, bits)) = prefix.split_once('/') else { return false };
    let (Ok(network), Ok(bits)) = (network.parse::<IpAddr>(), bits.parse::<u32>()) else { return false };
    let (address, network, width) = match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            (u128::from(address.to_bits()), u128::from(network.to_bits()), 32)
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => (address.to_bits(), network.to_bits(), 128),
        _ => return false,
    };
    bits <= width && (address ^ network).checked_shr(width - bits).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn choice(interfaces: Value, subnets: Value) -> AddressChoice {
        let interfaces: Vec<Interface> = serde_json::from_value(interfaces).unwrap();
        let subnets: Vec<Subnet> = serde_json::from_value(subnets).unwrap();
        choose(&interfaces, &subnets)
    }

    #[test]
    fn one_enabled_data_address_a_subnet_with_reasons() {
        let choice = choice(
            json!([
                {"name": "data2", "address": "10.0.1.2", "enabled": true, "services": ["data"], "subnet": {"name": "a"}, "mtu": 1500},
                {"name": "data1", "address": "10.0.1.1", "enabled": false, "services": ["data"], "subnet": {"name": "a"}},
                {"name": "data3", "address": "10.0.1.3", "services": ["data"], "subnet": {"name": "a"}},
                {"name": "data4", "address": "10.0.0.9", "enabled": true, "services": ["replication", "data"], "subnet": {"name": "b"}},
                {"name": "vir0", "address": "10.0.9.9", "enabled": true, "services": ["management"], "subnet": {"name": "a"}},
                {"name": "data5", "address": "10.0.2.1", "enabled": true, "services": ["data"], "subnet": {"name": "c"}},
                {"name": "data6", "enabled": true, "services": ["data"]},
            ]),
            json!([{"name": "a", "enabled": true, "mtu": 9000}, {"name": "b", "mtu": 1500}, {"name": "c", "enabled": false}]),
        );
        let short: Vec<_> = choice
            .chosen
            .iter()
            .map(|found| (found.address.to_string(), found.subnet.as_str(), found.mtu))
            .collect();
        assert_eq!(
            short,
            [("10.0.0.9".to_owned(), "b", Some(1500)), ("10.0.1.2".to_owned(), "a", Some(9000))]
        );
        assert_eq!(
            choice.reasons,
            [
                "data1 left out: 10.0.1.1 is disabled",
                "data5 left out: the subnet c of 10.0.2.1 is disabled",
                "data6 left out: it has no address",
                "data2 (10.0.1.2) chosen for subnet a, MTU 9000",
                "data3 (10.0.1.3) left out: subnet a is tested through data2",
                "data4 (10.0.0.9) chosen for subnet b, MTU 1500",
            ]
        );
    }

    #[test]
    fn the_subnet_is_found_without_a_reference_to_it() {
        let choice = choice(
            json!([
                {"name": "d1", "address": "10.0.1.1", "services": ["data"]},
                {"name": "d2", "address": "10.0.1.2", "services": ["data"]},
                {"name": "d3", "address": "10.0.2.77", "services": ["data"], "subnet": null},
                {"name": "d4", "address": "fd00::5", "services": ["data"]},
                {"name": "d5", "address": "172.16.0.1", "services": ["data"]},
                {"name": "d6", "address": "172.16.0.2", "services": ["data"]},
            ]),
            json!([
                {"name": "a", "interfaces": [{"name": "d1"}, {"name": "d2"}]},
                {"name": "b", "prefix": "10.0.2.64/26"},
                {"name": "v6", "prefix": "fd00::/64"},
            ]),
        );
        let short: Vec<_> =
            choice.chosen.iter().map(|found| (found.interface.as_str(), found.subnet.as_str())).collect();
        assert_eq!(short, [("d1", "a"), ("d3", "b"), ("d5", ""), ("d6", ""), ("d4", "v6")]);
    }

    #[test]
    fn interfaces_of_the_arrays_own_server_are_preferred() {
        let choice = choice(
            json!([
                {"name": "d1", "address": "10.0.1.1", "services": ["data"], "subnet": {"name": "a"}, "attached_servers": [{"name": "tenant"}]},
                {"name": "d2", "address": "10.0.1.2", "services": ["data"], "subnet": {"name": "a"}, "attached_servers": [{"name": "_array_server"}]},
                {"name": "d3", "address": "10.0.2.1", "services": ["data"], "subnet": {"name": "b"}, "attached_servers": [{"name": "tenant"}]},
            ]),
            json!([]),
        );
        let short: Vec<_> = choice.chosen.iter().map(|found| found.interface.as_str()).collect();
        assert_eq!(short, ["d2", "d3"]);
        assert!(
            choice.reasons.iter().any(|line| line.contains("attached to server tenant")),
            "{:?}",
            choice.reasons
        );
    }

    #[test]
    fn prefixes_contain_their_addresses() {
        let inside = |address: &str, prefix| within(address.parse().unwrap(), prefix);
        assert!(inside("10.1.2.3", "10.1.2.0/24") && !inside("10.1.3.3", "10.1.2.0/24"));
        assert!(inside("10.1.2.3", "0.0.0.0/0") && inside("10.1.2.3", "10.1.2.3/32"));
        assert!(inside("fd00::1", "::/0") && !inside("fd00::1", "10.0.0.0/8"));
        assert!(!inside("10.1.2.3", "10.1.2.0/40") && !inside("10.1.2.3", "nonsense"));
    }
}
