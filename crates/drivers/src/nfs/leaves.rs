//! The directories of the tree that files with numbers are spread over, and their handles.

use std::cell::RefCell;

use wire::nfs3::FileHandle;

use super::operation::{Fault, Operation};
use crate::tree::DirectoryTree;

/// The tree below our directory, and the handles of its directories seen so far: about 64 bytes each.
pub(super) struct Leaves {
    pub(super) tree: DirectoryTree,
    /// By the number of the directory. A server's handles have only a part of the length that is possible.
    handles: RefCell<Vec<Option<Box<[u8]>>>>,
}

impl Leaves {
    pub(super) fn new(tree: DirectoryTree) -> Self {
        Self { tree, handles: RefCell::new(vec![None; tree.all_directories() as usize]) }
    }

    #[inline]
    fn get(&self, number: u32) -> Option<FileHandle> {
        self.handles.borrow()[number as usize].as_deref().and_then(FileHandle::new)
    }

    fn insert(&self, number: u32, handle: FileHandle) {
        self.handles.borrow_mut()[number as usize] = Some(handle.as_bytes().into());
    }

    /// Forgets all: one of them may be stale.
    pub(super) fn forget(&self) {
        self.handles.borrow_mut().fill(None);
    }
}

impl Operation<'_> {
    /// The directory that holds the file of an object with this number.
    #[inline]
    pub(super) async fn directory_of(&mut self, object: u64) -> Result<FileHandle, Fault> {
        self.leaf(self.session.leaves.tree.leaf_of(object)).await
    }

    /// A leaf of the tree; our directory if there is none.
    #[inline]
    pub(super) async fn leaf(&mut self, leaf: u32) -> Result<FileHandle, Fault> {
        let Leaves { tree, .. } = &self.session.leaves;
        if tree.is_flat() {
            return self.own_directory().await;
        }
        let known = match self.session.walk {
            None => self.session.leaves.get(tree.number_of_leaf(leaf)),
            Some(_) => None,
        };
        match known {
            Some(handle) => Ok(handle),
            None => self.walk_to(leaf).await,
        }
    }

    /// Looks up each level of the path to a leaf, but those whose handles are known.
    #[cold]
    async fn walk_to(&mut self, leaf: u32) -> Result<FileHandle, Fault> {
        let session = self.session;
        let keeps = session.walk.is_none();
        let mut handle = self.own_directory().await?;
        for (name, number) in session.leaves.tree.way_to(leaf) {
            handle = match session.leaves.get(number).filter(|_| keeps) {
                Some(known) => known,
                None => self.find(handle, &name).await?.file,
            };
            if keeps {
                session.leaves.insert(number, handle);
            }
        }
        Ok(handle)
    }
}
