//! TCP connections and listeners on all backends.

use std::cell::{Cell, OnceCell};
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::rc::{Rc, Weak};

use io_uring::{opcode, squeue, types};
use rustix::net::{RecvFlags, SendFlags, Shutdown};

use crate::core::{Inner, Kernel};
use crate::epoll::Direction;
use crate::live::{ConnectionName, Shown};
use crate::slots::Held;
use crate::socket::{self, SocketOptions};
use crate::tcp_info::{self, TcpInfo};
use crate::uring::to_result;
use crate::{Buffer, discard};

/// A descriptor and its index in the backend's tables.
pub(crate) struct Socket {
    fd: OwnedFd,
    /// Registered file (io_uring) or watch (epoll).
    place: Option<u32>,
    inner: Weak<Inner>,
    /// Bytes that must have arrived to wake a waiting receive (`SO_RCVLOWAT`).
    low_water: Cell<u32>,
    /// Its entry in the list of connections that other threads may inspect.
    shown: OnceCell<Shown>,
}

impl Socket {
    fn new(inner: &Rc<Inner>, fd: OwnedFd) -> io::Result<Rc<Socket>> {
        let place = match &inner.kernel {
            Kernel::Uring(uring) => uring.register_file(fd.as_raw_fd()),
            Kernel::Epoll(epoll) => Some(epoll.watch(&fd)?),
            Kernel::Simulated(_) => return Err(no_sockets()),
        };
        Ok(Rc::new(Socket {
            fd,
            place,
            inner: Rc::downgrade(inner),
            low_water: Cell::new(1),
            shown: OnceCell::new(),
        }))
    }

    /// Lets a waiting receive sleep until this many bytes have arrived, the stream ends, or the socket's buffer is
    /// full.
    fn set_low_water(&self, bytes: usize) {
        let bytes = u32::try_from(bytes).unwrap_or(LOW_WATER_MAX).min(LOW_WATER_MAX);
        if self.low_water.get() != bytes && socket::set_low_water(&self.fd, bytes).is_ok() {
            self.low_water.set(bytes);
        }
    }

    fn watch(&self) -> u32 {
        self.place.expect("epoll sockets are always watched")
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // A closed descriptor must not be inspected.
        drop(self.shown.take());
        let (Some(inner), Some(place)) = (self.inner.upgrade(), self.place) else { return };
        match &inner.kernel {
            Kernel::Uring(uring) => uring.forget_file(place),
            Kernel::Epoll(epoll) => epoll.forget(place, &self.fd),
            Kernel::Simulated(_) => {}
        }
    }
}

/// From this length on, a receive waits for all of it rather than taking small pieces, and a send is submitted at once.
const MUCH: usize = 32 * 1024;
/// Maximum number of bytes that a receive waits for at once: nothing is gained beyond this.
const LOW_WATER_MAX: u32 = 1 << 20;

/// The flag for a receive that waits until enough data is there before it takes anything (`IORING_RECVSEND_POLL_FIRST`,
/// io_uring_enter(2)).
fn poll_first(enough: usize) -> u16 {
    u16::from(enough > 1)
}

fn no_sockets() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "a simulated reactor has no sockets")
}

/// Builds an entry for the socket's registered file if it has one, otherwise for the plain descriptor.
macro_rules! on_socket {
    ($socket:expr, |$fd:ident| $entry:expr) => {
        match $socket.place {
            Some(place) => {
                let $fd = types::Fixed(place);
                $entry
            }
            None => {
                let $fd = types::Fd($socket.fd.as_raw_fd());
                $entry
            }
        }
    };
}

/// A TCP connection. Clones refer to the same connection, which closes when the last one is dropped.
#[derive(Clone)]
pub struct Stream {
    socket: Rc<Socket>,
    inner: Rc<Inner>,
    local: SocketAddr,
    peer: SocketAddr,
    zero_copy_send: bool,
}

impl Stream {
    pub(crate) async fn connect(
        inner: &Rc<Inner>,
        to: SocketAddr,
        options: &SocketOptions,
    ) -> io::Result<Stream> {
        match Self::connect_once(inner, to, options).await {
            // The reserved port is already used with this peer (often by a lingering connection).
            Err(e)
                if options.reserved_port
                    && matches!(e.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable) =>
            {
                let options = SocketOptions { reserved_port: false, ..*options };
                Self::connect_once(inner, to, &options).await
            }
            other => other,
        }
    }

