//! The leader's side of one agent.

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

/// Whoever hears of events.
pub(crate) type Events = Arc<dyn Fn(FleetEvent) + Send + Sync>;

/// What carries an agent's pipe, to be asked why it ended, and to be ended.
pub trait Process: Send {
    /// How it ended and what it said last, in one line.
    fn last_words(&mut self) -> String;
    /// Waits so long for its end; then it is made to.
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

/// An agent that was started: the ends of its pipe, and what carries it.
pub struct Ends {
    /// Its name in results and messages.
    pub name: String,
    /// To the agent.
    pub input: OwnedFd,
    /// From the agent.
    pub output: OwnedFd,
    /// What carries the pipe, if it is a process.
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
    /// Who it is.
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
        // A host group's members are ended by the host group.
        if self.wire.member.get().is_none() {
            self.wire.lose("it is not wanted");
            self.wire.end_process(greet::PATIENCE);
        }
    }
}

/// What a stage hears of a member.
pub(crate) enum News {
    Ready,
    Interval(Box<Interval>),
    Sample(Box<HostSample>),
    Finished(Box<StageResult>),
    Refused(HostRefusal),
}

/// Where the answer to a question goes.
pub(crate) type Answer = Sender<(usize, Option<Result<Reply, HostRefusal>>)>;

/// What the threads that deal with one agent share.
pub(crate) struct Wire {
    pub(crate) name: String,
    pub(crate) member: OnceLock<usize>,
    pub(crate) outlet: Outlet,
    pub(crate) hello: OnceLock<Hello>,
    lost: OnceLock<String>,
    /// When it was last heard of.
    heard_ns: AtomicU64,
    /// Its reader waits for this side, so that it cannot be heard.
    holding: AtomicBool,
    /// This many pings are to follow each other at once.
    pub(crate) pings_due: AtomicU32,
    /// Farewell was said: it may go.
    leaving: AtomicBool,
    /// Its pipe broke, and somebody asks why.
    dying: AtomicBool,
    state: Mutex<State>,
    /// It has said hello or farewell, or is lost.
    changed: Condvar,
    events: OnceLock<Events>,
    process: Mutex<Option<Box<dyn Process>>>,
}

#[derive(Default)]
struct State {
    questions: HashMap<u64, Answer>,
    stages: HashMap<u64, Way>,
    /// Pings that are not answered, and when they were sent.
    pings: VecDeque<(u64, u64)>,
    next_ping: u64,
    clock: Estimate,
    /// In the minute that began then, this many lines were said.
    said: (u64, u32),
    /// The reader has gone.
    ended: bool,
}

/// Where a stage's news goes, and what is allowed to come.
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

    /// It is lost, now and for good. The first reason counts.
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
            // Who asked has gone.
            let _ = answer.send((self.number(), None));
        }
        if let (Some(events), Some(member)) = (self.events.get(), self.member.get()) {
            let (name, at_ns) = (self.name.clone(), reactor::clock::now_ns());
            events(FleetEvent::Lost { member: *member, name, why, at_ns });
        }
    }

    /// Sends a message. An agent that cannot be sent to is lost.
    pub(crate) fn send(&self, message: &ToAgent) {
        self.send_body(&encode(message));
    }

    /// The same with what was put into a body before.
    pub(crate) fn send_body(&self, body: &[u8]) {
        // An end of the pipe is noticed by its reader too, which knows more of the reason; the keeper waits for it a moment.
        let _sent: Sent = self.outlet.send(body, Need::Must);
    }

    /// Asks; the answer comes with the number of this member, `None` when it is lost.
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

    /// Begins a stage: its news goes that way from now on.
    pub(crate) fn begin_stage(&self, id: u64, body: &[u8], news: SyncSender<(usize, News)>, guard: Guard) {
        self.state().stages.insert(id, Way { news, guard });
        self.send_body(body);
    }

    /// The stage is over for this side.
    pub(crate) fn forget_stage(&self, id: u64) {
        self.state().stages.remove(&id);
    }

    /// Changes what may come of a stage.
    pub(crate) fn with_guard(&self, id: u64, change: impl FnOnce(&mut Guard)) {
        if let Some(way) = self.state().stages.get_mut(&id) {
            change(&mut way.guard);
        }
    }

    /// What is known of its clock at a moment of this side's.
    pub(crate) fn clock(&self, at_ns: u64) -> Option<ClockFacts> {
        self.state().clock.at(at_ns)
    }

    /// A moment of its clock on this side's, and by how much that may be off.
    pub(crate) fn ours(&self, theirs_ns: u64) -> Option<(u64, u64)> {
        self.state().clock.ours(theirs_ns)
    }
}
