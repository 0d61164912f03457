//! Clients of an export rule.

use std::net::IpAddr;

/// An address, or all addresses with the same prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientRange {
    address: IpAddr,
    prefix_bits: u8,
}

impl ClientRange {
    /// Parses `10.0.0.5` or `10.0.0.0/24`; `None` for anything else, such as a host name or a netgroup, which the
    /// simulated array cannot look up.
    pub fn parse(text: &str) -> Option<Self> {
        let (address, bits) =
            text.split_once('/').map_or((text, None), |(address, bits)| (address, Some(bits)));
        let address: IpAddr = address.parse().ok()?;
        let all = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits = bits.map_or(Some(all), |bits| bits.parse().ok())?;
        (prefix_bits <= all).then_some(Self { address, prefix_bits })
    }

    /// Whether a client is included.
    pub fn contains(&self, client: IpAddr) -> bool {
        match (self.address, client) {
            (IpAddr::V4(own), IpAddr::V4(client)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(self.prefix_bits)).unwrap_or(0);
                (own.to_bits() ^ client.to_bits()) & mask == 0
            }
            (IpAddr::V6(own), IpAddr::V6(client)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(self.prefix_bits)).unwrap_or(0);
                (own.to_bits() ^ client.to_bits()) & mask == 0
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_contain_what_begins_with_the_same_bits() {
        let contains =
            |range: &str, client: &str| ClientRange::parse(range).unwrap().contains(client.parse().unwrap());
        assert!(contains("10.0.0.0/24", "10.0.0.255") && !contains("10.0.0.0/24", "10.0.1.0"));
        assert!(contains("10.0.0.5", "10.0.0.5") && !contains("10.0.0.5", "10.0.0.6"));
        assert!(contains("0.0.0.0/0", "9.9.9.9") && !contains("0.0.0.0/0", "::1"));
        assert!(contains("fd00::/8", "fd12::1") && !contains("fd00::/8", "fe80::1"));
        for wrong in ["", "*", "@group", "host", "10.0.0.0/33", "10.0.0.0/x"] {
            assert!(ClientRange::parse(wrong).is_none(), "{wrong:?}");
        }
    }
}
