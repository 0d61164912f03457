//! Operations that are given by a file: fio's iolog format, version 2 and 3 ("Trace file format" in its HOWTO).

use std::sync::Arc;

use engine::ReplayOp;
use experiment::{Amount, Cell, Iolog, IologAction, Job, Plan, Replay, WeightedOp, read_iolog};
use metrics::OpKind;

/// The most bytes that are read of one file.
const LARGEST: u64 = 4 << 30;
/// Looks at what the jobs of a plan replay, as far as it is there already; an earlier job may still have to write it.
///
/// # Errors
/// As [`named`].
pub fn look(plan: &Plan) -> Result<(), String> {
    let is_there = |cell: &&Cell| {
        let replay = cell.workload.stream().and_then(|job| job.replay.as_ref());
        replay.is_some_and(|replay| replay.files.iter().all(|file| std::path::Path::new(file).exists()))
    };
    // The first job has nothing before it that could write the file.
    let first = plan.cells.first().filter(|cell| replays(cell));
    first.into_iter().chain(plan.cells.iter().filter(is_there)).try_for_each(|cell| named(cell).map(drop))
}

/// Whether a cell's operations are given by a file.
pub fn replays(cell: &Cell) -> bool {
    cell.workload.stream().is_some_and(|job| job.replay.is_some())
}

/// The cell with the files that are named in what it replays, and with its mix of operations.
///
/// # Errors
/// A file that cannot be read, or a line in it that is none: one line.
pub fn named(cell: &Cell) -> Result<Cell, String> {
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
            return Err(format!("{}: there is no read, write or trim in it", replay.files.join(":")));
        }
        // Files are used as they are, and grow by what is written: nothing is laid out, as in fio.
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

/// What each worker of a cell replays; nothing where the job draws its operations.
///
/// # Errors
/// As [`named`].
pub fn operations(cell: &Cell, job: &Job) -> Result<Vec<Arc<[ReplayOp]>>, String> {
    let Some(replay) = &job.replay else { return Ok(Vec::new()) };
    let recordings = recordings(replay)?;
    let of_worker = |worker: u32| {
        let number = job.first_number + worker;
        // As in fio each clone replays the file that is its own, or the only one.
        let log = &recordings[number as usize % recordings.len()];
        let place = |name: &String| job.files.names.listed.iter().position(|known| known == name);
        let object = |name: &String| job.files.names.object(number, place(name).unwrap_or(0) as u32);
        let objects: Vec<u64> = log.files.iter().map(object).collect();
        engine::replay_ops(log, &objects)
    };
    Ok((0..cell.workload.jobs).map(of_worker).collect())
}

/// What each file says.
fn recordings(replay: &Replay) -> Result<Vec<Iolog>, String> {
    let read = |name: &String| {
        let facts = std::fs::metadata(name).map_err(|error| format!("read_iolog={name}: {error}"))?;
        if facts.len() > LARGEST {
            return Err(format!("read_iolog={name}: it has more than {LARGEST} bytes; split it"));
        }
        let text = std::fs::read_to_string(name).map_err(|error| format!("read_iolog={name}: {error}"))?;
        read_iolog(&text, replay)
            .map_err(|fault| format!("{name}:{}: {}; {}", fault.line, fault.text, fault.hint))
    };
    replay.files.iter().map(read).collect()
}
