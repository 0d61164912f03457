//! How long a packet takes to the other end and back while the load runs: echoes of ICMP (RFC 792, RFC 4443), ten a second and
//! path. A connection's own round-trip time cannot say it where requests are small: its acknowledgement comes with the answer.
//!
//! Both ends of the time are the kernel's: the packet is sent in the call, and its answer is stamped when it arrives. So it does not
//! matter when this thread gets a core; how late it gets one is told besides.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, ipproto};
use rustix::time::{ClockId, clock_gettime};

/// Between two echoes.
const EVERY: Duration = Duration::from_millis(100);
/// An answer later than this counts as lost.
const LATEST_NS: u64 = 2_000_000_000;
/// Not more paths than this are measured.
const MOST_PATHS: usize = 16;

/// What came of the echoes of one path since the look before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Echoed {
    pub(super) sent: u32,
    pub(super) answered: u32,
    pub(super) lost: u32,
    /// Of the fastest answer, in microseconds.
    pub(super) least_us: u64,
}

impl Echoed {
    /// Adds answers of which the fastest took so long.
    fn fastest(&mut self, answered: u32, least_us: u64) {
        if answered > 0 {
            self.least_us = if self.answered == 0 { least_us } else { self.least_us.min(least_us) };
            self.answered += answered;
        }
    }
}

/// Sends echoes from a thread of its own until it is dropped.
#[derive(Debug, Default)]
pub(super) struct Echoes {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    paths: Vec<(IpAddr, IpAddr)>,
    echoed: Vec<Echoed>,
    /// The latest that the thread was woken.
    late_ns: u64,
}

impl Echoes {
    /// What came since the look before, for these paths; from now on they are measured. Also how late the thread was
    /// woken at most, in nanoseconds.
    pub(super) fn look(&mut self, paths: &[(IpAddr, IpAddr)]) -> (Vec<Option<Echoed>>, u64) {
        let mut state = self.shared.lock();
        let seen = paths.iter().map(|path| {
            let place = state.paths.iter().position(|known| known == path)?;
            state.echoed.get(place).copied()
        });
        let seen: Vec<Option<Echoed>> = seen.collect();
        state.echoed.fill(Echoed::default());
        for path in paths {
            if !state.paths.contains(path) && state.paths.len() < MOST_PATHS {
                state.paths.push(*path);
                state.echoed.push(Echoed::default());
            }
        }
        let late_ns = std::mem::take(&mut state.late_ns);
        drop(state);
        if self.thread.is_none() {
            let shared = Arc::clone(&self.shared);
            self.thread = std::thread::Builder::new().name("probe".into()).spawn(move || shared.send()).ok();
        }
        (seen, late_ns)
    }
}

impl Drop for Echoes {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread sends and sleeps; a panic in it has lost nothing that is needed.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self) {
        let mut lines: Vec<Option<Line>> = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            let meant_ns = reactor::clock::now_ns() + EVERY.as_nanos() as u64;
            let paths = self.lock().paths.clone();
            for (local, remote) in paths.iter().skip(lines.len()) {
                lines.push(Line::open(*local, *remote, lines.len() as u16));
            }
            for (place, line) in lines.iter_mut().enumerate() {
                let Some(line) = line else { continue };
                let seen = line.turn();
                if let Some(sum) = self.lock().echoed.get_mut(place) {
                    sum.sent += seen.sent;
                    sum.lost += seen.lost;
                    sum.fastest(seen.answered, seen.least_us);
                }
            }
            std::thread::park_timeout(EVERY);
            let late_ns = reactor::clock::now_ns().saturating_sub(meant_ns);
            let mut state = self.lock();
            state.late_ns = state.late_ns.max(late_ns);
        }
    }
}

/// A socket to one address.
#[derive(Debug)]
struct Line {
    socket: OwnedFd,
    six: bool,
    /// A raw socket sees all answers of this host; its own have this identifier.
    raw: Option<u16>,
    next: u16,
    waiting: VecDeque<(u16, u64)>,
}

