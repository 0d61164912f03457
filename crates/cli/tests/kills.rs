//! Kills at random moments, each followed by `manometer cleanup`: only what existed before remains.
//!
//! `MANOMETER_KILLS` sets their number (40), `MANOMETER_KILLS_SEED` their moments (1); `tests/kills/run.sh` sets both.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod run_support;
mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use run_support::{Lab, names};
use rustix::process::Signal;
use support::{Ended, Stage, run, start, wait_until};

/// Latest time of a kill, in milliseconds: some commands have ended before it.
const LATEST_MS: u64 = 1000;

const FILES: &str = "
targets: {t: 'file://DATA'}
workloads: {w: {ops: {read: 50%, write: 50%}, files: 8, file_size: 256KiB, block_size: 4KiB}}
stages: {warm_up: 0s, measure: {at_least: 200ms, at_most: 200ms}}
matrix: {block_size: [4KiB, 8KiB]}
steady: none
";

const REMOTE: &str = "
targets:
  nfs: {url: 'NFS_URL', mount_port: MOUNT_PORT}
  s3: S3_URL
workloads:
  files: {target: nfs, ops: {read: 50%, write: 50%}, block_size: 32KiB, files: 8, file_size: 256KiB, queue_depth: 4}
  objects: {target: s3, ops: {get: 50%, put: 50%}, objects: 16, object_size: 64KiB, queue_depth: 4}
stages: {warm_up: 0s, measure: {at_least: 200ms, at_most: 200ms}}
steady: none
";

/// An array with an export, a bucket and its keys, and a directory for files.
struct Scene {
    stage: Stage,
    lab: Lab,
    keys: (String, String),
}

impl Scene {
    fn new() -> Self {
        let mut stage = Stage::plain(1);
        stage.make_file_system("projects", "*(rw,no_root_squash)");
        let keys = stage.make_bucket("archive");
        stage.remember();
        let lab = Lab::new();
        lab.experiment("files.yaml", FILES);
        lab.experiment("remote.yaml", &stage.filled(REMOTE));
        Self { stage, lab, keys: (keys.access, keys.secret) }
    }

    /// The commands to kill, in turn.
    fn command(&self, number: u64) -> Command {
        let short = ["--duration", "200ms"];
        let mut command = match number % 4 {
            0 => {
                let mut check = self.stage.check();
                check.args(short);
                check
            }
            1 => {
                let mut check = self.stage.bare_check();
                check.args(["--nfs", &self.stage.nfs_url("projects"), "--s3", &self.stage.s3_url("archive")]);
                check.args(short);
                check
            }
            2 => self.run("files.yaml"),
            _ => self.run("remote.yaml"),
        };
        command.env("AWS_ACCESS_KEY_ID", &self.keys.0).env("AWS_SECRET_ACCESS_KEY", &self.keys.1);
        command
    }

    fn run(&self, file: &str) -> Command {
        let mut run = self.lab.command();
        run.arg(self.lab.path(file));
        run
    }

    /// The journal directories of checks and of runs.
    fn journals(&self) -> [PathBuf; 2] {
        [self.stage.journal(), self.lab.path("journal")]
    }

    fn clean_up(&self, journal: &Path) -> Ended {
        let mut cleanup = Command::new(env!("CARGO_BIN_EXE_manometer"));
        cleanup.args(["cleanup", "--call-timeout", "1s", "--journal-dir"]).arg(journal);
        cleanup.env("HOME", self.stage.directory.path());
        cleanup.env("FB_TOKEN", self.stage.array.token().reveal());
        cleanup.env("AWS_ACCESS_KEY_ID", &self.keys.0).env("AWS_SECRET_ACCESS_KEY", &self.keys.1);
        run(&mut cleanup)
    }
}

fn number_of(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

#[test]
fn killed_at_any_moment_nothing_is_left_after_a_clean_up() {
    let (kills, seed) = (number_of("MANOMETER_KILLS", 40), number_of("MANOMETER_KILLS_SEED", 1));
    let scene = Scene::new();
    let before = scene.stage.array.state();
    let journals = scene.journals();
    journals.iter().for_each(|journal| std::fs::create_dir_all(journal).unwrap());
    let mut random = fastrand::Rng::with_seed(seed);
    let (mut killed, mut finished, mut with_journal) = (0, 0, 0);
    for number in 0..kills {
        let moment = Duration::from_millis(random.u64(0..LATEST_MS));
        let running = start(&mut scene.command(number));
        std::thread::sleep(moment);
        running.signal(Signal::KILL);
        let ended = running.finish();
        match ended.code {
            None => killed += 1,
            Some(_) => finished += 1,
        }
        let journal = &journals[usize::from(number % 4 >= 2)];
        with_journal += usize::from(!names(journal).is_empty());
        let place = format!("kill {number} of seed {seed}, after {moment:?}: {ended:#?}");
        let cleaned = scene.clean_up(journal);
        assert_eq!(cleaned.code, Some(0), "{place}: {cleaned:#?}");
        assert_eq!(names(journal), Vec::<String>::new(), "{place}");
        assert_eq!(names(&scene.lab.data()), Vec::<String>::new(), "{place}");
        // The array updates its usage figures a moment after a removal.
        let same = || scene.stage.array.state() == before;
        if !same() {
            wait_until(&format!("the array's state of before: {place}"), same);
        }
        if (number + 1) % 100 == 0 {
            println!("{} kills, {with_journal} left a journal, nothing is left", number + 1);
        }
    }
    println!(
        "seed {seed}: {killed} killed, {finished} had finished, {with_journal} left a journal; nothing is left"
    );
    assert!(killed > 0 && with_journal > 0, "no kill came while something was there");
}
