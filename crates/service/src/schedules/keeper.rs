//! Starts the runs of schedules, judges them when they have ended, and calls webhooks: on two threads of its own.

mod calls;
mod judge;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use database::DatabaseError;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use provision::RunId;

use super::{
    Bell, Clock, Every, KeyedSchedule, MissedRule, ScheduleRecord, ScheduledRun, Timing, WebhookPolicy,
};
use crate::database::AskedRun;
use crate::new_work::NewWork;
use crate::policy;
use crate::problem::Problem;
use crate::queue::RunQueue;

/// Maximum number of schedules.
const MAX_SCHEDULES: usize = 100;
/// Time between two looks at the clock: it may be set, and the host may sleep.
const LOOK: Duration = Duration::from_secs(1);

/// A schedule as a client sent it.
pub(crate) struct NewSchedule {
    pub experiment: String,
    pub every: Every,
    pub zone: TimeZone,
    pub missed_rule: MissedRule,
    pub threshold: f64,
    pub webhook: Option<String>,
}

/// A schedule that a client asked for.
pub(crate) struct AddedSchedule {
    pub record: ScheduleRecord,
    /// False if an earlier request added it.
    pub new: bool,
}

/// The schedules of a service.
pub(crate) struct Schedules {
    queue: Arc<RunQueue>,
    clock: Clock,
    webhooks: WebhookPolicy,
    /// Held while a schedule changes.
    turn: Mutex<()>,
    /// Something may be due to be called.
    calls: Bell,
    closing: AtomicBool,
}

fn broken(error: DatabaseError) -> Problem {
    Problem::internal(error)
}

fn no_schedule(id: &str) -> Problem {
    let detail = format!("there is no schedule {id:?}; next: GET /api/v3/schedules lists all");
    Problem::new(StatusCode::NOT_FOUND, "no-such-schedule", detail)
}

impl Schedules {
    /// Starts the threads.
    ///
    /// # Errors
    /// The system refuses them.
    pub(crate) fn start(
        queue: Arc<RunQueue>,
        clock: Clock,
        webhooks: WebhookPolicy,
    ) -> std::io::Result<Arc<Self>> {
        let schedules = Arc::new(Self {
            queue,
            clock,
            webhooks,
            turn: Mutex::default(),
            calls: Bell::default(),
            closing: AtomicBool::new(false),
        });
        let own = Arc::clone(&schedules);
        std::thread::Builder::new().name("schedules".into()).spawn(move || own.keep())?;
        let own = Arc::clone(&schedules);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new().name("webhooks".into()).spawn(move || own.call(&runtime))?;
        Ok(schedules)
    }

