//! A network measurement in the results file: a run whose cells are the links, once per variant.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fleet::HostGroup;
use fleet::probe::HostSample;
use jiff::Timestamp;
use metrics::Interval;
use runner::{Events, StopToken, timestamp};
use stats::{Degraded, LinkFacts, NetworkJudgement, NetworkMatrix};
use store::{CellRecord, CellResult, Environment, HostRecord, RunMaker, RunRecord, State, Store};

use super::link_error::LinkError;
use super::plan::LinkStep;
use super::words;
use crate::error::CheckError;
use crate::stored::{StoredRun, judged};

/// Stores the links of a network as they are measured, including links measured at the same time.
pub struct StoredLinks {
    inner: Mutex<Inner>,
}

struct Inner {
    run: StoredRun,
    /// The record of each link so far: links are judged against each other.
    cells: Vec<CellRecord>,
}

impl StoredLinks {
    /// Stores the run with its hosts, all of its cells pending.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn begin(
        store: Option<Store>,
        record: &RunRecord,
        host_group: &HostGroup,
        events: &Arc<dyn Events>,
    ) -> Result<Self, CheckError> {
        let mut run = StoredRun::begin(store, RunMaker::Network, record, events)?;
        let host = |(member, name)| HostRecord {
            name,
            environment: Environment { facts: host_group.host_facts(member) },
        };
        let hosts: Vec<HostRecord> = host_group.names().into_iter().enumerate().map(host).collect();
        run.hosts(&hosts);
        Ok(Self { inner: Mutex::new(Inner { run, cells: Vec::new() }) })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a link; returns the start time.
    pub fn begin_cell(&self, cell: u32) -> Timestamp {
        self.inner().run.begin_cell(cell)
    }

    /// Stores an interval of received data.
    pub fn interval(&self, cell: u32, interval: &Interval) {
        self.inner().run.interval(cell, interval);
    }

    /// Stores a sample of one of the link's hosts; `at_ns` counts from the start of its measured window.
    pub fn sample(&self, cell: u32, host: &str, at_ns: u64, sample: &HostSample) {
        self.inner().run.sample(cell, host, at_ns, sample);
    }

    /// Ends a link.
    pub fn end_cell(
        &self,
        cell: u32,
        started: Timestamp,
        measured: Result<CellResult, LinkError>,
        cut: bool,
    ) {
        let (state, result, failure) = match measured {
            Ok(result) if cut => (State::Interrupted, Some(result), None),
            Ok(result) => (State::Finished, Some(result), None),
            Err(_) if cut => (State::Interrupted, None, None),
            Err(error) => (State::Failed, None, Some(error.to_string())),
        };
        let result = result.map(|mut result| {
            result.verdict = judged(&result, cut, None, &[]);
            result
        });
        let finished = Some(timestamp::now());
        let record = CellRecord { index: cell, state, started: Some(started), finished, result, failure };
        let mut inner = self.inner();
        inner.run.finish_cell(&record);
        inner.cells.push(record);
    }

    /// Ends a complete measurement: records each link's faults with its cell and with the run. Reports where it is
    /// stored.
    pub fn finish(
        self,
        steps: &[LinkStep],
        (matrix, judgement): (&NetworkMatrix, &NetworkJudgement),
        stop: &StopToken,
    ) {
        let Inner { mut run, mut cells } = self.inner.into_inner().unwrap_or_else(PoisonError::into_inner);
        let links = steps.iter().flat_map(|step| {
            let numbered = (step.first_cell..).zip(step.directions());
            numbered.map(|(cell, link)| (cell, (link, (step.streams, step.both_ways))))
        });
        let links: BTreeMap<u32, _> = links.collect();
        for record in &mut cells {
            let (Some(result), Some((link, way))) = (&mut record.result, links.get(&record.index)) else {
                continue;
            };
            if let Some(path) = matrix.path_mtu(link.0, link.1) {
                let known = |bytes: Option<u32>| bytes.map(|bytes| bytes.to_string());
                let facts =
                    [("path-mtu.bytes", path.bytes), ("path-mtu.believed.bytes", path.believed_bytes)];
                let facts =
                    facts.into_iter().filter_map(|(name, bytes)| Some((name.to_owned(), known(bytes)?)));
                result.target.extend(facts);
            }
            let doubts = doubts(matrix, judgement, *link, *way);
            result.verdict = judged(result, record.state == State::Interrupted, None, &doubts);
            run.finish_cell(record);
        }
        for line in words::verdict(matrix, judgement) {
            run.event("verdict", &line);
        }
        run.finish(stop);
    }

    /// Ends an incomplete measurement.
    pub fn fail(self, error: &CheckError, stop: &StopToken) {
        self.inner.into_inner().unwrap_or_else(PoisonError::into_inner).run.fail(error, stop);
    }
}

/// What is wrong with a link in this variant.
fn doubts(
    matrix: &NetworkMatrix,
    judgement: &NetworkJudgement,
    (from, to): (u32, u32),
    way: (u32, bool),
) -> Vec<String> {
    let here = |of: &Degraded| match of {
        Degraded::Link(a, b) => (*a, *b) == (from, to),
        Degraded::Host(host) => [from, to].contains(host),
    };
    let findings = judgement.findings.iter();
    let degraded = findings.filter(|one| here(&one.of) && (one.streams, one.both_ways) == way);
    let mut doubts: Vec<String> = degraded.map(|one| words::sentence(matrix, one)).collect();
    doubts.extend(matrix.path_mtu(from, to).and_then(|path| words::black_hole(matrix, path)));
    doubts
}

/// Adds the sending kernel's view of a link as evidence beside its figures.
pub fn evidence(result: &mut CellResult, tcp: &LinkFacts, addresses: [Option<&String>; 2]) {
    let mut fact = |name: &str, value: Option<String>| {
        value.map(|value| result.target.insert(name.to_owned(), value));
    };
    fact("from", addresses[0].cloned());
    fact("to", addresses[1].cloned());
    fact("mss.bytes", tcp.mss_bytes.map(|bytes| bytes.to_string()));
    fact("held-back-by", tcp.limits.map(|limits| limits.most().to_owned()));
    let mut figure = |name: &str, value: Option<f64>| {
        value.map(|value| result.client.insert(name.to_owned(), value));
    };
    figure("net.retransmits", Some(tcp.retransmits as f64));
    figure("net.round-trip.ns", tcp.round_trip_ns.map(|nanos| nanos as f64));
    figure("net.round-trip-min.ns", tcp.least_round_trip_ns.map(|nanos| nanos as f64));
    figure("net.congestion-window.bytes", tcp.congestion_window_bytes.map(|bytes| bytes as f64));
    if let Some(limits) = tcp.limits {
        for (name, share) in [
            ("sender", limits.sender),
            ("receiver-window", limits.receiver_window),
            ("send-buffer", limits.send_buffer),
            ("network", limits.network),
        ] {
            figure(&format!("net.held-back.{name}"), Some(share));
        }
    }
}
