//! Ctrl-C, SIGTERM, and SIGHUP of a terminal that was closed or an SSH session that was lost.
//!
//! A check's first signal ends the stage under way and lets everything be removed; the second leaves at once
//! and says what is left. A run's first signal lets the measurement end well, at the end of its interval; the
//! second ends it at once and cleans up briefly; the third leaves at once. A SIGHUP counts once at most: nobody repeats it on
//! purpose, and a shell and the kernel may both send it. Where it was ignored at the start (nohup(1)), it stays ignored.

use std::path::Path;
use std::sync::atomic::{AtomicI32, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::Control;
use provision::{Cancel, Run};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::exit;
use crate::messages::Messages;
use crate::results::ended;

/// What a signal must reach. Clones share it.
#[derive(Clone)]
pub struct Interrupt(Arc<Shared>);

struct Shared {
    /// Number of the first signal; 0 when none came.
    signal: AtomicI32,
    /// How many came.
    count: AtomicU32,
    manner: Manner,
    cancel: Cancel,
    parts: Mutex<Parts>,
}

/// What the first signal means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// The stage under way ends; the second signal leaves.
    Check,
    /// The measurement under way ends well; the second signal ends it at once, the third leaves.
    Run,
}

#[derive(Default)]
struct Parts {
    /// The stages under way.
    governed: Vec<Stage>,
    /// Number of the next of them.
    next: u64,
    /// What to say when the second signal comes: what is left, and the command that removes it.
    leftovers: Option<String>,
    /// What to do before a signal ends the process.
    leave: Option<Arc<dyn Fn() + Send + Sync>>,
}

/// A stage under way.
struct Stage {
    number: u64,
    control: Control,
    /// It is a measurement that ends well by itself once it sees that a signal came.
    ends_well: bool,
}

/// A stage that a signal reaches until this is dropped.
pub struct Governed {
    interrupt: Interrupt,
    number: u64,
}

impl Governed {
    /// From now on the stage ends well by itself when it sees that a signal came: the first does not stop it.
    pub fn ends_well(&self) {
        let mut parts = self.interrupt.parts();
        if let Some(stage) = parts.governed.iter_mut().find(|stage| stage.number == self.number) {
            stage.ends_well = true;
        }
    }
}

impl Drop for Governed {
    fn drop(&mut self) {
        self.interrupt.parts().governed.retain(|stage| stage.number != self.number);
    }
}

/// Carries out a command of which nothing is kept when a signal ends it; the process's exit code.
pub fn whole_or_nothing(messages: &Messages, work: impl FnOnce(&Interrupt) -> anyhow::Result<u8>) -> u8 {
    let interrupt = match Interrupt::listen(messages.clone(), Manner::Check) {
        Ok(interrupt) => interrupt,
        Err(error) => return exit::failure(messages, &format!("signals cannot be caught: {error}")),
    };
    let outcome = work(&interrupt);
    match (interrupt.ended_by(), outcome) {
        (Some((_, code)), _) => {
            messages.note("interrupted: nothing is kept");
            code
        }
        (None, Ok(code)) => code,
        (None, Err(error)) => ended(Err(error), messages),
    }
}

