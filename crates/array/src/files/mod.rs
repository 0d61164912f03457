//! The array's file systems: in memory, shared by all data addresses.
//!
//! Management creates and removes them by name; the NFS servers read and write them. A file system's lock is held for
//! one operation at a time, at most while one request's payload is copied.

mod access;
mod blocks;
mod clients;
mod content;
mod directory;
mod export;
mod names;
mod node;
mod opening;
mod ranges;
mod slots;
mod space;
mod tree;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use wire::nfs3::{FileHandle, Status, Verifier};

pub use access::Caller;
pub use clients::ClientRange;
pub(crate) use directory::PARENT_COOKIE;
pub use export::{ExportVersion, Exported, Options};
pub use names::{DirectoryEntry, LINK_MAX, Made, NAME_MAX, What};
pub(crate) use slots::Slot;
pub use tree::{FILE_SIZE_MAX, NodeCounts, NodeId, ReadDone, Tree, WriteEffect};

use crate::capacity::Capacity;

/// Why a file system could not be created, changed or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilesError {
    /// The name is taken, perhaps by one that is destroyed but not eradicated.
    #[error("a file system of this name exists")]
    Exists,
    /// No file system has this name.
    #[error("there is no file system of this name")]
    Missing,
    /// It must be destroyed before it is eradicated.
    #[error("the file system is not destroyed")]
    NotDestroyed,
}

/// Space and node counts of a file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpaceUsage {
    /// Space taken, in bytes.
    pub bytes: u64,
    /// How many files, directories and others.
    pub counts: NodeCounts,
}

/// One file system.
#[derive(Debug)]
pub struct FileSystem {
    id: u64,
    tree: Mutex<Tree>,
}

impl FileSystem {
    /// Locks the tree for one operation.
    pub fn lock(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its number, the same as that of its files' handles.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// The handle of a node.
    pub fn handle(&self, node: NodeId) -> FileHandle {
        let mut bytes = [0; HANDLE_BYTES];
        bytes[..8].copy_from_slice(&self.id.to_be_bytes());
        bytes[8..12].copy_from_slice(&node.index.to_be_bytes());
        bytes[12..].copy_from_slice(&node.generation.to_be_bytes());
        FileHandle::new(&bytes).expect("16 bytes are fewer than 64")
    }
}

/// A handle: the file system's number, the node's index and its generation.
const HANDLE_BYTES: usize = 16;

#[derive(Debug)]
struct Listed {
    system: Arc<FileSystem>,
    options: Options,
    destroyed: bool,
}

impl Listed {
    fn serves(&self, version: ExportVersion) -> bool {
        !self.destroyed && self.options.serves(version)
    }
}

#[derive(Debug, Default)]
struct Index {
    by_name: BTreeMap<String, Listed>,
    /// Those that are not destroyed.
    by_id: BTreeMap<u64, Reachable>,
}

/// A file system that can be found by its handles.
#[derive(Debug)]
struct Reachable {
    system: Arc<FileSystem>,
    options: Options,
}

impl Index {
    fn get_mut(&mut self, name: &str) -> Result<&mut Listed, FilesError> {
        self.by_name.get_mut(name).ok_or(FilesError::Missing)
    }

    /// Updates `by_id` after a change to `name`.
    fn refresh(&mut self, name: &str) {
        let Some(listed) = self.by_name.get(name) else { return };
        if !listed.destroyed {
            let (system, options) = (Arc::clone(&listed.system), listed.options.clone());
            self.by_id.insert(listed.system.id, Reachable { system, options });
        } else {
            self.by_id.remove(&listed.system.id);
        }
    }
}

/// All file systems of an array.
#[derive(Debug)]
pub struct Files {
    capacity: Arc<Capacity>,
    index: RwLock<Index>,
    next_id: AtomicU64,
    /// Differs between arrays, so that handles of one are stale in another.
    instance: u64,
    restarts: AtomicU64,
}

impl Files {
    /// No file systems yet; their space comes from `capacity`.
    pub fn new(capacity: Arc<Capacity>) -> Arc<Self> {
        let since = reactor::clock::wall().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Arc::new(Self {
            capacity,
            index: RwLock::default(),
            next_id: AtomicU64::new(1),
            instance: since.as_nanos() as u64,
            restarts: AtomicU64::new(0),
        })
    }

    /// Creates an empty file system.
    ///
    /// # Errors
    /// [`FilesError::Exists`].
    pub fn create(&self, name: &str, options: Options) -> Result<(), FilesError> {
        let mut index = self.write();
        if index.by_name.contains_key(name) {
            return Err(FilesError::Exists);
        }
        let id = self.instance.rotate_left(24).wrapping_add(self.next_id.fetch_add(1, Ordering::Relaxed));
        let mut tree = Tree::new(id, Arc::clone(&self.capacity), self.verifier());
        apply(&mut tree, &options);
        let system = Arc::new(FileSystem { id, tree: Mutex::new(tree) });
        index.by_name.insert(name.to_owned(), Listed { system, options, destroyed: false });
        index.refresh(name);
        Ok(())
    }

    /// Changes how a file system is exported.
    ///
    /// # Errors
    /// [`FilesError::Missing`].
    pub fn set_options(&self, name: &str, options: Options) -> Result<(), FilesError> {
        let mut index = self.write();
        let listed = index.get_mut(name)?;
        apply(&mut listed.system.lock(), &options);
        listed.options = options;
        index.refresh(name);
        Ok(())
    }

