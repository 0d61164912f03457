//! Validation of an agent's messages.

use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, PoisonError};

use engine::StageResult;
use metrics::Interval;

use super::{News, Wire};
use crate::agent_fault::AgentFault;
use crate::check;
use crate::clock::Exchange;
use crate::frame::Tally;
use crate::message::{FromAgent, decode};
use crate::seen::FleetEvent;

/// How far in the future an interval may claim to end, in nanoseconds: clocks and pipes are inexact.
const SLACK_NS: u64 = 5_000_000_000;
/// Minimum average length of intervals, in nanoseconds.
const SHORTEST_NS: u64 = 1_000_000;
/// Minimum average distance of samples, in nanoseconds.
const SAMPLES_NS: u64 = 250_000_000;
/// Maximum lines from an agent per minute.
const MAX_SAID: u32 = 600;
const MINUTE_NS: u64 = 60_000_000_000;
/// Maximum facts kept about a host.
const MAX_FACTS: usize = 300;

/// Messages of at least this length, in bytes, contain histograms, which take a hundred times that in memory.
const LARGE: usize = 1 << 10;
/// Limits how many of them are decoded concurrently, over all agents.
static TURNS: Turns = Turns { free: Mutex::new(32), changed: Condvar::new() };

/// Controls who may decode a large message.
struct Turns {
    free: Mutex<u32>,
    changed: Condvar,
}

/// A turn, returned when dropped.
struct Turn;

impl Turns {
    fn take(&'static self) -> Turn {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let free = self.changed.wait_while(free, |free| *free == 0);
        *free.unwrap_or_else(PoisonError::into_inner) -= 1;
        Turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *TURNS.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        TURNS.changed.notify_one();
    }
}

/// What is accepted for a stage from one member.
pub(crate) struct Guard {
    /// Stages on this member's target run on a virtual clock: it waits until each interval was seen.
    pub(crate) lockstep: bool,
    /// When the stage began on this side's clock; 0: not yet.
    pub(crate) began_ns: u64,
    /// Minimum number of the next interval.
    next: u32,
    /// End of the last one.
    end_ns: u64,
    /// On virtual clocks: an interval that has not been seen yet.
    unseen: bool,
    ready: bool,
    samples: u64,
    /// Sum of the intervals so far: the result must report as much.
    ok: u64,
    bytes: u64,
}

impl Guard {
    pub(crate) fn new(lockstep: bool) -> Self {
        Guard {
            lockstep,
            began_ns: 0,
            next: 0,
            end_ns: 0,
            unseen: false,
            ready: false,
            samples: 0,
            ok: 0,
            bytes: 0,
        }
    }

    /// Records that all intervals up to this one were seen.
    pub(crate) fn interval_seen(&mut self, index: u32) {
        self.unseen &= self.next > index.saturating_add(1);
    }

    fn ready(&mut self) -> Result<(), AgentFault> {
        if std::mem::replace(&mut self.ready, true) {
            return Err(AgentFault::ReadyTwice);
        }
        Ok(())
    }

    fn interval(&mut self, interval: &Interval, now_ns: u64) -> Result<(), AgentFault> {
        let index = interval.index;
        if self.began_ns == 0 {
            return Err(AgentFault::IntervalBeforeStage(index));
        }
        if index < self.next || index == u32::MAX {
            return Err(AgentFault::IntervalOutOfOrder { index, next: self.next });
        }
        if interval.start_ns < self.end_ns {
            return Err(AgentFault::IntervalsOverlap(index));
        }
        let end_ns = interval.start_ns.saturating_add(interval.length_ns);
        if self.lockstep {
            if self.unseen {
                return Err(AgentFault::IntervalUnseen(index));
            }
            self.unseen = true;
        } else {
            let passed = now_ns.saturating_sub(self.began_ns).saturating_add(SLACK_NS);
            if end_ns > passed || u64::from(index) > passed / SHORTEST_NS {
                return Err(AgentFault::IntervalInFuture(index));
            }
        }
        check::interval(interval)?;
        self.next = index + 1;
        self.end_ns = end_ns;
        self.ok = self.ok.saturating_add(interval.ok());
        self.bytes = self.bytes.saturating_add(interval.bytes());
        Ok(())
    }

    fn sample(&mut self, now_ns: u64) -> Result<(), AgentFault> {
        self.samples += 1;
        let passed = now_ns.saturating_sub(self.began_ns).saturating_add(SLACK_NS);
        if self.began_ns == 0 || self.lockstep || self.samples > passed / SAMPLES_NS {
            return Err(AgentFault::TooManySamples);
        }
        Ok(())
    }

    fn result(&self, result: &mut StageResult) -> Result<(), AgentFault> {
        check::result(result)?;
        if result.total.ok() < self.ok || result.total.bytes() < self.bytes {
            return Err(AgentFault::ResultTooSmall);
        }
        Ok(())
    }
}

