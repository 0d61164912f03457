//! The tree of one file system: its nodes, and operations on single nodes.

use std::sync::Arc;

use wire::nfs3::{Attributes, SetAttributes, SetTime, Stability, Status, Time, Verifier, WccData};

use super::access::{self, Caller};
use super::content::Content;
use super::directory::Directory;
use super::node::{Body, Node};
use super::space::Space;
use crate::capacity::Capacity;

/// Maximum file size, in bytes.
pub const FILE_SIZE_MAX: u64 = 1 << 62;

/// A node's number. The generation distinguishes successive nodes with the same index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeId {
    /// Index in the tree.
    pub index: u32,
    /// Counts the nodes that have had this index.
    pub generation: u32,
}

impl NodeId {
    /// The file id that clients see.
    pub fn file_id(self) -> u64 {
        u64::from(self.generation) << 32 | (u64::from(self.index) + 1)
    }
}

/// Result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadDone {
    /// Attributes after it.
    pub attributes: Attributes,
    /// Bytes read.
    pub len: usize,
    /// The read reached the file's end.
    pub eof: bool,
}

/// Result of a write or a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteEffect {
    /// Attributes before and after.
    pub attributes: WccData,
    /// Changes when unstable data has been lost.
    pub verifier: Verifier,
}

/// A file system's nodes.
#[derive(Debug)]
pub struct Tree {
    pub(super) fsid: u64,
    places: Vec<Place>,
    free: Vec<u32>,
    pub(super) space: Space,
    pub(super) verifier: Verifier,
    pub(super) read_only: bool,
    pub(super) counts: NodeCounts,
}

/// Number of nodes of each kind, without the root directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeCounts {
    /// Regular files.
    pub files: u64,
    /// Directories below the root.
    pub directories: u64,
    /// Symbolic links, devices, sockets and pipes.
    pub others: u64,
}

#[derive(Debug)]
struct Place {
    generation: u32,
    node: Option<Node>,
}

impl Tree {
    /// An empty file system whose root is writable by everyone.
    pub(super) fn new(fsid: u64, array: Arc<Capacity>, verifier: Verifier) -> Self {
        let mut tree = Self {
            fsid,
            places: Vec::new(),
            free: Vec::new(),
            space: Space::new(array, None),
            verifier,
            read_only: false,
            counts: NodeCounts::default(),
        };
        let mut root = Node::new(Body::Directory(Directory::new(0)), &Caller::root(), now());
        root.mode = 0o777;
        tree.places.push(Place { generation: 1, node: Some(root) });
        tree
    }

    /// The root directory.
    pub fn root(&self) -> NodeId {
        NodeId { index: 0, generation: self.places[0].generation }
    }

    /// Attributes of a node.
    ///
    /// # Errors
    /// `NFS3ERR_STALE`.
    pub fn attributes(&self, id: NodeId) -> Result<Attributes, Status> {
        Ok(self.node(id)?.attributes(self.fsid, id.file_id()))
    }

    /// SETATTR (RFC 1813 section 3.3.2).
    ///
    /// # Errors
    /// As there.
    pub fn set_attributes(
        &mut self,
        id: NodeId,
        caller: &Caller,
        wanted: &SetAttributes,
        guard: Option<Time>,
    ) -> Result<WccData, Status> {
        self.writable()?;
        let node = self.node(id)?;
        let before = node.wcc();
        if guard.is_some_and(|time| time != node.changed) {
            return Err(Status::NOT_SYNC);
        }
        may_set(node, caller, wanted)?;
        self.apply(id, wanted)?;
        self.wcc(id, before)
    }

    /// Sets attributes, including the size, without a permission check.
    pub(super) fn apply(&mut self, id: NodeId, wanted: &SetAttributes) -> Result<(), Status> {
        let now = now();
        let (node, space) = self.node_and_space(id)?;
        if let Some(size) = wanted.size {
            let Body::File(content) = &mut node.body else { return Err(not_a_file(node)) };
            if size > FILE_SIZE_MAX {
                return Err(Status::FBIG);
            }
            content.set_size(size, space);
            node.modified = now;
        }
        node.set(wanted, now);
        Ok(())
    }

    /// ACCESS: which of the requested bits are permitted.
    ///
    /// # Errors
    /// `NFS3ERR_STALE`.
    pub fn access(&self, id: NodeId, caller: &Caller, asked: u32) -> Result<(u32, Attributes), Status> {
        let node = self.node(id)?;
        let directory = matches!(node.body, Body::Directory(_));
        let granted = caller.access(asked, directory, node.mode, node.uid, node.gid);
        Ok((granted, self.attributes(id)?))
    }

