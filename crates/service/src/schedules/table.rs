//! Schedules, their runs and the calls of their webhooks in the service's database.

use database::{DatabaseError, Row, params};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::due::MissedRule;
use super::gate::GateView;
use super::webhook::WebhookCall;
use crate::database::{AskedRun, COLUMNS, Database, asked_run};

/// Version 4 of the tables. A record, a gate and a call are JSON.
pub(crate) const TABLES: &str = "
CREATE TABLE schedules (
    id TEXT PRIMARY KEY,
    experiment TEXT NOT NULL,
    record TEXT NOT NULL,
    owner TEXT,
    idempotency_key TEXT UNIQUE
);
CREATE TABLE scheduled_runs (
    run TEXT PRIMARY KEY,
    schedule TEXT NOT NULL,
    judged TEXT,
    gate TEXT,
    webhook_call TEXT,
    pending INTEGER NOT NULL
);
CREATE INDEX runs_of_schedule ON scheduled_runs (schedule);
";

/// A schedule but for its experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ScheduleRecord {
    /// Its id.
    pub id: String,
    /// The experiment's name.
    pub name: String,
    /// How often, as [`super::every::Every`] is written.
    pub every: String,
    /// Name in the IANA database.
    pub time_zone: String,
    /// What happens to missed times.
    pub missed_rule: MissedRule,
    /// What is worse by more than this share is slower.
    pub threshold: f64,
    /// The whole URL; its path may be secret.
    pub webhook: Option<String>,
    /// It starts nothing until it continues.
    pub paused: bool,
    /// When it was created.
    pub created: Timestamp,
    /// When it is due next; `None` at the end of the calendar.
    pub next: Option<Timestamp>,
    /// Times without a run because the last one was still queued.
    pub skipped: u64,
    /// Times without a run because the service was down.
    pub missed: u64,
    /// Why the last time had no run.
    pub problem: Option<String>,
}

/// A schedule that a request with an idempotency key added.
#[derive(Clone, Debug)]
pub(crate) struct KeyedSchedule {
    /// The schedule as it is now.
    pub record: ScheduleRecord,
    /// The text of its experiment.
    pub experiment: String,
    /// It belongs to this service.
    pub is_own: bool,
}

impl KeyedSchedule {
    /// Whether a request would add it again.
    pub(crate) fn is_repeated_by(&self, asked: &ScheduleRecord, experiment: &str) -> bool {
        let ScheduleRecord { every, time_zone, missed_rule, threshold, webhook, .. } = &self.record;
        *every == asked.every
            && *time_zone == asked.time_zone
            && *missed_rule == asked.missed_rule
            && *threshold == asked.threshold
            && *webhook == asked.webhook
            && self.experiment == experiment
    }
}

/// What a run has to do with a schedule.
#[derive(Clone, Debug)]
pub(crate) struct ScheduledRun {
    /// The schedule's id.
    pub schedule: String,
    /// The comparison with earlier runs, once the run has ended.
    pub gate: Option<GateView>,
    /// The call of the webhook, if there was a reason for one.
    pub call: Option<WebhookCall>,
}

fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> Result<Option<T>, DatabaseError> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| serde_json::from_str(&text).map_err(|error| row.bad(error))).transpose()
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

impl Database {
    /// Adds a schedule of this service.
    pub(crate) fn add_schedule(
        &self,
        record: &ScheduleRecord,
        experiment: &str,
        idempotency_key: Option<&str>,
    ) -> Result<(), DatabaseError> {
        let insert = "INSERT INTO schedules (id, experiment, record, owner, idempotency_key)
             VALUES (?1, ?2, ?3, ?4, ?5)";
        self.connection()
            .execute(insert, params![record.id, experiment, text(record), self.server(), idempotency_key])
            .map(|_| ())
    }

    /// The schedule that a request with this key added, to this service or another one.
    pub(crate) fn schedule_by_key(&self, key: &str) -> Result<Option<KeyedSchedule>, DatabaseError> {
        let query = "SELECT record, experiment, owner FROM schedules WHERE idempotency_key = ?1";
        self.connection().optional_row(query, params![key], |row| {
            let owner: Option<String> = row.get(2)?;
            Ok(KeyedSchedule {
                record: json(row, 0)?.ok_or_else(|| row.bad("no record"))?,
                experiment: row.get(1)?,
                is_own: owner.as_deref() == self.server(),
            })
        })
    }

    /// The schedules of this service, oldest first.
    pub(crate) fn schedules(&self) -> Result<Vec<ScheduleRecord>, DatabaseError> {
        let query = "SELECT record FROM schedules WHERE owner IS NULL OR owner = ?1";
        let found = self.connection().rows(query, params![self.server()], |row| json(row, 0))?;
        let mut found: Vec<ScheduleRecord> = found.into_iter().flatten().collect();
        found.sort_by(|a, b| (a.created, &a.id).cmp(&(b.created, &b.id)));
        Ok(found)
    }

    /// The text of a schedule's experiment.
    pub(crate) fn schedule_experiment(&self, id: &str) -> Result<String, DatabaseError> {
        let query = "SELECT experiment FROM schedules WHERE id = ?1";
        self.connection().row(query, params![id], |row| row.get(0))
    }

