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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{Payload, Sink};

    const CONTEXT: WorkerContext = WorkerContext {
        worker: 0,
        lanes: 1,
        payload: Payload::new(0),
        sink: Sink::Buffer,
        op_timeout: Duration::from_nanos(1000),
        connect_timeout: Duration::from_secs(1),
    };

    /// When each of `count` reads of 100 bytes, one after the other, ended, and how.
    fn ends(config: SimConfig, count: usize) -> Vec<(u64, Result<u64, ErrorKind>)> {
        let reactor = Reactor::simulated();
        let op = Op { kind: OpKind::Read, lane: 0, object: 1, offset: 0, len: 100, generation: 0 };
        reactor.block_on(async {
            let session = SimDriver::new(config).connect(&reactor, &CONTEXT).await.unwrap();
            let mut ends = Vec::new();
            for _ in 0..count {
                let result = session.perform(&op).await.map(|done| done.bytes).map_err(|e| e.kind);
                ends.push((reactor.now(), result));
            }
            ends
        })
    }

    #[test]
    fn a_list_is_repeated_and_nothing_takes_no_time() {
        let config = SimConfig { latency: Latency::List(vec![5, 0, 10]), ..SimConfig::default() };
        let at: Vec<u64> = ends(config, 4).into_iter().map(|(at, _)| at).collect();
        assert_eq!(at, [5, 6, 16, 21]);
    }

    #[test]
    fn what_falls_into_a_stall_is_answered_at_its_end() {
        let stalls = vec![Stall { from_ns: 15, until_ns: 100 }];
        let config = SimConfig { latency: Latency::Fixed(10), stalls, ..SimConfig::default() };
        let at: Vec<u64> = ends(config, 3).into_iter().map(|(at, _)| at).collect();
        assert_eq!(at, [10, 100, 110]);
    }

    #[test]
    fn bandwidth_comes_before_latency() {
        // 100 bytes at 10 bytes a nanosecond.
        let bytes_per_s = Some(10_000_000_000);
        let config = SimConfig { latency: Latency::Fixed(3), bytes_per_s, ..SimConfig::default() };
        assert_eq!(ends(config, 2), [(13, Ok(100)), (26, Ok(100))]);
    }

    #[test]
    fn errors_come_in_turn_and_deadlines_hold() {
        let list = Latency::List(vec![1, 1, 1, 5000]);
        let config =
            SimConfig { latency: list, errors: vec![(3, ErrorKind::NoSpace)], ..SimConfig::default() };
        let expected =
            [(1, Ok(100)), (2, Ok(100)), (3, Err(ErrorKind::NoSpace)), (1003, Err(ErrorKind::TimedOut))];
        assert_eq!(ends(config, 4), expected);
    }

    #[test]
    fn random_latencies_stay_in_their_range_and_follow_the_seed() {
        let config = |seed| SimConfig { seed, latency: Latency::Uniform(10, 20), ..SimConfig::default() };
        let ends_of = |seed| ends(config(seed), 200);
        let mut last = 0;
        for (at, _) in ends_of(1) {
            assert!((10..=20).contains(&(at - last)));
            last = at;
        }
        assert_eq!(ends_of(1), ends_of(1));
        assert_ne!(ends_of(1), ends_of(2));
    }

    #[test]
    fn a_refusal_is_the_scripted_one() {
        let refusal = DriverError::new(ErrorKind::AccessDenied, "not you");
        let driver = SimDriver::new(SimConfig { refuse: Some(refusal), ..SimConfig::default() });
        let reactor = Reactor::simulated();
        let refused = reactor.block_on(async { driver.connect(&reactor, &CONTEXT).await.err() });
        assert_eq!(refused.map(|error| error.to_string()).as_deref(), Some("not you"));
    }
}
