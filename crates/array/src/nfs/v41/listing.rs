//! READDIR: as many entries as fit the client's limits and the reply's.

use wire::nfs3::{Name, Verifier};
use wire::nfs4::{Bitmap, Fattr, Nfs4Status, Operation, ReadDirArgs};
use wire::xdr::Encode;

use super::attributes::Common;
use super::compound::Run;
use super::place::{Place, kind};
use super::{directory, status};
use crate::files::{ExportVersion, FileSystem, NodeId, PARENT_COOKIE};
use crate::nfs::call::LISTING_MAX;
use crate::nfs::listing::{Hint, ListedPart, put_entries};
use crate::nfs::parts::Parts;

/// An entry, but for its attributes.
struct Named<'a> {
    cookie: u64,
    name: &'a [u8],
}

impl Named<'_> {
    /// Bytes of the cookie and the name, as counted by `dircount`.
    fn information(&self) -> usize {
        12 + self.name.len().next_multiple_of(4)
    }

    fn put(&self, to: &mut Vec<u8>) {
        true.encode(to);
        self.cookie.encode(to);
        Name(self.name).encode(to);
    }
}

impl Run<'_> {
    /// Appends the result of a READDIR, which has `room` bytes; nothing when it fails.
    pub(super) fn read_directory(
        &self,
        args: &ReadDirArgs,
        room: usize,
        to: &mut Parts<'_>,
    ) -> Result<(), Nfs4Status> {
        // No entry has the cookies of the two that are left out (section 18.23.3).
        if (1..=PARENT_COOKIE).contains(&args.cookie) {
            return Err(Nfs4Status::BAD_COOKIE);
        }
        let start = to.bytes().len();
        let done = self.put_directory(args, room, to.bytes());
        if done.is_err() {
            to.bytes().truncate(start);
        }
        done
    }

    fn put_directory(&self, args: &ReadDirArgs, room: usize, to: &mut Vec<u8>) -> Result<(), Nfs4Status> {
        let place = self.current()?;
        Operation::ReadDir.encode(to);
        Nfs4Status::OK.encode(to);
        // The limit applies to the result without operation and status.
        let bound = to.len() + (args.max_count as usize).min(LISTING_MAX).min(room.saturating_sub(8));
        // Zero leaves it to `maxcount`.
        let hint = if args.dir_count == 0 { usize::MAX } else { args.dir_count as usize };
        let mut hint = Hint::new(hint);
        match place {
            Place::Root => self.put_exports(args, bound, to, &mut hint),
            Place::Node(system, node) => {
                let lease_s = self.service.clients.lease_s();
                let tree = system.lock();
                directory(kind(&tree, *node)?)?;
                let common = Common::of(lease_s, system, &tree);
                let verifier = tree.listing_verifier(*node);
                verifier.encode(to);
                let from = match args.cookie {
                    0 => (PARENT_COOKIE, verifier),
                    cookie => (cookie, args.verifier),
                };
                put_entries(&tree, *node, self.caller, from, bound, to, |entry, to| {
                    let named = Named { cookie: entry.cookie, name: entry.name };
                    let Some(attributes) = entry.attributes else { return true };
                    if !hint.admits(named.information()) {
                        return false;
                    }
                    named.put(to);
                    common.put(&args.attributes, system, entry.node, &attributes, to);
                    true
                })
                .map_err(status)
            }
        }
    }

    /// The exports that the client is admitted to, as entries of the server's root.
    fn put_exports(
        &self,
        args: &ReadDirArgs,
        bound: usize,
        to: &mut Vec<u8>,
        hint: &mut Hint,
    ) -> Result<(), Nfs4Status> {
        let verifier: Verifier = self.root_change().to_be_bytes();
        if args.cookie != 0 && args.verifier != verifier {
            return Err(Nfs4Status::BAD_COOKIE);
        }
        verifier.encode(to);
        let mut part = ListedPart::new(bound);
        let exports = self.service.files.exports(ExportVersion::V4_1);
        let admitted = exports.iter().filter(|export| export.options.admits(self.peer));
        for (cookie, export) in (PARENT_COOKIE + 1..).zip(admitted) {
            if cookie <= args.cookie {
                continue;
            }
            let Some((system, _)) = self.service.files.exported(&export.name, ExportVersion::V4_1) else {
                continue;
            };
            let named = Named { cookie, name: export.name.as_bytes() };
            let shown = part.put(to, |to| {
                if !hint.admits(named.information()) {
                    return false;
                }
                named.put(to);
                self.put_root_of(&system, &args.attributes, to);
                true
            });
            if !shown {
                return part.end(to, false).map_err(status);
            }
        }
        part.end(to, true).map_err(status)
    }

    fn put_root_of(&self, system: &FileSystem, asked: &Bitmap, to: &mut Vec<u8>) {
        let tree = system.lock();
        let root: NodeId = tree.root();
        let Ok(attributes) = tree.attributes(root) else {
            Fattr::default().encode(to);
            return;
        };
        Common::of(self.service.clients.lease_s(), system, &tree).put(asked, system, root, &attributes, to);
    }
}