impl Line {
    /// Neither kind of socket may be allowed: then there are no echoes.
    fn open(local: IpAddr, remote: IpAddr, number: u16) -> Option<Line> {
        let six = remote.is_ipv6();
        let (family, protocol) = match six {
            true => (AddressFamily::INET6, ipproto::ICMPV6),
            false => (AddressFamily::INET, ipproto::ICMP),
        };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let open = |kind| rustix::net::socket_with(family, kind, flags, Some(protocol)).ok();
        let own = (std::process::id() as u16).wrapping_mul(31).wrapping_add(number);
        let (socket, raw) = match open(SocketType::DGRAM) {
            Some(socket) => (socket, None),
            None => (open(SocketType::RAW)?, Some(own)),
        };
        rustix::net::bind(&socket, &SocketAddr::new(local, 0)).ok()?;
        rustix::net::connect(&socket, &SocketAddr::new(remote, 0)).ok()?;
        let line = Line { socket, six, raw, next: 0, waiting: VecDeque::new() };
        // The first call makes the kernel stamp what comes from now on.
        line.arrived_ns();
        Some(line)
    }

    /// Takes what has come, and sends one more.
    fn turn(&mut self) -> Echoed {
        let mut seen = Echoed::default();
        let mut packet = [0; 256];
        while let Ok((len, _)) = rustix::net::recv(&self.socket, &mut packet[..], RecvFlags::DONTWAIT) {
            let arrived_ns = self.arrived_ns();
            let Some(number) = answer(&packet[..len.min(packet.len())], self.six, self.raw) else { continue };
            let Some(place) = self.waiting.iter().position(|(sent, _)| *sent == number) else { continue };
            let took = self.waiting.remove(place).and_then(|(_, sent_ns)| arrived_ns?.checked_sub(sent_ns));
            // A clock that was set meanwhile gives nothing.
            if let Some(took_ns) = took.filter(|took_ns| *took_ns < LATEST_NS) {
                seen.fastest(1, took_ns / 1000);
            }
        }
        let now_ns = wall_ns();
        while self.waiting.front().is_some_and(|(_, sent_ns)| now_ns.saturating_sub(*sent_ns) > LATEST_NS) {
            self.waiting.pop_front();
            seen.lost += 1;
        }
        self.next = self.next.wrapping_add(1);
        let sent_ns = wall_ns();
        if rustix::net::send(
            &self.socket,
            &request(self.six, self.raw.unwrap_or(0), self.next),
            SendFlags::DONTWAIT,
        )
        .is_ok()
        {
            self.waiting.push_back((self.next, sent_ns));
            seen.sent += 1;
        }
        seen
    }

    /// When the packet taken last arrived, on the wall clock.
    fn arrived_ns(&self) -> Option<u64> {
        /// `SIOCGSTAMPNS` of include/uapi/asm-generic/sockios.h, as old kernels know it too.
        const STAMP: libc::c_ulong = 0x8907;
        let mut stamp = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the descriptor is open, and the kernel writes one timespec, which is what is given.
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

/// The number of an echo that this packet answers.
fn answer(packet: &[u8], six: bool, raw: Option<u16>) -> Option<u16> {
    // A raw socket of IPv4 gives the IP header too.
    let header = if raw.is_some() && !six { usize::from(packet.first()? & 0x0f) * 4 } else { 0 };
    let packet = packet.get(header..header + 8)?;
    let word = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
    let reply = if six { 129 } else { 0 };
    (packet[0] == reply && raw.is_none_or(|own| own == word(4))).then(|| word(6))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_from_other_packets() {
        let mut packet = request(false, 77, 5);
        assert_eq!(answer(&packet, false, None), None, "a request");
        packet[0] = 0;
        assert_eq!(answer(&packet, false, None), Some(5));
        let mut with_header = vec![0x45; 20];
        with_header.extend_from_slice(&packet);
        assert_eq!(answer(&with_header, false, Some(77)), Some(5));
        assert_eq!(answer(&with_header, false, Some(78)), None, "another program's");
        assert_eq!(answer(&with_header[..24], false, Some(77)), None, "cut short");
        packet[0] = 129;
        assert_eq!(answer(&packet, true, Some(77)), Some(5));
    }

    #[test]
    fn the_sum_of_a_request_is_right() {
        let packet = request(false, 0x1234, 0xabcd);
        let sum: u32 =
            packet.chunks_exact(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        assert_eq!((sum & 0xffff) + (sum >> 16), 0xffff);
    }

    #[test]
    fn this_host_answers_itself_where_echoes_are_allowed() {
        let path = (IpAddr::from([127, 0, 0, 1]), IpAddr::from([127, 0, 0, 1]));
        let Some(mut line) = Line::open(path.0, path.1, 1) else { return };
        let mut sum = Echoed::default();
        while sum.answered == 0 {
            let seen = line.turn();
            sum.fastest(seen.answered, seen.least_us);
            assert_eq!(seen.lost, 0);
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(sum.least_us < LATEST_NS / 1000, "{sum:?}");
    }
}
