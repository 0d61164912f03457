//! Requests and stages, each on a thread of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use engine::{Control, Rendezvous, StageContext, StageResult, StartGate};
use metrics::Interval;

use super::{Agent, MAX_AT_ONCE};
use crate::message::{FromAgent, Shown, encode};
use crate::order::{Act, HostRefusal, OpenOrder, Reply, SiteId, StageRequest};
use crate::outlet::{Need, Sent};
use crate::sampling::Sampling;

/// How often a waiting stage checks whether to stop.
const LOOK: Duration = Duration::from_millis(20);

/// A running stage.
pub(super) struct Running {
    control: Control,
    told: Mutex<Told>,
    changed: Condvar,
}

/// Messages received for the stage.
#[derive(Default)]
struct Told {
    start_ns: Option<u64>,
    /// The interval after the last one that was acknowledged.
    seen: u32,
}

impl Running {
    fn new() -> Self {
        Running { control: Control::new(), told: Mutex::default(), changed: Condvar::new() }
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn stop(&self) {
        self.control.stop();
        self.changed.notify_all();
    }

    pub(super) fn go(&self, start_ns: u64) {
        self.told().start_ns = Some(start_ns);
        self.changed.notify_all();
    }

    pub(super) fn finish_after(&self, index: u32) {
        self.control.finish_after(index);
    }

    pub(super) fn seen(&self, index: u32) {
        let mut told = self.told();
        told.seen = told.seen.max(index.saturating_add(1));
        drop(told);
        self.changed.notify_all();
    }

    /// Waits for a message, or until the stage is stopped.
    fn wait_for<T>(&self, stopped: &dyn Fn() -> bool, what: impl Fn(&Told) -> Option<T>) -> Option<T> {
        let mut told = self.told();
        loop {
            if let Some(found) = what(&told) {
                return Some(found);
            }
            if stopped() {
                return None;
            }
            told = self.changed.wait_timeout(told, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Where a stage waits for the start named by the coordinator.
struct Door {
    agent: Arc<Agent>,
    running: Arc<Running>,
    id: u64,
}

impl StartGate for Door {
    fn meet(&self, stopped: &dyn Fn() -> bool) -> Option<u64> {
        self.agent.send(&FromAgent::Ready { id: self.id }, Need::Must);
        self.running.wait_for(stopped, |told| told.start_ns)
    }

    // The coordinator learns of it from the stage's outcome.
    fn leave(&self) {}
}

impl Agent {
    /// Opens a target, and replies.
    pub(super) fn open(self: &Arc<Self>, id: u64, opening: Box<OpenOrder>) {
        self.answer(id, move |agent| {
            let facts = agent.hand.open(&opening)?;
            agent.state().virtual_sites.insert(opening.site, facts.virtual_clock);
            Ok(Reply::Opened(facts))
        });
    }

    /// Performs an act on a target, and replies.
    pub(super) fn act(self: &Arc<Self>, id: u64, site: SiteId, act: Act) {
        self.answer(id, move |agent| {
            if let Some(reply) = agent.samples.act(&act, agent.hand.scope()) {
                return Ok(reply);
            }
            let reply = agent.hand.act(site, &act)?;
            if act == Act::Close {
                agent.state().virtual_sites.remove(&site);
            }
            Ok(reply)
        });
    }

    fn answer(
        self: &Arc<Self>,
        id: u64,
        work: impl FnOnce(&Agent) -> Result<Reply, HostRefusal> + Send + 'static,
    ) {
        let answered = self.on_a_thread("question", move |agent| {
            let outcome = guarded(|| work(agent));
            agent.send(&FromAgent::Answer { id, outcome }, Need::Must);
        });
        if let Err(refusal) = answered {
            self.send(&FromAgent::Answer { id, outcome: Err(refusal) }, Need::Must);
        }
    }

    /// Runs a stage, and reports its outcome.
    pub(super) fn begin(self: &Arc<Self>, id: u64, request: StageRequest) {
        let running = Arc::new(Running::new());
        let mut state = self.state();
        if state.over.is_some() {
            running.stop();
        }
        state.stages.insert(id, Arc::clone(&running));
        drop(state);
        let begun = self.on_a_thread("stage", move |agent| {
            let outcome = guarded(|| agent.run(id, &request, &running)).map(Box::new);
            agent.state().stages.remove(&id);
            agent.send(&FromAgent::Finished { id, outcome }, Need::Must);
        });
        if let Err(refusal) = begun {
            self.state().stages.remove(&id);
            self.send(&FromAgent::Finished { id, outcome: Err(refusal) }, Need::Must);
        }
    }

    fn run(
        self: &Arc<Self>,
        id: u64,
        request: &StageRequest,
        running: &Arc<Running>,
    ) -> Result<StageResult, HostRefusal> {
        let lockstep = self.state().virtual_sites.get(&request.site).copied().unwrap_or(false);
        let door = Door { agent: Arc::clone(self), running: Arc::clone(running), id };
        let beside =
            StageContext { rendezvous: Some(Rendezvous::at_gate(Arc::new(door))), ..StageContext::default() };
        let mut sampling = Sampling::begin(request.limit_s, lockstep, self.hand.scope());
        let mut left_out = 0;
        let mut show = |interval: &Interval| {
            if let Some(sample) = sampling.look() {
                self.send(&FromAgent::Sample { id, sample: Box::new(sample) }, Need::May);
            }
            let message = Shown::Interval { id, interval };
            if self.outlet.send(&encode(&message), if lockstep { Need::Must } else { Need::May })
                == Sent::LeftOut
            {
                left_out += 1;
            }
            if lockstep {
                let seen = |told: &Told| (told.seen > interval.index).then_some(());
                running.wait_for(&|| running.control.is_stopped(), seen);
            }
        };
        let mut result = self.hand.run_stage(request, beside, &running.control, &mut show)?;
        result.unseen_intervals = result.unseen_intervals.saturating_add(left_out);
        Ok(result)
    }

    fn on_a_thread(
        self: &Arc<Self>,
        name: &str,
        work: impl FnOnce(&Arc<Agent>) + Send + 'static,
    ) -> Result<(), HostRefusal> {
        let mut state = self.state();
        if state.under_way >= MAX_AT_ONCE {
            return Err(HostRefusal::failed(format!(
                "more than {MAX_AT_ONCE} things at once are asked of this host"
            )));
        }
        state.under_way += 1;
        drop(state);
        let agent = Arc::clone(self);
        let run = move || {
            work(&agent);
            agent.state().under_way -= 1;
            agent.changed.notify_all();
        };
        std::thread::Builder::new().name(name.to_owned()).spawn(run).map(|_| ()).map_err(|error| {
            self.state().under_way -= 1;
            HostRefusal::failed(format!("no thread can be started: {error}"))
        })
    }
}

/// Turns a panic into a refusal as well.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, HostRefusal>) -> Result<T, HostRefusal> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(HostRefusal::failed(format!("the agent panicked: {text}; this is a defect of manometer")))
    })
}
