//! One lane of a pass: the steps on one file, then on the next.

use std::ops::Range;

use drivers::Op;
use experiment::{PassStep, Stonewall, TreeFile};
use metrics::ErrorKind;

use super::{LaneRecord, Next};
use crate::{LanePass, PassLoad};

/// Goes through the files of a lane.
#[derive(Debug)]
pub(crate) struct PassLane<'a> {
    load: PassLoad,
    notes: &'a LaneRecord,
    lane: u32,
    /// The lane over all workers.
    number: u32,
    /// The current file, from 1.
    file: u32,
    /// The next step on it.
    step: usize,
    start_ns: u64,
    pause_ns: u64,
    /// When the current file may begin.
    ready_ns: u64,
    done: LanePass,
}

impl<'a> PassLane<'a> {
    pub(super) fn new(load: &PassLoad, lane: u32, number: u64, notes: &'a LaneRecord, start_ns: u64) -> Self {
        let number = number as u32;
        let pause_ns = (load.pass.pause_s * 1e9).round() as u64;
        let done = LanePass { lane: number, ..LanePass::default() };
        notes.pass.set(done);
        PassLane {
            load: load.clone(),
            notes,
            lane,
            number,
            file: 1,
            step: 0,
            start_ns,
            pause_ns,
            ready_ns: start_ns + pause_ns,
            done,
        }
    }

    pub(super) fn next(&mut self, now: u64) -> Next {
        loop {
            if self.step == 0 {
                if self.done.error.is_some() || self.ends_with_another(now) {
                    return Next::Done;
                }
                if self.file > self.load.pass.files {
                    self.load.finished();
                    return Next::Done;
                }
                if now < self.ready_ns {
                    return Next::Wait(self.ready_ns);
                }
            } else if self.done.error.is_some() {
                return Next::Done;
            }
            if let Some(op) = self.op(self.load.pass.steps[self.step]) {
                return Next::Op(op);
            }
            self.step_done(now);
        }
    }

    /// Stops counting once another lane has finished; whether this one ends with it.
    fn ends_with_another(&mut self, now: u64) -> bool {
        let stonewall = self.load.pass.stonewall;
        if stonewall == Stonewall::None || self.file > self.load.pass.files || !self.load.has_finished() {
            return false;
        }
        if !self.done.cut_short {
            self.done.cut_short = true;
            self.done.elapsed_ns = now.saturating_sub(self.start_ns);
            self.notes.pass.set(self.done);
        }
        stonewall == Stonewall::End
    }

    /// The operation of a step on the current file; `None` if there is none on this file.
    fn op(&self, step: PassStep) -> Option<Op> {
        let pass = &self.load.pass;
        let of =
            |role| TreeFile { role, host: self.load.host, worker: self.number, file: self.file }.object();
        let op = Op::new(step.op(), self.lane, of(step.role()));
        Some(match step {
            PassStep::Readdir => op.range(0, pass.tree.first_of(self.file, pass.files)?.into()),
            PassStep::Rename | PassStep::RenameTemporary | PassStep::Symlink => {
                op.other(of(step.other_role()))
            }
            PassStep::Append => Op { durable: pass.fsync, ..op.range(Op::AT_END, self.file_bytes()) },
            step if step.moves_bytes() => {
                Op { durable: pass.fsync && step.op().writes(), ..op.range(0, self.file_bytes()) }
            }
            PassStep::Setxattr | PassStep::SetxattrTemporary => Op { durable: pass.fsync, ..op },
            _ => op,
        })
    }

    /// The size of the current file in bytes.
    fn file_bytes(&self) -> u64 {
        let file =
            TreeFile { role: Default::default(), host: self.load.host, worker: self.number, file: self.file };
        self.load.pass.bytes_of(file.object())
    }

    pub(super) fn finished(&mut self, op: &Op, span: &Range<u64>, error: Option<ErrorKind>) {
        if error.is_some() {
            self.done.error = error;
            if !self.done.cut_short {
                self.done.elapsed_ns = span.end.saturating_sub(self.start_ns);
            }
            self.notes.pass.set(self.done);
            return;
        }
        if op.kind.moves_bytes() && !self.done.cut_short {
            self.done.bytes += op.len;
            self.done.records += op.len.div_ceil(self.load.pass.record());
        }
        self.step_done(span.end);
    }