    async fn connect_once(inner: &Rc<Inner>, to: SocketAddr, options: &SocketOptions) -> io::Result<Stream> {
        let nonblocking = matches!(inner.kernel, Kernel::Epoll(_));
        let socket = Socket::new(inner, socket::prepare(&to, options, nonblocking)?)?;
        match &inner.kernel {
            Kernel::Uring(uring) => {
                let address: Box<rustix::net::SocketAddrAny> = Box::new(to.into());
                let held = Held {
                    socket: Some(Rc::clone(&socket)),
                    other: Some(address),
                    rare: true,
                    ..Held::default()
                };
                let (result, _) = uring
                    .start(inner, held, |held| {
                        let address = held
                            .other
                            .as_ref()
                            .and_then(|any| any.downcast_ref::<rustix::net::SocketAddrAny>())
                            .expect("it was put there above");
                        let (pointer, len) = (address.as_ptr().cast::<libc::sockaddr>(), address.addr_len());
                        on_socket!(socket, |fd| opcode::Connect::new(fd, pointer, len).build())
                    })
                    .await;
                to_result(result)?;
            }
            Kernel::Epoll(epoll) => {
                match rustix::net::connect(&socket.fd, &to) {
                    Ok(()) => {}
                    Err(rustix::io::Errno::INPROGRESS) => loop {
                        epoll.wait(inner, socket.watch(), Direction::Write).await;
                        // A watch may report early; the socket has a peer only once it is connected.
                        rustix::net::sockopt::socket_error(&socket.fd)??;
                        if rustix::net::getpeername(&socket.fd).is_ok() {
                            break;
                        }
                    },
                    Err(e) => return Err(e.into()),
                }
            }
            Kernel::Simulated(_) => return Err(no_sockets()),
        }
        let local = socket::local_addr(&socket.fd)?;
        let zero_copy_send =
            options.zero_copy_send && matches!(&inner.kernel, Kernel::Uring(uring) if uring.sends_zero_copy);
        Ok(Stream { socket, inner: Rc::clone(inner), local, peer: to, zero_copy_send })
    }

    /// Receives into `range` of the buffer: at least one byte, or 0 at the end of the stream.
    pub async fn recv(&self, buffer: Buffer, range: Range<usize>) -> (io::Result<usize>, Buffer) {
        self.receive(buffer, range, 0, 1).await
    }

    /// The same if `due` bytes are known to be in transit: the wait lasts until as many of them have arrived as fit the
    /// range (and the socket's buffer), or the stream ends. Waking up once for much data is far cheaper than often for
    /// little. Never give more than is really due: nothing else would end the wait.
    pub async fn recv_due(
        &self,
        buffer: Buffer,
        range: Range<usize>,
        due: usize,
    ) -> (io::Result<usize>, Buffer) {
        let enough = due.min(range.len());
        self.receive(buffer, range, 0, if enough >= MUCH { enough } else { 1 }).await
    }

    /// Fills `range` of the buffer; returns fewer bytes only if the stream ends first.
    pub async fn recv_exact(&self, mut buffer: Buffer, range: Range<usize>) -> (io::Result<usize>, Buffer) {
        let wanted = range.len();
        let mut filled = 0;
        while filled < wanted {
            let rest = range.start + filled..range.end;
            let result;
            (result, buffer) = self.receive(buffer, rest, libc::MSG_WAITALL, 1).await;
            match result {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(e) => return (Err(e), buffer),
            }
        }
        (Ok(filled), buffer)
    }

    async fn receive(
        &self,
        buffer: Buffer,
        range: Range<usize>,
        flags: i32,
        enough: usize,
    ) -> (io::Result<usize>, Buffer) {
        let Range { start, end } = range;
        self.socket.set_low_water(enough);
        assert!(start <= end && end <= buffer.len(), "the range lies within the buffer");
        match &self.inner.kernel {
            Kernel::Uring(_) => {
                let len = end - start;
                self.in_ring(buffer, |socket, buffer| {
                    let pointer = buffer.address(start);
                    on_socket!(socket, |fd| opcode::Recv::new(fd, pointer, len as u32)
                        .flags(flags)
                        .ioprio(poll_first(enough))
                        .build())
                })
                .await
            }
            _ => {
                let mut buffer = buffer;
                let result = self
                    .with_epoll(Direction::Read, || {
                        Ok(rustix::net::recv(&self.socket.fd, &mut buffer[start..end], RecvFlags::empty())?.0)
                    })
                    .await;
                (result, buffer)
            }
        }
    }

