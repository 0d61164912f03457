//! One connection with many commands in flight, which survives its loss.
//!
//! Three tasks serve it: one sends ([`super::transmit`]), one receives and logs in again after a loss
//! ([`super::receive`]), one pings a silent target ([`super::keepalive`]). Commands end with the deadline of their
//! operation ([`crate::deadlines`]); the target is told to abort them.
//!
//! After a loss, unanswered commands are sent again in the next session, until the operation's deadline and at most
//! [`LOSSES_MAX`] times ([`GARBAGE_MAX`] times when the connection was dropped because of what the target sent). Reads
//! and writes of the same data may be repeated without harm.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use metrics::{ErrorKind, PathFacts};
use reactor::{Reactor, Signal, Stream, Task};
use wire::iscsi::Lun;

use super::caller::Joined;
use super::command::{Command, Outcome};
use super::config::IscsiConfig;
use super::login::Way;
use super::slots::{Answer, Ended, Table};
use super::state::{Loss, State};
use super::{keepalive, receive, transmit};
use crate::{ConnectionFacts, Payload, ReconnectReason, Sink, connections};

/// Maximum retransmits of a command after connection losses.
const LOSSES_MAX: u32 = 8;
/// Maximum retransmits of a command after answers that cannot be understood.
const GARBAGE_MAX: u32 = 3;
/// From this length on, discarding a read's payload in the kernel is worth a system call of its own.
const LARGE_READ: u32 = 32 * 1024;

/// Settings shared by all connections of a worker.
pub(super) struct Settings {
    pub(super) config: Arc<IscsiConfig>,
    /// Number of the worker.
    pub(super) worker: u32,
    pub(super) payload: Payload,
    pub(super) sink: Sink,
    pub(super) op_timeout: Duration,
    pub(super) connect_timeout: Duration,
    pub(super) lun: Lun,
    /// Bytes gathered for one send.
    pub(super) send_bytes: usize,
    /// Bytes received at a time.
    pub(super) receive_bytes: usize,
}

impl Settings {
    /// True when data read are verified only once the operation's whole block has arrived.
    pub(super) fn gathers(&self) -> bool {
        self.sink == Sink::Verify && self.payload.whole_blocks()
    }
}

/// One connection and its commands.
pub(super) struct Connection {
    pub(super) reactor: Reactor,
    pub(super) settings: Rc<Settings>,
    /// Number within its worker.
    number: usize,
    pub(super) way: Way,
    pub(super) state: RefCell<State>,
    pub(super) transmit_wake: Signal,
    /// Absent while the connection is lost.
    pub(super) stream: RefCell<Option<Stream>>,
    /// Counts connections opened, so that the sending task notices a new one.
    pub(super) epoch: Cell<u32>,
    pub(super) last_received_ns: Cell<u64>,
    /// Why this side gave the connection up, if it did.
    doom: RefCell<Option<Box<str>>>,
    pub(super) last_loss: RefCell<Box<str>>,
    pub(super) reconnects: Cell<u64>,
    /// Why connections were dropped, and how often.
    pub(super) losses: RefCell<Vec<ReconnectReason>>,
    /// Commands sent more than once.
    pub(super) retries: Cell<u64>,
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
    /// Serves commands of `lanes` lanes on a connection with nothing outstanding, number `number` of its worker.
    pub(super) fn start(
        reactor: &Reactor,
        settings: &Rc<Settings>,
        (number, way): (usize, Way),
        joined: Joined,
        lanes: u32,
    ) -> Self {
        let Joined { stream, agreed, window, exp_stat_sn } = joined;
        connections::show(&stream, "iscsi", settings.worker, number);
        let room = 2 * lanes as usize;
        let due = State::due_room(lanes, &agreed);
        let connection = Rc::new(Connection {
            reactor: reactor.clone(),
            settings: Rc::clone(settings),
            number,
            way,
            state: RefCell::new(State {
                table: Table::new(lanes, LARGE_READ, || reactor.signal()),
                commands: VecDeque::with_capacity(room),
                due: VecDeque::with_capacity(due),
                agreed,
                window,
                exp_stat_sn,
                pinged_ns: None,
                aborts: 0,
                aborted_ns: 0,
                window_waits: 0,
            }),
            transmit_wake: reactor.signal(),
            stream: RefCell::new(Some(stream)),
            epoch: Cell::new(0),
            last_received_ns: Cell::new(reactor.now()),
            doom: RefCell::default(),
            last_loss: RefCell::default(),
            reconnects: Cell::new(0),
            losses: RefCell::default(),
            retries: Cell::new(0),
            closed: RefCell::default(),
        });
        let tasks = vec![
            reactor.spawn(transmit::run(Rc::clone(&connection))),
            reactor.spawn(receive::run(Rc::clone(&connection))),
            reactor.spawn(keepalive::run(Rc::clone(&connection))),
        ];
        Self { connection, tasks }
    }
}

/// Abandons the command of a slot unless it has ended.
struct Abandon<'a>(&'a Connection, u32);

impl Drop for Abandon<'_> {
    #[inline]
    fn drop(&mut self) {
        self.0.abandon(self.1);
    }
}

