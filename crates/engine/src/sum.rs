//! Adds up the reports of a stage's workers.

use drivers::{ReconnectReason, SessionFacts};
use metrics::{Interval, PathFacts};

use crate::recorder::MAX_CORRUPT;
use crate::samples::Samples;
use crate::source::LaneRecord;
use crate::worker::Report;
use crate::written::WriteLedger;
use crate::{ContentSummary, DataSet, DataShape, Left, StagePlan, StageResult, StageWorkload};

/// How a stage ended, as far as its workers do not report it.
pub(crate) struct Ending {
    pub unseen: u64,
    pub stopped: bool,
    pub error_limit_reached: bool,
}

/// Adds up what the workers report.
pub(crate) fn add_up(plan: &StagePlan, reports: Vec<Report>, ending: Ending) -> StageResult {
    let mut samples = Samples::default();
    let mut notes = Vec::new();
    let mut issued = 0;
    let mut sum = StageResult { open_loop: plan.is_open_loop(), ..empty(&reports, ending) };
    for report in reports {
        let measured = report.measured;
        sum.window_ns = sum.window_ns.max(measured.window_ns);
        sum.total.merge(&measured.total);
        sum.before.merge(measured.before);
        sum.after.merge(measured.after);
        sum.offered += report.schedule.offered;
        sum.shed += report.schedule.shed;
        sum.late_starts += report.schedule.late;
        sum.deepest_backlog += report.schedule.deepest;
        sum.missed_starts += report.schedule.missed;
        sum.closing.merge(&measured.closing);
        sum.settled_ns = sum.settled_ns.max(measured.settled_ns);
        sum.longest_pause_ns = sum.longest_pause_ns.max(report.longest_pause_ns);
        sum.worker_cpu_ns.push(measured.cpu_ns);
        // Each worker has seen the whole process.
        sum.process_cpu_ns = sum.process_cpu_ns.max(measured.process_cpu_ns);
        sum.corrupt.extend(measured.corrupt);
        add_facts(&mut sum.facts, report.facts);
        add_paths(&mut sum.paths, report.paths);
        samples.merge(measured.samples);
        sum.job.merge(report.job);
        sum.usage.add(report.usage);
        notes.extend(report.notes);
        issued += report.issued;
    }
    drivers::interfaces::name_interfaces(&mut sum.paths);
    sum.corrupt.truncate(MAX_CORRUPT);
    sum.total.length_ns = sum.window_ns;
    // What was started but had not ended when the window did.
    sum.in_flight_at_end = issued - sum.before.ended() - sum.total.ok() - sum.total.failed();
    sum.abandoned = sum.in_flight_at_end - sum.after.ended();
    sum.error_samples = samples.into_vec();
    for note in &notes {
        sum.checked.merge(note.checked.get());
    }
    if let StageWorkload::Pass(_) = &plan.workload {
        sum.passes = notes.iter().map(|note| note.pass.get()).collect();
    }
    sum.data_set = data_set(plan, &notes);
    sum.written = written(plan, notes, sum.exhausted);
    sum.left = sum.written.left();
    sum
}

fn empty(reports: &[Report], ending: Ending) -> StageResult {
    let starts = || reports.iter().map(|report| report.started.at_ns);
    StageResult {
        backend: reports[0].backend,
        refusal: reports[0].refusal.clone(),
        started_ns: starts().min().unwrap_or(0),
        start_skew_ns: starts().max().unwrap_or(0) - starts().min().unwrap_or(0),
        start_core_wait_ns: reports.iter().map(|report| report.started.core_wait_ns).max().unwrap_or(0),
        exhausted: reports.iter().all(|report| report.exhausted),
        stopped: ending.stopped,
        error_limit_reached: ending.error_limit_reached,
        unseen_intervals: ending.unseen,
        ..StageResult::of_intervals(Interval::default())
    }
}

/// The data that exists because of this stage.
fn data_set(plan: &StagePlan, notes: &[LaneRecord]) -> DataSet {
    match &plan.workload {
        StageWorkload::Write { shape, .. } => {
            DataSet::new(*shape, notes.iter().map(|note| note.extent.get()).collect())
        }
        StageWorkload::Mix(mix) if mix.churns() => {
            let shape = mix.data_set.shape();
            // Files are created empty, objects whole.
            let full = matches!(shape, DataShape::Objects { .. });
            DataSet::new(shape, notes.iter().flat_map(|note| note.own.borrow().left(full)).collect())
        }
        _ => DataSet::default(),
    }
}

