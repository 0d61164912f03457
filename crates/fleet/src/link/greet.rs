//! The start of a link: an agent identifies itself.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use super::{Ends, Link, Process, State, Wire};
use crate::frame::FrameReader;
use crate::inlet::Inlet;
use crate::outlet::Outlet;

/// Stack size of a reader, in bytes: there is one per agent.
const STACK: usize = 256 << 10;
/// How often a reader checks whether its agent is lost.
const LOOK: Duration = Duration::from_secs(1);
/// How often a waiting thread checks whether to stop.
const TICK: Duration = Duration::from_millis(50);
/// Time that a rejected agent has to exit by itself.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The result of greeting one agent: a link, or its name and the reason.
pub type Greeting = Result<Link, (String, String)>;

/// Waits until each of these agents has said hello, at most `patience` in total, or until `stop` says so. Results are
/// in the same order; agents that do not belong to a fleet of this program are ended.
pub fn greet(ends: Vec<Ends>, patience: Duration, stop: &dyn Fn() -> bool) -> Vec<Greeting> {
    let wires: Vec<_> = ends.into_iter().map(start).collect();
    let mut waited = Duration::ZERO;
    wires
        .into_iter()
        .map(|wire| {
            let wire = wire?;
            let fault = loop {
                let state = wire.state();
                if let Some(hello) = wire.hello.get() {
                    break hello.fault();
                }
                if let Some(why) = wire.lost() {
                    break Some(why.to_owned());
                }
                if stop() {
                    break Some("stopped".to_owned());
                }
                if waited >= patience {
                    break Some(format!("it has not said hello within {} s", patience.as_secs_f64()));
                }
                drop(wire.changed.wait_timeout(state, TICK).unwrap_or_else(PoisonError::into_inner));
                waited += TICK;
            };
            match fault {
                None => Ok(Link { wire }),
                Some(why) => {
                    wire.lose(&why);
                    let name = wire.name.clone();
                    wire.end_process(PATIENCE);
                    Err((name, why))
                }
            }
        })
        .collect()
}

fn start(ends: Ends) -> Result<Arc<Wire>, (String, String)> {
    let Ends { name, input, output, process } = ends;
    let outlet =
        Outlet::new(input).map_err(|error| (name.clone(), format!("its pipe cannot be used: {error}")))?;
    let wire = Arc::new(Wire::new(name, outlet, process));
    match listen(&wire, output) {
        Ok(()) => Ok(wire),
        Err(error) => Err((wire.name.clone(), format!("no thread can be started for it: {error}"))),
    }
}

/// Starts the thread that reads the agent's messages.
fn listen(wire: &Arc<Wire>, output: OwnedFd) -> std::io::Result<()> {
    let (wire, looking) = (Arc::clone(wire), Arc::clone(wire));
    let given_up = move || looking.lost().map(str::to_owned);
    let inlet = Inlet::new(output, LOOK, Arc::new(given_up));
    let read = move || {
        let why = wire.read_on(FrameReader::new(inlet));
        wire.lose(&why);
        wire.state().ended = true;
        wire.changed.notify_all();
    };
    std::thread::Builder::new().name("agent-reader".to_owned()).stack_size(STACK).spawn(read)?;
    Ok(())
}

impl Wire {
    fn new(name: String, outlet: Outlet, process: Option<Box<dyn Process>>) -> Self {
        Wire {
            name,
            member: OnceLock::new(),
            outlet,
            hello: OnceLock::new(),
            lost: OnceLock::new(),
            heard_ns: AtomicU64::new(reactor::clock::now_ns()),
            holding: AtomicBool::new(false),
            pings_due: AtomicU32::new(0),
            leaving: AtomicBool::new(false),
            dying: AtomicBool::new(false),
            state: Mutex::new(State::default()),
            changed: Condvar::new(),
            events: OnceLock::new(),
            process: Mutex::new(process),
        }
    }

    /// An agent that never came up.
    pub(crate) fn gone(name: String, why: &str) -> Arc<Wire> {
        let nowhere = std::fs::OpenOptions::new().write(true).open("/dev/null").expect("every system has it");
        let outlet = Outlet::new(nowhere.into()).expect("it can be set not to wait");
        let wire = Wire::new(name, outlet, None);
        wire.lose(why);
        Arc::new(wire)
    }

    /// Reads until the stream ends or is invalid; returns why.
    fn read_on(&self, mut frames: FrameReader<Inlet>) -> String {
        use crate::frame::FrameError;
        loop {
            let before = frames.tally();
            let why = match frames.read_frame() {
                Ok(body) => match self.hear(body, before) {
                    Ok(true) => continue,
                    Ok(false) => return "it said farewell".to_owned(),
                    Err(fault) => fault.to_string(),
                },
                // After the farewell, or the process behind the pipe knows why.
                Err(FrameError::Ended) => format!("its agent ended{}", self.last_words()),
                Err(FrameError::Io(error)) if self.lost().is_some() => error.to_string(),
                Err(FrameError::Io(error)) => format!("{error}{}", self.last_words()),
                Err(error @ FrameError::Truncated { .. }) => format!("{error}{}", self.last_words()),
                Err(error) => format!("what it sends is broken: {error}"),
            };
            if before.frames == 0 && !frames.beginning().is_empty() {
                let text = crate::check::one_line(&String::from_utf8_lossy(frames.beginning()));
                return format!("its first output is not an agent's: {text:?} ({why})");
            }
            return why;
        }
    }

    pub(super) fn last_words(&self) -> String {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        match process.as_mut() {
            Some(process) if !self.leaving.load(Ordering::Relaxed) => {
                format!(": it {}", process.last_words())
            }
            _ => String::new(),
        }
    }
}
