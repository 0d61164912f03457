//! `manometer compare`: is the second run better, worse or the same?

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};
use report::{CompareOptions, Document, Metric, RunComparison};
use store::{BaselineContent, Store, StoreError};
use units::Share;

use super::{ended, write};
use crate::messages::{Messages, terminal_width};
use crate::results::show::baseline::document;
use crate::results::{ResultsFile, WrongInput};

/// Compares two runs, or a run with a named baseline, cell by cell: the difference with its 95 % interval, and whether it is one.
///
/// Cells of the same workload, target and point are compared; repetitions of a point are one sample. The test is
/// Welch's t-test, on the repetitions' means where there are several, else on the effective samples of the reported
/// window; p-values are adjusted for the number of comparisons (Holm). What else differs between the runs (kernel,
/// versions, settings) and what is not steady is said.
///
/// Exit code: 0 compared, 1 a regression with --fail-on-regression or a file cannot be read or written, 2 wrong
/// usage, no such run, or nothing in common.
#[derive(Args, Debug)]
pub struct CompareArguments {
    /// The run to compare with: an id, the beginning of one, a name, `last`, `last~1`, or FILE:RUN; with --baseline the one
    /// to be judged [default: `last~1`, with --baseline `last`]
    #[arg(value_name = "A")]
    a: Option<String>,
    /// The run to be judged, in the same forms [default: last]
    #[arg(value_name = "B")]
    b: Option<String>,
    /// Compare with what was kept under this name by `manometer run --save-baseline NAME`, which may be in another file as
    /// FILE:NAME
    #[arg(long, value_name = "NAME", conflicts_with = "b")]
    baseline: Option<String>,
    #[command(flatten)]
    file: ResultsFile,
    /// Exit with 1 when a cell is worse by more than this, and surely worse
    #[arg(long, value_name = "SHARE", value_parser = share)]
    fail_on_regression: Option<Share>,
    /// What is compared: bandwidth, rate, p50, p99 or mean, of one operation if it is named (read.p99); may be
    /// repeated [default: bandwidth, or rate where no bytes moved; p99 where a rate was given; rate of a search or sweep]
    #[arg(long, value_name = "METRIC")]
    metric: Vec<String>,
    /// How it is written to standard output
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    output: Format,
    /// Also write a page with the latency curves of both runs over each other
    #[arg(short = 'o', long, value_name = "FILE")]
    html: Option<PathBuf>,
}

/// A share, of which a bare number above 1 is a percentage that lacks its sign.
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
    /// One document, after schemas/comparison.schema.json.
    Json,
    /// For a merge request.
    Markdown,
}

/// Compares; the process's exit code.
pub fn run(arguments: &CompareArguments, messages: &Messages) -> u8 {
    ended(compare(arguments, messages), messages)
}

fn compare(arguments: &CompareArguments, messages: &Messages) -> Result<u8> {
    let metrics: Result<Vec<Metric>, _> = arguments.metric.iter().map(|text| text.parse()).collect();
    let metrics = metrics.map_err(|error: report::MetricError| WrongInput(format!("--metric: {error}")))?;
    let threshold = arguments.fail_on_regression.map_or(0.0, Share::value);
    let whole = arguments.html.is_some();
    let run = |named: &Option<String>, otherwise: &str| {
        load(named.as_deref().unwrap_or(otherwise), &arguments.file, whole)
    };
    let (a, b) = match &arguments.baseline {
        Some(name) => (load_baseline(name, &arguments.file, whole), run(&arguments.a, "last")),
        None => (run(&arguments.a, "last~1"), run(&arguments.b, "last")),
    };
    let (a, b) = both(a, b)?;
    let mut comparison = RunComparison::of(&a, &b, &CompareOptions { metrics, threshold });
    if let Some(name) = &arguments.baseline {
        comparison = comparison.with_baseline(name);
    }
    if let Some(path) = &arguments.html {
        write(Some(path), &b.run, "html", &comparison.html(&a, &b), messages)?;
    }
    if arguments.html.as_deref() != Some(Path::new("-")) {
        let text = match arguments.output {
            Format::Text => comparison.text(terminal_width()),
            Format::Json => serde_json::to_string_pretty(&comparison.json())? + "\n",
            Format::Markdown => comparison.markdown(),
        };
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()?;
    }
    if comparison.cells.is_empty() {
        return Err(WrongInput(format!(
            "{} and {} have no cell in common that both measured; next: compare runs of the same experiment",
            a.run.id, b.run.id
        ))
        .into());
    }
    let regressed = arguments.fail_on_regression.is_some() && comparison.regressions > 0;
    Ok(u8::from(regressed))
}

/// Both, or what is wrong with either.
fn both(a: Result<Document>, b: Result<Document>) -> Result<(Document, Document)> {
    let unknown = |error: &anyhow::Error| matches!(error.downcast_ref(), Some(StoreError::Unknown { .. }));
    match (a, b) {
        (Err(a), Err(b)) if unknown(&a) && unknown(&b) && a.to_string() != b.to_string() => {
            Err(WrongInput(format!("{a}; and {b}")).into())
        }
        (a, b) => Ok((a?, b?)),
    }
}

/// A run of the results file, or of another one: `FILE:RUN`.
fn load(text: &str, file: &ResultsFile, whole: bool) -> Result<Document> {
    let (store, run) = place(text, file)?;
    let run = store.run(run)?;
    Ok(if whole { Document::load(&store, run)? } else { Document::load_records(&store, run)? })
}

/// The run that was kept as a baseline, of this results file or of another one: `FILE:NAME`.
fn load_baseline(text: &str, file: &ResultsFile, whole: bool) -> Result<Document> {
    let (store, name) = place(text, file)?;
    let baseline = store.baseline(name)?;
    let Some(document) = document(&baseline) else {
        let why = match &baseline.content {
            BaselineContent::Network(_) => "is of a network, and a comparison needs a run",
            BaselineContent::Run { .. } => "was kept by an earlier version, without what a comparison needs",
        };
        let next = format!("next: manometer show RUN --baseline {name} says which share of it was reached");
        return Err(WrongInput(format!("--baseline {name}: {why}; {next}")).into());
    };
    // While the run itself is kept, its curves are too.
    match store.run(&document.run.id) {
        Ok(run) if whole => Ok(Document::load(&store, run)?),
        _ => Ok(document),
    }
}

/// The results file, or the one before the last colon; and the rest.
fn place<'a>(text: &'a str, file: &ResultsFile) -> Result<(Store, &'a str)> {
    Ok(match text.rsplit_once(':') {
        Some((path, rest)) if !path.is_empty() => (Store::open_existing(Path::new(path))?, rest),
        _ => (file.open()?, text),
    })
}
