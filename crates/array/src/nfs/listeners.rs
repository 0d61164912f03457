//! The listeners of one server thread, and what becomes of them when an address becomes unreachable.

use std::net::SocketAddr;
use std::rc::Rc;

use reactor::{Listener, Reactor, Task};

use super::connection::{self, Port};
use crate::faults::Unreachable;
use crate::unreachable::Blackhole;

/// Connections that may wait to be accepted.
pub(super) const BACKLOG: u32 = 1024;

/// One port that is listened on, or would be.
pub(super) struct Doorway {
    address: SocketAddr,
    port: Rc<Port>,
    state: Door,
}

enum Door {
    Open(Task),
    /// Connection attempts are dropped for as long as this lives.
    Drops {
        _blackhole: Blackhole,
    },
    Closed,
}

impl Doorway {
    /// The door of a listener that is open already.
    pub(super) fn new(reactor: &Reactor, listener: Listener, port: Rc<Port>) -> Self {
        let mut doorway = Self { address: listener.local_addr(), port, state: Door::Closed };
        doorway.accept(reactor, listener);
        doorway
    }

    /// Starts accepting.
    fn accept(&mut self, reactor: &Reactor, listener: Listener) {
        let (port, handle) = (Rc::clone(&self.port), reactor.clone());
        self.state = Door::Open(reactor.spawn(async move {
            loop {
                match listener.accept().await {
                    // The faults may have changed since this door was looked at. Where attempts are to be
                    // dropped, the connection is one that never answers.
                    Ok((stream, _)) if port.shape.unreachable() == Some(Unreachable::Refuse) => {
                        stream.reset_on_close();
                    }
                    Ok((stream, _)) => connection::serve(&handle, stream, Rc::clone(&port)),
                    // No descriptors left, or a connection that is gone again: not to be tried in a tight loop.
                    Err(_) => handle.sleep(std::time::Duration::from_millis(5)).await,
                }
            }
        }));
    }

    /// Brings the door into the state that the faults ask for; false when that did not work yet, for
    /// example because the kernel has not let go of the port.
    pub(super) fn settle(&mut self, reactor: &Reactor) -> bool {
        match (self.port.shape.unreachable(), &self.state) {
            (None | Some(Unreachable::Stall), Door::Open(_))
            | (Some(Unreachable::Drop), Door::Drops { .. })
            | (Some(Unreachable::Refuse), Door::Closed) => true,
            (wanted, _) => {
                if let Door::Open(task) = std::mem::replace(&mut self.state, Door::Closed) {
                    task.abort();
                    // The listener is closed once the kernel has taken its accept back: next time.
                    return wanted == Some(Unreachable::Refuse);
                }
                match wanted {
                    Some(Unreachable::Refuse) => true,
                    Some(Unreachable::Drop) => match Blackhole::bind(self.address) {
                        Ok(blackhole) => {
                            self.state = Door::Drops { _blackhole: blackhole };
                            true
                        }
                        Err(_) => false,
                    },
                    None | Some(Unreachable::Stall) => match reactor.listen(self.address, BACKLOG) {
                        Ok(listener) => {
                            self.accept(reactor, listener);
                            true
                        }
                        Err(_) => false,
                    },
                }
            }
        }
    }
}
