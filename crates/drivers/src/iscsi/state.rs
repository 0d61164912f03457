//! What both tasks of a connection share: its commands, what is to be sent, and the session's numbers.

use std::collections::VecDeque;

use wire::iscsi::{CommandWindow, Operational};

use super::slots::Table;

/// Pings of the target that wait for our reply; more are dropped.
const PONGS_MAX: usize = 8;

/// Something to send besides commands; it does not wait for the command window.
#[derive(Clone, Copy, Debug)]
pub(super) enum Due {
    /// The data that an R2T asks for.
    Burst(Burst),
    /// The reply to the target's ping.
    Pong { lun: u64, target_tag: u32 },
    /// A ping.
    Ping,
    /// Aborts the command in this slot, which had this tag and number.
    Abort { index: u32, tag: u32, cmd_sn: u32 },
}

/// A sequence of Data-Out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burst {
    pub(super) index: u32,
    pub(super) tag: u32,
    pub(super) target_tag: u32,
    pub(super) offset: u32,
    pub(super) left: u32,
    pub(super) data_sn: u32,
}

/// The shared state.
pub(super) struct State {
    pub(super) table: Table,
    /// Commands to send: slot and tag.
    pub(super) commands: VecDeque<(u32, u32)>,
    pub(super) due: VecDeque<Due>,
    pub(super) agreed: Operational,
    pub(super) window: CommandWindow,
    pub(super) exp_stat_sn: u32,
    /// When the ping that is not answered yet was queued.
    pub(super) pinged_ns: Option<u64>,
    /// Requests to abort a task that are not answered yet, and since when the target has answered none.
    pub(super) aborts: u32,
    pub(super) aborted_ns: u64,
    /// Commands waited because the command window was closed.
    pub(super) window_waits: u64,
}

impl State {
    /// Room for everything that can be due at once: the R2Ts and one abort of each lane, pings and our replies.
    pub(super) fn due_room(lanes: u32, agreed: &Operational) -> usize {
        lanes as usize * (usize::from(agreed.outstanding_r2t) + 1) + PONGS_MAX + 1
    }

    /// Queues something. What is left of abandoned commands makes room; the rest fits ([`State::due_room`]), so that the
    /// queue never grows.
    pub(super) fn push(&mut self, due: Due) {
        if self.due.len() == self.due.capacity() {
            let table = &self.table;
            self.due.retain(|due| !matches!(due, Due::Burst(old) if !table.is_current(old.index, old.tag)));
        }
        self.due.push_back(due);
    }

    /// Queues the reply to a ping; a target that pings faster than it takes replies gets fewer.
    pub(super) fn push_pong(&mut self, lun: u64, target_tag: u32) {
        let queued = self.due.iter().filter(|due| matches!(due, Due::Pong { .. })).count();
        if queued < PONGS_MAX {
            self.push(Due::Pong { lun, target_tag });
        }
    }

    /// Queues a request to abort what waits in a slot, if it is on the wire and the target has answered the last such
    /// request for this slot. True when it was queued.
    pub(super) fn push_abort(&mut self, index: u32, now_ns: u64) -> bool {
        let slot = &mut self.table.slots[index as usize];
        if !slot.on_wire || std::mem::replace(&mut slot.aborting, true) {
            return false;
        }
        let due = Due::Abort { index, tag: slot.tag, cmd_sn: slot.cmd_sn };
        if self.aborts == 0 {
            self.aborted_ns = now_ns;
        }
        self.aborts += 1;
        self.push(due);
        true
    }

    /// The target has answered a request to abort what was in a slot. False when there was none.
    pub(super) fn aborted(&mut self, index: u32, now_ns: u64) -> bool {
        if !std::mem::take(&mut self.table.slots[index as usize].aborting) {
            return false;
        }
        self.aborts -= 1;
        self.aborted_ns = now_ns;
        true
    }

