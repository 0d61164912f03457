//! One TCP connection with many calls in flight, which survives connection loss.
//!
//! Two tasks serve it: one sends ([`super::transmit`]), one receives and reconnects after a loss ([`super::receive`]).
//! The calls of an operation end with its deadline ([`crate::deadlines`]).
//!
//! After a connection loss, unanswered calls are retransmitted on the next connection with the same transaction ids,
//! until the operation's deadline and at most [`LOSSES_MAX`] times ([`GARBAGE_MAX`] times when the connection was
//! dropped because its replies were malformed).

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use metrics::{ErrorKind, PathFacts};
use reactor::{Reactor, Signal, SocketOptions, Stream, Task};
use wire::xdr::Encode;

use super::calls::{Call, Expect};
use super::slots::{Answer, Table};
use super::ticket::Ticket;
use super::v41::{CompoundWriter, SessionSlots};
use super::{receive, transmit};
use crate::{ConnectionFacts, Payload, ReconnectReason, Sink, connections};

/// Maximum retransmits of a call after connection losses.
pub(super) const LOSSES_MAX: u32 = 8;
/// Maximum retransmits of a call after malformed replies.
pub(super) const GARBAGE_MAX: u32 = 3;
/// Calls in flight beyond one per lane, for operations that are split.
pub(super) const SPARE_SLOTS: u32 = 64;
/// From this length on, discarding a READ's payload in the kernel is worth a system call of its own.
const LARGE_READ: u32 = 32 * 1024;
/// Bound for listings; all other replies except READs are far smaller.
pub(super) const LISTING_BYTES: u32 = 64 * 1024;

/// Settings shared by all connections of a session.
pub(super) struct Settings {
    /// Number of the worker.
    pub(super) worker: u32,
    pub(super) payload: Payload,
    pub(super) sink: Sink,
    pub(super) op_timeout: Duration,
    pub(super) connect_timeout: Duration,
    /// Maximum READ size requested.
    pub(super) read_size: u32,
    /// Bytes gathered for one send.
    pub(super) send_bytes: usize,
    /// Bytes received at a time.
    pub(super) receive_bytes: usize,
    /// The record mark, and the call header with program, version and credential; transaction id and procedure are
    /// filled in for each call.
    pub(super) template: Vec<u8>,
    /// Body of the credential.
    pub(super) credential: Vec<u8>,
    /// The session, with version 4.1.
    pub(super) session: Option<Rc<SessionSlots>>,
}

impl Settings {
    /// The largest record that the server may send, with an allowance for the headers of many small fragments.
    pub(super) fn record_limit(&self) -> usize {
        2 * self.read_size.max(LISTING_BYTES) as usize + 4096
    }

    /// True when data read is verified only once the operation's whole block has arrived.
    pub(super) fn gathers(&self) -> bool {
        self.sink == Sink::Verify && self.payload.whole_blocks()
    }
}

/// Local and remote address of a connection, used for every attempt.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub(super) remote: SocketAddr,
    pub(super) options: SocketOptions,
}

/// Why a connection was dropped.
pub(super) struct Loss {
    /// Kind of error charged to the calls in flight; `None` if they only time out.
    pub(super) kind: Option<ErrorKind>,
    pub(super) text: Box<str>,
}

/// One connection and its calls.
pub(super) struct Connection {
    pub(super) reactor: Reactor,
    pub(super) settings: Rc<Settings>,
    /// Number within its worker.
    pub(super) number: usize,
    pub(super) way: Way,
    pub(super) table: RefCell<Table>,
    /// Calls to send: slot and transaction id.
    pub(super) queue: RefCell<VecDeque<(u32, u32)>>,
    pub(super) transmit_wake: Signal,
    /// Absent while the connection is lost.
    pub(super) stream: RefCell<Option<Stream>>,
    /// Counts connections opened, so that the sending task notices a new one.
    pub(super) epoch: Cell<u32>,
    pub(super) last_received_ns: Cell<u64>,
    /// Calls were overdue and nothing had arrived since they were sent.
    pub(super) silent: Cell<bool>,
    pub(super) last_loss: RefCell<Box<str>>,
    pub(super) reconnects: Cell<u64>,
    /// Why connections were dropped, and how often.
    pub(super) losses: RefCell<Vec<ReconnectReason>>,
    pub(super) retries: Cell<u64>,
    /// Replies that moved fewer bytes than requested.
    pub(super) short_answers: Cell<u64>,
    /// Traffic of earlier connections.
    pub(super) closed: RefCell<Vec<PathFacts>>,
}

/// A connection and the tasks that serve it, which end when this is dropped.
pub(super) struct Served {
    pub(super) connection: Rc<Connection>,
    tasks: Vec<Task>,
}

impl Drop for Served {
    fn drop(&mut self) {
        for task in self.tasks.drain(..) {
            task.abort();
        }
    }
}

