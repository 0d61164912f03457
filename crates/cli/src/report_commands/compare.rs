//! `manometer compare`: is the second run better, worse or the same?

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};
use report::{CompareOptions, Document, Metric, RunComparison, RunSeries};
use store::{BaselineContent, RunRecord, Store, StoreError};
use units::Share;

use super::{ended, write};
use crate::messages::{Messages, terminal_width};
use crate::results::{ResultsFile, WrongInput};

/// Compares runs, or a run with a named baseline: each cell's difference, its 95 % interval and significance.
///
/// Matches cells by workload, target and parameters, or by workload and parameters where the targets differ;
/// repetitions of a cell form one sample. With more than two runs, each is compared with the first and with
/// the previous one; with four or more, changes of level are found and the trend is tested. The test is
/// Welch's t-test, on the means of the repetitions if there are several, else on the effective samples of the
/// reported window, with p-values adjusted for multiple comparisons (Holm). Other differences between the runs
/// (kernel, versions, settings) and results without a steady state are listed.
///
/// Single runs describe the minutes in which they were measured. A difference between them is unconfirmed:
/// it takes three repetitions on each side, or `steady: sustained`, to tell a change from a target that
/// changes by itself.
///
/// Exit code: 0 compared; 1 a regression with --fail-on-regression, or a file cannot be read or written; 2
/// wrong usage, no such run, or no cell in common; 3 an unconfirmed regression with --fail-on-regression.
#[derive(Args, Debug)]
pub struct CompareArguments {
    /// The runs, the reference first: an id or the beginning of one, a name, `last`, `last~1`, FILE:RUN,
    /// one cell as RUN#CELL, or a workload as RUN#WORKLOAD [default: `last~1 last`; with one run: that run and `last`; with --baseline:
    /// `last`]
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// Compare the last COUNT runs of the most recent experiment, oldest first
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["runs", "baseline"], value_parser = clap::value_parser!(u32).range(2..))]
    last: Option<u32>,
    /// Compare with the baseline saved by `manometer run --save-baseline NAME`; FILE:NAME takes it from
    /// another results file
    #[arg(long, value_name = "NAME")]
    baseline: Option<String>,
    #[command(flatten)]
    file: ResultsFile,
    /// Exit with 1 if a cell is significantly worse, by more than this share; with 3 if only single runs say so
    #[arg(long, value_name = "SHARE", value_parser = share)]
    fail_on_regression: Option<Share>,
    /// Metric to compare: bandwidth, rate, entries (listed per second), p50, p99 or mean, of one operation if named
    /// (read.p99); may be repeated [default: bandwidth, or rate where no bytes moved; p99 for a given rate; rate for a
    /// search or sweep; and entries of operations that list]
    #[arg(long, value_name = "METRIC")]
    metric: Vec<String>,
    /// Format on standard output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    output: Format,
    /// Also write an HTML page that overlays the runs' charts
    #[arg(short = 'o', long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// A share; rejects a bare number above 1 as a percentage without its sign.
fn share(text: &str) -> Result<Share, String> {
    match text.parse::<f64>() {
        Ok(percent) if percent > 1.0 && percent <= 100.0 => {
            Err(format!("{text} is more than the whole; did you mean {text}%?"))
        }
        _ => text.parse().map_err(|error: units::ParseError| error.to_string()),
    }
}

/// How a comparison is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// One document, as in schemas/comparison.schema.json.
    Json,
    /// For a merge request.
    Markdown,
}

impl Format {
    /// Writes a comparison in this format, building only the form needed.
    fn write(
        self,
        text: impl FnOnce(Option<u16>) -> String,
        json: impl FnOnce() -> serde_json::Value,
        markdown: impl FnOnce() -> String,
    ) -> Result<String> {
        Ok(match self {
            Format::Text => text(terminal_width()),
            Format::Json => serde_json::to_string_pretty(&json())? + "\n",
            Format::Markdown => markdown(),
        })
    }
}

/// Compares the runs; returns the process's exit code.
pub fn run(arguments: &CompareArguments, messages: &Messages) -> u8 {
    ended(compare(arguments, messages), messages)
}

