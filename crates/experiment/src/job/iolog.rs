//! Recorded operations in fio's iolog format, versions 2 and 3 (HOWTO of fio 3.33, "Trace file format").
//!
//! Times follow fio's behaviour, as verified by experiment: a `wait` in version 2 is a time in microseconds since the
//! replay began, and one in the past does not wait; timestamps in version 3 are microseconds, relative to the first
//! operation.

use super::Replay;

/// Maximum number of operations in a file.
const MOST: usize = 1 << 26;
/// Operations must start and end below this offset.
const MAX_BYTES: u64 = 1 << 48;

/// The content of a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Iolog {
    /// Names of the files, in the order in which they were added; with `replay_redirect`, only the one named there.
    pub files: Vec<String>,
    /// Operations in order.
    pub ops: Vec<IologOp>,
}

impl Iolog {
    /// How far operations reach into each file, in bytes, and thus how large the files must be.
    pub fn ends(&self) -> Vec<u64> {
        let mut ends = vec![0; self.files.len()];
        for op in &self.ops {
            let end = &mut ends[op.file as usize];
            *end = (*end).max(op.offset + op.len);
        }
        ends
    }
}

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IologOp {
    /// Scheduled start, in nanoseconds since the replay began.
    pub at_ns: u64,
    /// The kind of operation.
    pub action: IologAction,
    /// The file, as an index into [`Iolog::files`].
    pub file: u32,
    /// First byte.
    pub offset: u64,
    /// Bytes; 0 for commits.
    pub len: u64,
}

/// The kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IologAction {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Discard the content.
    Trim,
    /// fsync(2).
    Sync,
    /// fdatasync(2).
    DataSync,
}

/// A line that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IologFault {
    /// Line number, from 1.
    pub line: usize,
    /// What is wrong.
    pub text: String,
    /// How to fix it.
    pub hint: &'static str,
}

impl std::fmt::Display for IologFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}; {}", self.line, self.text, self.hint)
    }
}

impl std::error::Error for IologFault {}

/// Parses an iolog and applies the replay options: divides and aligns offsets, stretches or drops times, skips kinds,
/// redirects files.
///
/// # Errors
/// The first line that does not match the format, names a file that is not open, or exceeds the limits.
pub fn read_iolog(text: &str, replay: &Replay) -> Result<Iolog, IologFault> {
    let mut lines = text.lines().zip(1..);
    let first = lines.next().map_or("", |(line, _)| line.trim());
    let version = match first {
        "fio version 2 iolog" => 2,
        "fio version 3 iolog" => 3,
        _ => {
            let found: String = first.chars().take(60).collect();
            let text = format!("{found:?} is not the first line of an iolog");
            return Err(fault(1, text, "begin with: fio version 3 iolog"));
        }
    };
    let mut reader =
        Reader { version, replay, log: Iolog::default(), open: Vec::new(), now_us: 0, first_us: None };
    if let Some(name) = &replay.redirect {
        reader.log.files.push(name.clone());
    }
    for (line, number) in lines {
        if !line.trim().is_empty() {
            reader.line(line, number)?;
        }
    }
    Ok(reader.log)
}

struct Reader<'a> {
    version: u32,
    replay: &'a Replay,
    log: Iolog,
    /// Names that were added, and whether each is open.
    open: Vec<(String, bool)>,
    now_us: u64,
    /// The first operation's timestamp.
    first_us: Option<u64>,
}

