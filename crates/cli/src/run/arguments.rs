//! What the user typed after `manometer run`, verbatim.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::brief::BriefArguments;
use crate::fleet::FleetArguments;

/// Carries out an experiment: a matrix of workloads, each measured until it is steady, kept and judged.
///
/// The experiment is a file, or the URL of a target with flags that say what is done to it:
/// `manometer run nfs://filer/export --read 70% --block-size 4KiB,64KiB --queue-depth 32 --for 30s`. What a URL and
/// flags stand for is shown as a file, which --print-experiment prints alone.
///
/// Before anything is made every target is looked at from every host: whether it answers, may be used and has room for
/// the data. All that is wrong is said at once, and the run does not begin.
///
/// Each cell is prepared (every byte is really written), warmed up, measured until the rule of the
/// experiment calls it steady or its time is over, verified if asked, and kept in the results file
/// as it goes. What was created is removed at the end.
///
/// Ctrl-C once ends the measurement under way, keeps it and cleans up; twice stops at once; a third
/// time leaves without cleaning up and says what is left.
///
/// Exit code: 0 every cell ran and every gate held, 1 a gate failed, data was not what was written, a
/// target or a cell could not be used or errors ended it, 2 wrong usage or a fault in the file, 129, 130 or 143 interrupted.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct RunArguments {
    /// The experiment file (YAML), or the URL of a target, such as file:///mnt/data, nfs://filer/export,
    /// s3://bucket?endpoint=http://host:9000 or block:///dev/nvme1n1; a file whose name looks like a URL is ./NAME
    #[arg(value_name = "FILE|URL")]
    pub source: Option<PathBuf>,
    /// Give a parameter of the file a value: --set name=value; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// Show the cells, the bytes to be written and the time expected, and look at the targets from every host; nothing is made or written
    #[arg(long, conflicts_with_all = ["resume", "live"])]
    pub dry_run: bool,
    /// Do not look at the targets first, whether they answer, may be used and have room: --dry-run then contacts nothing
    #[arg(long)]
    pub no_preflight: bool,
    /// Print the experiment file that a URL and flags stand for, and do nothing else
    #[arg(long, conflicts_with_all = ["resume", "dry_run", "live"])]
    pub print_experiment: bool,
    /// Go on with an interrupted run at its first unfinished cell: its id, its name or `last`
    #[arg(long, value_name = "RUN")]
    pub resume: Option<String>,
    /// Block device that may be overwritten although it holds data; must be the very device of the target
    #[arg(long, value_name = "DEVICE")]
    pub destroy: Option<PathBuf>,

    /// What is done to the target of a URL
    #[command(flatten)]
    pub brief: BriefArguments,

    /// Results file [default: the file's `results`, else $XDG_DATA_HOME/manometer/results.sqlite]
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub results: Option<PathBuf>,
    /// Keep the results under this name, in place of what it stood for: later runs can be held against them
    #[arg(long, value_name = "NAME", help_heading = "Results")]
    pub save_baseline: Option<String>,
    /// Also show, in text, which share of this named baseline each cell reached, and how sure a difference is
    #[arg(long, value_name = "NAME", help_heading = "Results")]
    pub baseline: Option<String>,
    /// What is shown on standard output at the end
    #[arg(short, long, value_name = "FORMAT", default_value = "text", help_heading = "Results")]
    pub output: SummaryFormat,
    /// Also write the output to this file; standard output then has the text
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub output_file: Option<PathBuf>,

    /// The hosts that do it
    #[command(flatten)]
    pub fleet: FleetArguments,

    /// Watch in a full-screen view; q leaves the view, not the run
    #[arg(long, help_heading = "While it runs")]
    pub live: bool,

    /// How the kernel is asked for I/O where the target does not say: auto, uring, epoll (threads for files),
    /// uring+iopoll, uring+sqpoll, uring+iopoll+sqpoll, or uring+batch (fewer wake-ups, latencies up to 250 µs too long)
    #[arg(long, value_name = "KIND", default_value = "auto", help_heading = "Load")]
    pub reactor: reactor::BackendChoice,
    /// Where journals of what must be removed are kept [default: $XDG_STATE_HOME/manometer/journal]
    #[arg(long, value_name = "DIRECTORY", help_heading = "Load")]
    pub journal_dir: Option<PathBuf>,
}

/// What comes out at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SummaryFormat {
    /// A table for people.
    Text,
    /// One JSON document: the run, its cells and their results (schemas/run.schema.json).
    Json,
}

const EXAMPLES: &str = "\
Examples:
  manometer run file:///mnt/data --read 70% --block-size 4KiB,64KiB --queue-depth 1,32 --for 30s
  manometer run 's3://bucket?endpoint=http://host:9000' --read --object-size 1MiB --queue-depth 16
  manometer run nfs://filer/export --op stat --queue-depth 32 --print-experiment > stat.yaml
  manometer run examples/experiments/quick-local.yaml --dry-run
  manometer run examples/experiments/quick-local.yaml --set directory=/mnt/data --live
  manometer run examples/experiments/disk-baseline.yaml --set target=file:///mnt/data --save-baseline new-disks
  manometer run examples/experiments/disk-baseline.yaml --set target=file:///mnt/data --baseline new-disks
  manometer run --resume last
  manometer report last && manometer compare RUN1 RUN2";

/// Splits `name=value`.
fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_may_hold_an_equals_sign() {
        assert_eq!(pair("url=sim:?latency=1ms").unwrap(), ("url".into(), "sim:?latency=1ms".into()));
        assert!(pair("url").is_err());
        assert!(pair("=1").is_err());
    }
}
