//! Hosts and ports in URLs.

use std::net::{IpAddr, Ipv6Addr, ToSocketAddrs};

use super::TargetError;
use super::protocol::wrong;

/// Parses `host`, `host:port`, `[IPv6]` or `[IPv6]:port`.
/// `form` is an example of a valid URL, for messages.
///
/// # Errors
/// One line: what is wrong with it.
pub(super) fn host_and_port(url: &str, text: &str, form: &str) -> Result<(String, Option<u16>), TargetError> {
    let wrong = |problem: &str| wrong(url, &format!("{problem}; write {form}"));
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (inside, after) = rest.split_once(']').ok_or_else(|| wrong("the bracket is not closed"))?;
            inside.parse::<Ipv6Addr>().map_err(|_| wrong("there is no IPv6 address in the brackets"))?;
            let port = match after {
                "" => None,
                _ => Some(after.strip_prefix(':').ok_or_else(|| wrong("only :port may follow the bracket"))?),
            };
            (inside, port)
        }
        None => text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port))),
    };
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    if host.is_empty() || !host.chars().all(allowed) {
        return Err(wrong("the host is missing or has characters that no host has"));
    }
    let number = |port: &str| {
        let number = port.parse::<u16>().ok().filter(|port| *port > 0);
        number.ok_or_else(|| wrong(&format!("\"{port}\" is no port from 1 to 65535")))
    };
    Ok((host.to_owned(), port.map(number).transpose()?))
}

/// A host as written in a URL: IPv6 addresses in brackets.
pub(super) fn in_url(host: &str) -> String {
    if host.contains(':') { format!("[{host}]") } else { host.to_owned() }
}

/// The first address of a host.
///
/// # Errors
/// One line: the host has no address.
pub(super) fn address(url: &str, host: &str) -> Result<IpAddr, TargetError> {
    first_address(host).map_err(|why| {
        wrong(url, &format!("the host {host} has no address ({why}); check its spelling, or give an address"))
    })
}

/// Why a host has no address.
#[derive(Debug, thiserror::Error)]
pub enum HostAddressError {
    /// Its name cannot be looked up.
    #[error("{0}")]
    Lookup(#[source] std::io::Error),
    /// Its name stands for none.
    #[error("none was found")]
    NoAddress,
}

/// The first address of a host, which may itself be an address.
///
/// # Errors
/// It has none.
pub fn first_address(host: &str) -> Result<IpAddr, HostAddressError> {
    if let Ok(address) = host.parse() {
        return Ok(address);
    }
    let mut found = (host, 0).to_socket_addrs().map_err(HostAddressError::Lookup)?;
    found.next().map(|address| address.ip()).ok_or(HostAddressError::NoAddress)
}
