//! Standard output, and whether it was open when this process started.
//!
//! The Rust runtime opens /dev/null in place of a closed descriptor, so that a report would silently vanish. Hence this
//! check runs earlier: functions in `.init_array` are called before `main` (ELF gABI, "Initialization and Termination
//! Functions").

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::CommandError;

static CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn look() {
    // SAFETY: this request takes no argument and changes nothing; only a store to an atomic follows.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags < 0, Ordering::Relaxed);
}

#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// Whether standard output was closed (`>&-`) when the process started.
pub fn was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Writes to standard output as far as somebody reads it: a reader that closed the pipe early is no error.
pub fn put(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(bytes).and_then(|()| out.flush());
}

/// Writes to standard output; `next` says what to do if that fails. A reader that closed the pipe early is no error.
pub fn print(text: &str, next: &str) -> Result<(), CommandError> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(CommandError::Failure(format!("standard output: {error}; next: {next}")))
        }
        _ => Ok(()),
    }
}
