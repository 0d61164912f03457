//! `manometer smallfile`: runs smallfile's command lines.

use std::path::Path;
use std::sync::Arc;

use ::smallfile::output::{SmallfileReport, prelude};
use ::smallfile::{Request, SmallfileContext};
use clap::{Args, CommandFactory};
use runner::{JobsOutcome, RunOptions, timestamp};
use targets::ProcessEnvironment;

use crate::exit::{self, CommandError};
use crate::interrupt::{self, Manner};
use crate::live::{RunView, Show, WithoutNotes, line};
use crate::messages::Messages;
use crate::stdout;

/// Runs unchanged smallfile command lines and YAML files.
///
/// Each thread goes once through its own numbered files below --top. The names are smallfile's, so that a later command finds the
/// files of an earlier one, also those that smallfile made; only delete, delete-renamed, rmdir and cleanup remove any. The run is
/// stored like any other (`manometer report last`); printed are smallfile's lines, and --output-json writes its JSON.
///
/// docs/smallfile.md lists what differs from smallfile.
///
/// Exit code: 0 every thread finished, 1 a thread failed or data differed from what was written, 2 wrong usage (nothing was
/// touched), 129, 130 or 143 interrupted.
#[derive(Args, Debug)]
#[command(after_help = HELP, override_usage = "manometer smallfile --operation NAME --top DIRECTORY|URL [--PARAMETER VALUE]...")]
pub struct SmallfileArguments {
    /// Pairs of --name and value, as below; flags are Y or N
    #[arg(value_name = "PARAMETER", allow_hyphen_values = true, trailing_var_arg = true)]
    pub arguments: Vec<String>,
}

const HELP: &str = "\
What to do:
  --operation NAME      create, append, overwrite, truncate-overwrite, read, stat, chmod, setxattr,
                        getxattr, symlink, mkdir, rmdir, readdir, ls-l, rename, delete,
                        delete-renamed, swift-put, swift-get, cleanup [default: cleanup]
  --files N             files of each thread [default: 200]
  --threads N           threads of each host [default: 2]
  --host-set HOSTS      hosts that run it together, over ssh: host1,host2 [default: this one]
  --yaml-input-file FILE
                        parameters from a file, `name: value` each; the command line wins

Files:
  --top DIRECTORIES     where the files are; several, with commas, are used in turn; or an NFS export without mounting
                        it: nfs://host/export [default: /var/tmp/smf]
  --file-size KIB       size of each file [default: 64]
  --file-size-distribution exponential
                        random sizes with this mean, at most eight times as large
  --record-size KIB     size of each read or write; 0: the file's, at most 1 MiB [default: 0]
  --files-per-dir N, --dirs-per-dir N
                        shape of the tree [default: 100, 10]
  --hash-into-dirs Y    spread files over directories by a hash of their number
  --same-dir Y          all threads share the directories
  --permute-host-dirs Y each host works on the files of the next one
  --prefix TEXT, --suffix TEXT
                        parts of the files' names
  --xattr-size BYTES, --xattr-count N
                        extended attributes of each file

How:
  --fsync Y             commit each file that is written
  --pause US            pause before each file, in microseconds
  --verify-read N       do not compare what is read
  --stonewall N         count every thread to its own end, not to that of the first
  --finish N            threads end with the first one

Results:
  --output-json FILE    write smallfile's JSON
  --results FILE        results file [default: $XDG_DATA_HOME/manometer/results.sqlite]

Examples:
  manometer smallfile --operation create --threads 8 --file-size 1024 --files 2048 --top /mnt/gfs/smf
  manometer smallfile --operation read --threads 8 --file-size 1024 --files 2048 --top /mnt/gfs/smf
  manometer smallfile --operation cleanup --threads 8 --files 2048 --top /mnt/gfs/smf
  manometer smallfile --operation create --threads 8 --files 2048 --top nfs://filer/export";

/// Maximum size of a YAML file, in bytes.
const LARGEST_FILE: u64 = 1 << 20;

