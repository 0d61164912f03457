//! `cargo xtask test`: all tests, several test programs at a time. Many of them wait for timers, sockets and disks, so that
//! running one after the other leaves processors idle.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::Value;

/// Maximum time of one test program: a guard against hangs.
const DEADLINE: Duration = Duration::from_secs(600);
/// Time between two looks at the programs under way.
const LOOK: Duration = Duration::from_millis(20);

/// Beginnings of the names of variables that describe this crate.
const OF_THIS_CRATE: [&str; 3] = ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"];

/// A command that runs tests.
struct Job {
    /// What it is, and the arguments of `cargo test` that run it again.
    name: String,
    command: Command,
}

/// A job under way.
struct Running {
    name: String,
    child: Child,
    output: File,
    began: Instant,
}

/// Builds all tests with these options of `cargo test` and runs those named `only`, or all if none is named; the names of those
/// that failed. Unlike `cargo test -p CRATE`, that leaves the features of dependencies as they are, so nothing is compiled again.
///
/// # Errors
/// They cannot be built or started, or one that is named does not exist.
pub(crate) fn run(root: &Path, options: &[String], only: &[String]) -> anyhow::Result<Vec<String>> {
    let mut waiting = build(root, options, only)?;
    let mut documents = cargo(root, "test");
    documents.arg("--doc").args(options);
    waiting.push_back(Job { name: "--doc".to_owned(), command: documents });
    let mut waiting = chosen(waiting, only)?;
    // One more than processors: while one waits, the others are not enough to keep them busy.
    let slots = std::thread::available_parallelism().map_or(2, usize::from) + 1;
    let (programs, began) = (waiting.len(), now());
    let (mut running, mut failed): (Vec<Running>, Vec<String>) = (Vec::new(), Vec::new());
    while !(waiting.is_empty() && running.is_empty()) {
        while running.len() < slots
            && let Some(job) = waiting.pop_front()
        {
            running.push(start(job)?);
        }
        let mut index = 0;
        while index < running.len() {
            match ended(&mut running[index])? {
                Some(good) => {
                    let done = running.swap_remove(index);
                    let name = done.name.clone();
                    show(done)?;
                    failed.extend((!good).then_some(name));
                }
                None => index += 1,
            }
        }
        std::thread::sleep(LOOK);
    }
    println!("\n{programs} test programs in {:.0} s, {} failed", began.elapsed().as_secs_f64(), failed.len());
    Ok(failed)
}

#[allow(
    clippy::disallowed_methods,
    reason = "nothing is measured here, and the workspace's clock is not a dependency"
)]
fn now() -> Instant {
    Instant::now()
}

fn cargo(root: &Path, subcommand: &str) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")));
    command.arg(subcommand).current_dir(root);
    // What `cargo run` says of this crate; build scripts would take it for a change, and much would be compiled again.
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| OF_THIS_CRATE.iter().any(|prefix| name.starts_with(prefix))) {
            command.env_remove(name);
        }
    }
    command
}

/// Builds the test programs; those of whole programs and crates before those of single modules, because they last longer.
fn build(root: &Path, options: &[String], only: &[String]) -> anyhow::Result<VecDeque<Job>> {
    let mut command = cargo(root, "test");
    command
        .args(["--no-run", "--message-format=json-render-diagnostics"])
        .args(options)
        .args(selectors(only));
    let built = command.stderr(Stdio::inherit()).output().context("cargo cannot be started")?;
    if !built.status.success() {
        bail!("the tests cannot be built");
    }
    let mut jobs = Vec::new();
    for line in String::from_utf8(built.stdout)?.lines() {
        let message: Value = serde_json::from_str(line).with_context(|| format!("cargo printed {line:?}"))?;
        jobs.extend(job(&message));
    }
    jobs.sort_by_key(|job| (!job.name.contains(" --test "), job.name.clone()));
    Ok(jobs.into())
}

/// Cargo's options for the targets in these names, each once: some are built only if they are named.
fn selectors(only: &[String]) -> Vec<&str> {
    let targets: BTreeSet<&str> = only.iter().filter_map(|name| name.splitn(3, ' ').nth(2)).collect();
    targets.into_iter().flat_map(|target| target.split(' ')).collect()
}

/// The jobs with these names, or all if there are no names.
fn chosen(mut jobs: VecDeque<Job>, only: &[String]) -> anyhow::Result<VecDeque<Job>> {
    if let Some(unknown) = only.iter().find(|name| jobs.iter().all(|job| job.name != **name)) {
        bail!(
            "--only {unknown:?}: there is no such test program; next: a name as in '-p store --test records'"
        );
    }
    jobs.retain(|job| only.is_empty() || only.contains(&job.name));
    Ok(jobs)
}

