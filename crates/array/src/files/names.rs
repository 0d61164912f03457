//! Operations on names: look up, create, remove, rename, link, list.

use wire::nfs3::{Attributes, CreateHow, SetAttributes, Status, Verifier, WccAttributes, WccData};

use super::access::{self, Caller};
use super::directory::{Directory, PARENT_COOKIE, SELF_COOKIE};
use super::node::{Body, Node};
use super::tree::{NodeId, Tree, empty_file, may_set, now};

/// Maximum length of a name, in bytes.
pub const NAME_MAX: usize = 255;
/// Maximum hard links of a file.
pub const LINK_MAX: u32 = 32_000;

/// A node that was created, or found to exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// Its number.
    pub node: NodeId,
    /// Its attributes.
    pub attributes: Attributes,
    /// The directory, before and after.
    pub directory: WccData,
}

/// What to create.
#[derive(Clone, Copy, Debug)]
pub enum What<'a> {
    /// A directory.
    Directory,
    /// A symbolic link to this.
    Symlink(&'a [u8]),
    /// A device, socket or pipe.
    Special(wire::nfs3::FileType, wire::nfs3::Device),
}

/// An entry of a listing.
#[derive(Clone, Copy, Debug)]
pub struct DirectoryEntry<'a> {
    /// Node of this entry.
    pub node: NodeId,
    /// The name.
    pub name: &'a [u8],
    /// Position of the next entry.
    pub cookie: u64,
    /// The node's attributes.
    pub attributes: Option<Attributes>,
}

impl Tree {
    /// LOOKUP: the node with a name.
    ///
    /// # Errors
    /// As RFC 1813 section 3.3.3.
    pub fn lookup(&self, directory: NodeId, caller: &Caller, name: &[u8]) -> Result<NodeId, Status> {
        let entries = self.directory(directory, caller, access::EXECUTE)?;
        let index = match name {
            b"." => directory.index,
            b".." => entries.parent,
            _ if name.len() > NAME_MAX => return Err(Status::NAMETOOLONG),
            _ => entries.get(name).ok_or(Status::NOENT)?,
        };
        Ok(self.id_at(index))
    }

    /// CREATE in its three modes (RFC 1813 section 3.3.8).
    ///
    /// # Errors
    /// As there.
    pub fn create(
        &mut self,
        directory: NodeId,
        caller: &Caller,
        name: &[u8],
        how: &CreateHow,
    ) -> Result<Made, Status> {
        let found = match self.lookup(directory, caller, name) {
            Ok(found) => found,
            Err(Status::NOENT) => return self.create_new(directory, caller, name, how),
            Err(status) => return Err(status),
        };
        self.writable()?;
        let before = self.node(directory)?.wcc();
        let node = self.node(found)?;
        match how {
            CreateHow::Guarded(_) => return Err(Status::EXIST),
            CreateHow::Exclusive(verifier) if node.made_by != Some(*verifier) => return Err(Status::EXIST),
            CreateHow::Exclusive(_) => {}
            CreateHow::Unchecked(wanted) => {
                if !matches!(node.body, Body::File(_)) {
                    return Err(Status::EXIST);
                }
                // For an existing file only the size is set, as with O_CREAT | O_TRUNC.
                if wanted.size.is_some() {
                    let size_only = SetAttributes { size: wanted.size, ..SetAttributes::default() };
                    may_set(node, caller, &size_only)?;
                    self.apply(found, &size_only)?;
                }
            }
        }
        self.made(found, directory, before)
    }

    fn create_new(
        &mut self,
        directory: NodeId,
        caller: &Caller,
        name: &[u8],
        how: &CreateHow,
    ) -> Result<Made, Status> {
        let mut node = Node::new(empty_file(), caller, now());
        let wanted = match how {
            CreateHow::Unchecked(wanted) | CreateHow::Guarded(wanted) => *wanted,
            CreateHow::Exclusive(verifier) => {
                node.made_by = Some(*verifier);
                SetAttributes::default()
            }
        };
        self.place(directory, caller, name, node, &wanted)
    }

    /// MKDIR, SYMLINK and MKNOD (RFC 1813 sections 3.3.9 to 3.3.11).
    ///
    /// # Errors
    /// As there.
    pub fn make(
        &mut self,
        directory: NodeId,
        caller: &Caller,
        name: &[u8],
        what: What<'_>,
        wanted: &SetAttributes,
    ) -> Result<Made, Status> {
        let body = match what {
            What::Directory => Body::Directory(Directory::new(directory.index)),
            What::Symlink(target) => Body::Symlink(target.into()),
            What::Special(kind, device) => Body::Special(kind, device),
        };
        self.place(directory, caller, name, Node::new(body, caller, now()), wanted)
    }

