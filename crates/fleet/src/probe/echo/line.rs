//! One path's packets: sent, matched with their replies, and timed.
//!
//! The kernel determines both times: the packet is sent during the call, and its reply is timestamped on arrival. So it
//! does not matter when this thread gets a core; its delay is reported separately.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto};
use rustix::time::{ClockId, clock_gettime};

use super::Echoed;

/// A reply later than this counts as lost.
const LATEST_NS: u64 = 2_000_000_000;
/// Every how many turns a datagram goes to a closed port: kernels answer those once a second (`icmp_ratelimit`).
const DATAGRAM_TURNS: u16 = 10;
/// Where traceroute starts: nothing listens there.
const CLOSED_PORT: u16 = 33_434;

/// A socket to one address.
#[derive(Debug)]
pub(super) struct Line {
    socket: OwnedFd,
    six: bool,
    way: Way,
    turns: u16,
    next: u16,
    waiting: VecDeque<(u16, u64)>,
}

/// How replies are obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The kernel delivers the replies to this socket's own echoes.
    Echo,
    /// A raw socket sees all replies to this host; its own have this identifier.
    RawEcho(u16),
    /// A datagram to a closed port.
    Datagram,
}

impl Line {
    /// Opens a socket to one address; `None` where that is not possible.
    pub(super) fn open(local: IpAddr, remote: IpAddr, number: u16) -> Option<Line> {
        let six = remote.is_ipv6();
        let (family, protocol) = match six {
            true => (AddressFamily::INET6, ipproto::ICMPV6),
            false => (AddressFamily::INET, ipproto::ICMP),
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let open = |kind| rustix::net::socket_with(family, kind, flags, Some(protocol)).ok();
        let own = (std::process::id() as u16).wrapping_mul(31).wrapping_add(number);
        let echo = || open(SocketType::DGRAM).map(|socket| (socket, Way::Echo));
        let raw = || open(SocketType::RAW).map(|socket| (socket, Way::RawEcho(own)));
        let (socket, way) = echo().or_else(raw).or_else(|| Some((datagrams(family, six)?, Way::Datagram)))?;
        Self::over(socket, way, local, remote)
    }

    fn over(socket: OwnedFd, way: Way, local: IpAddr, remote: IpAddr) -> Option<Line> {
        let port = if way == Way::Datagram { CLOSED_PORT } else { 0 };
        rustix::net::bind(&socket, &SocketAddr::new(local, 0)).ok()?;
        rustix::net::connect(&socket, &SocketAddr::new(remote, port)).ok()?;
        let line = Line { socket, six: remote.is_ipv6(), way, turns: 0, next: 0, waiting: VecDeque::new() };
        // The first call makes the kernel timestamp packets from now on.
        line.arrived_ns();
        Some(line)
    }

    /// Receives pending replies, and sends one more packet.
    pub(super) fn turn(&mut self) -> Echoed {
        let mut seen = Echoed::default();
        let mut packet = [0; 256];
        let from = if self.way == Way::Datagram { RecvFlags::ERRQUEUE } else { RecvFlags::empty() };
        while let Ok((len, _)) = rustix::net::recv(&self.socket, &mut packet[..], RecvFlags::DONTWAIT | from)
        {
            let arrived_ns = self.arrived_ns();
            let Some(number) = answer(&packet[..len.min(packet.len())], self.six, self.way) else { continue };
            let Some(place) = self.waiting.iter().position(|(sent, _)| *sent == number) else { continue };
            let took = self.waiting.remove(place).and_then(|(_, sent_ns)| arrived_ns?.checked_sub(sent_ns));
            // A clock change in between yields no value.
            if let Some(took_ns) = took.filter(|took_ns| *took_ns < LATEST_NS) {
                seen.fastest(1, took_ns / 1000);
            }
        }
        let now_ns = wall_ns();
        while self.waiting.front().is_some_and(|(_, sent_ns)| now_ns.saturating_sub(*sent_ns) > LATEST_NS) {
            self.waiting.pop_front();
            // Nothing obliges a host to answer datagrams.
            seen.lost += u32::from(self.way != Way::Datagram);
        }
        self.turns = self.turns.wrapping_add(1);
        if self.way == Way::Datagram && !self.turns.is_multiple_of(DATAGRAM_TURNS) {
            return seen;
        }
        self.next = self.next.wrapping_add(1);
        let sent_ns = wall_ns();
        if self.send().is_ok() {
            self.waiting.push_back((self.next, sent_ns));
            seen.sent += 1;
        }
        seen
    }

    fn send(&self) -> rustix::io::Result<usize> {
        let give = |packet: &[u8]| rustix::net::send(&self.socket, packet, SendFlags::DONTWAIT);
        let once = || match self.way {
            Way::Datagram => give(&self.next.to_be_bytes()),
            Way::Echo => give(&request(self.six, 0, self.next)),
            Way::RawEcho(own) => give(&request(self.six, own, self.next)),
        };
        // The reply to the previous datagram is also reported as the next call's error.
        match once() {
            Err(_) if self.way == Way::Datagram => once(),
            result => result,
        }
    }

    /// Arrival time of the last packet received, on the wall clock.
    fn arrived_ns(&self) -> Option<u64> {
        /// `SIOCGSTAMPNS` of include/uapi/asm-generic/sockios.h, in the form that old kernels also support.
        const STAMP: libc::c_ulong = 0x8907;
        let mut stamp = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the descriptor is open, and the kernel writes one timespec into the given one.
        let status = unsafe { libc::ioctl(self.socket.as_raw_fd(), STAMP as _, &raw mut stamp) };
        (status == 0).then_some(stamp.tv_sec as u64 * 1_000_000_000 + stamp.tv_nsec as u64)
    }
}

fn wall_ns() -> u64 {
    let now = clock_gettime(ClockId::Realtime);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// An echo request of 56 bytes of data, as ping(8) sends.
fn request(six: bool, own: u16, number: u16) -> [u8; 64] {
    let mut packet = [0; 64];
    packet[0] = if six { 128 } else { 8 };
    packet[4..6].copy_from_slice(&own.to_be_bytes());
    packet[6..8].copy_from_slice(&number.to_be_bytes());
    if !six {
        let pairs = packet.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]])));
        let mut sum: u32 = pairs.sum();
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        packet[2..4].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    }
    packet
}

