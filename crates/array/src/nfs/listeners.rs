//! The listeners of one server thread, and what happens to them when an address becomes unreachable.

use std::net::SocketAddr;
use std::rc::Rc;

use reactor::{Listener, Reactor, Task};

use super::connection::{self, Port};
use crate::faults::Unreachable;
use crate::unreachable::Blackhole;

/// Maximum connections waiting to be accepted.
pub(super) const BACKLOG: u32 = 1024;

/// One port that is, or could be, listened on.
pub(super) struct Doorway {
    address: SocketAddr,
    port: Rc<Port>,
    state: Door,
}

enum Door {
    Open(Task),
    /// Connection attempts are dropped while this exists.
    Drops {
        _blackhole: Blackhole,
    },
    Closed,
}

impl Doorway {
    /// The doorway of an open listener.
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
                    // The faults may have changed since the last check. Where attempts are to be dropped, the
                    // connection gets no replies.
                    Ok((stream, _)) if port.shape.unreachable() == Some(Unreachable::Refuse) => {
                        stream.reset_on_close();
                    }
                    Ok((stream, _)) => connection::serve(&handle, stream, Rc::clone(&port)),
                    // Out of descriptors, or the connection is already gone: avoids a tight loop.
                    Err(_) => handle.sleep(std::time::Duration::from_millis(5)).await,
                }
            }
        }));
    }

    /// Applies the state required by the faults; false when that did not work yet, for example because the kernel has
    /// not released the port.
    pub(super) fn settle(&mut self, reactor: &Reactor) -> bool {
        match (self.port.shape.unreachable(), &self.state) {
            (None | Some(Unreachable::Stall), Door::Open(_))
            | (Some(Unreachable::Drop), Door::Drops { .. })
            | (Some(Unreachable::Refuse), Door::Closed) => true,
            (wanted, _) => {
                if let Door::Open(task) = std::mem::replace(&mut self.state, Door::Closed) {
                    task.abort();
                    // The listener closes once the kernel has returned its accept: retried next time.
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
