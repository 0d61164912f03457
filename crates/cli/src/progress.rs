//! Progress of a check, a calibration or a network measurement: a bar for a person, a line now and then for a log.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use metrics::Interval;
use runner::{Events, RunEvent};
use units::{ByteRate, Span};

use crate::messages::Messages;

/// Interval between lines without a terminal, while a phase runs.
const LINE_EVERY_NS: u64 = 10_000_000_000;

/// Displays the events of [`checks`].
pub struct ProgressView {
    messages: Messages,
    phase: Mutex<Option<PhaseProgress>>,
    steps: Mutex<Steps>,
}

impl ProgressView {
    /// Uses the terminal of these messages.
    pub fn new(messages: &Messages) -> Self {
        Self { messages: messages.clone(), phase: Mutex::default(), steps: Mutex::default() }
    }

    fn phase(&self) -> MutexGuard<'_, Option<PhaseProgress>> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn steps(&self) -> MutexGuard<'_, Steps> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Events for ProgressView {
    fn event(&self, event: RunEvent<'_>) {
        match event {
            RunEvent::PhaseBegan { label, window } => {
                *self.phase() = Some(PhaseProgress::begin(&self.messages, label, window));
            }
            RunEvent::PhaseInterval { interval, .. } => {
                if let Some(phase) = &mut *self.phase() {
                    phase.interval(interval);
                }
            }
            RunEvent::PhaseEnded { .. } => *self.phase() = None,
            RunEvent::RoundBegan { round, rounds } => self.steps().round(&self.messages, round, rounds),
            RunEvent::StepBegan { done, steps, label } => {
                self.steps().step(&self.messages, done, steps, label)
            }
            RunEvent::Ended => *self.steps() = Steps::default(),
            other => self.messages.event(other),
        }
    }
}

/// The steps of a calibration or of a network measurement.
#[derive(Default)]
struct Steps {
    /// `round 1 of 5`
    round: Option<String>,
    bar: Option<(Messages, ProgressBar)>,
}

impl Steps {
    fn round(&mut self, messages: &Messages, round: u32, rounds: u32) {
        let text = format!("round {round} of {rounds}");
        if messages.bars().is_none() {
            messages.note(&format!("calibrating: {text}"));
        }
        self.round = Some(text);
    }

    fn step(&mut self, messages: &Messages, done: u64, steps: u64, label: &str) {
        let Some(bars) = messages.bars() else { return };
        let (_, bar) = self.bar.get_or_insert_with(|| {
            let style = ProgressStyle::with_template("{spinner} {msg} [{bar:30}] {pos} of {len}, {eta} left")
                .expect("the template is a constant that is valid")
                .progress_chars("=> ");
            let bar = bars.add(ProgressBar::new(steps).with_style(style));
            bar.enable_steady_tick(Duration::from_millis(100));
            (messages.clone(), bar)
        });
        bar.set_position(done);
        bar.set_message(match &self.round {
            Some(round) => format!("{round}: {label}"),
            None => label.to_owned(),
        });
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        if let Some((messages, bar)) = self.bar.take() {
            bar.finish_and_clear();
            if let Some(bars) = messages.bars() {
                bars.remove(&bar);
            }
        }
    }
}

/// The progress of one phase.
struct PhaseProgress {
    messages: Messages,
    label: String,
    length_ns: u64,
    bar: Option<ProgressBar>,
    next_line_ns: u64,
    bytes: u64,
}

impl PhaseProgress {
    /// Starts a phase with a measured time of `length`.
    fn begin(messages: &Messages, label: &str, length: Duration) -> Self {
        let length_ns = u64::try_from(length.as_nanos()).unwrap_or(u64::MAX).max(1);
        let bar = messages.bars().map(|bars| {
            let style = ProgressStyle::with_template("{spinner} {prefix:<34} [{bar:30}] {msg}")
                .expect("the template is a constant that is valid")
                .progress_chars("=> ");
            let bar = bars.add(ProgressBar::new(length_ns).with_style(style));
            bar.set_prefix(label.to_owned());
            bar.set_message("connecting and warming up");
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Self {
            messages: messages.clone(),
            label: label.to_owned(),
            length_ns,
            bar,
            next_line_ns: LINE_EVERY_NS,
            bytes: 0,
        }
    }

    /// Adds an interval.
    fn interval(&mut self, interval: &Interval) {
        self.bytes += interval.bytes();
        let at_ns = interval.start_ns + interval.length_ns;
        let rate = ByteRate::of(interval.bytes(), interval.length_ns);
        let failed: u64 = interval.ops.iter().map(|(_, stats)| stats.failed()).sum();
        let errors = match failed {
            0 => String::new(),
            some => format!(", {some} errors"),
        };
        let seconds = |nanos: u64| nanos.div_ceil(1_000_000_000);
        match &self.bar {
            Some(bar) => {
                bar.set_position(at_ns.min(self.length_ns));
                let left = Span::from_secs(seconds(self.length_ns.saturating_sub(at_ns)));
                bar.set_message(format!("{rate:>10}{errors}, {left} left"));
            }
            None if at_ns >= self.next_line_ns && at_ns < self.length_ns => {
                self.next_line_ns += LINE_EVERY_NS;
                self.messages.note(&format!(
                    "{}: {} of {}, {rate}{errors}",
                    self.label,
                    Span::from_secs(at_ns / 1_000_000_000),
                    Span::from_secs(seconds(self.length_ns)),
                ));
            }
            None => {}
        }
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
            if let Some(bars) = self.messages.bars() {
                bars.remove(&bar);
            }
        }
    }
}

impl Drop for PhaseProgress {
    fn drop(&mut self) {
        self.clear();
    }
}