/// A datagram socket with an error queue, which holds each error with its datagram.
fn datagrams(family: AddressFamily, six: bool) -> Option<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(family, SocketType::DGRAM, flags, None).ok()?;
    let (level, name) = match six {
        true => (libc::IPPROTO_IPV6, libc::IPV6_RECVERR),
        false => (libc::IPPROTO_IP, libc::IP_RECVERR),
    };
    let on: libc::c_int = 1;
    let length = size_of_val(&on) as libc::socklen_t;
    // SAFETY: the descriptor is open, and the kernel reads one number of the given length.
    let status = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const on).cast(), length) };
    (status == 0).then_some(socket)
}

/// The number of the packet that this one answers.
fn answer(packet: &[u8], six: bool, way: Way) -> Option<u16> {
    let header = match way {
        // The sent packet comes back without its headers.
        Way::Datagram => return Some(u16::from_be_bytes(*packet.first_chunk()?)),
        // A raw IPv4 socket also returns the IP header.
        Way::RawEcho(_) if !six => usize::from(packet.first()? & 0x0f) * 4,
        _ => 0,
    };
    let packet = packet.get(header..header + 8)?;
    let word = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let reply = if six { 129 } else { 0 };
    let own = !matches!(way, Way::RawEcho(own) if own != word(4));
    (packet[0] == reply && own).then(|| word(6))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn answers_are_told_from_other_packets() {
        let mut packet = request(false, 77, 5);
        assert_eq!(answer(&packet, false, Way::Echo), None, "a request");
        packet[0] = 0;
        assert_eq!(answer(&packet, false, Way::Echo), Some(5));
        let mut with_header = vec![0x45; 20];
        with_header.extend_from_slice(&packet);
        assert_eq!(answer(&with_header, false, Way::RawEcho(77)), Some(5));
        assert_eq!(answer(&with_header, false, Way::RawEcho(78)), None, "another program's");
        assert_eq!(answer(&with_header[..24], false, Way::RawEcho(77)), None, "cut short");
        packet[0] = 129;
        assert_eq!(answer(&packet, true, Way::RawEcho(77)), Some(5));
    }

    #[test]
    fn the_sum_of_a_request_is_right() {
        let packet = request(false, 0x1234, 0xabcd);
        let sum: u32 =
            packet.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }

    /// Repeats a line's turns until a reply arrives.
    fn answered(mut line: Line) -> Echoed {
        let mut sum = Echoed::default();
        for _ in 0..2000 {
            let seen = line.turn();
            assert_eq!(seen.lost, 0);
            sum.sent += seen.sent;
            sum.fastest(seen.answered, seen.least_us);
            if sum.answered > 0 {
                return sum;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        panic!("no answer: {sum:?}");
    }

    #[test]
    fn this_host_answers_itself() {
        let own = IpAddr::from([127, 0, 0, 1]);
        let sum = answered(Line::open(own, own, 1).unwrap());
        assert!(sum.least_us < LATEST_NS / 1000, "{sum:?}");
    }

    #[test]
    fn datagrams_that_nobody_wants_are_answered_too() {
        for own in ["127.0.0.1", "::1"] {
            let own: IpAddr = own.parse().unwrap();
            let family = if own.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
            let socket = datagrams(family, own.is_ipv6()).unwrap();
            let mut line = Line::over(socket, Way::Datagram, own, own).unwrap();
            let sent: u32 = (0..DATAGRAM_TURNS).map(|_| line.turn().sent).sum();
            assert_eq!(sent, 1, "one in this many turns");
            // Later packets are sent although the reply to the first is reported as an error.
            let sum = answered(line);
            assert!(sum.least_us < LATEST_NS / 1000, "{sum:?}");
        }
    }
}
