//! Network interfaces and subnets: fixed by the configuration.

use std::net::IpAddr;

use serde_json::{Map, Value, json};

use super::version::Version;
use crate::objects::uuid;

/// A network interface.
#[derive(Clone, Debug)]
pub(crate) struct Interface {
    pub(crate) name: String,
    pub(crate) address: IpAddr,
    pub(crate) prefix_bits: u8,
    pub(crate) subnet: String,
    pub(crate) mtu: u32,
    /// `data`, `management` or `replication`.
    pub(crate) service: &'static str,
    pub(crate) enabled: bool,
}

/// All interfaces, and the subnets they are in.
#[derive(Debug)]
pub(crate) struct Network {
    /// Each interface with its id.
    interfaces: Vec<(String, Interface)>,
    /// Name and id of each subnet, in order of name.
    subnets: Vec<(String, String)>,
}

impl Network {
    /// A network with these interfaces.
    pub(crate) fn new(mut interfaces: Vec<Interface>) -> Self {
        interfaces.sort_by(|a, b| a.name.cmp(&b.name));
        let mut names: Vec<String> = interfaces.iter().map(|interface| interface.subnet.clone()).collect();
        names.sort();
        names.dedup();
        Self {
            interfaces: interfaces.into_iter().map(|interface| (uuid(), interface)).collect(),
            subnets: names.into_iter().map(|name| (name, uuid())).collect(),
        }
    }

    fn subnet_id(&self, name: &str) -> &str {
        self.subnets.iter().find(|(found, _)| found == name).map_or("", |(_, id)| id)
    }

    /// The interfaces in the form of a version.
    pub(super) fn interfaces(&self, version: Version) -> Vec<Value> {
        let one = |(id, interface): &(String, Interface)| {
            let mut item = json!({
                "name": interface.name,
                "address": interface.address,
                "enabled": interface.enabled,
                "gateway": last_host(interface.address, interface.prefix_bits),
                "mtu": interface.mtu,
                "netmask": netmask(interface.address, interface.prefix_bits),
                "services": [interface.service],
                "type": "vip",
                "vlan": 0,
            });
            if let Some(fields) = item.as_object_mut().filter(|_| version.since(9)) {
                fields.insert("id".into(), json!(id));
                let reference =
                    reference(version, "subnets", self.subnet_id(&interface.subnet), &interface.subnet);
                fields.insert("subnet".into(), reference);
            }
            item
        };
        self.interfaces.iter().map(one).collect()
    }

    /// The subnets in the form of a version.
    pub(super) fn subnets(&self, version: Version) -> Vec<Value> {
        let one = |(name, id): &(String, String)| {
            let members: Vec<_> = self.interfaces.iter().filter(|(_, found)| &found.subnet == name).collect();
            let (_, first) = members.first()?;
            let mut services: Vec<&str> = members.iter().map(|(_, found)| found.service).collect();
            services.dedup();
            let references =
                members.iter().map(|(id, found)| reference(version, "network-interfaces", id, &found.name));
            let mut item = json!({
                "name": name,
                "enabled": true,
                "gateway": last_host(first.address, first.prefix_bits),
                "interfaces": references.collect::<Vec<_>>(),
                "link_aggregation_group": { "name": "uplink" },
                "mtu": first.mtu,
                "prefix": format!("{}/{}", network_of(first.address, first.prefix_bits), first.prefix_bits),
                "services": services,
                "vlan": 0,
            });
            if let Some(fields) = item.as_object_mut().filter(|_| version.since(9)) {
                fields.insert("id".into(), json!(id));
            }
            Some(item)
        };
        self.subnets.iter().filter_map(one).collect()
    }
}

/// A reference to another resource.
pub(super) fn reference(version: Version, kind: &str, id: &str, name: &str) -> Value {
    let mut fields = Map::new();
    fields.insert("name".into(), json!(name));
    if version.since(8) {
        fields.insert("id".into(), json!(id));
    }
    if version.since(9) {
        fields.insert("resource_type".into(), json!(kind));
    }
    Value::Object(fields)
}

/// The bits of an address, left-aligned, and their number.
fn bits(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()) << 96, 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    }
}

fn from_bits(like: IpAddr, bits: u128) -> IpAddr {
    match like {
        IpAddr::V4(_) => IpAddr::V4(((bits >> 96) as u32).into()),
        IpAddr::V6(_) => IpAddr::V6(bits.into()),
    }
}

fn mask(prefix_bits: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(prefix_bits)).unwrap_or(0)
}

fn netmask(address: IpAddr, prefix_bits: u8) -> IpAddr {
    from_bits(address, mask(prefix_bits))
}

fn network_of(address: IpAddr, prefix_bits: u8) -> IpAddr {
    from_bits(address, bits(address).0 & mask(prefix_bits))
}

/// The second-to-last address of a network, the usual place of a gateway.
fn last_host(address: IpAddr, prefix_bits: u8) -> IpAddr {
    let (all, width) = bits(address);
    let unit = 1u128 << (128 - width);
    from_bits(address, (all | !mask(prefix_bits)) - unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_computed() {
        let address: IpAddr = "127.0.1.17".parse().unwrap();
        assert_eq!(netmask(address, 24).to_string(), "255.255.255.0");
        assert_eq!(network_of(address, 24).to_string(), "127.0.1.0");
        assert_eq!(last_host(address, 24).to_string(), "127.0.1.254");
        let six: IpAddr = "fd00::1:5".parse().unwrap();
        assert_eq!(network_of(six, 64).to_string(), "fd00::");
        assert_eq!(last_host(six, 64).to_string(), "fd00::ffff:ffff:ffff:fffe");
    }
}
