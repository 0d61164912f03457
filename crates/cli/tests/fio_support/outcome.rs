//! Runs a job file and collects its results.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::case::{Case, Expected, corpus};

/// The program that runs the job files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Program {
    /// `manometer fio`.
    Ours,
    /// fio at this path.
    Fio(String),
}

/// The results.
pub struct Outcome {
    /// Where it ran.
    pub directory: TempDir,
    /// The exit code.
    pub code: i32,
    /// Its JSON; null if there is none.
    pub json: Value,
    /// Standard output and standard error.
    pub said: String,
}

/// Runs a job file in a new directory.
pub fn run(case: &Case, program: &Program) -> Outcome {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut command = match program {
        Program::Ours => {
            let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
            let results = tempfile_beside(directory.path(), "results.sqlite");
            command.arg("fio").arg(format!("--results={results}"));
            command.arg(format!("--journal-dir={}", tempfile_beside(directory.path(), "journal")));
            command
        }
        Program::Fio(path) => Command::new(path),
    };
    command.current_dir(directory.path()).stdin(Stdio::null()).env("HOME", directory.path());
    for (what, value) in &case.given {
        let (kind, name) = what.split_once(':').unwrap_or((what, ""));
        match kind {
            "file" => {
                std::fs::write(directory.path().join(name), vec![0x5a; value.parse().unwrap()]).unwrap()
            }
            "directory" => std::fs::create_dir(directory.path().join(name)).unwrap(),
            "copy" => drop(std::fs::copy(corpus().join(name), directory.path().join(name)).unwrap()),
            "env" => drop(command.env(name, value)),
            "port" => drop(command.env(name, free_port().to_string())),
            _ => panic!("{}: given {what}?", case.name),
        }
    }
    std::fs::copy(&case.path, directory.path().join("job.fio")).unwrap();
    let output = directory.path().join("out.json");
    command.args(["--output-format=json", "--output=out.json"]).args(&case.arguments).arg("job.fio");
    let ended = guarded(command);
    let text = std::fs::read_to_string(&output).unwrap_or_default();
    // fio writes notes before its JSON.
    let json = text.find("{\n").and_then(|at| serde_json::from_str(&text[at..]).ok()).unwrap_or(Value::Null);
    let said = [&ended.stdout[..], &ended.stderr[..], text.as_bytes()].concat();
    Outcome {
        directory,
        code: ended.status.code().unwrap_or(-1),
        json,
        said: String::from_utf8_lossy(&said).chars().take(4000).collect(),
    }
}

/// Runs a command and kills it if it does not end: a guard against hangs, not a measurement.
fn guarded(mut command: Command) -> std::process::Output {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (gone, ended) = std::sync::mpsc::channel::<()>();
    let id = child.id().to_string();
    let guard = std::thread::spawn(move || {
        if ended.recv_timeout(GUARD) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let _ = Command::new("kill").args(["-KILL", &id]).status();
        }
    });
    let mut streams = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let errors = std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = streams.1.read_to_end(&mut bytes);
        bytes
    });
    let mut stdout = Vec::new();
    let _ = streams.0.read_to_end(&mut stdout);
    let status = child.wait().unwrap();
    drop(gone);
    guard.join().unwrap();
    std::process::Output { status, stdout, stderr: errors.join().unwrap() }
}

/// Maximum time for a job file on the slowest machine.
const GUARD: Duration = Duration::from_secs(120);

/// A path outside the job's files: in a dot directory.
fn tempfile_beside(directory: &Path, name: &str) -> String {
    let hidden = directory.join(".manometer");
    std::fs::create_dir_all(&hidden).unwrap();
    hidden.join(name).display().to_string()
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Outcome {
    /// The jobs in the output.
    pub fn jobs(&self) -> &[Value] {
        self.json["jobs"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Sizes of all files that the jobs left, by name.
    pub fn files(&self) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        walk(self.directory.path(), "", &mut all);
        all.retain(|name, _| name != "job.fio" && name != "out.json");
        all
    }

    /// A figure of the jobs with this name, or of all.
    fn figure(&self, job: Option<&str>, figure: &str) -> u64 {
        let (direction, which) = figure.split_once('.').unwrap_or(("", figure));
        let key = match which {
            "ops" => "total_ios",
            "bytes" => "io_bytes",
            _ => panic!("figure {figure}?"),
        };
        let directions = if direction == "total" { vec!["read", "write", "trim"] } else { vec![direction] };
        self.jobs()
            .iter()
            .filter(|entry| job.is_none_or(|job| entry["jobname"] == job))
            .flat_map(|entry| directions.iter().map(|direction| entry[*direction][key].as_u64().unwrap_or(0)))
            .sum()
    }

    /// Checks an expectation; returns why it is not met.
    pub fn check(&self, expected: &Expected) -> Result<(), String> {
        let (job, what) = match expected.what.split_once(':') {
            Some((kind @ ("file" | "absent" | "lines" | "holds"), name)) => {
                return self.check_file(kind, name, expected);
            }
            Some((job, what)) => (Some(job), what),
            None => (None, expected.what.as_str()),
        };
        let of_job = |key: &str| {
            let entry = self.jobs().iter().find(|entry| job.is_some_and(|job| entry["jobname"] == job));
            entry.and_then(|entry| entry[key].as_u64())
        };
        let found = match what {
            "exit" => u64::try_from(self.code).ok(),
            "jobs" => Some(self.jobs().len() as u64),
            "files" => Some(self.files().len() as u64),
            "error" => of_job("error"),
            "group" => of_job("groupid"),
            figure => Some(self.figure(job, figure)),
        };
        match found {
            Some(found) if expected.range().contains(&found) => Ok(()),
            found => Err(format!("{} is {found:?} instead of {}", expected.what, expected.value)),
        }
    }

    fn check_file(&self, kind: &str, name: &str, expected: &Expected) -> Result<(), String> {
        let path = self.directory.path().join(name);
        let content = || std::fs::read(&path).map_err(|error| format!("{name}: {error}"));
        match kind {
            "absent" if path.exists() => Err(format!("{name} is there")),
            "absent" => Ok(()),
            "file" => {
                let found = std::fs::metadata(&path).map_err(|error| format!("{name}: {error}"))?.len();
                let right = expected.range().contains(&found);
                if right {
                    Ok(())
                } else {
                    Err(format!("{name} has {found} bytes instead of {}", expected.value))
                }
            }
            "lines" => {
                let found = content()?.iter().filter(|byte| **byte == b'\n').count() as u64;
                let right = expected.range().contains(&found);
                if right {
                    Ok(())
                } else {
                    Err(format!("{name} has {found} lines instead of {}", expected.value))
                }
            }
            _ => {
                let digits = expected.value.as_bytes().chunks(2);
                let pattern: Vec<u8> = digits
                    .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap())
                    .collect();
                let content = content()?;
                let wrong =
                    content.iter().zip(pattern.iter().cycle()).position(|(byte, wanted)| byte != wanted);
                wrong.map_or(Ok(()), |at| Err(format!("{name} does not hold {} at {at}", expected.value)))
            }
        }
    }
}

fn walk(directory: &Path, prefix: &str, all: &mut BTreeMap<String, u64>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let kind = entry.metadata().unwrap();
        if kind.is_dir() && !name.starts_with('.') {
            walk(&entry.path(), &format!("{name}/"), all);
        } else if !kind.is_dir() {
            all.insert(name, kind.len());
        }
    }
}
