//! Which procedures an operation calls more or less often than in the run compared with.

use std::collections::BTreeMap;

use metrics::{OpKind, RpcKind};

use super::matching::{MatchedPoint, RepeatedPoint};

/// Smallest difference that is listed, in calls per operation: retransmits and a few lookups make small ones.
const SMALLEST: f64 = 0.05;

/// Calls per operation, the mean over a point's repetitions.
type Calls = BTreeMap<(OpKind, RpcKind), f64>;

/// One line for each procedure whose calls per operation differ, the largest difference first.
pub fn changed(points: &[MatchedPoint<'_>]) -> Vec<String> {
    let mut lines = Vec::new();
    for point in points {
        let Some((a, b)) = point.both() else { continue };
        let (a, b) = (calls(a), calls(b));
        // Without any, a run is of another protocol, or of a version that did not count them.
        if a.is_empty() || b.is_empty() {
            continue;
        }
        let mut both: Vec<_> = a.keys().chain(b.keys()).copied().collect();
        both.sort_unstable();
        both.dedup();
        for key in both {
            let of = |calls: &Calls| calls.get(&key).copied().unwrap_or(0.0);
            let (before, now) = (of(&a), of(&b));
            // An operation that only one run did has no procedures in the other.
            let done = |calls: &Calls| calls.keys().any(|(op, _)| *op == key.0);
            if (now - before).abs() >= SMALLEST && done(&a) && done(&b) {
                let (op, procedure) = key;
                let text = format!("{}: {op} takes {now:.2} {procedure} instead of {before:.2}", point.cell);
                lines.push(((now - before).abs(), text));
            }
        }
    }
    lines.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    lines.into_iter().map(|(_, text)| text).collect()
}

fn calls(point: &RepeatedPoint<'_>) -> Calls {
    let mut sums: BTreeMap<(OpKind, RpcKind), f64> = BTreeMap::new();
    let share = 1.0 / point.results.len().max(1) as f64;
    for summary in point.results.iter().flat_map(|result| &result.ops) {
        let Some(op) = summary.op else { continue };
        for procedure in &summary.procedures {
            *sums.entry((op, procedure.procedure)).or_default() += procedure.calls_per_op * share;
        }
    }
    sums
}
