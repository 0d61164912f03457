//! `manometer list`: lists the runs in a results file.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use store::{BaselineContent, RunSummary, Store};
use units::Size;

use super::destination::BufferedOutput;
use super::{ResultsFile, ResultsFormat, ended, words};
use crate::messages::{self, Messages};

/// Version of `schemas/list.schema.json`. Adding a field does not raise it; removing or redefining one does.
const VERSION: u32 = 1;

/// Lists stored runs, oldest first: id, name, what made it, time, state, verdict.
///
/// Exit code: 0 listed, 1 the file cannot be read, 2 wrong usage or no such file.
#[derive(Args, Debug)]
pub struct ListArguments {
    #[command(flatten)]
    file: ResultsFile,
    /// List the named baselines instead of the runs
    #[arg(long)]
    baselines: bool,
    /// Format of the list
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: ResultsFormat,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    schema_version: u32,
    manometer_version: &'static str,
    file: &'a Path,
    file_bytes: u64,
    layout: i64,
    runs: &'a [RunSummary],
}

/// Shows the list; returns the process's exit code.
pub fn run(arguments: &ListArguments, messages: &Messages) -> u8 {
    ended(list(arguments), messages)
}

fn list(arguments: &ListArguments) -> Result<()> {
    let store = arguments.file.open()?;
    if arguments.baselines {
        return baselines(&store, arguments.output);
    }
    let runs = store.summaries()?;
    let mut out = BufferedOutput::open(None, store.path())?;
    out.write_all(
        match arguments.output {
            ResultsFormat::Text => text(&store, &runs, messages::width()),
            ResultsFormat::Json => json(&store, &runs)?,
        }
        .as_bytes(),
    )?;
    Ok(out.finish()?)
}

/// Lists the baselines; as JSON they are an array.
fn baselines(store: &Store, format: ResultsFormat) -> Result<()> {
    let kept = store.baselines()?;
    let mut out = BufferedOutput::open(None, store.path())?;
    let text = match format {
        ResultsFormat::Json => serde_json::to_string_pretty(&kept)? + "\n",
        ResultsFormat::Text if kept.is_empty() => {
            "no baselines yet; next: keep one with `manometer run FILE --save-baseline NAME`\n".to_owned()
        }
        ResultsFormat::Text => {
            let rows = kept.iter().map(|baseline| {
                let (kind, of) = match &baseline.content {
                    BaselineContent::Run { run, cells, .. } => {
                        (format!("run {run}"), runner::cell_count(cells.len()))
                    }
                    BaselineContent::Network(matrix) => (
                        "network".to_owned(),
                        format!("{} hosts, {} links", matrix.hosts.len(), matrix.links.len()),
                    ),
                };
                let most = baseline.bytes_per_s("", None).map_or_else(|| "-".to_owned(), words::bytes);
                vec![words::plain(&baseline.name), words::moment(baseline.kept), kind, of, most]
            });
            let titles = [("name", 0), ("kept", 1), ("of", 0), ("holds", 2), ("up to", 0)];
            words::table(&titles, 4, rows.collect(), (messages::width(), ""))
        }
    };
    out.write_all(text.as_bytes())?;
    Ok(out.finish()?)
}

fn json(store: &Store, runs: &[RunSummary]) -> Result<String> {
    let document = Document {
        schema: "manometer.list",
        schema_version: VERSION,
        manometer_version: env!("CARGO_PKG_VERSION"),
        file: store.path(),
        file_bytes: store.bytes(),
        layout: store::VERSION,
        runs,
    };
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn text(store: &Store, runs: &[RunSummary], width: usize) -> String {
    let rows = runs.iter().map(row).collect::<Vec<_>>();
    let mut out = if rows.is_empty() {
        String::new()
    } else {
        let titles = [
            ("id", 0),
            ("name", 0),
            ("began (UTC)", 0),
            ("kind", 2),
            ("state", 0),
            ("verdict", 0),
            ("took", 1),
            ("cells", 0),
        ];
        words::table(&titles, 6, rows, (width, "")) + "\n"
    };
    let kept = match runs.len() {
        0 => "no runs yet".to_owned(),
        1 => "1 run".to_owned(),
        several => format!("{several} runs"),
    };
    out.push_str(&format!("{}: {kept}, {}\n", store.path().display(), Size(store.bytes()).rounded()));
    if let Some(run) = runs.iter().rfind(|run| run.abandoned) {
        let next = match run.kind.as_str() {
            "run" => format!("`manometer run --resume {}` goes on", run.id),
            maker => format!(
                "`manometer cleanup` removes what it left, `manometer {}` begins anew",
                words::plain(maker)
            ),
        };
        out.push_str(&format!("abandoned: its process is gone; {next}\n"));
    }
    out
}

fn row(run: &RunSummary) -> Vec<String> {
    let took = run.finished.map(|finished| finished.duration_since(run.started).as_secs_f64());
    vec![
        run.id.clone(),
        words::plain(&run.name),
        run.started.strftime("%Y-%m-%d %H:%M").to_string(),
        words::plain(&run.kind),
        if run.abandoned { "abandoned" } else { words::state(run.state) }.to_owned(),
        words::verdict(run.verdict).to_owned(),
        took.map_or_else(|| "-".into(), words::seconds),
        match run.cells_failed {
            0 => format!("{}/{}", run.cells_done, run.cells),
            failed => format!("{}/{}, {failed} failed", run.cells_done, run.cells),
        },
    ]
}
