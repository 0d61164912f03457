//! One TCP connection with many calls in flight, which survives connection loss.
//!
//! [`crate::reconnecting`] has the tasks that serve it: one sends what [`super::transmit`] gathers, one receives
//! ([`super::receive`]) and reconnects after a loss. The calls of an operation end with its deadline
//! ([`crate::deadlines`]).
//!
//! After a connection loss, unanswered calls are retransmitted on the next connection with the same transaction ids,
//! until the operation's deadline and at most as often as [`Loss::charge`] allows.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use metrics::ErrorKind;
use reactor::{Buffer, Reactor, SocketOptions, Stream};
use wire::xdr::Encode;

use super::calls::{Call, Expect};
use super::slots::{Answer, Table};
use super::ticket::Ticket;
use super::v41::{CompoundWriter, SessionSlots};
use super::{receive, transmit};
use crate::reconnecting::{LARGE_READ, Loss, Multiplexed, Reconnecting, Served};
use crate::{Payload, Sink};

/// Calls in flight beyond one per lane, for operations that are split.
pub(super) const SPARE_SLOTS: u32 = 64;
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

    /// [`Payload::gathers`].
    pub(super) fn gathers(&self) -> bool {
        self.payload.gathers(self.sink)
    }
}

/// Local and remote address of a connection, used for every attempt.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub(super) remote: SocketAddr,
    pub(super) options: SocketOptions,
}

/// One connection and its calls.
pub(super) struct Connection {
    pub(super) transport: Reconnecting,
    pub(super) settings: Rc<Settings>,
    pub(super) way: Way,
    pub(super) table: RefCell<Table>,
    /// Calls to send: slot and transaction id.
    pub(super) queue: RefCell<VecDeque<(u32, u32)>>,
    /// Calls were overdue and nothing had arrived since they were sent.
    pub(super) silent: Cell<bool>,
    /// Replies that moved fewer bytes than requested.
    pub(super) short_answers: Cell<u64>,
}

/// Serves calls of `lanes` lanes on `stream`, which is connection `number` of its worker, was opened over `way` and has
/// nothing outstanding.
pub(super) fn serve(
    reactor: &Reactor,
    settings: &Rc<Settings>,
    (number, way): (usize, Way),
    stream: Stream,
    lanes: u32,
) -> Served<Connection> {
    let connection = Connection::new(reactor, settings, (number, way), lanes);
    if let Some(session) = &settings.session {
        session.add_sender(connection.transport.wake.clone());
    }
    connection.transport.open(stream);
    Served::start(&connection, settings.send_bytes, settings.receive_bytes)
}

impl Connection {
    /// A connection without a stream, with slots for the calls of `lanes` lanes.
    fn new(reactor: &Reactor, settings: &Rc<Settings>, (number, way): (usize, Way), lanes: u32) -> Rc<Self> {
        let mut table = Table::new(lanes, SPARE_SLOTS, LARGE_READ, || reactor.signal());
        table.slots.iter_mut().for_each(|slot| slot.message.extend_from_slice(&settings.template));
        Rc::new(Connection {
            transport: Reconnecting::new(reactor, "nfs", (settings.worker, number)),
            settings: Rc::clone(settings),
            way,
            queue: RefCell::new(VecDeque::with_capacity(2 * table.slots.len())),
            table: RefCell::new(table),
            silent: Cell::new(false),
            short_answers: Cell::new(0),
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
        // Every call of the slot begins with the template.
        message.truncate(self.settings.template.len());
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
        self.transport.wake.set();
    }

    /// Counts a retransmitted message, or a restarted operation.
    pub(super) fn count_retry(&self) {
        self.transport.count_retries(1);
    }

    /// Ends the overdue calls.
    pub(super) fn end_overdue(&self, now_ns: u64) {
        let mut table = self.table.borrow_mut();
        if table.is_idle() {
            return;
        }
        let timeout = self.settings.op_timeout;
        let mut silent = false;
        for index in 0..table.slots.len() {
            let slot = &table.slots[index];
            if !slot.waiting || slot.deadline_ns > now_ns {
                continue;
            }
            let (kind, text) = self.transport.overdue(slot.loss, "reply", timeout).unwrap_or_else(|| {
                (ErrorKind::TimedOut, format!("no answer within {} s", timeout.as_secs_f64()))
            });
            silent |= slot.on_wire && slot.sent_ns > self.transport.last_received_ns.get();
            table.settle(index as u32, Some(Answer::Failed(kind, text.into())));
        }
        // Nothing at all has arrived since the overdue call was sent: a new connection may take another path.
        if silent && !self.silent.replace(true) {
            self.transport.shut_down();
        }
    }
}

impl Multiplexed for Connection {
    type Unfinished = Option<transmit::Filling>;
    type Joined = Stream;

    fn transport(&self) -> &Reconnecting {
        &self.transport
    }

    fn gather(&self, buffer: &mut [u8], filling: &mut Self::Unfinished) -> usize {
        transmit::gather(self, buffer, filling)
    }

    async fn converse(&self, stream: &Stream, buffer: Buffer) -> (Loss, bool, Buffer) {
        receive::converse(self, stream, buffer).await
    }

    fn lose(&self, loss: Loss) {
        self.transport.close(&loss);
        self.queue.borrow_mut().clear();
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
            if let Some((kind, text)) = loss.charge(&mut slot.losses, &mut slot.loss) {
                table.settle(index as u32, Some(Answer::Failed(kind, text)));
            }
        }
    }

    async fn rejoin(&self) -> Result<Stream, Box<str>> {
        receive::rejoin(self).await
    }

    fn restore(&self, stream: Stream) {
        self.transport.reopen(stream);
        self.silent.set(false);
        let mut queue = self.queue.borrow_mut();
        queue.clear();
        let table = self.table.borrow();
        queue.extend((0u32..).zip(&table.slots).filter(|(_, s)| s.waiting).map(|(index, s)| (index, s.xid)));
        self.transport.wake.set();
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
