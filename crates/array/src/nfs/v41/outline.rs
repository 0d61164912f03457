//! What a COMPOUND is about, before it is executed.

use wire::nfs3::FileHandle;
use wire::nfs4::{CallHead, Handle, OPERATIONS_MAX, OpArgument, Operation};
use wire::xdr::{Decode, Reader};

use super::REPLY_LIMIT;
use super::state::REPLY_MAX;
use crate::nfs::call::{IO_MAX, LISTING_MAX};

/// What the server needs to know of a COMPOUND in advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Outline {
    /// Maximum size of the reply, in bytes.
    pub(in super::super) reply_room: usize,
    /// The first READ.
    pub(in super::super) read: Option<OutlinedRead>,
    /// Payload bytes of all WRITEs.
    pub(in super::super) write_bytes: usize,
    /// It contains a RENAME.
    pub(in super::super) renames: bool,
    /// It does nothing but find the export, or manage clients, sessions and handles.
    pub(in super::super) only_prepares: bool,
}

/// The file and the range of a READ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct OutlinedRead {
    pub(in super::super) file: FileHandle,
    pub(in super::super) offset: u64,
    pub(in super::super) count: usize,
}

impl Outline {
    /// The outline of a COMPOUND with these arguments, as far as they can be understood.
    pub(in super::super) fn of(arguments: &[u8]) -> Self {
        // Whatever it contains, it may be answered by a reply that was kept, or by one that ends with a failure.
        let mut found = Self {
            reply_room: HEAD_BYTES + REPLY_MAX,
            read: None,
            write_bytes: 0,
            renames: false,
            only_prepares: true,
        };
        let mut from = Reader::new(arguments);
        let Ok(head) = CallHead::decode(&mut from) else { return found };
        let mut room = FAILURE_BYTES;
        let (mut file, mut from_root) = (FileHandle::EMPTY, false);
        for _ in 0..head.count.min(OPERATIONS_MAX) {
            let Ok(operation) = OpArgument::decode(&mut from) else { break };
            room += result_room(&operation);
            found.only_prepares &= prepares(operation.operation());
            match operation {
                OpArgument::PutRootFh(()) | OpArgument::PutPublicFh(()) => from_root = true,
                OpArgument::PutFh(Handle(handle)) => file = handle,
                OpArgument::Read(read) if found.read.is_none() => {
                    let count = (read.count as usize).min(IO_MAX);
                    found.read = Some(OutlinedRead { file, offset: read.offset, count });
                }
                OpArgument::Write(write) => found.write_bytes += write.data.len(),
                OpArgument::Rename(_) => found.renames = true,
                _ => {}
            }
        }
        found.only_prepares |= from_root;
        found.reply_room += room.min(REPLY_LIMIT);
        found
    }
}

/// Bytes of the reply's headers: record mark 4, RPC 24, status 4, a tag of at most 1028, number of results 4.
const HEAD_BYTES: usize = 1064;
/// Bytes of an operation that fails: its number, its status, and a set of attributes.
pub(super) const FAILURE_BYTES: usize = 12;

/// Maximum bytes of an operation's result.
pub(super) fn result_room(operation: &OpArgument<'_>) -> usize {
    match operation {
        OpArgument::Read(read) => 20 + (read.count as usize).min(IO_MAX),
        OpArgument::ReadDir(listing) => 16 + (listing.max_count as usize).min(LISTING_MAX),
        OpArgument::ReadLink(()) => 16 + wire::nfs3::Path::LIMIT,
        OpArgument::GetAttr(_) => 1024,
        OpArgument::TestStateId(states) => 16 + 4 * states.iter().count(),
        OpArgument::Sequence(_) => 48,
        OpArgument::PutFh(_) | OpArgument::SaveFh(()) | OpArgument::RestoreFh(()) => FAILURE_BYTES,
        _ => 256,
    }
}

/// Whether an operation only manages clients, sessions, states and handles: faults are about the others.
pub(super) fn prepares(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Sequence
            | Operation::PutFh
            | Operation::PutRootFh
            | Operation::PutPublicFh
            | Operation::GetFh
            | Operation::SaveFh
            | Operation::RestoreFh
            | Operation::SecInfo
            | Operation::SecInfoNoName
            | Operation::BindConnToSession
            | Operation::ExchangeId
            | Operation::CreateSession
            | Operation::DestroySession
            | Operation::DestroyClientId
            | Operation::ReclaimComplete
            | Operation::FreeStateId
            | Operation::TestStateId
            | Operation::Illegal
    )
}

#[cfg(test)]
mod tests {
    use wire::nfs4::{MINOR_VERSION, Read4Args, SequenceArgs, StateId, Tag};
    use wire::xdr::Encode;

    use super::*;

    fn outline(operations: &[OpArgument<'_>]) -> Outline {
        let mut bytes = Vec::new();
        let count = operations.len() as u32;
        CallHead { tag: Tag(b"t"), minor_version: MINOR_VERSION, count }.encode(&mut bytes);
        operations.iter().for_each(|operation| operation.encode(&mut bytes));
        Outline::of(&bytes)
    }

    #[test]
    fn the_room_of_a_reply_is_bounded() {
        let file = Handle(FileHandle::new(&[3; 16]).unwrap());
        let sequence = SequenceArgs { session: [1; 16], sequence: 1, slot: 0, highest_slot: 0, cache: false };
        let read = |count| OpArgument::Read(Read4Args { state: StateId::ANONYMOUS, offset: 7, count });
        let one = outline(&[OpArgument::Sequence(sequence), OpArgument::PutFh(file), read(4096)]);
        assert_eq!(one.read, Some(OutlinedRead { file: file.0, offset: 7, count: 4096 }));
        assert!(one.reply_room < 4096 + REPLY_MAX + 2048 && !one.only_prepares);
        let many: Vec<_> = (0..60).map(|_| read(u32::MAX)).collect();
        let all = outline(&many);
        assert_eq!(all.read.unwrap().count, IO_MAX);
        assert!(all.reply_room <= REPLY_LIMIT + HEAD_BYTES + REPLY_MAX);
        assert!(outline(&[OpArgument::Sequence(sequence), OpArgument::ReclaimComplete(false)]).only_prepares);
        assert!(Outline::of(&[1, 2, 3]).only_prepares);
    }
}
