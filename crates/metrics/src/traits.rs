//! The properties of operations in one table, consulted by all code that must tell operations apart.

use crate::OpKind;

/// What an operation does, and on what. `docs/adding-an-operation.md` lists the users of these traits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpTraits {
    /// Whether data is read, written or discarded; `None` if the operation does none of these itself, although the target
    /// may move data for it.
    pub direction: Option<OpDirection>,
    /// Whether payload bytes are counted on success.
    pub moves_bytes: bool,
    /// What it changes.
    pub changes: OpChange,
    /// Which part of a file or object it covers.
    pub extent: OpExtent,
    /// Where its file or object comes from.
    pub subject: OpSubject,
    /// The shapes of data that support it.
    pub of: OpShapes,
    /// The operation that sets what it reads besides content: the preparation performs it once on each file or object of
    /// the data set.
    pub set_by: Option<OpKind>,
}

/// Direction of the data. `self as usize` indexes reads, writes, trims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpDirection {
    /// From the target.
    Read,
    /// To the target.
    Write,
    /// Neither: the target may discard it.
    Trim,
}

/// What an operation changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpChange {
    /// Nothing.
    Nothing,
    /// Only durability.
    Durability,
    /// Attributes other than the size.
    Attributes,
    /// The content of files or objects.
    Content,
    /// The set of files or objects.
    Names,
}

/// How much data an operation covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpExtent {
    /// A range of bytes in the workload's block sizes.
    Range,
    /// All bytes of a file or object.
    Whole,
    /// A file or object, whatever its content.
    Item,
    /// Names.
    Names,
}

/// Where the file or object of an operation comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpSubject {
    /// The data set, where it must exist.
    DataSet,
    /// The load creates it, and removes only what it created.
    OwnMaking,
    /// The load creates it if it also removes such objects; otherwise it overwrites one of the data set.
    Either,
    /// No file or object.
    Nothing,
}

/// The shapes of data that support an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpShapes {
    /// Files of a directory.
    pub files: bool,
    /// Objects of a bucket.
    pub objects: bool,
    /// One block device.
    pub device: bool,
}

const FILES: OpShapes = OpShapes { files: true, objects: false, device: false };
const OBJECTS: OpShapes = OpShapes { files: false, objects: true, device: false };
const FILES_AND_DEVICE: OpShapes = OpShapes { device: true, ..FILES };
const FILES_AND_OBJECTS: OpShapes = OpShapes { objects: true, ..FILES };
const ALL: OpShapes = OpShapes { files: true, objects: true, device: true };

/// An operation that reads or queries: the base of the others.
const READS: OpTraits = OpTraits {
    direction: Some(OpDirection::Read),
    moves_bytes: true,
    changes: OpChange::Nothing,
    extent: OpExtent::Range,
    subject: OpSubject::DataSet,
    of: ALL,
    set_by: None,
};
const WRITES: OpTraits = OpTraits {
    direction: Some(OpDirection::Write),
    changes: OpChange::Content,
    of: FILES_AND_DEVICE,
    ..READS
};
const LOOKS: OpTraits = OpTraits { direction: None, moves_bytes: false, extent: OpExtent::Item, ..READS };
const MAKES: OpTraits =
    OpTraits { changes: OpChange::Names, subject: OpSubject::OwnMaking, of: FILES, ..LOOKS };

impl OpKind {
    /// The operation's traits.
    #[inline]
    pub const fn traits(self) -> &'static OpTraits {
        &TABLE[self as usize]
    }

    /// Whether it reads payload bytes.
    #[inline]
    pub const fn reads(self) -> bool {
        self.moves_bytes() && matches!(self.traits().direction, Some(OpDirection::Read))
    }

    /// Whether it writes payload bytes.
    #[inline]
    pub const fn writes(self) -> bool {
        self.moves_bytes() && matches!(self.traits().direction, Some(OpDirection::Write))
    }

    /// Whether payload bytes are counted on success.
    #[inline]
    pub const fn moves_bytes(self) -> bool {
        self.traits().moves_bytes
    }

    /// Whether what it reads can be compared with what was written.
    #[inline]
    pub const fn can_be_verified(self) -> bool {
        self.reads() || self.traits().set_by.is_some()
    }

    /// Whether it covers a range of bytes in the workload's block sizes.
    #[inline]
    pub const fn is_of_ranges(self) -> bool {
        matches!(self.traits().extent, OpExtent::Range)
    }

    /// Whether it covers all bytes of a file or object.
    #[inline]
    pub const fn is_whole(self) -> bool {
        matches!(self.traits().extent, OpExtent::Whole)
    }

    /// Whether it changes the set of files or objects, or their content.
    #[inline]
    pub const fn changes_data(self) -> bool {
        matches!(self.traits().changes, OpChange::Content | OpChange::Names)
    }

    /// Whether it creates or removes files or objects of the load's own.
    #[inline]
    pub const fn makes_or_removes(self) -> bool {
        matches!(self.traits().subject, OpSubject::OwnMaking)
    }

    /// Whether it works on the data set, which must exist.
    #[inline]
    pub const fn needs_data(self) -> bool {
        matches!(self.traits().subject, OpSubject::DataSet)
    }

    /// Whether only objects support it.
    pub const fn is_for_objects(self) -> bool {
        !self.traits().of.files && !self.traits().of.device
    }

    /// Whether only files or devices support it.
    pub const fn is_for_files(self) -> bool {
        !self.traits().of.objects
    }
}

