//! The lanes that wait for each other.

use std::collections::VecDeque;

use reactor::{Reactor, Signal};

/// Lanes that are parked, in the order in which they came, and the one that waits for a moment on behalf of all.
#[derive(Debug)]
pub(super) struct Lanes {
    signals: Vec<Signal>,
    parked: Vec<bool>,
    /// Lanes that are in the line, parked or not any more.
    queued: Vec<bool>,
    line: VecDeque<u32>,
    count: u32,
    /// The lane that waits for a moment.
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

    /// A lane looks again what there is to do.
    #[inline]
    pub(super) fn looks(&mut self, lane: u32) {
        if self.gate == Some(lane) {
            self.gate = None;
        }
        if self.count > 0 && std::mem::take(&mut self.parked[lane as usize]) {
            self.count -= 1;
        }
    }

    /// A lane has nothing to do until it is woken.
    pub(super) fn park(&mut self, lane: u32) {
        if !std::mem::replace(&mut self.parked[lane as usize], true) {
            self.count += 1;
        }
        if !std::mem::replace(&mut self.queued[lane as usize], true) {
            self.line.push_back(lane);
        }
    }

    /// True when a lane may wait for a moment on behalf of all; otherwise it is parked.
    pub(super) fn guard(&mut self, lane: u32) -> bool {
        if self.gate.is_none() {
            self.gate = Some(lane);
            return true;
        }
        self.park(lane);
        false
    }

    /// Wakes the lane that has been parked the longest.
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

    /// Wakes all.
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
