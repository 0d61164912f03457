//! Where the OSDs of a cluster are, as its monitors know.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use serde::Deserialize;

/// The OSDs of a cluster, by the public address that clients use. Those that were never up have none. In JSON it is what the
/// monitors answer to `osd dump`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Dump")]
pub struct OsdMap {
    at: BTreeMap<IpAddr, OsdsAtAddress>,
}

/// The OSDs at an address, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OsdsAtAddress {
    /// Those that are up.
    pub up: BTreeSet<u32>,
    /// Those that are down, at the address that they had.
    pub down: BTreeSet<u32>,
}

#[derive(Deserialize)]
struct Dump {
    osds: Vec<Osd>,
}

#[derive(Deserialize)]
struct Osd {
    osd: u32,
    up: u8,
    #[serde(default)]
    public_addr: String,
    #[serde(default)]
    public_addrs: Addresses,
}

/// One address for each version of the protocol.
#[derive(Default, Deserialize)]
struct Addresses {
    #[serde(default)]
    addrvec: Vec<Address>,
}

#[derive(Deserialize)]
struct Address {
    addr: String,
}

impl Osd {
    fn address(&self) -> Option<IpAddr> {
        let all = self.public_addrs.addrvec.iter().map(|address| &*address.addr);
        all.chain([&*self.public_addr]).find_map(address_of)
    }
}

/// The address of `10.0.0.1:6800/123456`: address, port, nonce.
pub fn address_of(text: &str) -> Option<IpAddr> {
    let address: SocketAddr = text.split('/').next()?.parse().ok()?;
    Some(address.ip()).filter(|ip| !ip.is_unspecified())
}

/// `16.2.15` of `ceph version 16.2.15 (hash) pacific (stable)`.
pub fn short_version(text: &str) -> &str {
    text.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(text)
}

impl From<Dump> for OsdMap {
    fn from(dump: Dump) -> Self {
        let mut at: BTreeMap<IpAddr, OsdsAtAddress> = BTreeMap::new();
        for osd in &dump.osds {
            if let Some(address) = osd.address() {
                let here = at.entry(address).or_default();
                if osd.up == 1 { &mut here.up } else { &mut here.down }.insert(osd.osd);
            }
        }
        Self { at }
    }
}

impl OsdMap {
    /// The public addresses, in order, each with its OSDs.
    pub fn addresses(&self) -> impl Iterator<Item = (IpAddr, &OsdsAtAddress)> {
        self.at.iter().map(|(address, osds)| (*address, osds))
    }

    /// The numbers of the OSDs that are up at this address; `None` without any.
    pub fn up_at(&self, address: IpAddr) -> Option<&BTreeSet<u32>> {
        self.at.get(&address).map(|osds| &osds.up).filter(|up| !up.is_empty())
    }

    /// Number of OSDs, up or down.
    pub fn count(&self) -> usize {
        self.at.values().map(|osds| osds.up.len() + osds.down.len()).sum()
    }

    /// Addresses with OSDs that are up, for a message.
    pub(super) fn listed(&self) -> String {
        let up = || self.at.iter().filter(|(_, osds)| !osds.up.is_empty());
        let all: Vec<String> = up().take(10).map(|(address, _)| address.to_string()).collect();
        let more = if up().count() > all.len() { ", …" } else { "" };
        format!("{}{more}", all.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn osds_are_found_by_the_addresses_of_either_protocol() {
        let json = r#"{"epoch": 9, "osds": [
            {"osd": 0, "up": 1, "in": 1, "public_addr": "10.0.0.1:6801/7",
             "public_addrs": {"addrvec": [{"type": "v2", "addr": "10.0.0.1:6800", "nonce": 7}]}},
            {"osd": 1, "up": 1, "in": 1, "public_addr": "10.0.0.1:6805/8"},
            {"osd": 2, "up": 1, "in": 0, "public_addr": "-",
             "public_addrs": {"addrvec": [{"type": "v2", "addr": "[fd00::2]:6800", "nonce": 7}]}},
            {"osd": 4, "up": 0, "in": 1, "public_addr": "10.0.0.3:6801/9"},
            {"osd": 3, "up": 0, "in": 0, "public_addr": "0.0.0.0:0/0", "public_addrs": {"addrvec": []}}]}"#;
        let map: OsdMap = serde_json::from_str(json).unwrap();
        let found: Vec<(String, Vec<u32>, Vec<u32>)> = map
            .addresses()
            .map(|(address, osds)| {
                (address.to_string(), osds.up.iter().copied().collect(), osds.down.iter().copied().collect())
            })
            .collect();
        let expected =
            [("10.0.0.1", vec![0, 1], vec![]), ("10.0.0.3", vec![], vec![4]), ("fd00::2", vec![2], vec![])];
        assert_eq!(found, expected.map(|(address, up, down)| (address.to_owned(), up, down)));
        assert_eq!((map.count(), &*map.listed()), (4, "10.0.0.1, fd00::2"));
        let up = |address: &str| map.up_at(address.parse().unwrap()).map(BTreeSet::len);
        assert_eq!((up("10.0.0.1"), up("10.0.0.3"), up("10.0.0.9")), (Some(2), None, None));
        assert!(serde_json::from_str::<OsdMap>("{}").is_err());
    }
}