/// In the order of [`OpKind::ALL`].
const TABLE: [OpTraits; OpKind::COUNT] = {
    let mut table = [LOOKS; OpKind::COUNT];
    let mut at = 0;
    while at < OpKind::COUNT {
        table[at] = traits_of(OpKind::ALL[at]);
        at += 1;
    }
    table
};

const fn traits_of(kind: OpKind) -> OpTraits {
    match kind {
        OpKind::Read => READS,
        OpKind::Write => WRITES,
        OpKind::Trim => OpTraits { direction: Some(OpDirection::Trim), moves_bytes: false, ..WRITES },
        // The target writes them, and none crosses the connection.
        OpKind::WriteZeroes => OpTraits { direction: None, moves_bytes: false, ..WRITES },
        OpKind::Get => OpTraits { extent: OpExtent::Whole, of: OBJECTS, ..READS },
        OpKind::Put => {
            OpTraits { extent: OpExtent::Whole, subject: OpSubject::Either, of: OBJECTS, ..WRITES }
        }
        OpKind::Stat => LOOKS,
        OpKind::List => {
            OpTraits { extent: OpExtent::Names, subject: OpSubject::Nothing, of: FILES_AND_OBJECTS, ..LOOKS }
        }
        OpKind::Readdir => {
            OpTraits { extent: OpExtent::Names, subject: OpSubject::Nothing, of: FILES, ..LOOKS }
        }
        OpKind::ListPrefixes => {
            OpTraits { extent: OpExtent::Names, subject: OpSubject::Nothing, of: OBJECTS, ..LOOKS }
        }
        OpKind::Commit => OpTraits { changes: OpChange::Durability, of: FILES_AND_DEVICE, ..LOOKS },
        OpKind::Access | OpKind::Getxattr => OpTraits { of: FILES, ..LOOKS },
        OpKind::Chmod | OpKind::Setxattr => OpTraits { changes: OpChange::Attributes, of: FILES, ..LOOKS },
        OpKind::Truncate => OpTraits { changes: OpChange::Content, ..MAKES },
        OpKind::WriteFile => {
            OpTraits { extent: OpExtent::Whole, subject: OpSubject::OwnMaking, of: FILES, ..WRITES }
        }
        OpKind::ReadFile => OpTraits { extent: OpExtent::Whole, of: FILES, ..READS },
        OpKind::Overwrite | OpKind::TruncateOverwrite => {
            OpTraits { extent: OpExtent::Whole, of: FILES, ..WRITES }
        }
        OpKind::Append => OpTraits { subject: OpSubject::OwnMaking, of: FILES, ..WRITES },
        // Reading a symbolic link creates one if there is none, and opening a file a file.
        OpKind::Create
        | OpKind::Remove
        | OpKind::Rename
        | OpKind::Link
        | OpKind::Symlink
        | OpKind::Readlink
        | OpKind::Mkdir
        | OpKind::Rmdir
        | OpKind::Open
        | OpKind::Close => MAKES,
        OpKind::Delete | OpKind::BatchDelete => {
            OpTraits { direction: Some(OpDirection::Trim), of: OBJECTS, ..MAKES }
        }
        // The server moves the data, and none of it crosses the connection.
        OpKind::Copy => OpTraits { of: OBJECTS, ..MAKES },
        OpKind::PutTagging => OpTraits { changes: OpChange::Attributes, of: OBJECTS, ..LOOKS },
        OpKind::GetTagging => OpTraits { of: OBJECTS, ..LOOKS },
        // What a method does is its own; keys and values are no payload.
        OpKind::OmapSet | OpKind::Exec => OpTraits { changes: OpChange::Attributes, of: OBJECTS, ..LOOKS },
        OpKind::OmapGet => OpTraits { of: OBJECTS, set_by: Some(OpKind::OmapSet), ..LOOKS },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(holds: impl Fn(OpKind) -> bool) -> Vec<OpKind> {
        OpKind::ALL.iter().copied().filter(|kind| holds(*kind)).collect()
    }

    #[test]
    fn the_table_says_of_each_operation_what_it_is() {
        use OpKind::{
            Access, Append, BatchDelete, Chmod, Close, Commit, Copy, Create, Delete, Exec, Get, GetTagging,
            Getxattr, Link, List, ListPrefixes, Mkdir, OmapGet, OmapSet, Open, Overwrite, Put, PutTagging,
            Read, ReadFile, Readdir, Readlink, Remove, Rename, Rmdir, Setxattr, Stat, Symlink, Trim,
            Truncate, TruncateOverwrite, Write, WriteFile, WriteZeroes,
        };
        let own = [Truncate, Rename, Link, Symlink, Readlink, Mkdir, Rmdir];
        let last = [Open, Close, WriteFile];
        let again = [Overwrite, TruncateOverwrite];
        let rados = [OmapSet, OmapGet, Exec];
        assert_eq!(all(OpKind::reads), [Read, Get, ReadFile]);
        assert_eq!(all(OpKind::can_be_verified), [Read, Get, ReadFile, OmapGet]);
        assert_eq!(all(|kind| kind.traits().set_by == Some(OmapSet)), [OmapGet]);
        assert_eq!(all(OpKind::writes), [&[Write, Put, Append, WriteFile], &again[..]].concat());
        assert_eq!(
            all(OpKind::moves_bytes),
            [&[Read, Write, Put, Get, Append, WriteFile, ReadFile], &again[..]].concat()
        );
        assert_eq!(all(OpKind::is_of_ranges), [Read, Write, Trim, Append, WriteZeroes]);
        assert_eq!(all(OpKind::is_whole), [&[Put, Get, WriteFile, ReadFile], &again[..]].concat());
        assert_eq!(
            all(OpKind::changes_data),
            [
                &[Write, Create, Remove, Put, Delete, Trim],
                &own[..],
                &[Copy, BatchDelete, Append],
                &last,
                &again,
                &[WriteZeroes]
            ]
            .concat()
        );
        assert_eq!(
            all(OpKind::makes_or_removes),
            [&[Create, Remove, Delete], &own[..], &[Copy, BatchDelete, Append], &last].concat()
        );
        let data_set =
            [Read, Write, Commit, Stat, Get, Trim, Access, Chmod, PutTagging, GetTagging, Setxattr, Getxattr];
        assert_eq!(
            all(OpKind::needs_data),
            [&data_set[..], &[ReadFile], &again, &rados, &[WriteZeroes]].concat()
        );
        let objects = [Put, Get, Delete, Copy, PutTagging, GetTagging, BatchDelete, ListPrefixes];
        assert_eq!(all(OpKind::is_for_objects), [&objects[..], &rados].concat());
        let files = [
            &[Write, Create, Commit, Remove, Trim, Access, Chmod],
            &own[..],
            &[Append, Readdir, Setxattr, Getxattr],
            &last,
            &[ReadFile],
            &again,
            &[WriteZeroes],
        ]
        .concat();
        assert_eq!(all(OpKind::is_for_files), files);
        let files = [Read, Write, Create, Commit, Stat, Remove, List, Trim, Access, Chmod];
        assert_eq!(
            all(|kind| kind.traits().of.files),
            [
                &files,
                &own[..],
                &[Append, Readdir, Setxattr, Getxattr],
                &last,
                &[ReadFile],
                &again,
                &[WriteZeroes]
            ]
            .concat()
        );
        assert_eq!(
            all(|kind| kind.traits().changes == OpChange::Attributes),
            [Chmod, PutTagging, Setxattr, OmapSet, Exec]
        );
        let objects =
            [Read, Stat, Put, Get, List, Delete, Copy, PutTagging, GetTagging, BatchDelete, ListPrefixes];
        assert_eq!(all(|kind| kind.traits().of.objects), [&objects[..], &rados].concat());
        assert_eq!(all(|kind| kind.traits().of.device), [Read, Write, Commit, Stat, Trim, WriteZeroes]);
        assert_eq!(
            all(|kind| kind.traits().direction == Some(OpDirection::Trim)),
            [Delete, Trim, BatchDelete]
        );
    }
}
