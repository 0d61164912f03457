//! The thread that displays a run: a full-screen view, one line kept up to date, or a line now and then.

use std::io::Stderr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::crossterm::{execute, terminal};
use reactor::clock;
use runner::progress::{RunProgress, SharedProgress};
use runner::{Events, RunEvent, Severity};

use super::line::line;
use super::view;
use crate::messages::Messages;

/// Redraw interval of the view and the line.
const DRAW_EVERY: Duration = Duration::from_millis(200);
/// Interval between lines without a terminal.
const LINE_EVERY_NS: u64 = 5_000_000_000;

/// How a run is displayed.
#[derive(Clone, Copy, Debug)]
pub enum Show {
    /// Full-screen.
    Full,
    /// One line: kept up to date on a terminal, now and then elsewhere.
    Line {
        /// Interval at which a permanent line is printed, in nanoseconds.
        newline_ns: Option<u64>,
        /// Formats the line for a given time on the reactors' clock.
        line: fn(&RunProgress, u64) -> String,
    },
    /// Not at all.
    Nothing,
}

/// A run on a terminal: messages as lines, its state in a view kept up to date.
pub struct RunView {
    messages: Messages,
    show: Show,
    screen: Mutex<Option<Screen>>,
}

impl RunView {
    /// A view of the next run.
    ///
    /// # Errors
    /// One line: a full-screen view was requested, but standard error is not a terminal.
    pub fn new(messages: &Messages, show: Show) -> Result<Self, String> {
        if matches!(show, Show::Full) && messages.bars().is_none() {
            return Err("--live: standard error is not a terminal; next: run without --live".to_owned());
        }
        Ok(Self { messages: messages.clone(), show, screen: Mutex::default() })
    }

    fn begin(&self, progress: &Arc<SharedProgress>) {
        let screen = Screen::begin(progress, &self.messages, self.show).or_else(|error| {
            self.messages.warn(&format!("--live: {error}; the run goes on without the view"));
            Screen::begin(progress, &self.messages, Show::Line { newline_ns: None, line })
        });
        match screen {
            Ok(screen) => *self.screen.lock().unwrap_or_else(PoisonError::into_inner) = Some(screen),
            Err(error) => self.messages.warn(&format!("progress cannot be shown: {error}")),
        }
    }
}

impl Events for RunView {
    fn event(&self, event: RunEvent<'_>) {
        match event {
            RunEvent::Began(progress) => self.begin(progress),
            RunEvent::Ended => drop(self.screen.lock().unwrap_or_else(PoisonError::into_inner).take()),
            other => self.messages.event(other),
        }
    }
}

/// A view that hides notes but shows warnings and errors.
pub struct WithoutNotes(pub RunView);

impl Events for WithoutNotes {
    fn event(&self, event: RunEvent<'_>) {
        if !matches!(event, RunEvent::Message(Severity::Note, _)) {
            self.0.event(event);
        }
    }
}

impl Events for Messages {
    fn event(&self, event: RunEvent<'_>) {
        match event {
            RunEvent::Message(Severity::Note, text) => self.note(text),
            RunEvent::Message(Severity::Warning, text) => self.warn(text),
            RunEvent::Message(Severity::Error, text) => self.error(text),
            _ => {}
        }
    }
}

/// Displays a run in a thread until dropped.
struct Screen {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Screen {
    fn begin(progress: &Arc<SharedProgress>, messages: &Messages, show: Show) -> std::io::Result<Self> {
        let over = Arc::new(AtomicBool::new(false));
        let full =
            if matches!(show, Show::Full) { Some(FullScreen::enter(progress, messages)?) } else { None };
        let every_ns = match show {
            Show::Line { newline_ns: Some(every_ns), .. } => every_ns,
            _ => LINE_EVERY_NS,
        };
        let showing = Showing {
            progress: Arc::clone(progress),
            messages: messages.clone(),
            over: Arc::clone(&over),
            show,
            every_ns,
            next_line_ns: clock::now_ns().saturating_add(every_ns),
        };
        let thread = std::thread::Builder::new().name("screen".into()).spawn(move || showing.run(full))?;
        Ok(Self { over, thread: Some(thread) })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The panic hook reported a panic while drawing, and the run lost nothing.
            let _ = thread.join();
        }
    }
}