    pub(super) fn enqueue(&mut self, index: u32, tag: u32) {
        if self.commands.len() == self.commands.capacity() {
            // Commands were abandoned faster than the connection, lost or stalled, took them.
            let table = &self.table;
            self.commands.retain(|&(index, tag)| table.is_current(index, tag));
        }
        self.commands.push_back((index, tag));
    }

    /// Takes the numbers that every answer carries.
    #[inline]
    pub(super) fn note_window(&mut self, expected: u32, max: u32) {
        self.window.update(expected, max);
    }

    /// Takes the number of a status.
    #[inline]
    pub(super) fn note_status(&mut self, stat_sn: u32) {
        self.exp_stat_sn = stat_sn.wrapping_add(1);
    }

    /// Starts over on a new connection: everything that waits is sent again.
    pub(super) fn restart(&mut self, agreed: Operational, window: CommandWindow, exp_stat_sn: u32) {
        self.agreed = agreed;
        self.window = window;
        self.exp_stat_sn = exp_stat_sn;
        self.clear();
        // The target may have agreed to more R2Ts than before.
        let lanes = self.table.slots.len() as u32;
        self.due.reserve(Self::due_room(lanes, &agreed));
        self.table.rewind();
        let Self { commands, table, .. } = self;
        commands
            .extend((0u32..).zip(&table.slots).filter(|(_, s)| s.waiting).map(|(index, s)| (index, s.tag)));
    }

    /// Forgets what was to be sent.
    pub(super) fn clear(&mut self) {
        self.commands.clear();
        self.due.clear();
        self.pinged_ns = None;
        self.aborts = 0;
        self.table.slots.iter_mut().for_each(|slot| slot.aborting = false);
    }
}

#[cfg(test)]
mod tests {
    use reactor::Reactor;

    use super::super::command::Command;
    use super::super::slots::Found;
    use super::*;

    fn state(lanes: u32) -> State {
        let agreed = Operational { outstanding_r2t: 2, ..Operational::new(8192) };
        let reactor = Reactor::simulated();
        State {
            table: Table::new(lanes, u32::MAX, || reactor.signal()),
            commands: VecDeque::with_capacity(2 * lanes as usize),
            due: VecDeque::with_capacity(State::due_room(lanes, &agreed)),
            agreed,
            window: CommandWindow::new(0),
            exp_stat_sn: 0,
            pinged_ns: None,
            aborts: 0,
            aborted_ns: 0,
            window_waits: 0,
        }
    }

    /// A connection that takes nothing, while commands are begun and abandoned.
    #[test]
    fn nothing_that_is_due_outgrows_its_room() {
        let mut state = state(3);
        let rooms = (state.due.capacity(), state.commands.capacity());
        for round in 0..1000 {
            for index in 0..3 {
                let tag = state.table.begin(index, Command::IDLE, 0);
                state.enqueue(index, tag);
                state.table.slots[index as usize].on_wire = true;
                for r2t in 0..2 {
                    let burst = Burst { index, tag, target_tag: r2t, offset: 0, left: 512, data_sn: 0 };
                    state.push(Due::Burst(burst));
                }
                state.push_pong(0, round);
                assert_eq!(state.push_abort(index, 0), round == 0, "one request to abort for each slot");
                state.table.settle(index, None);
            }
        }
        assert_eq!((state.due.capacity(), state.commands.capacity()), rooms);
        assert_eq!(state.aborts, 3);
        assert!(state.aborted(1, 5) && !state.aborted(1, 6));
        assert_eq!((state.aborts, state.aborted_ns), (2, 5));
    }

    #[test]
    fn each_request_to_abort_has_a_tag_of_its_own() {
        for lanes in [1, 2, 3, 4, 7, 8, 100] {
            let mut table = state(lanes).table;
            assert_eq!(table.find(table.ping_tag()), Found::Ping);
            for index in 0..lanes {
                assert_eq!(table.find(table.abort_tag(index)), Found::Abort(index));
                let tag = table.begin(index, Command::IDLE, 0);
                assert_eq!(table.find(tag), Found::Waiting(index));
                table.settle(index, None);
                assert_eq!(table.find(tag), Found::Late);
            }
        }
    }
}
