//! Prints a line now and then while a clean-up waits, so that it does not look dead.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use reactor::clock;

use crate::messages::Messages;

/// Silence after which a line appears.
const QUIET: Duration = Duration::from_secs(10);

/// Reports what is under way whenever nothing was printed for a while, until dropped.
pub struct Heartbeat {
    shared: Arc<Mutex<Shared>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    /// What is under way.
    doing: String,
    /// When it began.
    since_ns: u64,
    /// When the next line is due.
    due_ns: u64,
    over: bool,
}

impl Heartbeat {
    /// Starts. Without a thread there is no heartbeat, but nothing else is lost.
    pub fn start(messages: &Messages) -> Self {
        let shared = Shared { doing: String::new(), since_ns: 0, due_ns: u64::MAX, over: false };
        let shared = Arc::new(Mutex::new(shared));
        let (seen, messages) = (Arc::clone(&shared), messages.clone());
        let beat = move || {
            while let Some(line) = tick(&seen) {
                if !line.is_empty() {
                    messages.note(&line);
                }
                std::thread::park_timeout(QUIET / 10);
            }
        };
        let thread = std::thread::Builder::new().name("heartbeat".into()).spawn(beat).ok();
        Self { shared, thread }
    }

    /// Sets what is under way from now on.
    pub fn now(&self, doing: &str) {
        let now = clock::now_ns();
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        (shared.since_ns, shared.due_ns) = (now, now + QUIET.as_nanos() as u64);
        doing.clone_into(&mut shared.doing);
    }
}

/// The line that is due, or an empty one; `None` at the end.
fn tick(shared: &Mutex<Shared>) -> Option<String> {
    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
    if shared.over {
        return None;
    }
    let now = clock::now_ns();
    if now < shared.due_ns {
        return Some(String::new());
    }
    shared.due_ns = now + QUIET.as_nanos() as u64;
    let seconds = now.saturating_sub(shared.since_ns) / 1_000_000_000;
    Some(format!("{}: {seconds} s so far", shared.doing))
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).over = true;
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread holds nothing that could be lost.
            let _ = thread.join();
        }
    }
}