struct Showing {
    progress: Arc<SharedProgress>,
    messages: Messages,
    over: Arc<AtomicBool>,
    show: Show,
    /// Interval between lines.
    every_ns: u64,
    next_line_ns: u64,
}

impl Showing {
    fn run(mut self, full: Option<FullScreen>) {
        if let Some(mut full) = full {
            while !self.over.load(Ordering::Relaxed) && full.frame(&self.progress) {}
            drop(full);
        }
        if matches!(self.show, Show::Nothing) {
            return;
        }
        let bar = self.messages.bars().map(|bars| {
            let style = ProgressStyle::with_template("{spinner} {wide_msg}")
                .expect("the template is a constant that is valid");
            bars.add(ProgressBar::new_spinner().with_style(style))
        });
        while !self.over.load(Ordering::Relaxed) {
            self.line(bar.as_ref());
            std::thread::park_timeout(DRAW_EVERY);
        }
        if let Some(bar) = bar {
            bar.finish_and_clear();
            if let Some(bars) = self.messages.bars() {
                bars.remove(&bar);
            }
        }
    }

    fn line(&mut self, bar: Option<&ProgressBar>) {
        let now = clock::now_ns();
        let made = match self.show {
            Show::Line { line, .. } => line,
            Show::Full | Show::Nothing => line,
        };
        let text = made(&self.progress.lock(), now);
        let stays = bar.is_none() || matches!(self.show, Show::Line { newline_ns: Some(_), .. });
        if stays && now >= self.next_line_ns {
            self.next_line_ns = now.saturating_add(self.every_ns);
            self.messages.note(&text);
        }
        if let Some(bar) = bar {
            bar.set_message(text);
            bar.tick();
        }
    }
}

/// The terminal while the view owns it. Restores it on drop.
struct FullScreen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    messages: Messages,
}

/// Restores the terminal; also called on a panic and before a signal ends the process.
pub fn restore_terminal() {
    if terminal::is_raw_mode_enabled().unwrap_or(false) {
        let _ = execute!(std::io::stderr(), terminal::LeaveAlternateScreen, ratatui::crossterm::cursor::Show);
        let _ = terminal::disable_raw_mode();
    }
}

impl FullScreen {
    fn enter(progress: &Arc<SharedProgress>, messages: &Messages) -> std::io::Result<Self> {
        if messages.bars().is_none() {
            return Err(std::io::Error::other("standard error is not a terminal"));
        }
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore_terminal();
            before(panic);
        }));
        let noted = Arc::clone(progress);
        messages.divert(Some(Arc::new(move |text: &str| noted.lock().note(text))));
        terminal::enable_raw_mode()?;
        let begun = execute!(std::io::stderr(), terminal::EnterAlternateScreen)
            .and_then(|()| Terminal::new(CrosstermBackend::new(std::io::stderr())));
        match begun {
            Ok(terminal) => Ok(Self { terminal, messages: messages.clone() }),
            Err(error) => {
                restore_terminal();
                messages.divert(None);
                Err(error)
            }
        }
    }

    /// Draws once and waits for a key; returns false to leave the view.
    fn frame(&mut self, progress: &SharedProgress) -> bool {
        let now = clock::now_ns();
        // Drawn from a copy, so that a slow terminal does not hold up the run.
        let seen = progress.lock().clone();
        if self.terminal.draw(|frame| view::draw(frame, &seen, now)).is_err() {
            return false;
        }
        match event::poll(DRAW_EVERY) {
            Ok(true) => {}
            Ok(false) => return true,
            // The terminal is gone: polling it again would spin for ever.
            Err(_) => return false,
        }
        let key = match event::read() {
            Ok(Event::Key(key)) => key,
            Ok(_) => return true,
            Err(_) => return false,
        };
        if key.kind != KeyEventKind::Press {
            return true;
        }
        match key.code {
            KeyCode::Char('q') | KeyCode::Esc => return false,
            // In raw mode the terminal sends no signal of its own.
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => {
                let _ =
                    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::INT);
            }
            _ => {}
        }
        true
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        restore_terminal();
        self.messages.divert(None);
    }
}
