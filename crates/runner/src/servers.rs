//! Hosts of the server that are sampled while cells are measured (`observe`).
//!
//! Their agents generate no load. One thread asks all of them for a sample about every second, as long as a measurement
//! watches; the thread that merges intervals stores the samples. A host that is lost is no longer observed, and the run
//! continues.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use experiment::{Observe, Plan};
use fleet::probe::HostSample;
use fleet::{Act, FleetEvent, HostGroup, HostGroupSettings, Reply};
use metrics::Interval;
use reactor::clock;
use store::{HOSTS_KEPT, Store};

use crate::begin::RunError;
use crate::bottleneck::HostEvidence;
use crate::disk_baseline::DisksOfHost;
use crate::events::Events;
use crate::fleet_start::connect;
use crate::host_group::{HostGroupEvents, Told};
use crate::network_baseline::{self, OfHost};
use crate::options::RunOptions;
use crate::stop::StopToken;

/// Between two samples.
const EVERY: Duration = Duration::from_secs(1);
/// At most this share of a measurement, so that a short one has some samples too.
const SHARE: f64 = 0.24;
/// The shortest time between two samples.
const LEAST: Duration = Duration::from_millis(100);
/// Timeout of a sample. A host that takes longer is lost.
const PATIENCE: Duration = Duration::from_secs(60);
/// Samples that wait to be stored; more are not stored.
const MAX_WAITING: usize = 10_000;

/// The observed hosts of a run.
pub struct Servers {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    host_group: HostGroup,
    observe: Observe,
    names: Vec<String>,
    lost: Arc<Mutex<BTreeMap<usize, String>>>,
    /// What each host's network and disks did when measured alone.
    alone: OnceLock<Vec<(OfHost, DisksOfHost)>>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    over: bool,
    /// The measurements under way.
    watched: Vec<Arc<Watched>>,
}

/// What is known of the servers during one measurement.
struct Watched {
    every: Duration,
    evidence: HostEvidence,
    waiting: Mutex<Vec<ServerSample>>,
    /// The measured window on this process's clock: its beginning and the end of its last interval.
    window: Mutex<Option<(u64, u64)>>,
}

/// A sample to be stored.
pub struct ServerSample {
    /// The name under which the host's samples are stored.
    pub name: String,
    /// When it arrived, on this process's clock, in nanoseconds.
    pub at_ns: u64,
    /// The sample.
    pub sample: HostSample,
}

/// One server over a measurement.
#[derive(Clone, Debug, Default)]
pub struct ObservedServer {
    /// Its role, in one word.
    pub role: String,
    /// Its name.
    pub name: String,
    /// Its kernel's boot id; empty when unknown.
    pub machine: String,
    /// Samples within the measured window.
    pub samples: Vec<HostSample>,
    /// What its network carried when measured alone.
    pub network: OfHost,
    /// What its disks did when measured alone.
    pub disks: DisksOfHost,
    /// Why it is no longer observed.
    pub lost: Option<String>,
}

impl Servers {
    /// Starts the agents on a plan's observed hosts; `None` if it observes none.
    ///
    /// # Errors
    /// A host cannot be reached: one line.
    pub fn start(
        plan: &Plan,
        options: &RunOptions,
        events: &Arc<dyn Events>,
        stop: &StopToken,
        told: &Arc<HostGroupEvents>,
    ) -> Result<Option<Self>, RunError> {
        let Some(observe) = plan.observe.clone() else { return Ok(None) };
        let members = connect(&observe.launcher, observe.start_timeout_ms, &options.login, events, stop)
            .map_err(unreached)?;
        events.note(&format!("{} {} hosts are observed", members.len(), observe.role));
        let lost: Arc<Mutex<BTreeMap<usize, String>>> = Arc::default();
        let noted = {
            let (lost, warn, told) = (Arc::clone(&lost), Arc::clone(events), Arc::clone(told));
            let role = observe.role.clone();
            move |event: FleetEvent| {
                let (kind, text) = match event {
                    FleetEvent::Lost { member, name, why, .. } => {
                        let text = format!("{role} {name} is no longer observed: {why}; the run continues");
                        lost.lock().unwrap_or_else(PoisonError::into_inner).insert(member, why);
                        ("server-lost", text)
                    }
                    FleetEvent::Said { name, text, .. } => ("server", format!("{role} {name}: {text}")),
                };
                warn.warn(&text);
                told.add(Told { kind, text });
            }
        };
        let silence = Duration::from_millis(observe.silence_timeout_ms);
        let settings = HostGroupSettings { act_limit: PATIENCE, ..HostGroupSettings::with_silence(silence) };
        let host_group = HostGroup::new(members, settings, Arc::new(noted));
        let (names, state, changed) = (host_group.names(), Mutex::default(), Condvar::new());
        let alone = OnceLock::new();
        let shared = Arc::new(Shared { host_group, observe, names, lost, alone, state, changed });
        let sampling = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name("servers".to_owned()).spawn(move || sampling.sample());
        let thread = thread
            .map_err(|error| RunError::Failure(format!("observe: no thread can be started: {error}")))?;
        Ok(Some(Self { shared, thread: Some(thread) }))
    }

