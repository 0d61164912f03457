//! Files that stay open between two operations (RFC 8881 sections 18.2 and 18.16).
//!
//! An open belongs to an owner, and a second one by the same owner would be merged with the first. Each lane has an owner of
//! its own, so that lanes may open and close the same file independently.

use wire::nfs3::{DirArgs, FileHandle};
use wire::nfs4::{Claim, ClientOwner, CloseArgs, OpArgument, OpenArgs, OpenHow, StateId};
use wire::xdr::Encode;

use super::compound::{CompoundWriter, OPEN_OWNER};

/// The request to open an existing file.
pub(in super::super) struct OpenRequest<'a> {
    pub(in super::super) place: DirArgs<'a>,
    pub(in super::super) lane: u32,
    /// Opens it for writing, too.
    pub(in super::super) write: bool,
}

/// An open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct OpenFile {
    pub(in super::super) file: FileHandle,
    pub(in super::super) state: StateId,
}

impl OpenFile {
    /// The arguments of its CLOSE.
    pub(super) fn closing(&self) -> CloseArgs {
        CloseArgs { sequence: 0, state: self.state }
    }
}

// Outside of a COMPOUND neither has a form of its own.
impl Encode for OpenRequest<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        open_file(self, &mut CompoundWriter::plain(out));
    }
}

impl Encode for OpenFile {
    fn encode(&self, out: &mut Vec<u8>) {
        close_file(self, &mut CompoundWriter::plain(out));
    }
}

const OWNER_BYTES: usize = OPEN_OWNER.0.len() + 4;

/// OPEN of a name that must exist, without a delegation.
pub(in super::super) fn open_file(request: &OpenRequest<'_>, to: &mut CompoundWriter<'_>) {
    let mut owner = [0; OWNER_BYTES];
    let (name, lane) = owner.split_at_mut(OPEN_OWNER.0.len());
    name.copy_from_slice(OPEN_OWNER.0);
    lane.copy_from_slice(&request.lane.to_be_bytes());
    let write = if request.write { OpenArgs::WRITE } else { 0 };
    let open = OpenArgs {
        sequence: 0,
        access: OpenArgs::READ | write | OpenArgs::NO_DELEGATION,
        deny: 0,
        client: 0,
        owner: ClientOwner(&owner),
        how: OpenHow::Existing,
        claim: Claim::Name(request.place.name),
    };
    to.once();
    to.at(request.place.directory, &OpArgument::Open(open));
    to.put(&OpArgument::GetFh(()));
}

pub(in super::super) fn close_file(open: &OpenFile, to: &mut CompoundWriter<'_>) {
    to.once();
    to.at(open.file, &OpArgument::Close(open.closing()));
}
