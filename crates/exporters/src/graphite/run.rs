//! Collects a run's intervals into samples, and hands them to the client.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use experiment::{Cell, Plan};
use jiff::{SignedDuration, Timestamp};
use metrics::{Interval, OpKind, SeriesPoint};
use report::{CellNames, StorperfMetric, StorperfSums};
use runner::{Events, MEASURE, RunEvent, timestamp};

use super::client::{Batch, GraphiteClient};
use super::line;

/// Pushes the measurements of a run: an observer of its events.
pub struct GraphiteRun {
    client: Arc<GraphiteClient>,
    /// The run's id.
    job: String,
    /// This host, for runs without a fleet.
    host: String,
    every_ns: u64,
    /// `StorPerf`'s name of each cell, and its target.
    cells: BTreeMap<u32, (String, String)>,
    samples: Mutex<BTreeMap<u32, CellSamples>>,
}

/// A cell that is measured.
struct CellSamples {
    trial: u32,
    /// When its measured window began.
    began: Timestamp,
    hosts: BTreeMap<String, HostSample>,
    /// The hosts of a fleet report separately.
    fleet: bool,
}

/// A host's sample so far.
#[derive(Default)]
struct HostSample {
    /// By the name of the operation in paths.
    ops: BTreeMap<&'static str, StorperfSums>,
    length_ns: u64,
    /// End of the last interval since the measured window began.
    end_ns: u64,
    /// A sample of this measurement has been sent.
    sent: bool,
}

impl GraphiteRun {
    /// For a run of this plan; `host` names this host in runs without a fleet.
    pub(super) fn new(
        client: Arc<GraphiteClient>,
        every: Duration,
        id: &str,
        plan: &Plan,
        host: &str,
    ) -> Self {
        let mut names = CellNames::default();
        let key = |cell: &Cell| (cell.index, (names.of(cell), line::target(&cell.target).to_owned()));
        Self {
            client,
            job: id.to_owned(),
            host: host.to_owned(),
            every_ns: u64::try_from(every.as_nanos()).unwrap_or(u64::MAX),
            cells: plan.cells.iter().map(key).collect(),
            samples: Mutex::default(),
        }
    }

    fn samples(&self) -> MutexGuard<'_, BTreeMap<u32, CellSamples>> {
        self.samples.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, (cell, trial): (u32, u32), host: Option<&str>, interval: &Interval) {
        let mut samples = self.samples();
        let end_ns = interval.start_ns.saturating_add(interval.length_ns);
        let begin = || CellSamples {
            trial,
            began: later(timestamp::now(), -nanoseconds(end_ns)),
            hosts: BTreeMap::new(),
            fleet: false,
        };
        let known = samples.entry(cell).or_insert_with(begin);
        if known.trial != trial {
            *known = begin();
        }
        let host = match host {
            Some(host) => {
                known.fleet = true;
                host
            }
            // The sum of what the hosts reported.
            None if known.fleet => return,
            None => &self.host,
        };
        let sample = known.hosts.entry(host.to_owned()).or_default();
        sample.add(interval);
        if sample.length_ns.saturating_add(interval.length_ns / 2) >= self.every_ns {
            self.send(cell, host, known.began, sample);
        }
    }

    /// Sends a sample and begins the next one.
    fn send(&self, cell: u32, host: &str, began: Timestamp, sample: &mut HostSample) {
        let Some((key, target)) = self.cells.get(&cell) else { return };
        let prefix = line::prefix(&self.job, key, host, target);
        let at = later(began, nanoseconds(sample.end_ns));
        let length_s = sample.length_ns as f64 / 1e9;
        let mut batch = Batch::default();
        for (op, sums) in &mut sample.ops {
            for metric in StorperfMetric::ALL {
                // Nothing ended: there is no latency, not one of zero.
                if metric == StorperfMetric::Latency && sums.is_empty() {
                    continue;
                }
                let path = format!("{prefix}.jobs.1.{op}.{}", metric.name());
                line::push(&mut batch.lines, &path, sums.value(metric, length_s), at);
                batch.values += 1;
            }
            *sums = StorperfSums::default();
        }
        sample.length_ns = 0;
        sample.sent = true;
        self.client.send(batch);
    }

    /// Ends a cell. An incomplete sample is sent only if there is no other.
    fn end(&self, cell: u32) {
        let Some(CellSamples { began, mut hosts, .. }) = self.samples().remove(&cell) else { return };
        for (host, sample) in hosts.iter_mut().filter(|(_, sample)| !sample.sent && sample.length_ns > 0) {
            self.send(cell, host, began, sample);
        }
    }
}

fn nanoseconds(ns: u64) -> SignedDuration {
    SignedDuration::from_nanos(i64::try_from(ns).unwrap_or(i64::MAX))
}

fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_add(by).unwrap_or(at)
}

impl HostSample {
    fn add(&mut self, interval: &Interval) {
        for (op, stats) in interval.ops.iter().filter(|(_, stats)| !stats.is_empty()) {
            self.ops.entry(name(*op)).or_default().add(&SeriesPoint::of(interval, Some(*op), stats));
        }
        self.length_ns = self.length_ns.saturating_add(interval.length_ns);
        self.end_ns = interval.start_ns.saturating_add(interval.length_ns);
    }
}

/// An operation in a path.
fn name(op: OpKind) -> &'static str {
    match op {
        op if op.reads() => "read",
        op if op.writes() => "write",
        op => op.name(),
    }
}

impl Events for GraphiteRun {
    fn event(&self, event: RunEvent<'_>) {
        match event {
            RunEvent::Interval { cell, stage, trial, interval } if stage == MEASURE => {
                self.add((cell, trial), None, interval);
            }
            RunEvent::HostInterval { cell, stage, trial, host, interval } if stage == MEASURE => {
                self.add((cell, trial), Some(host), interval);
            }
            RunEvent::CellEnded(record) => self.end(record.index),
            _ => {}
        }
    }
}
