//! Every operation in fio's trace format, version 3 (`write_iolog`): `microseconds file action offset length`.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::fmt::Write;
use std::io;

use drivers::CommitKind;
use engine::TraceRecord;
use experiment::{FileNames, Job};
use metrics::OpKind;

use super::file::LineFile;

/// Maximum operations that wait for an earlier one.
const MAX_WAITING: usize = 1 << 16;

/// The first line of a file.
const HEADING: &str = "fio version 3 iolog\n";

/// Writes operations in start order.
#[derive(Debug)]
pub(super) struct Operations {
    file: LineFile,
    /// State of each worker.
    workers: Vec<Worker>,
    /// Operations that an earlier one may still precede, earliest first.
    waiting: BinaryHeap<Reverse<Started>>,
    /// Files already opened in the log.
    opened: BTreeSet<u64>,
    last_us: u64,
}

#[derive(Debug, Default)]
struct Worker {
    /// Number of its next operation in start order.
    next: u64,
    /// Start of the last operation whose predecessors are all known.
    reached_ns: u64,
    /// Numbers and starts of operations that ended before one of their predecessors.
    early: BinaryHeap<Reverse<(u64, u64)>>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Started {
    start_ns: u64,
    worker: u32,
    number: u64,
    object: u64,
    offset: u64,
    len: u64,
    action: &'static str,
}

impl Operations {
    /// Writes to this file, for this many workers.
    pub(super) fn new(mut file: LineFile, workers: u32) -> io::Result<Self> {
        if file.is_empty()? {
            file.lines().push_str(HEADING);
            file.write(true)?;
        }
        let workers = (0..workers.max(1)).map(|_| Worker::default()).collect();
        Ok(Operations { file, workers, waiting: BinaryHeap::new(), opened: BTreeSet::new(), last_us: 0 })
    }

    /// Adds an operation that has ended.
    pub(super) fn take(&mut self, job: &Job, record: &TraceRecord) -> io::Result<()> {
        if let Some(worker) = self.workers.get_mut(record.worker as usize) {
            worker.early.push(Reverse((record.number, record.start_ns)));
            while let Some(Reverse((_, start_ns))) =
                worker.early.peek().filter(|Reverse((number, _))| *number <= worker.next)
            {
                (worker.next, worker.reached_ns) = (worker.next + 1, worker.reached_ns.max(*start_ns));
                worker.early.pop();
            }
        }
        if let Some((action, len)) = action(record) {
            self.waiting.push(Reverse(Started {
                start_ns: record.start_ns,
                worker: record.worker,
                number: record.number,
                object: record.object,
                offset: record.offset,
                len,
                action,
            }));
        }
        let reached_ns = self.workers.iter().map(|worker| worker.reached_ns).min().unwrap_or(0);
        while self.waiting.peek().is_some_and(|first| first.0.start_ns <= reached_ns)
            || self.waiting.len() > MAX_WAITING
        {
            self.show_first(job);
        }
        self.file.write(false)
    }

    fn show_first(&mut self, job: &Job) {
        let Some(Reverse(first)) = self.waiting.pop() else { return };
        let name = path(job, first.object);
        let time_us = first.start_ns / 1000;
        let lines = self.file.lines();
        if self.opened.insert(first.object) {
            let _ = writeln!(lines, "{time_us} {name} add\n{time_us} {name} open");
        }
        let Started { action, offset, len, .. } = first;
        let _ = writeln!(lines, "{time_us} {name} {action} {offset} {len}");
        self.last_us = self.last_us.max(time_us);
    }

    /// Writes the rest and closes the file.
    pub(super) fn finish(mut self, job: &Job) -> io::Result<std::path::PathBuf> {
        while !self.waiting.is_empty() {
            self.show_first(job);
        }
        for object in std::mem::take(&mut self.opened) {
            let _ = writeln!(self.file.lines(), "{} {} close", self.last_us, path(job, object));
        }
        self.file.write(true)?;
        Ok(self.file.path().to_owned())
    }
}

fn path(job: &Job, object: u64) -> String {
    let (number, file) = FileNames::file_of(object);
    job.files.names.path(&job.name, number, file)
}

/// fio's name for the action, and its length.
fn action(record: &TraceRecord) -> Option<(&'static str, u64)> {
    Some(match record.kind {
        OpKind::Read | OpKind::Get => ("read", record.len),
        OpKind::Write | OpKind::Put => ("write", record.len),
        OpKind::Trim => ("trim", record.len),
        OpKind::Commit if matches!(record.commit, CommitKind::Data | CommitKind::Range(_)) => ("datasync", 0),
        OpKind::Commit => ("sync", 0),
        _ => return None,
    })
}
