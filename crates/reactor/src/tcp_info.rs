//! The kernel's data on a TCP connection: `TCP_INFO` of tcp(7), read up to the length that this kernel provides.

use std::os::fd::RawFd;

use serde::{Deserialize, Serialize};

/// The kernel's data on a connection since it was created (`struct tcp_info` of include/uapi/linux/tcp.h). Fields that
/// an older kernel lacks are 0; numbers in parentheses are the first kernel version that has the field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TcpInfo {
    /// Largest segment towards the peer, in bytes.
    pub mss_bytes: u32,
    /// Path MTU towards the peer as known to the kernel, in bytes.
    pub path_mtu_bytes: u32,
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Smoothed round-trip time in microseconds.
    pub rtt_us: u32,
    /// Its mean deviation in microseconds.
    pub rtt_variance_us: u32,
    /// Minimum round-trip time of the last minutes in microseconds (4.6); 0 if none was measured.
    pub min_rtt_us: u32,
    /// Congestion window: segments that may be in flight unacknowledged.
    pub congestion_window_segments: u32,
    /// Bytes acknowledged by the peer (4.1); opening and closing the connection count as one each.
    pub bytes_acknowledged: u64,
    /// Bytes received in order (4.1).
    pub bytes_received: u64,
    /// Retransmitted bytes (4.19).
    pub bytes_resent: u64,
    /// Segments sent, with and without data (4.2).
    pub segments_sent: u64,
    /// Segments received (4.2).
    pub segments_received: u64,
    /// The most recent rate at which data reached the peer, in bytes per second (4.9).
    pub delivery_bytes_per_s: u64,
    /// Whether that rate was limited by the program's supply of data, not by the path (4.9).
    pub delivery_bounded_by_program: bool,
    /// Time with data to send or unacknowledged, in microseconds (4.10).
    pub busy_us: u64,
    /// The part of it in which the peer's window blocked sending (4.10).
    pub window_limited_us: u64,
    /// The part of it in which the send buffer was too small (4.10).
    pub buffer_limited_us: u64,
    /// Unsent bytes in the send buffer (4.6).
    pub unsent_bytes: u32,
    /// Segments currently presumed lost.
    pub lost_segments: u32,
    /// Reordering distance seen, in segments; the usual initial value is 3.
    pub reordering_segments: u32,
    /// How often reordering was seen (4.19).
    pub reordering_events: u32,
    /// Segments that the peer received twice: retransmitted without need (4.19).
    pub duplicates: u32,
    /// Segments that arrived out of order (5.4).
    pub received_out_of_order: u32,
    /// Segments with data received (4.6).
    pub data_segments_received: u64,
    /// Segments with data sent (4.6).
    pub data_segments_sent: u64,
    /// The window offered by the peer, in bytes (5.4).
    pub peer_window_bytes: u32,
    /// The window offered to the peer, in bytes (6.2).
    pub own_window_bytes: u32,
}

/// What limited a sender most of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SendLimit {
    /// There was nothing to send: the program, or the other side's answers.
    Program,
    /// The path: its rate, its losses and its congestion window.
    Path,
    /// The receiver's window: its program reads too slowly, or its buffer is small.
    ReceiveWindow,
    /// This side's send buffer.
    SendBuffer,
}

impl TcpInfo {
    /// What happened since an `earlier` reading of the same connection: counters are differences, everything else is
    /// the current value.
    pub fn since(&self, earlier: &TcpInfo) -> TcpInfo {
        TcpInfo {
            retransmits: self.retransmits.saturating_sub(earlier.retransmits),
            bytes_acknowledged: self.bytes_acknowledged.saturating_sub(earlier.bytes_acknowledged),
            bytes_received: self.bytes_received.saturating_sub(earlier.bytes_received),
            bytes_resent: self.bytes_resent.saturating_sub(earlier.bytes_resent),
            segments_sent: self.segments_sent.saturating_sub(earlier.segments_sent),
            segments_received: self.segments_received.saturating_sub(earlier.segments_received),
            busy_us: self.busy_us.saturating_sub(earlier.busy_us),
            window_limited_us: self.window_limited_us.saturating_sub(earlier.window_limited_us),
            buffer_limited_us: self.buffer_limited_us.saturating_sub(earlier.buffer_limited_us),
            reordering_events: self.reordering_events.saturating_sub(earlier.reordering_events),
            duplicates: self.duplicates.saturating_sub(earlier.duplicates),
            received_out_of_order: self.received_out_of_order.saturating_sub(earlier.received_out_of_order),
            data_segments_received: self
                .data_segments_received
                .saturating_sub(earlier.data_segments_received),
            data_segments_sent: self.data_segments_sent.saturating_sub(earlier.data_segments_sent),
            ..*self
        }
    }

    /// What limited sending for most of `span_us` microseconds, the period of these counters.
    pub fn limit(&self, span_us: u64) -> SendLimit {
        let by_others = self.window_limited_us + self.buffer_limited_us;
        let shares = [
            (SendLimit::Path, self.busy_us.saturating_sub(by_others)),
            (SendLimit::ReceiveWindow, self.window_limited_us),
            (SendLimit::SendBuffer, self.buffer_limited_us),
            (SendLimit::Program, span_us.saturating_sub(self.busy_us)),
        ];
        shares.into_iter().max_by_key(|(_, time)| *time).map_or(SendLimit::Program, |(limit, _)| limit)
    }

