//! `manometer cleanup`: removes what killed runs left behind, as listed in their journals.

mod heartbeat;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use drivers::tls::FingerprintError;
use provision::{
    ApiSecret, BucketAccess, CleanupOptions, CleanupReport, Helper, Journal, PlaceError, ProvisionError,
    RecordedPlace, RunId, Trust,
};
use targets::{AccessKey, ProcessEnvironment, Removal};
use units::Span;

use crate::exit;
use crate::messages::Messages;
use heartbeat::Heartbeat;

/// Removes what killed runs left on arrays and servers; touches nothing else.
///
/// Every run records what it is about to create in a journal first. This command reads the journals of dead
/// runs and finishes their removal; it is safe to repeat. It refuses to remove anything that does not bear
/// the run's own name (`manometer-` and its id), whatever a journal says. Use --forget for a journal whose
/// server is gone for good.
///
/// Exit code: 0 nothing is left, 1 something could not be removed, 2 wrong usage.
#[derive(Args, Debug)]
pub struct CleanupArguments {
    /// Journal directory [default: $XDG_STATE_HOME/manometer/journal or ~/.local/state/manometer/journal]
    #[arg(long, value_name = "DIRECTORY")]
    journal_dir: Option<PathBuf>,
    /// Forget this run: print what its journal lists and delete the journal, but remove nothing; may be
    /// repeated
    #[arg(long, value_name = "RUN")]
    forget: Vec<RunId>,
    /// Start no further removals after this time
    #[arg(long, value_name = "DURATION", default_value = "10m")]
    time_limit: Span,
    /// File with the array's API token [default: FB_TOKEN from the environment]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Trust the management certificate with this SHA-256 fingerprint, instead of what the run trusted
    #[arg(long, value_name = "SHA256", conflicts_with_all = ["tls_ca", "tls_insecure"])]
    tls_fingerprint: Option<String>,
    /// Trust management certificates signed by a CA in this PEM file
    #[arg(long, value_name = "FILE", conflicts_with = "tls_insecure")]
    tls_ca: Option<PathBuf>,
    /// Do not verify the management certificate
    #[arg(long)]
    tls_insecure: bool,
    /// Timeout of one management API call
    #[arg(long, value_name = "DURATION", default_value = "30s")]
    call_timeout: Span,
    /// File with S3 keys, instead of the one the run used
    #[arg(long, value_name = "FILE")]
    s3_credentials_file: Option<PathBuf>,
    /// Trust the S3 certificate with this SHA-256 fingerprint
    #[arg(long, value_name = "SHA256")]
    s3_tls_fingerprint: Option<String>,
}

/// Runs the clean-up; returns the process's exit code.
pub fn run(arguments: CleanupArguments, messages: &Messages) -> u8 {
    let forgotten = arguments.forget.clone();
    let flag = arguments.journal_dir.as_ref().map(|path| format!(" --journal-dir {}", path.display()));
    let (journal, options, mut helper) = match prepare(arguments) {
        Ok(prepared) => prepared,
        Err(error) => return exit::usage(messages, "cleanup", &error.to_string()),
    };
    if !forgotten.is_empty() {
        return forget(&journal, &forgotten, messages);
    }
    let heartbeat = Heartbeat::start(messages);
    let said = provision::cleanup(&journal, &options, &mut helper, &mut |line| {
        heartbeat.now(line);
        messages.note(line);
    });
    drop(heartbeat);
    match said {
        Err(error) => exit::failure(messages, &error.to_string()),
        Ok(report) if !report.failures.is_empty() => {
            for failure in &report.failures {
                messages.error(failure);
            }
            messages.note(&way_out(&report, &flag.unwrap_or_default()));
            1
        }
        Ok(report) => {
            let alive = match report.alive.len() {
                0 => String::new(),
                some => format!(", {some} still running and left alone"),
            };
            messages.note(&format!("{} runs cleaned up{alive}", report.cleaned.len()));
            0
        }
    }
}

/// What the user can do about journals that could not be cleaned up.
fn way_out(report: &CleanupReport, flag: &str) -> String {
    let runs: Vec<String> = report.unfinished.iter().map(|run| format!(" --forget {run}")).collect();
    format!(
        "next: repeat `manometer cleanup{flag}` when the cause is gone; or, if what is listed is gone already or may \
         stay, `manometer cleanup{flag}{}` deletes the journal and removes nothing",
        runs.concat()
    )
}

