//! The data of events, as readers of a run's stream receive it.

use metrics::{Interval, SeriesPoint};
use serde::Serialize;
use store::{CellRecord, Validity};
use utoipa::ToSchema;

use crate::api::stored;
use crate::database::AskedState;
use crate::host_points::HostPoints;

/// The data of an event `state`: how far the run got.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StateEvent {
    pub state: AskedState,
}

/// The data of an event `message`: a line that `manometer run` prints.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MessageEvent<'a> {
    pub severity: MessageSeverity,
    pub text: &'a str,
}

/// How serious a message is.
#[derive(Clone, Copy, Debug, Serialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MessageSeverity {
    Note,
    Warning,
    Error,
}

/// The data of an event `interval`: one interval of a stage, combined over all hosts.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct IntervalEvent<'a> {
    /// Index of the cell in the plan.
    cell: u32,
    /// `prepare`, `warm-up`, `measure`, `verify`, …
    stage: &'a str,
    /// Number of the measurement in a study; 0 otherwise.
    trial: u32,
    /// Number of the interval in the stage, from 0.
    interval: u32,
    /// Its start, in seconds since the stage began.
    start_s: f64,
    /// Its length, in seconds.
    length_s: f64,
    /// One point per operation.
    ops: Vec<PointView>,
    /// The parts of single hosts, up to 16 in the order of the fleet; only for readers that ask for them, of runs by agents.
    /// Absent if the service keeps them no longer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<HostPoints>,
}

/// An interval's points, one per operation that occurred.
pub(crate) fn points(interval: &Interval) -> Vec<PointView> {
    let used = interval.ops.iter().filter(|(_, stats)| !stats.is_empty());
    used.map(|(op, stats)| PointView::of(&SeriesPoint::of(interval, Some(*op), stats))).collect()
}

impl<'a> IntervalEvent<'a> {
    /// An interval with its points.
    pub(crate) fn of(
        cell: u32,
        stage: &'a str,
        trial: u32,
        interval: &Interval,
        ops: Vec<PointView>,
    ) -> Self {
        Self {
            cell,
            stage,
            trial,
            interval: interval.index,
            start_s: interval.start_ns as f64 / 1e9,
            length_s: interval.length_ns as f64 / 1e9,
            ops,
            hosts: Vec::new(),
        }
    }

    /// The same with the parts of single hosts.
    pub(crate) fn with_hosts(self, hosts: Vec<HostPoints>) -> Self {
        Self { hosts, ..self }
    }
}

/// One operation in an interval; latencies are response times, in nanoseconds.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[schema(as = Point)]
pub(crate) struct PointView {
    /// The operation: `read`, `write`, `get`, …
    op: &'static str,
    /// Successful operations per second.
    ops_per_s: f64,
    /// Payload bytes acknowledged, per second.
    bytes_per_s: f64,
    /// Successful operations.
    ok: u64,
    /// Failed operations.
    failed: u64,
    /// Payload bytes acknowledged.
    bytes: u64,
    /// Retransmitted requests.
    retries: u64,
    mean_ns: f64,
    p50_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
    max_ns: u64,
}

impl PointView {
    /// A stored point of an operation; `None` if it did not occur, as in [`points`].
    pub(crate) fn of_op(point: &SeriesPoint) -> Option<Self> {
        (point.op.is_some() && !point.is_empty()).then(|| Self::of(point))
    }

    /// A stored or current point.
    pub(crate) fn of(point: &SeriesPoint) -> Self {
        Self {
            op: report::op_name(point.op),
            ops_per_s: point.ops_per_s(),
            bytes_per_s: point.bytes_per_s(),
            ok: point.ok,
            failed: point.failed,
            bytes: point.bytes,
            retries: point.retries,
            mean_ns: point.mean_ns,
            p50_ns: point.p50_ns,
            p99_ns: point.p99_ns,
            p999_ns: point.p999_ns,
            max_ns: point.max_ns,
        }
    }
}

/// The data of an event `cell`: a cell has ended.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CellEvent<'a> {
    /// Its index in the plan.
    cell: u32,
    /// How far it got.
    #[schema(value_type = stored::State)]
    state: &'static str,
    /// Its verdict, if it has a result.
    #[schema(value_type = Option<stored::Validity>, required = true)]
    validity: Option<Validity>,
    /// Why it could not run, in one line.
    #[schema(required = true)]
    failure: Option<&'a str>,
}

impl<'a> CellEvent<'a> {
    /// The end of this cell.
    pub(crate) fn of(record: &'a CellRecord) -> Self {
        Self {
            cell: record.index,
            state: record.state.name(),
            validity: record.result.as_ref().map(|result| result.verdict.validity),
            failure: record.failure.as_deref(),
        }
    }
}

/// The data of an event `missed`: events that are no longer kept.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct MissedEvent {
    /// How many a slow reader missed before the next one.
    pub events: u64,
}

/// The data of an event `end`, the last one of a run.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct EndEvent<'a> {
    pub state: AskedState,
    /// Why the run ended early or what it left behind, in one line.
    #[schema(required = true)]
    pub reason: Option<&'a str>,
}

#[cfg(test)]
mod tests {
    use metrics::{OpKind, OpStats};

    use super::*;

    #[test]
    fn operations_that_did_not_occur_in_an_interval_have_no_points_live_and_stored() {
        let none = OpStats::default();
        let counts: [fn(&mut OpStats); 3] =
            [|stats| stats.ok = 1, |stats| stats.errors[0] = 1, |stats| stats.retries = 1];
        let mut interval = Interval::default();
        assert!(points(&interval).is_empty());
        assert!(PointView::of_op(&SeriesPoint::of(&interval, None, &none)).is_none());
        interval.ops.push((OpKind::Write, none.clone()));
        assert!(points(&interval).is_empty());
        assert!(PointView::of_op(&SeriesPoint::of(&interval, Some(OpKind::Write), &none)).is_none());
        for count in counts {
            let mut some = OpStats::default();
            count(&mut some);
            interval.ops = vec![(OpKind::Read, some.clone())];
            assert_eq!(points(&interval).len(), 1);
            assert!(PointView::of_op(&SeriesPoint::of(&interval, Some(OpKind::Read), &some)).is_some());
        }
    }
}
