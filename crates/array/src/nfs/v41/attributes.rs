//! GETATTR, and attributes that are to be set.

use std::hash::{DefaultHasher, Hash, Hasher};

use wire::NumberText;
use wire::nfs3::{Attributes, FileType, SetAttributes, SetTime, Time};
use wire::nfs4::{
    Attribute, Bitmap, Fattr, Handle, Nfs4Status, Operation, Owner, ServedAttributes, SetAttributes4,
    SetTime4, Time4,
};
use wire::xdr::Encode;

use super::compound::Run;
use super::place::Place;
use super::status;
use crate::files::{ExportVersion, FILE_SIZE_MAX, FileSystem, LINK_MAX, NAME_MAX, NodeId, Tree};
use crate::nfs::call::IO_MAX;
use crate::nfs::parts::Parts;
use crate::nfs::procedures::file_slots;

/// The attributes that an exclusive create can set: all that can be set, for the verifier is kept beside them.
const SETTABLE: Bitmap = SetAttributes4::KNOWN;
/// Those that are only set are no less supported.
const SUPPORTED: Bitmap = ServedAttributes::KNOWN.or(SETTABLE);

/// The change attribute of something that was last changed then.
pub(super) fn change(time: Time) -> u64 {
    u64::from(time.seconds) * 1_000_000_000 + u64::from(time.nanoseconds)
}

fn time(time: Time) -> Time4 {
    Time4 { seconds: i64::from(time.seconds), nanoseconds: time.nanoseconds }
}

/// What is to be set.
pub(super) fn wanted(given: &Fattr<'_>) -> Result<SetAttributes, Nfs4Status> {
    for number in given.mask.numbers() {
        if !SUPPORTED.has(number) {
            return Err(Nfs4Status::ATTRNOTSUPP);
        }
        if !SETTABLE.has(number) {
            return Err(Nfs4Status::INVAL);
        }
    }
    let SetAttributes4 { size, mode, owner, group, accessed, modified } =
        SetAttributes4::of(given).map_err(|_| Nfs4Status::BADXDR)?;
    let id = |name: Owner<'_>| {
        let digits =
            std::str::from_utf8(name.0).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        digits.and_then(|digits| digits.parse().ok()).ok_or(Nfs4Status::BADOWNER)
    };
    let when = |to: Option<SetTime4>| match to {
        None => Ok(SetTime::Keep),
        Some(SetTime4::Server) => Ok(SetTime::Server),
        Some(SetTime4::Client(Time4 { seconds, nanoseconds })) if nanoseconds < 1_000_000_000 => {
            let seconds = u32::try_from(seconds).map_err(|_| Nfs4Status::INVAL)?;
            Ok(SetTime::Client(Time { seconds, nanoseconds }))
        }
        Some(SetTime4::Client(_)) => Err(Nfs4Status::INVAL),
    };
    Ok(SetAttributes {
        mode,
        uid: owner.map(id).transpose()?,
        gid: group.map(id).transpose()?,
        size,
        accessed: when(accessed)?,
        modified: when(modified)?,
    })
}

/// A user's or a group's number as text.
fn digits(id: u32) -> NumberText {
    NumberText::decimal(id.into())
}

/// What all files of a file system have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Common {
    lease_s: u32,
    file_system: u64,
    total_bytes: u64,
    free_bytes: u64,
    free_files: u64,
    total_files: u64,
}

/// One file's attributes, and where they are found.
struct Described {
    attributes: Attributes,
    handle: Handle,
    change: u64,
    mounted_on: u64,
}

impl Common {
    pub(super) fn of(lease_s: u32, system: &FileSystem, tree: &Tree) -> Self {
        let (total_bytes, free_bytes) = tree.total_and_free_bytes();
        let (total_files, free_files) = file_slots(tree);
        Self { lease_s, file_system: system.id(), total_bytes, free_bytes, free_files, total_files }
    }

    fn of_root(lease_s: u32) -> Self {
        Self { lease_s, file_system: 0, total_bytes: 0, free_bytes: 0, free_files: 0, total_files: 0 }
    }

    /// Appends the attributes of a node, as far as they are asked for.
    pub(super) fn put(
        &self,
        asked: &Bitmap,
        system: &FileSystem,
        node: NodeId,
        attributes: &Attributes,
        to: &mut Vec<u8>,
    ) {
        // The root of a file system lies on an entry of the server's root.
        let mounted_on = if node.index == 0 { root_entry(system.id()) } else { attributes.file_id };
        let change = change(attributes.changed);
        let handle = Handle(system.handle(node));
        self.put_described(asked, &Described { attributes: *attributes, handle, change, mounted_on }, to);
    }