    /// Looks up the baselines of the hosts, once the results file is known.
    pub fn know(&self, store: &Store) {
        let kept = network_baseline::newest_first(store);
        let of = |(member, name): (usize, &String)| {
            // Containers of one machine may all have its name.
            let named = OfHost::named(&kept, std::slice::from_ref(name));
            let own = self.shared.host_group.host_facts(member).remove("host").filter(|_| !named.is_known());
            let network = own.map_or(named, |own| OfHost::named(&kept, &[own]));
            (network, DisksOfHost::named(&kept, name))
        };
        let known = self.shared.names.iter().enumerate().map(of).collect();
        // It is called once.
        let _ = self.shared.alone.set(known);
    }

    /// Watches a measurement that is about to start, of at most this length in seconds.
    pub fn watch(&self, limit_s: f64) -> ServerWatch {
        let share = Duration::try_from_secs_f64(SHARE * limit_s.max(0.0)).unwrap_or(EVERY);
        let watched = Arc::new(Watched {
            every: share.clamp(LEAST, EVERY),
            evidence: HostEvidence::default(),
            waiting: Mutex::default(),
            window: Mutex::default(),
        });
        self.shared.state().watched.push(Arc::clone(&watched));
        self.shared.changed.notify_all();
        ServerWatch { shared: Arc::clone(&self.shared), watched }
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        self.shared.state().over = true;
        self.shared.changed.notify_all();
        // The thread may be waiting for a sample.
        self.shared.host_group.end();
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

/// A host that cannot be observed, with what to do about it.
fn unreached(error: RunError) -> RunError {
    const NEXT: &str = "make it reachable, or take it out of observe";
    let words = |line: String| match line.contains("; next: ") {
        true => format!("observe: {line}"),
        false => format!("observe: {line}; next: {NEXT}"),
    };
    match error {
        RunError::Usage(line) => RunError::Usage(words(line)),
        RunError::Failure(line) => RunError::Failure(words(line)),
        other => other,
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes samples while something watches, until it is over.
    fn sample(&self) {
        let nobody = |state: &mut State| !state.over && state.watched.is_empty();
        loop {
            let waiting = self.state();
            let state = self.changed.wait_while(waiting, nobody).unwrap_or_else(PoisonError::into_inner);
            if state.over {
                return;
            }
            drop(state);
            self.host_group.act(&self.host_group.alive(), 0, &Act::BeginSamples);
            while let Some(watched) = self.next_round() {
                for (member, reply) in self.host_group.act(&self.host_group.alive(), 0, &Act::Sample) {
                    // Lost hosts are told of by events; a first reply has no sample yet.
                    let Ok(Reply::Sampled(sample)) = reply else { continue };
                    let at_ns = clock::now_ns();
                    watched.iter().for_each(|one| one.add(self, (member, at_ns), &sample));
                }
            }
        }
    }

    /// The measurements to take a sample for, once it is time; `None` when there are none any more.
    fn next_round(&self) -> Option<Vec<Arc<Watched>>> {
        let mut state = self.state();
        let began_ns = clock::now_ns();
        loop {
            let every = state.watched.iter().map(|watched| watched.every).min();
            let every = every.filter(|_| !state.over)?;
            let passed = Duration::from_nanos(clock::now_ns().saturating_sub(began_ns));
            if passed >= every {
                return Some(state.watched.clone());
            }
            state =
                self.changed.wait_timeout(state, every - passed).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Watched {
    fn add(&self, shared: &Shared, (member, at_ns): (usize, u64), sample: &HostSample) {
        // Windows are compared on this process's clock.
        self.evidence.add(member, &HostSample { at_ns, ..sample.clone() });
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if member < HOSTS_KEPT && waiting.len() < MAX_WAITING {
            let name = shared.observe.stored_name(&shared.names[member]);
            waiting.push(ServerSample { name, at_ns, sample: sample.clone() });
        }
    }

    fn window(&self) -> MutexGuard<'_, Option<(u64, u64)>> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The servers during one measurement; ends when dropped.
pub struct ServerWatch {
    shared: Arc<Shared>,
    watched: Arc<Watched>,
}

impl ServerWatch {
    /// Notes an interval of the measured window, which has just ended.
    pub fn interval(&self, interval: &Interval) {
        let now_ns = clock::now_ns();
        let mut window = self.watched.window();
        let began_ns = window.map_or(now_ns.saturating_sub(interval.length_ns), |(began_ns, _)| began_ns);
        *window = Some((began_ns, now_ns));
    }

    /// The samples that are not stored yet.
    pub fn take(&self) -> Vec<ServerSample> {
        std::mem::take(&mut *self.watched.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Every server over the measured window.
    pub fn servers(&self) -> Vec<ObservedServer> {
        let Shared { host_group, observe, names, lost, alone, .. } = &*self.shared;
        let window = *self.watched.window();
        let lost = lost.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let of = |(member, name): (usize, &String)| {
            let alone = alone.get().and_then(|all| all.get(member));
            let (network, disks) = alone.cloned().unwrap_or_default();
            let samples = window.map(|(began, ended)| self.watched.evidence.within(member, began, ended));
            ObservedServer {
                role: observe.role.clone(),
                name: name.clone(),
                machine: host_group.machine(member).to_owned(),
                samples: samples.unwrap_or_default(),
                network,
                disks,
                lost: lost.get(&member).cloned(),
            }
        };
        names.iter().enumerate().map(of).collect()
    }
}

impl Drop for ServerWatch {
    fn drop(&mut self) {
        self.shared.state().watched.retain(|watched| !Arc::ptr_eq(watched, &self.watched));
        self.shared.changed.notify_all();
    }
}