/// Runs a command line from start to end; returns the process's exit code.
pub fn run(arguments: &SmallfileArguments, messages: &Messages) -> u8 {
    attempt(&arguments.arguments, messages).unwrap_or_else(|refusal| refusal.tell(messages))
}

fn attempt(arguments: &[String], messages: &Messages) -> Result<u8, CommandError> {
    if arguments.iter().any(|argument| argument == "--help" || argument == "-h") {
        stdout::put(help().as_bytes());
        return Ok(0);
    }
    let usage = |error: ::smallfile::ParameterError| CommandError::Usage(error.to_string());
    let mut parameters = ::smallfile::split_arguments(arguments).map_err(usage)?;
    if let Some(file) = parameters.get("yaml-input-file").map(str::to_owned) {
        let text = text_of(&file).map_err(|error| {
            CommandError::Usage(format!(
                "--yaml-input-file {file}: {error}; next: name a file that can be read"
            ))
        })?;
        parameters.add_yaml(&file, &text).map_err(usage)?;
    }
    let request = Request::of(&parameters).map_err(usage)?;
    let directory = std::env::current_dir()
        .map_err(|error| CommandError::Failure(format!("the current directory cannot be found: {error}")))?;
    let names = rustix::system::uname();
    let host = names.nodename().to_string_lossy().into_owned();
    let around = SmallfileContext { directory: &directory.to_string_lossy(), host: &host };
    let plan = ::smallfile::plan(&request, &around).map_err(usage)?;
    if let Some(file) = &request.output_json {
        // An unwritable name is reported before anything runs.
        std::fs::File::create(file).map_err(|error| not_written(file, &error))?;
    }
    stdout::put(prelude(&request).as_bytes());
    let show = if messages.bars().is_some() {
        Show::Line { newline_ns: None, line: line::line }
    } else {
        Show::Nothing
    };
    // The lines of the results say what notes would.
    let view = Arc::new(WithoutNotes(RunView::new(messages, show).map_err(CommandError::Usage)?));
    let stop = interrupt::listen(messages, Manner::Run)?;
    let options = RunOptions {
        results: request.results.as_deref().map(Into::into),
        keep_outcomes: true,
        ..crate::run::of_this_process()?
    };
    let started = timestamp::now();
    let carried = runner::run(plan.clone(), &options, view, &stop, Arc::new(ProcessEnvironment))?;
    let outcome = JobsOutcome::of(plan, &carried, started, timestamp::now());
    let report = SmallfileReport::of(&request, &outcome, &host);
    stdout::put(report.text().as_bytes());
    report.errors().iter().for_each(|line| messages.error(line));
    let code = match exit::of_run(&carried, None, messages) {
        0 => u8::from(report.failed()),
        code => code,
    };
    if let Some(file) = &request.output_json {
        let text = serde_json::to_string_pretty(&report.json())
            .map_err(|error| CommandError::Failure(format!("--output-json {file}: {error}")))?;
        std::fs::write(file, text + "\n").map_err(|error| not_written(file, &error))?;
    }
    if messages.bars().is_some() {
        messages.note(&format!("run {id}: `manometer show {id}` has the percentiles", id = outcome.run));
    }
    Ok(code)
}

fn not_written(file: &str, error: &std::io::Error) -> CommandError {
    CommandError::Usage(format!("--output-json {file}: {error}; next: name a file that can be written"))
}

fn text_of(file: &str) -> std::io::Result<String> {
    let size = Path::new(file).metadata()?.len();
    if size > LARGEST_FILE {
        return Err(std::io::Error::other(format!("it has {size} bytes, which no list of parameters needs")));
    }
    std::fs::read_to_string(file)
}

/// The same page as `manometer help smallfile`.
fn help() -> String {
    let mut command = crate::Cli::command();
    let smallfile = command.find_subcommand_mut("smallfile").expect("it is one of the commands");
    smallfile.render_long_help().to_string()
}
