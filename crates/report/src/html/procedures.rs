//! What operations cost: RPCs by procedure, or system calls.

use metrics::CallKind;
use store::{CallFigures, CellResult};

use super::details;
use super::figure::Figures;
use crate::figures::FigureUnit;
use crate::op_name;

/// One row per operation and procedure or system call; empty if the driver distinguishes none.
pub fn table(path: &str, result: &CellResult, figures: &Figures<'_>) -> String {
    let mut rows = Vec::new();
    for (n, op) in result.ops.iter().enumerate() {
        for (m, procedure) in op.procedures.iter().enumerate() {
            let figure =
                |name: &str, unit| figures.get(&format!("{path}/ops/{n}/procedures/{m}/{name}"), unit);
            rows.push(vec![
                op_name(op.op).to_owned(),
                details::text(procedure.procedure.name()),
                figure("calls_per_op", FigureUnit::Plain),
                figure("calls", FigureUnit::Count),
                figure("errors", FigureUnit::Count),
                figure("mean_ns", FigureUnit::Ns),
                figure("max_ns", FigureUnit::Ns),
            ]);
        }
    }
    let kind = result.ops.iter().flat_map(|op| &op.procedures).next().map(|calls| calls.procedure);
    let (calls, call) = kind.map_or(("RPCs", "RPC"), |kind| (kind.plural(), kind.singular()));
    // Of RPCs, the column has the procedure.
    let (caption, call) = match kind.is_none_or(CallKind::is_remote_procedure) {
        true => (format!("{calls} of the operations, by procedure"), "procedure"),
        false => (format!("{calls} of the operations"), call),
    };
    let heads = ["operation", call, "per operation", calls, "errors", "mean", "max"];
    details::table(&caption, &heads, &rows)
}

/// One row per operation that lists a directory or bucket.
pub fn listings(path: &str, result: &CellResult, figures: &Figures<'_>) -> String {
    let mut rows = Vec::new();
    for (n, op) in result.ops.iter().enumerate() {
        for (m, _) in op.procedures.iter().enumerate().filter(|(_, calls)| calls.listing.is_some()) {
            let figure =
                |name: &str, unit| figures.get(&format!("{path}/ops/{n}/procedures/{m}/{name}"), unit);
            rows.push(vec![
                op_name(op.op).to_owned(),
                figure("listing/entries_per_op", FigureUnit::Plain),
                figure("listing/entries_per_s", FigureUnit::OpsPerS),
                figure("listing/first_mean_ns", FigureUnit::Ns),
                figure("listing/first_max_ns", FigureUnit::Ns),
                figure("max_ns", FigureUnit::Ns),
            ]);
        }
    }
    let heads =
        ["operation", "entries each", "entries", "first page, mean", "first page, max", "slowest page"];
    details::table("Listings: from the start to the first page, and the slowest page", &heads, &rows)
}

/// A table for each counter of servers: a row per procedure, and one for each server if there are several.
pub fn server_tables(path: &str, result: &CellResult, figures: &Figures<'_>) -> String {
    let mut out = String::new();
    for (n, counted) in result.server_calls.iter().enumerate() {
        let row = |procedure: &str, server: &str, at: &str, of: &CallFigures| {
            let figure = |name: &str, unit| {
                figures.get(&format!("{path}/server_calls/{n}/procedures/{at}{name}"), unit)
            };
            vec![
                details::text(procedure),
                details::text(server),
                figure("calls_per_op", FigureUnit::Plain),
                figure("calls", FigureUnit::Count),
                of.errors.map_or_else(String::new, |_| figure("errors", FigureUnit::Count)),
                of.mean_ns.map_or_else(String::new, |_| figure("mean_ns", FigureUnit::Ns)),
            ]
        };
        let mut rows = Vec::new();
        for (m, one) in counted.procedures.iter().enumerate() {
            let server = match &one.servers[..] {
                [only] => &only.server,
                _ => "all",
            };
            rows.push(row(&one.procedure, server, &format!("{m}/"), &one.all));
            for (k, one_server) in one.servers.iter().enumerate().filter(|_| one.servers.len() > 1) {
                let at = format!("{m}/servers/{k}/");
                rows.push(row(&one.procedure, &one_server.server, &at, &one_server.figures));
            }
        }
        let caption = format!("{}, of all users", counted.title());
        let heads = ["procedure", "server", "per operation", "calls", "errors", "mean"];
        out.push_str(&details::table(&caption, &heads, &rows));
    }
    out
}
