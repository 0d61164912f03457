//! What the lanes of a session use one at a time, in the order in which they ask.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use reactor::Signal;

/// The lane that has its turn, and those that wait.
pub(crate) struct Turns {
    busy: Cell<bool>,
    /// Waiting lanes, in order.
    waiting: RefCell<VecDeque<u32>>,
}

impl Turns {
    /// Turns of this many lanes.
    pub(crate) fn new(lanes: usize) -> Self {
        Self { busy: Cell::new(false), waiting: RefCell::new(VecDeque::with_capacity(lanes)) }
    }

    /// Waits for the lane's turn; `signals` are those of all lanes, each of which waits for one turn at a time.
    pub(crate) async fn take<'a>(&'a self, lane: u32, signals: &'a [Signal]) -> Turn<'a> {
        if self.busy.replace(true) {
            self.waiting.borrow_mut().push_back(lane);
            let queued = Queued { turns: self, lane, signals };
            signals[lane as usize].wait().await;
            std::mem::forget(queued);
        }
        Turn { turns: self, signals }
    }

    /// Passes the turn to the lane that has waited longest.
    fn pass_on(&self, signals: &[Signal]) {
        match self.waiting.borrow_mut().pop_front() {
            Some(lane) => signals[lane as usize].set(),
            None => self.busy.set(false),
        }
    }
}

/// A lane's turn; dropping it passes it to the next lane.
pub(crate) struct Turn<'a> {
    turns: &'a Turns,
    signals: &'a [Signal],
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.turns.pass_on(self.signals);
    }
}

/// A lane in the queue; dropping it leaves the queue.
struct Queued<'a> {
    turns: &'a Turns,
    lane: u32,
    signals: &'a [Signal],
}

impl Drop for Queued<'_> {
    fn drop(&mut self) {
        let mut waiting = self.turns.waiting.borrow_mut();
        let place = waiting.iter().position(|lane| *lane == self.lane);
        match place {
            Some(place) => {
                waiting.remove(place);
            }
            None => {
                // Its turn had already come.
                drop(waiting);
                self.signals[self.lane as usize].clear();
                self.turns.pass_on(self.signals);
            }
        }
    }
}
