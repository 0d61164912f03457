//! The network card that a connection leaves through, and what the kernel says of it.

use std::ffi::CStr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// A network interface of this client.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Nic {
    /// The kernel's name.
    pub name: String,
    /// Speed of the link in Mbit/s, when the kernel tells: virtual interfaces have none.
    pub speed_mbit: Option<u64>,
    /// Largest packet it is configured for, in bytes.
    pub mtu: Option<u32>,
    /// Whether the other end is this machine.
    pub loopback: bool,
}

/// The interface that holds a connection's local address.
pub fn nic_of(local: IpAddr) -> Option<Nic> {
    let local = local.to_canonical();
    let name = if local.is_loopback() { "lo".to_owned() } else { name_of(local)? };
    Some(describe(Path::new("/sys/class/net"), name, local.is_loopback()))
}

fn describe(classes: &Path, name: String, loopback: bool) -> Nic {
    let read = |file: &str| std::fs::read_to_string(classes.join(&name).join(file)).ok();
    let number = |file: &str| read(file).and_then(|text| text.trim().parse::<i64>().ok());
    Nic {
        // The kernel answers -1 or an error where there is no physical link.
        speed_mbit: number("speed")
            .and_then(|speed| u64::try_from(speed).ok())
            .filter(|speed| *speed > 0 && *speed < u64::from(u32::MAX)),
        mtu: number("mtu").and_then(|mtu| u32::try_from(mtu).ok()),
        name,
        loopback,
    }
}

/// Looks the address up among those that getifaddrs(3) lists.
fn name_of(wanted: IpAddr) -> Option<String> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    // SAFETY: the kernel's answer is written to `list`, which is freed below exactly once.
    if unsafe { libc::getifaddrs(&raw mut list) } != 0 {
        return None;
    }
    let mut found = None;
    let mut at = list;
    while !at.is_null() && found.is_none() {
        // SAFETY: `at` is an entry of the list, which lives until freeifaddrs.
        let entry = unsafe { &*at };
        // SAFETY: the entry's address is null or points to a sockaddr of the family that it names.
        if unsafe { address_of(entry.ifa_addr) } == Some(wanted) {
            // SAFETY: every entry has a name, a C string that lives as long as the list.
            let name = unsafe { CStr::from_ptr(entry.ifa_name) };
            found = Some(name.to_string_lossy().into_owned());
        }
        at = entry.ifa_next;
    }
    // SAFETY: `list` came from getifaddrs and nothing of it is used any more.
    unsafe { libc::freeifaddrs(list) };
    found
}

/// # Safety
/// `address` is null or points to a socket address as long as its family says.
unsafe fn address_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    if address.is_null() {
        return None;
    }
    // SAFETY: not null, and the caller vouches for the rest.
    match i32::from(unsafe { (*address).sa_family }) {
        libc::AF_INET => {
            // SAFETY: the family says that it is a sockaddr_in.
            let v4 = unsafe { &*address.cast::<libc::sockaddr_in>() };
            Some(Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that it is a sockaddr_in6.
            let v6 = unsafe { &*address.cast::<libc::sockaddr_in6>() };
            Some(Ipv6Addr::from(v6.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_known_as_such() {
        let nic = nic_of("127.9.8.7".parse().unwrap()).unwrap();
        assert_eq!(nic.name, "lo");
        assert!(nic.loopback);
        assert_eq!(nic.speed_mbit, None);
        assert!(nic.mtu.unwrap() >= 1500);
        assert_eq!(name_of("127.0.0.1".parse().unwrap()).as_deref(), Some("lo"));
    }

    #[test]
    fn an_address_of_nobody_has_no_card() {
        assert_eq!(nic_of("203.0.113.77".parse().unwrap()), None);
        assert_eq!(nic_of("2001:db8::77".parse().unwrap()), None);
    }

    #[test]
    fn speed_is_told_only_when_it_is_one() {
        let classes = tempfile::tempdir().unwrap();
        for (name, speed, expected) in
            [("fast", "100000\n", Some(100_000)), ("tap", "-1\n", None), ("odd", "4294967295\n", None)]
        {
            std::fs::create_dir(classes.path().join(name)).unwrap();
            std::fs::write(classes.path().join(name).join("speed"), speed).unwrap();
            std::fs::write(classes.path().join(name).join("mtu"), "9000\n").unwrap();
            let nic = describe(classes.path(), name.into(), false);
            assert_eq!((nic.speed_mbit, nic.mtu), (expected, Some(9000)), "{name}");
        }
    }
}
