//! READDIR and READDIRPLUS: as many entries as fit the client's limit.

use wire::nfs3::{
    Attributes, Name, NfsFailure, ProcedureResult, ReaddirArgs, ReaddirEntry, ReaddirplusArgs,
    ReaddirplusEntry, Status, Verifier, put_dir_end, put_dir_entry,
};
use wire::xdr::Encode;

use super::call::{Call, LISTING_MAX};
use super::out::Out;
use crate::files::{Caller, DirectoryEntry, FileSystem, Files, NodeId, Tree};

/// Bytes after the last entry: the end of the list and the end-of-directory flag.
const TAIL: usize = 8;

/// Bytes of names, numbers and cookies of an entry, as counted by READDIRPLUS' `dircount`.
fn information(entry: &DirectoryEntry<'_>) -> usize {
    24 + entry.name.len().next_multiple_of(4)
}

/// `dircount`, as a hint: at least one entry is returned, or the client would make no progress.
pub(super) struct Hint {
    bytes_left: usize,
    first: bool,
}

impl Hint {
    pub(super) fn new(bytes: usize) -> Self {
        Self { bytes_left: bytes, first: true }
    }

    /// Whether an entry with so many bytes still belongs to the reply.
    pub(super) fn admits(&mut self, bytes: usize) -> bool {
        let admitted = std::mem::take(&mut self.first) || bytes <= self.bytes_left;
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        admitted
    }
}

/// The entries of a reply that may not exceed a length.
pub(super) struct ListedPart {
    bound: usize,
    shown: bool,
}

impl ListedPart {
    /// With at most so many bytes of the message, the end of the list included.
    pub(super) fn new(bound: usize) -> Self {
        Self { bound, shown: false }
    }

    /// Appends an entry, if `put` wants that and it fits.
    pub(super) fn put(&mut self, to: &mut Vec<u8>, put: impl FnOnce(&mut Vec<u8>) -> bool) -> bool {
        let mark = to.len();
        if !put(to) {
            return false;
        }
        if to.len() + TAIL > self.bound {
            to.truncate(mark);
            return false;
        }
        self.shown = true;
        true
    }

    /// Appends the end of the list.
    ///
    /// # Errors
    /// `NFS3ERR_TOOSMALL` when there are entries, and not one of them fits.
    pub(super) fn end(self, to: &mut Vec<u8>, eof: bool) -> Result<(), Status> {
        if !self.shown && !eof {
            return Err(Status::TOOSMALL);
        }
        put_dir_end(to, eof);
        Ok(())
    }
}

/// Appends the entries of a directory after a cookie that `put` encodes, until it has enough or they would exceed `bound`.
///
/// # Errors
/// Those of the listing, and [`ListedPart::end`]'s.
pub(super) fn put_entries(
    tree: &Tree,
    node: NodeId,
    caller: &Caller,
    (cookie, verifier): (u64, Verifier),
    bound: usize,
    to: &mut Vec<u8>,
    mut put: impl FnMut(&DirectoryEntry<'_>, &mut Vec<u8>) -> bool,
) -> Result<(), Status> {
    let mut part = ListedPart::new(bound);
    let eof = tree.list(node, caller, cookie, verifier, |entry| part.put(to, |to| put(entry, to)))?;
    part.end(to, eof)
}

/// Executes READDIR.
pub(super) fn readdir(files: &Files, call: &Call<'_>, args: &ReaddirArgs, out: &mut Out) {
    let room = (args.count as usize).min(LISTING_MAX);
    list(files, call, &args.directory, (args.cookie, args.verifier), room, out, |_, entry, bytes| {
        let (file_id, name, cookie) = (entry.node.file_id(), Name(entry.name), entry.cookie);
        put_dir_entry(bytes, &ReaddirEntry { file_id, name, cookie });
        true
    });
}

/// Executes READDIRPLUS.
pub(super) fn readdirplus(files: &Files, call: &Call<'_>, args: &ReaddirplusArgs, out: &mut Out) {
    let room = (args.max_count as usize).min(LISTING_MAX);
    let mut hint = Hint::new(args.dir_count as usize);
    list(files, call, &args.directory, (args.cookie, args.verifier), room, out, |system, entry, bytes| {
        if !hint.admits(information(entry)) {
            return false;
        }
        put_dir_entry(
            bytes,
            &ReaddirplusEntry {
                file_id: entry.node.file_id(),
                name: Name(entry.name),
                cookie: entry.cookie,
                attributes: entry.attributes,
                file: Some(system.handle(entry.node)),
            },
        );
        true
    });
}

/// Appends a reply with the entries that `put` encodes, until it has enough or `room` is used up.
fn list(
    files: &Files,
    call: &Call<'_>,
    directory: &wire::nfs3::FileHandle,
    from: (u64, Verifier),
    room: usize,
    out: &mut Out,
    mut put: impl FnMut(&FileSystem, &DirectoryEntry<'_>, &mut Vec<u8>) -> bool,
) {
    let (system, node) = match files.resolve(directory) {
        Ok(found) => found,
        Err(status) => return out.outcome::<(), Option<Attributes>>(call.xid, Err(status)),
    };
    let tree = system.lock();
    out.reply(call.xid, |bytes| {
        let start = bytes.len();
        Status::OK.0.encode(bytes);
        // The limit applies to the result without its status (RFC 1813 section 3.3.17).
        let bound = bytes.len() + room;
        tree.attributes(node).ok().encode(bytes);
        tree.listing_verifier(node).encode(bytes);
        let put = |entry: &DirectoryEntry<'_>, bytes: &mut Vec<u8>| put(&system, entry, bytes);
        let Err(failed) = put_entries(&tree, node, &call.caller, from, bound, bytes, put) else { return };
        bytes.truncate(start);
        let outcome: ProcedureResult<(), Option<Attributes>> =
            Err(NfsFailure { status: failed, detail: tree.attributes(node).ok() });
        outcome.encode(bytes);
    });
}
