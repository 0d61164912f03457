//! A simulated array, the real program run against it, and what is left on it afterwards.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod proxy;
mod rest;

use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use array::{AddressConfig, Array, Config, ManagementTls};
use serde_json::Value;
use tempfile::TempDir;

/// Maximum time for anything here on the slowest machine; a guard against hangs, not a measurement.
const GUARD: Duration = Duration::from_secs(120);

/// An array with one address per subnet, all on the same ports, and a directory of its own.
pub struct Stage {
    pub array: Array,
    pub directory: TempDir,
    ports: [u16; 4],
    before: Option<Value>,
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Stage {
    /// `addresses` data addresses in as many subnets.
    pub fn new(addresses: u8) -> Self {
        Self::with(addresses, |_| {})
    }

    /// The same with a configuration that the test changes.
    pub fn with(addresses: u8, change: impl Fn(&mut Config)) -> Self {
        // A separate network, so that concurrent tests do not collide.
        let network = (fastrand::u8(1..=250), fastrand::u8(..));
        let ips: Vec<IpAddr> =
            (1..=addresses).map(|host| Ipv4Addr::new(127, network.0, network.1, host).into()).collect();
        for attempt in 0.. {
            let ports = free_ports(&ips);
            let mut config = Config { data: Vec::new(), ..Config::loopback() };
            for (number, ip) in (1..).zip(&ips) {
                let mut data = AddressConfig::new(*ip, &format!("data{number}"), &format!("subnet{number}"));
                (data.nfs_port, data.mount_port, data.portmap_port, data.s3_port) =
                    (ports[0], ports[1], ports[2], ports[3]);
                config.data.push(data);
            }
            change(&mut config);
            match Array::start(config) {
                Ok(array) => {
                    let directory = tempfile::tempdir().unwrap();
                    std::fs::write(directory.path().join("token"), array.token().reveal()).unwrap();
                    return Self { array, directory, ports, before: None };
                }
                // Somebody took a port between our check and the array's bind.
                Err(error) => assert!(attempt < 5, "{error}"),
            }
        }
        unreachable!("the loop ends by returning")
    }

    /// The same with the management API over plain HTTP, so that a test can speak to it directly.
    pub fn plain(addresses: u8) -> Self {
        Self::with(addresses, |config| config.tls = ManagementTls::Off)
    }

    pub fn ip(&self, index: usize) -> IpAddr {
        self.array.data()[index].ip
    }

    pub fn nfs_url(&self, export: &str) -> String {
        format!("nfs://{}:{}/{export}", self.ip(0), self.ports[0])
    }

    pub fn nfs_port(&self) -> u16 {
        self.ports[0]
    }

    pub fn portmap_port(&self) -> u16 {
        self.ports[2]
    }

    pub fn s3_port(&self) -> u16 {
        self.ports[3]
    }

    pub fn mount_port(&self) -> u16 {
        self.ports[1]
    }

    pub fn s3_url(&self, bucket: &str) -> String {
        format!("s3://{bucket}?endpoint=http://{}:{}", self.ip(0), self.ports[3])
    }

    /// A text with this stage's `NFS_URL`, `MOUNT_PORT` and `S3_URL`: export `projects`, bucket `archive`.
    pub fn filled(&self, text: &str) -> String {
        text.replace("NFS_URL", &self.nfs_url("projects"))
            .replace("S3_URL", &self.s3_url("archive"))
            .replace("MOUNT_PORT", &self.mount_port().to_string())
    }

    /// Records the current state: everything must stay like this.
    pub fn remember(&mut self) {
        self.before = Some(self.array.state());
    }

    /// Only what existed before exists, and no journal is left.
    pub fn assert_untouched(&self) {
        let before = self.before.as_ref().expect("remember() comes first");
        assert_eq!(&self.array.state(), before, "something was left on the array");
        let journals = std::fs::read_dir(self.journal()).map_or(0, Iterator::count);
        assert_eq!(journals, 0, "a journal was left");
    }

    pub fn journal(&self) -> PathBuf {
        self.directory.path().join("journal")
    }

    pub fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }

    /// The program with a command, isolated from this process's environment.
    pub fn manometer(&self, command: &str) -> Command {
        let mut manometer = Command::new(env!("CARGO_BIN_EXE_manometer"));
        manometer.arg(command).args(["--journal-dir".into(), self.journal()]).stdin(Stdio::null());
        for name in ["FB_MGMT_VIP", "FB_TOKEN", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"] {
            manometer.env_remove(name);
        }
        manometer.env("HOME", self.directory.path());
        manometer
    }

    /// A short check with little load, without a source yet.
    pub fn bare_check(&self) -> Command {
        let [_, mount, portmap, s3] = self.ports.map(|port| port.to_string());
        let mut check = self.manometer("check");
        check
            // On a busy machine nothing may be acknowledged in that time: `run_until_measured` then measures for
            // longer.
            .args(["--duration", "1s", "--workers", "1", "--lanes", "2", "--connections", "1"])
            .args(["--block-size", "64KiB", "--object-size", "128KiB", "--dataset", "8MiB"])
            .args(["--mount-port", &mount, "--portmap-port", &portmap, "--s3-port", &s3])
            // As long as an operation may take: on a busy machine a reply takes seconds.
            .args(["--connect-timeout", "30s"]);
        check
    }

