//! Standard output, and whether somebody gave this process one.
//!
//! The runtime opens /dev/null in the place of a descriptor that is closed, so that a report would go nowhere and nobody be
//! told. Hence this looks before the runtime does: functions in `.init_array` are called before `main` (ELF gABI, "Initialization
//! and Termination Functions").

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::CommandError;

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

/// Writes to standard output; `next` says what to do where that fails. A reader that closed the pipe early is no error.
pub fn print(text: &str, next: &str) -> Result<(), CommandError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(CommandError::Failure(format!("standard output: {error}; next: {next}")))
        }
        _ => Ok(()),
    }
}
