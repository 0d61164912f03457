//! A simulated array with a neighbour on it, and the real program run against it.

use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use array::faults::{FaultPlan, Match, SessionFault, StepAction, StepRule};
use array::{AddressConfig, Array, Config};
use provision::{ApiSecret, ArraySession, Cancel, Journal, Management, ManagementStep, RunId, Trust, Wanted};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

pub const INTERRUPT: Signal = Signal::INT;
pub const TERMINATE: Signal = Signal::TERM;
pub const KILL: Signal = Signal::KILL;

/// Maximum time for anything here on the slowest machine; a guard against hangs, not a measurement.
const GUARD: Duration = Duration::from_secs(90);
/// Polling interval.
const TICK: Duration = Duration::from_millis(5);

/// The generation of the API that the array speaks.
#[derive(Clone, Copy, Debug)]
pub enum Generation {
    One,
    Two,
}

/// Runs a test on both generations in parallel: most of the time is spent waiting.
pub fn everywhere(test: impl Fn(Generation) + Sync) {
    std::thread::scope(|scope| {
        let both = [Generation::One, Generation::Two].map(|generation| {
            let test = &test;
            scope.spawn(move || test(generation))
        });
        for running in both {
            if let Err(panic) = running.join() {
                std::panic::resume_unwind(panic);
            }
        }
    });
}

/// An array, a journal directory, and the array's initial state.
pub struct Stage {
    array: Array,
    directory: TempDir,
    before: serde_json::Value,
    /// Lives as long as the stage: what it created must still exist at the end.
    _neighbour: ArraySession,
}

impl Stage {
    pub fn new(generation: Generation) -> Self {
        let major = match generation {
            Generation::One => "1.",
            Generation::Two => "2.",
        };
        let mut config = Config::loopback();
        config.versions.retain(|version| version.starts_with(major));
        config.data = vec![AddressConfig::new([127, 0, 1, 1], "data1", "subnet1")];
        let array = Array::start(config).unwrap();
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("token"), array.token().reveal()).unwrap();
        let journal = Journal::open(&directory.path().join("journal")).unwrap();
        let run = journal.begin(&RunId::random()).unwrap();
        let management = Management {
            address: array.management_address().to_string(),
            token: ApiSecret::new(array.token().reveal()),
            trust: Trust::Fingerprint(array.fingerprint().unwrap().parse().unwrap()),
            call_timeout: GUARD,
        };
        let mut neighbour = ArraySession::open(&management, &run, &Cancel::new()).unwrap();
        let both = Wanted::both();
        neighbour.create(&both).unwrap();
        let before = array.state();
        let stage = Self { array, directory, before, _neighbour: neighbour };
        stage.heal();
        stage
    }

    /// Applies a fault to the call that is this step in an undisturbed run.
    pub fn strike(&self, step: ManagementStep, then: StepAction) {
        self.plan(Some(step.occurrence()), step, then);
    }

    /// Applies a fault to every call with this step's method and path.
    pub fn strike_always(&self, step: ManagementStep, then: StepAction) {
        self.plan(None, step, then);
    }

    fn plan(&self, at: Option<u64>, step: ManagementStep, then: StepAction) {
        let calls = Match { method: Some(step.method()), path: Some(step.path().into()) };
        let rule = StepRule { calls, at, then, status: None };
        self.array.faults().set(FaultPlan { management: vec![rule], ..FaultPlan::default() });
    }

    /// Makes sessions end early.
    pub fn expire(&self, session: SessionFault) {
        self.array.faults().set(FaultPlan { session, ..FaultPlan::default() });
    }

    /// Removes all faults, and resets the call count.
    pub fn heal(&self) {
        self.array.faults().set(FaultPlan::default());
    }

    /// Management calls since the last change of faults.
    pub fn calls(&self) -> u64 {
        self.array.faults().calls_counted()
    }

    /// Waits until this many calls were made.
    pub fn wait_for_calls(&self, count: u64) {
        wait_until("the call", || self.calls() >= count);
    }

    /// Waits until data was written.
    pub fn wait_for_data(&self) {
        wait_until("data", || self.array.capacity().used() > 1 << 20);
    }

    /// The array must be as it was.
    pub fn assert_as_before(&self, after: &str) {
        assert_eq!(self.array.state(), self.before, "after {after}");
    }

    /// Files in the journal directory.
    pub fn journals(&self) -> usize {
        std::fs::read_dir(self.journal_dir()).unwrap().count()
    }

    /// `manometer check` with the shortest possible phases.
    pub fn check(&self, call_timeout: Duration) -> Running {
        self.check_for("20ms", call_timeout)
    }

    /// `manometer check` with phases of this length.
    pub fn check_for(&self, duration: &str, call_timeout: Duration) -> Running {
        let data = &self.array.data()[0];
        let mut command = self.manometer("check", call_timeout);
        command
            .args(["--management", &self.array.management_address().to_string()])
            .args(["--tls-fingerprint", self.array.fingerprint().unwrap()])
            .args(["--nfs-port", &data.nfs_port.to_string(), "--mount-port", &data.mount_port.to_string()])
            .args(["--s3-port", &data.s3_port.to_string()])
            .args(["--duration", duration, "--workers", "1", "--lanes", "1", "--connections", "1"])
            .args(["--block-size", "64KiB", "--object-size", "64KiB", "--dataset", "64MiB"]);
        Running::start(command)
    }

    /// `manometer cleanup`.
    pub fn cleanup(&self, call_timeout: Duration) -> Running {
        Running::start(self.manometer("cleanup", call_timeout))
    }

    fn manometer(&self, subcommand: &str, call_timeout: Duration) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_manometer"));
        command
            .arg(subcommand)
            .args(["--token-file".into(), self.directory.path().join("token")])
            .args(["--journal-dir".into(), self.journal_dir()])
            .args(["--call-timeout", &format!("{}ms", call_timeout.as_millis())])
            .env_remove("FB_MGMT_VIP")
            .env_remove("FB_TOKEN")
            .env("HOME", self.directory.path());
        command
    }

    fn journal_dir(&self) -> PathBuf {
        self.directory.path().join("journal")
    }
}

fn wait_until(what: &str, mut reached: impl FnMut() -> bool) {
    let mut waited = Duration::ZERO;
    while !reached() {
        assert!(waited < GUARD, "{what} never came");
        std::thread::sleep(TICK);
        waited += TICK;
    }
}

/// A running process; killed if the test ends first.
pub struct Running(Child);

/// How a process ended.
#[derive(Debug)]
pub struct Ended {
    /// Exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    pub stderr: String,
}

impl Ended {
    /// Whether the run ended normally and reports that everything is removed. Its rows may still fail: the phases are
    /// so short here that a busy machine may move nothing in them.
    pub fn left_nothing(&self) -> bool {
        matches!(self.code, Some(0 | 1))
            && self.stderr.contains("removing what was created")
            && !self.stderr.contains("left behind")
    }
}

impl Running {
    fn start(mut command: Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Sends a signal.
    pub fn signal(self, signal: Signal) -> Self {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
        self
    }

    /// Kills it, as `kill -9` does.
    pub fn kill(self) -> Ended {
        self.signal(KILL).finish()
    }

    /// Waits for its end.
    pub fn finish(mut self) -> Ended {
        use std::io::Read;
        // The output fits into a pipe, so it can be read after the end.
        let mut status: Option<ExitStatus> = None;
        wait_until("the end of the process", || {
            status = self.0.try_wait().unwrap();
            status.is_some()
        });
        let mut stderr = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        Ended { code: status.unwrap().code(), stderr }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Fails if the process has ended, which is fine.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
