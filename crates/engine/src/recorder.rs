//! What one worker counts, and when: the ramp, the exact window in intervals, and what comes after.

use std::sync::mpsc::{Receiver, SyncSender};

use drivers::{Done, OpError};
use metrics::{ErrorKind, Interval, OpKind, OpStats};

use crate::Counts;
use crate::samples::Samples;
use crate::stage::Message;

/// The edges of the measured window on the worker's clock, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub start_ns: u64,
    pub end_ns: u64,
    pub interval_ns: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Ramp,
    Window,
    After,
}

/// Counts the operations of all lanes of a worker.
pub(crate) struct Recorder {
    phase: Phase,
    window: Window,
    open_loop: bool,
    /// Where the current interval ends: an operation that ends here or later belongs to another.
    cut_ns: u64,
    current: Interval,
    last_end_ns: u64,
    cpu_start_ns: u64,
    handover: Handover,
    measured: Measured,
}

/// What a worker has counted.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// Length of the window that was measured, in nanoseconds.
    pub window_ns: u64,
    pub total: Interval,
    pub before: Counts,
    pub after: Counts,
    /// Commits of files that were being written when the window ended.
    pub closing: OpStats,
    /// When the last of those ended, in nanoseconds after the window's end.
    pub settled_ns: u64,
    pub samples: Samples,
    pub cpu_ns: u64,
    /// Intervals that are in the total but that the observer did not see.
    pub unseen: u32,
}

impl Recorder {
    pub(crate) fn new(window: Window, open_loop: bool, handover: Handover) -> Self {
        Recorder {
            phase: Phase::Ramp,
            window,
            open_loop,
            cut_ns: window.start_ns,
            current: Interval::default(),
            last_end_ns: window.start_ns,
            cpu_start_ns: 0,
            handover,
            measured: Measured::default(),
        }
    }

    /// When [`Recorder::advance`] has something to do next.
    pub(crate) fn next_cut(&self) -> u64 {
        self.cut_ns
    }

    /// Counts one operation at its end. Times are on the worker's clock, in nanoseconds.
    #[inline]
    pub(crate) fn record(
        &mut self,
        kind: OpKind,
        intended: u64,
        start: u64,
        end: u64,
        result: &Result<Done, OpError>,
    ) {
        if end >= self.cut_ns {
            self.advance(end);
        }
        self.last_end_ns = end;
        let stats = stats_of(&mut self.current, kind, self.open_loop);
        match result {
            Ok(done) => {
                stats.ok += 1;
                stats.bytes += done.bytes;
                stats.rpcs += u64::from(done.rpcs);
                stats.retries += u64::from(done.retries);
                stats.service.record(end - start);
                if let Some(response) = &mut stats.response {
                    response.record(end - intended);
                }
            }
            Err(error) => count_error(stats, error, &mut self.measured.samples),
        }
    }

    /// Counts the commit of a file that was being written when the window ended.
    pub(crate) fn record_closing(&mut self, start: u64, end: u64, result: &Result<Done, OpError>) {
        self.advance(end);
        let stats = &mut self.measured.closing;
        match result {
            Ok(done) => {
                stats.ok += 1;
                stats.rpcs += u64::from(done.rpcs);
                stats.retries += u64::from(done.retries);
                stats.service.record(end - start);
            }
            Err(error) => count_error(stats, error, &mut self.measured.samples),
        }
        let settled = end.saturating_sub(self.window.end_ns);
        self.measured.settled_ns = self.measured.settled_ns.max(settled);
    }

    /// Closes every interval that ends at `now` or before.
    #[cold]
    pub(crate) fn advance(&mut self, now: u64) {
        while now >= self.cut_ns {
            match self.phase {
                Phase::Ramp => self.begin_window(),
                Phase::Window if self.cut_ns == self.window.end_ns => self.end_window(),
                Phase::Window => self.next_interval(),
                Phase::After => self.cut_ns = u64::MAX,
            }
            if self.cut_ns == u64::MAX {
                return;
            }
        }
    }