    /// Discards exactly `len` incoming bytes, in a few large pieces, without copying them to user space (`MSG_TRUNC`,
    /// tcp(7)); fewer only if the stream ends first. Returns the number.
    pub async fn recv_discard(&self, len: usize) -> io::Result<usize> {
        let mut dropped = 0;
        while dropped < len {
            let part = (len - dropped).min(discard::LEN_MAX);
            let pointer = discard::target();
            // Not MSG_WAITALL: io_uring continues a partial receive from the iterator's state, which a receive that
            // copies nothing does not advance, and would discard more than requested (6.18).
            let flags = libc::MSG_TRUNC;
            let enough = if part >= MUCH { part } else { 1 };
            self.socket.set_low_water(enough);
            let count = match &self.inner.kernel {
                Kernel::Uring(uring) => {
                    let held = Held { socket: Some(Rc::clone(&self.socket)), ..Held::default() };
                    let operation = uring.start(&self.inner, held, |_| {
                        on_socket!(self.socket, |fd| opcode::Recv::new(fd, pointer, part as u32)
                            .flags(flags)
                            .ioprio(poll_first(enough))
                            .build())
                    });
                    to_result(operation.await.0)?
                }
                _ => self.with_epoll(Direction::Read, || discard::receive(&self.socket.fd, part)).await?,
            };
            if count == 0 {
                break;
            }
            dropped += count;
        }
        Ok(dropped)
    }

    /// Sends part of `range`, at least one byte.
    pub async fn send(&self, buffer: Buffer, range: Range<usize>) -> (io::Result<usize>, Buffer) {
        self.transmit(buffer, range, libc::MSG_NOSIGNAL).await
    }

    /// Sends all of `range`.
    pub async fn send_all(&self, mut buffer: Buffer, range: Range<usize>) -> (io::Result<()>, Buffer) {
        let mut sent = range.start;
        while sent < range.end {
            let result;
            (result, buffer) =
                self.transmit(buffer, sent..range.end, libc::MSG_NOSIGNAL | libc::MSG_WAITALL).await;
            match result {
                Ok(count) => sent += count,
                Err(e) => return (Err(e), buffer),
            }
        }
        (Ok(()), buffer)
    }

    async fn transmit(&self, buffer: Buffer, range: Range<usize>, flags: i32) -> (io::Result<usize>, Buffer) {
        let Range { start, end } = range;
        assert!(start <= end && end <= buffer.len(), "the range lies within the buffer");
        match &self.inner.kernel {
            Kernel::Uring(uring) => {
                let len = end - start;
                let operation = self.in_ring(buffer, |socket, buffer| {
                    let pointer = buffer.address(start).cast_const();
                    if self.zero_copy_send {
                        let place = buffer.place();
                        return on_socket!(socket, |fd| {
                            opcode::SendZc::new(fd, pointer, len as u32).buf_index(place).flags(flags).build()
                        });
                    }
                    on_socket!(socket, |fd| opcode::Send::new(fd, pointer, len as u32).flags(flags).build())
                });
                // A large payload is submitted while it is still in the CPU cache; if it waited for the rest of the
                // turn, other lanes' payload would have evicted it: 16 lanes sending 128 KiB at a time move 28 GB
                // instead of 18 per CPU-second over loopback (AMD EPYC, 1 MiB of second-level cache).
                if len >= MUCH {
                    uring.submit_now();
                }
                operation.await
            }
            _ => {
                let result = self
                    .with_epoll(Direction::Write, || {
                        Ok(rustix::net::send(&self.socket.fd, &buffer[start..end], SendFlags::NOSIGNAL)?)
                    })
                    .await;
                (result, buffer)
            }
        }
    }

