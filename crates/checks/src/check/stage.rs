//! One measured stage: runs it with progress, samples the client meanwhile, and keeps what was seen.

use std::net::IpAddr;
use std::time::Duration;

use drivers::{Driver, Payload, SessionFacts, Sink};
use engine::{
    Control, DataSet, DataShape, Schedule, StageContext, StageError, StagePlan, StageResult, StageWorkload,
    StopRule,
};
use experiment::SteadyRule;
use fleet::probe::{card_of, core_loads};
use metrics::{Interval, OpKind, OpStats, SeriesPoint};
use reactor::clock;
use stats::limit::{Bottleneck, Bound};
use stats::{Floors, Monitor, WindowSums};

use super::limit;
use super::request::CheckLoad;
use super::row::{CheckPhase, ClientLoad, PhaseFigures};
use super::sampler::HostSampler;
use super::stored::{StoredCheck, cell_result};
use runner::bottleneck::{Alone, Work};
use runner::{Events, RunEvent, StopToken};

/// How long operations in flight are waited for once the window is over.
const DRAIN: Duration = Duration::from_secs(10);

/// What all stages of a check share.
pub struct PhaseRunner<'a> {
    /// How much load of which shape.
    pub load: CheckLoad,
    /// What is written.
    pub payload: Payload,
    /// Who is told what happens.
    pub events: &'a dyn Events,
    /// Ends the phase under way.
    pub stop: &'a StopToken,
    /// What this host is known to be able to.
    pub alone: Alone,
    /// Keeps what is measured.
    pub stored: StoredCheck,
}

/// A stage that ran: what is shown of it, and what the next one needs.
pub struct PhaseRun {
    /// For the report.
    pub phase: PhaseFigures,
    /// What was written.
    pub data_set: DataSet,
    /// A signal ended it.
    pub stopped: bool,
    /// Operations that failed before or after the measured window, where they are not counted.
    pub failed_outside: u64,
}