    /// Ends the window at `at` if it has not ended before.
    pub(crate) fn truncate(&mut self, at: u64) {
        self.advance(at);
        if self.phase == Phase::Ramp {
            self.begin_window();
            self.window.end_ns = self.window.start_ns;
        } else if self.phase == Phase::Window {
            self.window.end_ns = at;
        } else {
            return;
        }
        self.cut_ns = self.window.end_ns;
        self.end_window();
    }

    /// When the last operation ended; the window's start when none did.
    pub(crate) fn last_end(&self) -> u64 {
        self.last_end_ns.max(self.window.start_ns)
    }

    /// All that was counted.
    pub(crate) fn finish(mut self) -> Measured {
        self.measured.after.add(&self.current);
        self.measured.unseen = self.handover.unseen;
        self.measured
    }

    fn begin_window(&mut self) {
        self.measured.before.add(&self.current);
        self.current.clear();
        self.cpu_start_ns = reactor::clock::cpu_thread_ns();
        self.phase = Phase::Window;
        self.cut_ns = (self.window.start_ns + self.window.interval_ns).min(self.window.end_ns);
    }

    fn next_interval(&mut self) {
        let index = self.current.index + 1;
        self.seal();
        self.current.index = index;
        self.current.start_ns = self.cut_ns - self.window.start_ns;
        self.cut_ns = (self.cut_ns + self.window.interval_ns).min(self.window.end_ns);
    }

    fn end_window(&mut self) {
        self.seal();
        self.measured.window_ns = self.window.end_ns - self.window.start_ns;
        self.measured.cpu_ns = reactor::clock::cpu_thread_ns() - self.cpu_start_ns;
        self.phase = Phase::After;
        self.cut_ns = u64::MAX;
    }

    /// Adds the current interval to the total and hands it over.
    fn seal(&mut self) {
        self.current.length_ns = self.cut_ns - self.window.start_ns - self.current.start_ns;
        self.measured.total.merge(&self.current);
        self.handover.give(&mut self.current);
    }
}

#[inline]
fn stats_of(interval: &mut Interval, kind: OpKind, open_loop: bool) -> &mut OpStats {
    if interval.op(kind).is_none() {
        make_room(interval, kind, open_loop);
    }
    interval.op_mut(kind)
}

#[cold]
fn make_room(interval: &mut Interval, kind: OpKind, open_loop: bool) {
    interval.op_mut(kind).response = open_loop.then(Box::default);
}

#[cold]
fn count_error(stats: &mut OpStats, error: &OpError, samples: &mut Samples) {
    stats.errors[error.kind as usize] += 1;
    stats.rpcs += u64::from(error.rpcs);
    stats.retries += u64::from(error.retries);
    samples.add(error.kind, &error.detail);
}

/// The way of intervals to the thread that merges them, and of their emptied buffers back.
pub(crate) struct Handover {
    worker: u32,
    full: SyncSender<Message>,
    empty: Receiver<Interval>,
    /// Wait for a free buffer: on a virtual clock nothing is disturbed by that, and every run is the same.
    patient: bool,
    unseen: u32,
}

impl Handover {
    pub(crate) fn new(
        worker: u32,
        full: SyncSender<Message>,
        empty: Receiver<Interval>,
        patient: bool,
    ) -> Self {
        Handover { worker, full, empty, patient, unseen: 0 }
    }

    /// Exchanges the interval for an empty one. When the other side is late the interval is only counted as unseen.
    fn give(&mut self, current: &mut Interval) {
        if current.length_ns == 0 {
            current.clear();
            return;
        }
        let spare = if self.patient { self.empty.recv().ok() } else { self.empty.try_recv().ok() };
        let Some(spare) = spare else {
            self.unseen += 1;
            current.clear();
            return;
        };
        let full = std::mem::replace(current, spare);
        // The channel has room for all buffers there are, so this never waits; the receiver outlives the workers.
        let _ = self.full.send(Message::Interval(self.worker, full));
    }
}

impl Counts {
    /// Adds what an interval counted.
    pub(crate) fn add(&mut self, interval: &Interval) {
        self.ok += interval.ok();
        self.failed += interval.failed();
        self.bytes += interval.bytes();
        for (_, stats) in &interval.ops {
            self.timed_out += stats.errors[ErrorKind::TimedOut as usize];
        }
    }
}
