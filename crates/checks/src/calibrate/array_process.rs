//! The simulated array as a separate process, so that its cost does not count towards this process.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use experiment::Target;
use provision::{ApiSecret, ArraySession, Cancel, Journal, Management, RunId, Trust, Wanted};
use serde::Deserialize;
use targets::{AccessKey, CheckTarget, CheckTraits};

use super::served;
use crate::array_places::{self, ArrayPlaces, SimulatedAddress};
use crate::error::{CheckError, While};

/// Maximum time for it to start, and to end.
const PATIENCE: Duration = Duration::from_secs(30);
/// Polling interval.
const LOOK: Duration = Duration::from_millis(20);

/// A running array with an export and a bucket. When dropped, it is stopped and leaves nothing behind.
pub struct ArrayProcess {
    child: Child,
    /// Removes what it created when dropped.
    session: Option<ArraySession>,
    directory: PathBuf,
    journal: Journal,
    places: ArrayPlaces,
    ready: ArrayReady,
}

#[derive(Deserialize)]
struct ArrayReady {
    management: String,
    fingerprint: String,
    token: String,
    data: Vec<SimulatedAddress>,
}

/// A directory that only this user may enter; it is removed on drop unless a server keeps it.
struct ScratchDirectory(Option<PathBuf>);

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        if let Some(directory) = &self.0 {
            // Only this process knows about it.
            let _ = std::fs::remove_dir_all(directory);
        }
    }
}

impl ArrayProcess {
    /// Starts `program array` with this many threads for each protocol; its files are kept in a directory within
    /// `scratch`.
    ///
    /// # Errors
    /// It could not be started, or did not answer in time.
    pub fn start(program: &Path, scratch: &Path, threads: u32) -> Result<Self, CheckError> {
        let name = format!("manometer-calibrate-{}-{}", std::process::id(), fastrand::u64(..));
        let directory = scratch.join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&directory).during(format_args!(
            "{}: cannot be made; name a directory where you may write in TMPDIR",
            directory.display()
        ))?;
        let mut kept = ScratchDirectory(Some(directory.clone()));
        let mut child = GuardedChild(Some(spawn(program, &directory, threads)?));
        let ready = wait(&directory.join("ready"), &mut child)?;
        let journal = Journal::open(&directory.join("journal"))?;
        let (session, places) = provision(&journal, &ready)?;
        kept.0 = None;
        let child = child.0.take();
        let child =
            child.ok_or_else(|| CheckError::failure("the simulated array is not there; this is a defect"))?;
        Ok(Self { child, session: Some(session), directory, journal, places, ready })
    }

    /// The journal of what is created on it; it is removed with the array.
    pub fn journal(&self) -> &Journal {
        &self.journal
    }

    /// The array's target for a protocol, as an experiment file would describe it, without credentials. The target is
    /// named after its scheme.
    ///
    /// # Errors
    /// It serves nothing over this protocol.
    pub fn target(&self, protocol: &CheckTraits) -> Result<Target, CheckError> {
        let scheme = protocol.kind.scheme;
        let served = || {
            let address = self.ready.data.first()?;
            let (name, _) = self.places.get(&protocol.on_array)?;
            let (port, options) = address.ports().remove(&(address.ip, protocol.on_array))?;
            let (host, name) = (address.ip.to_string(), name.clone());
            let target = CheckTarget { host, port: Some(port), tls: false, name, options };
            Some(protocol.through(&target, address.ip, &BTreeMap::new()))
        };
        let (url, options) = served().ok_or_else(|| {
            CheckError::failure(format!("the simulated array serves no {scheme}; this is a defect"))
        })?;
        Ok(Target::new(scheme, url, options))
    }

    /// The credentials for what it serves, by target name.
    pub fn keys(&self) -> impl Iterator<Item = (String, AccessKey)> {
        served::protocols().filter_map(|protocol| {
            let (_, key) = self.places.get(&protocol.on_array)?;
            Some((protocol.kind.scheme.to_owned(), key.clone()?))
        })
    }
}

impl Drop for ArrayProcess {
    fn drop(&mut self) {
        drop(self.session.take());
        end(&mut self.child);
        // Only this process knows about it.
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// A child process that is ended on drop unless somebody takes it.
struct GuardedChild(Option<Child>);

impl Drop for GuardedChild {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            end(child);
        }
    }
}

fn end(child: &mut Child) {
    // It ends when its standard input closes; otherwise it is killed, so that nothing waits for ever.
    drop(child.stdin.take());
    let mut left = PATIENCE;
    while matches!(child.try_wait(), Ok(None)) && left > Duration::ZERO {
        std::thread::sleep(LOOK);
        left = left.saturating_sub(LOOK);
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn spawn(program: &Path, directory: &Path, threads: u32) -> Result<Child, CheckError> {
    // Its own network within 127.0.0.0/8, so that concurrent calibrations do not collide.
    let data = format!("127.{}.{}.1,mtu=9000", fastrand::u8(1..=250), fastrand::u8(..));
    let threads = threads.to_string();
    let mut command = Command::new(program);
    command.args(["array", "--until-eof", "--management", "127.0.0.1:0", "--data", &data]);
    command.args(["--nfs-threads", &threads, "--s3-threads", &threads, "--ready-file"]);
    command.arg(directory.join("ready"));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // It creates its own token: one in the environment belongs to another array.
    command.env_remove("MANOMETER_ARRAY_TOKEN");
    command.spawn().during(format_args!("{}: cannot be started as a simulated array", program.display()))
}

fn wait(path: &Path, child: &mut GuardedChild) -> Result<ArrayReady, CheckError> {
    let mut left = PATIENCE;
    while left > Duration::ZERO {
        match std::fs::read(path) {
            Ok(text) => return serde_json::from_slice(&text).during("the simulated array's ready file"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).during("the simulated array's ready file"),
        }
        if let Some(child) = &mut child.0
            && let Some(status) = child.try_wait().during("the simulated array")?
        {
            return Err(CheckError::Failure(format!(
                "the simulated array ended with {status}; `manometer array` says why"
            )));
        }
        std::thread::sleep(LOOK);
        left = left.saturating_sub(LOOK);
    }
    Err(CheckError::Failure(format!(
        "the simulated array did not start within {} s; `manometer array` may say why",
        PATIENCE.as_secs()
    )))
}

/// Has the array create an export and a bucket.
fn provision(journal: &Journal, ready: &ArrayReady) -> Result<(ArraySession, ArrayPlaces), CheckError> {
    let management = Management {
        address: ready.management.clone(),
        token: ApiSecret::new(&ready.token),
        trust: Trust::Fingerprint(ready.fingerprint.parse().map_err(CheckError::failure)?),
        call_timeout: PATIENCE,
    };
    let run = journal.begin(&RunId::random())?;
    let mut session = ArraySession::open(&management, &run, &Cancel::new())?;
    let wanted = Wanted::both();
    let made = session.create(&wanted)?;
    Ok((session, array_places::places(made)))
}
