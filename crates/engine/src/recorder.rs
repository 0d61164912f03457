//! What one worker counts, and when: the ramp, the exact window in intervals, and the time after it.

use std::sync::mpsc::{Receiver, SyncSender};

use drivers::{Done, Op, OpError};
use metrics::{ErrorKind, Interval, OpKind, OpStats, ProcedureStats};

use crate::samples::Samples;
use crate::stage::Message;
use crate::supervisor::Stop;
use crate::{CorruptRange, Counts};

/// Maximum number of corrupt places that a worker records.
pub(crate) const MAX_CORRUPT: usize = 16;

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
pub(crate) struct Recorder<'a> {
    phase: Phase,
    window: Window,
    open_loop: bool,
    /// Index of each kind's statistics in an interval: [`Interval::ops`].
    places: [u8; OpKind::COUNT],
    /// End of the current interval: an operation that ends here or later belongs to another one.
    cut_ns: u64,
    current: Interval,
    last_end_ns: u64,
    cpu_start_ns: u64,
    process_cpu_start_ns: u64,
    handover: Handover<'a>,
    measured: Measured,
}

/// The counts of a worker.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// Length of the measured window, in nanoseconds.
    pub window_ns: u64,
    pub total: Interval,
    pub before: Counts,
    pub after: Counts,
    /// Commits of files that were being written when the window ended.
    pub closing: OpStats,
    /// End of the last of those, in nanoseconds after the window's end.
    pub settled_ns: u64,
    pub samples: Samples,
    /// The first places where data differed from what was written.
    pub corrupt: Vec<CorruptRange>,
    /// Of the worker's thread, and of all threads of the process.
    pub cpu_ns: u64,
    pub process_cpu_ns: u64,
    /// Intervals included in the total that the observer did not see.
    pub unseen: u32,
}

impl<'a> Recorder<'a> {
    /// A recorder that counts these kinds without allocating.
    pub(crate) fn new(window: Window, (kinds, open_loop): (&[OpKind], bool), handover: Handover<'a>) -> Self {
        let mut places = [u8::MAX; OpKind::COUNT];
        kinds.iter().zip(0..).for_each(|(kind, place)| places[*kind as usize] = place);
        let total = Interval::with_room(kinds, open_loop);
        Recorder {
            phase: Phase::Ramp,
            window,
            open_loop,
            cut_ns: window.start_ns,
            places,
            current: Interval::with_room(kinds, open_loop),
            last_end_ns: window.start_ns,
            cpu_start_ns: 0,
            process_cpu_start_ns: 0,
            handover,
            measured: Measured { total, ..Measured::default() },
        }
    }

    /// Whether the window has begun and not ended.
    pub(crate) fn is_measuring(&self) -> bool {
        self.phase == Phase::Window
    }

    /// When [`Recorder::advance`] next has something to do.
    #[inline]
    pub(crate) fn next_cut(&self) -> u64 {
        self.cut_ns
    }

