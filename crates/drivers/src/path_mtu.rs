//! Path MTU between two cooperating hosts, measured by probes that the other side acknowledges.
//!
//! Works as in RFC 8899 (datagram path MTU discovery): UDP datagrams that may not be fragmented, each a packet of the
//! size to be tested, acknowledged by a short reply. It ignores the kernel's own estimate of the path
//! (`IP_PMTUDISC_PROBE`, ip(7)) and needs no ICMP, so a firewall that drops ICMP hides nothing. It needs no privileges.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Prefix of all probes; a random number follows, which replies repeat.
const GREETING: [u8; 8] = *b"pathmtu1";
/// A reply: greeting, number, and the length of the received datagram.
const ANSWER_BYTES: usize = 8 + 8 + 4;
/// Timeout of a reply; each size is tried several times, because a lost datagram was not necessarily too large.
const PATIENCE: Duration = Duration::from_millis(250);
const TRIES: u32 = 3;
/// Maximum number of sizes probed: bisecting 65535 sizes takes 17.
const MAX_SIZES: u32 = 24;

/// Result of a measurement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathMtu {
    /// The largest packet that arrived, in bytes, including the IP header.
    pub bytes: u32,
    /// The kernel's estimate of the path MTU before (`IP_MTU`, ip(7)): the MTU of the interface or route.
    pub route_bytes: u32,
    /// The kernel's estimate afterwards. If it exceeds what arrives, larger packets vanish without any report from the
    /// path (a black hole, RFC 2923).
    pub believed_bytes: u32,
    /// The method, in words.
    pub method: String,
}

/// Answers probes until it is dropped.
#[derive(Debug)]
pub struct MtuResponder {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl MtuResponder {
    /// Listens on an address; port 0 picks a free port.
    ///
    /// # Errors
    /// Errors of socket(2) and bind(2), or no thread can be started.
    pub fn bind(on: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(on)?;
        socket.set_read_timeout(Some(Duration::from_millis(50)))?;
        let address = socket.local_addr()?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let answer = move || {
            let mut datagram = vec![0; 1 << 16];
            while !stopped.load(Ordering::Relaxed) {
                let Ok((length, from)) = socket.recv_from(&mut datagram) else { continue };
                if length >= ANSWER_BYTES && datagram.starts_with(&GREETING) {
                    datagram[16..20].copy_from_slice(&(length as u32).to_be_bytes());
                    // Always shorter than the probe; a lost reply leads to another probe.
                    let _ = socket.send_to(&datagram[..ANSWER_BYTES], from);
                }
            }
        };
        let thread = std::thread::Builder::new().name("path-mtu".to_owned()).spawn(answer)?;
        Ok(Self { address, stop, thread: Some(thread) })
    }

    /// The listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for MtuResponder {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread checks for the stop every 50 ms.
            let _ = thread.join();
        }
    }
}

/// Finds the largest packet that reaches a [`MtuResponder`] at `remote`, from a local address if given. Takes a few
/// round trips, plus 0.75 s for each size that does not arrive: at most 20 s.
///
/// # Errors
/// Socket errors; kind `TimedOut` when not even the smallest probe is answered.
pub fn path_mtu(local: Option<IpAddr>, remote: SocketAddr) -> io::Result<PathMtu> {
    let socket = connected(local, remote)?;
    socket.set_read_timeout(Some(PATIENCE))?;
    let route_bytes = route_mtu(&socket, remote.is_ipv4())?;
    forbid_fragments(&socket, remote.is_ipv4())?;
    // The minimum that every path carries, and the maximum of a datagram or the route.
    let (least, headers) = if remote.is_ipv4() { (68, 28) } else { (1280, 48) };
    let most = route_bytes.min(if remote.is_ipv4() { 65_535 } else { 65_575 });
    let mut probe = Probe { socket, headers, number: fastrand::u64(..) };
    if !probe.arrives(least)? {
        let text = format!("no probe of the path's MTU was answered by {remote}");
        return Err(io::Error::new(io::ErrorKind::TimedOut, text));
    }
    let (mut known, mut beyond) = (least, most + 1);
    // Nearly always the route's full MTU works.
    let mut next = most;
    for _ in 0..MAX_SIZES {
        if beyond - known <= 1 {
            break;
        }
        match probe.arrives(next)? {
            true => known = next,
            false => beyond = next,
        }
        next = known + (beyond - known) / 2;
    }
    let method =
        "UDP probes that may not be fragmented, acknowledged by the other host (RFC 8899)".to_owned();
    // A socket keeps the route from its connect: only a new socket queries it again.
    let believed_bytes = route_mtu(&connected(local, remote)?, remote.is_ipv4())?.min(most);
    Ok(PathMtu { bytes: known, route_bytes, believed_bytes, method })
}