impl Reader<'_> {
    fn line(&mut self, line: &str, number: usize) -> Result<(), IologFault> {
        let mut words = line.split_whitespace();
        let mut word = |what: &str| {
            words.next().ok_or_else(|| {
                fault(number, format!("there is no {what}"), "write: file action offset length")
            })
        };
        let stamp = if self.version == 3 { Some(count(word("time stamp")?, number)?) } else { None };
        let name = word("file name")?;
        let action = word("action")?;
        let range = (words.next(), words.next());
        if let Some(more) = words.next() {
            return Err(fault(
                number,
                format!("{more:?} is one word too many"),
                "write: file action offset length",
            ));
        }
        match action {
            "add" => return self.add(name, number),
            "open" | "close" => return self.set_open(name, action == "open", number),
            "wait" if self.version == 2 => {
                self.now_us = self.now_us.max(count(range.0.unwrap_or(""), number)?);
                return Ok(());
            }
            _ => {}
        }
        let (action, kind) = match action {
            "read" => (IologAction::Read, "read"),
            "write" => (IologAction::Write, "write"),
            "trim" => (IologAction::Trim, "trim"),
            "sync" => (IologAction::Sync, "sync"),
            "datasync" => (IologAction::DataSync, "sync"),
            other => {
                let hint = "the actions are add, open, close, read, write, trim, sync and datasync, in version 2 also wait";
                return Err(fault(number, format!("there is no action {other:?}"), hint));
            }
        };
        let commits = kind == "sync";
        let (offset, len) = match range {
            _ if commits => (0, 0),
            (Some(offset), Some(len)) => (count(offset, number)?, count(len, number)?),
            _ => {
                return Err(fault(
                    number,
                    "offset or length is missing".to_owned(),
                    "write: file action offset length",
                ));
            }
        };
        if offset > MAX_BYTES || len > MAX_BYTES - offset {
            let text = format!("{len} bytes at {offset} lie beyond 256 TiB");
            return Err(fault(number, text, "take the line out, or divide offsets by replay_scale"));
        }
        if !commits && len == 0 {
            return Err(fault(number, "the length is 0".to_owned(), "take the line out"));
        }
        let file = self.file(name, number)?;
        if let Some(stamp) = stamp {
            let first = *self.first_us.get_or_insert(stamp);
            self.now_us = self.now_us.max(stamp.saturating_sub(first));
        }
        if self.replay.skip.iter().any(|skipped| skipped == kind) {
            return Ok(());
        }
        if self.log.ops.len() == MOST {
            let text = format!("there are more than {MOST} operations");
            return Err(fault(number, text, "split the file"));
        }
        let offset = offset / self.replay.scale.max(1);
        let offset =
            if self.replay.align > 1 { offset / self.replay.align * self.replay.align } else { offset };
        self.log.ops.push(IologOp { at_ns: self.at_ns(), action, file, offset, len });
        Ok(())
    }

    /// The current time of the replay. A percentage of 50 means half the speed, so twice the time.
    fn at_ns(&self) -> u64 {
        if self.replay.no_stall {
            return 0;
        }
        let percent = if self.replay.time_percent == 0 { 100 } else { self.replay.time_percent };
        let ns = u128::from(self.now_us) * 1000 * 100 / u128::from(percent);
        u64::try_from(ns).unwrap_or(u64::MAX)
    }

    fn add(&mut self, name: &str, number: usize) -> Result<(), IologFault> {
        if self.open.iter().any(|(known, _)| known == name) {
            return Ok(());
        }
        if self.open.len() == 1 << 20 {
            return Err(fault(number, "there are more than 1048576 files".to_owned(), "split the file"));
        }
        self.open.push((name.to_owned(), false));
        if self.replay.redirect.is_none() {
            self.log.files.push(name.to_owned());
        }
        Ok(())
    }

    fn set_open(&mut self, name: &str, open: bool, number: usize) -> Result<(), IologFault> {
        match self.open.iter_mut().find(|(known, _)| known == name) {
            Some((_, is_open)) => *is_open = open,
            None => return Err(fault(number, format!("{name:?} was not added"), "add it before: file add")),
        }
        Ok(())
    }

    fn file(&self, name: &str, number: usize) -> Result<u32, IologFault> {
        match self.open.iter().position(|(known, _)| known == name) {
            Some(at) if self.open[at].1 => Ok(if self.replay.redirect.is_some() { 0 } else { at as u32 }),
            Some(_) => Err(fault(number, format!("{name:?} is not open"), "open it before: file open")),
            None => Err(fault(number, format!("{name:?} was not added"), "add and open it before: file add")),
        }
    }
}

fn count(word: &str, number: usize) -> Result<u64, IologFault> {
    word.parse().map_err(|_| fault(number, format!("{word:?} is no number"), "write whole numbers from 0 on"))
}