    /// Counts one operation at its end. Times are on the worker's clock, in nanoseconds. Returns whether it is inside
    /// the window.
    // Inlined: a call takes a nanosecond per operation, a thirtieth of its total cost.
    #[inline(always)]
    pub(crate) fn record(
        &mut self,
        op: &Op,
        intended: u64,
        start: u64,
        end: u64,
        result: &Result<Done, OpError>,
    ) -> bool {
        debug_assert!(end < self.cut_ns, "the window is advanced before an operation is counted");
        self.last_end_ns = end;
        let stats = self.stats_of(op.kind);
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
            Err(error) => {
                count_error(stats, error);
                note_error(error, &mut self.measured.samples);
            }
        }
        self.phase == Phase::Window
    }

    /// Counts RPCs of an operation that has ended and is recorded next.
    #[inline]
    pub(crate) fn called(&mut self, kind: OpKind, calls: &ProcedureStats) {
        self.stats_of(kind).called(calls);
    }

    #[inline]
    fn stats_of(&mut self, kind: OpKind) -> &mut OpStats {
        let place = usize::from(self.places[kind as usize]);
        if self.current.ops.get(place).is_none_or(|(there, _)| *there != kind) {
            return self.make_room(kind);
        }
        &mut self.current.ops[place].1
    }

    /// Adds a kind that the plan did not announce.
    #[cold]
    fn make_room(&mut self, kind: OpKind) -> &mut OpStats {
        let known = self.current.op(kind).is_some();
        let stats = self.current.op_mut(kind);
        if !known {
            stats.response = self.open_loop.then(Box::default);
        }
        stats
    }

    /// Records a place where data differed from what was written; returns its index, unless the maximum is reached.
    #[cold]
    pub(crate) fn note_corrupt(&mut self, op: &Op, detail: String) -> Option<usize> {
        let corrupt = &mut self.measured.corrupt;
        if corrupt.len() == MAX_CORRUPT {
            return None;
        }
        let Op { object, offset, len, generation, .. } = *op;
        corrupt.push(CorruptRange { object, offset, len, generation, detail });
        Some(corrupt.len() - 1)
    }

    /// Adds details on such a place.
    pub(crate) fn amend_corrupt(&mut self, place: usize, detail: String) {
        self.measured.corrupt[place].detail = detail;
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
            Err(error) => {
                count_error(stats, error);
                note_error(error, &mut self.measured.samples);
            }
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

    /// Ends the window at `at` if it has not ended yet.
    pub(crate) fn truncate(&mut self, at: u64) {
        self.advance(at);
        if self.phase == Phase::Ramp {
            self.begin_window();
            self.window.end_ns = self.window.start_ns;
        } else if self.phase == Phase::Window {
            // Intervals already handed over stay: a peer may have ended the data after the last operation, in a later
            // interval.
            self.window.end_ns = at.max(self.window.start_ns + self.current.start_ns);
        } else {
            return;
        }
        self.cut_ns = self.window.end_ns;
        self.end_window();
    }

    /// The end of the window, as far as it is known.
    pub(crate) fn window_end(&self) -> u64 {
        self.window.end_ns
    }

    /// The end of the last operation; the window's start if there was none.
    pub(crate) fn last_end(&self) -> u64 {
        self.last_end_ns.max(self.window.start_ns)
    }

    /// Everything that was counted.
    pub(crate) fn finish(mut self) -> Measured {
        self.measured.after.add(&self.current);
        self.measured.unseen = self.handover.unseen;
        for corrupt in &self.measured.corrupt {
            self.measured.samples.add(ErrorKind::Corrupt, &corrupt.detail);
        }
        self.measured
    }

    fn begin_window(&mut self) {
        self.measured.before.add(&self.current);
        self.current.clear();
        self.process_cpu_start_ns = reactor::clock::cpu_process_ns();
        self.cpu_start_ns = reactor::clock::cpu_thread_ns();
        self.phase = Phase::Window;
        self.cut_ns = (self.window.start_ns + self.window.interval_ns).min(self.window.end_ns);
    }

    fn next_interval(&mut self) {
        let index = self.current.index + 1;
        self.seal();
        if self.handover.was_last(index - 1) {
            self.window.end_ns = self.cut_ns;
            self.close();
            return;
        }
        self.current.index = index;
        self.current.start_ns = self.cut_ns - self.window.start_ns;
        self.cut_ns = (self.cut_ns + self.window.interval_ns).min(self.window.end_ns);
    }

    fn end_window(&mut self) {
        self.seal();
        self.close();
    }

    fn close(&mut self) {
        self.measured.window_ns = self.window.end_ns - self.window.start_ns;
        self.measured.cpu_ns = reactor::clock::cpu_thread_ns() - self.cpu_start_ns;
        self.measured.process_cpu_ns = reactor::clock::cpu_process_ns() - self.process_cpu_start_ns;
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

#[cold]
fn count_error(stats: &mut OpStats, error: &OpError) {
    stats.errors[error.kind as usize] += 1;
    stats.rpcs += u64::from(error.rpcs);
    stats.retries += u64::from(error.retries);
}

#[cold]
fn note_error(error: &OpError, samples: &mut Samples) {
    // Corrupt places are recorded separately, with details on each.
    if error.kind != ErrorKind::Corrupt {
        samples.add(error.kind, &error.detail);
    }
}

/// The channels for passing intervals to the merging thread, for returning emptied buffers, and for the observer's
/// decisions.
pub(crate) struct Handover<'a> {
    worker: u32,
    ways: WorkerChannels,
    stop: Stop<'a>,
    /// Wait for a free buffer, and until the observer has seen the merged interval: on a virtual clock that disturbs
    /// nothing, makes every run identical, and lets the observer's decisions take effect at once.
    patient: bool,
    unseen: u32,
}

/// The channels of a worker.
pub(crate) struct WorkerChannels {
    pub full: SyncSender<Message>,
    pub empty: Receiver<Interval>,
    /// The number of each interval that the observer has seen.
    pub seen: Receiver<u32>,
}

impl<'a> Handover<'a> {
    pub(crate) fn new(worker: u32, ways: WorkerChannels, stop: Stop<'a>, patient: bool) -> Self {
        Handover { worker, ways, stop, patient, unseen: 0 }
    }

    /// Exchanges the interval for an empty one. If the other side is late, the interval is only counted as unseen.
    fn give(&mut self, current: &mut Interval) {
        if current.length_ns == 0 {
            current.clear();
            return;
        }
        let empty = &self.ways.empty;
        let Some(spare) = (if self.patient { empty.recv().ok() } else { empty.try_recv().ok() }) else {
            self.unseen += 1;
            current.clear();
            return;
        };
        let full = std::mem::replace(current, spare);
        let index = full.index;
        // The channel has capacity for all existing buffers, so this never blocks; the receiver outlives the workers.
        let _ = self.ways.full.send(Message::Interval(self.worker, full));
        if self.patient {
            // The channel closes when the stage has failed.
            while self.ways.seen.recv().is_ok_and(|seen| seen < index) {}
        }
    }

    /// Whether the window ends with the interval of this number.
    fn was_last(&self, index: u32) -> bool {
        self.stop.last_interval() <= index
    }
}

impl Counts {
    /// Adds the counts of an interval.
    pub(crate) fn add(&mut self, interval: &Interval) {
        self.ok += interval.ok();
        self.failed += interval.failed();
        self.bytes += interval.bytes();
        for (_, stats) in &interval.ops {
            self.timed_out += stats.errors[ErrorKind::TimedOut as usize];
        }
    }
}
