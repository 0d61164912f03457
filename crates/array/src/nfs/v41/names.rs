//! CREATE, REMOVE, RENAME and LINK.

use std::sync::Arc;

use wire::nfs3::{FileType, Name, WccData};
use wire::nfs4::{ChangeInfo, Create4Args, Create4Ok, CreateWhat, Nfs4Status, Rename4Args, RenameOk};

use super::attributes::{change, wanted};
use super::compound::Run;
use super::place::{Place, kind};
use super::{directory, name, status};
use crate::files::{FileSystem, NodeId, Tree, What};
use crate::nfs::service::Execution;

/// A directory's change, of an operation under its file system's lock.
pub(super) fn changed(directory: &WccData) -> ChangeInfo {
    ChangeInfo {
        atomic: true,
        before: directory.before.map_or(0, |before| change(before.changed)),
        after: directory.after.map_or(0, |after| change(after.changed)),
    }
}

/// That of a directory or a file which an operation did not change.
pub(super) fn unchanged(tree: &Tree, node: NodeId) -> Result<ChangeInfo, Nfs4Status> {
    let now = change(tree.attributes(node).map_err(status)?.changed);
    Ok(ChangeInfo { atomic: true, before: now, after: now })
}

impl Run<'_> {
    /// CREATE, which makes anything but a regular file; that becomes the current one.
    pub(super) fn create(&mut self, args: &Create4Args<'_>) -> Result<Create4Ok, Nfs4Status> {
        let (system, parent, name) = self.change(args.name)?;
        let system = Arc::clone(system);
        let what = match args.what {
            CreateWhat::Directory => What::Directory,
            CreateWhat::Symlink(target) => What::Symlink(target.0),
            CreateWhat::Block(device) => What::Special(FileType::Block, device),
            CreateWhat::Character(device) => What::Special(FileType::Character, device),
            CreateWhat::Socket => What::Special(FileType::Socket, Default::default()),
            CreateWhat::Fifo => What::Special(FileType::Fifo, Default::default()),
        };
        let wanted = wanted(&args.attributes)?;
        if wanted.size.is_some() {
            return Err(Nfs4Status::INVAL);
        }
        let mut tree = system.lock();
        directory(kind(&tree, parent)?)?;
        let made = tree.make(parent, self.caller, name, what, &wanted).map_err(status)?;
        drop(tree);
        (self.current, self.state) = (Some(Place::Node(system, made.node)), None);
        Ok(Create4Ok { directory: changed(&made.directory), set: args.attributes.mask })
    }

    pub(super) fn remove(&self, given: Name<'_>) -> Result<ChangeInfo, Nfs4Status> {
        let (system, parent, name) = self.change(given)?;
        let mut tree = system.lock();
        directory(kind(&tree, parent)?)?;
        let found = tree.lookup(parent, self.caller, name).map_err(status)?;
        let is_directory = kind(&tree, found)? == FileType::Directory;
        Ok(changed(&tree.remove(parent, self.caller, name, is_directory).map_err(status)?))
    }

    /// The saved and the current file, which must be in the same file system.
    fn both(&self) -> Result<(&Arc<FileSystem>, NodeId, NodeId), Nfs4Status> {
        let (to, to_node) = self.node(Nfs4Status::ROFS)?;
        match self.saved.as_ref().ok_or(Nfs4Status::NOFILEHANDLE)? {
            (Place::Root, _) => Err(Nfs4Status::ROFS),
            (Place::Node(from, from_node), _) if Arc::ptr_eq(from, to) => Ok((to, *from_node, to_node)),
            (Place::Node(..), _) => Err(Nfs4Status::XDEV),
        }
    }

    pub(super) fn rename(&self, args: &Rename4Args<'_>) -> Result<RenameOk, Nfs4Status> {
        let (system, from, to) = self.both()?;
        let (old, new) = (name(args.from)?, name(args.to)?);
        let mut tree = system.lock();
        directory(kind(&tree, from)?)?;
        directory(kind(&tree, to)?)?;
        if self.execution == Execution::Unfaithful {
            tree.lookup(from, self.caller, old).map_err(status)?;
            return Ok(RenameOk { from: unchanged(&tree, from)?, to: unchanged(&tree, to)? });
        }
        let (from, to) = tree.rename(self.caller, (from, old), (to, new)).map_err(status)?;
        Ok(RenameOk { from: changed(&from), to: changed(&to) })
    }

    /// LINK: the saved file gets a name in the current directory.
    pub(super) fn link(&self, given: Name<'_>) -> Result<ChangeInfo, Nfs4Status> {
        let (system, file, parent) = self.both()?;
        let name = name(given)?;
        let mut tree = system.lock();
        directory(kind(&tree, parent)?)?;
        if kind(&tree, file)? == FileType::Directory {
            return Err(Nfs4Status::ISDIR);
        }
        Ok(changed(&tree.link(file, self.caller, parent, name).map_err(status)?.directory))
    }
}