    /// Gives a new node a name and attributes.
    fn place(
        &mut self,
        directory: NodeId,
        caller: &Caller,
        name: &[u8],
        mut node: Node,
        wanted: &SetAttributes,
    ) -> Result<Made, Status> {
        self.writable()?;
        let entries = self.directory(directory, caller, access::WRITE | access::EXECUTE)?;
        if entries.get(name).is_some() || matches!(name, b"." | b"..") {
            return Err(Status::EXIST);
        }
        valid_name(name)?;
        may_set(&node, caller, wanted)?;
        let time = now();
        let is_directory = matches!(node.body, Body::Directory(_));
        node.set(wanted, time);
        let before = self.node(directory)?.wcc();
        let made = self.add(node)?;
        if let (Some(size), false) = (wanted.size, is_directory) {
            // Other kinds have no size to set; a file rejected because of its size must leave nothing behind.
            let size_only = SetAttributes { size: Some(size), ..SetAttributes::default() };
            if let Err(status) = self.apply(made, &size_only)
                && status != Status::INVAL
            {
                self.drop_node(made);
                return Err(status);
            }
        }
        self.enter(directory, name, made, is_directory)?;
        self.made(made, directory, before)
    }

    fn made(&self, node: NodeId, directory: NodeId, before: WccAttributes) -> Result<Made, Status> {
        Ok(Made { node, attributes: self.attributes(node)?, directory: self.wcc(directory, before)? })
    }

    /// REMOVE and RMDIR: removes the name of a directory, or of something else.
    ///
    /// # Errors
    /// As RFC 1813 sections 3.3.12 and 3.3.13.
    pub fn remove(
        &mut self,
        directory: NodeId,
        caller: &Caller,
        name: &[u8],
        is_directory: bool,
    ) -> Result<WccData, Status> {
        self.writable()?;
        let entries = self.directory(directory, caller, access::WRITE | access::EXECUTE)?;
        if matches!(name, b"." | b"..") {
            return Err(if is_directory && name == b".." { Status::EXIST } else { Status::INVAL });
        }
        let found = self.id_at(entries.get(name).ok_or(Status::NOENT)?);
        match (&self.node(found)?.body, is_directory) {
            (Body::Directory(_), false) => return Err(Status::ISDIR),
            (Body::Directory(entries), true) if !entries.is_empty() => return Err(Status::NOTEMPTY),
            (Body::Directory(_), true) | (_, false) => {}
            (_, true) => return Err(Status::NOTDIR),
        }
        let before = self.node(directory)?.wcc();
        self.leave(directory, name, is_directory)?;
        self.unlink(found, is_directory);
        self.wcc(directory, before)
    }

    /// RENAME (RFC 1813 section 3.3.14); returns the two directories before and after.
    ///
    /// # Errors
    /// As there.
    pub fn rename(
        &mut self,
        caller: &Caller,
        (from, old): (NodeId, &[u8]),
        (to, new): (NodeId, &[u8]),
    ) -> Result<(WccData, WccData), Status> {
        self.writable()?;
        let both = access::WRITE | access::EXECUTE;
        let moved = self.directory(from, caller, both)?.get(old).ok_or(if matches!(old, b"." | b"..") {
            Status::INVAL
        } else {
            Status::NOENT
        })?;
        let there = self.directory(to, caller, both)?.get(new);
        valid_name(new)?;
        let (before_from, before_to) = (self.node(from)?.wcc(), self.node(to)?.wcc());
        let moved = self.id_at(moved);
        let is_directory = matches!(self.node(moved)?.body, Body::Directory(_));
        // Both names refer to the same file: nothing to do.
        if there != Some(moved.index) {
            if is_directory && self.lies_within(to, moved) {
                return Err(Status::INVAL);
            }
            if let Some(there) = there {
                let there = self.id_at(there);
                match (&self.node(there)?.body, is_directory) {
                    (Body::Directory(_), false)
                    | (Body::File(_) | Body::Symlink(_) | Body::Special(..), true) => {
                        return Err(Status::EXIST);
                    }
                    (Body::Directory(entries), true) if !entries.is_empty() => return Err(Status::NOTEMPTY),
                    _ => {}
                }
                self.leave(to, new, is_directory)?;
                self.unlink(there, is_directory);
            }
            self.leave(from, old, is_directory)?;
            self.enter(to, new, moved, is_directory)?;
            let node = self.node_mut(moved)?;
            node.changed = now();
            if let Body::Directory(entries) = &mut node.body {
                entries.parent = to.index;
            }
        }
        Ok((self.wcc(from, before_from)?, self.wcc(to, before_to)?))
    }

