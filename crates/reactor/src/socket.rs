//! Creates sockets: options, reserved ports, interfaces.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, ipproto, listen, socket_with, sockopt};

/// A network interface, identified by a name of at most 15 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Device([u8; libc::IFNAMSIZ]);

impl Device {
    /// `None` if no interface can have this name.
    pub fn new(name: &str) -> Option<Device> {
        let mut bytes = [0; libc::IFNAMSIZ];
        let fits = !name.is_empty() && name.len() < bytes.len() && !name.contains('\0');
        fits.then(|| {
            bytes[..name.len()].copy_from_slice(name.as_bytes());
            Device(bytes)
        })
    }

    /// Checks whether sockets may be bound to it: before Linux 5.7 that requires `CAP_NET_RAW`.
    ///
    /// # Errors
    /// What setsockopt(2) reports.
    pub fn probe(&self) -> io::Result<()> {
        let flags = SocketFlags::CLOEXEC;
        let fd = socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
        self.bind(&fd)
    }

    /// `SO_BINDTODEVICE` (socket(7)): packets leave and arrive through this interface only.
    fn bind(&self, fd: &OwnedFd) -> io::Result<()> {
        // SAFETY: the pointer and the length describe the name.
        let status = unsafe {
            libc::setsockopt(
                fd.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_BINDTODEVICE,
                self.0.as_ptr().cast(),
                self.0.len() as libc::socklen_t,
            )
        };
        if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        f.write_str(&String::from_utf8_lossy(&self.0[..end]))
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({self})")
    }
}

/// How to establish a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketOptions {
    /// `TCP_NODELAY`: send small requests at once (on by default).
    pub nodelay: bool,
    /// `SO_SNDBUF` in bytes; if absent, the kernel sizes it.
    pub send_buffer_bytes: Option<u32>,
    /// `SO_RCVBUF` in bytes; if absent, the kernel sizes it.
    pub receive_buffer_bytes: Option<u32>,
    /// Maximum segment size in bytes (`TCP_MAXSEG`, tcp(7)); if absent, the path's.
    pub segment_bytes: Option<u32>,
    /// The local address to connect from; port 0 chooses any, or a reserved one if requested.
    pub bind: Option<SocketAddr>,
    /// The network interface that packets must leave and arrive through.
    pub device: Option<Device>,
    /// Send from user pages without copying, if the backend is io_uring and the kernel supports it (Linux 6.0). Whether
    /// this pays off depends on the NIC: on loopback it is slower than a copy.
    pub zero_copy_send: bool,
    /// Connect from a port below 1024, which many NFS servers require; an ordinary port if this is not permitted.
    pub reserved_port: bool,
}

impl Default for SocketOptions {
    fn default() -> Self {
        SocketOptions {
            nodelay: true,
            send_buffer_bytes: None,
            receive_buffer_bytes: None,
            segment_bytes: None,
            bind: None,
            device: None,
            zero_copy_send: false,
            reserved_port: false,
        }
    }
}

pub(crate) fn family(address: &SocketAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 }
}

/// A TCP socket; non-blocking for epoll, blocking for io_uring (which would not wait otherwise).
pub(crate) fn new_socket(address: &SocketAddr, nonblocking: bool) -> io::Result<OwnedFd> {
    let mut flags = SocketFlags::CLOEXEC;
    flags.set(SocketFlags::NONBLOCK, nonblocking);
    Ok(socket_with(family(address), SocketType::STREAM, flags, Some(ipproto::TCP))?)
}

/// A socket ready to connect.
pub(crate) fn prepare(to: &SocketAddr, options: &SocketOptions, nonblocking: bool) -> io::Result<OwnedFd> {
    let fd = new_socket(to, nonblocking)?;
    sockopt::set_tcp_nodelay(&fd, options.nodelay)?;
    set_sizes(&fd, options)?;
    if let Some(device) = &options.device {
        device.bind(&fd)?;
    }
    if options.reserved_port && bind_reserved(&fd, to, options.bind) {
        return Ok(fd);
    }
    if let Some(local) = options.bind {
        if local.port() == 0 {
            // The port is chosen once the peer is known, so that the full range is available for each peer (ip(7)).
            // Kernels that cannot do this choose one now.
            let _ = set_number(&fd, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1);
        }
        bind(&fd, &local)?;
    }
    Ok(fd)
}

