//! Runs one measured phase with progress, and records its results and this host's samples.

use std::net::IpAddr;

use drivers::{SessionFacts, Sink};
use engine::{DataSet, StageResult};
use experiment::Cell;
use fleet::probe::{card_of, core_loads};
use fleet::{HostGroup, HostRefusal, StageRequest, StageUpdate};
use host::load;
use metrics::{Interval, SeriesPoint};
use runner::bottleneck::{Alone, HostEvidence};
use runner::{Events, RunEvent, StopToken};
use stats::limit::{Bottleneck, Bound};

use super::limit;
use super::row::{CheckPhase, ClientLoad, PhaseFigures};
use super::stored::{StoredCheck, cell_result};
use crate::cell_measure::CellMeasure;
use crate::measurement_start::MeasurementStart;
use crate::site::{HERE, OpenSite};

/// A second, in nanoseconds.
const SECOND_NS: u64 = 1_000_000_000;

/// State shared by all stages of a check.
pub struct PhaseRunner<'a> {
    /// This host, as the host group that executes the phases.
    pub host_group: &'a HostGroup,
    /// The current row as shown to the user: protocol and address.
    pub label: String,
    /// The observer.
    pub events: &'a dyn Events,
    /// Ends the current phase.
    pub stop: &'a StopToken,
    /// This host's standalone limits.
    pub alone: Alone,
    /// Stores what is measured.
    pub stored: StoredCheck,
}

/// A completed stage: its figures, and what the next one needs.
pub struct PhaseRun {
    /// For the report.
    pub phase: PhaseFigures,
    /// The data set written.
    pub data_set: DataSet,
    /// A signal ended it.
    pub stopped: bool,
    /// Operations that failed before or after the measured window and are not counted in it.
    pub failed_outside: u64,
}

impl PhaseRunner<'_> {
    /// Runs a phase on the target of its cell: writes for its length, or repeatedly reads everything written.
    ///
    /// # Errors
    /// It could not start.
    pub fn run(
        &mut self,
        site: &OpenSite<'_>,
        cell: &Cell,
        phase: CheckPhase,
    ) -> Result<PhaseRun, HostRefusal> {
        let label = &format!("{} {}", self.label, phase.name());
        let (warm_up_s, limit_s) = (cell.stages.warm_up_s, cell.stages.measure_at_least_s);
        let request = StageRequest { warm_up_s, limit_s, ..StageRequest::to_the_end(site.id, phase.task()) };
        self.events.event(RunEvent::PhaseBegan { label, window: load::duration(limit_s) });
        self.stored.begin_phase(phase);
        let (stored, events) = (&mut self.stored, self.events);
        let mut measure = CellMeasure::new(limit_s);
        let mut seconds = SeriesOfSeconds::default();
        let mut start = MeasurementStart::default();
        let witness = HostEvidence::default();
        let mut observer = |seen: StageUpdate<'_>| match seen {
            StageUpdate::Whole(interval) => {
                start.interval(interval);
                seconds.add(interval);
                stored.interval(phase, interval);
                measure.add(interval);
                events.event(RunEvent::PhaseInterval { label, interval });
            }
            StageUpdate::Sample { sample, .. } => {
                witness.add(HERE, sample);
                if let Some(at_ns) = start.elapsed_ns() {
                    stored.sample(phase, at_ns, sample);
                }
            }
            StageUpdate::Part { .. } => {}
        };
        let result = match site.run(request, self.stop, &mut observer) {
            Ok(result) => result,
            Err(refusal) => {
                self.end(label, &format!("failed: {refusal}"));
                return Err(refusal);
            }
        };
        let samples = witness.of(HERE);
        let client =
            ClientLoad { cores: core_loads(&samples), nic: local_end(&result.facts).and_then(card_of) };
        let limit = limit::find(cell, &self.alone, &result, samples);
        let figures = figures(&result, seconds.finish(), client, limit);
        measure.end_stage(warm_up_s, &result);
        self.stored.end_phase(phase, cell_result(measure, &figures), result.stopped);
        self.end(label, &summary(&figures));
        Ok(PhaseRun {
            phase: figures,
            stopped: result.stopped,
            failed_outside: result.before.failed + result.after.failed,
            data_set: result.data_set,
        })
    }

    fn end(&self, label: &str, outcome: &str) {
        self.events.event(RunEvent::PhaseEnded { label });
        self.events.note(&format!("{label}: {outcome}"));
    }
}

/// Intervals combined into seconds.
#[derive(Default)]
struct SeriesOfSeconds {
    points: Vec<SeriesPoint>,
    /// The current, incomplete second.
    part: Option<Interval>,
}

impl SeriesOfSeconds {
    fn add(&mut self, interval: &Interval) {
        let part = match self.part.take() {
            None => interval.clone(),
            Some(mut part) => {
                let length_ns = part.length_ns + interval.length_ns;
                part.merge(interval);
                Interval { length_ns, ..part }
            }
        };
        let whole = part.length_ns >= SECOND_NS;
        self.part = Some(part);
        if whole {
            self.close();
        }
    }