/// The kernel's estimate of the path MTU to `remote` (`IP_MTU`, ip(7)), in bytes, including the IP header: the MTU of
/// the route or interface, or less where a router on the path has reported it. Sends nothing.
///
/// # Errors
/// Socket errors, for example when there is no route.
pub fn known_path_mtu(local: Option<IpAddr>, remote: SocketAddr) -> io::Result<u32> {
    route_mtu(&connected(local, remote)?, remote.is_ipv4())
}

/// A UDP socket whose peer is `remote`.
fn connected(local: Option<IpAddr>, remote: SocketAddr) -> io::Result<UdpSocket> {
    let any: IpAddr =
        if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((local.unwrap_or(any), 0))?;
    socket.connect(remote)?;
    Ok(socket)
}

struct Probe {
    socket: UdpSocket,
    /// Bytes of IP and UDP headers.
    headers: u32,
    number: u64,
}

impl Probe {
    /// Whether a packet of this size is acknowledged.
    fn arrives(&mut self, packet_bytes: u32) -> io::Result<bool> {
        let length = packet_bytes.saturating_sub(self.headers).max(ANSWER_BYTES as u32);
        let mut datagram = vec![0; length as usize];
        datagram[..8].copy_from_slice(&GREETING);
        for _ in 0..TRIES {
            // Clears the ICMP error of an earlier probe, which says nothing about this one.
            self.socket.take_error()?;
            self.number = self.number.wrapping_add(1);
            datagram[8..16].copy_from_slice(&self.number.to_be_bytes());
            match self.socket.send(&datagram) {
                Ok(_) => {}
                // More than the interface itself carries.
                Err(error) if error.raw_os_error() == Some(libc::EMSGSIZE) => return Ok(false),
                // The ICMP error of an earlier probe, reported now.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
                Err(error) => return Err(error),
            }
            if self.answered(length)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn answered(&self, length: u32) -> io::Result<bool> {
        let mut answer = [0; 64];
        loop {
            match self.socket.recv(&mut answer) {
                Ok(count) if count == ANSWER_BYTES && answer[8..16] == self.number.to_be_bytes() => {
                    return Ok(answer[16..20] == length.to_be_bytes());
                }
                // A late reply to an earlier probe.
                Ok(_) => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock
                            | io::ErrorKind::TimedOut
                            | io::ErrorKind::ConnectionRefused
                    ) || error.raw_os_error() == Some(libc::EMSGSIZE) =>
                {
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
        }
    }
}

fn levels(v4: bool) -> (libc::c_int, libc::c_int, libc::c_int) {
    match v4 {
        true => (libc::IPPROTO_IP, libc::IP_MTU, libc::IP_MTU_DISCOVER),
        false => (libc::IPPROTO_IPV6, libc::IPV6_MTU, libc::IPV6_MTU_DISCOVER),
    }
}

/// `IP_MTU` of a connected socket.
fn route_mtu(socket: &UdpSocket, v4: bool) -> io::Result<u32> {
    let (level, name, _) = levels(v4);
    let mut value: libc::c_int = 0;
    let mut len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `value`.
    let status = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, std::ptr::from_mut(&mut value).cast(), &mut len)
    };
    if status == 0 { Ok(u32::try_from(value).unwrap_or(0)) } else { Err(io::Error::last_os_error()) }
}

/// `IP_PMTUDISC_PROBE`: nothing is fragmented, and the kernel's path estimate is ignored.
fn forbid_fragments(socket: &UdpSocket, v4: bool) -> io::Result<()> {
    let (level, _, name) = levels(v4);
    let value: libc::c_int = if v4 { libc::IP_PMTUDISC_PROBE } else { libc::IPV6_PMTUDISC_PROBE };
    let len = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `value`.
    let status =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, std::ptr::from_ref(&value).cast(), len) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_carries_what_its_route_says() {
        let responder = MtuResponder::bind("127.0.0.8:0".parse().unwrap()).unwrap();
        let local = Some("127.0.0.9".parse().unwrap());
        let found = path_mtu(local, responder.address()).unwrap();
        assert_eq!(found.bytes, found.route_bytes.min(65_535), "{found:?}");
        assert_eq!(found.believed_bytes, found.bytes);
        assert!(found.method.contains("RFC 8899"));
    }

    #[test]
    fn nobody_who_answers_is_told() {
        let silent = UdpSocket::bind("127.0.0.7:0").unwrap();
        let error = path_mtu(None, silent.local_addr().unwrap()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert!(error.to_string().contains("no probe"), "{error}");
    }
}
