//! The network interfaces of this machine and their addresses.

use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// An address of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// The interface's name, such as `eth0`.
    pub interface: String,
    /// The address.
    pub address: IpAddr,
}

/// All addresses of this machine, with interfaces in the kernel's order (getifaddrs(3)); empty when unavailable.
pub fn addresses() -> Vec<InterfaceAddress> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the result is written to `list`, which is freed exactly once below.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut at = list.cast_const();
    // SAFETY: every entry of the list, its name and its address are valid until freeifaddrs(3).
    while let Some(entry) = unsafe { at.as_ref() } {
        at = entry.ifa_next;
        // SAFETY: as above; an interface without an address has a null pointer.
        let Some(address) = (unsafe { address_of(entry.ifa_addr) }) else { continue };
        // SAFETY: as above.
        let interface = unsafe { CStr::from_ptr(entry.ifa_name) }.to_string_lossy().into_owned();
        found.push(InterfaceAddress { interface, address });
    }
    // SAFETY: it came from getifaddrs(3).
    unsafe { libc::freeifaddrs(list) };
    found
}

/// The interface that has this address.
pub fn interface_of(wanted: IpAddr) -> Option<String> {
    let wanted = wanted.to_canonical();
    if wanted.is_loopback() {
        // All of 127.0.0.0/8 is local, listed or not.
        return Some("lo".to_owned());
    }
    addresses().into_iter().find(|known| known.address == wanted).map(|known| known.interface)
}

/// Fills in the outgoing interface of each path.
pub fn name_interfaces(paths: &mut [metrics::PathFacts]) {
    if paths.is_empty() {
        return;
    }
    let known = addresses();
    for path in paths {
        let local = path.local.to_canonical();
        path.interface = match known.iter().find(|known| known.address == local) {
            Some(found) => Some(found.interface.clone()),
            None if local.is_loopback() => Some("lo".to_owned()),
            None => None,
        };
    }
}

/// True when connections can originate from this address.
pub fn is_own(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// An interface's MTU in bytes (/sys/class/net/NAME/mtu); `None` when unavailable.
pub fn mtu(interface: &str) -> Option<u32> {
    let path = std::path::Path::new("/sys/class/net").join(interface).join("mtu");
    std::fs::read_to_string(path).ok()?.trim().parse().ok().filter(|_| !interface.contains('/'))
}

/// Why the NUMA node of an interface's card is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumaNodeError {
    /// There is no such interface.
    #[error("there is no network interface {0}")]
    NoInterface(String),
    /// No card is behind it.
    #[error("the interface {0} has no card of its own")]
    NoCard(String),
    /// The machine knows no nodes.
    #[error("the machine does not say on which NUMA node the card of {0} is")]
    Unknown(String),
}

/// The NUMA node of an interface's NIC (/sys/class/net/NAME/device/numa_node).
///
/// # Errors
/// There is no such interface, it has no NIC, or the machine has no NUMA nodes.
pub fn numa_node(interface: &str) -> Result<u32, NumaNodeError> {
    let card = format!("/sys/class/net/{interface}");
    if interface.contains('/') || !std::path::Path::new(&card).exists() {
        return Err(NumaNodeError::NoInterface(interface.to_owned()));
    }
    let text = std::fs::read_to_string(format!("{card}/device/numa_node"))
        .map_err(|_| NumaNodeError::NoCard(interface.to_owned()))?;
    // -1: the firmware does not say.
    text.trim().parse().map_err(|_| NumaNodeError::Unknown(interface.to_owned()))
}

/// # Safety
/// The pointer is null or points to a socket address of its family's size.
unsafe fn address_of(pointer: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: guaranteed by the caller.
    let family = i32::from(unsafe { pointer.as_ref() }?.sa_family);
    match family {
        libc::AF_INET => {
            // SAFETY: an address of this family has this structure.
            let address = unsafe { pointer.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: an address of this family has this structure.
            let address = unsafe { pointer.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(Ipv6Addr::from(address.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_found() {
        let own = addresses();
        let loopback = own.iter().find(|known| known.address == IpAddr::V4(Ipv4Addr::LOCALHOST)).unwrap();
        assert_eq!(interface_of("127.0.0.9".parse().unwrap()).unwrap(), loopback.interface);
        assert!(is_own("127.0.0.7".parse().unwrap()) && !is_own("192.0.2.1".parse().unwrap()));
    }

    #[test]
    fn an_interface_without_a_card_has_no_node() {
        assert!(numa_node("lo").unwrap_err().to_string().contains("no card"));
        assert!(numa_node("no-such-0").unwrap_err().to_string().contains("no network interface no-such-0"));
        assert!(numa_node("../lo").is_err());
    }
}
