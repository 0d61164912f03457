//! One connection with many commands in flight, which survives its loss.
//!
//! [`crate::reconnecting`] has the tasks that serve it: one sends what [`super::transmit`] gathers, one receives
//! ([`super::receive`]) and logs in again after a loss. A third pings a silent target ([`super::keepalive`]). Commands
//! end with the deadline of their operation ([`crate::deadlines`]); the target is told to abort them.
//!
//! After a loss, unanswered commands are sent again in the next session, until the operation's deadline and at most as
//! often as [`Loss::charge`] allows. Reads and writes of the same data may be repeated without harm.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use metrics::ErrorKind;
use reactor::{Buffer, Reactor, Stream};
use wire::iscsi::Lun;

use super::caller::Joined;
use super::command::{Command, Outcome};
use super::config::IscsiConfig;
use super::login::Way;
use super::slots::{Answer, Ended, Table};
use super::state::State;
use super::{keepalive, receive, transmit};
use crate::reconnecting::{LARGE_READ, Loss, Multiplexed, Reconnecting, Served};
use crate::{Payload, Sink};

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
    /// [`Payload::gathers`].
    pub(super) fn gathers(&self) -> bool {
        self.payload.gathers(self.sink)
    }
}

/// One connection and its commands.
pub(super) struct Connection {
    pub(super) transport: Reconnecting,
    pub(super) settings: Rc<Settings>,
    pub(super) way: Way,
    pub(super) state: RefCell<State>,
    /// Why this side gave the connection up, if it did.
    doom: RefCell<Option<Box<str>>>,
}

/// Serves commands of `lanes` lanes on a connection with nothing outstanding, number `number` of its worker.
pub(super) fn serve(
    reactor: &Reactor,
    settings: &Rc<Settings>,
    (number, way): (usize, Way),
    joined: Joined,
    lanes: u32,
) -> Served<Connection> {
    let Joined { stream, agreed, window, exp_stat_sn } = joined;
    let room = 2 * lanes as usize;
    let due = State::due_room(lanes, &agreed);
    let connection = Rc::new(Connection {
        transport: Reconnecting::new(reactor, "iscsi", (settings.worker, number)),
        settings: Rc::clone(settings),
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
        doom: RefCell::default(),
    });
    connection.transport.open(stream);
    let watching = reactor.spawn(keepalive::run(Rc::clone(&connection)));
    Served::start(&connection, settings.send_bytes, settings.receive_bytes).with(watching)
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
        self.transport.wake.set();
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
        if self.transport.is_open() && state.push_abort(slot, self.transport.reactor.now()) {
            self.transport.wake.set();
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
        self.transport.count_retries(1);
    }

    /// Gives the connection up for this reason; the receiving task opens the next.
    pub(super) fn give_up(&self, why: Box<str>) {
        if self.transport.is_open() {
            self.doom.borrow_mut().get_or_insert(why);
            self.transport.shut_down();
        }
    }

    /// Why this side gave the connection up, if it did.
    pub(super) fn doomed(&self) -> Option<Box<str>> {
        self.doom.borrow_mut().take()
    }

    /// Ends the overdue commands.
    pub(super) fn end_overdue(&self, now_ns: u64) {
        let mut state = self.state.borrow_mut();
        if state.table.is_idle() {
            return;
        }
        let timeout = self.settings.op_timeout;
        for index in 0..state.table.slots.len() {
            let slot = &state.table.slots[index];
            if !slot.waiting || slot.deadline_ns > now_ns {
                continue;
            }
            let (kind, text) = self.transport.overdue(slot.loss, "answer", timeout).unwrap_or_else(|| {
                let seconds = timeout.as_secs_f64();
                let text = match slot.on_wire {
                    true => format!("no answer within {seconds} s; the target is told to abort it"),
                    false => format!("not sent within {seconds} s: the target's command window was closed"),
                };
                (ErrorKind::TimedOut, text)
            });
            self.abort(&mut state, index as u32);
            state.table.settle(index as u32, Some(Answer::Failed(Outcome::Failed(kind, text.into()))));
        }
    }
}

impl Multiplexed for Connection {
    type Unfinished = transmit::Unfinished;
    type Joined = Joined;

    fn transport(&self) -> &Reconnecting {
        &self.transport
    }

    fn gather(&self, buffer: &mut [u8], unfinished: &mut Self::Unfinished) -> usize {
        transmit::gather(self, buffer, unfinished)
    }

    async fn converse(&self, stream: &Stream, buffer: Buffer) -> (Loss, bool, Buffer) {
        receive::converse(self, stream, buffer).await
    }

    fn lose(&self, loss: Loss) {
        self.transport.close(&loss);
        self.doom.borrow_mut().take();
        let mut state = self.state.borrow_mut();
        state.clear();
        for index in 0..state.table.slots.len() {
            let slot = &mut state.table.slots[index];
            if !slot.waiting || !std::mem::take(&mut slot.on_wire) {
                continue;
            }
            if let Some((kind, text)) = loss.charge(&mut slot.losses, &mut slot.loss) {
                state.table.settle(index as u32, Some(Answer::Failed(Outcome::Failed(kind, text))));
            }
        }
    }

    async fn rejoin(&self) -> Result<Joined, Box<str>> {
        receive::log_in(self).await
    }

    fn restore(&self, joined: Joined) {
        let Joined { stream, agreed, window, exp_stat_sn } = joined;
        self.transport.reopen(stream);
        self.state.borrow_mut().restart(agreed, window, exp_stat_sn);
        self.transport.wake.set();
    }
}
