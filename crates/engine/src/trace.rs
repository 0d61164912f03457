//! Records every operation and passes the records to the thread that writes them.
//!
//! Each worker fills fixed-size buffers and hands over full ones; emptied ones come back. If none has come back, the
//! worker waits, and the wait is counted: nothing is lost, and nothing is allocated on the way.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use drivers::CommitKind;
use metrics::{ErrorKind, OpKind};

/// Records per buffer.
const RECORDS: usize = 2048;
/// Buffers per worker.
const BUFFERS: usize = 4;

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceRecord {
    /// The worker, from 0 within its stage.
    pub worker: u32,
    /// The lane, from 0 within its worker.
    pub lane: u32,
    /// The operation's number within its worker, in order of start; records arrive in order of completion.
    pub number: u64,
    /// The kind of operation.
    pub kind: OpKind,
    /// The kind of commit, if it is one.
    pub commit: CommitKind,
    /// Number of the file or object.
    pub object: u64,
    /// First byte.
    pub offset: u64,
    /// Length in bytes.
    pub len: u64,
    /// Intended start, in nanoseconds since the worker's lanes started, ramp included.
    pub intended_ns: u64,
    /// Actual start, on the same clock.
    pub start_ns: u64,
    /// End, on the same clock.
    pub end_ns: u64,
    /// How it failed; `None` if it succeeded.
    pub error: Option<ErrorKind>,
    /// Whether it ended inside the measured window.
    pub measured: bool,
}

/// The sending end, where workers hand in records: for [`crate::StageContext::trace`].
#[derive(Clone, Debug)]
pub struct Trace {
    full: SyncSender<TraceBuffer>,
}

/// The receiving end, for a thread of its own.
#[derive(Debug)]
pub struct TraceReader {
    full: Receiver<TraceBuffer>,
}

/// Some records of one worker, in order of completion. Dropping it returns the memory to the worker.
#[derive(Debug)]
pub struct TraceBuffer {
    worker: u32,
    records: Vec<TraceRecord>,
    back: SyncSender<Vec<TraceRecord>>,
}

/// Creates a channel for the records of a stage.
pub fn trace() -> (Trace, TraceReader) {
    let (sender, full) = sync_channel(64);
    (Trace { full: sender }, TraceReader { full })
}

impl TraceReader {
    /// Waits for the next buffer; `None` once every [`Trace`] of this channel is gone, including the one in the plan.
    pub fn next(&self) -> Option<TraceBuffer> {
        self.full.recv().ok()
    }
}

impl TraceBuffer {
    /// The worker.
    pub fn worker(&self) -> u32 {
        self.worker
    }

    /// Its records.
    pub fn records(&self) -> &[TraceRecord] {
        &self.records
    }
}

impl Drop for TraceBuffer {
    fn drop(&mut self) {
        let records = std::mem::take(&mut self.records);
        // A worker that is gone does not need it any more.
        let _ = self.back.try_send(records);
    }
}

/// A worker's side of a trace.
#[derive(Debug)]
pub(crate) struct Tracer {
    worker: u32,
    /// Start of the lanes, on the worker's clock.
    origin_ns: u64,
    current: Vec<TraceRecord>,
    full: SyncSender<TraceBuffer>,
    empty: Receiver<Vec<TraceRecord>>,
    back: SyncSender<Vec<TraceRecord>>,
    waits: u64,
}

impl Tracer {
    pub(crate) fn new(trace: &Trace, worker: u32, origin_ns: u64) -> Self {
        let (back, empty) = sync_channel(BUFFERS);
        for _ in 1..BUFFERS {
            back.try_send(Vec::with_capacity(RECORDS)).expect("the channel was made for as many");
        }
        let current = Vec::with_capacity(RECORDS);
        Tracer { worker, origin_ns, current, full: trace.full.clone(), empty, back, waits: 0 }
    }

    /// Adds a record with times on the worker's clock.
    pub(crate) fn add(&mut self, mut record: TraceRecord) {
        record.worker = self.worker;
        for at in [&mut record.intended_ns, &mut record.start_ns, &mut record.end_ns] {
            *at = at.saturating_sub(self.origin_ns);
        }
        self.current.push(record);
        if self.current.len() == RECORDS {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let records = std::mem::take(&mut self.current);
        self.send(records);
        let empty = self.empty.try_recv().ok().or_else(|| {
            self.waits += 1;
            self.empty.recv().ok()
        });
        self.current = empty.expect("all buffers come back, and this side keeps the channel open");
        self.current.clear();
    }

    fn send(&self, records: Vec<TraceRecord>) {
        let buffer = TraceBuffer { worker: self.worker, records, back: self.back.clone() };
        // Without a reader the error holds the buffer, whose memory is freed when it is dropped.
        drop(self.full.send(buffer));
    }

    /// Hands over the remaining records; returns how often there was no empty buffer.
    pub(crate) fn finish(mut self) -> u64 {
        let records = std::mem::take(&mut self.current);
        if !records.is_empty() {
            self.send(records);
        }
        self.waits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(number: u64) -> TraceRecord {
        TraceRecord {
            worker: 0,
            lane: 0,
            number,
            kind: OpKind::Read,
            commit: CommitKind::Usual,
            object: 1,
            offset: number * 4096,
            len: 4096,
            intended_ns: 100 + number,
            start_ns: 100 + number,
            end_ns: 105 + number,
            error: None,
            measured: true,
        }
    }

    #[test]
    fn nothing_is_lost_and_a_late_reader_is_waited_for() {
        let (trace, reader) = trace();
        let count = 20 * RECORDS as u64 + 7;
        let worker = std::thread::spawn(move || {
            let mut tracer = Tracer::new(&trace, 3, 100);
            (0..count).for_each(|number| tracer.add(record(number)));
            tracer.finish()
        });
        let mut next = 0;
        while let Some(buffer) = reader.next() {
            assert_eq!(buffer.worker(), 3);
            for seen in buffer.records() {
                assert_eq!((seen.number, seen.start_ns, seen.end_ns, seen.worker), (next, next, next + 5, 3));
                next += 1;
            }
        }
        assert_eq!(next, count);
        worker.join().unwrap();
    }

    #[test]
    fn a_reader_that_went_away_stops_nobody() {
        let (trace, reader) = trace();
        drop(reader);
        let mut tracer = Tracer::new(&trace, 0, 0);
        (0..10 * RECORDS as u64).for_each(|number| tracer.add(record(number)));
        tracer.finish();
    }
}
