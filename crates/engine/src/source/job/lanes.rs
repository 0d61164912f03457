//! Lanes that wait for each other.

use std::collections::VecDeque;

use reactor::{Reactor, Signal};

/// Parked lanes in order of arrival, and the one that waits for a point in time on behalf of all.
#[derive(Debug)]
pub(super) struct Lanes {
    signals: Vec<Signal>,
    parked: Vec<bool>,
    /// Whether each lane is in the queue, parked or no longer so.
    queued: Vec<bool>,
    line: VecDeque<u32>,
    count: u32,
    /// The lane that waits for a point in time.
    gate: Option<u32>,
}

impl Lanes {
    pub(super) fn new(reactor: &Reactor, lanes: u32) -> Lanes {
        Lanes {
            signals: (0..lanes).map(|_| reactor.signal()).collect(),
            parked: vec![false; lanes as usize],
            queued: vec![false; lanes as usize],
            line: VecDeque::with_capacity(lanes as usize),
            count: 0,
            gate: None,
        }
    }

    pub(super) fn signal_of(&self, lane: u32) -> Signal {
        self.signals[lane as usize].clone()
    }

    /// A lane checks again for something to do.
    #[inline]
    pub(super) fn looks(&mut self, lane: u32) {
        if self.gate == Some(lane) {
            self.gate = None;
        }
        if self.count > 0 && std::mem::take(&mut self.parked[lane as usize]) {
            self.count -= 1;
        }
    }

    /// Parks a lane that has nothing to do until it is woken.
    pub(super) fn park(&mut self, lane: u32) {
        if !std::mem::replace(&mut self.parked[lane as usize], true) {
            self.count += 1;
        }
        if !std::mem::replace(&mut self.queued[lane as usize], true) {
            self.line.push_back(lane);
        }
    }

    /// Returns true if a lane may wait for a point in time on behalf of all; otherwise it is parked.
    pub(super) fn guard(&mut self, lane: u32) -> bool {
        if self.gate.is_none() {
            self.gate = Some(lane);
            return true;
        }
        self.park(lane);
        false
    }

    /// Wakes the lane that has been parked longest.
    #[inline]
    pub(super) fn wake_one(&mut self) {
        if self.count > 0 {
            self.wake_first();
        }
    }

    fn wake_first(&mut self) {
        while let Some(lane) = self.line.pop_front() {
            self.queued[lane as usize] = false;
            if self.parked[lane as usize] {
                self.signals[lane as usize].set();
                return;
            }
        }
    }

    /// Wakes all parked lanes.
    #[inline]
    pub(super) fn wake_all(&mut self) {
        if self.count > 0 {
            while let Some(lane) = self.line.pop_front() {
                self.queued[lane as usize] = false;
                if self.parked[lane as usize] {
                    self.signals[lane as usize].set();
                }
            }
        }
    }
}
