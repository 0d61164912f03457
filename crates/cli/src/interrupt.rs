//! Ctrl-C and SIGTERM: the first ends the stage under way and lets everything be removed, the second
//! leaves at once and says what is left.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::Control;
use provision::Cancel;
use tokio::signal::unix::{SignalKind, signal};

use crate::messages::Messages;

/// What a signal must reach. Clones share it.
#[derive(Clone)]
pub struct Interrupt(Arc<Shared>);

struct Shared {
    /// Number of the first signal; 0 when none came.
    signal: AtomicI32,
    cancel: Cancel,
    parts: Mutex<Parts>,
}

#[derive(Default)]
struct Parts {
    control: Option<Control>,
    /// What to say when the second signal comes: what is left, and the command that removes it.
    leftovers: Option<String>,
}

impl Interrupt {
    /// Begins to listen. `messages` gets a line at each signal.
    ///
    /// # Errors
    /// When the thread or the signal handlers cannot be set up.
    pub fn listen(messages: Messages) -> std::io::Result<Self> {
        let interrupt = Self(Arc::new(Shared {
            signal: AtomicI32::new(0),
            cancel: Cancel::new(),
            parts: Mutex::default(),
        }));
        let shared = interrupt.clone();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        // The handlers are in place before this function returns.
        let (mut interrupts, mut terminations) = {
            let _entered = runtime.enter();
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
        };
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            runtime.block_on(async {
                loop {
                    let number = tokio::select! {
                        Some(()) = interrupts.recv() => libc::SIGINT,
                        Some(()) = terminations.recv() => libc::SIGTERM,
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
        let first = self.0.signal.compare_exchange(0, number, Ordering::SeqCst, Ordering::SeqCst);
        if first.is_ok() {
            self.0.cancel.cancel();
            let parts = self.parts();
            if let Some(control) = &parts.control {
                control.stop();
            }
            messages
                .note("interrupted: ending the phase and removing what was created (again to leave at once)");
            return;
        }
        let leftovers = self.parts().leftovers.clone();
        if let Some(leftovers) = leftovers {
            messages.error(&format!("left at once: {leftovers}"));
        }
        std::process::exit(128 + number);
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
            _ => Some(("SIGINT", 130)),
        }
    }

    /// The next stage can be stopped through `control`; at once, if a signal came already.
    pub fn governs(&self, control: &Control) {
        let mut parts = self.parts();
        if self.arrived_already() {
            control.stop();
        }
        parts.control = Some(control.clone());
    }

    /// From now on something exists that a second signal would leave behind.
    pub fn leftovers(&self, text: Option<String>) {
        self.parts().leftovers = text;
    }
}
