//! Brings the server to the size that the next cells need.

use std::time::Duration;

use experiment::{Cell, ServerScale};
use reactor::clock;

use super::context::{CellFailure, Context};
use crate::progress::Stage;
use crate::server_command::{ServerCommandError, run};

/// Kind of the events about the server's size.
const SERVER: &str = "server";

/// The size that the server has, as far as this process set it.
pub struct ServerSize<'p> {
    scale: &'p ServerScale,
    /// The latest size, and why it could not be set if so.
    latest: Option<(String, Result<(), CellFailure>)>,
}

impl<'p> ServerSize<'p> {
    /// Nothing is set yet: a resumed run sets its first size again.
    pub fn new(scale: &'p ServerScale) -> Self {
        Self { scale, latest: None }
    }

    /// Whether the cell needs another size than the server has.
    pub fn changes_for(&self, cell: &Cell) -> bool {
        let size = self.scale.size_of(cell);
        size.is_some() && self.latest.as_ref().map(|(size, _)| size.as_str()) != size
    }

    /// Brings the server to the cell's size; a size that failed is not tried again.
    ///
    /// # Errors
    /// A command failed or took too long, or the run must end.
    pub fn bring_to(&mut self, context: &Context, cell: &Cell) -> Result<(), CellFailure> {
        let Some(size) = self.scale.size_of(cell) else { return Ok(()) };
        if self.changes_for(cell) {
            let done = self.set(context, size);
            self.latest = Some((size.to_owned(), done));
        }
        self.latest.as_ref().map_or(Ok(()), |(_, done)| done.clone())
    }

    fn set(&self, context: &Context, size: &str) -> Result<(), CellFailure> {
        let scale = self.scale;
        let name = format!("{}={size}", scale.name);
        let stage = Stage { name: name.clone(), began_ns: clock::now_ns(), ..Stage::default() };
        context.progress.lock().begin_stage(None, stage);
        let stop = || context.stop.is_requested();
        let timeout = Duration::from_millis(scale.timeout_ms);
        let failed = |error: ServerCommandError| match error {
            ServerCommandError::Stopped(_) => CellFailure::Interrupted,
            error => {
                let text = format!("{name}: {error}");
                context.recorder().event(None, SERVER, text.clone());
                CellFailure::Failed(text)
            }
        };
        let said = run(&scale.command(&scale.set, size), timeout, &stop).map_err(failed)?;
        if !scale.ready.is_empty() {
            self.wait(&scale.command(&scale.ready, size), timeout, &stop).map_err(failed)?;
        }
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        let text = format!("{name}: the server is ready{said}");
        context.events.note(&text);
        context.recorder().event(None, SERVER, text);
        Ok(())
    }

    /// Repeats the condition until it holds.
    fn wait(
        &self,
        words: &[String],
        timeout: Duration,
        stop: &dyn Fn() -> bool,
    ) -> Result<(), ServerCommandError> {
        let began_ns = clock::now_ns();
        let left = || timeout.saturating_sub(Duration::from_nanos(clock::now_ns().saturating_sub(began_ns)));
        let interval = Duration::from_millis(self.scale.interval_ms);
        loop {
            match run(words, left(), stop) {
                Ok(_) => return Ok(()),
                // Not ready yet.
                Err(ServerCommandError::Failed { command, said, .. }) if left() <= interval => {
                    let seconds = timeout.as_secs_f64();
                    return Err(ServerCommandError::NotReady { command, seconds, said });
                }
                Err(ServerCommandError::Failed { .. }) => {}
                Err(error) => return Err(error),
            }
            let waited_ns = clock::now_ns();
            while Duration::from_nanos(clock::now_ns().saturating_sub(waited_ns)) < interval && !stop() {
                std::thread::sleep(interval.min(Duration::from_millis(20)));
            }
        }
    }

    /// Runs `reset`, if a size was set; returns what failed. A stop request does not prevent it: it is clean-up.
    pub fn reset(&self, context: &Context) -> Option<String> {
        if self.latest.is_none() || self.scale.reset.is_empty() {
            return None;
        }
        let timeout = Duration::from_millis(self.scale.timeout_ms);
        match run(&self.scale.reset, timeout, &|| false) {
            Ok(_) => {
                context.recorder().event(None, SERVER, "the server was reset");
                None
            }
            Err(error) => {
                let text = format!("the server was not reset: {error}");
                context.recorder().event(None, SERVER, text.clone());
                Some(text)
            }
        }
    }
}