impl Served {
    /// Serves calls of `lanes` lanes on `stream`, which is connection `number` of its worker, was opened over `way` and
    /// has nothing outstanding.
    pub(super) fn start(
        reactor: &Reactor,
        settings: &Rc<Settings>,
        (number, way): (usize, Way),
        stream: Stream,
        lanes: u32,
    ) -> Self {
        connections::show(&stream, "nfs", settings.worker, number);
        let connection = Connection::new(reactor, settings, (number, way), lanes);
        if let Some(session) = &settings.session {
            session.add_sender(connection.transmit_wake.clone());
        }
        *connection.stream.borrow_mut() = Some(stream);
        let tasks = vec![
            reactor.spawn(transmit::run(Rc::clone(&connection))),
            reactor.spawn(receive::run(Rc::clone(&connection))),
        ];
        Self { connection, tasks }
    }
}

impl Connection {
    /// A connection without a stream, with slots for the calls of `lanes` lanes.
    fn new(reactor: &Reactor, settings: &Rc<Settings>, (number, way): (usize, Way), lanes: u32) -> Rc<Self> {
        let table = Table::new(lanes, SPARE_SLOTS, LARGE_READ, || reactor.signal());
        Rc::new(Connection {
            reactor: reactor.clone(),
            settings: Rc::clone(settings),
            number,
            way,
            queue: RefCell::new(VecDeque::with_capacity(2 * table.slots.len())),
            table: RefCell::new(table),
            transmit_wake: reactor.signal(),
            stream: RefCell::new(None),
            epoch: Cell::new(0),
            last_received_ns: Cell::new(reactor.now()),
            silent: Cell::new(false),
            last_loss: RefCell::default(),
            reconnects: Cell::new(0),
            losses: RefCell::default(),
            retries: Cell::new(0),
            short_answers: Cell::new(0),
            closed: RefCell::default(),
        })
    }

    /// Starts a call in `slot`. A WRITE's payload is not among its arguments.
    #[inline]
    pub(super) fn call<C: Call>(
        &self,
        slot: u32,
        call: C,
        deadline_ns: u64,
        arguments: &C::Arguments<'_>,
    ) -> Ticket<'_, C> {
        let mut table = self.table.borrow_mut();
        let entry = &mut table.slots[slot as usize];
        let message = &mut entry.message;
        message.clear();
        message.extend_from_slice(&self.settings.template);
        match &self.settings.session {
            None => {
                message[24..28].copy_from_slice(&(C::PROCEDURE as u32).to_be_bytes());
                arguments.encode(message);
            }
            Some(session) => {
                if let Some(assigned) = entry.assigned.take() {
                    session.orphan(assigned);
                }
                let mut to = CompoundWriter::new(message);
                C::compound(arguments, &mut to);
                to.end();
            }
        }
        let expect = call.expect();
        let payload = match expect {
            Expect::Write(piece) => piece.len as usize + wire::xdr::padding(piece.len as usize),
            _ => 0,
        };
        wire::rpc::end_record(message, 0, payload);
        entry.expect = expect;
        entry.deadline_ns = deadline_ns;
        entry.sends = 0;
        let xid = table.begin(slot);
        self.enqueue(&table, slot, xid);
        Ticket::new(self, slot)
    }

    pub(super) fn enqueue(&self, table: &Table, slot: u32, xid: u32) {
        let mut queue = self.queue.borrow_mut();
        if queue.len() == queue.capacity() {
            // Calls were abandoned faster than the connection, lost or stalled, took them.
            queue.retain(|&(slot, xid)| table.is_current(slot, xid));
        }
        queue.push_back((slot, xid));
        self.transmit_wake.set();
    }

    /// Counts a retransmitted message, or a restarted operation.
    pub(super) fn count_retry(&self) {
        self.retries.set(self.retries.get() + 1);
    }

    /// Marks the connection as lost: its calls wait for the next one, or end when they were lost too often.
    pub(super) fn lose(&self, loss: Loss) {
        if let Some(stream) = self.stream.borrow_mut().take() {
            stream.shutdown();
            connections::note_closed(&mut self.closed.borrow_mut(), &stream);
        }
        self.epoch.set(self.epoch.get() + 1);
        self.queue.borrow_mut().clear();
        self.transmit_wake.set();
        let mut table = self.table.borrow_mut();
        if let Some(session) = &self.settings.session {
            let ended = table.slots.iter_mut().filter(|slot| !slot.waiting);
            ended.filter_map(|slot| slot.assigned.take()).for_each(|assigned| session.orphan(assigned));
            session.connection_lost();
        }
        for index in 0..table.slots.len() {
            let slot = &mut table.slots[index];
            if !slot.waiting || !std::mem::take(&mut slot.on_wire) {
                continue;
            }
            let Some(kind) = loss.kind else { continue };
            slot.losses += 1;
            slot.loss = Some(kind);
            let limit = if kind == ErrorKind::Protocol { GARBAGE_MAX } else { LOSSES_MAX };
            if slot.losses > limit {
                let text = format!("{}; given up after {} attempts", loss.text, slot.losses);
                table.settle(index as u32, Some(Answer::Failed(kind, text.into())));
            }
        }
        ReconnectReason::count(&mut self.losses.borrow_mut(), &loss.text, 1);
        *self.last_loss.borrow_mut() = loss.text;
    }

    /// Installs a new connection and requeues everything that waits for it.
    pub(super) fn restore(&self, stream: Stream) {
        connections::show(&stream, "nfs", self.settings.worker, self.number);
        *self.stream.borrow_mut() = Some(stream);
        self.reconnects.set(self.reconnects.get() + 1);
        self.last_received_ns.set(self.reactor.now());
        self.silent.set(false);
        let mut queue = self.queue.borrow_mut();
        queue.clear();
        let table = self.table.borrow();
        queue.extend((0u32..).zip(&table.slots).filter(|(_, s)| s.waiting).map(|(index, s)| (index, s.xid)));
        self.transmit_wake.set();
    }

    /// Ends the overdue calls.
    pub(super) fn end_overdue(&self, now_ns: u64) {
        let mut table = self.table.borrow_mut();
        if table.is_idle() {
            return;
        }
        let connected = self.stream.borrow().is_some();
        let mut silent = false;
        for index in 0..table.slots.len() {
            let slot = &table.slots[index];
            if !slot.waiting || slot.deadline_ns > now_ns {
                continue;
            }
            let seconds = self.settings.op_timeout.as_secs_f64();
            let (kind, text) = match slot.loss {
                _ if !connected => (
                    slot.loss.unwrap_or(ErrorKind::ConnectionLost),
                    format!("{}, and it was not restored within {seconds} s", self.last_loss.borrow()),
                ),
                Some(kind) => (
                    kind,
                    format!(
                        "{}, and no reply on new connections within {seconds} s",
                        self.last_loss.borrow()
                    ),
                ),
                None => (ErrorKind::TimedOut, format!("no answer within {seconds} s")),
            };
            silent |= slot.on_wire && slot.sent_ns > self.last_received_ns.get();
            table.settle(index as u32, Some(Answer::Failed(kind, text.into())));
        }
        // Nothing at all has arrived since the overdue call was sent: a new connection may take another path.
        if silent
            && !self.silent.replace(true)
            && let Some(stream) = &*self.stream.borrow()
        {
            stream.shutdown();
        }
    }

    /// The kernel's view of the connection; `None` while it is lost.
    pub(super) fn facts(&self) -> Option<ConnectionFacts> {
        let stream = self.stream.borrow();
        let stream = stream.as_ref()?;
        Some(ConnectionFacts::of(stream))
    }
}

