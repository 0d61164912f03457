//! The thread that shows a run: a full-screen view, one line that is kept up to date, or a line now and then.

use std::io::Stderr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::crossterm::{execute, terminal};
use reactor::clock;

use super::line::line;
use super::model::Model;
use super::view;
use crate::messages::Messages;

/// How often the view and the line are drawn anew.
const DRAW_EVERY: Duration = Duration::from_millis(200);
/// Without a terminal, a line appears this often.
const LINE_EVERY_NS: u64 = 5_000_000_000;

/// How a run is shown.
#[derive(Clone, Copy, Debug)]
pub enum Show {
    /// Full-screen.
    Full,
    /// One line: kept up to date on a terminal, now and then elsewhere.
    Line {
        /// Also a line that stays after each such time, in nanoseconds.
        newline_ns: Option<u64>,
        /// The line is made so from what there is to see at a moment of the reactors' clock.
        line: fn(&Model, u64) -> String,
    },
    /// Not at all.
    Nothing,
}

/// Shows a run until it is dropped.
pub struct Screen {
    model: Arc<Mutex<Model>>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// A model that several hands hold.
pub fn lock(model: &Mutex<Model>) -> MutexGuard<'_, Model> {
    model.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Screen {
    /// Begins to show `model`; full-screen only if standard error is a terminal.
    ///
    /// # Errors
    /// The terminal cannot be set up, or no thread be started.
    pub fn begin(model: Model, messages: &Messages, show: Show) -> std::io::Result<Self> {
        let model = Arc::new(Mutex::new(model));
        let over = Arc::new(AtomicBool::new(false));
        let full = if matches!(show, Show::Full) { Some(FullScreen::enter(&model, messages)?) } else { None };
        let every_ns = match show {
            Show::Line { newline_ns: Some(every_ns), .. } => every_ns,
            _ => LINE_EVERY_NS,
        };
        let showing = Showing {
            model: Arc::clone(&model),
            messages: messages.clone(),
            over: Arc::clone(&over),
            show,
            every_ns,
            next_line_ns: clock::now_ns().saturating_add(every_ns),
        };
        let thread = std::thread::Builder::new().name("screen".into()).spawn(move || showing.run(full))?;
        Ok(Self { model, over, thread: Some(thread) })
    }

    /// The model, to be changed.
    pub fn model(&self) -> MutexGuard<'_, Model> {
        lock(&self.model)
    }

    /// Ends the display and gives the terminal back.
    pub fn end(mut self) {
        self.leave();
    }

    fn leave(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic while drawing has been reported by its hook and lost nothing of the run.
            let _ = thread.join();
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
    }
}

struct Showing {
    model: Arc<Mutex<Model>>,
    messages: Messages,
    over: Arc<AtomicBool>,
    show: Show,
    /// How often a line appears.
    every_ns: u64,
    next_line_ns: u64,
}

impl Showing {
    fn run(mut self, full: Option<FullScreen>) {
        if let Some(mut full) = full {
            while !self.over.load(Ordering::Relaxed) && full.frame(&self.model) {}
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
        let text = made(&lock(&self.model), now);
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

/// The terminal while it belongs to the view. Dropped, it is as it was.
struct FullScreen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    messages: Messages,
}

/// Gives the terminal back; also called by a panic and before a signal ends the process.
pub fn restore() {
    if terminal::is_raw_mode_enabled().unwrap_or(false) {
        let _ = execute!(std::io::stderr(), terminal::LeaveAlternateScreen, ratatui::crossterm::cursor::Show);
        let _ = terminal::disable_raw_mode();
    }
}

impl FullScreen {
    fn enter(model: &Arc<Mutex<Model>>, messages: &Messages) -> std::io::Result<Self> {
        if messages.bars().is_none() {
            return Err(std::io::Error::other("standard error is not a terminal"));
        }
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            before(panic);
        }));
        let noted = Arc::clone(model);
        messages.divert(Some(Arc::new(move |text: &str| lock(&noted).note(text))));
        terminal::enable_raw_mode()?;
        let begun = execute!(std::io::stderr(), terminal::EnterAlternateScreen)
            .and_then(|()| Terminal::new(CrosstermBackend::new(std::io::stderr())));
        match begun {
            Ok(terminal) => Ok(Self { terminal, messages: messages.clone() }),
            Err(error) => {
                restore();
                messages.divert(None);
                Err(error)
            }
        }
    }

    /// Draws once and waits for a key; false when the view is to be left.
    fn frame(&mut self, model: &Mutex<Model>) -> bool {
        let now = clock::now_ns();
        // Drawn from a copy, so that a slow terminal does not hold up the run.
        let seen = lock(model).clone();
        if self.terminal.draw(|frame| view::draw(frame, &seen, now)).is_err() {
            return false;
        }
        match event::poll(DRAW_EVERY) {
            Ok(true) => {}
            Ok(false) => return true,
            // The terminal is gone: it would be asked again at once, and for ever.
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
        restore();
        self.messages.divert(None);
    }
}
