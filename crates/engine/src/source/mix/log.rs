//! The file that a lane appends to.

use drivers::Op;
use metrics::{ErrorKind, OpKind};

/// The file that a lane appends to. It has one name, so that nothing else changes its size unseen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Log {
    /// Whether the load appends at all.
    used: bool,
    tail: Option<Tail>,
    /// Appends since the last commit.
    uncommitted: u32,
    /// The last append had no definite outcome, so the file may be longer.
    doubt: bool,
}

/// A file and its end, where the next append goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tail {
    pub object: u64,
    /// In bytes.
    pub end: u64,
}

impl Tail {
    /// The end of a file of unknown size, which counts as full.
    const UNKNOWN: u64 = u64::MAX;
}

impl Log {
    pub(super) fn new(used: bool) -> Self {
        Log { used, tail: None, uncommitted: 0, doubt: false }
    }

    /// The file to append to; `None` if one has to be created first.
    pub(super) fn tail(&self) -> Option<Tail> {
        self.tail
    }

    /// The file to commit once it has this many uncommitted appends.
    #[inline]
    pub(super) fn due(&self, appends: u32) -> Option<u64> {
        if self.uncommitted < appends { None } else { self.tail.map(|tail| tail.object) }
    }

    /// The size of a file of `full` bytes unless it is the one that is appended to; `None` if that is not known, or 0.
    pub(super) fn size_of(&self, object: u64, full: u64) -> Option<u64> {
        match self.tail {
            Some(tail) if tail.object == object => (!self.doubt && tail.end > 0).then_some(tail.end),
            _ => Some(full),
        }
    }

    /// The file is full and stays as it is.
    pub(super) fn complete(&mut self) {
        *self = Log::new(self.used);
    }

    pub(super) fn committed(&mut self) {
        self.uncommitted = 0;
    }

    /// An operation on the lane's own files has ended.
    pub(super) fn finished(&mut self, op: &Op, error: Option<ErrorKind>) {
        if !self.used {
            return;
        }
        let Some(tail) = self.tail else {
            // One that existed already may be a link, whose creation seemed to fail.
            if op.kind == OpKind::Create && error.is_none() {
                self.tail = Some(Tail { object: op.object, end: 0 });
            }
            return;
        };
        if op.object != tail.object {
            return;
        }
        let gone = matches!(error, Some(ErrorKind::NotFound | ErrorKind::Stale));
        match (op.kind, error) {
            (OpKind::Append, None) => {
                self.uncommitted = self.uncommitted.saturating_add(1);
                self.tail = Some(Tail { end: op.offset + op.len, ..tail });
                self.doubt = false;
            }
            // The next append writes at the same place again, whatever has become of this one.
            (OpKind::Append, Some(_)) if !gone => self.doubt = true,
            (OpKind::Truncate, None) => self.tail = Some(Tail { end: op.len, ..tail }),
            (OpKind::Truncate, Some(_)) if !gone => self.tail = Some(Tail { end: Tail::UNKNOWN, ..tail }),
            (OpKind::Rename, None) => self.tail = Some(Tail { object: op.other, ..tail }),
            // Renamed without a definite outcome, removed, or linked: another name may be truncated.
            _ => *self = Log::new(true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: u64 = 7;

    fn log() -> Log {
        let mut log = Log::new(true);
        log.finished(&Op::new(OpKind::Create, 0, FILE), None);
        log.finished(&Op::new(OpKind::Append, 0, FILE).range(0, 10), None);
        log
    }

    fn after(op: Op, error: Option<ErrorKind>) -> Option<Tail> {
        let mut log = log();
        log.finished(&op, error);
        log.tail()
    }

    #[test]
    fn the_end_is_known_or_the_file_is_given_up() {
        let on = |kind| Op::new(kind, 0, FILE);
        let tail = |object, end| Some(Tail { object, end });
        let append = on(OpKind::Append).range(10, 10);
        assert_eq!(after(append, None), tail(FILE, 20));
        assert_eq!(after(append, Some(ErrorKind::TimedOut)), tail(FILE, 10));
        assert_eq!(after(append, Some(ErrorKind::NotFound)), None);
        assert_eq!(after(on(OpKind::Truncate).range(0, 50), None), tail(FILE, 50));
        let doubtful = after(on(OpKind::Truncate), Some(ErrorKind::TimedOut));
        assert_eq!(doubtful, tail(FILE, Tail::UNKNOWN));
        assert_eq!(after(on(OpKind::Rename).other(9), None), tail(9, 10));
        assert_eq!(after(on(OpKind::Rename).other(9), Some(ErrorKind::NotFound)), None);
        assert_eq!(after(on(OpKind::Remove), Some(ErrorKind::TimedOut)), None);
        assert_eq!(after(on(OpKind::Link).other(9), None), None);
        // Other files are none of its business.
        assert_eq!(after(Op::new(OpKind::Remove, 0, 8), None), tail(FILE, 10));
        assert_eq!(after(Op::new(OpKind::Create, 0, 8), None), tail(FILE, 10));
    }

    #[test]
    fn commits_are_due_after_so_many_appends() {
        let mut log = log();
        assert_eq!((log.due(1), log.due(2)), (Some(FILE), None));
        log.committed();
        assert_eq!(log.due(1), None);
        log.finished(&Op::new(OpKind::Append, 0, FILE).range(10, 10), None);
        log.finished(&Op::new(OpKind::Remove, 0, FILE), None);
        assert_eq!(log.due(1), None, "a removed file is not committed");
    }

    #[test]
    fn a_file_of_unknown_size_is_not_appended_to() {
        let mut log = Log::new(true);
        log.finished(&Op::new(OpKind::Create, 0, FILE), Some(ErrorKind::AlreadyExists));
        assert_eq!(log.tail(), None);
    }

    #[test]
    fn nothing_is_kept_for_loads_without_appends() {
        let mut log = Log::new(false);
        log.finished(&Op::new(OpKind::Create, 0, FILE), None);
        assert_eq!(log.tail(), None);
    }
}
