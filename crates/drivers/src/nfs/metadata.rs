//! Operations on names and attributes: those that are one call once handles are known.

use reactor::{DIRECTORY_MODE, FILE_MODE};
use wire::nfs3::{
    AccessArgs, DirArgs, FileHandle, LinkArgs, MkdirArgs, Name, Path, RenameArgs, SetAttributes, SetattrArgs,
    Status, SymlinkArgs,
};

use super::calls::{Access, Call, Link, Mkdir, Readlink, Rename, Rmdir, Setattr, Symlink};
use super::lane::{LanePath, name_of};
use super::named::FileName;
use super::operation::{Fault, Operation};
use super::session::NfsSession;
use crate::Op;
use crate::tree::{DirectoryTree, MAX_DEPTH, MAX_LEAF_LEN};

/// What an access asks for, as a client does before it opens a file for reading and writing.
const READ_AND_WRITE: u32 = AccessArgs::READ | AccessArgs::MODIFY | AccessArgs::EXTEND;

/// Maximum length of a symbolic link's text: up to our directory, down to a leaf, and a name.
const MAX_TARGET_LEN: usize = MAX_DEPTH as usize * UP.len() + MAX_LEAF_LEN + 16;
const UP: &[u8; 3] = b"../";

/// Writes the text of a symbolic link to an object's file, which is relative to the link's own directory; returns its
/// length.
fn write_target(tree: &DirectoryTree, object: u64, buffer: &mut [u8; MAX_TARGET_LEN]) -> usize {
    let up = tree.depth() as usize * UP.len();
    buffer[..up].as_chunks_mut().0.fill(*UP);
    let at = up + tree.write_leaf(tree.leaf_of(object), &mut buffer[up..]);
    buffer[at..at + 16].copy_from_slice(&name_of(object));
    at + 16
}

/// The text of a symbolic link at this path to the operation's second file, relative to the link's own directory.
fn named_target<'s>(session: &'s NfsSession, op: &Op, link: &str) -> LanePath<'s> {
    let mut path = LanePath::take(&session.lanes[op.lane as usize].other_path);
    if let Some(named) = &session.named {
        named.write_path(op.other, &mut path.text);
    }
    for _ in link.matches('/') {
        path.text.insert_str(0, "../");
    }
    path
}

impl Operation<'_> {
    pub(super) async fn access(&mut self) -> Result<(), Fault> {
        let access = if self.session.may_write() { READ_AND_WRITE } else { AccessArgs::READ };
        let arguments = AccessArgs { file: self.open().await?.file, access };
        self.call(Access, &arguments).await
    }

    /// Sets the permissions of new files, so that a file stays readable and writable; in a pass, those that it names.
    pub(super) async fn chmod(&mut self) -> Result<(), Fault> {
        let mode = self.tree().map_or(FILE_MODE, |tree| tree.mode);
        let attributes = SetAttributes { mode: Some(mode), ..SetAttributes::default() };
        self.set_attributes(attributes).await.map(drop)
    }

    pub(super) async fn truncate(&mut self) -> Result<(), Fault> {
        self.set_size(self.op.len).await.map(drop)
    }

    /// Sets the size of the operation's file; returns its handle.
    pub(super) async fn set_size(&mut self, bytes: u64) -> Result<FileHandle, Fault> {
        let attributes = SetAttributes { size: Some(bytes), ..SetAttributes::default() };
        self.set_attributes(attributes).await
    }

    async fn set_attributes(&mut self, attributes: SetAttributes) -> Result<FileHandle, Fault> {
        let file = self.open().await?.file;
        let arguments = SetattrArgs { file, attributes, guard: None };
        self.call(Setattr, &arguments).await.map(|()| file)
    }

    pub(super) async fn rename(&mut self) -> Result<(), Fault> {
        let from = self.place().await?;
        let to = self.other_place(&from).await?;
        let from = DirArgs { directory: from.0, name: Name(from.1.as_bytes()) };
        let to = DirArgs { directory: to.0, name: Name(to.1.as_bytes()) };
        let known = {
            let mut handles = self.session.handles.borrow_mut();
            let known = handles.get(self.op.object).copied();
            handles.forget(self.op.object);
            handles.forget(self.op.other);
            known
        };
        let arguments = RenameArgs { from, to };
        // Renamed by an earlier transmission, whose reply was lost.
        self.once(Rename, &arguments, Status::NOENT).await?;
        if let Some(file) = known {
            self.session.handles.borrow_mut().insert(self.op.other, file);
        }
        Ok(())
    }

    pub(super) async fn link(&mut self) -> Result<(), Fault> {
        let file = self.open().await?.file;
        let (directory, name) = self.place_of(self.op.other).await?;
        let arguments = LinkArgs { file, link: DirArgs { directory, name: Name(name.as_bytes()) } };
        self.once(Link, &arguments, Status::EXIST).await
    }

    pub(super) async fn symlink(&mut self) -> Result<(), Fault> {
        let (directory, name) = self.place().await?;
        let place = DirArgs { directory, name: Name(name.as_bytes()) };
        let (mut numbered, tree) = ([0; MAX_TARGET_LEN], &self.session.leaves.tree);
        let named;
        let target = match &name {
            FileName::Numbered(_) => {
                let len = write_target(tree, self.op.other, &mut numbered);
                Path(&numbered[..len])
            }
            FileName::Named(link, _) => {
                named = named_target(self.session, self.op, &link.text);
                Path(named.text.as_bytes())
            }
        };
        let arguments = SymlinkArgs { place, attributes: SetAttributes::default(), target };
        self.once(Symlink, &arguments, Status::EXIST).await
    }

    pub(super) async fn readlink(&mut self) -> Result<(), Fault> {
        let file = self.open().await?.file;
        self.call(Readlink, &file).await
    }

    pub(super) async fn mkdir(&mut self) -> Result<(), Fault> {
        let (directory, name) = self.place().await?;
        let place = DirArgs { directory, name: Name(name.as_bytes()) };
        let attributes = SetAttributes { mode: Some(DIRECTORY_MODE), ..SetAttributes::default() };
        self.once(Mkdir, &MkdirArgs { place, attributes }, Status::EXIST).await
    }

    pub(super) async fn rmdir(&mut self) -> Result<(), Fault> {
        let (directory, name) = self.place().await?;
        let place = DirArgs { directory, name: Name(name.as_bytes()) };
        self.once(Rmdir, &place, Status::NOENT).await
    }

    /// Makes a call that a server without memory of its replies may execute twice: if it was transmitted more than
    /// once and ends with `done`, an earlier transmission succeeded.
    pub(super) async fn once<C: Call<Reply = ()>>(
        &mut self,
        call: C,
        arguments: &C::Arguments<'_>,
        done: Status,
    ) -> Result<(), Fault> {
        match self.call(call, arguments).await {
            Err(fault) if !(fault.repeated && fault.status == Some(done)) => Err(fault),
            _ => Ok(()),
        }
    }
}
