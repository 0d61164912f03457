//! The `sim:` target: latencies, errors and a bandwidth by a script, normally on a virtual clock.
//!
//! On the virtual clock a run takes no time and gives exactly the same numbers each time, so that what
//! the engine counts and what statistics make of it can be tested to the last digit. Each worker has a
//! clock, a script and a pipe of its own.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use metrics::{ErrorKind, OpKind};
use reactor::Reactor;

use crate::{Done, Driver, DriverError, Op, OpError, Session, SessionFacts, WorkerContext};

/// How long the target takes for an operation, in nanoseconds. Nothing takes less than one.
#[derive(Clone, Debug, PartialEq)]
pub enum Latency {
    /// Always the same.
    Fixed(u64),
    /// One after the other, in the order in which a worker's operations start; then again from the front.
    List(Vec<u64>),
    /// Equally likely from the first to the last, both included.
    Uniform(u64, u64),
    /// Exponentially distributed around a mean.
    Exponential(u64),
}

/// A span in which the target answers nothing; what would be answered within is answered at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Start, in nanoseconds since the session was opened.
    pub from_ns: u64,
    /// End, likewise.
    pub until_ns: u64,
}

/// What the target does.
#[derive(Clone, Debug)]
pub struct SimConfig {
    /// Seed of everything random; worker `n` uses `seed + n`.
    pub seed: u64,
    /// How long an operation takes, unless `latency_of` says otherwise.
    pub latency: Latency,
    /// How long operations of a kind take.
    pub latency_of: BTreeMap<OpKind, Latency>,
    /// Payload passes one operation after the other through a pipe of this many bytes a second, before the latency.
    pub bytes_per_s: Option<u64>,
    /// Spans without an answer.
    pub stalls: Vec<Stall>,
    /// Every n-th operation of a worker fails so: `(10, Busy)` fails the 10th, the 20th and so on.
    pub errors: Vec<(u64, ErrorKind)>,
    /// From this operation of a worker on (the first is 0) none is ever answered, not even at its deadline.
    pub hang_from: Option<u64>,
    /// The session cannot be opened.
    pub refuse: Option<DriverError>,
    /// Run on a virtual clock; otherwise waiting is real.
    pub virtual_clock: bool,
}

impl Default for SimConfig {
    fn default() -> Self {
        Self {
            seed: 0,
            latency: Latency::Fixed(1_000_000),
            latency_of: BTreeMap::new(),
            bytes_per_s: None,
            stalls: Vec::new(),
            errors: Vec::new(),
            hang_from: None,
            refuse: None,
            virtual_clock: true,
        }
    }
}

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
    /// When operation `number`, begun now, is answered.
    fn answer_at(&self, now: u64, number: u64, op: &Op) -> u64 {
        let through = self.through_pipe(now, op.payload_bytes());
        let latency = self.config.latency_of.get(&op.kind).unwrap_or(&self.config.latency);
        let answer = through.saturating_add(self.draw(latency, number).max(1));
        let within = |stall: &&Stall| {
            (self.opened_ns + stall.from_ns..self.opened_ns + stall.until_ns).contains(&answer)
        };
        let stalled = self.config.stalls.iter().find(within);
        stalled.map_or(answer, |stall| self.opened_ns + stall.until_ns)
    }

    /// When the last byte has passed.
    fn through_pipe(&self, now: u64, bytes: u64) -> u64 {
        let Some(bytes_per_s) = self.config.bytes_per_s else { return now };
        let span = u128::from(bytes) * 1_000_000_000 / u128::from(bytes_per_s.max(1));
        let span = u64::try_from(span).unwrap_or(u64::MAX);
        let through = self.pipe_free_ns.get().max(now).saturating_add(span);
        self.pipe_free_ns.set(through);
        through
    }

    fn draw(&self, latency: &Latency, number: u64) -> u64 {
        let mut random = self.random.borrow_mut();
        match latency {
            Latency::Fixed(ns) => *ns,
            Latency::List(list) if list.is_empty() => 0,
            Latency::List(list) => list[(number % list.len() as u64) as usize],
            Latency::Uniform(least, most) => random.u64(*least..=*most.max(least)),
            Latency::Exponential(mean) => {
                // 1 - u lies above 0, so that the logarithm is finite.
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
