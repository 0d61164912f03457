//! Calls that are delayed or fail because of active faults.
//!
//! A WRITE is executed on arrival and its short reply is kept; any other call is kept and executed when its reply is
//! due, so that no payload waits in memory.

use std::rc::Rc;

use wire::nfs3::Status;

use super::call::Call;
use super::connection::Connection;
use super::service::Execution;
use crate::faults::NfsError;
use crate::shape::Fate;

/// Maximum size of a kept call: all but WRITE are far smaller.
const KEPT_MAX: usize = 16 << 10;

/// A call whose reply is not due yet.
pub(super) struct Delayed {
    fate: Fate,
    what: What,
}

enum What {
    /// The call is executed when it is due.
    Call(Box<[u8]>),
    /// The finished reply.
    Reply(Box<[u8]>),
}

impl Connection {
    /// Delays a call as the faults say; false when the connection must be closed.
    pub(super) async fn put_off(self: &Rc<Self>, record: &[u8], call: &Call<'_>) -> bool {
        let arrival_ns = self.reactor.now();
        let shape = &self.port.shape;
        let verdict = shape.judge();
        let fate = match verdict.fate {
            Fate::Stall => return true,
            Fate::Serve => self.fate_of(call),
            fate if call.may_fail() => fate,
            _ => Fate::Serve,
        };
        let writes = call.write_count() as u64;
        let due_ns = shape.inbound(arrival_ns, writes).saturating_add(verdict.latency_ns);
        self.wait_for_delayed().await;
        let what = if fate == Fate::Serve && (writes > 0 || record.len() > KEPT_MAX) {
            self.wait_for_room(call.reply_room()).await;
            let mut out = self.out.borrow_mut();
            let mark = out.mark();
            let execution = match shape.faults().stale_read_share > 0.0 {
                true => Execution::KeepingOld,
                false => Execution::Faithful,
            };
            self.port.service.answer(call, self.peer, &mut out, execution);
            What::Reply(out.take_from(mark))
        } else {
            What::Call(record[..record.len().min(KEPT_MAX)].into())
        };
        self.delayed.set(self.delayed.get() + 1);
        let (connection, reactor, port) = (Rc::downgrade(self), self.reactor.clone(), Rc::clone(&self.port));
        let peer = self.peer;
        self.reactor.spawn(async move {
            reactor.sleep_until(due_ns).await;
            if let What::Call(record) = &what
                && matches!(fate, Fate::Serve | Fate::Lie)
                && let Ok(call) = Call::parse(record, port.programs)
            {
                let payload = port.service.readable(&call, peer);
                reactor.sleep_until(port.shape.outbound(due_ns, payload)).await;
            }
            if let Some(connection) = connection.upgrade() {
                connection.due.borrow_mut().push_back(Delayed { fate, what });
                connection.wake_sender();
            }
        });
        true
    }

    /// Answers the calls that are due, as far as there is space.
    pub(super) fn answer_due(&self) {
        while !self.reset.get() {
            let mut due = self.due.borrow_mut();
            let Some(delayed) = due.front() else { return };
            if !self.out.borrow_mut().make_room(self.room_for(delayed)) {
                return;
            }
            let Some(delayed) = due.pop_front() else { return };
            drop(due);
            self.delayed.set(self.delayed.get() - 1);
            self.answer_delayed(&delayed);
        }
    }

    fn room_for(&self, delayed: &Delayed) -> usize {
        match &delayed.what {
            What::Reply(reply) => reply.len(),
            What::Call(record) => Call::parse(record, self.port.programs).map_or(0, |call| call.reply_room()),
        }
    }

    fn answer_delayed(&self, delayed: &Delayed) {
        let mut out = self.out.borrow_mut();
        let record = match &delayed.what {
            What::Reply(reply) => return out.append(reply),
            What::Call(record) => record,
        };
        let Ok(call) = Call::parse(record, self.port.programs) else { return };
        let execution = match delayed.fate {
            Fate::Serve => Execution::Faithful,
            Fate::Lie => Execution::Unfaithful,
            Fate::Error => Execution::Failing(self.passing_error()),
            Fate::Reset => Execution::Unheard,
            Fate::Stall => return,
        };
        let mark = out.mark();
        self.port.service.answer(&call, self.peer, &mut out, execution);
        if delayed.fate == Fate::Reset {
            out.halve_from(mark);
            self.reset.set(true);
        }
    }

    /// What the faults of its procedure make of a call that is served.
    fn fate_of(&self, call: &Call<'_>) -> Fate {
        let faults = self.port.shape.faults();
        let share = match () {
            () if call.is_rename() => faults.lost_rename_share,
            () if call.is_read() => faults.stale_read_share,
            () => 0.0,
        };
        if self.port.shape.strikes(share) { Fate::Lie } else { Fate::Serve }
    }

    fn passing_error(&self) -> Status {
        match self.port.shape.faults().nfs_error {
            NfsError::Jukebox => Status::JUKEBOX,
            NfsError::Io => Status::IO,
            NfsError::Nospc => Status::NOSPC,
        }
    }
}