impl Interrupt {
    /// Begins to listen. `messages` gets a line at each signal.
    ///
    /// # Errors
    /// When the thread or the signal handlers cannot be set up.
    pub fn listen(messages: Messages, manner: Manner) -> std::io::Result<Self> {
        let interrupt = Self(Arc::new(Shared {
            signal: AtomicI32::new(0),
            count: AtomicU32::new(0),
            manner,
            cancel: Cancel::new(),
            parts: Mutex::default(),
        }));
        let shared = interrupt.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        // The handlers are in place before this function returns.
        let (mut interrupts, mut terminations, mut hangups) = {
            let _entered = runtime.enter();
            let hangups = if hangup_is_ignored() { None } else { Some(signal(SignalKind::hangup())?) };
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, hangups)
        };
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            runtime.block_on(async {
                loop {
                    let number = tokio::select! {
                        Some(()) = interrupts.recv() => libc::SIGINT,
                        Some(()) = terminations.recv() => libc::SIGTERM,
                        Some(()) = hangup(&mut hangups) => libc::SIGHUP,
                        else => return,
                    };
                    shared.arrived(number, &messages);
                }
            });
        })?;
        Ok(interrupt)
    }

    fn parts(&self) -> MutexGuard<'_, Parts> {
        self.0.parts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn arrived(&self, number: i32, messages: &Messages) {
        if number == libc::SIGHUP {
            messages.hang_up();
            if self.arrived_already() {
                return;
            }
        }
        let _ = self.0.signal.compare_exchange(0, number, Ordering::SeqCst, Ordering::SeqCst);
        let count = self.0.count.fetch_add(1, Ordering::SeqCst) + 1;
        match (self.0.manner, count) {
            (Manner::Check, 1) => {
                self.stop();
                messages.note(
                    "interrupted: ending the phase and removing what was created (again to leave at once)",
                );
            }
            (Manner::Run, 1) => {
                // A measurement that has begun is worth keeping; anything else is not waited for.
                self.stop_unless(|stage| stage.ends_well);
                messages.note(
                    "interrupted: the cell ends with its interval and is kept, then what was created is removed \
                     (again to stop at once)",
                );
            }
            (Manner::Run, 2) => {
                self.stop();
                messages.note(
                    "interrupted again: stopping at once, removing what was created (a third time to leave it)",
                );
            }
            _ => {
                let leftovers = self.parts().leftovers.clone();
                let leave = self.parts().leave.clone();
                if let Some(leave) = leave {
                    leave();
                }
                if let Some(leftovers) = leftovers {
                    messages.error(&format!("left at once: {leftovers}"));
                }
                std::process::exit(128 + number);
            }
        }
    }

    fn stop(&self) {
        self.stop_unless(|_| false);
    }

    /// Stops the stages that do not end well by themselves; management calls are given up unless one is waited for.
    fn stop_unless(&self, ends_well: impl Fn(&Stage) -> bool) {
        let parts = self.parts();
        if !parts.governed.iter().any(&ends_well) {
            self.0.cancel.cancel();
        }
        parts.governed.iter().filter(|stage| !ends_well(stage)).for_each(|stage| stage.control.stop());
    }

    /// The switch that gives up management calls.
    pub fn cancel(&self) -> &Cancel {
        &self.0.cancel
    }

    /// True once a signal came.
    pub fn arrived_already(&self) -> bool {
        self.0.signal.load(Ordering::SeqCst) != 0
    }

    /// The first signal's name, and the exit code that says it.
    pub fn ended_by(&self) -> Option<(&'static str, u8)> {
        match self.0.signal.load(Ordering::SeqCst) {
            0 => None,
            libc::SIGTERM => Some(("SIGTERM", 143)),
            libc::SIGHUP => Some(("SIGHUP", 129)),
            _ => Some(("SIGINT", 130)),
        }
    }

    /// True when the terminal or the session that the process belonged to is gone: nobody may be left to read a report.
    pub fn hung_up(&self) -> bool {
        self.0.signal.load(Ordering::SeqCst) == libc::SIGHUP
    }

    /// The stage that is about to begin can be stopped through `control`; at once, if a signal came already.
    pub fn governs(&self, control: &Control) -> Governed {
        let mut parts = self.parts();
        if self.arrived_already() {
            control.stop();
        }
        let number = parts.next;
        parts.next += 1;
        parts.governed.push(Stage { number, control: control.clone(), ends_well: false });
        drop(parts);
        Governed { interrupt: self.clone(), number }
    }

    /// What is to be done before a signal ends the process, such as giving the terminal back.
    pub fn before_leaving(&self, leave: Option<Arc<dyn Fn() + Send + Sync>>) {
        self.parts().leave = leave;
    }

    /// From now on something exists that a second signal would leave behind.
    pub fn leftovers(&self, text: Option<String>) {
        self.parts().leftovers = text;
    }
}

/// The next SIGHUP; never, where it is ignored.
async fn hangup(hangups: &mut Option<Signal>) -> Option<()> {
    match hangups {
        Some(hangups) => hangups.recv().await,
        None => std::future::pending().await,
    }
}

/// Whether whoever started this process wants it to outlive its terminal (nohup(1), sigaction(2)).
fn hangup_is_ignored() -> bool {
    let mut now = std::mem::MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: with no new action the call changes nothing and fills `now` when it succeeds.
    unsafe {
        libc::sigaction(libc::SIGHUP, std::ptr::null(), now.as_mut_ptr()) == 0
            && now.assume_init().sa_sigaction == libc::SIG_IGN
    }
}

/// What a run that leaves at once may leave behind, and the command that removes it.
pub fn what_may_be_left(run: &Run, journal_dir: Option<&Path>) -> String {
    let flag = match journal_dir {
        Some(directory) => format!(" --journal-dir {}", directory.display()),
        None => String::new(),
    };
    format!(
        "whatever is named {} may still exist; next: `manometer cleanup{flag}` removes what the journal {} lists",
        run.id().object_name(),
        run.path().display()
    )
}
