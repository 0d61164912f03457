//! Operations recorded in a file: fio's iolog format, versions 2 and 3 ("Trace file format" in its HOWTO).

use std::sync::Arc;

use engine::ReplayOp;
use experiment::{Amount, Cell, Iolog, IologAction, IologFault, Job, Plan, Replay, WeightedOp, read_iolog};
use metrics::OpKind;

/// Maximum bytes read from one file.
const LARGEST: u64 = 4 << 30;

/// A file of operations cannot be replayed. One line: which file, what is wrong with it, and where.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// It cannot be read.
    #[error("read_iolog={file}: {error}")]
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        error: std::io::Error,
    },
    /// It exceeds the size limit for one file.
    #[error("read_iolog={file}: it has more than {LARGEST} bytes; split it")]
    TooLarge {
        /// The file.
        file: String,
    },
    /// One of its lines is no operation.
    #[error("{file}:{line}: {text}; {hint}", line = .fault.line, text = .fault.text, hint = .fault.hint)]
    Line {
        /// The file.
        file: String,
        /// The line number, what is wrong with it, and what to write.
        fault: IologFault,
    },
    /// Nothing in these files moves data.
    #[error("{files}: there is no read, write or trim in it")]
    Nothing {
        /// The files, separated by colons.
        files: String,
    },
}

/// Checks the files that a plan's jobs replay, if they already exist; an earlier job may still have to write one.
///
/// # Errors
/// As [`named`].
pub fn look(plan: &Plan) -> Result<(), ReplayError> {
    let is_there = |cell: &&Cell| {
        let replay = cell.workload.stream().and_then(|job| job.replay.as_ref());
        replay.is_some_and(|replay| replay.files.iter().all(|file| std::path::Path::new(file).exists()))
    };
    // No job runs before the first one that could write its file.
    let first = plan.cells.first().filter(|cell| replays(cell));
    first.into_iter().chain(plan.cells.iter().filter(is_there)).try_for_each(|cell| named(cell).map(drop))
}

/// Whether a cell replays operations from a file.
pub fn replays(cell: &Cell) -> bool {
    cell.workload.stream().is_some_and(|job| job.replay.is_some())
}

/// The cell with the files named in its replay, and with the mix of operations found there.
///
/// # Errors
/// A file cannot be read, has a line that is no operation, or contains nothing that moves data.
pub fn named(cell: &Cell) -> Result<Cell, ReplayError> {
    let mut cell = cell.clone();
    if let Some(job) = cell.workload.stream_mut()
        && let Some(replay) = &job.replay
    {
        let mut names: Vec<String> = Vec::new();
        let (mut counts, mut end) = ([0u64; 3], 0);
        for log in recordings(replay)? {
            for name in &log.files {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
            for op in &log.ops {
                match op.action {
                    IologAction::Read => counts[0] += 1,
                    IologAction::Write => counts[1] += 1,
                    IologAction::Trim => counts[2] += 1,
                    IologAction::Sync | IologAction::DataSync => {}
                }
                end = end.max(op.offset + op.len);
            }
        }
        let all: u64 = counts.iter().sum();
        if all == 0 {
            return Err(ReplayError::Nothing { files: replay.files.join(":") });
        }
        // Files are used as they are, and grow as they are written: nothing is laid out, as in fio.
        job.files.names.listed = names;
        job.files.names.directories.clear();
        job.files.count = 0;
        job.files.bytes = end;
        job.region.size = Amount::Bytes(0);
        job.files.layout.create = counts[1] > 0;
        job.files.layout.create_on_open = counts[1] > 0;
        let kinds = [OpKind::Read, OpKind::Write, OpKind::Trim];
        let weighted = kinds.into_iter().zip(counts).filter(|(_, count)| *count > 0);
        cell.workload.ops =
            weighted.map(|(op, count)| WeightedOp { op, weight: count as f64 / all as f64 }).collect();
    }
    Ok(cell)
}

/// The operations that each worker of a cell replays; empty if the job draws its operations.
///
/// # Errors
/// As [`named`].
pub fn operations(cell: &Cell, job: &Job) -> Result<Vec<Arc<[ReplayOp]>>, ReplayError> {
    let Some(replay) = &job.replay else { return Ok(Vec::new()) };
    let recordings = recordings(replay)?;
    let of_worker = |worker: u32| {
        let number = job.first_number + worker;
        // As in fio, each clone replays its own file, or the only one.
        let log = &recordings[number as usize % recordings.len()];
        let place = |name: &String| job.files.names.listed.iter().position(|known| known == name);
        let object = |name: &String| job.files.names.object(number, place(name).unwrap_or(0) as u32);
        let objects: Vec<u64> = log.files.iter().map(object).collect();
        engine::replay_ops(log, &objects)
    };
    Ok((0..cell.workload.jobs).map(of_worker).collect())
}

/// The recording in each file.
fn recordings(replay: &Replay) -> Result<Vec<Iolog>, ReplayError> {
    let read = |file: &String| {
        let unreadable = |error| ReplayError::Unreadable { file: file.clone(), error };
        if std::fs::metadata(file).map_err(unreadable)?.len() > LARGEST {
            return Err(ReplayError::TooLarge { file: file.clone() });
        }
        let text = std::fs::read_to_string(file).map_err(unreadable)?;
        read_iolog(&text, replay).map_err(|fault| ReplayError::Line { file: file.clone(), fault })
    };
    replay.files.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use experiment::{Settings, SourceText};

    use super::*;

    /// The result for a plan with one job that replays this file.
    fn look_at(path: &std::path::Path) -> Result<(), ReplayError> {
        let text = format!(
            "targets: {{t: 'null:'}}\nworkloads: {{w: {{ops: read, job: {{replay: {{files: ['{}']}}}}}}}}\n",
            path.display()
        );
        let source = SourceText { file: "t.yaml", text: &text };
        look(&experiment::parse(&source, &Settings::of(targets::kinds())).unwrap())
    }

    #[test]
    fn what_cannot_be_replayed_is_told_with_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.log");
        let name = path.display().to_string();
        let missing = look_at(&path).unwrap_err();
        assert!(matches!(&missing, ReplayError::Unreadable { file, .. } if *file == name));
        assert!(missing.to_string().starts_with(&format!("read_iolog={name}: No such file")), "{missing}");
        let written = |lines: &str| {
            std::fs::write(&path, format!("fio version 3 iolog\n{lines}")).unwrap();
            look_at(&path)
        };
        let wrong = written("0 a add\n0 a open\n0 a read here 4096\n").unwrap_err();
        assert!(matches!(&wrong, ReplayError::Line { fault, .. } if fault.line == 4), "{wrong}");
        assert!(wrong.to_string().starts_with(&format!("{name}:4: ")), "{wrong}");
        let still = written("0 a add\n0 a open\n0 a sync 0 0\n").unwrap_err();
        assert_eq!(still.to_string(), format!("{name}: there is no read, write or trim in it"));
        written("0 a add\n0 a open\n0 a read 0 4096\n").unwrap();
        std::fs::File::create(&path).unwrap().set_len(LARGEST + 1).unwrap();
        assert!(matches!(look_at(&path), Err(ReplayError::TooLarge { file }) if file == name));
    }
}
