//! The thread that sends waiting data and notices when the coordinator is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::Agent;

/// Between two attempts to send waiting data.
pub(super) const SOON: Duration = Duration::from_millis(2);
/// Between two checks when nothing waits.
const LATER: Duration = Duration::from_millis(20);

/// The keeper's thread.
pub(super) struct Keeper {
    over: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

/// Starts it.
pub(super) fn start(agent: &Arc<Agent>) -> std::io::Result<Keeper> {
    let over = Arc::new(AtomicBool::new(false));
    let (watched, ending) = (Arc::clone(agent), Arc::clone(&over));
    let keep = move || {
        while !ending.load(Ordering::Relaxed) {
            let waits = watched.outlet.flush();
            if let Some(why) = watched.fault() {
                watched.stop_all(&why);
            }
            std::thread::sleep(if waits { SOON } else { LATER });
        }
    };
    let thread = std::thread::Builder::new().name("keeper".to_owned()).stack_size(128 << 10).spawn(keep)?;
    Ok(Keeper { over, thread })
}

impl Keeper {
    pub(super) fn end(self) {
        self.over.store(true, Ordering::Relaxed);
        // A panic in it needs no handling here.
        let _ = self.thread.join();
    }
}

impl Agent {
    /// Why the coordinator counts as gone, if it does.
    fn fault(&self) -> Option<String> {
        if self.leaving.is_set() {
            return Some("a signal ended the agent".to_owned());
        }
        if self.outlet.broken().is_some() {
            return Some("the side that leads reads no more".to_owned());
        }
        let now = reactor::clock::now_ns();
        let limit = self.silence_ns.load(Ordering::Relaxed);
        let seconds = limit as f64 / 1e9;
        if now.saturating_sub(self.heard_ns.load(Ordering::Relaxed)) > limit {
            return Some(format!("nothing was heard of the side that leads for {seconds} s"));
        }
        if self.outlet.stuck_ns(now) > limit {
            return Some(format!("the side that leads has taken nothing for {seconds} s"));
        }
        None
    }
}