    fn close(&mut self) {
        let Some(mut part) = self.part.take() else { return };
        part.index = self.points.len() as u32;
        self.points.push(SeriesPoint::of(&part, None, &part.all_ops()));
    }

    fn finish(mut self) -> Vec<SeriesPoint> {
        self.close();
        self.points
    }
}

/// Local address of the connections, including those that the server closed after each reply.
fn local_end(facts: &SessionFacts) -> Option<IpAddr> {
    drivers::connections::paths(facts).first().map(|path| path.local)
}

/// Smallest MSS of all connections, open or closed, in bytes; 0 if unknown.
fn least_segment_bytes(facts: &SessionFacts) -> u32 {
    let sizes = drivers::connections::paths(facts).into_iter().map(|path| path.mss_bytes);
    sizes.filter(|size| *size > 0).min().unwrap_or(0)
}

fn figures(
    result: &StageResult,
    seconds: Vec<SeriesPoint>,
    client: ClientLoad,
    limit: Option<Bottleneck>,
) -> PhaseFigures {
    let facts = &result.facts;
    let connections = &facts.connections;
    let resent: u64 = connections.iter().map(|connection| connection.retransmits).sum();
    let mut total = result.total.clone();
    if !result.closing.is_empty() {
        // Commits after the window prove that counted writes are durable: their errors belong to this phase.
        let commits = total.op_mut(metrics::OpKind::Commit);
        for (mine, theirs) in commits.errors.iter_mut().zip(result.closing.errors) {
            *mine += theirs;
        }
    }
    PhaseFigures {
        window_ns: result.window_ns,
        total,
        seconds,
        error_samples: result.error_samples.clone(),
        in_flight_at_end: result.in_flight_at_end,
        unanswered: result.abandoned,
        retransmits: resent + facts.closed_retransmits,
        reconnects: facts.reconnects,
        reconnect_reasons: facts.reconnect_reasons.clone(),
        retries: facts.retries,
        late_replies: facts.late_replies,
        connections: connections.len() as u64,
        mss_bytes: least_segment_bytes(facts),
        client,
        limit,
    }
}

fn summary(phase: &PhaseFigures) -> String {
    let ops = phase.data_ops();
    let mut text = match phase.total.bytes() {
        0 => "nothing moved".to_owned(),
        _ => format!(
            "{}, p50 {}, p99 {}, max {}",
            phase.rate(),
            units::latency(ops.service.quantile_ns(0.50)),
            units::latency(ops.service.quantile_ns(0.99)),
            units::latency(ops.service.max_ns())
        ),
    };
    if phase.failed() > 0 {
        text.push_str(&format!(", {} errors", phase.failed()));
    }
    if let Some(limit) = phase.limit.as_ref().filter(|limit| limit.bound != Bound::Unclear) {
        text.push_str(&format!(", {}", limit.bound.words()));
    }
    text
}

/// Name of the sink for read data in all output.
pub const fn sink_name(sink: Sink) -> &'static str {
    match sink {
        Sink::Buffer => "buffer",
        Sink::Verify => "verify",
        Sink::Discard => "discard",
    }
}

#[cfg(test)]
mod tests {
    use metrics::{OpKind, PathFacts};

    use super::*;

    #[test]
    fn intervals_make_seconds_and_what_is_left_of_one() {
        let mut seconds = SeriesOfSeconds::default();
        for index in 0..6_u32 {
            let mut part = Interval { index, length_ns: SECOND_NS / 4, ..Interval::default() };
            part.start_ns = u64::from(index) * part.length_ns;
            (part.op_mut(OpKind::Write).ok, part.op_mut(OpKind::Write).bytes) = (1, 100);
            seconds.add(&part);
        }
        let points = seconds.finish();
        let seen: Vec<_> = points
            .iter()
            .map(|point| (point.interval, point.start_ns, point.length_ns, point.bytes))
            .collect();
        assert_eq!(seen, [(0, 0, SECOND_NS, 400), (1, SECOND_NS, SECOND_NS / 2, 200)]);
    }

    #[test]
    fn the_path_is_known_when_every_connection_is_closed_again() {
        let mut facts = SessionFacts::default();
        assert_eq!((local_end(&facts), least_segment_bytes(&facts)), (None, 0));
        let closed = |local: &str, mss_bytes| PathFacts {
            closed: 7,
            mss_bytes,
            ..PathFacts::new(local.parse().unwrap(), "10.0.0.9:80".parse().unwrap())
        };
        facts.closed_paths = vec![closed("10.0.0.1", 8948), closed("10.0.0.2", 1448), closed("10.0.0.3", 0)];
        assert_eq!(local_end(&facts), Some("10.0.0.1".parse().unwrap()));
        assert_eq!(least_segment_bytes(&facts), 1448);
    }
}
