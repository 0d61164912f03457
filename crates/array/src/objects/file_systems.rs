//! File systems: created, changed, destroyed, recovered, eradicated.

use crate::files::Options;

use super::rules::Rules;
use super::{ApiRefusal, Birth, FileSystem, Objects, wall_ms};

/// Default export rules of a file system.
const DEFAULT_RULES: &str = "*(rw,no_root_squash)";

/// Properties of a new file system; `None` is the default of arrays.
#[derive(Clone, Debug, Default)]
pub(crate) struct NewFileSystem {
    pub(crate) provisioned: Option<u64>,
    pub(crate) change: FileSystemChange,
}

/// Changes to a file system; `None` leaves a property unchanged.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileSystemChange {
    pub(crate) new_name: Option<String>,
    pub(crate) provisioned: Option<u64>,
    pub(crate) hard_limit: Option<bool>,
    pub(crate) nfs_rules: Option<String>,
    pub(crate) v3_enabled: Option<bool>,
    pub(crate) v4_1_enabled: Option<bool>,
    pub(crate) smb_enabled: Option<bool>,
    pub(crate) http_enabled: Option<bool>,
    pub(crate) fast_remove: Option<bool>,
    pub(crate) snapshot_directory: Option<bool>,
    pub(crate) writable: Option<bool>,
    pub(crate) destroyed: Option<bool>,
}

impl FileSystem {
    fn apply(&mut self, change: &FileSystemChange) {
        fn put<T: Clone>(field: &mut T, value: &Option<T>) {
            if let Some(value) = value {
                field.clone_from(value);
            }
        }
        put(&mut self.provisioned, &change.provisioned);
        put(&mut self.hard_limit, &change.hard_limit);
        put(&mut self.nfs_rules, &change.nfs_rules);
        put(&mut self.v3_enabled, &change.v3_enabled);
        put(&mut self.v4_1_enabled, &change.v4_1_enabled);
        put(&mut self.smb_enabled, &change.smb_enabled);
        put(&mut self.http_enabled, &change.http_enabled);
        put(&mut self.fast_remove, &change.fast_remove);
        put(&mut self.snapshot_directory, &change.snapshot_directory);
        put(&mut self.writable, &change.writable);
    }

    /// How the file service exports it.
    fn options(&self, name: &str) -> Result<Options, ApiRefusal> {
        let rules =
            Rules::parse(&self.nfs_rules).map_err(|error| ApiRefusal::new(name, error.to_string()))?;
        Ok(Options {
            nfs_v3: self.v3_enabled,
            nfs_v4_1: self.v4_1_enabled,
            read_only: !self.writable || rules.read_only,
            allowed: rules.allowed,
            limit_bytes: (self.hard_limit && self.provisioned > 0).then_some(self.provisioned),
            ..Options::default()
        })
    }
}

impl Objects {
    /// Creates a file system; no other, including destroyed ones, may have the name.
    pub(crate) fn create_file_system(&mut self, name: &str, new: &NewFileSystem) -> Result<(), ApiRefusal> {
        check_name(name)?;
        if self.file_systems.contains_key(name) {
            return Err(ApiRefusal::exists(name, "File system"));
        }
        let mut made = FileSystem {
            birth: Birth::now(),
            provisioned: new.provisioned.unwrap_or(0),
            hard_limit: false,
            nfs_rules: DEFAULT_RULES.into(),
            v3_enabled: false,
            v4_1_enabled: false,
            smb_enabled: false,
            http_enabled: false,
            fast_remove: false,
            snapshot_directory: true,
            writable: true,
            destroyed_ms: None,
        };
        made.apply(&new.change);
        let options = made.options(name)?;
        self.files.create(name, options).map_err(|error| ApiRefusal::new(name, error.to_string()))?;
        self.file_systems.insert(name.into(), made);
        Ok(())
    }

    /// Changes a file system, destroys it or recovers it.
    pub(crate) fn change_file_system(
        &mut self,
        name: &str,
        change: &FileSystemChange,
    ) -> Result<(), ApiRefusal> {
        if change.new_name.as_deref().is_some_and(|new| new != name) {
            return Err(ApiRefusal::new(name, "The simulated array does not rename file systems."));
        }
        let Some(found) = self.file_systems.get_mut(name) else {
            return Err(ApiRefusal::missing(name, "File system"));
        };
        let mut changed = found.clone();
        changed.apply(change);
        let other_change = changed.apply_differs(found);
        let options = changed.options(name)?;
        let done = match (found.destroyed_ms, change.destroyed) {
            (Some(_), Some(false)) => {
                changed.destroyed_ms = None;
                self.files.recover(name)
            }
            (Some(_), _) if other_change => {
                return Err(ApiRefusal::new(name, "File system is destroyed and cannot be modified."));
            }
            (None, Some(true)) => {
                changed.destroyed_ms = Some(wall_ms());
                self.files.destroy(name)
            }
            _ => Ok(()),
        };
        done.and_then(|()| self.files.set_options(name, options))
            .map_err(|error| ApiRefusal::new(name, error.to_string()))?;
        *found = changed;
        Ok(())
    }

    /// Permanently removes a destroyed file system, with all files.
    pub(crate) fn eradicate_file_system(&mut self, name: &str) -> Result<(), ApiRefusal> {
        match self.file_systems.get(name) {
            None => Err(ApiRefusal::missing(name, "File system")),
            Some(found) if found.destroyed_ms.is_none() => {
                Err(ApiRefusal::new(name, "File system must be destroyed before it can be eradicated."))
            }
            Some(_) => {
                self.file_systems.remove(name);
                self.files.eradicate(name).map_err(|error| ApiRefusal::new(name, error.to_string()))
            }
        }
    }
}

impl FileSystem {
    fn apply_differs(&self, before: &Self) -> bool {
        let key = |fs: &Self| {
            (
                fs.provisioned,
                fs.hard_limit,
                fs.nfs_rules.clone(),
                fs.v3_enabled,
                fs.v4_1_enabled,
                fs.smb_enabled,
                fs.writable,
            )
        };
        key(self) != key(before)
    }
}

/// Checks the name of a file system: letters, digits, `-`, `_` and `.`, at most 63, with a letter or digit at both
/// ends.
fn check_name(name: &str) -> Result<(), ApiRefusal> {
    let plain = |c: char| c.is_ascii_alphanumeric();
    let fits = (1..=63).contains(&name.len())
        && name.starts_with(plain)
        && name.ends_with(plain)
        && name.chars().all(|c| plain(c) || "-_.".contains(c));
    if fits { Ok(()) } else { Err(ApiRefusal::new(name, "Invalid name.")) }
}
