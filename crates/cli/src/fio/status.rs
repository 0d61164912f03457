//! `--status-interval`: interim figures, printed repeatedly while the jobs run.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use experiment::Plan;
use fio::output::{self, FioReport, Formats};
use jiff::tz::TimeZone;
use reactor::clock;
use runner::{Events, Interim, RunEvent};

use super::run::Destination;
use crate::messages::Messages;

/// Writes interim figures at intervals until dropped, and passes all events on to another observer.
pub struct StatusWriter {
    interim: Arc<Interim>,
    next: Arc<dyn Events>,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl StatusWriter {
    /// For a run of this plan that starts now.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn begin(
        (plan, every, formats): (&Plan, Duration, Formats),
        destination: &Arc<Mutex<Destination>>,
        messages: &Messages,
        next: Arc<dyn Events>,
    ) -> std::io::Result<Self> {
        let (interim, over) = (Arc::new(Interim::new(plan)), Arc::new(AtomicBool::new(false)));
        let writing = Writing {
            interim: Arc::clone(&interim),
            over: Arc::clone(&over),
            every,
            formats,
            destination: Arc::clone(destination),
            messages: messages.clone(),
        };
        let thread = std::thread::Builder::new().name("status".into()).spawn(move || writing.run())?;
        Ok(Self { interim, next, over, thread: Some(thread) })
    }
}

impl Events for StatusWriter {
    fn event(&self, event: RunEvent<'_>) {
        self.interim.event(&event);
        if matches!(event, RunEvent::Ended) {
            self.over.store(true, Ordering::Relaxed);
        }
        self.next.event(event);
    }
}

impl Drop for StatusWriter {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The panic hook reported any panic there, and the run lost nothing.
            let _ = thread.join();
        }
    }
}

/// The thread's state.
struct Writing {
    interim: Arc<Interim>,
    over: Arc<AtomicBool>,
    every: Duration,
    formats: Formats,
    destination: Arc<Mutex<Destination>>,
    messages: Messages,
}

impl Writing {
    fn run(self) {
        let every_ns = self.every.as_nanos() as u64;
        let mut due_ns = clock::now_ns().saturating_add(every_ns);
        while !self.over.load(Ordering::Relaxed) {
            let left_ns = due_ns.saturating_sub(clock::now_ns());
            if left_ns > 0 {
                std::thread::park_timeout(Duration::from_nanos(left_ns));
                continue;
            }
            due_ns = due_ns.saturating_add(every_ns);
            if !self.interim.has_begun() {
                // The jobs are still being checked: there is nothing to show.
                continue;
            }
            let report = FioReport::of(&self.interim.outcome(), true, TimeZone::system());
            let mut text = Vec::new();
            // Writing to memory does not fail.
            if output::write(&report, &self.formats, &mut text).is_ok() {
                let mut destination = self.destination.lock().unwrap_or_else(PoisonError::into_inner);
                if !matches!(destination.write(&text, &self.messages), Ok(0)) {
                    return;
                }
            }
        }
    }
}