    fn put_described(&self, asked: &Bitmap, file: &Described, to: &mut Vec<u8>) {
        let Described { attributes, handle, change, mounted_on } = file;
        let (owner, group) = (digits(attributes.uid), digits(attributes.gid));
        let served = ServedAttributes {
            supported: Some(SUPPORTED),
            kind: Some(attributes.kind),
            handle_expiry: Some(0),
            change: Some(*change),
            size: Some(attributes.size),
            has_links: Some(true),
            has_symlinks: Some(true),
            has_named: Some(false),
            file_system: Some((self.file_system, 0)),
            unique_handles: Some(true),
            lease_s: Some(self.lease_s),
            read_error: Some(Nfs4Status::OK),
            can_set_time: Some(true),
            case_insensitive: Some(false),
            case_preserving: Some(true),
            chown_restricted: Some(true),
            handle: Some(*handle),
            file_id: Some(attributes.file_id),
            files_available: Some(self.free_files),
            files_free: Some(self.free_files),
            files_total: Some(self.total_files),
            homogeneous: Some(true),
            file_size_max: Some(FILE_SIZE_MAX),
            links_max: Some(LINK_MAX),
            name_max: Some(NAME_MAX as u32),
            read_max: Some(IO_MAX as u64),
            write_max: Some(IO_MAX as u64),
            mode: Some(attributes.mode),
            no_truncation: Some(true),
            links: Some(attributes.links),
            owner: Some(Owner(owner.as_bytes())),
            group: Some(Owner(group.as_bytes())),
            device: Some(attributes.device),
            available_bytes: Some(self.free_bytes),
            free_bytes: Some(self.free_bytes),
            total_bytes: Some(self.total_bytes),
            used: Some(attributes.used),
            accessed: Some(time(attributes.accessed)),
            time_step: Some(Time4 { seconds: 0, nanoseconds: 1 }),
            changed: Some(time(attributes.changed)),
            modified: Some(time(attributes.modified)),
            mounted_on: Some(*mounted_on),
            settable_at_creation: Some(SETTABLE),
        };
        asked.and(ServedAttributes::KNOWN).encode(to);
        let length_at = to.len();
        0u32.encode(to);
        served.put_some(asked, to);
        let length = (to.len() - length_at - 4) as u32;
        to[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
    }
}

/// The inode number of a file system's entry in the server's root.
fn root_entry(system: u64) -> u64 {
    system | 1 << 63
}

impl Run<'_> {
    /// Appends the result of a GETATTR; nothing when it fails.
    pub(super) fn attributes(&self, asked: &Bitmap, to: &mut Parts<'_>) -> Result<(), Nfs4Status> {
        if asked.has(Attribute::SET_ACCESSED) || asked.has(Attribute::SET_MODIFIED) {
            return Err(Nfs4Status::INVAL);
        }
        let lease_s = self.service.clients.lease_s();
        let begin = |to: &mut Parts<'_>| {
            Operation::GetAttr.encode(to.bytes());
            Nfs4Status::OK.encode(to.bytes());
        };
        match self.current()? {
            Place::Root => {
                begin(to);
                let place = self.root();
                Common::of_root(lease_s).put_described(asked, &place, to.bytes());
            }
            Place::Node(system, node) => {
                let tree = system.lock();
                let attributes = tree.attributes(*node).map_err(status)?;
                begin(to);
                Common::of(lease_s, system, &tree).put(asked, system, *node, &attributes, to.bytes());
            }
        }
        Ok(())
    }

    /// Changes with the exports.
    pub(super) fn root_change(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for export in self.service.files.exports(ExportVersion::V4_1) {
            export.name.hash(&mut hasher);
        }
        hasher.finish()
    }

    /// The server's root directory, which is as old as the array.
    fn root(&self) -> Described {
        let started_ns = self.service.files.instance();
        let then = Time {
            seconds: (started_ns / 1_000_000_000) as u32,
            nanoseconds: (started_ns % 1_000_000_000) as u32,
        };
        let attributes = Attributes {
            kind: FileType::Directory,
            mode: 0o555,
            links: 2,
            uid: 0,
            gid: 0,
            size: 4096,
            used: 0,
            device: Default::default(),
            fsid: 0,
            file_id: 1,
            accessed: then,
            modified: then,
            changed: then,
        };
        Described {
            attributes,
            handle: Handle(Place::Root.handle()),
            change: self.root_change(),
            mounted_on: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_text_and_text_becomes_numbers() {
        for id in [0, 7, 1000, u32::MAX] {
            let digits = digits(id);
            let mut values = Vec::new();
            let mask = SetAttributes4 { owner: Some(Owner(digits.as_bytes())), ..SetAttributes4::default() }
                .put(&mut values);
            assert_eq!(wanted(&Fattr { mask, values: &values }).unwrap().uid, Some(id));
        }
        for (name, expected) in
            [("root@localdomain", Nfs4Status::BADOWNER), ("99999999999", Nfs4Status::BADOWNER)]
        {
            let mut values = Vec::new();
            let owner = Some(Owner(name.as_bytes()));
            let mask = SetAttributes4 { owner, ..SetAttributes4::default() }.put(&mut values);
            assert_eq!(wanted(&Fattr { mask, values: &values }), Err(expected));
        }
    }

    #[test]
    fn what_cannot_be_set_is_refused_by_name() {
        let refused = |number| wanted(&Fattr { mask: Bitmap::of(&[number]), values: &[0; 8] });
        assert_eq!(refused(Attribute::CHANGE), Err(Nfs4Status::INVAL));
        assert_eq!(refused(14), Err(Nfs4Status::ATTRNOTSUPP), "archive");
        let truncated = Fattr { mask: Bitmap::of(&[Attribute::SIZE]), values: &[0; 4] };
        assert_eq!(wanted(&truncated), Err(Nfs4Status::BADXDR));
    }
}