    /// LINK (RFC 1813 section 3.3.15).
    ///
    /// # Errors
    /// As there.
    pub fn link(
        &mut self,
        file: NodeId,
        caller: &Caller,
        directory: NodeId,
        name: &[u8],
    ) -> Result<Made, Status> {
        self.writable()?;
        let node = self.node(file)?;
        if matches!(node.body, Body::Directory(_)) {
            return Err(Status::INVAL);
        }
        if node.links >= LINK_MAX {
            return Err(Status::MLINK);
        }
        let entries = self.directory(directory, caller, access::WRITE | access::EXECUTE)?;
        if entries.get(name).is_some() || matches!(name, b"." | b"..") {
            return Err(Status::EXIST);
        }
        valid_name(name)?;
        let before = self.node(directory)?.wcc();
        self.enter(directory, name, file, false)?;
        let node = self.node_mut(file)?;
        node.links += 1;
        node.changed = now();
        self.made(file, directory, before)
    }

    /// READDIR and READDIRPLUS: passes the entries after `cookie` to `show` until it has no space for another. Returns
    /// whether the end was reached.
    ///
    /// # Errors
    /// As RFC 1813 sections 3.3.16 and 3.3.17.
    pub fn list(
        &self,
        directory: NodeId,
        caller: &Caller,
        cookie: u64,
        verifier: Verifier,
        mut show: impl FnMut(&DirectoryEntry<'_>) -> bool,
    ) -> Result<bool, Status> {
        let entries = self.directory(directory, caller, access::READ)?;
        if cookie != 0 && verifier != self.listing_verifier(directory) {
            return Err(Status::BAD_COOKIE);
        }
        let dots = [
            (SELF_COOKIE, b".".as_slice(), directory.index),
            (PARENT_COOKIE, b"..".as_slice(), entries.parent),
        ];
        let all = dots
            .into_iter()
            .filter(|(own, ..)| *own > cookie)
            .chain(entries.after(cookie.max(PARENT_COOKIE)));
        for (cookie, name, index) in all {
            let node = self.id_at(index);
            if !show(&DirectoryEntry { node, name, cookie, attributes: self.attributes(node).ok() }) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The verifier of a directory's cookies. Cookies stay valid as long as the directory exists.
    pub fn listing_verifier(&self, directory: NodeId) -> Verifier {
        (self.fsid ^ directory.file_id()).to_be_bytes()
    }

    /// A directory for which the caller has all `wanted` permissions.
    fn directory(&self, id: NodeId, caller: &Caller, wanted: u32) -> Result<&Directory, Status> {
        let node = self.node(id)?;
        let Body::Directory(entries) = &node.body else { return Err(Status::NOTDIR) };
        if node.permits(caller, wanted) { Ok(entries) } else { Err(Status::ACCES) }
    }

    /// Adds a name to a directory.
    fn enter(
        &mut self,
        directory: NodeId,
        name: &[u8],
        node: NodeId,
        is_directory: bool,
    ) -> Result<(), Status> {
        let parent = self.node_mut(directory)?;
        let Body::Directory(entries) = &mut parent.body else { return Err(Status::NOTDIR) };
        entries.insert(name, node.index);
        parent.links += u32::from(is_directory);
        parent.touch(now());
        Ok(())
    }

    /// Removes a name from a directory.
    fn leave(&mut self, directory: NodeId, name: &[u8], is_directory: bool) -> Result<(), Status> {
        let parent = self.node_mut(directory)?;
        let Body::Directory(entries) = &mut parent.body else { return Err(Status::NOTDIR) };
        entries.remove(name);
        parent.links -= u32::from(is_directory);
        parent.touch(now());
        Ok(())
    }

    /// Removes one link of this node; with the last one the node is removed.
    fn unlink(&mut self, id: NodeId, is_directory: bool) {
        let Ok(node) = self.node_mut(id) else { return };
        node.links = if is_directory { 0 } else { node.links - 1 };
        node.changed = now();
        if node.links == 0 {
            self.drop_node(id);
        }
    }

    /// Whether `inner` is `outer` or below it.
    fn lies_within(&self, inner: NodeId, outer: NodeId) -> bool {
        let mut at = inner;
        loop {
            if at == outer {
                return true;
            }
            match self.node(at).map(|node| &node.body) {
                Ok(Body::Directory(entries)) if entries.parent != at.index => at = self.id_at(entries.parent),
                _ => return false,
            }
        }
    }
}

fn valid_name(name: &[u8]) -> Result<(), Status> {
    match name {
        b"" | b"." | b".." => Err(Status::INVAL),
        _ if name.len() > NAME_MAX => Err(Status::NAMETOOLONG),
        _ if name.iter().any(|byte| matches!(byte, b'/' | 0)) => Err(Status::INVAL),
        _ => Ok(()),
    }
}
