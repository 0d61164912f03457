//! Job files in a test's own directory, run by the real program.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;
use store::{CellRecord, Event, Store};
use tempfile::TempDir;

use crate::support::{Ended, run};

/// A directory with job files, their data files, a results file and a journal.
pub struct FioLab {
    pub directory: TempDir,
}

impl FioLab {
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Writes a file.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    /// `manometer COMMAND` in the directory, isolated from this process's environment.
    pub fn command(&self, command: &str) -> Command {
        let mut program = Command::new(env!("CARGO_BIN_EXE_manometer"));
        program.arg(command).stdin(Stdio::null()).current_dir(self.directory.path());
        program.env("HOME", self.directory.path());
        for name in ["XDG_DATA_HOME", "XDG_STATE_HOME"] {
            program.env_remove(name);
        }
        program.args(["--results".into(), self.path("results.sqlite")]);
        if matches!(command, "fio" | "run") {
            program.args(["--journal-dir".into(), self.path("journal")]);
        }
        program
    }

    /// Runs a job file.
    pub fn run(&self, text: &str) -> Ended {
        let file = self.file("job.fio", text);
        run(self.command("fio").arg(file))
    }

    /// Runs a job file, or the given arguments, with JSON on standard output.
    pub fn json(&self, arguments: &[&str]) -> (Ended, Value) {
        let ended = run(self.command("fio").arg("--output-format=json").args(arguments));
        let json = serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:#?}"));
        (ended, json)
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

    /// The start event of a cell's load in the last run.
    pub fn begun(&self, cell: u32) -> Event {
        let store = self.store();
        let run = store.run("last").unwrap();
        let events = store.events(&run.id).unwrap();
        let begins = |event: &Event| event.cell == Some(cell) && event.text == "measure begins";
        events.into_iter().find(begins).unwrap()
    }
}