    /// One operation on the ring, which holds the buffer.
    fn in_ring<'a>(
        &'a self,
        buffer: Buffer,
        entry: impl FnOnce(&Socket, &mut Buffer) -> squeue::Entry,
    ) -> impl Future<Output = (io::Result<usize>, Buffer)> + 'a {
        let Kernel::Uring(uring) = &self.inner.kernel else {
            unreachable!("the caller has matched the backend")
        };
        let held = Held { buffer: Some(buffer), socket: Some(Rc::clone(&self.socket)), ..Held::default() };
        let operation = uring.start(&self.inner, held, |held| {
            entry(&self.socket, held.buffer.as_mut().expect("it was put there above"))
        });
        async move {
            let (result, buffer) = operation.await;
            (to_result(result), buffer.expect("the operation gives back what it took"))
        }
    }

    /// Repeats a system call until it does not block.
    async fn with_epoll<T>(
        &self,
        direction: Direction,
        attempt: impl FnMut() -> io::Result<T>,
    ) -> io::Result<T> {
        let Kernel::Epoll(epoll) = &self.inner.kernel else { return Err(no_sockets()) };
        self.inner.give_way(1).await;
        epoll.retry(&self.inner, self.socket.watch(), direction, attempt).await
    }

    /// Whether sends use the kernel's zero-copy path.
    pub fn sends_zero_copy(&self) -> bool {
        self.zero_copy_send
    }

    /// Shuts down both directions: all waits on this connection end.
    pub fn shutdown(&self) {
        let _ = rustix::net::shutdown(&self.socket.fd, Shutdown::Both);
    }

    /// Turns the close into a reset (`SO_LINGER` 0), for tests and injected faults.
    pub fn reset_on_close(&self) {
        socket::reset_on_close(&self.socket.fd);
    }

    /// The local address.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// The peer's address.
    pub fn peer_addr(&self) -> SocketAddr {
        self.peer
    }

    /// The kernel's data on the connection.
    pub fn tcp_info(&self) -> Option<TcpInfo> {
        tcp_info::of(self.socket.fd.as_raw_fd())
    }

    /// Its congestion control algorithm (`TCP_CONGESTION`, tcp(7)), such as `cubic`.
    pub fn congestion_control(&self) -> Option<String> {
        tcp_info::congestion_control(self.socket.fd.as_raw_fd())
    }

    /// Sets the connection's owner, once: from then on other threads may inspect it ([`crate::live::connections`]).
    pub fn name(&self, name: ConnectionName) {
        let scope = self.socket.inner.upgrade().and_then(|inner| inner.scope.get());
        let shown = || Shown::new(self.socket.fd.as_raw_fd(), scope, name, self.local, self.peer);
        self.socket.shown.get_or_init(shown);
    }
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Stream({} -> {})", self.local, self.peer)
    }
}

/// A socket that accepts connections.
pub struct Listener {
    socket: Rc<Socket>,
    inner: Rc<Inner>,
    local: SocketAddr,
    nodelay: bool,
}

impl Listener {
    pub(crate) fn open(inner: &Rc<Inner>, fd: OwnedFd, nodelay: bool) -> io::Result<Listener> {
        if matches!(inner.kernel, Kernel::Epoll(_)) {
            rustix::io::ioctl_fionbio(&fd, true)?;
        }
        let local = socket::local_addr(&fd)?;
        Ok(Listener { socket: Socket::new(inner, fd)?, inner: Rc::clone(inner), local, nodelay })
    }

    /// The listening address, with the chosen port.
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Waits for the next connection.
    ///
    /// # Errors
    /// What accept(2) reports: the connection is already gone, or there are no descriptors left.
    pub async fn accept(&self) -> io::Result<(Stream, SocketAddr)> {
        let fd = match &self.inner.kernel {
            Kernel::Uring(uring) => {
                let held = Held {
                    socket: Some(Rc::clone(&self.socket)),
                    makes_descriptor: true,
                    rare: true,
                    ..Held::default()
                };
                let operation = uring.start(&self.inner, held, |_| {
                    on_socket!(self.socket, |fd| {
                        opcode::Accept::new(fd, std::ptr::null_mut(), std::ptr::null_mut())
                            .flags(libc::SOCK_CLOEXEC)
                            .build()
                    })
                });
                let fd = to_result(operation.await.0)?;
                // SAFETY: the kernel has just created this descriptor for us.
                unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(fd as i32) }
            }
            Kernel::Epoll(epoll) => {
                use rustix::net::{SocketFlags, accept_with};
                let attempt =
                    || Ok(accept_with(&self.socket.fd, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)?);
                epoll.retry(&self.inner, self.socket.watch(), Direction::Read, attempt).await?
            }
            Kernel::Simulated(_) => return Err(no_sockets()),
        };
        rustix::net::sockopt::set_tcp_nodelay(&fd, self.nodelay)?;
        let (local, peer) = (socket::local_addr(&fd)?, socket::peer_addr(&fd)?);
        let socket = Socket::new(&self.inner, fd)?;
        Ok((Stream { socket, inner: Rc::clone(&self.inner), local, peer, zero_copy_send: false }, peer))
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Listener({})", self.local)
    }
}