fn compare(arguments: &CompareArguments, messages: &Messages) -> Result<u8> {
    let metrics: Result<Vec<Metric>, _> = arguments.metric.iter().map(|text| text.parse()).collect();
    let metrics = metrics.map_err(|error: report::MetricError| WrongInput(format!("--metric: {error}")))?;
    let threshold = arguments.fail_on_regression.map_or(0.0, Share::value);
    let whole = arguments.html.is_some();
    let documents = documents(arguments, whole)?;
    let options = CompareOptions { metrics, threshold };
    let compared = match documents.as_slice() {
        [a, b] => of_two(a, b, arguments, &options)?,
        several => of_several(several, arguments, &options)?,
    };
    if let (Some(path), Some(page)) = (&arguments.html, &compared.page) {
        write(Some(path), &documents[documents.len() - 1].run, "html", page, messages)?;
    }
    if arguments.html.as_deref() != Some(Path::new("-")) {
        let mut out = io::stdout().lock();
        out.write_all(compared.text.as_bytes())?;
        out.flush()?;
    }
    if compared.nothing {
        let why = "the runs have no cell in common that two of them measured; next: compare runs of the same experiment";
        return Err(WrongInput(why.into()).into());
    }
    Ok(match arguments.fail_on_regression {
        Some(_) if compared.regressions > 0 => 1,
        Some(_) if compared.unconfirmed_regressions > 0 => UNCONFIRMED,
        _ => 0,
    })
}

/// A comparison in the requested form.
struct Compared {
    /// Text for standard output.
    text: String,
    /// Page for a file, if requested.
    page: Option<String>,
    /// Whether no cell could be compared.
    nothing: bool,
    regressions: u64,
    unconfirmed_regressions: u64,
}

/// The exit code when a regression was found that single runs cannot confirm.
const UNCONFIRMED: u8 = 3;

fn of_two(
    a: &Document,
    b: &Document,
    arguments: &CompareArguments,
    options: &CompareOptions,
) -> Result<Compared> {
    let mut found = RunComparison::of(a, b, options);
    if let Some(name) = &arguments.baseline {
        found = found.with_baseline(name);
    }
    let text = arguments.output.write(|width| found.text(width), || found.json(), || found.markdown())?;
    let page = arguments.html.is_some().then(|| found.html(a, b));
    let (regressions, unconfirmed_regressions) = (found.regressions, found.unconfirmed_regressions);
    Ok(Compared { text, page, nothing: found.cells.is_empty(), regressions, unconfirmed_regressions })
}

fn of_several(runs: &[Document], arguments: &CompareArguments, options: &CompareOptions) -> Result<Compared> {
    let found = RunSeries::of(&runs.iter().collect::<Vec<_>>(), options);
    let text = arguments.output.write(|width| found.text(width), || found.json(), || found.markdown())?;
    let page = arguments.html.is_some().then(|| found.html());
    let (regressions, unconfirmed_regressions) = (found.regressions, found.unconfirmed_regressions);
    Ok(Compared { text, page, nothing: found.cells.is_empty(), regressions, unconfirmed_regressions })
}

/// The named runs, at least two.
fn documents(arguments: &CompareArguments, whole: bool) -> Result<Vec<Document>> {
    let file = &arguments.file;
    if let Some(count) = arguments.last {
        return last_runs(count as usize, file, whole);
    }
    let named = |name: &str| load(name, file, whole);
    let mut found = Vec::new();
    let names = match (&arguments.baseline, arguments.runs.as_slice()) {
        (Some(name), runs) => {
            found.push(load_baseline(name, file, whole));
            if runs.is_empty() { vec!["last"] } else { runs.iter().map(String::as_str).collect() }
        }
        (None, []) => vec!["last~1", "last"],
        (None, [one]) => vec![one, "last"],
        (None, runs) => runs.iter().map(String::as_str).collect(),
    };
    found.extend(names.into_iter().map(named));
    all(found)
}

/// The latest runs of the most recent run's experiment, oldest first.
fn last_runs(count: usize, file: &ResultsFile, whole: bool) -> Result<Vec<Document>> {
    let store = file.open()?;
    let last = store.run("last")?;
    let mut runs: Vec<_> = store.runs()?.into_iter().filter(|run| run.name == last.name).collect();
    runs.sort_by_key(|run| run.started);
    if runs.len() < 2 {
        let why =
            format!("--last {count}: {:?} ran only once; next: run it again, or name two runs", last.name);
        return Err(WrongInput(why).into());
    }
    let kept = runs.len().saturating_sub(count);
    runs.into_iter().skip(kept).map(|run| document(&store, run, whole)).collect()
}