impl Connection {
    /// Runs a command in a slot to its end.
    #[inline]
    pub(super) async fn run(&self, slot: u32, command: Command, deadline_ns: u64) -> Ended {
        let signal = {
            let mut state = self.state.borrow_mut();
            let tag = state.table.begin(slot, command, deadline_ns);
            state.enqueue(slot, tag);
            state.table.slots[slot as usize].signal.clone()
        };
        self.transmit_wake.set();
        let _abandon = Abandon(self, slot);
        loop {
            if let Some(ended) = self.state.borrow_mut().table.take_ended(slot) {
                return ended;
            }
            signal.wait().await;
        }
    }

    /// Ends a command that nobody waits for any more; the target is told if it has it.
    fn abandon(&self, slot: u32) {
        let mut state = self.state.borrow_mut();
        let entry = &state.table.slots[slot as usize];
        if entry.waiting {
            self.abort(&mut state, slot);
            state.table.settle(slot, None);
        }
    }

    /// Tells the target to abort a command that is on the wire.
    fn abort(&self, state: &mut State, slot: u32) {
        if self.stream.borrow().is_some() && state.push_abort(slot, self.reactor.now()) {
            self.transmit_wake.set();
        }
    }

    /// The data that the slot's last command read, if they are verified as a whole ([`Settings::gathers`]).
    pub(super) fn take_gathered(&self, slot: u32) -> Vec<u8> {
        std::mem::take(&mut self.state.borrow_mut().table.slots[slot as usize].gathered)
    }

    /// Gives the room for them back.
    pub(super) fn return_gathered(&self, slot: u32, room: Vec<u8>) {
        self.state.borrow_mut().table.slots[slot as usize].gathered = room;
    }

    /// Counts a command that is sent again.
    pub(super) fn count_retry(&self) {
        self.retries.set(self.retries.get() + 1);
    }

    /// Gives the connection up for this reason; the receiving task opens the next.
    pub(super) fn give_up(&self, why: Box<str>) {
        if let Some(stream) = &*self.stream.borrow() {
            self.doom.borrow_mut().get_or_insert(why);
            stream.shutdown();
        }
    }

    /// Why this side gave the connection up, if it did.
    pub(super) fn doomed(&self) -> Option<Box<str>> {
        self.doom.borrow_mut().take()
    }

    /// Marks the connection as lost: its commands wait for the next one, or end when they were lost too often.
    pub(super) fn lose(&self, loss: Loss) {
        if let Some(stream) = self.stream.borrow_mut().take() {
            stream.shutdown();
            connections::note_closed(&mut self.closed.borrow_mut(), &stream);
        }
        self.doom.borrow_mut().take();
        self.epoch.set(self.epoch.get() + 1);
        self.transmit_wake.set();
        let mut state = self.state.borrow_mut();
        state.clear();
        for index in 0..state.table.slots.len() {
            let slot = &mut state.table.slots[index];
            if !slot.waiting || !std::mem::take(&mut slot.on_wire) {
                continue;
            }
            slot.losses += 1;
            slot.loss = Some(loss.kind);
            let limit = if loss.kind == ErrorKind::Protocol { GARBAGE_MAX } else { LOSSES_MAX };
            if slot.losses > limit {
                let text = format!("{}; given up after {} attempts", loss.text, slot.losses);
                let failed = Outcome::Failed(loss.kind, text.into());
                state.table.settle(index as u32, Some(Answer::Failed(failed)));
            }
        }
        ReconnectReason::count(&mut self.losses.borrow_mut(), &loss.text, 1);
        *self.last_loss.borrow_mut() = loss.text;
    }

    /// Installs a new connection and requeues everything that waits for it.
    pub(super) fn restore(&self, joined: Joined) {
        let Joined { stream, agreed, window, exp_stat_sn } = joined;
        connections::show(&stream, "iscsi", self.settings.worker, self.number);
        *self.stream.borrow_mut() = Some(stream);
        self.reconnects.set(self.reconnects.get() + 1);
        self.last_received_ns.set(self.reactor.now());
        self.state.borrow_mut().restart(agreed, window, exp_stat_sn);
        self.transmit_wake.set();
    }

    /// Ends the overdue commands.
    pub(super) fn end_overdue(&self, now_ns: u64) {
        let mut state = self.state.borrow_mut();
        if state.table.is_idle() {
            return;
        }
        let connected = self.stream.borrow().is_some();
        for index in 0..state.table.slots.len() {
            let slot = &state.table.slots[index];
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
                        "{}, and no answer on new connections within {seconds} s",
                        self.last_loss.borrow()
                    ),
                ),
                None if !slot.on_wire => (
                    ErrorKind::TimedOut,
                    format!("not sent within {seconds} s: the target's command window was closed"),
                ),
                None => (
                    ErrorKind::TimedOut,
                    format!("no answer within {seconds} s; the target is told to abort it"),
                ),
            };
            self.abort(&mut state, index as u32);
            state.table.settle(index as u32, Some(Answer::Failed(Outcome::Failed(kind, text.into()))));
        }
    }

    /// The kernel's view of the connection; `None` while it is lost.
    pub(super) fn facts(&self) -> Option<ConnectionFacts> {
        self.stream.borrow().as_ref().map(ConnectionFacts::of)
    }
}
