//! Operations that are given by a file: fio's iolog format, version 2 and 3 ("Trace file format" in its HOWTO).

use std::collections::BTreeSet;
use std::sync::Arc;

use drivers::CommitKind;
use engine::ReplayOp;
use experiment::{Amount, Cell, Job, Plan, Replay, WeightedOp};
use metrics::OpKind;

/// The most bytes that are read of one file.
const LARGEST: u64 = 4 << 30;
/// What people write in front of fio's two formats.
const HEADINGS: [&str; 2] = ["fio version 2 iolog", "fio version 3 iolog"];

/// An operation of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Recorded {
    at_us: u64,
    file: String,
    kind: OpKind,
    offset: u64,
    /// Bytes; of commits the kind.
    len: u64,
}

/// Looks at what the jobs of a plan replay, as far as it is there already; an earlier job may still have to write it.
///
/// # Errors
/// As [`named`].
pub fn look(plan: &Plan) -> Result<(), String> {
    let is_there = |cell: &&Cell| {
        let replay = cell.workload.job.as_ref().and_then(|job| job.replay.as_ref());
        replay.is_some_and(|replay| replay.files.iter().all(|file| std::path::Path::new(file).exists()))
    };
    // The first job has nothing before it that could write the file.
    let first = plan.cells.first().filter(|cell| replays(cell));
    first.into_iter().chain(plan.cells.iter().filter(is_there)).try_for_each(|cell| named(cell).map(drop))
}

/// Whether a cell's operations are given by a file.
pub fn replays(cell: &Cell) -> bool {
    cell.workload.job.as_ref().is_some_and(|job| job.replay.is_some())
}

/// The cell with the files that are named in what it replays, and with its mix of operations.
///
/// # Errors
/// A file that cannot be read, or a line in it that is none: one line.
pub fn named(cell: &Cell) -> Result<Cell, String> {
    let mut cell = cell.clone();
    if let Some(job) = &mut cell.workload.job
        && let Some(replay) = &job.replay
    {
        let mut names: Vec<String> = Vec::new();
        let (mut counts, mut end) = ([0u64; 3], 0);
        for recorded in recordings(replay)?.iter().flatten() {
            if !names.contains(&recorded.file) {
                names.push(recorded.file.clone());
            }
            match recorded.kind {
                OpKind::Read => counts[0] += 1,
                OpKind::Write => counts[1] += 1,
                OpKind::Trim => counts[2] += 1,
                _ => continue,
            }
            end = end.max(recorded.offset + recorded.len);
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
        cell.workload.files = job.files.names.listed.len() as u64;
        cell.workload.file_bytes = end;
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
        let recorded = &recordings[number as usize % recordings.len()];
        recorded.iter().map(|recorded| operation(recorded, job, replay, number)).collect()
    };
    Ok((0..cell.workload.jobs).map(of_worker).collect())
}

fn operation(recorded: &Recorded, job: &Job, replay: &Replay, number: u32) -> ReplayOp {
    let place = job.files.names.listed.iter().position(|name| *name == recorded.file).unwrap_or(0);
    let percent = if replay.time_percent == 0 { 100 } else { u64::from(replay.time_percent) };
    let at_ns = recorded.at_us.saturating_mul(10).saturating_mul(percent);
    ReplayOp {
        at_ns: if replay.no_stall { 0 } else { at_ns },
        kind: recorded.kind,
        object: job.files.object(number, place as u32),
        offset: recorded.offset,
        len: recorded.len,
    }
}

/// The operations of each file, skipped ones left out, offsets as they are to be.
fn recordings(replay: &Replay) -> Result<Vec<Vec<Recorded>>, String> {
    let mut all = Vec::new();
    for name in &replay.files {
        let facts = std::fs::metadata(name).map_err(|error| format!("read_iolog={name}: {error}"))?;
        if facts.len() > LARGEST {
            return Err(format!("read_iolog={name}: it has more than {LARGEST} bytes; split it"));
        }
        let text = std::fs::read_to_string(name).map_err(|error| format!("read_iolog={name}: {error}"))?;
        let mut recorded = read(&text).map_err(|(line, fault)| format!("{name}:{line}: {fault}"))?;
        recorded.retain(|recorded| !replay.skip.iter().any(|skip| skip == skipped_as(recorded.kind)));
        for recorded in &mut recorded {
            if let Some(redirect) = &replay.redirect {
                recorded.file.clone_from(redirect);
            }
            recorded.offset /= replay.scale.max(1);
            recorded.offset -= recorded.offset % replay.align.max(1);
        }
        all.push(recorded);
    }
    Ok(all)
}

fn skipped_as(kind: OpKind) -> &'static str {
    match kind {
        OpKind::Read => "read",
        OpKind::Write => "write",
        OpKind::Trim => "trim",
        _ => "sync",
    }
}