/// The content written by this stage.
fn written(plan: &StagePlan, notes: Vec<LaneRecord>, exhausted: bool) -> ContentSummary {
    match &plan.workload {
        StageWorkload::Fill { generation, .. } if exhausted => ContentSummary::uniform(*generation),
        StageWorkload::Mix(mix) => match mix.book_rules() {
            Some(rules) => {
                let books: Vec<WriteLedger> =
                    notes.into_iter().filter_map(|note| note.book.into_inner()).collect();
                let units = mix.data_set.units(rules.block_bytes.unwrap_or(1)).total();
                ContentSummary::by_lanes(rules, units, books)
            }
            None => mix.written_without_books(),
        },
        _ => ContentSummary::unknown(),
    }
}

fn add_facts(sum: &mut SessionFacts, facts: SessionFacts) {
    sum.connections.extend(facts.connections);
    sum.reconnects = sum.reconnects.saturating_add(facts.reconnects);
    for reason in facts.reconnect_reasons {
        ReconnectReason::count(&mut sum.reconnect_reasons, &reason.text, reason.count);
    }
    sum.retries = sum.retries.saturating_add(facts.retries);
    sum.short_answers = sum.short_answers.saturating_add(facts.short_answers);
    sum.late_replies = sum.late_replies.saturating_add(facts.late_replies);
    sum.closed_retransmits = sum.closed_retransmits.saturating_add(facts.closed_retransmits);
    add_paths(&mut sum.closed_paths, facts.closed_paths);
}

/// Adds the traffic of other connections, path by path.
fn add_paths(sum: &mut Vec<PathFacts>, paths: Vec<PathFacts>) {
    for path in paths {
        match sum.iter_mut().find(|known| known.is_same_path(&path)) {
            Some(known) => known.merge(&path),
            None => sum.push(path),
        }
    }
}

impl StageResult {
    /// Adds the result of the same stage in another process, with the same start. Corrupt ranges and examples of errors
    /// remain bounded; counters saturate.
    pub fn merge(&mut self, other: StageResult) {
        self.window_ns = self.window_ns.max(other.window_ns);
        self.total.merge(&other.total);
        self.total.length_ns = self.window_ns;
        self.before.merge(other.before);
        self.after.merge(other.after);
        for (mine, theirs) in [
            (&mut self.in_flight_at_end, other.in_flight_at_end),
            (&mut self.abandoned, other.abandoned),
            (&mut self.offered, other.offered),
            (&mut self.shed, other.shed),
            (&mut self.late_starts, other.late_starts),
            (&mut self.deepest_backlog, other.deepest_backlog),
            (&mut self.missed_starts, other.missed_starts),
            (&mut self.unseen_intervals, other.unseen_intervals),
            (&mut self.process_cpu_ns, other.process_cpu_ns),
        ] {
            *mine = mine.saturating_add(theirs);
        }
        self.closing.merge(&other.closing);
        self.settled_ns = self.settled_ns.max(other.settled_ns);
        self.longest_pause_ns = self.longest_pause_ns.max(other.longest_pause_ns);
        self.start_core_wait_ns = self.start_core_wait_ns.max(other.start_core_wait_ns);
        add_facts(&mut self.facts, other.facts);
        add_paths(&mut self.paths, other.paths);
        for (kind, detail) in other.error_samples {
            if self.error_samples.iter().filter(|(known, _)| *known == kind).count() < crate::samples::MOST {
                self.error_samples.push((kind, detail));
            }
        }
        self.left = match (self.left, other.left) {
            (Left::Unknown, _) | (_, Left::Unknown) => Left::Unknown,
            (mine, theirs) if mine == theirs => mine,
            _ => Left::Known,
        };
        self.checked.merge(other.checked);
        self.corrupt.extend(other.corrupt);
        self.corrupt.truncate(MAX_CORRUPT);
        self.refusal = self.refusal.take().or(other.refusal);
        self.worker_cpu_ns.extend(other.worker_cpu_ns);
        self.open_loop |= other.open_loop;
        self.exhausted &= other.exhausted;
        self.stopped |= other.stopped;
        self.error_limit_reached |= other.error_limit_reached;
        self.job.merge(other.job);
        self.passes.extend(other.passes);
        self.usage.add(other.usage);
    }
}
