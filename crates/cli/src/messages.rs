//! Everything that is said to people: on standard error, one line a message, above the progress bars
//! when there are any. Standard output belongs to the report alone.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::{MultiProgress, ProgressDrawTarget};

/// Where messages go. Clones share the terminal.
#[derive(Clone)]
pub struct Messages {
    bars: Option<Arc<MultiProgress>>,
    diverted: Arc<Mutex<Diverted>>,
}

/// Whoever shows messages while the terminal is not free for lines.
pub type MessageListener = Arc<dyn Fn(&str) + Send + Sync>;

/// Where messages go while a full-screen view has the terminal.
#[derive(Default)]
struct Diverted {
    to: Option<MessageListener>,
    /// What was said meanwhile: it is printed when the terminal is free again.
    kept: Vec<String>,
}

impl Messages {
    /// Messages with progress bars if standard error is a terminal, else plain lines.
    pub fn new() -> Self {
        let terminal = std::io::stderr().is_terminal() && std::env::var_os("TERM").is_some();
        Self {
            bars: terminal
                .then(|| Arc::new(MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(10)))),
            diverted: Arc::default(),
        }
    }

    /// From now on messages go to `listener`; with `None` to standard error again, with all that was said meanwhile.
    pub fn divert(&self, listener: Option<MessageListener>) {
        let mut diverted = self.diverted.lock().unwrap_or_else(PoisonError::into_inner);
        diverted.to = listener;
        if diverted.to.is_none() {
            diverted.kept.drain(..).for_each(|text| plain(&text));
        }
    }

    /// The terminal is gone: nothing is drawn any more. Lines are still written, in case standard error is a file.
    pub fn hang_up(&self) {
        if let Some(bars) = &self.bars {
            bars.set_draw_target(ProgressDrawTarget::hidden());
        }
    }

    /// The bars, when a person watches.
    pub fn bars(&self) -> Option<&MultiProgress> {
        self.bars.as_deref()
    }

    /// Something that happened.
    pub fn note(&self, text: &str) {
        self.line(text);
    }

    /// Something that looks wrong but does not stop the run.
    pub fn warn(&self, text: &str) {
        self.line(&format!("warning: {text}"));
    }

    /// What failed, where, and what to do next.
    pub fn error(&self, text: &str) {
        self.line(&format!("error: {text}"));
    }

    /// Something that takes several lines, such as a place in a file with what is wrong there.
    pub fn paragraph(&self, text: &str) {
        text.lines().for_each(|line| self.line(line));
    }

    fn line(&self, text: &str) {
        // One message, one line: whatever a server put into an error must not fake another.
        let text = text.replace(['\n', '\r'], " ");
        let mut diverted = self.diverted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listener) = &diverted.to {
            listener(&text);
            diverted.kept.push(text);
            return;
        }
        match &self.bars {
            // A terminal that is gone takes no bars, and drawing them there would be a panic.
            Some(bars) if terminal_lives() => bars.suspend(|| plain(&text)),
            _ => plain(&text),
        }
    }
}

/// A reader that closed standard error must not stop a run that still has to clean up.
fn plain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Whether there is still somebody at the other end of the terminal on standard error.
fn terminal_lives() -> bool {
    rustix::termios::tcgetattr(std::io::stderr()).is_ok()
}

/// Columns for what is printed: the terminal's, or those of a log.
pub fn width() -> usize {
    terminal_width().map_or(report::LOG_WIDTH, usize::from)
}

/// Columns of the terminal on standard output, if it is one.
pub fn terminal_width() -> Option<u16> {
    let out = std::io::stdout();
    if !out.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(out).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}