impl PhaseRunner<'_> {
    /// Writes for the length of a phase.
    ///
    /// # Errors
    /// As [`engine::run_stage`].
    pub fn write<D: Driver>(
        &mut self,
        driver: &D,
        label: &str,
        shape: DataShape,
    ) -> Result<PhaseRun, StageError> {
        let limit_bytes = self.load.dataset;
        let work = self.work(&shape, (OpKind::Write, OpKind::Put));
        self.measure(
            driver,
            &format!("{label} write"),
            CheckPhase::Write,
            StageWorkload::Write { shape, limit_bytes },
            work,
        )
    }

    /// Reads all that was written, over and over, for the length of a phase.
    ///
    /// # Errors
    /// As [`engine::run_stage`].
    pub fn read<D: Driver>(
        &mut self,
        driver: &D,
        label: &str,
        data_set: DataSet,
    ) -> Result<PhaseRun, StageError> {
        let block_bytes = match data_set.shape() {
            DataShape::Files { block_bytes, .. } => Some(block_bytes),
            DataShape::Objects { .. } | DataShape::Device { .. } => None,
        };
        let order = engine::VisitOrder::Sequential;
        let work = self.work(&data_set.shape(), (OpKind::Read, OpKind::Get));
        self.measure(
            driver,
            &format!("{label} read"),
            CheckPhase::Read,
            StageWorkload::Read { data_set, block_bytes, order },
            work,
        )
    }

    /// What the operations are that a phase is made of: of files the first kind, of objects the second.
    fn work(&self, shape: &DataShape, (files, objects): (OpKind, OpKind)) -> Work<'static> {
        match shape {
            DataShape::Objects { object_bytes } => Work { scheme: "s3", op: objects, bytes: *object_bytes },
            DataShape::Files { .. } | DataShape::Device { .. } => {
                Work { scheme: "nfs", op: files, bytes: self.load.block_size }
            }
        }
    }

    fn measure<D: Driver>(
        &mut self,
        driver: &D,
        label: &str,
        phase: CheckPhase,
        workload: StageWorkload,
        work: Work<'_>,
    ) -> Result<PhaseRun, StageError> {
        let plan = self.plan(workload);
        let control = Control::new();
        let _governed = self.stop.governs(&control);
        let sampler = HostSampler::start(plan.ramp + plan.window);
        self.events.event(RunEvent::PhaseBegan { label, window: plan.window });
        self.stored.begin_phase(phase);
        let (stored, events) = (&mut self.stored, self.events);
        let (mut sums, mut monitor) = (WindowSums::default(), unruled(&plan));
        let mut seconds = Vec::new();
        // From the first interval's begin to the last one's end.
        let mut window_ns = (u64::MAX, 0);
        let result = engine::run_stage(driver, &plan, &control, &mut |interval: &Interval| {
            let now_ns = clock::now_ns();
            let begin_ns = now_ns.saturating_sub(interval.start_ns + interval.length_ns);
            window_ns = (window_ns.0.min(begin_ns), now_ns);
            seconds.push(second(interval));
            stored.interval(phase, interval);
            sums.add(interval);
            monitor.push(interval);
            events.event(RunEvent::PhaseInterval { label, interval });
        });
        let result = match result {
            Ok(result) => result,
            Err(error) => {
                self.end(label, &format!("failed: {error}"));
                return Err(error);
            }
        };
        let samples = sampler.within(window_ns.0, window_ns.1);
        let nic = local_end(&result.facts).and_then(card_of);
        let client = ClientLoad { cores: core_loads(&samples), nic };
        let loopback = client.nic.as_ref().is_some_and(|nic| nic.loopback);
        let limit = limit::find(&self.load, &self.alone, &result, &work, &samples, loopback);
        let figures = figures(&result, seconds, client, limit);
        let kept = cell_result(&result, &figures, sums, monitor.outcome(), plan.ramp.as_secs_f64());
        self.stored.end_phase(phase, kept, result.stopped);
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

    fn plan(&self, workload: StageWorkload) -> StagePlan {
        let load = &self.load;
        StagePlan {
            workers: load.workers,
            lanes_per_worker: load.lanes,
            reactor: load.reactor,
            pin: true,
            ramp: load.ramp,
            window: load.window,
            drain: DRAIN.min(load.op_timeout),
            interval: Duration::from_secs(1).min(load.window),
            schedule: Schedule::Closed,
            stop: StopRule::Window,
            workload,
            payload: self.payload,
            sink: load.sink,
            op_timeout: load.op_timeout,
            connect_timeout: load.connect_timeout,
            error_limit: None,
            beside: StageContext::default(),
        }
    }
}

/// Takes the measure of a phase, which ends by its time alone.
fn unruled(plan: &StagePlan) -> Monitor {
    let seconds = plan.window.as_secs_f64();
    Monitor::new(&SteadyRule::None, Floors { seconds, bytes: 0, limit_seconds: seconds })
}

fn second(interval: &Interval) -> SeriesPoint {
    let mut all = OpStats::default();
    interval.ops.iter().for_each(|(_, stats)| all.merge(stats));
    SeriesPoint::of(interval, None, &all)
}

/// This end of the connections, also of those that the server closed after each answer.
fn local_end(facts: &SessionFacts) -> Option<IpAddr> {
    drivers::connections::paths(facts).first().map(|path| path.local)
}

/// The smallest segment size of all connections, open or closed, in bytes; 0 when unknown.
fn least_segment_bytes(facts: &SessionFacts) -> u32 {
    let sizes = drivers::connections::paths(facts).into_iter().map(|path| path.mss_bytes);
    sizes.filter(|size| *size > 0).min().unwrap_or(0)
}

fn figures(
    result: &StageResult,
    seconds: Vec<SeriesPoint>,
    client: ClientLoad,
    limit: Bottleneck,
) -> PhaseFigures {
    let facts = &result.facts;
    let connections = &facts.connections;
    let resent: u64 = connections.iter().map(|connection| connection.retransmits).sum();
    let mut total = result.total.clone();
    if !result.closing.is_empty() {
        // Commits after the window prove that what was counted is durable: their errors are this phase's.
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
        limit: Some(limit),
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

/// Where the data of reads goes, in the words of every output.
pub const fn sink_name(sink: Sink) -> &'static str {
    match sink {
        Sink::Buffer => "buffer",
        Sink::Verify => "verify",
        Sink::Discard => "discard",
    }
}

#[cfg(test)]
mod tests {
    use metrics::PathFacts;

    use super::*;

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
