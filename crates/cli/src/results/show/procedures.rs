//! What operations cost: RPCs by procedure, or system calls.

use store::{CallFigures, CellResult, OpSummary, ServerCalls};

use crate::results::words;

/// Shares below this are left out of the short form: a handful of lookups among many operations.
const NEGLIGIBLE: f64 = 0.005;

/// One line, `RPCs: create = 1 CREATE, rename = 1 RENAME`, or `System calls: stat = 1 stat`; with `all` a table. Empty if
/// the driver distinguishes none.
pub fn procedures(result: &CellResult, all: bool, width: usize) -> String {
    let ops: Vec<&OpSummary> = result.ops.iter().filter(|op| !op.procedures.is_empty()).collect();
    if ops.is_empty() {
        return String::new();
    }
    if all {
        return table(&ops, width);
    }
    let each: Vec<String> = ops.iter().map(|op| format!("{} = {}", name(op), sum(op))).collect();
    words::wrapped(&format!("{}: {}", ops[0].procedures[0].procedure.plural(), each.join(", ")), width)
}

/// What servers were asked to do: a line for each counter, with `all` a table. Empty without counters.
pub fn of_servers(result: &CellResult, all: bool, width: usize) -> String {
    result.server_calls.iter().map(|counted| counted_calls(counted, all, width)).collect()
}

/// A line for each operation that lists a directory or bucket: how fast, and what its pages took.
pub fn listings(result: &CellResult, width: usize) -> String {
    let lines = result.ops.iter().filter_map(|op| {
        let calls = op.procedures.iter().find(|calls| calls.listing.is_some())?;
        let listing = calls.listing.as_ref()?;
        let time = |nanos| words::time(nanos, calls.calls.saturating_sub(calls.errors));
        Some(format!(
            "{}: {} entries each, {} entries; first page after {} (max {}), slowest page {}",
            name(op),
            count(listing.entries_per_op),
            words::ops(listing.entries_per_s),
            time(listing.first_mean_ns as u64),
            time(listing.first_max_ns),
            time(calls.max_ns)
        ))
    });
    lines.map(|line| words::wrapped(&line, width)).collect()
}

fn counted_calls(counted: &ServerCalls, all: bool, width: usize) -> String {
    let title = format!("{}, of all users", words::plain(&counted.title()));
    if all {
        let title = format!("{title}, for {} operations:", counted.operations);
        return words::wrapped(&title, width) + &calls_table(counted, width);
    }
    let shown = counted.procedures.iter().filter(|one| one.all.calls_per_op >= NEGLIGIBLE);
    let each: Vec<String> = shown
        .map(|one| format!("{} {}", count(one.all.calls_per_op), words::plain(&one.procedure)))
        .collect();
    let sum = if each.is_empty() { "none".to_owned() } else { each.join(" + ") };
    words::wrapped(&format!("{title}: an operation = {sum}"), width)
}

/// A row for each procedure, and below it one for each server if there are several.
fn calls_table(counted: &ServerCalls, width: usize) -> String {
    let titles = [("call", 0), ("server", 0), ("per op", 0), ("calls", 1), ("mean", 2), ("errors", 3)];
    let row = |procedure: &str, server: &str, figures: &CallFigures| {
        vec![
            words::plain(procedure),
            words::plain(server),
            count(figures.calls_per_op),
            figures.calls.to_string(),
            figures.mean_ns.map_or_else(String::new, |mean| words::time(mean as u64, figures.calls)),
            figures.errors.map_or_else(String::new, |errors| errors.to_string()),
        ]
    };
    let mut rows = Vec::new();
    for one in &counted.procedures {
        match &one.servers[..] {
            [only] => rows.push(row(&one.procedure, &only.server, &one.all)),
            several => {
                rows.push(row(&one.procedure, "all", &one.all));
                rows.extend(several.iter().map(|server| row("", &server.server, &server.figures)));
            }
        }
    }
    words::table(&titles, 2, rows, (width, "  "))
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
    let call = ops[0].procedures[0].procedure.singular();
    let titles = [("op", 0), (call, 0), ("per op", 0), ("calls", 1), ("mean", 2), ("max", 3), ("errors", 4)];
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
    use store::{CallCounter, ProcedureCalls, ServerFigures};

    use super::*;

    #[test]
    fn the_table_of_servers_has_sums_and_every_server() {
        let figures = |calls: u64, errors, mean_ns| CallFigures {
            calls,
            calls_per_op: calls as f64 / 100.0,
            errors,
            mean_ns,
        };
        let server = |server: &str, figures| ServerFigures { server: server.to_owned(), figures };
        let several =
            [server("b1", figures(300, None, Some(2e6))), server("b2", figures(200, None, Some(2e6)))];
        let procedures = vec![
            ProcedureCalls {
                procedure: "LOOKUP".to_owned(),
                all: figures(500, None, Some(2e6)),
                servers: several.to_vec(),
            },
            ProcedureCalls {
                procedure: "CREATE".to_owned(),
                all: figures(25, Some(3), None),
                servers: vec![server("b1", figures(25, Some(3), None))],
            },
        ];
        let (counter, name) = (CallCounter::Gluster, "gv".to_owned());
        let counted = ServerCalls { counter, name, operations: 100, procedures };
        let table = calls_table(&counted, 100);
        let words: Vec<Vec<&str>> = table.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[0], ["call", "server", "per", "op", "calls", "mean", "errors"]);
        assert!(words.contains(&vec!["LOOKUP", "all", "5", "500", "2.00", "ms"]), "{table}");
        assert!(words.contains(&vec!["b1", "3", "300", "2.00", "ms"]), "{table}");
        assert!(words.contains(&vec!["CREATE", "b1", "0.25", "25", "3"]), "{table}");
        let line = counted_calls(&counted, false, 200);
        assert!(line.contains("volume gv, of all users: an operation = 5 LOOKUP + 0.25 CREATE"), "{line}");
    }

    #[test]
    fn counts_have_no_more_decimals_than_they_need() {
        for (per_op, text) in [(1.0, "1"), (0.5, "0.5"), (4.004, "4"), (0.333, "0.33"), (10.0, "10")] {
            assert_eq!(count(per_op), text);
        }
    }
}
