//! Experiments in a test's own directory, run by the real program.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use store::{CellRecord, CellResult, State, Store};
use tempfile::TempDir;

use crate::support::{Ended, run, wait_until};

/// A directory with a results file, a journal and data.
pub struct Lab {
    pub directory: TempDir,
}

impl Lab {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("data")).unwrap();
        Self { directory }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Directory for file targets.
    pub fn data(&self) -> PathBuf {
        self.path("data")
    }

    /// An experiment file; `DATA` in it is the data directory.
    pub fn experiment(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text.replace("DATA", &self.data().display().to_string())).unwrap();
        path
    }

    /// `manometer run`, isolated from this process's environment.
    pub fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
        command.arg("run").stdin(Stdio::null()).env("HOME", self.directory.path());
        for name in
            ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "XDG_DATA_HOME", "XDG_STATE_HOME"]
        {
            command.env_remove(name);
        }
        command.args(["--results".into(), self.path("results.sqlite")]);
        command.args(["--journal-dir".into(), self.path("journal")]);
        command
    }

    /// Runs an experiment.
    pub fn run(&self, text: &str) -> Ended {
        let file = self.experiment("experiment.yaml", text);
        run(self.command().arg(file))
    }

    /// The same, also returning its JSON output.
    pub fn run_json(&self, text: &str) -> (Ended, Value) {
        let file = self.experiment("experiment.yaml", text);
        let ended = run(self.command().arg(file).args(["--output", "json"]));
        let json = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:#?}"));
        (ended, json)
    }

    /// Waits until a run is under way and its first cell has this many intervals; ended runs do not count.
    pub fn wait_for_intervals(&self, count: usize) {
        wait_until("an interval", || {
            let Ok(store) = Store::open_existing(&self.path("results.sqlite")) else { return false };
            let Ok(record) = store.run("last") else { return false };
            let intervals = || store.intervals(&record.id, 0, "measure", 0, 0..u32::MAX);
            record.state == State::Running && intervals().is_ok_and(|all| all.count() >= count)
        });
    }

    pub fn store(&self) -> Store {
        Store::open_existing(&self.path("results.sqlite")).unwrap()
    }

    /// The cells of the last run.
    pub fn cells(&self) -> Vec<CellRecord> {
        let store = self.store();
        let run = store.run("last").unwrap();
        store.cells(&run.id).unwrap()
    }

    /// The results of the last run, all of which must exist.
    pub fn results(&self) -> Vec<CellResult> {
        self.cells()
            .into_iter()
            .map(|cell| cell.result.unwrap_or_else(|| panic!("{:?}", cell.failure)))
            .collect()
    }

    /// No journal and no data of a run is left.
    pub fn assert_clean(&self) {
        assert_eq!(names(&self.path("journal")), Vec::<String>::new(), "a journal was left");
        let left: Vec<String> =
            names(&self.data()).into_iter().filter(|name| name.starts_with("manometer-")).collect();
        assert_eq!(left, Vec::<String>::new(), "data was left");
    }
}

/// The contents of a directory, in order.
pub fn names(directory: &Path) -> Vec<String> {
    let Ok(list) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<String> =
        list.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
