//! Which part of a file a worker uses, and how large the file must be for it.

use super::{Amount, Job, SizeChoice};

/// A file found at the target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FoundFile {
    /// Its size in bytes; 0 if it is missing.
    pub bytes: u64,
    /// Whether it cannot grow because it is a device.
    pub fixed: bool,
}

/// The part of a file that a worker uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FilePart {
    /// Start of the part, in bytes.
    pub start: u64,
    /// Length of the part, in bytes. Blocks are whole: a shorter remainder at the end is not used.
    pub length: u64,
    /// Required file size in bytes: the present one, or larger.
    pub bytes: u64,
}

/// Larger than any file: for writes that continue until the file system is full.
pub const UNTIL_FULL: u64 = 1 << 46;

/// A job begins behind the end of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has {bytes} bytes, and the job begins at {start}: use a smaller offset")]
pub struct BeginsBehindEnd {
    /// Size of the file, in bytes.
    pub bytes: u64,
    /// Where the job begins, in bytes.
    pub start: u64,
}

impl Job {
    /// The part of its `file` that a worker uses, given what was `found`. `number` is the worker's, counted over all
    /// clones of the job. The rules are fio's: `offset`, `offset_increment`, `offset_align`, `size`, `nrfiles`,
    /// `filesize`, `file_append`, `fill_device`. Workers that share a file may need different sizes of it: the largest
    /// applies.
    ///
    /// # Errors
    /// If the start lies beyond the end: one line without the file's name.
    pub fn part(&self, number: u32, file: u32, found: FoundFile) -> Result<FilePart, BeginsBehindEnd> {
        let (files, region) = (&self.files, &self.region);
        let start = self.start(number, found);
        let after = |bytes: u64| bytes.checked_sub(start).ok_or(BeginsBehindEnd { bytes, start });
        let wanted = match region.size {
            Amount::Bytes(bytes) => bytes / u64::from(files.per_worker()),
            Amount::Percent(_) => 0,
        };
        let grows = |bytes: u64| if region.fill_device && !found.fixed { UNTIL_FULL } else { bytes };
        let most = files.most_bytes.max(files.bytes);
        let mut length = if files.bytes == 0 && wanted > 0 {
            wanted
        } else if files.bytes == 0 || files.layout.append && found.bytes > 0 {
            grows(after(found.bytes)?)
        } else if found.fixed || (files.bytes..=most).contains(&found.bytes) {
            after(found.bytes)?
        } else {
            after(self.drawn_bytes(number, file, files.bytes, most))?
        };
        if files.layout.append && !found.fixed {
            length = match (wanted, files.bytes) {
                (0, 0) => grows(0),
                (0, bytes) => bytes,
                (wanted, _) => wanted,
            };
        }
        if let Amount::Percent(percent) = region.size
            && percent != 100.0
        {
            let whole = start.saturating_add(length);
            let share = Amount::Percent(percent).of(whole).min(length);
            length = share - share % self.smallest_block();
        }
        if found.fixed {
            length = length.min(after(found.bytes)?);
        }
        let end = start.saturating_add(length);
        Ok(FilePart {
            start,
            length,
            bytes: if length == UNTIL_FULL { found.bytes } else { found.bytes.max(end) },
        })
    }

    /// Start of the part.
    fn start(&self, number: u32, found: FoundFile) -> u64 {
        let region = &self.region;
        if self.files.layout.append && !found.fixed {
            return found.bytes;
        }
        let increment = region.offset_increment.of(found.bytes).saturating_mul(u64::from(number));
        let start = region.offset.of(found.bytes).saturating_add(increment);
        let align = match (region.offset, region.offset_align) {
            (Amount::Percent(_), 0) => self.smallest_block(),
            (_, align) => align.max(1),
        };
        start.checked_next_multiple_of(align).unwrap_or(start)
    }

    /// The smallest block of any direction, in bytes.
    pub fn smallest_block(&self) -> u64 {
        let sizes = &self.block_sizes.sizes;
        let least = [&sizes.read, &sizes.write, &sizes.trim].map(SizeChoice::least);
        least.into_iter().filter(|bytes| *bytes > 0).min().unwrap_or(1)
    }

    /// The largest block of any direction, in bytes.
    pub fn largest_block(&self) -> u64 {
        let sizes = &self.block_sizes.sizes;
        [&sizes.read, &sizes.write, &sizes.trim].map(SizeChoice::most).into_iter().max().unwrap_or(1).max(1)
    }

    /// A file's size drawn from a range: whole blocks, all sizes equally likely, the same in every run.
    fn drawn_bytes(&self, number: u32, file: u32, least: u64, most: u64) -> u64 {
        if most <= least {
            return least;
        }
        let block = self.smallest_block();
        let whose = self.files.names.object(number, file);
        let drawn = least
            + ((u128::from(content::mixed(self.seed ^ content::mixed(whose))) * u128::from(most - least + 1))
                >> 64) as u64;
        (drawn - drawn % block).max(least)
    }
}

#[cfg(test)]
#[path = "part_tests.rs"]
mod tests;
