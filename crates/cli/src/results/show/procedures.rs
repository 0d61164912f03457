//! What operations cost on the wire: RPCs by procedure.

use store::{CellResult, MountRpcs, OpSummary};

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

/// What the mount that holds the files sent: one line, with `all` a table. Empty without such a mount.
pub fn of_mount(result: &CellResult, all: bool, width: usize) -> String {
    let Some(sent) = &result.mount_rpcs else { return String::new() };
    let mount = words::plain(&sent.mount);
    if all {
        let title =
            format!("RPCs of the mount {mount}, of all its users, for {} operations:", sent.operations);
        return words::wrapped(&title, width) + &mount_table(sent, width);
    }
    let shown = sent.procedures.iter().filter(|one| one.calls_per_op >= NEGLIGIBLE);
    let each: Vec<String> =
        shown.map(|one| format!("{} {}", count(one.calls_per_op), words::plain(&one.procedure))).collect();
    let sum = if each.is_empty() { "none".to_owned() } else { each.join(" + ") };
    words::wrapped(&format!("RPCs of the mount {mount}, of all its users: an operation = {sum}"), width)
}

fn mount_table(sent: &MountRpcs, width: usize) -> String {
    let titles = [("server", 0), ("RPC", 0), ("per op", 0), ("calls", 1), ("mean", 2), ("errors", 3)];
    let rows = sent.procedures.iter().map(|one| {
        vec![
            words::plain(&one.server),
            words::plain(&one.procedure),
            count(one.calls_per_op),
            one.calls.to_string(),
            words::time(one.mean_ns as u64, one.calls),
            one.errors.map_or_else(String::new, |errors| errors.to_string()),
        ]
    });
    words::table(&titles, 2, rows.collect(), (width, "  "))
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
    use store::RpcCount;

    use super::*;

    #[test]
    fn the_table_of_a_mount_has_every_procedure_of_each_server() {
        let one = |procedure: &str, calls: u64, errors| RpcCount {
            server: "filer".to_owned(),
            procedure: procedure.to_owned(),
            calls,
            calls_per_op: calls as f64 / 100.0,
            errors,
            mean_ns: 2e6,
        };
        let procedures = vec![one("OPEN", 100, Some(3)), one("LOOKUP", 25, None)];
        let sent = MountRpcs { mount: "/mnt".to_owned(), operations: 100, procedures };
        let table = mount_table(&sent, 100);
        let words: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[0], ["server", "RPC", "per", "op", "calls", "mean", "errors"]);
        assert!(words.contains(&vec!["filer", "OPEN", "1", "100", "2.00", "ms", "3"]), "{table}");
        assert!(words.contains(&vec!["filer", "LOOKUP", "0.25", "25", "2.00", "ms"]), "{table}");
    }

    #[test]
    fn counts_have_no_more_decimals_than_they_need() {
        for (per_op, text) in [(1.0, "1"), (0.5, "0.5"), (4.004, "4"), (0.333, "0.33"), (10.0, "10")] {
            assert_eq!(count(per_op), text);
        }
    }
}
