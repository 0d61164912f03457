//! The gates of runs that have ended, by comparison with the earlier runs of their schedules.

use report::Document;
use serde_json::json;

use super::{Schedules, broken};
use crate::database::{AskedRun, AskedState};
use crate::problem::Problem;
use crate::schedules::gate::{GateVerdict, GateView};
use crate::schedules::{ScheduledRun, WebhookCall};

/// Earlier runs that a run is compared with.
const REFERENCE_RUNS: u32 = 10;

impl Schedules {
    /// Gives every run of a schedule that has ended its gate.
    pub(super) fn judge_ended(&self) {
        let runs = match self.queue.database().unjudged() {
            Ok(runs) => runs,
            Err(error) => return self.queue.note(&error.to_string()),
        };
        for run in runs {
            if let Err(problem) = self.judge(&run) {
                self.queue.note(&format!("the gate of run {}: {}", run.id, problem.detail()));
            }
        }
    }

    fn judge(&self, run: &AskedRun) -> Result<(), Problem> {
        let Some(ScheduledRun { schedule, .. }) = self.of_run(&run.id)? else { return Ok(()) };
        let record = self.all()?.into_iter().find(|record| record.id == schedule);
        let threshold = record.as_ref().map_or(0.0, |record| record.threshold);
        let gate = match run.state {
            AskedState::Failed => {
                GateView::failed(threshold, run.reason.as_deref().unwrap_or("see its events"))
            }
            _ => self.compare(run, &schedule, threshold)?,
        };
        let judged = match gate.verdict {
            GateVerdict::Failed => "failed",
            GateVerdict::First | GateVerdict::Passed => "reference",
            GateVerdict::Slower | GateVerdict::NotComparable => "other",
        };
        let event = match gate.verdict {
            GateVerdict::Failed => Some("failed"),
            GateVerdict::Slower => Some("slower"),
            GateVerdict::First | GateVerdict::Passed | GateVerdict::NotComparable => None,
        };
        let call = event.zip(record).and_then(|(event, record)| {
            self.queue.note(&format!("run {} of {}: {}", run.id, run.name, gate.summary));
            let body = json!({
                "schema": "manometer.webhook",
                "schema_version": 1,
                "event": event,
                "schedule": record.id,
                "name": record.name,
                "run": run.id,
                "path": format!("/api/v3/runs/{}", run.id),
                "finished": run.finished,
                "gate": gate,
            });
            Some(WebhookCall::new(record.webhook.as_deref()?, body.to_string(), self.now()))
        });
        self.queue.database().set_gate(&run.id, judged, &gate, call.as_ref()).map_err(broken)?;
        if call.is_some() {
            self.calls.ring();
        }
        Ok(())
    }

    fn compare(&self, run: &AskedRun, schedule: &str, threshold: f64) -> Result<GateView, Problem> {
        let earlier = self.queue.database().reference_runs(schedule, run.number, REFERENCE_RUNS);
        let earlier = earlier.map_err(broken)?;
        let failed = |error: store::StoreError| Problem::internal(error);
        let results = self.queue.results();
        let removed = || failed(store::StoreError::Missing(results.file().to_owned()));
        let store = results.open().map_err(failed)?.ok_or_else(removed)?;
        let load = |id: &str| Document::load_records(&store, store.run(id)?);
        // A run that was removed from the results file is no reference any more.
        let earlier: Vec<Document> = earlier.iter().rev().filter_map(|id| load(id).ok()).collect();
        let own = load(&run.id).map_err(failed)?;
        Ok(GateView::of(&earlier.iter().collect::<Vec<_>>(), &own, threshold))
    }
}
