//! The current and the saved file (RFC 8881 section 16.2.3.1).

use std::sync::Arc;

use wire::nfs3::{FileHandle, FileType, Name};
use wire::nfs4::{Flavors, Handle, Nfs4Status, SecurityOf, StateId};

use super::compound::Run;
use super::state::FileKey;
use super::{directory, name, status};
use crate::files::{ExportVersion, FileSystem, NodeId, Tree};

/// The root directory of the server, or a file.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// The directory of all exports.
    Root,
    Node(Arc<FileSystem>, NodeId),
}

/// The handle of the server's root: as long as those of files, but with a file system's number that none has.
const ROOT_HANDLE: [u8; 16] = *b"\0\0\0\0\0\0\0\0root\0\0\0\0";

impl Place {
    pub(super) fn handle(&self) -> FileHandle {
        match self {
            Self::Root => FileHandle::new(&ROOT_HANDLE).expect("16 bytes are fewer than 128"),
            Self::Node(system, node) => system.handle(*node),
        }
    }
}

impl Run<'_> {
    /// The current file.
    pub(super) fn current(&self) -> Result<&Place, Nfs4Status> {
        self.current.as_ref().ok_or(Nfs4Status::NOFILEHANDLE)
    }

    /// The current file of an operation that the root of the server does not have, which has this status instead.
    pub(super) fn node(&self, at_root: Nfs4Status) -> Result<(&Arc<FileSystem>, NodeId), Nfs4Status> {
        match self.current()? {
            Place::Root => Err(at_root),
            Place::Node(system, node) => Ok((system, *node)),
        }
    }

    /// The current file if it holds data.
    pub(super) fn data(&self) -> Result<(&Arc<FileSystem>, NodeId, FileKey), Nfs4Status> {
        let (system, node) = self.node(Nfs4Status::ISDIR)?;
        Ok((system, node, FileKey { system: system.id(), node }))
    }

    /// The current file if it is a directory, and a name in it that is to be changed.
    pub(super) fn change<'n>(
        &self,
        given: Name<'n>,
    ) -> Result<(&Arc<FileSystem>, NodeId, &'n [u8]), Nfs4Status> {
        let (system, node) = self.node(Nfs4Status::ROFS)?;
        Ok((system, node, name(given)?))
    }

    fn enter(&mut self, place: Place) {
        self.current = Some(place);
        self.state = None;
    }

    pub(super) fn put_root(&mut self) -> Result<(), Nfs4Status> {
        self.enter(Place::Root);
        Ok(())
    }

    pub(super) fn put(&mut self, Handle(file): &Handle) -> Result<(), Nfs4Status> {
        let place = if file.as_bytes() == ROOT_HANDLE {
            Place::Root
        } else {
            let (system, node) = self.service.files.resolve_for(file, self.peer).map_err(status)?;
            Place::Node(system, node)
        };
        self.enter(place);
        Ok(())
    }

    pub(super) fn handle(&self) -> Result<Handle, Nfs4Status> {
        Ok(Handle(self.current()?.handle()))
    }

    pub(super) fn save(&mut self) -> Result<(), Nfs4Status> {
        self.saved = Some((self.current()?.clone(), self.state));
        Ok(())
    }

    pub(super) fn restore(&mut self) -> Result<(), Nfs4Status> {
        let (place, state) = self.saved.clone().ok_or(Nfs4Status::RESTOREFH)?;
        (self.current, self.state) = (Some(place), state);
        Ok(())
    }

    pub(super) fn look_up(&mut self, given: Name<'_>) -> Result<(), Nfs4Status> {
        let found = self.found(given)?;
        self.enter(found);
        Ok(())
    }

    fn found(&self, given: Name<'_>) -> Result<Place, Nfs4Status> {
        match self.current()? {
            Place::Root => {
                let exported = std::str::from_utf8(name(given)?).ok();
                let exported =
                    exported.and_then(|name| self.service.files.exported(name, ExportVersion::V4_1));
                let (system, options) = exported.ok_or(Nfs4Status::NOENT)?;
                if !options.admits(self.peer) {
                    return Err(Nfs4Status::ACCESS);
                }
                let root = system.lock().root();
                Ok(Place::Node(system, root))
            }
            Place::Node(system, node) => {
                let tree = system.lock();
                directory(kind(&tree, *node)?)?;
                let found = tree.lookup(*node, self.caller, name(given)?).map_err(status)?;
                Ok(Place::Node(Arc::clone(system), found))
            }
        }
    }

    pub(super) fn look_up_parent(&mut self) -> Result<(), Nfs4Status> {
        let parent = self.parent()?;
        self.enter(parent);
        Ok(())
    }

    fn parent(&self) -> Result<Place, Nfs4Status> {
        let Place::Node(system, node) = self.current()? else { return Err(Nfs4Status::NOENT) };
        let tree = system.lock();
        directory(kind(&tree, *node)?)?;
        if *node == tree.root() {
            return Ok(Place::Root);
        }
        let parent = tree.lookup(*node, self.caller, b"..").map_err(status)?;
        Ok(Place::Node(Arc::clone(system), parent))
    }

    /// SECINFO: any credential is accepted, and one that is not `AUTH_SYS` is nobody's.
    pub(super) fn security(&mut self, given: Name<'_>) -> Result<Flavors, Nfs4Status> {
        self.found(given)?;
        self.current = None;
        Ok(FLAVORS)
    }

    /// SECINFO_NO_NAME.
    pub(super) fn security_without_name(&mut self, of: SecurityOf) -> Result<Flavors, Nfs4Status> {
        match of {
            SecurityOf::Current => self.current().map(drop)?,
            SecurityOf::Parent => self.parent().map(drop)?,
        }
        self.current = None;
        Ok(FLAVORS)
    }

    /// A stateid that may stand for the current one.
    pub(super) fn stated(&self, state: StateId) -> Result<StateId, Nfs4Status> {
        match state {
            StateId::CURRENT => self.state.ok_or(Nfs4Status::BAD_STATEID),
            state => Ok(state),
        }
    }
}

const FLAVORS: Flavors = Flavors { none: true, sys: true };

/// The type of a node.
pub(super) fn kind(tree: &Tree, node: NodeId) -> Result<FileType, Nfs4Status> {
    tree.kind(node).map_err(status)
}
