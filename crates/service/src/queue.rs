//! The runs of a service: a queue per set of hosts, those under way, and the events of the recent ones.

mod ending;
mod hosts;
mod leftovers;
mod live;
mod resume;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use database::DatabaseError;
use exporters::{BesideLoad, CpuBudget, CurrentRun, Pushes};
use provision::{Journal, ProvisionError, RunId};
use runner::progress::SharedProgress;
use runner::timestamp::now;
use runner::{StopReason, StopToken};

use crate::agents::LiveAgents;
use crate::carry_out::{self, Place, Task};
use crate::database::{AskedRun, AskedState, Database, NewRun};
use crate::event::StateEvent;
use crate::event_log::EventLog;
use crate::message_log::MessageLog;
use crate::new_work::{NewWork, RunSecrets};
use crate::options::{QueueSettings, RequestPolicy};
use crate::policy::THIS_HOST;
use crate::problem::Problem;
use crate::schedules::Bell;
use crate::server_id::{ServerIdError, server_id};
use crate::stored_results::StoredResults;
use crate::storperf::{GroupBook, StorperfJob};
use crate::threads::RunThreads;
use crate::work::Work;
pub(crate) use hosts::KnownHost;

/// Maximum number of runs that wait.
const MAX_QUEUED: usize = 1000;
/// Maximum number of runs under way; each has threads, connections and memory of its own.
const MAX_RUNNING: usize = 32;
/// How long a request waits for a lost database.
const REQUEST_PATIENCE: Duration = Duration::from_secs(10);
/// How long the end of a run waits for a lost database.
const END_PATIENCE: Duration = Duration::from_secs(600);
/// Number of ended runs whose events are kept.
const KEPT_LOGS: usize = 32;

/// The runs of a service.
pub(crate) struct RunQueue {
    directory: PathBuf,
    policy: RequestPolicy,
    program: PathBuf,
    ssh_options: Vec<String>,
    storperf_sample: Duration,
    messages: Arc<MessageLog>,
    threads: RunThreads,
    groups: Mutex<GroupBook>,
    results: StoredResults,
    journal: Journal,
    /// Receive the measurements of all runs.
    pushes: Arc<Pushes>,
    /// What requests may use while a run loads this host.
    budget: Arc<CpuBudget>,
    database: Mutex<Database>,
    shared: Mutex<Shared>,
    /// A run has ended.
    ended: Condvar,
    /// The same, for schedules.
    run_ended: Bell,
}

#[derive(Default)]
struct Shared {
    running: BTreeMap<String, Running>,
    /// Secrets of the runs that wait.
    secrets: BTreeMap<String, RunSecrets>,
    /// Events of the runs that wait, run, or ended recently.
    logs: BTreeMap<String, Arc<EventLog>>,
    /// Those that ended, oldest first.
    ended: VecDeque<String>,
    closing: bool,
}

impl Shared {
    /// Number of runs that wait.
    fn queued(&self) -> usize {
        // Those that wait, run, or ended recently have a log each.
        self.logs.len().saturating_sub(self.running.len() + self.ended.len())
    }

    /// Whether one more run may wait.
    ///
    /// # Errors
    /// The service is ending, or the queue is full.
    fn admit(&self) -> Result<(), Problem> {
        let unavailable =
            |detail: &str| Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail));
        if self.closing {
            return unavailable("the service is ending");
        }
        if self.queued() >= MAX_QUEUED {
            return unavailable("the queue is full; next: try again when runs have ended");
        }
        Ok(())
    }
}

struct Running {
    hosts: Vec<String>,
    stop: StopToken,
    /// Absent until its plan is known.
    current: Arc<OnceLock<Arc<CurrentRun>>>,
    /// Absent until it begins.
    progress: Arc<OnceLock<Arc<SharedProgress>>>,
    agents: Arc<LiveAgents>,
    /// Present if the run loads this host.
    _beside: Option<BesideLoad>,
}

