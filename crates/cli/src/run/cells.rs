//! The table of a run's cells: a column for each crossed parameter, a row for each operation of a mix, and the means of
//! repetitions.

use std::collections::BTreeSet;

use experiment::Cell;
use metrics::OpKind;
use report::{FittedTable, TableColumn, TextColour, half_width};
use runner::WIDEST_INTERVAL;
use stats::limit::Bound;
use stats::{Estimate, SteadyJudgement};
use store::{CellRecord, CellResult, OpSummary, RunRecord, Validity};
use units::{ByteRate, OpRate, latency};

/// Parameters that differ between the cells and need a column.
struct CellColumns<'a> {
    workloads: bool,
    axes: Vec<&'a str>,
    repetitions: bool,
}

impl<'a> CellColumns<'a> {
    fn of(run: &'a RunRecord) -> Self {
        let cells = &run.plan.cells;
        let names: BTreeSet<&str> = cells.iter().map(|cell| cell.workload_name.as_str()).collect();
        let keys: BTreeSet<&str> =
            cells.iter().flat_map(|cell| cell.point.keys()).map(String::as_str).collect();
        let value = |cell: &'a Cell, key: &str| cell.point.get(key).map(String::as_str);
        let differs = |key: &&str| cells.iter().any(|cell| value(cell, key) != value(&cells[0], key));
        let axes: Vec<&str> = keys.into_iter().filter(differs).collect();
        let repetitions = cells.iter().any(|cell| cell.repetition > 1);
        Self { workloads: names.len() > 1 || axes.is_empty(), axes, repetitions }
    }

    fn columns(&self) -> Vec<TableColumn> {
        let mut columns = vec![TableColumn::right("cell")];
        if self.workloads {
            columns.push(TableColumn::left("workload"));
        }
        // `queue_depth` on one line would be wider than its values.
        columns.extend(self.axes.iter().map(|axis| TableColumn::right(axis.replace('_', "\n"))));
        if self.repetitions {
            columns.push(TableColumn::right("rep."));
        }
        columns.extend([
            TableColumn::left("op").optional(),
            TableColumn::right("throughput").optional(),
            TableColumn::right("±").rank(1).optional(),
            TableColumn::right("IOPS"),
            TableColumn::right("±").rank(4).optional(),
            TableColumn::right("p50").rank(5),
            TableColumn::right("p99"),
            TableColumn::right("p99.9").rank(6),
            TableColumn::left("steady").rank(3).optional(),
            TableColumn::left("limit").rank(2).optional(),
            TableColumn::left("verdict"),
        ]);
        columns
    }

    /// The table cells that identify a row's cell.
    fn name(&self, head: String, planned: Option<&Cell>, repetition: String) -> Vec<String> {
        let mut row = vec![head];
        if self.workloads {
            row.push(planned.map_or("", |cell| &cell.workload_name).to_owned());
        }
        let value = |axis: &&str| planned.and_then(|cell| cell.point.get(*axis)).cloned().unwrap_or_default();
        row.extend(self.axes.iter().map(value));
        if self.repetitions {
            row.push(repetition);
        }
        row
    }
}

/// The cells that have a record, in running order, then the means of those that were repeated.
pub fn table(run: &RunRecord, cells: &[CellRecord], width: usize, colours: bool) -> String {
    let columns = CellColumns::of(run);
    let mut table = FittedTable::new(columns.columns()).coloured(colours.then_some(colour));
    for record in cells {
        let cell = run.planned(record.index);
        let repetition = cell.map_or(String::new(), |cell| cell.repetition.to_string());
        let mut row = columns.name((record.index + 1).to_string(), cell, repetition);
        let Some(result) = &record.result else {
            row.push(String::new());
            row.extend(std::iter::repeat_n("-".to_owned(), 7));
            row.extend([String::new(), String::new(), record.state.name().to_owned()]);
            table.row(row);
            continue;
        };
        row.extend(figures(&RowFigures::of(&result.total), if result.ops.len() > 1 { "all" } else { "" }));
        row.extend([steady(result).to_owned(), limit(result), result.verdict.validity.name().to_owned()]);
        table.row(row);
        // A single operation equals the total.
        for op in result.ops.iter().filter(|_| result.ops.len() > 1) {
            let mut row = columns.name(String::new(), None, String::new());
            row.extend(figures(&RowFigures::of(op), op.op.map_or("", OpKind::name)));
            table.row(row);
        }
    }
    if columns.repetitions {
        means(run, cells).into_iter().for_each(|mean| {
            let of = format!("1-{}", mean.results.len());
            let mut row = columns.name("mean".into(), Some(mean.planned), of);
            let over = mean.figures();
            row.extend(figures(&over, ""));
            row.extend([String::new(), String::new(), mean.worst(&over).name().to_owned()]);
            table.row(row);
        });
    }
    table.text(width, "")
}

