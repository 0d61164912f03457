//! A node: anything that can have a name.

use wire::nfs3::{Attributes, Device, FileType, SetAttributes, SetTime, Time, Verifier, WccAttributes};

use super::access::{self, Caller};
use super::content::Content;
use super::directory::Directory;

/// Type and content of a node.
#[derive(Debug)]
pub(super) enum Body {
    File(Content),
    Directory(Directory),
    Symlink(Box<[u8]>),
    /// A device, socket or pipe: only stored.
    Special(FileType, Device),
}

/// A file, directory, symbolic link or special file.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) body: Body,
    pub(super) mode: u32,
    pub(super) links: u32,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) accessed: Time,
    pub(super) modified: Time,
    pub(super) changed: Time,
    /// The verifier of the EXCLUSIVE create that created it, to recognise a retransmission.
    pub(super) made_by: Option<Verifier>,
}

/// Nominal size of directories and special files, in bytes.
const NOMINAL_SIZE: u64 = 4096;

impl Node {
    /// A new node owned by `caller`.
    pub(super) fn new(body: Body, caller: &Caller, now: Time) -> Self {
        let (mode, links) = match &body {
            Body::File(_) | Body::Special(..) => (0o644, 1),
            Body::Directory(_) => (0o755, 2),
            Body::Symlink(_) => (0o777, 1),
        };
        Self {
            body,
            mode,
            links,
            uid: caller.uid,
            gid: caller.gid,
            accessed: now,
            modified: now,
            changed: now,
            made_by: None,
        }
    }

    pub(super) fn kind(&self) -> FileType {
        match &self.body {
            Body::File(_) => FileType::Regular,
            Body::Directory(_) => FileType::Directory,
            Body::Symlink(_) => FileType::Symlink,
            Body::Special(kind, _) => *kind,
        }
    }

    pub(super) fn size(&self) -> u64 {
        match &self.body {
            Body::File(content) => content.size(),
            Body::Symlink(target) => target.len() as u64,
            Body::Directory(_) => NOMINAL_SIZE,
            Body::Special(..) => 0,
        }
    }

    pub(super) fn attributes(&self, fsid: u64, file_id: u64) -> Attributes {
        Attributes {
            kind: self.kind(),
            mode: self.mode,
            links: self.links,
            uid: self.uid,
            gid: self.gid,
            size: self.size(),
            used: match &self.body {
                Body::File(content) => content.charged(),
                _ => 0,
            },
            device: match &self.body {
                Body::Special(_, device) => *device,
                _ => Device::default(),
            },
            fsid,
            file_id,
            accessed: self.accessed,
            modified: self.modified,
            changed: self.changed,
        }
    }

    pub(super) fn wcc(&self) -> WccAttributes {
        WccAttributes { size: self.size(), modified: self.modified, changed: self.changed }
    }

    /// Whether the caller has all `wanted` permissions.
    pub(super) fn permits(&self, caller: &Caller, wanted: u32) -> bool {
        caller.may(wanted, self.mode, self.uid, self.gid)
    }

    /// Whether the caller may read it: who may execute a file must be able to.
    pub(super) fn lets_read(&self, caller: &Caller) -> bool {
        self.permits(caller, access::READ) || self.permits(caller, access::EXECUTE)
    }

    /// Updates the times after a change to directory entries or file data.
    pub(super) fn touch(&mut self, now: Time) {
        self.modified = now;
        self.changed = now;
    }

    /// Sets all attributes but the size.
    pub(super) fn set(&mut self, wanted: &SetAttributes, now: Time) {
        if let Some(mode) = wanted.mode {
            self.mode = mode & 0o7777;
        }
        self.uid = wanted.uid.unwrap_or(self.uid);
        self.gid = wanted.gid.unwrap_or(self.gid);
        let time = |how, before| match how {
            SetTime::Keep => before,
            SetTime::Server => now,
            SetTime::Client(time) => time,
        };
        self.accessed = time(wanted.accessed, self.accessed);
        self.modified = time(wanted.modified, self.modified);
        self.changed = now;
    }
}
