//! The thread that services all pipes of a host group.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::HostGroupSettings;
use crate::link::Wire;

/// Between two rounds while data waits to be sent.
const SOON: Duration = Duration::from_millis(2);
/// Between two rounds otherwise.
const LATER: Duration = Duration::from_millis(20);

pub(super) struct Keeper {
    over: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

pub(super) fn start(wires: Vec<Arc<Wire>>, settings: HostGroupSettings) -> Keeper {
    let over = Arc::new(AtomicBool::new(false));
    let ending = Arc::clone(&over);
    let keep = move || {
        let heartbeat_ns = u64::try_from(settings.heartbeat.as_nanos()).unwrap_or(u64::MAX);
        let mut last_ns = 0;
        while !ending.load(Ordering::Relaxed) {
            let now_ns = reactor::clock::now_ns();
            let beat = now_ns.saturating_sub(last_ns) >= heartbeat_ns;
            if beat {
                last_ns = now_ns;
            }
            let mut waits = false;
            for wire in &wires {
                if beat {
                    wire.ping();
                }
                waits |= wire.look_after(now_ns, settings.silence);
                if let Some(why) = wire.broken(now_ns) {
                    let wire = Arc::clone(wire);
                    aside(move || wire.lose_asking(&why));
                }
                if wire.lost().is_some() && wire.has_process() {
                    end_lost(wire, settings);
                }
            }
            std::thread::sleep(if waits { SOON } else { LATER });
        }
    };
    let thread = std::thread::Builder::new().name("fleet-keeper".to_owned()).spawn(keep);
    // Without it no member is heard, so all are soon lost, with a reason.
    Keeper { over, thread: Mutex::new(thread.ok()) }
}

/// The process behind a lost agent's pipe may first remove what it created; then it is ended.
fn end_lost(wire: &Arc<Wire>, settings: HostGroupSettings) {
    let wire = Arc::clone(wire);
    // Without a thread, it ends with the host group.
    aside(move || wire.end_process(settings.farewell));
}

/// Runs something slow without delaying the others.
fn aside(work: impl FnOnce() + Send + 'static) {
    let _ = std::thread::Builder::new().name("farewell".to_owned()).stack_size(128 << 10).spawn(work);
}

impl Keeper {
    pub(super) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // A panic in it needs no handling here.
            let _ = thread.join();
        }
    }
}
