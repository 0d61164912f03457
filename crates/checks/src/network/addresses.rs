//! The addresses at which the hosts reach each other.

use std::net::{IpAddr, Ipv4Addr, ToSocketAddrs};

use experiment::Launcher;

use host::is_of_a_host;

/// Why it is not known at which addresses the hosts reach each other.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// An address was given for another host.
    #[error("--address {name}: is none of the hosts {}; check its spelling", hosts.join(", "))]
    UnknownHost {
        /// Its name.
        name: String,
        /// The hosts.
        hosts: Vec<String>,
    },
    /// A host's name does not resolve here, and the host reports no address.
    #[error("host {host} has no address here ({error}), and knows none itself; {}", give(host))]
    NoAddress {
        /// The host.
        host: String,
        /// What the resolver says.
        error: std::io::Error,
    },
    /// A host's name resolves to a loopback address only, and the host reports no other.
    #[error(
        "host {host} is known here only by a loopback address, and knows no other itself; {}",
        give(host)
    )]
    OnlyLoopback {
        /// The host.
        host: String,
    },
}

fn give(host: &str) -> String {
    format!("next: give the address by which the other hosts reach it, --address {host}=IP")
}

/// The address of each host: the given one, else what its name resolves to here, else the one that the host itself
/// reports (`own`, by host number).
///
/// # Errors
/// A host has no address, or an address belongs to no host.
pub fn of(
    launcher: &Launcher,
    hosts: &[String],
    given: &[(String, IpAddr)],
    own: &dyn Fn(usize) -> Option<IpAddr>,
) -> Result<Vec<IpAddr>, AddressError> {
    if let Some((unknown, _)) = given.iter().find(|(name, _)| !hosts.contains(name)) {
        return Err(AddressError::UnknownHost { name: unknown.clone(), hosts: hosts.to_vec() });
    }
    let named = |host: &String| given.iter().find(|(name, _)| name == host).map(|(_, ip)| *ip);
    let address = |(member, host): (usize, &String)| match named(host) {
        Some(ip) => Ok(ip),
        // They are processes on this host.
        None if matches!(launcher, Launcher::Local { .. }) => Ok(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        // An agent's own claim is only used as a last resort, and only if it is a host address.
        None => resolved(host).or_else(|why| own(member).filter(|ip| is_of_a_host(*ip)).ok_or(why)),
    };
    hosts.iter().enumerate().map(address).collect()
}

fn resolved(host: &str) -> Result<IpAddr, AddressError> {
    let found = (experiment::bare_host(host), 0).to_socket_addrs();
    let found = found.map_err(|error| AddressError::NoAddress { host: host.to_owned(), error })?;
    let mut all: Vec<IpAddr> = found.map(|address| address.ip()).collect();
    all.sort_by_key(IpAddr::is_ipv6);
    match all.iter().find(|ip| !ip.is_loopback()) {
        Some(ip) => Ok(*ip),
        None => Err(AddressError::OnlyLoopback { host: host.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_addresses_win_and_names_are_looked_up() {
        let hosts = ["127.0.0.1", "10.9.8.7", "user@10.9.8.6:22"].map(String::from);
        let launcher = Launcher::Ssh { hosts: hosts.to_vec(), options: Vec::new(), binary: None };
        let given = [("127.0.0.1".to_owned(), "10.1.1.1".parse().unwrap())];
        let none = |_| None;
        let found = of(&launcher, &hosts, &given, &none).unwrap();
        assert_eq!(found, ["10.1.1.1", "10.9.8.7", "10.9.8.6"].map(|ip| ip.parse::<IpAddr>().unwrap()));
        let error = of(&launcher, &hosts, &[], &none).unwrap_err().to_string();
        assert!(
            error.contains("only by a loopback address") && error.contains("--address 127.0.0.1=IP"),
            "{error}"
        );
        let error = of(&launcher, &hosts, &[("x".to_owned(), found[0])], &none).unwrap_err().to_string();
        assert!(error.contains("is none of the hosts"), "{error}");
        let local = of(&Launcher::Local { count: 2 }, &["a".into(), "b".into()], &[], &none).unwrap();
        assert_eq!(local, [IpAddr::V4(Ipv4Addr::LOCALHOST); 2]);
    }

    #[test]
    fn a_host_that_has_no_name_here_says_its_address_itself() {
        let hosts = ["a pod of nobody", "10.9.8.7", "127.0.0.1"].map(String::from);
        let launcher = Launcher::Ssh { hosts: hosts.to_vec(), options: Vec::new(), binary: None };
        let own = |member: usize| Some(IpAddr::V4(Ipv4Addr::new(10, 244, 0, member as u8)));
        let found = of(&launcher, &hosts, &[], &own).unwrap();
        assert_eq!(found, ["10.244.0.0", "10.9.8.7", "10.244.0.2"].map(|ip| ip.parse::<IpAddr>().unwrap()));
        for nonsense in ["127.0.0.1", "0.0.0.0", "224.0.0.1", "255.255.255.255", "::1"] {
            let error = of(&launcher, &hosts, &[], &|_| nonsense.parse().ok()).unwrap_err().to_string();
            assert!(error.contains("--address a pod of nobody=IP"), "{error}");
        }
    }
}