/// Why a queue cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QueueError {
    /// Its database cannot be used.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// The service has no id.
    #[error(transparent)]
    ServerId(#[from] ServerIdError),
    /// Its journals cannot be used.
    #[error(transparent)]
    Journal(#[from] ProvisionError),
    /// It cannot start threads.
    #[error("no thread could be started: {0}")]
    Threads(#[source] std::io::Error),
    /// Its directory for what exists only during runs.
    #[error("{path}: {source}", path = path.display())]
    Scratch {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

/// A run that was posted.
pub(crate) struct Posted {
    pub run: AskedRun,
    /// False if an earlier request posted or resumed it.
    pub new: bool,
}

fn broken(error: DatabaseError) -> Problem {
    Problem::internal(error)
}

impl RunQueue {
    /// Opens the state of an earlier service, if any. Runs that it did not end are marked as interrupted.
    ///
    /// # Errors
    /// The database cannot be read or written.
    pub(crate) fn open(directory: &Path, settings: QueueSettings) -> Result<Arc<Self>, QueueError> {
        let scratch = directory.join(carry_out::SCRATCH);
        empty(&scratch).map_err(|source| QueueError::Scratch { path: scratch, source })?;
        let messages = Arc::new(MessageLog::new(settings.notes));
        let log = Arc::clone(&messages);
        let server = settings.database.map(|server| server.with_notes(Arc::new(move |line| log.add(line))));
        let database = match &server {
            None => Database::open(&directory.join("service.sqlite"))?,
            Some(server) => {
                let server = server.clone().with_patience(REQUEST_PATIENCE);
                Database::open_shared(&server, &server_id(directory)?)?
            }
        };
        let queue = Self {
            directory: directory.to_owned(),
            policy: settings.policy,
            program: settings.program,
            ssh_options: settings.ssh_options,
            storperf_sample: settings.storperf_sample,
            messages,
            threads: RunThreads::new().map_err(QueueError::Threads)?,
            results: StoredResults::new(directory, server),
            journal: Journal::open(&directory.join(carry_out::JOURNAL))?,
            groups: Mutex::default(),
            pushes: settings.pushes,
            budget: settings.budget,
            database: Mutex::new(database),
            shared: Mutex::default(),
            ended: Condvar::new(),
            run_ended: Bell::default(),
        };
        queue.recover()?;
        Ok(Arc::new(queue))
    }

    /// The service's tables.
    pub(crate) fn database(&self) -> MutexGuard<'_, Database> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What requests may use of this host.
    pub(crate) fn policy(&self) -> &RequestPolicy {
        &self.policy
    }

    /// Length of a sample of `StorPerf`'s jobs.
    pub(crate) fn storperf_sample(&self) -> Duration {
        self.storperf_sample
    }

    /// The groups of hosts, for reading or changing.
    pub(crate) fn groups(&self) -> MutexGuard<'_, GroupBook> {
        self.groups.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Rings when a run has ended.
    pub(crate) fn run_ended(&self) -> &Bell {
        &self.run_ended
    }

    /// Reports something to the service's operator.
    pub(crate) fn note(&self, line: &str) {
        self.messages.add(line);
    }

    /// The last `most` messages of the service.
    pub(crate) fn messages(&self, most: usize) -> Vec<String> {
        self.messages.last(most)
    }

    /// What belongs to a run that is a job of `StorPerf`'s.
    pub(crate) fn storperf_job(&self, id: &str) -> Result<StorperfJob, Problem> {
        let job = self.database().storperf(id).map_err(Problem::internal)?;
        job.ok_or_else(|| {
            let detail = format!("there is no job {id:?}; next: GET /api/v1.0/jobs lists all");
            Problem::new(StatusCode::NOT_FOUND, "no-such-job", detail)
        })
    }

    /// Up to `limit` runs that are jobs of `StorPerf`'s, newest first.
    pub(crate) fn storperf_jobs(&self, limit: u32) -> Result<Vec<(AskedRun, StorperfJob)>, Problem> {
        self.database().storperf_jobs(limit).map_err(Problem::internal)
    }

    /// The results of all runs.
    pub(crate) fn results(&self) -> &StoredResults {
        &self.results
    }

    /// Adds work to the queue, unless a request with the same idempotency key did.
    pub(crate) fn post(
        self: &Arc<Self>,
        given: NewWork,
        idempotency_key: Option<&str>,
    ) -> Result<Posted, Problem> {
        let digest = given.digest();
        let work = Work::read(given.kind, &given.text, &given.secrets, &self.policy)?;
        let mut shared = self.shared();
        if let Some(key) = idempotency_key
            && let Some(run) = self.database().by_key(key).map_err(broken)?
        {
            if run.digest != digest {
                return Err(Problem::key_of_another(&format!("run {}", run.id)));
            }
            return Ok(Posted { run, new: false });
        }
        shared.admit()?;
        let (id, hosts) = (RunId::random().to_string(), work.hosts());
        let storperf = given.storperf.as_ref().and_then(|job| serde_json::to_string(job).ok());
        let new = NewRun {
            id: &id,
            kind: given.kind,
            name: work.name(),
            request: &given.text,
            hosts: &hosts,
            asked: now(),
            has_keys: !given.secrets.is_empty(),
            storperf: storperf.as_deref(),
            idempotency_key,
            digest: &digest,
        };
        self.database().add(&new).map_err(broken)?;
        shared.logs.insert(id.clone(), new_log());
        shared.secrets.insert(id.clone(), given.secrets);
        drop(shared);
        self.start_ready();
        Ok(Posted { run: self.run(&id)?, new: true })
    }

    /// A run.
    pub(crate) fn run(&self, id: &str) -> Result<AskedRun, Problem> {
        self.database().run(id).map_err(broken)?.ok_or_else(|| Problem::no_run(id))
    }

    /// A run that has ended, or belongs to this service: no other one can stop or watch it.
    pub(crate) fn own(&self, id: &str) -> Result<AskedRun, Problem> {
        let run = self.run(id)?;
        let ended = !matches!(run.state, AskedState::Queued | AskedState::Running);
        if ended || self.database().owns(&run) {
            return Ok(run);
        }
        let detail =
            format!("run {id} belongs to another service with this database; next: ask that service");
        Err(Problem::new(StatusCode::CONFLICT, "another-service", detail))
    }

    /// A run; `None` if there is none with this id.
    pub(crate) fn find(&self, id: &str) -> Result<Option<AskedRun>, Problem> {
        self.database().run(id).map_err(broken)
    }

    /// Whether an earlier request had this idempotency key.
    pub(crate) fn knows_key(&self, key: &str) -> bool {
        self.database().by_key(key).is_ok_and(|run| run.is_some())
    }

    /// What was posted as a run, without secrets.
    pub(crate) fn request(&self, run: &AskedRun) -> Result<String, Problem> {
        self.database().request(&run.id).map_err(broken)
    }

    /// The result of a run that is no experiment, as JSON; `None` while it has none.
    pub(crate) fn result(&self, run: &AskedRun) -> Result<Option<String>, Problem> {
        self.database().result(&run.id).map_err(broken)
    }

    /// The newest runs of an experiment that have ended, newest first.
    pub(crate) fn ended_runs_of(&self, name: &str, limit: u32) -> Result<Vec<AskedRun>, Problem> {
        self.database().ended_of(name, limit).map_err(broken)
    }

    /// A page of runs, newest first, after the run with the id `after`.
    pub(crate) fn page(&self, after: Option<&str>, limit: u32) -> Result<Vec<AskedRun>, Problem> {
        let before = match after {
            Some(id) => self.run(id)?.number,
            None => i64::MAX,
        };
        self.database().page(before, limit).map_err(broken)
    }

    /// Ends a run: takes it from the queue, or lets its measurement end with the current interval; asked again, stops it
    /// at once. An ended run stays as it is.
    pub(crate) fn stop(&self, id: &str) -> Result<AskedRun, Problem> {
        let mut shared = self.shared();
        if let Some(running) = shared.running.get(id) {
            match running.stop.is_requested() {
                false => running.stop.finish(StopReason::Caller),
                true => running.stop.stop(StopReason::Caller),
            }
        } else {
            let run = self.own(id)?;
            if run.state == AskedState::Queued {
                let (state, reason) = match run.started {
                    None => (AskedState::Cancelled, "taken from the queue by a request"),
                    Some(_) => {
                        (AskedState::Interrupted, "taken from the queue by a request; next: resume it")
                    }
                };
                self.database().end(id, state, Some(reason), now()).map_err(broken)?;
                conclude(&mut shared, id, state, Some(reason));
            }
        }
        drop(shared);
        self.run(id)
    }

    /// Starts every run whose hosts are free. Those that wait for a host keep their order.
    pub(crate) fn start_ready(self: &Arc<Self>) {
        let mut shared = self.shared();
        if shared.closing {
            return;
        }
        let queued = match self.database().in_state(AskedState::Queued) {
            Ok(queued) => queued,
            Err(error) => return self.messages.add(&error.to_string()),
        };
        let mut busy: BTreeSet<String> =
            shared.running.values().flat_map(|running| running.hosts.iter().cloned()).collect();
        for run in queued {
            let free = run.hosts.iter().all(|host| !busy.contains(host));
            busy.extend(run.hosts.iter().cloned());
            if free
                && shared.running.len() < MAX_RUNNING
                && let Err(why) = self.start(&mut shared, run)
            {
                self.messages.add(&why.to_string());
            }
        }
    }

    fn start(self: &Arc<Self>, shared: &mut Shared, run: AskedRun) -> Result<(), DatabaseError> {
        let text = self.database().request(&run.id)?;
        self.database().begin(&run.id, now())?;
        let AskedRun { id, kind, hosts, name, .. } = run;
        let log = Arc::clone(shared.logs.entry(id.clone()).or_insert_with(new_log));
        log.add("state", &StateEvent { state: AskedState::Running });
        let storperf = self.database().storperf(&id)?;
        let secrets = shared.secrets.remove(&id).unwrap_or_default();
        let stop = StopToken::new();
        let current = Arc::new(OnceLock::new());
        let progress = Arc::new(OnceLock::new());
        let agents = Arc::new(LiveAgents::default());
        let here = hosts.iter().any(|host| host == THIS_HOST);
        let running = Running {
            _beside: here.then(|| self.budget.beside_load()),
            hosts,
            stop: stop.clone(),
            current: Arc::clone(&current),
            progress: Arc::clone(&progress),
            agents: Arc::clone(&agents),
        };
        shared.running.insert(id.clone(), running);
        let overwrites = storperf.as_ref().and_then(StorperfJob::overwrites).map(PathBuf::from);
        let pushes = Arc::clone(&self.pushes);
        let own = id.clone();
        let task =
            Task { id: own, kind, text, secrets, stop, log, current, progress, agents, pushes, overwrites };
        let (queue, own) = (Arc::clone(self), id.clone());
        let started = self.threads.start(format!("run-{id}"), move || {
            let place = Place {
                directory: &queue.directory,
                results: &queue.results,
                policy: &queue.policy,
                program: &queue.program,
                ssh_options: &queue.ssh_options,
            };
            queue.end(&own, kind, &name, &carry_out::carry_out(task, &place));
        });
        if let Err(error) = started {
            shared.running.remove(&id);
            let reason = format!("no thread could be started: {error}");
            self.database().end(&id, AskedState::Failed, Some(&reason), now())?;
            conclude(shared, &id, AskedState::Failed, Some(&reason));
        }
        Ok(())
    }

    /// Starts no further runs and ends those under way: with their current interval, or at once.
    pub(crate) fn close(&self, reason: StopReason, at_once: bool) {
        let mut shared = self.shared();
        shared.closing = true;
        for running in shared.running.values() {
            match at_once {
                false => running.stop.finish(reason),
                true => running.stop.stop(reason),
            }
        }
    }

    /// Waits until no run is under way.
    pub(crate) fn wait(&self) {
        let mut shared = self.shared();
        while !shared.running.is_empty() {
            shared = self.ended.wait(shared).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Creates a directory without what an earlier process left in it.
fn empty(directory: &Path) -> std::io::Result<()> {
    match std::fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => std::fs::create_dir(directory),
    }
}

fn new_log() -> Arc<EventLog> {
    let log = EventLog::new();
    log.add("state", &StateEvent { state: AskedState::Queued });
    Arc::new(log)
}

/// Ends the events of a run; the oldest ended ones are dropped.
fn conclude(shared: &mut Shared, id: &str, state: AskedState, reason: Option<&str>) {
    shared.secrets.remove(id);
    if let Some(log) = shared.logs.get(id) {
        log.end(state, reason);
    }
    shared.ended.push_back(id.to_owned());
    if shared.ended.len() > KEPT_LOGS
        && let Some(oldest) = shared.ended.pop_front()
    {
        shared.logs.remove(&oldest);
    }
}
