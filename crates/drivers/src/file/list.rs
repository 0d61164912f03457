//! Listings of a directory: each operation goes through all of it, one buffer of entries at a time.

use metrics::{CallKind, ErrorKind};
use reactor::{Directory, File, FileOptions};

use super::config::Place;
use super::operation::{Fault, refused, take_buffer, take_name};
use super::session::{FileSession, Opened};
use super::steps::step;
use crate::{Done, Op};

/// Bytes of directory entries that one call fetches.
const LISTING_BYTES: usize = 128 << 10;
/// Where the length of an entry of getdents64(2) is.
const RECORD_LENGTH_AT: usize = 16;
/// Where its name begins.
const ENTRY_NAME_AT: usize = 19;

/// Lists our directory, or the lane's next leaf of the tree, or a directory of a tree that exists.
pub(super) async fn list(session: &FileSession, op: &Op) -> Result<Done, Fault> {
    let start_ns = session.reactor.now();
    let Opened::Directory { directory, .. } = &session.opened else {
        return Err(Fault::new(ErrorKind::Rejected, "a device is not listed"));
    };
    let listing = open(session, op, directory).await?;
    let (_, rpcs) = entries(session, op, listing, start_ns).await?;
    Ok(Done { rpcs, ..Done::default() })
}

async fn open(session: &FileSession, op: &Op, directory: &Directory) -> Result<File, Fault> {
    if let Place::Named(_) = session.config.place {
        let opening = directory.open_file(take_name(session, op)?, FileOptions::default());
        let (listing, name) = step(session, op, CallKind::SysOpen, opening).await;
        session.lanes[op.lane as usize].name.set(Some(name));
        return listing.map_err(|e| refused(session, op, &e));
    }
    let tree = &session.config.tree;
    if tree.is_flat() {
        let opened = step(session, op, CallKind::SysOpen, directory.open_listing()).await;
        return opened.map_err(|e| refused(session, op, &e));
    }
    let lane = &session.lanes[op.lane as usize];
    let leaf = lane.leaf.get();
    lane.leaf.set((leaf + 1) % tree.leaves());
    let mut name = take_buffer(session, op);
    let len = tree.write_leaf(leaf, &mut name);
    name[len] = 0;
    let opening = directory.open_file(name, FileOptions::default());
    let (listing, name) = step(session, op, CallKind::SysOpen, opening).await;
    lane.name.set(Some(name));
    listing.map_err(|e| refused(session, op, &e))
}

/// Reads all entries of an open directory and closes it: the number of names, and of system calls since `start_ns`, when
/// the operation began.
pub(super) async fn entries(
    session: &FileSession,
    op: &Op,
    listing: File,
    start_ns: u64,
) -> Result<(u64, u32), Fault> {
    let steps = &session.lanes[op.lane as usize].steps;
    let (mut rpcs, mut names) = (2, 0);
    let mut first = true;
    let mut buffer = session.buffers.take(LISTING_BYTES);
    let result = loop {
        let read;
        (read, buffer) = step(session, op, CallKind::SysGetdents, listing.entries(buffer)).await;
        rpcs += 1;
        let len = match read {
            Ok(len) => len,
            Err(error) => break Err(refused(session, op, &error)),
        };
        let page = names_in(&buffer[..len]);
        let first_ns = first.then(|| session.reactor.now().saturating_sub(start_ns));
        steps.page(CallKind::SysGetdents, page, first_ns);
        first = false;
        names += page;
        if len == 0 {
            break Ok(());
        }
    };
    session.buffers.put(buffer);
    result?;
    step(session, op, CallKind::SysClose, listing.close()).await.map_err(|e| refused(session, op, &e))?;
    Ok((names, rpcs))
}

/// The number of names in entries of getdents64(2), without `.` and `..`.
fn names_in(mut entries: &[u8]) -> u64 {
    let mut names = 0;
    while let Some(length) = entries.get(RECORD_LENGTH_AT..RECORD_LENGTH_AT + 2) {
        let length = usize::from(u16::from_ne_bytes([length[0], length[1]]));
        let Some(entry) = entries.get(..length).filter(|entry| entry.len() > ENTRY_NAME_AT) else { break };
        let own = entry[ENTRY_NAME_AT..].starts_with(b".\0") || entry[ENTRY_NAME_AT..].starts_with(b"..\0");
        names += u64::from(!own);
        entries = &entries[length..];
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &[u8]) -> Vec<u8> {
        let length = (ENTRY_NAME_AT + name.len() + 1).next_multiple_of(8);
        let mut entry = vec![0; length];
        entry[RECORD_LENGTH_AT..RECORD_LENGTH_AT + 2].copy_from_slice(&(length as u16).to_ne_bytes());
        entry[ENTRY_NAME_AT..ENTRY_NAME_AT + name.len()].copy_from_slice(name);
        entry
    }

    #[test]
    fn names_are_counted_without_the_directory_itself() {
        let entries = [&b"."[..], b"..", b".a", b"..b", b"a-longer-name"].map(entry).concat();
        assert_eq!(names_in(&entries), 3);
        assert_eq!(names_in(&entries[..entries.len() - 1]), 2);
        assert_eq!(names_in(&[]), 0);
    }
}