#[cfg(test)]
mod tests {
    use wire::nfs3::FileHandle;

    use super::super::calls::Getattr;
    use super::*;
    use crate::deadlines::Deadlines;

    /// Unanswered calls end at their operation's deadline, on the virtual clock, whichever of them began first.
    #[test]
    fn calls_end_with_the_deadline_of_their_operation() {
        const LIMIT: Duration = Duration::from_millis(1300);
        let reactor = Reactor::simulated();
        let settings = Rc::new(Settings {
            worker: 0,
            payload: Payload::new(1),
            sink: Sink::Buffer,
            op_timeout: LIMIT,
            connect_timeout: LIMIT,
            read_size: 4096,
            send_bytes: 4096,
            receive_bytes: 4096,
            template: vec![0; 64],
            credential: Vec::new(),
            session: None,
        });
        let way = Way { remote: ([127, 0, 0, 1], 9).into(), options: SocketOptions::default() };
        let connection = Connection::new(&reactor, &settings, (0, way), 2);
        let deadlines = Deadlines::new(&reactor, 2, LIMIT);
        let watched = Rc::clone(&connection);
        let _watching = deadlines.watch(move |now_ns| watched.end_overdue(now_ns));
        let lane = async |lane: u32| {
            reactor.sleep(Duration::from_millis(7 * u64::from(lane))).await;
            let start = reactor.now();
            let running = deadlines.begin(lane);
            // The first lane's call starts after the second's, but is due before it.
            reactor.sleep(Duration::from_millis(if lane == 0 { 100 } else { 1 })).await;
            let ticket = connection.call(lane, Getattr, running.due_ns, &FileHandle::EMPTY);
            let ended = ticket.ended().await;
            let Answer::Failed(kind, text) = ended.answer else { panic!("nobody answers") };
            assert_eq!(kind, ErrorKind::ConnectionLost);
            assert!(text.ends_with("it was not restored within 1.3 s"), "{text}");
            assert_eq!(Duration::from_nanos(reactor.now() - start), LIMIT);
        };
        reactor.run_lanes((0..2).map(lane).collect(), std::future::pending::<()>());
    }
}
