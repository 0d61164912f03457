//! The files of a mix that the user named, on an export.

use std::path::PathBuf;
use std::sync::Arc;

use drivers::VisitEntry;
use drivers::nfs::{ExportFiles, ExportNames, NamedPath, NfsConfig, NfsDriver, PathState};
use experiment::{ExistingTree, Workload};
use metrics::ErrorKind;

use super::by_name::{FilesByName, FoundByName};
use super::existing_tree::TreeEntries;
use super::nfs::NfsTarget;
use super::place::PATIENCE;
use super::{FindingKind, Look, TargetError};

/// Handles that each job keeps of a tree's entries, about 320 bytes each; what is not kept is looked up again.
const MOST_HANDLES: u32 = 1 << 16;

impl NfsTarget {
    /// Walks a tree that exists, and uses its entries from here on.
    pub(super) fn walk(&mut self, workload: &Workload, tree: &ExistingTree) -> Result<(), TargetError> {
        let walk = |visit: VisitEntry<'_>| self.driver.walk_tree(&tree.path, PATIENCE, visit);
        let entries = TreeEntries::of(tree, workload, walk)?;
        let config = self.driver.config().clone();
        let named = ExportFiles {
            names: ExportNames::Files { job: String::new(), names: entries.names() },
            first_number: 0,
            files: u32::try_from(entries.entries()).unwrap_or(u32::MAX).min(MOST_HANDLES),
        };
        self.driver = NfsDriver::new(NfsConfig { named: Some(Arc::new(named)), ..config })?;
        self.by_name = FilesByName::of_tree(workload, entries);
        Ok(())
    }

    /// The files as they are now.
    pub(super) fn found_by_name(&self, files: &FilesByName) -> Result<Vec<FoundByName>, TargetError> {
        if files.are_of_tree() {
            return Ok(Vec::new());
        }
        let paths: Vec<NamedPath> = files.numbers().map(|file| self.named_path(file)).collect();
        let states = self.driver.look_at(&paths, PATIENCE).map_err(|error| match error.kind {
            // A name of something that is no file is an error of the user's.
            ErrorKind::AlreadyExists => TargetError::Input(error.detail.into_string()),
            _ => error.into(),
        })?;
        let export = &self.driver.config().export;
        let found = paths.into_iter().zip(states).map(|(NamedPath { path, .. }, state)| FoundByName {
            shown: format!("{path} in export {export}"),
            bytes: match state {
                PathState::Missing => None,
                PathState::File(bytes) => Some(bytes),
            },
        });
        Ok(found.collect())
    }

    /// Adds every fault of the files to what was found about the export; `writes` says that something will be written.
    /// Also returns whether files are created.
    pub(super) fn look_by_name(&self, files: &FilesByName, writes: bool, mut look: Look) -> (Look, bool) {
        let found = match self.found_by_name(files) {
            Ok(found) => found,
            Err(error) => {
                look.findings.append(&mut Look::refused(&error).findings);
                return (look, false);
            }
        };
        for error in files.faults(&found, |file, found| self.check_by_name(files, file, found, writes)) {
            look = look.with(FindingKind::Misuse, error.to_string());
        }
        let holds_data = found.iter().any(|found| found.bytes.is_some());
        look.space.iter_mut().for_each(|space| space.holds_data = holds_data);
        look.seen = format!("the export answers; {}", files.shown());
        let missing = files.missing(&found).next().is_some();
        (look, missing && files.are_filled())
    }

    /// Whether a file may be overwritten if it is.
    fn check_by_name(
        &self,
        files: &FilesByName,
        file: u64,
        found: &FoundByName,
        writes: bool,
    ) -> Result<(), TargetError> {
        let holds_data = found.bytes.is_some_and(|bytes| bytes > 0);
        let url = self.url_of(file);
        if !writes || !holds_data || self.cleared.contains(&url) {
            return Ok(());
        }
        if self.destroy.contains(&url) {
            self.cleared.insert(url);
            return Ok(());
        }
        let otherwise = if files.are_filled() { ", or write prepare: keep" } else { "" };
        Err(TargetError::Input(format!(
            "file {} holds data: nothing was written; to overwrite it anyway, give --destroy {}{otherwise}",
            found.shown,
            url.display()
        )))
    }

    /// Checks the files right before a cell, and creates missing ones, empty, if they are to be filled.
    ///
    /// # Errors
    /// The first that cannot be used or created.
    pub(super) fn enter_by_name(&self, files: &FilesByName, writes: bool) -> Result<(), TargetError> {
        let found = self.found_by_name(files)?;
        let check = |file, found: &FoundByName| self.check_by_name(files, file, found, writes);
        files.faults(&found, check).next().map_or(Ok(()), Err)?;
        let missing: Vec<u64> = files.missing(&found).collect();
        let paths: Vec<NamedPath> = missing.iter().map(|file| self.named_path(*file)).collect();
        self.driver.make(&paths, PATIENCE)?;
        missing.into_iter().for_each(|file| self.cleared.insert(self.url_of(file)));
        Ok(())
    }

    /// A file as the first worker reaches it.
    fn named_path(&self, file: u64) -> NamedPath {
        let path = self.driver.config().named.as_ref().map(|named| named.path(file));
        NamedPath { worker: 0, path: path.unwrap_or_default() }
    }

    /// The URL of a file, by which `--destroy` names it.
    fn url_of(&self, file: u64) -> PathBuf {
        format!("{}/{}", self.url, self.named_path(file).path).into()
    }
}
