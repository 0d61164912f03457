//! Results of the procedures other than READ, WRITE and the directory listings (RFC 1813 section 3.3).

use super::attributes::{Attributes, WccData};
use super::types::{FileHandle, Path, Time, Verifier};
use crate::xdr::xdr_struct;

xdr_struct! {
    /// LOOKUP.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    LookupOk {
        /// Handle of the file or directory found.
        file: FileHandle,
        /// Its attributes.
        attributes: Option<Attributes>,
        /// The directory's attributes.
        directory: Option<Attributes>,
    }
}

xdr_struct! {
    /// ACCESS.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    AccessOk {
        /// Attributes of the file.
        attributes: Option<Attributes>,
        /// The permitted bits.
        access: u32,
    }
}

xdr_struct! {
    /// READLINK.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    ReadlinkOk<'a> {
        /// Attributes of the link.
        attributes: Option<Attributes>,
        /// What it points to.
        target: Path<'a>,
    }
}

xdr_struct! {
    /// CREATE, MKDIR, SYMLINK and MKNOD.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    CreateOk {
        /// Handle of the new file; servers may omit it.
        file: Option<FileHandle>,
        /// Its attributes.
        attributes: Option<Attributes>,
        /// The directory's attributes.
        directory: WccData,
    }
}

xdr_struct! {
    /// RENAME, in success and failure.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    RenameWcc {
        /// The old directory.
        from: WccData,
        /// The new directory.
        to: WccData,
    }
}

xdr_struct! {
    /// LINK, in success and failure.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    LinkWcc {
        /// Attributes of the file.
        attributes: Option<Attributes>,
        /// The new link's directory.
        directory: WccData,
    }
}

xdr_struct! {
    /// FSSTAT.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    FsstatOk {
        /// Attributes of the root.
        attributes: Option<Attributes>,
        /// Size in bytes.
        total_bytes: u64,
        /// Free bytes.
        free_bytes: u64,
        /// Free bytes available to this user.
        available_bytes: u64,
        /// Number of file slots.
        total_files: u64,
        /// Free file slots.
        free_files: u64,
        /// Free file slots available to this user.
        available_files: u64,
        /// Seconds for which this is not expected to change.
        invariant_seconds: u32,
    }
}

xdr_struct! {
    /// FSINFO. All sizes in bytes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    FsinfoOk {
        /// Attributes of the root.
        attributes: Option<Attributes>,
        /// Largest READ.
        read_max: u32,
        /// Preferred READ.
        read_preferred: u32,
        /// Suggested multiple of a READ.
        read_multiple: u32,
        /// Largest WRITE.
        write_max: u32,
        /// Preferred WRITE.
        write_preferred: u32,
        /// Suggested multiple of a WRITE.
        write_multiple: u32,
        /// Preferred size of a READDIR.
        readdir_preferred: u32,
        /// Largest file.
        file_size_max: u64,
        /// Resolution of times.
        time_delta: Time,
        /// Bits, see [`FsinfoOk::LINK`] and its siblings.
        properties: u32,
    }
}

impl FsinfoOk {
    /// Hard links are supported.
    pub const LINK: u32 = 0x01;
    /// Symbolic links are supported.
    pub const SYMLINK: u32 = 0x02;
    /// PATHCONF is the same for every file.
    pub const HOMOGENEOUS: u32 = 0x08;
    /// Times can be set.
    pub const CAN_SET_TIME: u32 = 0x10;
}

xdr_struct! {
    /// PATHCONF.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    PathconfOk {
        /// Attributes of the file.
        attributes: Option<Attributes>,
        /// Maximum number of hard links to a file.
        link_max: u32,
        /// Maximum length of a name in bytes.
        name_max: u32,
        /// Longer names are an error; otherwise they are truncated.
        no_truncation: bool,
        /// Only the superuser may change owners.
        chown_restricted: bool,
        /// Names that differ only in case are the same.
        case_insensitive: bool,
        /// The case of names is preserved.
        case_preserving: bool,
    }
}

xdr_struct! {
    /// COMMIT.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    CommitOk {
        /// Attributes of the file.
        attributes: WccData,
        /// Compared with that of the WRITEs: a different one means that the server lost data.
        verifier: Verifier,
    }
}
