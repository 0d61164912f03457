//! The arguments of `manometer fio`. fio's command line does not follow clap's rules: the `fio` crate parses it; this
//! module has the help, and combines the program options.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use fio::output::{Formats, TerseVersion};

use crate::exit::CommandError;

/// Runs unchanged fio job files, with fio's command line.
///
/// Each job becomes a cell of an experiment; jobs that fio runs concurrently form a group. The run is stored like any other
/// (`manometer report last`) and shown in manometer's table, or in fio's formats with --output-format. Files that a job
/// names are used, overwritten and kept, as fio does.
///
/// An unsupported option is an error that names its file, its line and the nearest supported option; docs/fio-options.md lists
/// them all.
///
/// Exit code: 0 every job succeeded, 1 a job failed or data differed from what was written, 2 wrong usage or faults in the
/// job files (nothing was touched), 129, 130 or 143 interrupted.
#[derive(Args, Debug)]
#[command(after_help = HELP, override_usage = "manometer fio [OPTIONS] [JOB OPTIONS] [JOBFILE]...")]
pub struct FioArguments {
    /// Job files (`-` is standard input), the options below, and after --name=JOB any job option such as --rw=read
    #[arg(value_name = "JOBFILE", allow_hyphen_values = true, trailing_var_arg = true)]
    pub arguments: Vec<String>,
}

const HELP: &str = "\
Jobs on the command line:
  --name=JOB            start a job; the job options that follow belong to it
  --OPTION=VALUE        a job option; before the first --name it applies to all jobs
  --section=NAME        run only this section of the job files; may be repeated

Output:
  --output=FILE         write the output to a file instead of standard output
  --output-format=LIST  fio's formats instead of the table: normal, json, json+, terse;
                        separate several with commas
  --minimal             terse; --append-terse adds it, --terse-version=2..5 selects it [default: 3]
  --eta=WHEN            progress line on standard error: auto (on a terminal), always, never;
                        --eta-newline=TIME keeps a line every TIME
  --status-interval=TIME
                        write the figures so far every TIME, in the chosen formats
  --live                show a full-screen live view; q closes the view, not the run

Without running anything:
  --convert             write the experiment file that the jobs stand for, for `manometer run`
  --parse-only          only check whether the jobs can run
  --version, --help

On other hosts:
  --client=HOSTS        run the jobs on these hosts, over ssh: a host, a list, node[01-16] or a
                        file with one host per line; may be repeated

Safety and results:
  --readonly            refuse jobs that write or trim
  --destroy=DEVICE|URL  allow overwriting this block device, iSCSI unit or RBD image although it holds data
  --ignore-unsupported  warn about unsupported options instead of refusing them
  --warnings-fatal      treat warnings as errors
  --results=FILE        results file [default: $XDG_DATA_HOME/manometer/results.sqlite]
  --save-baseline=NAME  save the results as a baseline of this name, replacing an older one
  --baseline=NAME       also show each job as a share of this baseline, below manometer's table
  --journal-dir=DIR     directory for journals of what must be removed
  --reactor=KIND        how I/O is submitted to the kernel unless the job says: auto, uring, epoll

Examples:
  manometer fio job.fio
  manometer fio --name=a --rw=randread --bs=4k --size=1g --iodepth=32 --ioengine=io_uring
  manometer fio --output-format=json --output=out.json --section=read job.fio
  manometer fio --convert job.fio > job.yaml && manometer run job.yaml";

/// What the program options request.
#[derive(Debug)]
pub struct FioInvocation {
    /// The parsed command line.
    pub line: fio::Arguments,
    /// fio's output formats; `None`: manometer's table.
    pub formats: Option<Formats>,
    /// Where the output goes; `None`: standard output.
    pub output: Option<PathBuf>,
    /// The progress line.
    pub progress: ProgressDisplay,
    /// Interval at which interim figures are written.
    pub status_every: Option<Duration>,
}

/// What is shown while jobs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgressDisplay {
    /// When.
    pub when: ProgressWhen,
    /// Interval at which a permanent line is printed, in nanoseconds.
    pub newline_ns: Option<u64>,
}

/// When the progress line is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgressWhen {
    /// On a terminal.
    Auto,
    /// Always; without a terminal, as a line now and then.
    Always,
    /// Never.
    Never,
}

impl ProgressDisplay {
    /// Whether the progress line is shown, depending on whether standard error is a terminal.
    pub fn is_shown(self, terminal: bool) -> bool {
        match self.when {
            ProgressWhen::Auto => terminal,
            ProgressWhen::Always => true,
            ProgressWhen::Never => false,
        }
    }