/// Reads a file; the line that is wrong, from 1, and why.
fn read(text: &str) -> Result<Vec<Recorded>, (usize, String)> {
    let mut lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let heading = lines.next().map_or("", |(_, line)| line);
    let timed = match HEADINGS.iter().position(|known| *known == heading) {
        Some(place) => place == 1,
        None if text.contains('\0') => {
            return Err((1, "it is binary; convert blktrace's files by fio's write_iolog".to_owned()));
        }
        None => return Err((1, format!("the first line must be {:?} or {:?}", HEADINGS[0], HEADINGS[1]))),
    };
    let (mut recorded, mut added) = (Vec::new(), BTreeSet::new());
    let mut waited_us = 0;
    for (number, line) in lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')) {
        let wrong = |text: &str| (number, format!("{text}: {line:?}"));
        let mut words = line.split_whitespace();
        let at_us = match timed {
            true => words.next().and_then(|word| word.parse().ok()).ok_or_else(|| wrong("no timestamp"))?,
            false => waited_us,
        };
        let file = words.next().ok_or_else(|| wrong("no file"))?.to_owned();
        let action = words.next().ok_or_else(|| wrong("no action"))?;
        let mut figure =
            || words.next().map_or(Ok(0), |word| word.parse::<u64>().map_err(|_| wrong("no number")));
        let (offset, len) = (figure()?, figure()?);
        let (kind, len) = match action {
            "add" => {
                added.insert(file);
                continue;
            }
            "open" | "close" => continue,
            "wait" if !timed => {
                waited_us += if offset < 100 { 0 } else { offset };
                continue;
            }
            "read" => (OpKind::Read, len),
            "write" => (OpKind::Write, len),
            "trim" => (OpKind::Trim, len),
            "sync" => (OpKind::Commit, CommitKind::Full.code()),
            "datasync" => (OpKind::Commit, CommitKind::Data.code()),
            _ => return Err(wrong("an action that there is not")),
        };
        if !added.contains(&file) {
            return Err(wrong("the file was not added before"));
        }
        if len == 0 || len.checked_add(offset).is_none() {
            return Err(wrong("an operation of no length"));
        }
        recorded.push(Recorded { at_us, file, kind, offset, len });
    }
    Ok(recorded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_read() {
        let second = "fio version 2 iolog\n/a add\n/a open\n/a read 0 4096\n/a wait 1000 0\n/a write 4096 512\n\
                      /a sync 0 0\n/a close\n";
        let recorded = read(second).unwrap();
        assert_eq!(recorded.len(), 3);
        assert_eq!((recorded[1].at_us, recorded[1].kind, recorded[1].offset), (1000, OpKind::Write, 4096));
        assert_eq!(recorded[2].kind, OpKind::Commit);
        let third = "fio version 3 iolog\n16 /a add\n100 /a open\n104 /a trim 0 4096\n";
        assert_eq!((read(third).unwrap()[0].at_us, read(third).unwrap()[0].kind), (104, OpKind::Trim));
    }

    #[test]
    fn a_wrong_line_is_named() {
        let line = |text: &str| read(text).unwrap_err();
        assert_eq!(line("hello\n").0, 1);
        assert_eq!(line("fio version 2 iolog\n/a add\n/a jump 1 2\n").0, 3);
        assert!(line("fio version 2 iolog\n/a read 0 1\n").1.contains("not added"));
        assert!(line("fio version 3 iolog\n/a read 0 1\n").1.contains("timestamp"));
        assert!(line("fio version 2 iolog\n/a add\n/a read 0 0\n").1.contains("no length"));
    }
}
