//! An address that drops connection attempts, without root and without a firewall.
//!
//! Linux drops a SYN when the listener's accept queue is full (tcp_conn_request() in net/ipv4/tcp_input.c;
//! net.ipv4.tcp_abort_on_overflow is 0 unless somebody asked for resets). A listener that never accepts, with its queue
//! filled by connections of its own, thus looks from outside like a host behind a firewall that drops packets:
//! `connect` hangs until the client's own timeout.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{
    AddressFamily, SocketFlags, SocketType, bind, connect, getsockname, ipproto, listen, socket_with, sockopt,
};

/// Maximum connections tried to fill the queue. A backlog of 0 has room for one.
const MAX_FILLERS: usize = 64;

/// Timeout after which a filling connection counts as dropped. On loopback an accepted one takes microseconds.
const FILLER_PATIENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// A listener that answers no connection attempt. Dropping it releases the address.
#[derive(Debug)]
pub struct Blackhole {
    listener: OwnedFd,
    _fillers: Vec<OwnedFd>,
}

impl Blackhole {
    /// Takes an address (port 0 chooses a free one) and fills its queue.
    ///
    /// # Errors
    /// The address cannot be bound, or this kernel keeps accepting (`tcp_abort_on_overflow`, or a queue that never
    /// fills).
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let listener = open(address)?;
        sockopt::set_socket_reuseaddr(&listener, true)?;
        bind(&listener, &address)?;
        listen(&listener, 0)?;
        let target = reachable(SocketAddr::try_from(getsockname(&listener)?)?);
        let mut fillers = Vec::new();
        for _ in 0..MAX_FILLERS {
            let filler = open(target)?;
            let accepted = try_connect(&filler, target)?;
            // The dropped one stays as well: its retries take any place that becomes free.
            fillers.push(filler);
            if !accepted {
                return Ok(Self { listener, _fillers: fillers });
            }
        }
        Err(io::Error::other("the accept queue does not fill: connection attempts cannot be dropped here"))
    }

    /// The bound address.
    ///
    /// # Errors
    /// The kernel does not report it.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(SocketAddr::try_from(getsockname(&self.listener)?)?)
    }
}

fn open(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    Ok(socket_with(
        family,
        SocketType::STREAM,
        SocketFlags::CLOEXEC | SocketFlags::NONBLOCK,
        Some(ipproto::TCP),
    )?)
}

/// Whether a connection was established within the timeout.
fn try_connect(socket: &OwnedFd, target: SocketAddr) -> io::Result<bool> {
    match connect(socket, &target) {
        Ok(()) => return Ok(true),
        Err(rustix::io::Errno::INPROGRESS) => {}
        Err(error) => return Err(error.into()),
    }
    let mut waiting = [PollFd::new(socket, PollFlags::OUT)];
    if poll(&mut waiting, Some(&FILLER_PATIENCE))? == 0 {
        return Ok(false);
    }
    match sockopt::socket_error(socket)? {
        Ok(()) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// The address at which this host reaches a listener on `local`.
fn reachable(local: SocketAddr) -> SocketAddr {
    let ip = match local.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, local.port())
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use super::*;

    #[test]
    fn connecting_hangs_until_the_client_gives_up() {
        let hole = Blackhole::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = hole.local_addr().unwrap();
        for _ in 0..3 {
            let error = TcpStream::connect_timeout(&address, Duration::from_millis(200)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        }
    }

    #[test]
    fn the_address_is_free_again_afterwards() {
        let hole = Blackhole::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = hole.local_addr().unwrap();
        drop(hole);
        // The standard library sets SO_REUSEADDR, as every server of the array does.
        let listener = TcpListener::bind(address).unwrap();
        let client = std::thread::spawn(move || TcpStream::connect(address).map(|_| ()));
        listener.accept().unwrap();
        client.join().unwrap().unwrap();
    }
}