impl Wire {
    /// Processes a message. False after the last one.
    ///
    /// # Errors
    /// No correct agent sends this.
    pub(super) fn hear(&self, body: &mut [u8], before: Tally) -> Result<bool, AgentFault> {
        let now_ns = reactor::clock::now_ns();
        self.heard_ns.store(now_ns, Ordering::Relaxed);
        if body.len() > check::longest(body) {
            return Err(AgentFault::MessageTooLong(body.len()));
        }
        check::sanitize(body);
        // An agent cannot be heard while its reader waits for others.
        self.holding.store(true, Ordering::Relaxed);
        let turn = (body.len() > LARGE).then(|| TURNS.take());
        let heard = self.hear_now(body, before, now_ns, turn);
        self.heard_ns.store(reactor::clock::now_ns(), Ordering::Relaxed);
        self.holding.store(false, Ordering::Relaxed);
        heard
    }

    fn hear_now(
        &self,
        body: &[u8],
        before: Tally,
        now_ns: u64,
        _turn: Option<Turn>,
    ) -> Result<bool, AgentFault> {
        let message = decode(body)?;
        if (before.frames == 0) != matches!(message, FromAgent::Hello(_)) {
            return Err(AgentFault::Hello);
        }
        match message {
            FromAgent::Hello(mut hello) => {
                hello.capabilities.truncate(16);
                let facts = std::mem::take(&mut hello.facts).into_iter().take(MAX_FACTS);
                hello.facts =
                    facts.map(|(name, value)| (check::one_line(&name), check::one_line(&value))).collect();
                let texts = [&mut hello.version, &mut hello.host, &mut hello.machine];
                texts
                    .into_iter()
                    .chain(&mut hello.capabilities)
                    .for_each(|text| *text = check::one_line(text));
                // It is the first.
                let _ = self.hello.set(hello);
                self.changed.notify_all();
            }
            FromAgent::Answer { id, outcome } => {
                let answer = self.state().questions.remove(&id);
                let answer = answer.ok_or(AgentFault::UnknownQuestion)?;
                // The requester has given up.
                let _ = answer.send((self.number(), Some(outcome)));
            }
            FromAgent::Ready { id } => {
                self.pass_on(id, false, |guard| guard.ready().map(|()| News::Ready))?
            }
            FromAgent::Interval { id, interval } => self.pass_on(id, false, |guard| {
                guard.interval(&interval, now_ns)?;
                Ok(News::Interval(Box::new(interval)))
            })?,
            FromAgent::Sample { id, sample } => {
                self.pass_on(id, false, |guard| guard.sample(now_ns).map(|()| News::Sample(sample)))?;
            }
            FromAgent::Finished { id, outcome } => self.pass_on(id, true, |guard| match outcome {
                Ok(mut result) => guard.result(&mut result).map(|()| News::Finished(result)),
                Err(refusal) => Ok(News::Refused(refusal)),
            })?,
            FromAgent::Pong { number, received_ns, answered_ns } => {
                let mut state = self.state();
                let asked = state.pings.front().filter(|(first, _)| *first == number).map(|(_, at)| *at);
                let asked = asked.ok_or(AgentFault::UnknownPing)?;
                state.pings.pop_front();
                state.clock.add(Exchange {
                    asked,
                    received: received_ns,
                    answered: answered_ns,
                    back: now_ns,
                })?;
            }
            FromAgent::Said { text } => self.said(&text, now_ns)?,
            FromAgent::Bye { frames, checksum } => {
                if (frames, checksum) != (before.frames, before.checksum) {
                    return Err(AgentFault::MessagesLost { sent: frames, received: before.frames });
                }
                if !self.leaving.load(Ordering::Relaxed) {
                    return Err(AgentFault::EarlyFarewell);
                }
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Validates a stage's news and passes it on. Waits while the stage's queue is full.
    fn pass_on(
        &self,
        id: u64,
        last: bool,
        checked: impl FnOnce(&mut Guard) -> Result<News, AgentFault>,
    ) -> Result<(), AgentFault> {
        let mut state = self.state();
        let way = state.stages.get_mut(&id).ok_or(AgentFault::UnknownStage)?;
        let news = checked(&mut way.guard)?;
        let sender = way.news.clone();
        if last {
            state.stages.remove(&id);
        }
        drop(state);
        // A stage that is over no longer listens.
        let _ = sender.send((self.number(), news));
        Ok(())
    }

    fn said(&self, text: &str, at_ns: u64) -> Result<(), AgentFault> {
        let mut state = self.state();
        let (minute, count) = &mut state.said;
        if at_ns.saturating_sub(*minute) > MINUTE_NS {
            (*minute, *count) = (at_ns, 0);
        }
        *count += 1;
        if *count > MAX_SAID {
            return Err(AgentFault::TooManyLines { most: MAX_SAID });
        }
        drop(state);
        if let Some(events) = self.events.get() {
            let (name, text) = (self.name.clone(), check::one_line(text));
            events(FleetEvent::Said { member: self.number(), name, text, at_ns });
        }
        Ok(())
    }
}