    /// READLINK: the target of a symbolic link.
    ///
    /// # Errors
    /// `NFS3ERR_STALE`; `NFS3ERR_INVAL` for anything but a symbolic link.
    pub fn readlink(&self, id: NodeId) -> Result<(&[u8], Attributes), Status> {
        match &self.node(id)?.body {
            Body::Symlink(target) => Ok((target, self.attributes(id)?)),
            _ => Err(Status::INVAL),
        }
    }

    /// READ: copies up to `out.len()` bytes from `offset` into `out`.
    ///
    /// # Errors
    /// As RFC 1813 section 3.3.6.
    pub fn read(
        &mut self,
        id: NodeId,
        caller: &Caller,
        offset: u64,
        out: &mut [u8],
    ) -> Result<ReadDone, Status> {
        let fsid = self.fsid;
        let node = self.node_mut(id)?;
        // The owner may, whatever the mode: the file may have been opened before the mode changed.
        if node.uid != caller.uid && !node.lets_read(caller) {
            return Err(Status::ACCES);
        }
        let Body::File(content) = &node.body else { return Err(not_a_file(node)) };
        let len = content.readable(offset, out.len());
        content.read(offset, &mut out[..len]);
        let eof = offset.saturating_add(len as u64) >= content.size();
        node.accessed = now();
        Ok(ReadDone { attributes: node.attributes(fsid, id.file_id()), len, eof })
    }

    /// A READ of what the file held before its last WRITE, as far as that was kept.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub fn read_old(
        &mut self,
        id: NodeId,
        caller: &Caller,
        offset: u64,
        out: &mut [u8],
    ) -> Result<ReadDone, Status> {
        let now = self.read(id, caller, offset, out)?;
        let node = self.node_mut(id)?;
        let Body::File(content) = &node.body else { return Err(not_a_file(node)) };
        let Some((len, eof)) = content.restore_old(offset, out) else { return Ok(now) };
        Ok(ReadDone { len, eof, ..now })
    }

    /// Keeps what a WRITE to this range is about to replace.
    pub fn keep_old(&mut self, id: NodeId, offset: u64, len: usize) {
        if let Ok(Node { body: Body::File(content), .. }) = self.node_mut(id) {
            content.keep_old(offset, len);
        }
    }

    /// WRITE.
    ///
    /// # Errors
    /// As RFC 1813 section 3.3.7; nothing is written then.
    pub fn write(
        &mut self,
        id: NodeId,
        caller: &Caller,
        offset: u64,
        data: &[u8],
        stability: Stability,
    ) -> Result<WriteEffect, Status> {
        self.writable()?;
        let (fsid, verifier) = (self.fsid, self.verifier);
        let (node, space) = self.node_and_space(id)?;
        if node.uid != caller.uid && !node.permits(caller, access::WRITE) {
            return Err(Status::ACCES);
        }
        let before = node.wcc();
        let Body::File(content) = &mut node.body else { return Err(not_a_file(node)) };
        if offset.checked_add(data.len() as u64).is_none_or(|end| end > FILE_SIZE_MAX) {
            return Err(Status::FBIG);
        }
        let stable = stability != Stability::Unstable;
        content.write(offset, data, stable, space).map_err(|_| Status::NOSPC)?;
        node.touch(now());
        let after = node.attributes(fsid, id.file_id());
        Ok(WriteEffect { attributes: WccData { before: Some(before), after: Some(after) }, verifier })
    }

    /// COMMIT: makes everything written so far stable.
    ///
    /// # Errors
    /// `NFS3ERR_STALE`; `NFS3ERR_INVAL` for anything but a file.
    pub fn commit(&mut self, id: NodeId) -> Result<WriteEffect, Status> {
        let (fsid, verifier) = (self.fsid, self.verifier);
        let node = self.node_mut(id)?;
        let before = node.wcc();
        let Body::File(content) = &mut node.body else { return Err(not_a_file(node)) };
        content.commit();
        let after = node.attributes(fsid, id.file_id());
        Ok(WriteEffect { attributes: WccData { before: Some(before), after: Some(after) }, verifier })
    }

    /// Total bytes of the file system, and how many are free.
    pub fn total_and_free_bytes(&self) -> (u64, u64) {
        self.space.total_and_free()
    }

    /// The number of nodes.
    pub fn counts(&self) -> NodeCounts {
        self.counts
    }

    /// Simulates a server restart: unstable data is lost, and the verifier changes.
    pub(super) fn restart(&mut self, verifier: Verifier) {
        self.verifier = verifier;
        let space = &mut self.space;
        for node in self.places.iter_mut().filter_map(|place| place.node.as_mut()) {
            if let Body::File(content) = &mut node.body {
                content.restart(space);
            }
        }
    }

    /// Removes everything; all handles become stale.
    pub(super) fn clear(&mut self) {
        for place in &mut self.places {
            if let Some(Node { body: Body::File(content), .. }) = &mut place.node {
                content.set_size(0, &mut self.space);
            }
            place.node = None;
        }
        self.counts = NodeCounts::default();
    }

    /// Fails with `NFS3ERR_ROFS` on a read-only file system.
    pub(super) fn writable(&self) -> Result<(), Status> {
        if self.read_only { Err(Status::ROFS) } else { Ok(()) }
    }

    /// The given attributes from before, and the current ones.
    pub(super) fn wcc(&self, id: NodeId, before: wire::nfs3::WccAttributes) -> Result<WccData, Status> {
        Ok(WccData { before: Some(before), after: Some(self.attributes(id)?) })
    }

    pub(super) fn node(&self, id: NodeId) -> Result<&Node, Status> {
        let place = self.places.get(id.index as usize).filter(|place| place.generation == id.generation);
        place.and_then(|place| place.node.as_ref()).ok_or(Status::STALE)
    }

    pub(super) fn node_mut(&mut self, id: NodeId) -> Result<&mut Node, Status> {
        self.node_and_space(id).map(|(node, _)| node)
    }

    fn node_and_space(&mut self, id: NodeId) -> Result<(&mut Node, &mut Space), Status> {
        let place = self.places.get_mut(id.index as usize).filter(|place| place.generation == id.generation);
        let node = place.and_then(|place| place.node.as_mut()).ok_or(Status::STALE)?;
        Ok((node, &mut self.space))
    }

    /// The number of the node that currently has this index.
    pub(super) fn id_at(&self, index: u32) -> NodeId {
        NodeId { index, generation: self.places[index as usize].generation }
    }

    /// Adds a node to the tree, without a name so far.
    pub(super) fn add(&mut self, node: Node) -> Result<NodeId, Status> {
        *self.counts.of(&node) += 1;
        if let Some(index) = self.free.pop() {
            self.places[index as usize].node = Some(node);
            return Ok(self.id_at(index));
        }
        let index = u32::try_from(self.places.len()).map_err(|_| Status::NOSPC)?;
        self.places.push(Place { generation: 1, node: Some(node) });
        Ok(self.id_at(index))
    }

    /// Removes a node without a name from the tree.
    pub(super) fn drop_node(&mut self, id: NodeId) {
        let place = &mut self.places[id.index as usize];
        let Some(mut node) = place.node.take() else { return };
        place.generation = place.generation.wrapping_add(1);
        if let Body::File(content) = &mut node.body {
            content.set_size(0, &mut self.space);
        }
        *self.counts.of(&node) -= 1;
        self.free.push(id.index);
    }
}

