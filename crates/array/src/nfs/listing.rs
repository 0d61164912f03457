//! READDIR and READDIRPLUS: as many entries as fit the client's limit.

use wire::nfs3::{
    Attributes, Name, NfsFailure, ProcedureResult, ReaddirArgs, ReaddirEntry, ReaddirplusArgs,
    ReaddirplusEntry, Status, Verifier, put_dir_end, put_dir_entry,
};
use wire::xdr::Encode;

use super::call::{Call, LISTING_MAX};
use super::out::Out;
use crate::files::{DirectoryEntry, FileSystem, Files};

/// Bytes after the last entry: the end of the list and the end-of-directory flag.
const TAIL: usize = 8;

/// Bytes of names, numbers and cookies of an entry, as counted by READDIRPLUS' `dircount`.
fn information(entry: &DirectoryEntry<'_>) -> usize {
    24 + entry.name.len().next_multiple_of(4)
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
    let mut information_left = args.dir_count as usize;
    let mut first = true;
    list(files, call, &args.directory, (args.cookie, args.verifier), room, out, |system, entry, bytes| {
        // `dircount` is a hint: at least one entry is returned, or the client would make no progress.
        if !first && information(entry) > information_left {
            return false;
        }
        first = false;
        information_left = information_left.saturating_sub(information(entry));
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
    (cookie, verifier): (u64, Verifier),
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
        let mut shown = 0;
        let listed = tree.list(node, &call.caller, cookie, verifier, |entry| {
            let mark = bytes.len();
            if !put(&system, entry, bytes) {
                return false;
            }
            if bytes.len() + TAIL > bound {
                bytes.truncate(mark);
                return false;
            }
            shown += 1;
            true
        });
        let failed = match listed {
            Ok(eof) if shown > 0 || eof => {
                put_dir_end(bytes, eof);
                return;
            }
            Ok(_) => Status::TOOSMALL,
            Err(status) => status,
        };
        bytes.truncate(start);
        let outcome: ProcedureResult<(), Option<Attributes>> =
            Err(NfsFailure { status: failed, detail: tree.attributes(node).ok() });
        outcome.encode(bytes);
    });
}