    fn step_done(&mut self, now: u64) {
        self.step += 1;
        if self.step < self.load.pass.steps.len() {
            return;
        }
        (self.step, self.file) = (0, self.file.saturating_add(1));
        self.ready_ns = now + self.pause_ns;
        self.done.all_files += 1;
        if !self.done.cut_short {
            self.done.files += 1;
            self.done.elapsed_ns = now.saturating_sub(self.start_ns);
        }
        self.notes.pass.set(self.done);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use experiment::{FileTree, Pass, PassStep, TreeRole};
    use metrics::OpKind;

    use super::*;

    fn load(pass: Pass) -> PassLoad {
        PassLoad::new(Arc::new(pass))
    }

    /// Runs a lane to its end at `per_op` nanoseconds an operation; returns its operations.
    fn run(lane: &mut PassLane<'_>, now: &mut u64, per_op: u64) -> Vec<Op> {
        let mut ops = Vec::new();
        loop {
            match lane.next(*now) {
                Next::Op(op) => {
                    let start = *now;
                    *now += per_op;
                    lane.finished(&op, &(start..*now), None);
                    ops.push(op);
                }
                Next::Wait(until) => *now = until,
                _ => return ops,
            }
        }
    }

    #[test]
    fn every_file_gets_every_step_once_in_order() {
        let load = load(Pass {
            steps: vec![PassStep::Readdir, PassStep::ReadFile, PassStep::Rename],
            files: 5,
            file_bytes: 10_000,
            record_bytes: 4096,
            pause_s: 1e-6,
            tree: FileTree { files_per_directory: 3, ..FileTree::default() },
            ..Pass::default()
        });
        let notes = LaneRecord::default();
        let (mut now, mut lane) = (100, PassLane::new(&load, 1, 9, &notes, 100));
        let ops = run(&mut lane, &mut now, 10);
        let of = |op: &Op| (op.kind, TreeFile::of(op.object).file, op.len);
        let listed: Vec<_> = ops.iter().filter(|op| op.kind == OpKind::Readdir).map(of).collect();
        // Files 1 and 2 are in the first directory, 3 to 5 in the second.
        assert_eq!(listed, [(OpKind::Readdir, 1, 2), (OpKind::Readdir, 3, 3)]);
        let read: Vec<_> = ops.iter().filter(|op| op.kind == OpKind::ReadFile).map(of).collect();
        assert_eq!(read, [1, 2, 3, 4, 5].map(|file| (OpKind::ReadFile, file, 10_000)));
        let renamed = ops.iter().find(|op| op.kind == OpKind::Rename).unwrap();
        assert_eq!(TreeFile::of(renamed.other).role, TreeRole::Renamed);
        assert_eq!(TreeFile::of(renamed.object).worker, 9);
        let expected = LanePass {
            lane: 9,
            files: 5,
            records: 15,
            bytes: 50_000,
            // Twelve operations of 10 ns, and a microsecond before each file.
            elapsed_ns: 5120,
            all_files: 5,
            ..LanePass::default()
        };
        assert_eq!(notes.pass.get(), expected);
        assert!(load.has_finished());
    }

    #[test]
    fn counting_ends_with_the_first_lane() {
        for (stonewall, all_files) in [(Stonewall::EndCounting, 8), (Stonewall::End, 3), (Stonewall::None, 8)]
        {
            let load = load(Pass { steps: vec![PassStep::Stat], files: 8, stonewall, ..Pass::default() });
            let notes = LaneRecord::default();
            let (mut now, mut lane) = (0, PassLane::new(&load, 0, 0, &notes, 0));
            for _ in 0..3 {
                let Next::Op(op) = lane.next(now) else { panic!("there is more to do") };
                lane.finished(&op, &(now..now + 10), None);
                now += 10;
            }
            load.finished();
            run(&mut lane, &mut now, 10);
            let done = notes.pass.get();
            let counted = if stonewall == Stonewall::None { (8, 80, false) } else { (3, 30, true) };
            assert_eq!((done.files, done.elapsed_ns, done.cut_short), counted, "{stonewall:?}");
            assert_eq!(done.all_files, all_files, "{stonewall:?}");
        }
    }

    #[test]
    fn an_error_ends_the_lane_and_is_kept() {
        let load = load(Pass { steps: vec![PassStep::Stat], files: 8, ..Pass::default() });
        let notes = LaneRecord::default();
        let mut lane = PassLane::new(&load, 0, 0, &notes, 0);
        let Next::Op(op) = lane.next(0) else { panic!("there is something to do") };
        lane.finished(&op, &(0..10), Some(ErrorKind::NotFound));
        assert!(matches!(lane.next(10), Next::Done));
        let done = notes.pass.get();
        assert_eq!((done.files, done.error), (0, Some(ErrorKind::NotFound)));
        assert!(!load.has_finished());
    }
}