/// The figures shown in a row.
struct RowFigures {
    bytes_per_s: Option<Estimate>,
    ops_per_s: Estimate,
    /// p50, p99, p99.9; `None` if no operation ended.
    response_ns: Option<[u64; 3]>,
}

impl RowFigures {
    fn of(op: &OpSummary) -> Self {
        let response = &op.response;
        Self {
            bytes_per_s: (op.bytes > 0).then_some(op.bytes_per_s),
            ops_per_s: op.ops_per_s,
            response_ns: (response.count > 0).then_some([response.p50_ns, response.p99_ns, response.p999_ns]),
        }
    }
}

fn figures(of: &RowFigures, op: &str) -> Vec<String> {
    let nothing = || "-".to_owned();
    let time = |at: usize| of.response_ns.map_or_else(nothing, |times| latency(times[at]));
    let bytes = of.bytes_per_s.as_ref();
    vec![
        op.to_owned(),
        bytes.map_or_else(nothing, |rate| ByteRate(rate.mean).to_string()),
        bytes.map_or_else(nothing, half_width),
        OpRate(of.ops_per_s.mean).to_string().trim_end_matches("/s").to_owned(),
        half_width(&of.ops_per_s),
        time(0),
        time(1),
        time(2),
    ]
}

/// The repetitions of one point.
struct RepeatedPoint<'a> {
    planned: &'a Cell,
    results: Vec<&'a CellResult>,
}

impl RepeatedPoint<'_> {
    /// Means over the repetitions, with intervals from their own spread.
    fn figures(&self) -> RowFigures {
        let over = |value: &dyn Fn(&CellResult) -> f64| {
            let values: Vec<f64> = self.results.iter().map(|result| value(result)).collect();
            stats::estimate_of_repetitions(&values)
        };
        let bytes = self.results.iter().any(|result| result.total.bytes > 0);
        let ended = self.results.iter().all(|result| result.total.response.count > 0);
        let time = |value: &dyn Fn(&CellResult) -> u64| over(&|result| value(result) as f64).mean as u64;
        RowFigures {
            bytes_per_s: bytes.then(|| over(&|result| result.total.bytes_per_s.mean)),
            ops_per_s: over(&|result| result.total.ops_per_s.mean),
            response_ns: ended.then(|| {
                [
                    time(&|result| result.total.response.p50_ns),
                    time(&|result| result.total.response.p99_ns),
                    time(&|result| result.total.response.p999_ns),
                ]
            }),
        }
    }

    /// The worst verdict of its repetitions; also a worse one if they differ too much from each other.
    fn worst(&self, figures: &RowFigures) -> Validity {
        let verdicts = self.results.iter().map(|result| result.verdict.validity);
        let worst = verdicts.max().unwrap_or(Validity::Invalid);
        if figures.ops_per_s.relative_half_width() > WIDEST_INTERVAL {
            worst.max(Validity::Warn)
        } else {
            worst
        }
    }
}

/// The points that were measured more than once, in the order of their first cells.
fn means<'a>(run: &'a RunRecord, cells: &'a [CellRecord]) -> Vec<RepeatedPoint<'a>> {
    let mut points: Vec<RepeatedPoint<'a>> = Vec::new();
    for record in cells {
        let planned = run.planned(record.index);
        let (Some(planned), Some(result)) = (planned, &record.result) else { continue };
        let same = |point: &&mut RepeatedPoint<'_>| {
            point.planned.workload_name == planned.workload_name && point.planned.point == planned.point
        };
        match points.iter_mut().find(same) {
            Some(point) => point.results.push(result),
            None => points.push(RepeatedPoint { planned, results: vec![result] }),
        }
    }
    points.retain(|point| point.results.len() > 1);
    points
}

/// Whether it was steady, if a rule judged it.
fn steady(result: &CellResult) -> &'static str {
    match (result.points.len(), result.steady.judgement()) {
        (0, SteadyJudgement::NotJudged) => "-",
        (0, judgement) => judgement.words(),
        _ => "study",
    }
}

/// The limit in a word; the sentence below the table gives the reason.
fn limit(result: &CellResult) -> String {
    let Some(limit) = &result.limit else { return "-".into() };
    match limit.bound {
        Bound::None => "none".into(),
        bound => bound.words().trim_end_matches("-bound").trim_end_matches("-limited").to_owned(),
    }
}

fn colour(_column: usize, text: &str) -> Option<TextColour> {
    match text {
        "VALID" => Some(TextColour::Good),
        "WARN" | "interrupted" | "pending" => Some(TextColour::Doubtful),
        "INVALID" | "failed" => Some(TextColour::Bad),
        _ => None,
    }
}
