//! The coordinator's side of one agent.

mod greet;
mod heard;
mod keep;

use std::collections::{HashMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc::{Sender, SyncSender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use engine::StageResult;
use metrics::Interval;

use crate::clock::{ClockFacts, Estimate};
use crate::launch::{AgentProcess, Launched};
use crate::message::{Hello, ToAgent, encode};
use crate::order::{HostRefusal, Reply};
use crate::outlet::{Need, Outlet, Sent};
use crate::probe::HostSample;
use crate::seen::FleetEvent;

pub use greet::{Greeting, greet};
pub(crate) use heard::Guard;

/// Receiver of events.
pub(crate) type Events = Arc<dyn Fn(FleetEvent) + Send + Sync>;

/// The process that carries an agent's pipe: tells why it ended, and can be ended.
pub trait Process: Send {
    /// How it ended and its last output, in one line.
    fn last_words(&mut self) -> String;
    /// Waits this long for its end, then kills it.
    fn end(&mut self, patience: Duration);
}

impl Process for AgentProcess {
    fn last_words(&mut self) -> String {
        AgentProcess::last_words(self)
    }

    fn end(&mut self, patience: Duration) {
        let _status = AgentProcess::end(self, patience);
    }
}

/// A started agent: the ends of its pipe, and the process that carries it.
pub struct Ends {
    /// Its name in results and messages.
    pub name: String,
    /// To the agent.
    pub input: OwnedFd,
    /// From the agent.
    pub output: OwnedFd,
    /// The process that carries the pipe, if there is one.
    pub process: Option<Box<dyn Process>>,
}

impl From<Launched> for Ends {
    fn from(launched: Launched) -> Self {
        Ends {
            name: launched.name,
            input: launched.input.into(),
            output: launched.output.into(),
            process: Some(Box::new(launched.process)),
        }
    }
}

/// An agent that has said hello. Dropping it ends the agent.
pub struct Link {
    pub(crate) wire: Arc<Wire>,
}

impl Link {
    /// Its hello.
    pub fn hello(&self) -> Hello {
        self.wire.hello.get().cloned().unwrap_or_default()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.wire.name
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // The host group ends its own members.
        if self.wire.member.get().is_none() {
            self.wire.lose("it is not wanted");
            self.wire.end_process(greet::PATIENCE);
        }
    }
}

/// News of a member for a stage.
pub(crate) enum News {
    Ready,
    Interval(Box<Interval>),
    Sample(Box<HostSample>),
    Finished(Box<StageResult>),
    Refused(HostRefusal),
}

/// Where the reply to a request goes.
pub(crate) type Answer = Sender<(usize, Option<Result<Reply, HostRefusal>>)>;

/// State shared by the threads that handle one agent.
pub(crate) struct Wire {
    pub(crate) name: String,
    pub(crate) member: OnceLock<usize>,
    pub(crate) outlet: Outlet,
    pub(crate) hello: OnceLock<Hello>,
    lost: OnceLock<String>,
    /// When it was last heard.
    heard_ns: AtomicU64,
    /// Its reader is waiting for this side, so it cannot be heard.
    holding: AtomicBool,
    /// This many pings are to be sent back to back.
    pub(crate) pings_due: AtomicU32,
    /// Farewell was said: it may exit.
    leaving: AtomicBool,
    /// Its pipe broke, and the cause is being determined.
    dying: AtomicBool,
    state: Mutex<State>,
    /// Signals that it has said hello or farewell, or is lost.
    changed: Condvar,
    events: OnceLock<Events>,
    process: Mutex<Option<Box<dyn Process>>>,
}

#[derive(Default)]
struct State {
    questions: HashMap<u64, Answer>,
    stages: HashMap<u64, Way>,
    /// Unanswered pings, and when they were sent.
    pings: VecDeque<(u64, u64)>,
    next_ping: u64,
    clock: Estimate,
    /// Start of the current minute, and lines received in it.
    said: (u64, u32),
    /// The reader has ended.
    ended: bool,
}

/// Where a stage's news goes, and what is accepted.
pub(crate) struct Way {
    news: SyncSender<(usize, News)>,
    guard: Guard,
}

impl Wire {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its number in the host group.
    pub(crate) fn number(&self) -> usize {
        self.member.get().copied().unwrap_or(0)
    }

    /// Why it is lost.
    pub(crate) fn lost(&self) -> Option<&str> {
        self.lost.get().map(String::as_str)
    }

    /// Marks it as lost, permanently. Only the first reason is kept.
    pub(crate) fn lose(&self, why: &str) {
        let why = crate::check::one_line(why);
        if self.leaving.load(Ordering::Relaxed) || self.lost.set(why.clone()).is_err() {
            self.changed.notify_all();
            return;
        }
        self.outlet.close();
        let mut state = self.state();
        let questions = std::mem::take(&mut state.questions);
        state.stages.clear();
        state.pings.clear();
        drop(state);
        self.changed.notify_all();
        for answer in questions.into_values() {
            // The requester may have given up.
            let _ = answer.send((self.number(), None));
        }
        if let (Some(events), Some(member)) = (self.events.get(), self.member.get()) {
            let (name, at_ns) = (self.name.clone(), reactor::clock::now_ns());
            events(FleetEvent::Lost { member: *member, name, why, at_ns });
        }
    }

    /// Sends a message. An agent that cannot be reached is lost.
    pub(crate) fn send(&self, message: &ToAgent) {
        self.send_body(&encode(message));
    }

    /// Sends an already encoded message.
    pub(crate) fn send_body(&self, body: &[u8]) {
        // Its reader also notices the end of the pipe and knows more about the cause; the keeper waits for it briefly.
        let _sent: Sent = self.outlet.send(body, Need::Must);
    }

    /// Sends a request; the reply carries this member's number, and is `None` when the member is lost.
    pub(crate) fn ask(&self, id: u64, body: &[u8], answer: Answer) {
        let mut state = self.state();
        if self.lost().is_some() {
            drop(state);
            let _ = answer.send((self.number(), None));
            return;
        }
        state.questions.insert(id, answer);
        drop(state);
        self.send_body(body);
    }

    /// Starts a stage, whose news goes to `news` from now on.
    pub(crate) fn begin_stage(&self, id: u64, body: &[u8], news: SyncSender<(usize, News)>, guard: Guard) {
        self.state().stages.insert(id, Way { news, guard });
        self.send_body(body);
    }

    /// Ends the stage on this side.
    pub(crate) fn forget_stage(&self, id: u64) {
        self.state().stages.remove(&id);
    }

    /// Changes what is accepted from a stage.
    pub(crate) fn with_guard(&self, id: u64, change: impl FnOnce(&mut Guard)) {
        if let Some(way) = self.state().stages.get_mut(&id) {
            change(&mut way.guard);
        }
    }

    /// What is known of its clock at a time of this side's.
    pub(crate) fn clock(&self, at_ns: u64) -> Option<ClockFacts> {
        self.state().clock.at(at_ns)
    }

    /// Converts a time of its clock to this side's, with the maximum error.
    pub(crate) fn ours(&self, theirs_ns: u64) -> Option<(u64, u64)> {
        self.state().clock.ours(theirs_ns)
    }
}
