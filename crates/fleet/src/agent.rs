//! An agent: reads orders from a pipe and carries them out, until there is no coordinator any more.

mod keep;
mod work;

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::frame::{FrameError, FrameReader};
use crate::host_executor::HostExecutor;
use crate::inlet::Inlet;
use crate::message::{DecodeError, FromAgent, Hello, ToAgent, decode, encode};
use crate::order::SiteId;
use crate::outlet::{Need, Outlet, Sent};
use crate::sampling::HostSamples;
use work::Running;

/// How often the agent checks whether to end.
const LOOK: Duration = Duration::from_millis(50);
/// Silence allowed before the welcome, in nanoseconds: other hosts may be slow to start.
const FIRST_SILENCE_NS: u64 = 900_000_000_000;
/// Time that stopped stages have to end.
const STOPPING: Duration = Duration::from_secs(5);
/// Maximum time for the farewell to get through.
const FAREWELL: Duration = Duration::from_secs(5);
/// Maximum time for removing what was created.
const REMOVING: Duration = Duration::from_secs(600);
/// Maximum concurrent requests and stages.
const MAX_AT_ONCE: usize = 256;

/// A handle by which a signal handler's thread ends this agent as if the coordinator were gone. Clones refer to the
/// same agent.
#[derive(Clone, Debug, Default)]
pub struct Leaving(Arc<AtomicBool>);

