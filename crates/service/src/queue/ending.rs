//! The end of a run, from its thread to the database.

use std::sync::Arc;

use database::DatabaseCause;
use reactor::clock::now_ns;
use runner::timestamp::now;

use super::{END_PATIENCE, REQUEST_PATIENCE, RunQueue, conclude};
use crate::carry_out::RunEnd;
use crate::work::RunKind;

impl RunQueue {
    /// Ends a run that was carried out, and starts what waited for its hosts.
    pub(super) fn end(self: &Arc<Self>, id: &str, kind: RunKind, name: &str, ended: &RunEnd) {
        let RunEnd { state, reason, .. } = ended;
        let because = reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let of = match kind {
            RunKind::Experiment => format!("of {name}"),
            other => format!("({})", other.words()),
        };
        self.messages.add(&format!("run {id} {of}: {}{because}", state.name()));
        self.record_end(id, ended);
        let mut shared = self.shared();
        shared.running.remove(id);
        conclude(&mut shared, id, *state, reason.as_deref());
        drop(shared);
        self.ended.notify_all();
        self.run_ended.ring();
        self.start_ready();
    }

    /// Stores how a run ended, and its result; waits for a database that cannot be reached.
    fn record_end(&self, id: &str, ended: &RunEnd) {
        let (at, began_ns) = (now(), now_ns());
        loop {
            let database = self.database();
            let result = ended.result.as_ref().map_or(Ok(()), |result| database.set_result(id, result));
            let stored = result.and_then(|()| database.end(id, ended.state, ended.reason.as_deref(), at));
            drop(database);
            let Err(error) = stored else { return };
            let passes =
                matches!(error.cause, DatabaseCause::Unreachable { .. } | DatabaseCause::Lost { .. });
            if !passes || now_ns() - began_ns >= END_PATIENCE.as_nanos() as u64 {
                let next = "next: restart the service, which marks the run as interrupted";
                return self.messages.add(&format!("run {id}: its end is not recorded: {error}; {next}"));
            }
            std::thread::sleep(REQUEST_PATIENCE);
        }
    }
}
