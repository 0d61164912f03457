//! Whether somebody gave this process a standard output.
//!
//! The runtime opens /dev/null in the place of a descriptor that is closed, so that a report would go nowhere and nobody be
//! told. Hence this looks before the runtime does: functions in `.init_array` are called before `main` (ELF gABI, "Initialization
//! and Termination Functions").

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn look() {
    // SAFETY: this request takes no argument and changes nothing; a store to an atomic is all that follows.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags < 0, Ordering::Relaxed);
}

#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// True when standard output was closed (`>&-`) when the process began.
pub fn was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}
