//! Which procedures an operation calls more or less often than in the run compared with.

use std::collections::{BTreeMap, BTreeSet};

use store::CallCounter;

use super::matching::{MatchedPoint, RepeatedPoint};

/// Smallest difference that is listed, in calls per operation: retransmits and a few lookups make small ones.
const SMALLEST: f64 = 0.05;

/// Calls per operation, the mean over a point's repetitions.
type Calls = BTreeMap<By, f64>;

/// What calls are counted by.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct By {
    /// What made them.
    op: String,
    /// They are system calls.
    system: bool,
    procedure: String,
}

/// One line for each procedure whose calls per operation differ, the largest difference first.
pub fn changed(points: &[MatchedPoint<'_>]) -> Vec<String> {
    let mut lines = Vec::new();
    for point in points {
        let Some((a, b)) = point.both() else { continue };
        differing(&point.cell, (&calls(a), &calls(b)), &mut lines);
        differing(&point.cell, (&server_calls(a), &server_calls(b)), &mut lines);
    }
    lines.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    lines.into_iter().map(|(_, text)| text).collect()
}

fn differing(cell: &str, (a, b): (&Calls, &Calls), lines: &mut Vec<(f64, String)>) {
    let both: BTreeSet<_> = a.keys().chain(b.keys()).collect();
    for key in both {
        let of = |calls: &Calls| calls.get(key).copied().unwrap_or(0.0);
        let (before, now) = (of(a), of(b));
        // What only one run did has no procedures in the other, nor has a run of another protocol, or of a version
        // that did not count them.
        let done = |calls: &Calls| calls.keys().any(|by| by.op == key.op && by.system == key.system);
        if (now - before).abs() >= SMALLEST && done(a) && done(b) {
            let By { op, procedure, .. } = key;
            let text = format!("{cell}: {op} takes {now:.2} {procedure} instead of {before:.2}");
            lines.push(((now - before).abs(), text));
        }
    }
}

fn calls(point: &RepeatedPoint<'_>) -> Calls {
    let mut sums = Calls::new();
    let share = 1.0 / point.results.len().max(1) as f64;
    for summary in point.results.iter().flat_map(|result| &result.ops) {
        let Some(op) = summary.op else { continue };
        for procedure in &summary.procedures {
            let (system, name) = (procedure.procedure.is_system_call(), procedure.procedure.name());
            let key = By { op: op.name().to_owned(), system, procedure: name.to_owned() };
            *sums.entry(key).or_default() += procedure.calls_per_op * share;
        }
    }
    sums
}

/// The same for what servers counted, which cannot be told apart by kind of operation.
fn server_calls(point: &RepeatedPoint<'_>) -> Calls {
    let mut sums = Calls::new();
    let share = 1.0 / point.results.len().max(1) as f64;
    for counted in point.results.iter().flat_map(|result| &result.server_calls) {
        let by = match counted.counter {
            CallCounter::Mount => "on the mount",
            CallCounter::Gluster => "on the volume",
            CallCounter::Ceph => "on the metadata servers",
            CallCounter::Command => "by the command's count",
        };
        for calls in &counted.procedures {
            let op = format!("an operation {by}");
            let key = By { op, system: false, procedure: calls.procedure.clone() };
            *sums.entry(key).or_default() += calls.all.calls_per_op * share;
        }
    }
    sums
}