    /// Renames a file system.
    ///
    /// # Errors
    /// [`FilesError::Missing`], [`FilesError::Exists`].
    pub fn rename(&self, name: &str, new_name: &str) -> Result<(), FilesError> {
        let mut index = self.write();
        if index.by_name.contains_key(new_name) {
            return Err(FilesError::Exists);
        }
        let listed = index.by_name.remove(name).ok_or(FilesError::Missing)?;
        index.by_name.insert(new_name.to_owned(), listed);
        Ok(())
    }

    /// Destroys a file system: its handles become stale, and its content is kept until it is eradicated.
    ///
    /// # Errors
    /// [`FilesError::Missing`].
    pub fn destroy(&self, name: &str) -> Result<(), FilesError> {
        self.set_destroyed(name, true)
    }

    /// Undoes a destruction.
    ///
    /// # Errors
    /// [`FilesError::Missing`].
    pub fn recover(&self, name: &str) -> Result<(), FilesError> {
        self.set_destroyed(name, false)
    }

    fn set_destroyed(&self, name: &str, destroyed: bool) -> Result<(), FilesError> {
        let mut index = self.write();
        index.get_mut(name)?.destroyed = destroyed;
        index.refresh(name);
        Ok(())
    }

    /// Permanently removes a destroyed file system and its content.
    ///
    /// # Errors
    /// [`FilesError::Missing`], [`FilesError::NotDestroyed`].
    pub fn eradicate(&self, name: &str) -> Result<(), FilesError> {
        let mut index = self.write();
        if !index.get_mut(name)?.destroyed {
            return Err(FilesError::NotDestroyed);
        }
        if let Some(listed) = index.by_name.remove(name) {
            drop(index);
            listed.system.lock().clear();
        }
        Ok(())
    }

    /// The space and node counts of a file system.
    ///
    /// # Errors
    /// [`FilesError::Missing`].
    pub fn usage(&self, name: &str) -> Result<SpaceUsage, FilesError> {
        let system = self.read().by_name.get(name).map(|listed| Arc::clone(&listed.system));
        let system = system.ok_or(FilesError::Missing)?;
        let tree = system.lock();
        Ok(SpaceUsage { bytes: tree.space.used(), counts: tree.counts() })
    }

    /// The file systems that a version exports, in order of name.
    pub fn exports(&self, version: ExportVersion) -> Vec<Exported> {
        let index = self.read();
        let exported = index.by_name.iter().filter(|(_, listed)| listed.serves(version));
        exported
            .map(|(name, listed)| Exported { name: name.clone(), options: listed.options.clone() })
            .collect()
    }

    /// An exported file system by its name.
    pub fn exported(&self, name: &str, version: ExportVersion) -> Option<(Arc<FileSystem>, Options)> {
        let index = self.read();
        let listed = index.by_name.get(name).filter(|listed| listed.serves(version))?;
        Some((Arc::clone(&listed.system), listed.options.clone()))
    }

    /// The file system and the node of a handle, for version 3. The node may no longer exist.
    ///
    /// # Errors
    /// `NFS3ERR_BADHANDLE` for one that no array issued, `NFS3ERR_STALE` when the file system is gone.
    pub fn resolve(&self, handle: &FileHandle) -> Result<(Arc<FileSystem>, NodeId), Status> {
        self.find(handle, |options| if options.nfs_v3 { Ok(()) } else { Err(Status::STALE) })
    }

    /// The same for version 4.1, which has no MOUNT that would have asked whether the client is admitted.
    ///
    /// # Errors
    /// Those of [`Self::resolve`], and `NFS3ERR_ACCES` for a client that is not admitted.
    pub fn resolve_for(
        &self,
        handle: &FileHandle,
        client: IpAddr,
    ) -> Result<(Arc<FileSystem>, NodeId), Status> {
        self.find(handle, |options| match options {
            options if !options.nfs_v4_1 => Err(Status::STALE),
            options if !options.admits(client) => Err(Status::ACCES),
            _ => Ok(()),
        })
    }

    fn find(
        &self,
        handle: &FileHandle,
        admitted: impl FnOnce(&Options) -> Result<(), Status>,
    ) -> Result<(Arc<FileSystem>, NodeId), Status> {
        let bytes: &[u8; HANDLE_BYTES] = handle.as_bytes().try_into().map_err(|_| Status::BADHANDLE)?;
        let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let id = u64::from(word(0)) << 32 | u64::from(word(4));
        let node = NodeId { index: word(8), generation: word(12) };
        let index = self.read();
        let Reachable { system, options } = index.by_id.get(&id).ok_or(Status::STALE)?;
        admitted(options)?;
        Ok((Arc::clone(system), node))
    }

    /// Simulates an array restart: uncommitted data is lost, and the write verifier changes (RFC 1813 section 3.3.21).
    pub fn restart(&self) {
        self.restarts.fetch_add(1, Ordering::Relaxed);
        let verifier = self.verifier();
        let systems: Vec<_> = self.read().by_name.values().map(|listed| Arc::clone(&listed.system)).collect();
        for system in systems {
            system.lock().restart(verifier);
        }
    }

    /// The space shared by the file systems.
    pub fn capacity(&self) -> &Arc<Capacity> {
        &self.capacity
    }

    /// Differs between arrays: nothing that one of them issued is known to another.
    pub(crate) fn instance(&self) -> u64 {
        self.instance
    }

    fn verifier(&self) -> Verifier {
        self.instance.wrapping_add(self.restarts.load(Ordering::Relaxed)).to_be_bytes()
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Index> {
        self.index.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }
}

fn apply(tree: &mut Tree, options: &Options) {
    tree.read_only = options.read_only;
    tree.space.set_limit(options.limit_bytes);
}
