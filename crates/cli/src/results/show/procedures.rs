//! What operations cost on the wire: RPCs by procedure.

use store::{CellResult, OpSummary};

use crate::results::words;

/// Shares below this are left out of the short form: a handful of lookups among many operations.
const NEGLIGIBLE: f64 = 0.005;

/// One line, `RPCs: create = 1 CREATE, rename = 1 RENAME`; with `all` a table. Empty if the protocol has no RPCs.
pub fn procedures(result: &CellResult, all: bool, width: usize) -> String {
    let ops: Vec<&OpSummary> = result.ops.iter().filter(|op| !op.procedures.is_empty()).collect();
    if ops.is_empty() {
        return String::new();
    }
    if all {
        return table(&ops, width);
    }
    let each: Vec<String> = ops.iter().map(|op| format!("{} = {}", name(op), sum(op))).collect();
    words::wrapped(&format!("RPCs: {}", each.join(", ")), width)
}

fn name(op: &OpSummary) -> &'static str {
    op.op.map_or("total", metrics::OpKind::name)
}

fn sum(op: &OpSummary) -> String {
    let shown = op.procedures.iter().filter(|procedure| procedure.calls_per_op >= NEGLIGIBLE);
    let each: Vec<String> =
        shown.map(|procedure| format!("{} {}", count(procedure.calls_per_op), procedure.procedure)).collect();
    if each.is_empty() { "none".to_owned() } else { each.join(" + ") }
}

/// A count per operation: two decimals, without those that are 0.
fn count(per_op: f64) -> String {
    let text = format!("{per_op:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn table(ops: &[&OpSummary], width: usize) -> String {
    let titles = [("op", 0), ("RPC", 0), ("per op", 0), ("calls", 1), ("mean", 2), ("max", 3), ("errors", 4)];
    let rows = ops.iter().flat_map(|op| {
        op.procedures.iter().map(|procedure| {
            let succeeded = procedure.calls.saturating_sub(procedure.errors);
            vec![
                name(op).to_owned(),
                procedure.procedure.name().to_owned(),
                count(procedure.calls_per_op),
                procedure.calls.to_string(),
                words::time(procedure.mean_ns as u64, succeeded),
                words::time(procedure.max_ns, succeeded),
                procedure.errors.to_string(),
            ]
        })
    });
    words::table(&titles, 2, rows.collect(), (width, "  "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_no_more_decimals_than_they_need() {
        for (per_op, text) in [(1.0, "1"), (0.5, "0.5"), (4.004, "4"), (0.333, "0.33"), (10.0, "10")] {
            assert_eq!(count(per_op), text);
        }
    }
}