impl Leaving {
    /// Ends the agent: stages stop at once, and what was created is removed.
    pub fn leave(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How an agent ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentEnd {
    /// The coordinator said farewell.
    Dismissed,
    /// The coordinator is gone: everything was stopped, and what was created was removed.
    Abandoned {
        /// What happened, one line.
        why: String,
        /// What could not be removed, for people.
        left: Vec<String>,
    },
}

/// Why an agent takes no more orders.
#[derive(Debug, thiserror::Error)]
enum CoordinatorGone {
    #[error("the side that leads closed the pipe")]
    Closed,
    /// The pipe cannot be read, or the agent is to end.
    #[error(transparent)]
    Io(std::io::Error),
    #[error("what the side that leads sends is broken: {0}")]
    Broken(FrameError),
    #[error(transparent)]
    Decode(#[from] DecodeError),
}

/// State shared by the threads of an agent.
struct Agent {
    outlet: Outlet,
    hand: Arc<dyn HostExecutor>,
    leaving: Leaving,
    /// When the coordinator was last heard, and the silence allowed, in nanoseconds.
    heard_ns: AtomicU64,
    silence_ns: AtomicU64,
    state: Mutex<State>,
    /// Signals that a request or stage has ended.
    changed: Condvar,
    samples: HostSamples,
}

#[derive(Default)]
struct State {
    /// Why the agent is ending.
    over: Option<String>,
    stages: HashMap<u64, Arc<Running>>,
    /// Requests and stages in progress.
    under_way: usize,
    /// Whether stages on these targets run on a virtual clock.
    virtual_sites: HashMap<SiteId, bool>,
}

/// Serves the coordinator over a pipe until it says farewell, or until the coordinator is gone: the pipe ends, nothing
/// is heard for the agreed time, sent data is not read, or `leaving` says so. Then all stages are stopped at once and
/// [`HostExecutor::abandon`] is called.
///
/// `input` and `output` belong to the agent alone; nothing else may use them.
///
/// # Errors
/// The pipe cannot be used at all.
pub fn serve(
    input: OwnedFd,
    output: OwnedFd,
    hand: Arc<dyn HostExecutor>,
    hello: Hello,
    leaving: &Leaving,
) -> std::io::Result<AgentEnd> {
    let agent = Arc::new(Agent {
        outlet: Outlet::new(output)?,
        hand,
        leaving: leaving.clone(),
        heard_ns: AtomicU64::new(reactor::clock::now_ns()),
        silence_ns: AtomicU64::new(FIRST_SILENCE_NS),
        state: Mutex::default(),
        changed: Condvar::new(),
        samples: HostSamples::default(),
    });
    agent.send(&FromAgent::Hello(hello), Need::Must);
    let keeper = keep::start(&agent)?;
    let looking = Arc::clone(&agent);
    let inlet = Inlet::new(input, LOOK, Arc::new(move || looking.state().over.clone()));
    let gone = agent.listen(FrameReader::new(inlet)).err();
    let ended = agent.finish(gone.map(|gone| gone.to_string()));
    keeper.end();
    Ok(ended)
}

impl Agent {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self, message: &FromAgent, need: Need) -> Sent {
        self.outlet.send(&encode(message), need)
    }

    /// Ends the agent and stops everything that runs. Only the first reason is kept.
    fn stop_all(&self, why: &str) {
        let mut state = self.state();
        state.over.get_or_insert_with(|| why.to_owned());
        state.stages.values().for_each(|stage| stage.stop());
        self.changed.notify_all();
    }

    /// Carries out orders until the farewell.
    fn listen(self: &Arc<Self>, mut frames: FrameReader<Inlet>) -> Result<(), CoordinatorGone> {
        loop {
            let body = match frames.read_frame() {
                Ok(body) => body,
                Err(FrameError::Ended) => return Err(CoordinatorGone::Closed),
                Err(FrameError::Io(error)) => return Err(CoordinatorGone::Io(error)),
                Err(error) => return Err(CoordinatorGone::Broken(error)),
            };
            let received_ns = reactor::clock::now_ns();
            self.heard_ns.store(received_ns, Ordering::Relaxed);
            match decode(body)? {
                ToAgent::Welcome(welcome) => {
                    self.silence_ns.store(welcome.silence_ms.saturating_mul(1_000_000), Ordering::Relaxed);
                }
                ToAgent::Ping { number } => {
                    let answered_ns = reactor::clock::now_ns();
                    self.send(&FromAgent::Pong { number, received_ns, answered_ns }, Need::Must);
                }
                ToAgent::Open { id, opening } => self.open(id, opening),
                ToAgent::Act { id, site, act } => self.act(id, site, act),
                ToAgent::Stage { id, request } => self.begin(id, request),
                ToAgent::Go { id, start_ns } => self.tell(id, |stage| stage.go(start_ns)),
                ToAgent::FinishAfter { id, index } => self.tell(id, |stage| stage.finish_after(index)),
                ToAgent::IntervalSeen { id, index } => self.tell(id, |stage| stage.seen(index)),
                ToAgent::Stop { id } => self.tell(id, Running::stop),
                ToAgent::End => return Ok(()),
            }
        }
    }

    /// Passes something to a running stage; does nothing if the stage has ended meanwhile.
    fn tell(&self, id: u64, what: impl FnOnce(&Running)) {
        let stage = self.state().stages.get(&id).cloned();
        if let Some(stage) = stage {
            what(&stage);
        }
    }

    /// Stops what runs; then says farewell, or removes what was created.
    fn finish(self: &Arc<Self>, why: Option<String>) -> AgentEnd {
        self.stop_all(why.as_deref().unwrap_or("the side that leads said farewell"));
        let rest = self.state();
        let rest = self.changed.wait_timeout_while(rest, STOPPING, |state| state.under_way > 0);
        drop(rest);
        let Some(why) = why else {
            self.outlet.send_with(Need::Must, |tally| {
                encode(&FromAgent::Bye { frames: tally.frames, checksum: tally.checksum })
            });
            let mut waited = Duration::ZERO;
            while self.outlet.flush() && waited < FAREWELL {
                std::thread::sleep(keep::SOON);
                waited += keep::SOON;
            }
            self.outlet.close();
            return AgentEnd::Dismissed;
        };
        self.outlet.close();
        AgentEnd::Abandoned { why, left: self.remove_all() }
    }

    fn remove_all(&self) -> Vec<String> {
        let (done, left) = std::sync::mpsc::channel();
        let hand = Arc::clone(&self.hand);
        let work = move || {
            let left = work::guarded(|| Ok(hand.abandon())).unwrap_or_else(|refusal| vec![refusal.text]);
            // The waiting side may have given up.
            let _ = done.send(left);
        };
        let started = std::thread::Builder::new().name("abandon".to_owned()).spawn(work);
        if let Err(error) = started {
            return vec![format!("nothing could be removed: {error}")];
        }
        let limit = REMOVING.as_secs();
        left.recv_timeout(REMOVING)
            .unwrap_or_else(|_| vec![format!("removing what was made did not end within {limit} s")])
    }
}
