//! The files of a mix that the user named: which part of each is used, and what is wrong with those that exist.

use std::ops::Range;

use engine::DataSet;
use experiment::{UserFiles, Workload};
use units::Size;

use super::TargetError;
use super::existing_tree::TreeEntries;

/// The files of a mix that the user named.
#[derive(Clone, Debug)]
pub struct FilesByName {
    files: UserFiles,
    count: u64,
    /// Bytes used of each; 0: of an existing file all whole blocks.
    file_bytes: u64,
    /// The largest block of the load.
    block_bytes: u64,
    /// Bytes used of each file, once known.
    used: Vec<u64>,
    /// The entries of a tree that exists, once it was walked. It has its own numbers and sizes.
    tree: Option<TreeEntries>,
}

/// A file by its name, as found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundByName {
    /// Its name for people: a path, or a name on an export.
    pub shown: String,
    /// Its size; `None`: it is missing.
    pub bytes: Option<u64>,
}

impl FilesByName {
    /// Those of a workload. Sizes that only the target knows are set by [`FilesByName::set_sizes`].
    pub(super) fn of(workload: &Workload) -> Option<Self> {
        let files = workload.user_files()?.clone();
        let (count, file_bytes) = (workload.files(), workload.file_bytes());
        let block_bytes = workload.block_sizes().iter().map(|size| size.bytes).max().unwrap_or(1).max(1);
        let used = if file_bytes > 0 { vec![file_bytes; count as usize] } else { Vec::new() };
        Some(Self { files, count, file_bytes, block_bytes, used, tree: None })
    }

    /// Those of a tree that was walked.
    pub(super) fn of_tree(workload: &Workload, tree: TreeEntries) -> Option<Self> {
        Some(Self { count: tree.files(), tree: Some(tree), ..Self::of(workload)? })
    }

    /// A fact for the result: what a tree holds.
    pub(super) fn facts(&self) -> Option<(String, String)> {
        self.tree.as_ref().map(|tree| ("files".to_owned(), tree.shown()))
    }

    /// Whether they are those of a tree that exists and is only read.
    pub fn are_of_tree(&self) -> bool {
        self.tree.is_some()
    }

    /// The numbers of the files.
    pub fn numbers(&self) -> Range<u64> {
        0..self.count
    }

    /// Whether missing files are created, and all are filled.
    pub fn are_filled(&self) -> bool {
        self.files.create
    }

    /// What they are, for people.
    pub(super) fn shown(&self) -> String {
        self.tree
            .as_ref()
            .map_or_else(|| format!("files {}", self.files.shown(self.count)), TreeEntries::shown)
    }

    /// Whether the sizes of existing files determine how much is used of them.
    pub(super) fn wants_sizes(&self) -> bool {
        self.used.is_empty()
    }

    /// Sets how much is used of each file.
    ///
    /// # Errors
    /// All that are missing, or the first that is too small.
    pub(super) fn set_sizes(&mut self, found: &[FoundByName]) -> Result<(), TargetError> {
        let missing: Vec<&str> =
            found.iter().filter(|file| file.bytes.is_none()).map(|file| &*file.shown).collect();
        if let [first, second, others @ ..] = &*missing {
            let more = if others.is_empty() { String::new() } else { format!(" and {} more", others.len()) };
            let text = format!("files {first}, {second}{more} are missing; next: {}", self.next_step());
            return Err(TargetError::Input(text));
        }
        self.used = found.iter().map(|file| self.used_of(file)).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// The part of an existing file that is used, in bytes.
    ///
    /// # Errors
    /// One line: it is missing or too small.
    pub(super) fn used_of(&self, file: &FoundByName) -> Result<u64, TargetError> {
        let FoundByName { shown, bytes } = file;
        let wrong = |text: String| Err(TargetError::Input(format!("file {shown} {text}")));
        let Some(bytes) = *bytes else { return wrong(format!("is missing; next: {}", self.next_step())) };
        if self.file_bytes == 0 {
            let whole = bytes / self.block_bytes * self.block_bytes;
            let block = Size(self.block_bytes);
            return match whole {
                0 => wrong(format!(
                    "has {bytes} bytes, less than a block of {block}; next: use smaller blocks, or name a larger file"
                )),
                whole => Ok(whole),
            };
        }
        if bytes < self.file_bytes {
            let asked = Size(self.file_bytes);
            return wrong(format!(
                "has {bytes} bytes and file_size is {asked}; next: write a smaller file_size, none for all of it, or \
                 stages: {{prepare: fill}}, which overwrites it"
            ));
        }
        Ok(self.file_bytes)
    }

    /// The faults of the files, one each, as they are looked at: those that are used as they are must be there in full
    /// size, and `check` finds what the target's kind requires besides.
    pub(super) fn faults<'f>(
        &'f self,
        found: &'f [FoundByName],
        check: impl Fn(u64, &FoundByName) -> Result<(), TargetError> + 'f,
    ) -> impl Iterator<Item = TargetError> + 'f {
        let fault = move |(file, found): (u64, &FoundByName)| {
            let size = if self.files.create { Ok(0) } else { self.used_of(found) };
            size.and_then(|_| check(file, found)).err()
        };
        self.numbers().zip(found).filter_map(fault)
    }

    /// Files that are to be created: the missing ones.
    pub(super) fn missing<'f>(&self, found: &'f [FoundByName]) -> impl Iterator<Item = u64> + 'f {
        self.numbers().zip(found).filter(|(_, found)| found.bytes.is_none()).map(|(file, _)| file)
    }

    /// What to do about a missing file.
    fn next_step(&self) -> &'static str {
        match self.files.create {
            true => "run again with prepare: fill_always",
            false => "make it, or let the run make and fill it (stages: {prepare: fill})",
        }
    }

    /// A part of the files as a data set.
    pub fn data_set(&self, numbers: Range<u64>) -> DataSet {
        if let Some(tree) = &self.tree {
            return tree.data_set(numbers, self.block_bytes);
        }
        let used = &self.used[numbers.start as usize..numbers.end as usize];
        DataSet::of_sizes(numbers.start, used, self.block_bytes)
    }
}
