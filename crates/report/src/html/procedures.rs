//! What operations cost on the wire: RPCs by procedure.

use store::CellResult;

use super::details;
use super::figure::Figures;
use crate::figures::FigureUnit;
use crate::op_name;

/// One row per operation and procedure; empty if the protocol has no RPCs.
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
    let heads = ["operation", "procedure", "per operation", "RPCs", "errors", "mean", "max"];
    details::table("RPCs of the operations, by procedure", &heads, &rows)
}

/// One row per server and procedure of the mount that holds the files; empty without one.
pub fn mount_table(path: &str, result: &CellResult, figures: &Figures<'_>) -> String {
    let Some(sent) = &result.mount_rpcs else { return String::new() };
    let rows: Vec<_> = sent
        .procedures
        .iter()
        .enumerate()
        .map(|(n, count)| {
            let figure =
                |name: &str, unit| figures.get(&format!("{path}/mount_rpcs/procedures/{n}/{name}"), unit);
            let errors = count.errors.map_or_else(String::new, |_| figure("errors", FigureUnit::Count));
            vec![
                details::text(&count.server),
                details::text(&count.procedure),
                figure("calls_per_op", FigureUnit::Plain),
                figure("calls", FigureUnit::Count),
                errors,
                figure("mean_ns", FigureUnit::Ns),
            ]
        })
        .collect();
    let caption = format!("RPCs of the mount {}, of all its users, by procedure", sent.mount);
    details::table(&caption, &["server", "procedure", "per operation", "RPCs", "errors", "mean"], &rows)
}