fn fault(line: usize, text: String, hint: &'static str) -> IologFault {
    IologFault { line, text, hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Iolog, IologFault> {
        read_iolog(text, &Replay::default())
    }

    fn times(log: &Iolog) -> Vec<u64> {
        log.ops.iter().map(|op| op.at_ns / 1_000_000).collect()
    }

    const THREE: &str = "fio version 3 iolog\n0 /a add\n0 /b add\n9 /a open\n10 /b open\n\
        100000 /a read 0 4096\n300000 /b write 8192 4096\n300000 /b sync 0 0\n350000 /a trim 4096 512\n500000 /a close\n";

    #[test]
    fn version_3_counts_from_its_first_operation() {
        let log = read(THREE).unwrap();
        assert_eq!(log.files, ["/a", "/b"]);
        assert_eq!(times(&log), [0, 200, 200, 250]);
        let actions: Vec<_> = log.ops.iter().map(|op| (op.action, op.file, op.offset, op.len)).collect();
        use IologAction::{Read, Sync, Trim, Write};
        assert_eq!(
            actions,
            [(Read, 0, 0, 4096), (Write, 1, 8192, 4096), (Sync, 1, 0, 0), (Trim, 0, 4096, 512)]
        );
        assert_eq!(log.ends(), [4608, 12288]);
    }

    #[test]
    fn version_2_waits_until_moments() {
        let text = "fio version 2 iolog\nf add\nf open\nf wait 100000 0\nf read 0 1\nf wait 300000 0\nf read 1 1\n\
            f wait 50000 0\nf datasync\nf close\n";
        assert_eq!(times(&read(text).unwrap()), [100, 300, 300]);
    }

    #[test]
    fn a_replay_may_change_times_places_and_kinds() {
        let replay = |change: fn(&mut Replay)| {
            let mut replay = Replay::default();
            change(&mut replay);
            read_iolog(THREE, &replay).unwrap()
        };
        assert_eq!(times(&replay(|replay| replay.no_stall = true)), [0, 0, 0, 0]);
        assert_eq!(times(&replay(|replay| replay.time_percent = 50)), [0, 400, 400, 500]);
        assert_eq!(times(&replay(|replay| replay.time_percent = 200)), [0, 100, 100, 125]);
        let log = replay(|replay| (replay.scale, replay.align) = (3, 1024));
        assert_eq!(log.ops.iter().map(|op| op.offset).collect::<Vec<_>>(), [0, 2048, 0, 1024]);
        let log = replay(|replay| replay.skip = vec!["sync".to_owned(), "read".to_owned()]);
        assert_eq!(log.ops.len(), 2);
        let log = replay(|replay| replay.redirect = Some("/dev/x".to_owned()));
        assert_eq!((log.files.len(), log.ops.iter().all(|op| op.file == 0)), (1, true));
    }

    #[test]
    fn faults_name_their_line() {
        let faults = [
            ("", "line 1: \"\" is not the first line of an iolog"),
            ("fio version 2 iolog\nf read 0 1", "line 2: \"f\" was not added"),
            ("fio version 2 iolog\nf add\nf read 0 1", "line 3: \"f\" is not open"),
            ("fio version 3 iolog\n1 f add\n1 f open\n\n2 f wait 5 0", "line 5: there is no action \"wait\""),
            ("fio version 3 iolog\nf add", "line 2: \"f\" is no number"),
            ("fio version 3 iolog\n0 f", "line 2: there is no action"),
            ("fio version 2 iolog\nf add\nf open\nf write 12", "line 4: offset or length is missing"),
            ("fio version 2 iolog\nf add\nf open\nf write 1 0", "line 4: the length is 0"),
            ("fio version 2 iolog\nf add\nf open\nf write 1 2 3", "line 4: \"3\" is one word too many"),
            (
                "fio version 2 iolog\nf add\nf open\nf write 281474976710656 1",
                "line 4: 1 bytes at 281474976710656 lie beyond",
            ),
            ("fio version 2 iolog\nf add\nf open\nf write -1 1", "line 4: \"-1\" is no number"),
        ];
        for (text, expected) in faults {
            let found = read(text).unwrap_err().to_string();
            assert!(found.starts_with(expected), "{found}");
        }
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics(text in "(fio version [23] iolog\n)?([0-9]{0,20} ?(f|g)? ?(add|open|read|write|wait|sync)? ?[0-9]{0,20} ?[0-9]{0,20}\n){0,8}") {
            let _ = read(&text);
        }
    }
}
