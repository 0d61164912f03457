//! `manometer init`: writes an experiment file to start from.

use std::fs::OpenOptions;
use std::io::{self, BufRead, IsTerminal, Write};

use clap::Args;
use experiment::{BriefExperiment, Settings, is_url, kind_of};

use crate::exit::CommandError;
use crate::messages::Messages;
use crate::run::brief::BriefArguments;

/// Default file name.
const FILE: &str = "experiment.yaml";

/// Writes a commented experiment file for a target and a load; asks for what is missing.
///
/// Takes the flags of `manometer run URL`. Without a URL it asks on the terminal for the target, the share of
/// reads and their size. The file is checked before it is written; an existing file is never overwritten.
///
/// Exit code: 0 written, 1 the file cannot be written, 2 wrong usage, a fault in the URL or a flag, or the file exists.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct InitArguments {
    /// The file to write (- for standard output) [default: experiment.yaml], and the target's URL
    #[arg(value_name = "FILE|URL", num_args = 0..=2)]
    names: Vec<String>,
    /// What is done to the target
    #[command(flatten)]
    brief: BriefArguments,
}

const EXAMPLES: &str = "\
Examples:
  manometer init
  manometer init nightly.yaml nfs://filer/export --read 70% --block-size 4KiB,64KiB --queue-depth 1,32
  manometer init - 's3://bucket?endpoint=http://host:9000' --write | less";

/// Writes the file; returns the process's exit code.
pub fn run(arguments: InitArguments, messages: &Messages) -> u8 {
    match attempt(arguments, messages) {
        Ok(()) => 0,
        Err(refusal) => refusal.tell(messages),
    }
}

fn attempt(mut arguments: InitArguments, messages: &Messages) -> Result<(), CommandError> {
    let (mut urls, files): (Vec<_>, Vec<_>) =
        std::mem::take(&mut arguments.names).into_iter().partition(|name| is_url(targets::kinds(), name));
    urls.extend(arguments.brief.misplaced_url());
    let (file, url) = match (files.as_slice(), urls.as_slice()) {
        ([], [] | [_]) => (FILE.to_owned(), urls.pop()),
        ([file], [] | [_]) => (file.clone(), urls.pop()),
        ([], _) => {
            return Err(CommandError::Usage(
                "two URLs: an experiment that is begun has one target".to_owned(),
            ));
        }
        ([_, second, ..], _) => {
            return Err(CommandError::Usage(format!(
                "{second:?} is no URL of a target; next: write one such as file:///mnt/data or nfs://filer/export"
            )));
        }
        ([_], _) => return Err(CommandError::Usage("one FILE and one URL are enough".to_owned())),
    };
    // Checked before the questions: answering them in vain would be a nuisance.
    let standard_output = file == "-";
    if !standard_output && std::fs::symlink_metadata(&file).is_ok() {
        return Err(exists(&file));
    }
    let experiment = match url {
        Some(url) => arguments.brief.experiment(&url),
        None => ask(&arguments.brief)?,
    };
    let text = experiment.commented(targets::kinds());
    text.parse(&Settings::of(targets::kinds())).map_err(|faults| CommandError::Faults(faults.to_string()))?;
    if standard_output {
        return crate::stdout::print(text.as_str(), "name a file");
    }
    let written = OpenOptions::new().write(true).create_new(true).open(&file);
    written.and_then(|mut out| out.write_all(text.as_str().as_bytes())).map_err(|error| {
        match error.kind() {
            io::ErrorKind::AlreadyExists => exists(&file),
            _ => CommandError::Failure(format!("{file}: {error}; next: name a file that can be written")),
        }
    })?;
    messages.note(&format!("wrote {file}; next: manometer run {file} --dry-run"));
    Ok(())
}

fn exists(file: &str) -> CommandError {
    CommandError::Usage(format!(
        "{file} exists and is not overwritten; next: name another file, or - for standard output"
    ))
}

/// Asks on the terminal for the target and for anything that no flag gives.
fn ask(brief: &BriefArguments) -> Result<BriefExperiment, CommandError> {
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        let line = "name the URL of a target, such as manometer init nightly.yaml nfs://filer/export; without a terminal \
                    nothing can be asked";
        return Err(CommandError::Usage(line.to_owned()));
    }
    let url = answer(
        "Which target? file:///DIRECTORY, nfs://HOST/EXPORT, s3://BUCKET?endpoint=http://HOST:PORT, \
                      block:///dev/DEVICE …",
        "file:///tmp",
    )?;
    let mut experiment = brief.experiment(&url);
    if experiment.read.is_none() && experiment.write.is_none() && experiment.ops.is_empty() {
        experiment.read = Some(answer("How much of it is read? The rest is written.", "70%")?);
    }
    let whole = kind_of(targets::kinds(), &url).is_some_and(|kind| kind.objects && !kind.ranges);
    if whole && experiment.object_size.is_none() {
        experiment.object_size = Some(answer("Objects of which size?", "8MiB")?);
    }
    if !whole && experiment.block_size.is_none() {
        experiment.block_size =
            Some(answer("Blocks of which size? Several with commas are all measured.", "4KiB,64KiB")?);
    }
    Ok(experiment)
}

/// The answer, or `otherwise` for an empty line.
fn answer(question: &str, otherwise: &str) -> Result<String, CommandError> {
    let ended = |error: io::Error| CommandError::Failure(format!("no answer: {error}"));
    let mut err = io::stderr().lock();
    write!(err, "{question} [{otherwise}] ").and_then(|()| err.flush()).map_err(ended)?;
    let mut line = String::new();
    if io::stdin().lock().read_line(&mut line).map_err(ended)? == 0 {
        return Err(ended(io::ErrorKind::UnexpectedEof.into()));
    }
    let line = line.trim();
    Ok(if line.is_empty() { otherwise.to_owned() } else { line.to_owned() })
}
