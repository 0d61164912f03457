//! Configuration of a Gluster target.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::path::PathBuf;

use metrics::ErrorKind;

use crate::DriverError;
use crate::file::OPEN_FILES;
use crate::file::names::{NAME_LEN, write_path};
use crate::tree::{DirectoryTree, MAX_LEAF_LEN};

/// The port of glusterd.
pub const GLUSTERD_PORT: u16 = 24007;
/// Room for a path, with the zero byte at its end.
pub(super) const PATH_BYTES: usize = 4096;
/// Max length in bytes of the path of our directory, or of a file that the user named.
pub const MAX_PATH_BYTES: usize = PATH_BYTES - 256;

const _: () =
    assert!(MAX_LEAF_LEN + NAME_LEN + 3 < 256, "a file of ours fits behind the path of our directory");

/// The target of a [`super::GlusterDriver`].
#[derive(Clone, Debug)]
pub struct GlusterConfig {
    /// Name or address of a server of the volume.
    pub host: String,
    /// TCP port of its glusterd.
    pub port: u16,
    /// The volume.
    pub volume: String,
    /// Path within the volume of the existing directory that holds ours; empty for the volume's root.
    pub parent: String,
    /// Name of our directory. Object `n` is the file whose name is `n` as 16 hexadecimal digits, in it or in the `tree` below.
    pub directory: String,
    /// Directories of the files with numbers.
    pub tree: DirectoryTree,
    /// Files that the user named, by number, with their paths below `parent`; where there are any, `directory` is not used.
    pub named: BTreeMap<u64, String>,
    /// Missing files that the user named are created when they are written.
    pub create: bool,
    /// Instances of libgfapi that all workers share, at least 1.
    pub clients: u32,
    /// Files that each worker keeps open.
    pub open_files: u32,
    /// Open files with `O_DIRECT`, which passes the caches of the volume's clients, as its options say.
    pub direct: bool,
    /// A commit is an fdatasync instead of an fsync.
    pub fdatasync: bool,
    /// The file of libgfapi, if not the system's.
    pub library: Option<PathBuf>,
}

impl GlusterConfig {
    /// A directory of this name in the root of a volume, with default settings.
    pub fn new(host: impl Into<String>, volume: impl Into<String>, directory: impl Into<String>) -> Self {
        Self {
            host: host.into(),
            port: GLUSTERD_PORT,
            volume: volume.into(),
            parent: String::new(),
            directory: directory.into(),
            tree: DirectoryTree::default(),
            named: BTreeMap::new(),
            create: true,
            clients: 1,
            open_files: OPEN_FILES,
            direct: false,
            fdatasync: false,
            library: None,
        }
    }

    /// Rejects settings that would otherwise fail only later.
    pub(super) fn check(&self) -> Result<(), DriverError> {
        let wrong = |what: String| Err(DriverError::new(ErrorKind::Rejected, what));
        if self.volume.is_empty() || self.volume.contains(['/', '\0']) {
            return wrong(format!("volume \"{}\": write the name of a volume", self.volume));
        }
        if self.directory.is_empty()
            || matches!(&*self.directory, "." | "..")
            || self.directory.contains(['/', '\0'])
        {
            return wrong(format!("directory \"{}\": write one name, without /", self.directory));
        }
        let paths = self.named.values().map(|name| self.below_parent(name));
        match paths.chain([self.own_path()]).find(|path| path.len() > MAX_PATH_BYTES || path.contains('\0')) {
            Some(path) => {
                wrong(format!("path \"{path}\": write at most {MAX_PATH_BYTES} bytes, none of them 0"))
            }
            None => Ok(()),
        }
    }

    /// The path of our directory.
    pub(super) fn own_path(&self) -> String {
        self.below_parent(&self.directory)
    }

    /// The path of the directory that holds ours.
    pub(super) fn parent_path(&self) -> String {
        format!("/{}", self.parent.trim_matches('/'))
    }

    fn below_parent(&self, name: &str) -> String {
        let parent = self.parent.trim_matches('/');
        if parent.is_empty() { format!("/{name}") } else { format!("/{parent}/{name}") }
    }

    /// What stands before the name or leaf of every file.
    pub(super) fn prefix(&self) -> Box<[u8]> {
        let path = if self.named.is_empty() { self.own_path() + "/" } else { self.below_parent("") };
        path.into_bytes().into_boxed_slice()
    }

    /// The volume and where it is, for people.
    pub(super) fn location(&self) -> String {
        let port = if self.port == GLUSTERD_PORT { String::new() } else { format!(":{}", self.port) };
        format!("volume {} on {}{port}", self.volume, self.host)
    }

    /// The path of an object's file, for people.
    pub(super) fn shown(&self, object: u64) -> String {
        match self.named.get(&object) {
            Some(name) => self.below_parent(name),
            None => format!("{}/{}", self.own_path(), self.tree.path_of(object).display()),
        }
    }
}

/// A path with a zero byte at its end.
pub(super) struct GlusterPath([u8; PATH_BYTES]);

impl GlusterPath {
    pub(super) const fn empty() -> Self {
        Self([0; PATH_BYTES])
    }

    pub(super) fn as_c(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.0).unwrap_or_default()
    }

    /// Sets it to these parts, which fit.
    pub(super) fn set(&mut self, parts: &[&[u8]]) {
        let mut at = 0;
        for part in parts {
            self.0[at..at + part.len()].copy_from_slice(part);
            at += part.len();
        }
        self.0[at] = 0;
    }

    /// Sets it to the path of an object's file, after a prefix.
    pub(super) fn set_object(&mut self, prefix: &[u8], config: &GlusterConfig, object: u64) {
        self.0[..prefix.len()].copy_from_slice(prefix);
        let rest = &mut self.0[prefix.len()..];
        let len = if config.named.is_empty() {
            write_path(&config.tree, object, rest)
        } else {
            let name = config.named.get(&object).map_or(&[][..], |name| name.as_bytes());
            rest[..name.len()].copy_from_slice(name);
            name.len()
        };
        rest[len] = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::TreeLayout;

    #[test]
    fn paths_follow_from_numbers_or_are_the_users() {
        let flat = GlusterConfig::new("h", "gv", "manometer-x");
        let deep = GlusterConfig {
            parent: "/a/b".to_owned(),
            tree: DirectoryTree::new(1, 16, TreeLayout::Own).unwrap(),
            ..flat.clone()
        };
        let named = GlusterConfig { named: BTreeMap::from([(7, "theirs/c".to_owned())]), ..deep.clone() };
        for (config, object, path) in [
            (flat, 0xab1, "/manometer-x/0000000000000ab1"),
            (deep, 1000, "/a/b/manometer-x/01/00000000000003e8"),
            (named, 7, "/a/b/theirs/c"),
        ] {
            let mut written = GlusterPath::empty();
            written.set_object(&config.prefix(), &config, object);
            assert_eq!(written.as_c().to_str(), Ok(path));
            assert_eq!(config.shown(object), path);
            config.check().unwrap();
        }
    }

    #[test]
    fn what_cannot_be_a_path_is_refused() {
        for directory in ["", "..", "a/b", &"x".repeat(MAX_PATH_BYTES)] {
            assert!(GlusterConfig::new("h", "gv", directory).check().is_err(), "{directory}");
        }
        assert!(GlusterConfig::new("h", "a/b", "x").check().is_err());
    }
}
