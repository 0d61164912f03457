//! The files of a mix that the user named, on this machine.

use std::path::{Path, PathBuf};

use drivers::file::{FileKind, Fill, Hint, NamedFiles, Place as Where, walk_tree};
use drivers::{DriverError, VisitEntry};
use experiment::{Access, UserFiles};
use metrics::ErrorKind;

use super::by_name::{FilesByName, FoundByName};
use super::existing_tree::TreeEntries;
use super::file::FileTarget;
use super::{FindingKind, FreeSpace, Look, OpenRequest, TargetError};

/// The entries of the workload's tree, if it has one.
pub(super) fn tree(request: &OpenRequest<'_>, directory: &Path) -> Result<Option<TreeEntries>, TargetError> {
    let Some(tree) = request.workload.tree() else { return Ok(None) };
    let walk = |visit: VisitEntry<'_>| walk_tree(directory, &tree.path, visit);
    TreeEntries::of(tree, request.workload, walk).map(Some)
}

/// Location of the files, and how they are opened.
pub(super) fn place(
    request: &OpenRequest<'_>,
    directory: PathBuf,
    files: &UserFiles,
    tree: Option<&TreeEntries>,
) -> Where {
    let hint = match request.workload.access() {
        Access::Sequential => Hint::Sequential,
        _ => Hint::Random,
    };
    Where::Named(NamedFiles {
        directory,
        job: String::new(),
        names: match tree {
            Some(tree) => tree.names(),
            None => files.names.clone(),
        },
        write: request.workload.changes_data(),
        create: false,
        hint,
    })
}

impl FileTarget {
    /// The files as they are now.
    pub(super) fn found_by_name(&self, files: &FilesByName) -> Result<Vec<FoundByName>, TargetError> {
        if files.are_of_tree() {
            return Ok(Vec::new());
        }
        let found = |file: u64| {
            let looked = self.driver.look(file).map_err(misnamed)?;
            let shown = self.driver.path_of(file).display().to_string();
            let bytes = match looked.kind {
                FileKind::Missing => None,
                FileKind::Regular | FileKind::Block => Some(looked.bytes),
                FileKind::Character => {
                    let text =
                        format!("file {shown}: it is a character device; next: name a file or block device");
                    return Err(TargetError::Input(text));
                }
            };
            Ok(FoundByName { shown, bytes })
        };
        files.numbers().map(found).collect()
    }

    /// Every fault of the files, before anything is created or written; `writes` says that something will be.
    pub(super) fn look_by_name(&self, files: &FilesByName, writes: bool) -> Result<Look, TargetError> {
        let found = self.found_by_name(files)?;
        let mut look = Look { seen: files.shown(), ..Look::default() };
        for error in files.faults(&found, |file, found| self.check_by_name(files, file, found, writes)) {
            look = look.with(FindingKind::Misuse, error.to_string());
        }
        if let Some(file) = files.missing(&found).next().filter(|_| files.are_filled()) {
            let parent = self.driver.look_at_parent(file)?;
            look.space = parent.available_bytes.map(|available_bytes| FreeSpace {
                file_system: parent.file_system.to_string(),
                place: self.driver.config().place.path().display().to_string(),
                available_bytes,
                holds_data: found.iter().any(|found| found.bytes.is_some()),
            });
        }
        Ok(look)
    }

    /// Whether a file may be used: read, overwritten if it is, and with direct I/O.
    fn check_by_name(
        &self,
        files: &FilesByName,
        file: u64,
        found: &FoundByName,
        writes: bool,
    ) -> Result<(), TargetError> {
        if found.bytes.is_some() {
            self.driver.check_access(file, writes)?;
        }
        if writes && found.bytes.is_some() {
            let path = self.driver.path_of(file);
            let checked = self
                .cleared
                .check(&path, &self.destroy, |destroy| self.driver.check_overwriting(file, destroy));
            checked.map_err(|error| match files.are_filled() {
                true => DriverError::new(error.kind, format!("{}, or write prepare: keep", error.detail)),
                false => error,
            })?;
        }
        if !self.driver.config().direct {
            return Ok(());
        }
        let Some(alignment) = self.driver.alignment_at(file)? else { return Ok(()) };
        let unit = u64::from(alignment.offset_bytes.max(1));
        match self.sizes.iter().find(|size| !size.is_multiple_of(unit)) {
            Some(size) => Err(TargetError::Input(format!(
                "file {}: past the page cache (direct) sizes must be multiples of {unit} bytes, and {size} is none; next: \
                 choose another size, or write direct: false",
                found.shown
            ))),
            None => Ok(()),
        }
    }

    /// Checks the files right before a cell, and creates missing ones if they are to be filled.
    ///
    /// # Errors
    /// The first that cannot be used or created.
    pub(super) fn enter_by_name(&self, files: &FilesByName, writes: bool) -> Result<(), TargetError> {
        let found = self.found_by_name(files)?;
        let check = |file, found: &FoundByName| self.check_by_name(files, file, found, writes);
        files.faults(&found, check).next().map_or(Ok(()), Err)?;
        let config = self.driver.config();
        let fill = match config.fallocate {
            drivers::file::Fallocate::None => Fill::None,
            _ => Fill::Behind,
        };
        for file in files.missing(&found) {
            self.driver.make(file, config.file_bytes, fill, true)?;
            self.cleared.insert(self.driver.path_of(file));
        }
        Ok(())
    }

    /// Drops the files' pages; returns what was done, in words for the result.
    pub(super) fn invalidate_by_name(&self, files: &FilesByName) -> String {
        for file in files.numbers() {
            if let Err(error) = self.driver.invalidate_named(file) {
                return format!("not invalidated: {}", error.detail);
            }
        }
        let count = files.numbers().end;
        format!("pages of {count} named files given up (fsync, posix_fadvise DONTNEED)")
    }

    /// The directory that relative names start from.
    pub(super) fn directory_of_names(&self) -> Option<&Path> {
        self.by_name.as_ref().map(|_| self.driver.config().place.path())
    }
}

/// A name of something that is no file is an error of the user's.
fn misnamed(error: DriverError) -> TargetError {
    match error.kind {
        ErrorKind::Rejected => TargetError::Input(error.detail.into_string()),
        _ => error.into(),
    }
}