    /// Whether notes are shown, which are for somebody who watches.
    pub fn tells_notes(self, terminal: bool) -> bool {
        terminal && self.when != ProgressWhen::Never
    }
}

impl FioInvocation {
    /// The request on the command line.
    ///
    /// # Errors
    /// An option has an invalid value: one line.
    pub fn of(line: fio::Arguments) -> Result<Self, CommandError> {
        let formats = formats(&line)?;
        let progress = progress(&line)?;
        let output = line.value("output").map(PathBuf::from);
        let status_every = time(&line, "status-interval")?;
        Ok(Self { formats, output, progress, status_every, line })
    }
}

fn formats(line: &fio::Arguments) -> Result<Option<Formats>, CommandError> {
    let wrong = |text: String| CommandError::Usage(text);
    let version = match line.value("terse-version") {
        None => TerseVersion::default(),
        Some(text) => text
            .parse()
            .ok()
            .and_then(TerseVersion::from_number)
            .ok_or_else(|| wrong(format!("--terse-version={text}: it is 2, 3, 4 or 5")))?,
    };
    let mut formats = match line.value("output-format") {
        None => None,
        Some(list) => Some(
            Formats::from_list(list, version)
                .map_err(|error| wrong(format!("--output-format={list}: {error}")))?,
        ),
    };
    if line.has("minimal") {
        let terse = Formats::from_list("terse", version).map_err(|error| wrong(error.to_string()))?;
        formats = Some(terse);
    }
    if line.has("append-terse") {
        let mut all = formats.unwrap_or(Formats { terse_version: version, ..Formats::default() });
        all.terse = true;
        formats = Some(all);
    }
    Ok(formats)
}

/// The interval that an option gives: at most ten times per second.
fn time(line: &fio::Arguments, option: &str) -> Result<Option<Duration>, CommandError> {
    let Some(text) = line.value(option) else { return Ok(None) };
    let micros = fio::values::time(text, 1_000_000).map_err(|error| {
        CommandError::Usage(format!("--{option}={text}: {error}; write it as --{option}=10s"))
    })?;
    Ok(Some(Duration::from_micros(micros.max(100_000))))
}

fn progress(line: &fio::Arguments) -> Result<ProgressDisplay, CommandError> {
    let newline_ns = time(line, "eta-newline")?.map(|every| every.as_nanos() as u64);
    let when = match line.value("eta") {
        None | Some("auto") => ProgressWhen::Auto,
        Some("always") => ProgressWhen::Always,
        Some("never") => ProgressWhen::Never,
        Some(other) => {
            return Err(CommandError::Usage(format!("--eta={other}: it is always, auto or never")));
        }
    };
    Ok(ProgressDisplay { when, newline_ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(arguments: &[&str]) -> Result<FioInvocation, CommandError> {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        FioInvocation::of(fio::split_arguments(&arguments).unwrap().0)
    }

    #[test]
    fn manometers_table_unless_a_shape_of_fio_is_asked_for() {
        assert!(asked(&["job.fio"]).unwrap().formats.is_none());
        let formats = asked(&["--output-format=normal,json+", "job.fio"]).unwrap().formats.unwrap();
        assert!(formats.normal && formats.json && formats.json_bins && !formats.terse);
        let formats = asked(&["--minimal"]).unwrap().formats.unwrap();
        assert!(formats.terse && !formats.normal);
        let formats = asked(&["--append-terse"]).unwrap().formats.unwrap();
        assert!(formats.terse && formats.normal);
        assert!(asked(&["--output-format=xml"]).is_err());
        assert!(asked(&["--eta=sometimes"]).is_err());
        let shown = ProgressDisplay { when: ProgressWhen::Auto, newline_ns: Some(2_000_000_000) };
        assert_eq!(asked(&["--eta-newline=2s"]).unwrap().progress, shown);
    }

    #[test]
    fn without_a_terminal_nothing_is_told_unless_it_is_asked_for() {
        let told = |arguments: &[&str], terminal| {
            let progress = asked(arguments).unwrap().progress;
            (progress.is_shown(terminal), progress.tells_notes(terminal))
        };
        assert_eq!((told(&[], true), told(&[], false)), ((true, true), (false, false)));
        assert_eq!(told(&["--eta=auto"], false), (false, false));
        assert_eq!(told(&["--eta=always"], false), (true, false));
        assert_eq!(told(&["--eta=never"], true), (false, false));
    }
}