    /// Parses the structure as far as the kernel filled it.
    fn read(bytes: &[u8]) -> TcpInfo {
        let short = |at: usize| bytes.get(at..at + 4).map_or(0, |four| u32::from_ne_bytes(fixed(four)));
        let long = |at: usize| bytes.get(at..at + 8).map_or(0, |eight| u64::from_ne_bytes(fixed(eight)));
        // ~0 means "none yet".
        let known = |value: u32| if value == u32::MAX { 0 } else { value };
        TcpInfo {
            delivery_bounded_by_program: bytes.get(7).is_some_and(|flags| flags & APP_LIMITED != 0),
            mss_bytes: short(16),
            lost_segments: short(32),
            path_mtu_bytes: short(60),
            rtt_us: short(68),
            rtt_variance_us: short(72),
            congestion_window_segments: short(80),
            reordering_segments: short(88),
            retransmits: short(100).into(),
            bytes_acknowledged: long(120),
            bytes_received: long(128),
            segments_sent: short(136).into(),
            segments_received: short(140).into(),
            unsent_bytes: short(144),
            min_rtt_us: known(short(148)),
            delivery_bytes_per_s: long(160),
            busy_us: long(168),
            window_limited_us: long(176),
            buffer_limited_us: long(184),
            bytes_resent: long(208),
            duplicates: short(216),
            reordering_events: short(220),
            received_out_of_order: short(224),
            data_segments_received: short(152).into(),
            data_segments_sent: short(156).into(),
            peer_window_bytes: short(228),
            own_window_bytes: short(232),
        }
    }
}

/// `tcpi_delivery_rate_app_limited`: the first bit of its byte in the compiler's bit order.
const APP_LIMITED: u8 = if cfg!(target_endian = "little") { 1 } else { 0x80 };

fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    bytes.try_into().expect("the range has this length")
}

/// The kernel's data on the connection of an open descriptor.
pub(crate) fn of(fd: RawFd) -> Option<TcpInfo> {
    let mut bytes = [0; 512];
    let len = option(fd, libc::TCP_INFO, &mut bytes)?;
    Some(TcpInfo::read(&bytes[..len]))
}

/// The name of its congestion control algorithm (`TCP_CONGESTION`).
pub(crate) fn congestion_control(fd: RawFd) -> Option<String> {
    let mut bytes = [0; 16];
    let len = option(fd, libc::TCP_CONGESTION, &mut bytes)?;
    let name = bytes[..len].split(|byte| *byte == 0).next()?;
    Some(String::from_utf8_lossy(name).into_owned())
}

/// Bytes that arrived on an open descriptor but were not read (`FIONREAD`).
pub(crate) fn unread_bytes(fd: RawFd) -> u32 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the kernel writes one int, which is what it is given.
    let status = unsafe { libc::ioctl(fd, libc::FIONREAD, &raw mut bytes) };
    if status == 0 { bytes.unsigned_abs() } else { 0 }
}

/// Reads a TCP option, if the kernel supports it; returns its length.
fn option(fd: RawFd, name: libc::c_int, into: &mut [u8]) -> Option<usize> {
    let mut len = into.len() as libc::socklen_t;
    // SAFETY: the pointer and the length describe `into`, to which the kernel writes at most `len` bytes.
    let status = unsafe { libc::getsockopt(fd, libc::IPPROTO_TCP, name, into.as_mut_ptr().cast(), &mut len) };
    (status == 0).then_some((len as usize).min(into.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_structure_of_an_old_kernel_is_read_as_far_as_it_goes() {
        let mut bytes = [0u8; 236];
        bytes[16..20].copy_from_slice(&1448u32.to_ne_bytes());
        bytes[120..128].copy_from_slice(&7_000_000_000u64.to_ne_bytes());
        bytes[148..152].copy_from_slice(&u32::MAX.to_ne_bytes());
        bytes[208..216].copy_from_slice(&9u64.to_ne_bytes());
        let whole = TcpInfo::read(&bytes);
        assert_eq!((whole.mss_bytes, whole.bytes_acknowledged, whole.bytes_resent), (1448, 7_000_000_000, 9));
        assert_eq!(whole.min_rtt_us, 0, "none was measured");
        let old = TcpInfo::read(&bytes[..104]);
        assert_eq!((old.mss_bytes, old.bytes_acknowledged, old.bytes_resent), (1448, 0, 0));
        assert_eq!(TcpInfo::read(&[]), TcpInfo::default());
    }

    #[test]
    fn what_held_sending_back_is_what_took_most_of_the_time() {
        let limit = |busy_us, window_limited_us, buffer_limited_us| {
            TcpInfo { busy_us, window_limited_us, buffer_limited_us, ..TcpInfo::default() }.limit(1_000_000)
        };
        assert_eq!(limit(100_000, 0, 0), SendLimit::Program);
        assert_eq!(limit(900_000, 100_000, 0), SendLimit::Path);
        assert_eq!(limit(900_000, 800_000, 0), SendLimit::ReceiveWindow);
        assert_eq!(limit(900_000, 100_000, 700_000), SendLimit::SendBuffer);
    }

    #[test]
    fn differences_are_of_counts_only() {
        let earlier = TcpInfo { bytes_received: 10, rtt_us: 5, retransmits: 2, ..TcpInfo::default() };
        let later = TcpInfo { bytes_received: 25, rtt_us: 7, retransmits: 2, ..TcpInfo::default() };
        let since = later.since(&earlier);
        assert_eq!((since.bytes_received, since.rtt_us, since.retransmits), (15, 7, 0));
    }
}
