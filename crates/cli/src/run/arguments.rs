//! The arguments of `manometer run`, verbatim.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use units::Span;

use super::brief::BriefArguments;
use crate::exports::LiveExportArguments;
use crate::fleet::FleetArguments;

/// Runs an experiment: a matrix of workloads, each measured until it is steady, judged and stored.
///
/// The experiment is a file, or a target's URL with flags that describe the load: `manometer run
/// nfs://filer/export --read 70% --block-size 4KiB,64KiB --queue-depth 32 --for 30s`. The run first prints
/// the file that the URL and flags stand for; --print-experiment prints only that.
///
/// Before creating anything, the run checks every target from every host: does it answer, is access allowed,
/// does the data fit? It reports all problems at once and does not start if there are any.
///
/// Each cell is prepared (every byte really is written), warmed up, measured until the experiment's rule
/// calls it steady or its time is up, verified if asked, and stored in the results file as it progresses.
/// Everything created is removed at the end.
///
/// Ctrl-C once ends the current measurement, stores it and cleans up; twice stops at once; three times exits
/// without cleaning up and lists what is left.
///
/// Exit code: 0 every cell ran and every gate held; 1 a gate failed, data differed from what was written, a
/// target was unusable or a cell failed; 2 wrong usage or a fault in the file; 129, 130 or 143 interrupted.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES, args_override_self = true)]
pub struct RunArguments {
    /// The experiment file (YAML), or the URL of a target, such as file:///mnt/data, nfs://filer/export,
    /// s3://bucket?endpoint=http://host:9000 or block:///dev/nvme1n1; a file whose name looks like a URL is ./NAME
    #[arg(value_name = "FILE|URL")]
    pub source: Option<PathBuf>,
    /// Set a parameter of the file: --set name=value; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    pub set: Vec<(String, String)>,
    /// Show the cells, the data to be written and the expected time, and check the targets from every host;
    /// nothing is created or written
    #[arg(long, conflicts_with_all = ["resume", "live"])]
    pub dry_run: bool,
    /// Skip the check of the targets (reachable, allowed, enough space); --dry-run then contacts nothing
    #[arg(long)]
    pub no_preflight: bool,
    /// Print the experiment file that the URL and flags stand for, and exit
    #[arg(long, conflicts_with_all = ["resume", "dry_run", "live"])]
    pub print_experiment: bool,
    /// Resume an interrupted run at its first unfinished cell: its id, its name or `last`
    #[arg(long, value_name = "RUN")]
    pub resume: Option<String>,
    /// Allow overwriting this block device, iSCSI unit or RBD image (its URL), or named file although it holds data; must be exactly the
    /// one in use; may be repeated
    #[arg(long, value_name = "DEVICE|FILE|URL")]
    pub destroy: Vec<PathBuf>,

    /// After each measurement, try half and twice as much in flight for this long each, outside the figures:
    /// the verdict on the limit then rests on a test, not on inference [without a value: 5s]
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = "5s", conflicts_with = "resume")]
    pub probe: Option<Span>,

    /// What is done to the target of a URL
    #[command(flatten)]
    pub brief: BriefArguments,

    /// Results file [default: the file's `results`, else $XDG_DATA_HOME/manometer/results.sqlite]
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub results: Option<PathBuf>,
    /// Save the results as a baseline of this name, replacing an older one; later runs can be compared with
    /// it
    #[arg(long, value_name = "NAME", help_heading = "Results")]
    pub save_baseline: Option<String>,
    /// Also show each cell as a share of this baseline, and whether the difference is significant (text
    /// output)
    #[arg(long, value_name = "NAME", help_heading = "Results")]
    pub baseline: Option<String>,
    /// Format of the result on standard output
    #[arg(short, long, value_name = "FORMAT", default_value = "text", help_heading = "Results")]
    pub output: SummaryFormat,
    /// Write the output to this file; standard output then shows the text
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub output_file: Option<PathBuf>,

    /// The hosts that do it
    #[command(flatten)]
    pub fleet: FleetArguments,

    /// Show a full-screen live view; q closes the view, not the run
    #[arg(long, help_heading = "While it runs")]
    pub live: bool,

    /// Where measurements go besides
    #[command(flatten)]
    pub exports: LiveExportArguments,

    /// How I/O is submitted to the kernel unless the target says: auto, uring, epoll (threads for files),
    /// uring+iopoll, uring+sqpoll, uring+iopoll+sqpoll, or uring+batch (fewer wake-ups; latencies read up to
    /// 250 µs high)
    #[arg(long, value_name = "KIND", default_value = "auto", help_heading = "Load")]
    pub reactor: reactor::BackendChoice,
    /// Directory for journals of what must be removed [default: $XDG_STATE_HOME/manometer/journal]
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
