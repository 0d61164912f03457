//! The fault file: read at start, and again whenever it changes.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::handle::FaultHandle;
use super::plan::FaultPlan;

/// How often the file is checked.
const PERIOD: Duration = Duration::from_millis(50);

/// Reads a fault file.
///
/// # Errors
/// It cannot be read, or is not a plan in JSON; the message gives the position.
pub fn read_plan(path: &Path) -> io::Result<FaultPlan> {
    parse(&std::fs::read(path)?)
}

fn parse(text: &[u8]) -> io::Result<FaultPlan> {
    serde_json::from_slice(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// A thread that follows a fault file; dropping this ends it.
#[derive(Debug)]
pub(crate) struct Watch {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Starts following. An incomplete or invalid file leaves the active plan unchanged.
    pub(crate) fn start(path: PathBuf, faults: FaultHandle) -> io::Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let mut last = std::fs::read(&path)?;
        faults.set(parse(&last)?);
        let thread = std::thread::Builder::new().name("fault-file".into()).spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                std::thread::park_timeout(PERIOD);
                // Compares the content, not the time stamp: two writes may have the same one.
                let Ok(text) = std::fs::read(&path) else {
                    continue;
                };
                if text != last {
                    if let Ok(plan) = parse(&text) {
                        faults.set(plan);
                    }
                    last = text;
                }
            }
        })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_takes_effect_and_a_broken_one_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("faults.json");
        std::fs::write(&path, "{}").unwrap();
        let faults = FaultHandle::default();
        let _watch = Watch::start(path.clone(), faults.clone()).unwrap();
        let until = |wanted: bool| {
            (0..400).any(|_| {
                std::thread::sleep(Duration::from_millis(25));
                faults.plan().full_disk == wanted
            })
        };
        std::fs::write(&path, r#"{"full_disk": true}"#).unwrap();
        assert!(until(true));
        let generation = faults.generation();
        std::fs::write(&path, r#"{"full_disk": fal"#).unwrap();
        std::thread::sleep(PERIOD * 4);
        assert_eq!(faults.generation(), generation);
        std::fs::write(&path, r#"{"full_disk": false}"#).unwrap();
        assert!(until(false));
        std::fs::write(&path, r#"{"fulldisk": true}"#).unwrap();
        assert!(read_plan(&path).unwrap_err().to_string().contains("fulldisk"));
    }
}
