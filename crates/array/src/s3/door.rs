//! The listener of a data address: open, refusing, or dropping connection attempts, according to the faults.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket, TcpStream};

use crate::faults::Unreachable;
use crate::unreachable::Blackhole;

/// Maximum connections waiting to be accepted.
const BACKLOG: u32 = 1024;

/// One listening address, which keeps its port in every state.
#[derive(Debug)]
pub(super) struct Door {
    address: SocketAddr,
    state: State,
}

#[derive(Debug)]
enum State {
    Open(TcpListener),
    /// Bound but not listening: the kernel refuses.
    Refusing {
        _socket: TcpSocket,
    },
    Dropping {
        _hole: Blackhole,
    },
    /// Between two states, or when the next one was not available.
    Shut,
}

/// The two states other than open. A stalling address accepts connections.
fn wanted(fault: Option<Unreachable>) -> Option<Unreachable> {
    fault.filter(|fault| *fault != Unreachable::Stall)
}

impl Door {
    /// Takes an address (port 0 chooses a free one), in the state that the fault requires. Needs a runtime.
    pub(super) fn new(address: SocketAddr, fault: Option<Unreachable>) -> io::Result<Self> {
        let mut door = Self { address, state: State::Shut };
        door.enter(wanted(fault))?;
        Ok(door)
    }

    /// The address with its actual port.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes to the state that the fault requires, if it differs.
    pub(super) fn follow(&mut self, fault: Option<Unreachable>) -> io::Result<()> {
        let now = match self.state {
            State::Open(_) => None,
            State::Refusing { .. } => Some(Unreachable::Refuse),
            State::Dropping { .. } => Some(Unreachable::Drop),
            State::Shut => return self.enter(wanted(fault)),
        };
        if now == wanted(fault) {
            return Ok(());
        }
        // The old socket must be gone before the port can be taken again.
        self.state = State::Shut;
        self.enter(wanted(fault))
    }

    fn enter(&mut self, wanted: Option<Unreachable>) -> io::Result<()> {
        if wanted == Some(Unreachable::Drop) {
            let hole = Blackhole::bind(self.address)?;
            self.address = hole.local_addr()?;
            self.state = State::Dropping { _hole: hole };
            return Ok(());
        }
        let socket = if self.address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        socket.bind(self.address)?;
        self.address = socket.local_addr()?;
        self.state = match wanted {
            None => State::Open(socket.listen(BACKLOG)?),
            Some(_) => State::Refusing { _socket: socket },
        };
        Ok(())
    }

    /// The next connection; pending while the door is not open.
    pub(super) async fn accept(&self) -> io::Result<TcpStream> {
        match &self.state {
            State::Open(listener) => listener.accept().await.map(|(stream, _)| stream),
            _ => std::future::pending().await,
        }
    }
}