    /// A short check of this array, with its two inputs in the environment.
    pub fn check(&self) -> Command {
        let mut check = self.bare_check();
        check.env("FB_TOKEN", self.array.token().reveal());
        match self.array.fingerprint() {
            Some(fingerprint) => {
                check.args(["--tls-fingerprint", fingerprint]);
                check.env("FB_MGMT_VIP", self.array.management_address().to_string());
            }
            None => {
                check.env("FB_MGMT_VIP", self.array.management_url());
            }
        }
        check
    }
}

/// Four ports that are free on every address now.
fn free_ports(ips: &[IpAddr]) -> [u16; 4] {
    let mut ports = Vec::new();
    while ports.len() < 4 {
        let port = fastrand::u16(20_000..32_000);
        if !ports.contains(&port) && ips.iter().all(|ip| TcpListener::bind((*ip, port)).is_ok()) {
            ports.push(port);
        }
    }
    ports.try_into().expect("four were pushed")
}

/// The first of `count` consecutive ports that are free on loopback now. They lie below those of outgoing connections
/// (`net.ipv4.ip_local_port_range`), which could take one before it is used; tests of one process get different ones.
pub fn consecutive_ports(count: u16) -> u16 {
    static TAKEN: LazyLock<AtomicU16> = LazyLock::new(|| AtomicU16::new(fastrand::u16(..)));
    loop {
        let first = 20_000 + TAKEN.fetch_add(count, Ordering::Relaxed) % 12_000;
        if (first..first + count).all(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()) {
            return first;
        }
    }
}

/// Runs to the end.
pub fn run(command: &mut Command) -> Ended {
    start(command).finish()
}

/// Runs a check, and repeats it for twice as long while this machine is so busy that replies arrive only after a
/// phase's measured window: assertions must not depend on other load here. The test still sees operations without a
/// reply, and every other fault.
pub fn run_until_measured(check: &mut Command) -> Ended {
    run_until_measured_discarding(check, |_| {})
}

/// The same; `discard` gets each check that is repeated.
pub fn run_until_measured_discarding(check: &mut Command, discard: impl Fn(&Ended)) -> Ended {
    for seconds in [2, 4, 8, 16] {
        let ended = run(check);
        if !ended.is_only_late() {
            return ended;
        }
        discard(&ended);
        check.args(["--duration", &format!("{seconds}s")]);
    }
    run(check)
}

/// Starts, to be signalled and finished later.
pub fn start(command: &mut Command) -> Running {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    Running(Some(child))
}

/// Installs a program so that it can be executed at once. Another process copies it: a file that this process has open
/// for writing cannot be executed while a child just forked by another test also has it open.
pub fn install(from: &Path, to: &Path) {
    let made = Command::new("install").arg("-m755").arg(from).arg(to).status().unwrap();
    assert!(made.success(), "{} was not made", to.display());
}

/// A running process; killed if the test ends first.
pub struct Running(Option<Child>);

impl Running {
    /// The process id.
    pub fn id(&self) -> u32 {
        self.0.as_ref().expect("it runs").id()
    }

    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(self.0.as_ref().expect("it runs"));
        rustix::process::kill_process(pid, signal).unwrap();
    }

    pub fn finish(mut self) -> Ended {
        let child = self.0.take().expect("it is finished once");
        let pid = rustix::process::Pid::from_child(&child);
        // Its end wakes the guard, which would otherwise kill it and fail the test with its output.
        let (ended, guard) = std::sync::mpsc::channel::<()>();
        let guard = std::thread::spawn(move || {
            if guard.recv_timeout(GUARD) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        });
        let output = child.wait_with_output().unwrap();
        drop(ended);
        guard.join().unwrap();
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The child processes of a process.
pub fn children(of: u32) -> Vec<rustix::process::Pid> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{of}/task")) else { return Vec::new() };
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok());
    let mut found: Vec<rustix::process::Pid> = lists
        .flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .filter_map(|pid| rustix::process::Pid::from_raw(pid.parse().ok()?))
        .collect();
    found.sort_by_key(|pid| pid.as_raw_nonzero());
    found
}

/// Waits until a condition holds.
pub fn wait_until(what: &str, mut reached: impl FnMut() -> bool) {
    let tick = Duration::from_millis(5);
    let mut waited = Duration::ZERO;
    while !reached() {
        assert!(waited < GUARD, "{what} never came");
        std::thread::sleep(tick);
        waited += tick;
    }
}

impl Ended {
    /// Whether the only fault of a check's reachable paths is that replies arrived after the measured window.
    fn is_only_late(&self) -> bool {
        let late = |line: &str| line.contains(": NOT MEASURED: ");
        let unreachable =
            |line: &str| line.contains(": MOUNT FAILED: ") || line.contains(": FAILED TO CONNECT: ");
        let errors = || self.stderr.lines().filter(|line| line.starts_with("error: "));
        errors().any(late) && errors().all(|line| late(line) || unreachable(line))
    }

    /// Asserts that exactly one line says what went wrong, with all of `words` in it.
    pub fn assert_one_line(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "{self:#?}");
        let errors: Vec<&str> = self.stderr.lines().filter(|line| line.starts_with("error: ")).collect();
        assert_eq!(errors.len(), 1, "one line should say it: {self:#?}");
        for word in words {
            assert!(errors[0].contains(word), "{word:?} is missing in {:?}", errors[0]);
        }
    }
}