    /// Starts no further runs and calls.
    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.queue.run_ended().ring();
        self.calls.ring();
    }

    fn is_open(&self) -> bool {
        !self.closing.load(Ordering::Relaxed)
    }

    fn now(&self) -> Timestamp {
        (self.clock)()
    }

    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// All schedules of this service, oldest first.
    pub(crate) fn all(&self) -> Result<Vec<ScheduleRecord>, Problem> {
        self.queue.database().schedules().map_err(broken)
    }

    /// A schedule.
    pub(crate) fn one(&self, id: &str) -> Result<ScheduleRecord, Problem> {
        self.all()?.into_iter().find(|record| record.id == id).ok_or_else(|| no_schedule(id))
    }

    /// The text of a schedule's experiment.
    pub(crate) fn experiment(&self, id: &str) -> Result<String, Problem> {
        self.one(id)?;
        self.queue.database().schedule_experiment(id).map_err(broken)
    }

    /// Its next times, while it is not paused.
    pub(crate) fn upcoming(&self, record: &ScheduleRecord, count: usize) -> Vec<jiff::Zoned> {
        let (Some(timing), Some(next), false) = (timing(record), record.next, record.paused) else {
            return Vec::new();
        };
        let mut times = vec![next];
        times.extend(timing.every.upcoming(&timing.zone, timing.anchor, next, count.saturating_sub(1)));
        times.into_iter().map(|time| time.to_zoned(timing.zone.clone())).collect()
    }

    /// What a run has to do with a schedule, if anything.
    pub(crate) fn of_run(&self, run: &str) -> Result<Option<ScheduledRun>, Problem> {
        self.queue.database().scheduled_run(run).map_err(broken)
    }

    /// The newest runs of a schedule, newest first.
    pub(crate) fn runs(&self, schedule: &str, limit: u32) -> Result<Vec<AskedRun>, Problem> {
        self.queue.database().runs_of_schedule(schedule, limit).map_err(broken)
    }

    /// Adds a schedule, unless a request with the same idempotency key did.
    pub(crate) fn add(
        &self,
        new: NewSchedule,
        idempotency_key: Option<&str>,
    ) -> Result<AddedSchedule, Problem> {
        let plan = policy::plan(&new.experiment, self.queue.policy()).map_err(Problem::faults)?;
        let webhook = match &new.webhook {
            None => None,
            Some(text) => {
                let (url, _) = self.webhooks.check(text).map_err(|error| {
                    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "webhook", error.to_string())
                })?;
                Some(url.secret_text())
            }
        };
        let created = self.now();
        let record = ScheduleRecord {
            id: RunId::random().to_string(),
            name: plan.name,
            every: new.every.to_string(),
            time_zone: new.zone.iana_name().unwrap_or("UTC").to_owned(),
            missed_rule: new.missed_rule,
            threshold: new.threshold,
            webhook,
            paused: false,
            created,
            next: new.every.next(&new.zone, created, created),
            skipped: 0,
            missed: 0,
            problem: None,
        };
        let _turn = self.turn();
        if let Some(key) = idempotency_key
            && let Some(known) = self.queue.database().schedule_by_key(key).map_err(broken)?
        {
            return repeated(known, &record, &new.experiment);
        }
        if self.all()?.len() >= MAX_SCHEDULES {
            let detail = format!("there are {MAX_SCHEDULES} schedules; next: delete one");
            return Err(Problem::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", detail));
        }
        let database = self.queue.database();
        database.add_schedule(&record, &new.experiment, idempotency_key).map_err(broken)?;
        Ok(AddedSchedule { record, new: true })
    }

    /// Removes a schedule; its runs stay.
    pub(crate) fn remove(&self, id: &str) -> Result<(), Problem> {
        let _turn = self.turn();
        self.one(id)?;
        self.queue.database().remove_schedule(id).map_err(broken)
    }

    /// Pauses a schedule, or continues it with the next time from now.
    pub(crate) fn pause(&self, id: &str, paused: bool) -> Result<ScheduleRecord, Problem> {
        let _turn = self.turn();
        let mut record = self.one(id)?;
        if record.paused != paused {
            record.paused = paused;
            let now = self.now();
            let next = timing(&record).and_then(|timing| timing.every.next(&timing.zone, timing.anchor, now));
            record.next = next;
            self.queue.database().update_schedule(&record).map_err(broken)?;
        }
        Ok(record)
    }

    /// Starts a run now, besides the times of the schedule.
    pub(crate) fn start_now(&self, id: &str) -> Result<AskedRun, Problem> {
        let _turn = self.turn();
        let record = self.one(id)?;
        if self.queue.database().is_waiting(id).map_err(broken)? {
            let detail = format!("the last run of schedule {id} is still queued; next: wait for it");
            return Err(Problem::new(StatusCode::CONFLICT, "still-queued", detail));
        }
        self.post(&record, None)
    }

    /// Adds a run to the queue; once only for each time.
    fn post(&self, record: &ScheduleRecord, at: Option<Timestamp>) -> Result<AskedRun, Problem> {
        let experiment = self.queue.database().schedule_experiment(&record.id).map_err(broken)?;
        // No client can send this character in a header.
        let key = at.map(|at| format!("§ schedule {} {at}", record.id));
        let posted = self.queue.post(NewWork::experiment(experiment), key.as_deref())?;
        self.queue.database().add_scheduled_run(&posted.run.id, &record.id).map_err(broken)?;
        // It may have ended already.
        self.queue.run_ended().ring();
        Ok(posted.run)
    }

    /// Starts what is due and judges what has ended, until the service ends.
    fn keep(&self) {
        self.judge_ended();
        let mut told = None;
        while self.is_open() {
            // A database that is away is reported once, not at every look.
            let problem = self.start_due().err().map(|problem| problem.detail().to_owned());
            if let Some(text) = problem.as_ref().filter(|_| problem != told) {
                self.queue.note(&format!("schedules: {text}"));
            }
            told = problem;
            if self.queue.run_ended().wait(LOOK) && self.is_open() {
                self.judge_ended();
            }
        }
    }

    fn start_due(&self) -> Result<(), Problem> {
        let now = self.now();
        // Nothing is due most of the time, and then nobody waits.
        if self.all()?.iter().all(|record| record.paused || record.next.is_none_or(|next| next > now)) {
            return Ok(());
        }
        let _turn = self.turn();
        for mut record in self.all()? {
            let due = match (timing(&record), record.next) {
                (Some(timing), Some(next)) if !record.paused => timing.due(next, now),
                _ => None,
            };
            let Some(due) = due else { continue };
            record.missed += due.missed;
            record.next = due.next;
            record.problem = None;
            if let Some(at) = due.start {
                if self.queue.database().is_waiting(&record.id).map_err(broken)? {
                    record.skipped += 1;
                    record.problem = Some(format!("not started at {at}: the last run is still queued"));
                } else if let Err(problem) = self.post(&record, Some(at)) {
                    if !self.is_open() {
                        // Still due for the next service.
                        return Ok(());
                    }
                    record.problem = Some(format!("not started at {at}: {}", problem.detail()));
                }
            }
            if let Some(text) = &record.problem {
                self.queue.note(&format!("schedule {} of {}: {text}", record.id, record.name));
            }
            self.queue.database().update_schedule(&record).map_err(broken)?;
        }
        Ok(())
    }
}

/// The answer to a request whose key came with an earlier one.
fn repeated(
    known: KeyedSchedule,
    asked: &ScheduleRecord,
    experiment: &str,
) -> Result<AddedSchedule, Problem> {
    let id = &known.record.id;
    if !known.is_own {
        let detail =
            format!("schedule {id} belongs to another service with this database; next: ask that service");
        return Err(Problem::new(StatusCode::CONFLICT, "another-service", detail));
    }
    match known.is_repeated_by(asked, experiment) {
        true => Ok(AddedSchedule { record: known.record, new: false }),
        false => Err(Problem::key_of_another(&format!("schedule {id}"))),
    }
}

/// When a schedule is due; `None` if this version does not know its zone or rule any more.
fn timing(record: &ScheduleRecord) -> Option<Timing> {
    Some(Timing {
        every: record.every.parse().ok()?,
        zone: TimeZone::get(&record.time_zone).ok()?,
        anchor: record.created,
        missed: record.missed_rule,
    })
}
