//! The `sim:` target: scripted latencies, errors and bandwidth, normally on a virtual clock.
//!
//! On the virtual clock a run takes no time and gives exactly the same numbers each time, so that the engine's counts
//! and the statistics derived from them can be tested to the last digit. Each worker has a clock, a script and a pipe
//! of its own.

mod config;
#[cfg(test)]
mod tests;
mod wear;

pub use config::{Cliff, Noise, Periodic, SimConfig, SimLatency, Stall, WarmUp};

use std::cell::{Cell, RefCell};

use metrics::ErrorKind;
use reactor::Reactor;

use wear::Wear;

use crate::{Done, Driver, DriverError, Op, OpError, Session, SessionFacts, WorkerContext};

/// A target that follows a script.
#[derive(Clone, Debug, Default)]
pub struct SimDriver {
    config: SimConfig,
}

impl SimDriver {
    /// A target with this script.
    pub fn new(config: SimConfig) -> Self {
        Self { config }
    }
}

/// A worker's side of the scripted target.
#[derive(Debug)]
pub struct SimSession {
    reactor: Reactor,
    config: SimConfig,
    opened_ns: u64,
    op_timeout_ns: u64,
    started: Cell<u64>,
    pipe_free_ns: Cell<u64>,
    random: RefCell<fastrand::Rng>,
    wear: Wear,
}

impl Driver for SimDriver {
    type Session = SimSession;

    fn virtual_clock(&self) -> bool {
        self.config.virtual_clock
    }

    async fn connect(&self, reactor: &Reactor, context: &WorkerContext) -> Result<SimSession, DriverError> {
        if let Some(refusal) = &self.config.refuse {
            return Err(refusal.clone());
        }
        let seed = self.config.seed.wrapping_add(u64::from(context.worker));
        Ok(SimSession {
            reactor: reactor.clone(),
            config: self.config.clone(),
            opened_ns: reactor.now(),
            op_timeout_ns: u64::try_from(context.op_timeout.as_nanos()).unwrap_or(u64::MAX),
            started: Cell::new(0),
            pipe_free_ns: Cell::new(0),
            random: RefCell::new(fastrand::Rng::with_seed(seed)),
            wear: Wear::new(&self.config),
        })
    }
}

impl Session for SimSession {
    async fn perform(&self, op: &Op) -> Result<Done, OpError> {
        let number = self.started.replace(self.started.get() + 1);
        if self.config.hang_from.is_some_and(|from| number >= from) {
            std::future::pending::<()>().await;
        }
        let now = self.reactor.now();
        let deadline = now.saturating_add(self.op_timeout_ns);
        let answer = self.answer_at(now, number, op);
        if answer > deadline {
            self.reactor.sleep_until(deadline).await;
            return Err(failure(ErrorKind::TimedOut, op));
        }
        self.reactor.sleep_until(answer).await;
        match self.error_of(number) {
            Some(kind) => Err(failure(kind, op)),
            None => Ok(Done { bytes: op.payload_bytes(), rpcs: 1, ..Done::default() }),
        }
    }

    fn facts(&self) -> SessionFacts {
        SessionFacts::default()
    }
}

impl SimSession {
    /// When operation `number`, started now, is answered.
    fn answer_at(&self, now: u64, number: u64, op: &Op) -> u64 {
        let config = &self.config;
        let bytes = op.payload_bytes();
        let latency = config.latency_of.get(&op.kind).unwrap_or(&config.latency);
        let slow = config.slow.filter(|(every, _)| *every > 0 && (number + 1).is_multiple_of(*every));
        let drawn = slow.map_or_else(|| self.draw(latency, number), |(_, takes)| takes);
        let factor = self.wear.factor(config, now - self.opened_ns, bytes);
        let latency = factor.map_or(drawn, |factor| (drawn as f64 * factor).round() as u64);
        let answer = self.through_pipe(now, bytes, factor).saturating_add(latency.max(1));
        self.end_of_stall(answer).unwrap_or(answer)
    }

    /// The end of the stall that delays a response.
    fn end_of_stall(&self, answer: u64) -> Option<u64> {
        let config = &self.config;
        let age = answer - self.opened_ns;
        let once = config.stalls.iter().find(|stall| (stall.from_ns..stall.until_ns).contains(&age));
        let again = || config.stall_every.and_then(|stalls| stalls.end_of_stall_at(age));
        once.map(|stall| stall.until_ns).or_else(again).map(|end| self.opened_ns.saturating_add(end))
    }

    /// When the last byte has passed.
    fn through_pipe(&self, now: u64, bytes: u64, factor: Option<f64>) -> u64 {
        let Some(bytes_per_s) = self.config.bytes_per_s else { return now };
        let span = u128::from(bytes) * 1_000_000_000 / u128::from(bytes_per_s.max(1));
        let span = u64::try_from(span).unwrap_or(u64::MAX);
        let span = factor.map_or(span, |factor| (span as f64 * factor).round() as u64);
        let through = self.pipe_free_ns.get().max(now).saturating_add(span);
        self.pipe_free_ns.set(through);
        through
    }

    fn draw(&self, latency: &SimLatency, number: u64) -> u64 {
        let mut random = self.random.borrow_mut();
        match latency {
            SimLatency::Fixed(ns) => *ns,
            SimLatency::List(list) if list.is_empty() => 0,
            SimLatency::List(list) => list[(number % list.len() as u64) as usize],
            SimLatency::Uniform(least, most) => random.u64(*least..=*most.max(least)),
            SimLatency::Exponential(mean) => {
                // 1 - u is above 0, so the logarithm is finite.
                (-(1.0 - random.f64()).ln() * *mean as f64).round() as u64
            }
        }
    }

    fn error_of(&self, number: u64) -> Option<ErrorKind> {
        let due = |(every, _): &&(u64, ErrorKind)| *every > 0 && (number + 1).is_multiple_of(*every);
        self.config.errors.iter().find(due).map(|(_, kind)| *kind)
    }
}

fn failure(kind: ErrorKind, op: &Op) -> OpError {
    let mut error = OpError::new(kind, format!("scripted failure of {} {:016x}", op.kind, op.object));
    error.rpcs = 1;
    error
}