    /// Stores the state of a schedule, if it was not removed meanwhile.
    pub(crate) fn update_schedule(&self, record: &ScheduleRecord) -> Result<(), DatabaseError> {
        let set = "UPDATE schedules SET record = ?2 WHERE id = ?1";
        self.connection().execute(set, params![record.id, text(record)]).map(|_| ())
    }

    /// Removes a schedule; its runs stay.
    pub(crate) fn remove_schedule(&self, id: &str) -> Result<(), DatabaseError> {
        self.connection().execute("DELETE FROM schedules WHERE id = ?1", params![id]).map(|_| ())
    }

    /// Notes that a run belongs to a schedule; once is enough.
    pub(crate) fn add_scheduled_run(&self, run: &str, schedule: &str) -> Result<(), DatabaseError> {
        let insert = "INSERT INTO scheduled_runs (run, schedule, pending) VALUES (?1, ?2, 0)
             ON CONFLICT (run) DO NOTHING";
        self.connection().execute(insert, params![run, schedule]).map(|_| ())
    }

    /// What a run has to do with a schedule, if anything.
    pub(crate) fn scheduled_run(&self, run: &str) -> Result<Option<ScheduledRun>, DatabaseError> {
        let query = "SELECT schedule, gate, webhook_call FROM scheduled_runs WHERE run = ?1";
        self.connection().optional_row(query, params![run], |row| {
            Ok(ScheduledRun { schedule: row.get(0)?, gate: json(row, 1)?, call: json(row, 2)? })
        })
    }

    /// The newest runs of a schedule, newest first.
    pub(crate) fn runs_of_schedule(
        &self,
        schedule: &str,
        limit: u32,
    ) -> Result<Vec<AskedRun>, DatabaseError> {
        let query = format!(
            "SELECT {COLUMNS} FROM runs JOIN scheduled_runs ON run = id WHERE schedule = ?1
             ORDER BY number DESC LIMIT ?2"
        );
        self.connection().rows(&query, params![schedule, limit], asked_run)
    }

    /// The newest runs of a schedule before the run with this number that finished and were not slower, newest first.
    pub(crate) fn reference_runs(
        &self,
        schedule: &str,
        before: i64,
        limit: u32,
    ) -> Result<Vec<String>, DatabaseError> {
        let query = "SELECT id FROM runs JOIN scheduled_runs ON run = id
             WHERE schedule = ?1 AND number < ?2 AND state = 'finished' AND judged = 'reference'
             ORDER BY number DESC LIMIT ?3";
        self.connection().rows(query, params![schedule, before, limit], |row| row.get(0))
    }

    /// Whether a run of a schedule is still queued.
    pub(crate) fn is_waiting(&self, schedule: &str) -> Result<bool, DatabaseError> {
        let query = "SELECT id FROM runs JOIN scheduled_runs ON run = id
             WHERE schedule = ?1 AND state = 'queued' LIMIT 1";
        Ok(self.connection().optional_row(query, params![schedule], |row| row.get::<String>(0))?.is_some())
    }

    /// The runs of schedules that have finished or failed and have no gate, oldest first. A failed run that was resumed and
    /// finished is among them.
    pub(crate) fn unjudged(&self) -> Result<Vec<AskedRun>, DatabaseError> {
        let query = format!(
            "SELECT {COLUMNS} FROM runs JOIN scheduled_runs ON run = id
             WHERE ((state = 'finished' AND (judged IS NULL OR judged = 'failed'))
                 OR (state = 'failed' AND judged IS NULL))
                 AND (server IS NULL OR server = ?1)
             ORDER BY number LIMIT 100"
        );
        self.connection().rows(&query, params![self.server()], asked_run)
    }

    /// Stores a gate, and the call that it causes. `judged` is `failed`, `reference` for runs that later ones are compared
    /// with, or `other`.
    pub(crate) fn set_gate(
        &self,
        run: &str,
        judged: &str,
        gate: &GateView,
        call: Option<&WebhookCall>,
    ) -> Result<(), DatabaseError> {
        let set = "UPDATE scheduled_runs SET judged = ?2, gate = ?3, webhook_call = ?4, pending = ?5 WHERE run = ?1";
        let (gate, pending) = (text(gate), call.is_some());
        let call = call.map(text);
        self.connection().execute(set, params![run, judged, gate, call, pending]).map(|_| ())
    }

    /// The calls that were not delivered or given up yet, with their runs.
    pub(crate) fn pending_calls(&self) -> Result<Vec<(String, WebhookCall)>, DatabaseError> {
        let query = "SELECT run, webhook_call FROM scheduled_runs JOIN runs ON run = id
             WHERE pending = 1 AND webhook_call IS NOT NULL AND (server IS NULL OR server = ?1) ORDER BY number LIMIT 100";
        let found = self
            .connection()
            .rows(query, params![self.server()], |row| Ok((row.get::<String>(0)?, json(row, 1)?)))?;
        Ok(found.into_iter().filter_map(|(run, call)| Some((run, call?))).collect())
    }

    /// Stores how far a call got.
    pub(crate) fn set_call(&self, run: &str, call: &WebhookCall) -> Result<(), DatabaseError> {
        let set = "UPDATE scheduled_runs SET webhook_call = ?2, pending = ?3 WHERE run = ?1";
        self.connection().execute(set, params![run, text(call), call.is_pending()]).map(|_| ())
    }
}