/// All of them, or the errors of all that were not found.
fn all(found: Vec<Result<Document>>) -> Result<Vec<Document>> {
    let unknown = |error: &anyhow::Error| matches!(error.downcast_ref(), Some(StoreError::Unknown { .. }));
    let mut missing: Vec<String> = Vec::new();
    for error in found.iter().filter_map(|one| one.as_ref().err()).filter(|error| unknown(error)) {
        let text = error.to_string();
        if !missing.contains(&text) {
            missing.push(text);
        }
    }
    match missing.len() {
        0 | 1 => found.into_iter().collect(),
        _ => Err(WrongInput(missing.join("; and ")).into()),
    }
}

/// A run of the default results file, or of another one: `FILE:RUN`; `RUN#CELL` selects a cell, `RUN#WORKLOAD`
/// those of a workload.
fn load(text: &str, file: &ResultsFile, whole: bool) -> Result<Document> {
    let (run, cell) = match text.rsplit_once('#') {
        Some((run, number)) => (run, Some(number)),
        None => (text, None),
    };
    let (store, run) = place(run, file)?;
    let mut document = document(&store, store.run(run)?, whole)?;
    if let Some(cell) = cell {
        select(&mut document, cell)
            .map_err(|why| WrongInput(format!("{text:?}: {why}; next: manometer show {run}")))?;
    }
    Ok(document)
}

/// Keeps one cell, by its number from 1, or the cells of a workload with all their repetitions, by its name.
fn select(document: &mut Document, wanted: &str) -> Result<(), String> {
    if let Ok(number) = wanted.parse::<usize>() {
        let there = document.cells.len();
        if !(1..=there).contains(&number) {
            return Err(format!("the run has cells 1 to {there}"));
        }
        document.cells = vec![document.cells.swap_remove(number - 1)];
        return Ok(());
    }
    let workload = |index: u32| document.planned(index).map(|planned| planned.workload_name.clone());
    let names: Vec<Option<String>> = document.cells.iter().map(|cell| workload(cell.record.index)).collect();
    if !names.iter().flatten().any(|name| name == wanted) {
        let known: BTreeSet<&str> = names.iter().flatten().map(String::as_str).collect();
        return Err(format!("the run has the workloads {}", Vec::from_iter(known).join(", ")));
    }
    let mut names = names.into_iter();
    document.cells.retain(|_| names.next().flatten().as_deref() == Some(wanted));
    Ok(())
}

fn document(store: &Store, run: RunRecord, whole: bool) -> Result<Document> {
    Ok(if whole { Document::load(store, run)? } else { Document::load_records(store, run)? })
}

/// The run kept as a baseline, in the default results file or another one: `FILE:NAME`.
fn load_baseline(text: &str, file: &ResultsFile, whole: bool) -> Result<Document> {
    let (store, name) = place(text, file)?;
    let kept = store.baseline(name)?;
    let Some(document) = Document::of_baseline(&kept) else {
        let why = match &kept.content {
            BaselineContent::Network(_) => "is a network baseline, but a comparison needs a run",
            BaselineContent::Run { .. } => "was kept by an earlier version, without what a comparison needs",
        };
        let next = format!("next: manometer show RUN --baseline {name} says which share of it was reached");
        return Err(WrongInput(format!("--baseline {name}: {why}; {next}")).into());
    };
    // As long as the run itself is stored, its curves are available too.
    match store.run(&document.run.id) {
        Ok(run) if whole => Ok(Document::load(&store, run)?),
        _ => Ok(document),
    }
}

/// The default results file, or the one before the last colon; and the rest.
fn place<'a>(text: &'a str, file: &ResultsFile) -> Result<(Store, &'a str)> {
    Ok(match text.rsplit_once(':') {
        Some((path, rest)) if !path.is_empty() => (Store::open_existing(Path::new(path))?, rest),
        _ => (file.open()?, text),
    })
}