/// Deletes the journals of these runs and prints what they listed.
fn forget(journal: &Journal, runs: &[RunId], messages: &Messages) -> u8 {
    let mut code = 0;
    for run in runs {
        match provision::forget(journal, run) {
            Ok(forgotten) => {
                if let Some(cause) = &forgotten.unreadable {
                    messages.warn(&format!("run {run}: {cause}; its lines follow"));
                }
                for resource in &forgotten.not_removed {
                    messages.note(&format!("run {run}: not removed: {resource}"));
                }
                messages.note(&format!(
                    "run {run}: forgotten: its journal is deleted, {} listed in it may still exist",
                    match forgotten.not_removed.len() {
                        0 => "nothing".to_owned(),
                        1 => "the one thing".to_owned(),
                        some => format!("the {some} things"),
                    }
                ));
            }
            Err(error @ ProvisionError::Input(_)) => code = exit::input(messages, &error.to_string()),
            Err(error) => code = exit::failure(messages, &error.to_string()),
        }
    }
    code
}

fn prepare(arguments: CleanupArguments) -> Result<(Journal, CleanupOptions, Keys), ProvisionError> {
    let directory = match &arguments.journal_dir {
        Some(directory) if !directory.is_dir() => {
            return Err(ProvisionError::Input(format!(
                "--journal-dir {}: there is no such directory; next: give the one that the run was given",
                directory.display()
            )));
        }
        Some(directory) => directory.clone(),
        None => Journal::default_directory()?,
    };
    let input = |flag: &str, error: FingerprintError| ProvisionError::Input(format!("{flag}: {error}"));
    let trust = if arguments.tls_insecure {
        Some(Trust::Insecure)
    } else if let Some(path) = arguments.tls_ca {
        Some(Trust::CaFile(path))
    } else if let Some(text) = &arguments.tls_fingerprint {
        Some(Trust::Fingerprint(text.parse().map_err(|error| input("--tls-fingerprint", error))?))
    } else {
        None
    };
    let s3_pinned = match &arguments.s3_tls_fingerprint {
        None => None,
        Some(text) => Some(text.parse().map_err(|error| input("--s3-tls-fingerprint", error))?),
    };
    let token = arguments.token_file.as_deref().map(ApiSecret::from_file).transpose()?;
    let token = token.or_else(|| std::env::var("FB_TOKEN").ok().map(|text| ApiSecret::new(&text)));
    let options =
        CleanupOptions { call_timeout: arguments.call_timeout.0, trust, time_limit: arguments.time_limit.0 };
    let keys = Keys {
        token,
        removal: Removal::new(Arc::new(ProcessEnvironment), arguments.s3_credentials_file, s3_pinned),
    };
    Ok((Journal::open(&directory)?, options, keys))
}

/// Secrets that journals do not contain, and the protocols to use them with.
struct Keys {
    token: Option<ApiSecret>,
    removal: Removal,
}

impl Helper for Keys {
    fn token_for(&mut self, _: &str) -> Option<ApiSecret> {
        self.token.clone().filter(|token| !token.is_empty())
    }

    fn remove(&mut self, place: &RecordedPlace, access: Option<&BucketAccess>) -> Result<(), PlaceError> {
        if let Some(removed) = provisioners::remove_left(place) {
            return Ok(removed?);
        }
        Ok(self.removal.remove(place, access.map(AccessKey::from))?)
    }
}

#[cfg(test)]
mod tests {
    use drivers::file::{FileConfig, FileDriver, Place};
    use targets::{LocalPlace, PlaceEntry};

    use super::*;

    /// A run that was killed after creating a directory: cleanup removes the directory and what manometer put there.
    #[test]
    fn a_local_directory_of_a_killed_run_is_removed() {
        let scratch = tempfile::tempdir().unwrap();
        let journal_dir = scratch.path().join("journal");
        let journal = Journal::open(&journal_dir).unwrap();
        let run = journal.begin(&RunId::random()).unwrap();
        let path = scratch.path().join(run.id().object_name());
        PlaceEntry::of(&LocalPlace::here(path.clone())).record(&run).unwrap();
        let driver = FileDriver::new(FileConfig::new(Place::Directory(path.clone()))).unwrap();
        driver.prepare().unwrap();
        std::fs::write(path.join(format!("{:016x}", 3)), b"data").unwrap();
        drop(run);
        let arguments = CleanupArguments {
            journal_dir: Some(journal_dir.clone()),
            forget: Vec::new(),
            time_limit: Span::from_secs(60),
            token_file: None,
            tls_fingerprint: None,
            tls_ca: None,
            tls_insecure: false,
            call_timeout: Span::from_secs(1),
            s3_credentials_file: None,
            s3_tls_fingerprint: None,
        };
        assert_eq!(super::run(arguments, &Messages::new()), 0);
        assert!(!path.exists());
        assert_eq!(std::fs::read_dir(&journal_dir).unwrap().count(), 0, "the journal is done with");
    }
}
