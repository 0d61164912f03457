//! One client's connection: a task that receives and executes calls, and one that sends replies.
//!
//! The receiving task executes a call as soon as it is complete and appends the reply to the current buffer; whenever
//! the socket is free, the sending task swaps that buffer for an empty one. Pipelined calls thus share receives and
//! sends, and a client that reads slowly delays only itself. Memory is bounded: the receive buffer, two send buffers,
//! and [`DELAYED_MAX`] delayed calls.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;

use reactor::{Buffer, Reactor, Signal, Stream, Task};

use super::call::{Call, Programs, Refusal};
use super::delay::Delayed;
use super::input::{Input, Next};
use super::out::Out;
use super::service::{Execution, Service};
use crate::shape::TrafficShape;

/// Maximum delayed calls of one connection.
pub(super) const DELAYED_MAX: usize = 1024;
/// At this many bytes, replies are sent while more calls are executed.
const SEND_EARLY_BYTES: usize = 64 << 10;
/// Space for a reply that consists of a header only.
const HEADER_ROOM: usize = 64;

/// The programs served on a port, and how.
pub(super) struct Port {
    pub(super) service: Arc<Service>,
    pub(super) shape: Arc<TrafficShape>,
    pub(super) programs: Programs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The client sends no more; outstanding replies are still sent.
    Ended,
    /// Nothing can be sent any more.
    Broken,
}

/// Shared by a connection's two tasks.
pub(super) struct Connection {
    pub(super) reactor: Reactor,
    pub(super) port: Rc<Port>,
    pub(super) peer: IpAddr,
    stream: Stream,
    pub(super) out: RefCell<Out>,
    state: Cell<State>,
    /// There is data to send, or no more will come.
    work: Signal,
    /// There is space for replies again.
    room: Signal,
    /// Delayed calls that are due.
    pub(super) due: RefCell<VecDeque<Delayed>>,
    /// Number of delayed calls, including those due.
    pub(super) delayed: Cell<usize>,
    /// A reset follows the contents of the buffer.
    pub(super) reset: Cell<bool>,
    receiver: RefCell<Option<Task>>,
}

/// Serves a connection in the background until it ends.
pub(super) fn serve(reactor: &Reactor, stream: Stream, port: Rc<Port>) {
    let connection = Rc::new(Connection {
        reactor: reactor.clone(),
        port,
        peer: stream.peer_addr().ip().to_canonical(),
        stream,
        out: RefCell::new(Out::new()),
        state: Cell::new(State::Open),
        work: reactor.signal(),
        room: reactor.signal(),
        due: RefCell::default(),
        delayed: Cell::new(0),
        reset: Cell::new(false),
        receiver: RefCell::default(),
    });
    let receiver = reactor.spawn(Rc::clone(&connection).receive());
    *connection.receiver.borrow_mut() = Some(receiver);
    reactor.spawn(connection.send());
}

impl Connection {
    /// Wakes the sending task.
    pub(super) fn wake_sender(&self) {
        self.work.set();
    }

    async fn receive(self: Rc<Self>) {
        let mut input = Input::new();
        loop {
            let going_on = match input.next() {
                Ok(Next::Record) => self.execute(input.record()).await,
                Ok(Next::Missing(missing)) => {
                    self.wake_sender();
                    input.receive(&self.stream, missing).await
                }
                // The record stream can no longer be parsed.
                Err(_) => false,
            };
            if !going_on || self.state.get() == State::Broken {
                break;
            }
        }
        if self.state.get() == State::Open {
            self.state.set(State::Ended);
        }
        self.wake_sender();
    }

    /// Executes a call, or delays it; false when the connection must be closed.
    async fn execute(self: &Rc<Self>, record: &[u8]) -> bool {
        let call = match Call::parse(record, self.port.programs) {
            Ok(call) => call,
            Err(Refusal::Garbage) => return false,
            Err(Refusal::Reply(header)) => {
                self.wait_for_room(HEADER_ROOM).await;
                self.out.borrow_mut().header(&header);
                return true;
            }
        };
        if !self.port.shape.is_plain() {
            return self.put_off(record, &call).await;
        }
        self.wait_for_room(call.reply_room()).await;
        let mut out = self.out.borrow_mut();
        self.port.service.answer(&call, self.peer, &mut out, Execution::Faithful);
        if out.mark() >= SEND_EARLY_BYTES {
            self.wake_sender();
        }
        true
    }

    /// Waits until a reply of `needed` bytes fits into the buffer, or the connection is broken.
    pub(super) async fn wait_for_room(&self, needed: usize) {
        // Even on a broken connection the reply gets its space: it is dropped with the buffer.
        while !self.out.borrow_mut().make_room(needed) {
            self.wake_sender();
            self.room.wait().await;
        }
    }

    /// Waits until another call may be delayed.
    pub(super) async fn wait_for_delayed(&self) {
        while self.delayed.get() >= DELAYED_MAX && self.state.get() != State::Broken {
            self.room.wait().await;
        }
    }

    async fn send(self: Rc<Self>) {
        let mut spare: Option<Buffer> = None;
        loop {
            self.answer_due();
            if self.out.borrow().is_empty() {
                if self.state.get() != State::Open && self.delayed.get() == 0 {
                    break;
                }
                self.work.wait().await;
                continue;
            }
            let (buffer, filled) = self.out.borrow_mut().swap(spare.take());
            self.room.set();
            let (sent, buffer) = self.stream.send_all(buffer, 0..filled).await;
            spare = Some(buffer);
            if sent.is_err() || self.reset.get() {
                break;
            }
        }
        self.close();
    }

    /// Ends the receiving task, which also holds the socket, and with it the connection.
    fn close(&self) {
        self.state.set(State::Broken);
        if self.reset.get() {
            self.stream.reset_on_close();
        }
        if let Some(receiver) = self.receiver.borrow_mut().take() {
            receiver.abort();
        }
    }
}