/// Sets buffer and segment sizes; connections accepted by a listening socket inherit them.
fn set_sizes(fd: &OwnedFd, options: &SocketOptions) -> io::Result<()> {
    if let Some(bytes) = options.send_buffer_bytes {
        sockopt::set_socket_send_buffer_size(fd, bytes as usize)?;
    }
    if let Some(bytes) = options.receive_buffer_bytes {
        sockopt::set_socket_recv_buffer_size(fd, bytes as usize)?;
    }
    match options.segment_bytes {
        Some(bytes) => set_number(fd, libc::IPPROTO_TCP, libc::TCP_MAXSEG, bytes),
        None => Ok(()),
    }
}

/// Binds to a free port from 1023 down to 512 on the local address; false if that is not permitted, the address is not
/// available, or it specifies a port itself.
fn bind_reserved(fd: &OwnedFd, to: &SocketAddr, local: Option<SocketAddr>) -> bool {
    let any =
        if to.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    if local.is_some_and(|local| local.port() > 0) {
        return false;
    }
    let from = local.map_or(any, |local| local.ip());
    // Start at a point that differs between processes and calls, to avoid repeated collisions.
    let start = (crate::clock::now_ns() / 1000 + u64::from(std::process::id())) % 512;
    for step in 0..512 {
        let port = 1023 - ((start + step) % 512) as u16;
        match bind(fd, &SocketAddr::new(from, port)) {
            Ok(()) => return true,
            Err(rustix::io::Errno::ACCESS | rustix::io::Errno::PERM | rustix::io::Errno::ADDRNOTAVAIL) => {
                return false;
            }
            Err(_) => {}
        }
    }
    false
}

/// A listening socket on which reactors of several threads may accept
/// ([`Reactor::accept_on`](crate::Reactor::accept_on)). Port 0 chooses a free port. The size options apply to the
/// accepted connections.
///
/// # Errors
/// What socket(2), setsockopt(2), bind(2) and listen(2) report.
pub fn listening(on: &SocketAddr, backlog: u32, options: &SocketOptions) -> io::Result<OwnedFd> {
    let fd = new_socket(on, false)?;
    sockopt::set_socket_reuseaddr(&fd, true)?;
    set_sizes(&fd, options)?;
    if on.is_ipv6() {
        sockopt::set_ipv6_v6only(&fd, true)?;
    }
    bind(&fd, on)?;
    listen(&fd, i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok(fd)
}

pub(crate) fn local_addr(fd: &OwnedFd) -> io::Result<SocketAddr> {
    SocketAddr::try_from(rustix::net::getsockname(fd)?)
        .map_err(|_| io::Error::other("not an internet address"))
}

pub(crate) fn peer_addr(fd: &OwnedFd) -> io::Result<SocketAddr> {
    let peer = rustix::net::getpeername(fd)?.ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))?;
    SocketAddr::try_from(peer).map_err(|_| io::Error::other("not an internet address"))
}

pub(crate) fn reset_on_close(fd: &OwnedFd) {
    let _ = sockopt::set_socket_linger(fd, Some(std::time::Duration::ZERO));
}

/// Minimum number of bytes for the socket to count as readable (`SO_RCVLOWAT`, socket(7)).
pub(crate) fn set_low_water(fd: &OwnedFd, bytes: u32) -> io::Result<()> {
    set_number(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, bytes)
}

/// Sets a numeric socket option.
fn set_number(fd: &OwnedFd, level: libc::c_int, name: libc::c_int, value: u32) -> io::Result<()> {
    let value = value as libc::c_int;
    // SAFETY: the pointer and the length describe `value`.
    let status = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(&value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
