//! The address at which other hosts reach this one, as far as it can tell.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};

/// Name of the fact in an agent's hello.
pub const ADDRESS: &str = "address";
/// Documentation addresses (RFC 5737, RFC 3849), which are reached by the default route. No packet is sent to them.
const ELSEWHERE: [&str; 2] = ["192.0.2.1:9", "[2001:db8::1]:9"];

/// The local address of the ssh connection that started this process, else that of the default route's interface.
pub fn own() -> Option<IpAddr> {
    let ssh = std::env::var("SSH_CONNECTION").ok();
    ssh.as_deref().and_then(of_ssh).or_else(of_default_route)
}

/// The third word of `SSH_CONNECTION` (ssh(1)), if it is this host's address: other launchers pass the variable on to
/// other hosts.
fn of_ssh(connection: &str) -> Option<IpAddr> {
    let ip: IpAddr = connection.split_whitespace().nth(2)?.parse().ok()?;
    (is_of_a_host(ip) && UdpSocket::bind((ip, 0)).is_ok()).then_some(ip)
}

fn of_default_route() -> Option<IpAddr> {
    ELSEWHERE.iter().find_map(|elsewhere| {
        let any = if elsewhere.starts_with('[') { "[::]:0" } else { "0.0.0.0:0" };
        let socket = UdpSocket::bind(any).ok()?;
        socket.connect(elsewhere).ok()?;
        Some(socket.local_addr().ok()?.ip()).filter(|ip| is_of_a_host(*ip))
    })
}

/// Whether the address identifies one host that others could reach.
pub fn is_of_a_host(ip: IpAddr) -> bool {
    !(ip.is_loopback() || ip.is_unspecified() || ip.is_multicast() || ip == IpAddr::V4(Ipv4Addr::BROADCAST))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_ssh_only_an_address_of_this_host_counts() {
        assert_eq!(of_ssh("10.0.0.9 51234 203.0.113.77 22"), None, "of another host");
        assert_eq!(of_ssh("127.0.0.1 51234 127.0.0.1 22"), None, "nobody else reaches it");
        assert_eq!(of_ssh(""), None);
        if let Some(ip) = of_default_route() {
            assert_eq!(of_ssh(&format!("10.0.0.9 51234 {ip} 22")), Some(ip));
        }
    }
}
