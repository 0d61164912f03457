//! All messages for people: on standard error, one line per message, above the progress bars if there are any. Standard
//! output is reserved for the report.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::{MultiProgress, ProgressDrawTarget};

/// Where messages go. Clones share the terminal.
#[derive(Clone)]
pub struct Messages {
    bars: Option<Arc<MultiProgress>>,
    diverted: Arc<Mutex<Diverted>>,
}

/// Shows messages while the terminal cannot take lines.
pub type MessageListener = Arc<dyn Fn(&str) + Send + Sync>;

/// Where messages go while a full-screen view owns the terminal.
#[derive(Default)]
struct Diverted {
    to: Option<MessageListener>,
    /// Messages kept meanwhile: they are printed when the terminal is free again.
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

    /// Sends messages to `listener` from now on; with `None` to standard error again, including all kept messages.
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

    /// The bars, if a person watches.
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

    /// A message of several lines, such as a position in a file with its fault.
    pub fn paragraph(&self, text: &str) {
        text.lines().for_each(|line| self.line(line));
    }

    fn line(&self, text: &str) {
        // One message, one line: text from a server must not be able to fake another message.
        let text = text.replace(['\n', '\r'], " ");
        let mut diverted = self.diverted.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(listener) = &diverted.to {
            listener(&text);
            diverted.kept.push(text);
            return;
        }
        match &self.bars {
            // Drawing bars on a terminal that is gone would panic.
            Some(bars) if terminal_lives() => bars.suspend(|| plain(&text)),
            _ => plain(&text),
        }
    }
}

/// A reader that closed standard error must not stop a run that still has to clean up.
fn plain(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// Whether the terminal on standard error is still connected.
fn terminal_lives() -> bool {
    rustix::termios::tcgetattr(std::io::stderr()).is_ok()
}

/// Output width in columns: the terminal's, or that of a log.
pub fn width() -> usize {
    terminal_width().map_or(report::LOG_WIDTH, usize::from)
}

/// Width in columns of the terminal on standard output, if it is one.
pub fn terminal_width() -> Option<u16> {
    let out = std::io::stdout();
    if !out.is_terminal() {
        return None;
    }
    let size = rustix::termios::tcgetwinsize(out).ok()?;
    (size.ws_col > 0).then_some(size.ws_col)
}