impl NodeCounts {
    fn of(&mut self, node: &Node) -> &mut u64 {
        match node.body {
            Body::File(_) => &mut self.files,
            Body::Directory(_) => &mut self.directories,
            Body::Symlink(_) | Body::Special(..) => &mut self.others,
        }
    }
}

/// Whether the caller may set these attributes of this node.
pub(super) fn may_set(node: &Node, caller: &Caller, wanted: &SetAttributes) -> Result<(), Status> {
    if caller.uid == 0 {
        return Ok(());
    }
    let owner = caller.uid == node.uid;
    let gives_away = wanted.uid.is_some_and(|uid| uid != node.uid);
    let names_time =
        matches!(wanted.accessed, SetTime::Client(_)) || matches!(wanted.modified, SetTime::Client(_));
    if gives_away || (!owner && (wanted.mode.is_some() || wanted.gid.is_some() || names_time)) {
        return Err(Status::PERM);
    }
    let touches =
        wanted.size.is_some() || wanted.accessed != SetTime::Keep || wanted.modified != SetTime::Keep;
    if touches && !owner && !node.permits(caller, access::WRITE) {
        return Err(Status::ACCES);
    }
    Ok(())
}

/// The error for reading or writing something that is not a regular file.
fn not_a_file(node: &Node) -> Status {
    if matches!(node.body, Body::Directory(_)) { Status::ISDIR } else { Status::INVAL }
}

/// An empty regular file.
pub(super) fn empty_file() -> Body {
    Body::File(Content::default())
}

/// The wall-clock time in NFS form.
pub(super) fn now() -> Time {
    let since = reactor::clock::wall().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Time { seconds: since.as_secs() as u32, nanoseconds: since.subsec_nanos() }
}