/// The test program that a message of cargo announces.
fn job(message: &Value) -> Option<Job> {
    let executable = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
    let manifest = PathBuf::from(message["manifest_path"].as_str()?);
    let directory = manifest.parent()?;
    let kind = message["target"]["kind"][0].as_str()?;
    let package = package(message["package_id"].as_str()?);
    let target = message["target"]["name"].as_str()?;
    let name = match kind {
        "test" | "bin" | "example" => format!("-p {package} --{kind} {target}"),
        _ => format!("-p {package} --lib"),
    };
    let mut command = Command::new(executable);
    command.current_dir(directory).env("CARGO_MANIFEST_DIR", directory);
    Some(Job { name, command })
}

/// The name in a package's id: `path+file:///…/crates/cli#manometer@0.1.0` or, if the directory has it, `…/crates/wire#0.1.0`.
fn package(id: &str) -> &str {
    let (path, fragment) = id.split_once('#').unwrap_or((id, ""));
    match fragment.split_once('@') {
        Some((name, _)) => name,
        None => path.rsplit('/').next().unwrap_or(path),
    }
}

fn start(job: Job) -> anyhow::Result<Running> {
    let Job { name, mut command } = job;
    let output = scratch().context("no temporary file can be created")?;
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
    let child = command.spawn().with_context(|| format!("{name} cannot be started"))?;
    Ok(Running { name, child, output, began: now() })
}

/// A file without a name. A pipe would be read to its end only when everything that a test left running has ended.
fn scratch() -> std::io::Result<File> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::env::temp_dir().join(format!("xtask-test-{}-{number}", std::process::id()));
    let file = File::options().create_new(true).read(true).write(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Whether a job succeeded; `None` while it runs.
fn ended(running: &mut Running) -> anyhow::Result<Option<bool>> {
    if let Some(status) = running.child.try_wait()? {
        return Ok(Some(status.success()));
    }
    if running.began.elapsed() < DEADLINE {
        return Ok(None);
    }
    running.child.kill()?;
    running.child.wait()?;
    println!("{}: stopped after {} s", running.name, DEADLINE.as_secs());
    Ok(Some(false))
}

/// Prints what a job printed, whole.
fn show(mut done: Running) -> anyhow::Result<()> {
    let mut text = Vec::new();
    done.output.rewind()?;
    done.output.read_to_end(&mut text)?;
    let seconds = done.began.elapsed().as_secs_f64();
    println!("\n     Ran {} ({seconds:.1} s)\n{}", done.name, String::from_utf8_lossy(&text).trim_end());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_named_by_their_id() {
        assert_eq!(package("path+file:///a/crates/cli#manometer@0.1.0"), "manometer");
        assert_eq!(package("path+file:///a/crates/wire#0.1.0"), "wire");
    }

    #[test]
    fn only_test_programs_are_run() {
        let message = |test: bool, kind: &str| {
            serde_json::json!({
                "executable": "/t/a-1", "manifest_path": "/w/a/Cargo.toml", "profile": {"test": test},
                "package_id": "path+file:///w/a#0.1.0", "target": {"kind": [kind], "name": "b"},
            })
        };
        assert!(job(&message(false, "bin")).is_none());
        assert_eq!(job(&message(true, "test")).unwrap().name, "-p a --test b");
        assert_eq!(job(&message(true, "lib")).unwrap().name, "-p a --lib");
    }

    #[test]
    fn named_programs_are_chosen_and_an_unknown_name_is_refused() {
        let jobs = || {
            ["-p a --lib", "-p a --test b"]
                .map(|name| Job { name: name.to_owned(), command: Command::new("true") })
                .into()
        };
        let names = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|&name| name.to_owned()).collect();
            chosen(jobs(), &only).map(|jobs| jobs.iter().map(|job| job.name.clone()).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap().len(), 2);
        assert_eq!(names(&["-p a --test b"]).unwrap(), ["-p a --test b"]);
        let only = ["-p a --test b", "-p c --test b", "-p a --lib"].map(str::to_owned);
        assert_eq!(selectors(&only), ["--lib", "--test", "b"]);
        assert!(names(&["-p a --test c"]).unwrap_err().to_string().contains("-p a --test c"));
    }

    #[test]
    fn a_failure_is_seen() {
        let status = |code: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("echo said; exit {code}")]);
            let mut running = start(Job { name: "a".to_owned(), command }).unwrap();
            loop {
                if let Some(good) = ended(&mut running).unwrap() {
                    return good;
                }
            }
        };
        assert!(status("0") && !status("1"));
    }
}
