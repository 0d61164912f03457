//! How far a phase is: a bar for a person, a line now and then for a log.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use metrics::Interval;
use units::{ByteRate, Span};

use crate::messages::Messages;

/// Without a terminal, a line appears this often while a phase runs.
const LINE_EVERY_NS: u64 = 10_000_000_000;

/// The progress of one phase.
pub struct Progress {
    messages: Messages,
    label: String,
    length_ns: u64,
    bar: Option<ProgressBar>,
    next_line_ns: u64,
    bytes: u64,
}

impl Progress {
    /// Begins a phase that will be measured for `length`.
    pub fn begin(messages: &Messages, label: &str, length: Duration) -> Self {
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

    /// Takes one interval in.
    pub fn interval(&mut self, interval: &Interval) {
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

    /// Ends the phase with what came out.
    pub fn end(mut self, outcome: &str) {
        self.clear();
        self.messages.note(&format!("{}: {outcome}", self.label));
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

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
