//! Arguments of the procedures other than READ, WRITE and the directory listings (RFC 1813 section 3.3).

use super::attributes::{FileType, SetAttributes};
use super::types::{Device, FileHandle, Name, Path, Time, Verifier};
use crate::xdr::{Decode, DecodeError, Encode, Reader, xdr_struct};

xdr_struct! {
    /// A name in a directory (`diropargs3`): the whole arguments of LOOKUP, REMOVE and RMDIR.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    DirArgs<'a> {
        /// The directory.
        directory: FileHandle,
        /// The name in it.
        name: Name<'a>,
    }
}

xdr_struct! {
    /// SETATTR.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    SetattrArgs {
        /// The file.
        file: FileHandle,
        /// What to set.
        attributes: SetAttributes,
        /// Set them only if the attributes last changed at this time.
        guard: Option<Time>,
    }
}

xdr_struct! {
    /// ACCESS.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    AccessArgs {
        /// The file.
        file: FileHandle,
        /// Bits to check, see [`AccessArgs::READ`] and its siblings.
        access: u32,
    }
}

impl AccessArgs {
    /// Read data or list a directory.
    pub const READ: u32 = 0x01;
    /// Look a name up in a directory.
    pub const LOOKUP: u32 = 0x02;
    /// Change existing data or directory entries.
    pub const MODIFY: u32 = 0x04;
    /// Write new data or add directory entries.
    pub const EXTEND: u32 = 0x08;
    /// Delete a directory entry.
    pub const DELETE: u32 = 0x10;
    /// Execute a file.
    pub const EXECUTE: u32 = 0x20;
}

/// What CREATE does if the name exists (`createhow3`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateHow {
    /// Uses the existing file.
    Unchecked(SetAttributes),
    /// Fails with `NFS3ERR_EXIST`.
    Guarded(SetAttributes),
    /// Fails unless the existing file was created with this verifier.
    Exclusive(Verifier),
}

impl Encode for CreateHow {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Unchecked(attributes) => {
                0u32.encode(out);
                attributes.encode(out);
            }
            Self::Guarded(attributes) => {
                1u32.encode(out);
                attributes.encode(out);
            }
            Self::Exclusive(verifier) => {
                2u32.encode(out);
                verifier.encode(out);
            }
        }
    }
}

impl Decode<'_> for CreateHow {
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match from.u32()? {
            0 => Ok(Self::Unchecked(SetAttributes::decode(from)?)),
            1 => Ok(Self::Guarded(SetAttributes::decode(from)?)),
            2 => Ok(Self::Exclusive(Verifier::decode(from)?)),
            value => Err(DecodeError::BadDiscriminant { what: "createmode3", value }),
        }
    }
}

xdr_struct! {
    /// CREATE.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    CreateArgs<'a> {
        /// Directory and name.
        place: DirArgs<'a>,
        /// What to do if it exists, and the attributes.
        how: CreateHow,
    }
}

xdr_struct! {
    /// MKDIR.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    MkdirArgs<'a> {
        /// Directory and name.
        place: DirArgs<'a>,
        /// The new directory's attributes.
        attributes: SetAttributes,
    }
}

xdr_struct! {
    /// SYMLINK.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    SymlinkArgs<'a> {
        /// Directory and name.
        place: DirArgs<'a>,
        /// The link's attributes.
        attributes: SetAttributes,
        /// What it points to.
        target: Path<'a>,
    }
}

/// What MKNOD creates (`mknoddata3`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MknodWhat {
    /// A character device.
    Character(SetAttributes, Device),
    /// A block device.
    Block(SetAttributes, Device),
    /// A socket.
    Socket(SetAttributes),
    /// A named pipe.
    Fifo(SetAttributes),
    /// A type that MKNOD cannot create; the server answers `NFS3ERR_BADTYPE`.
    Other(FileType),
}

impl Encode for MknodWhat {
    fn encode(&self, out: &mut Vec<u8>) {
        let kind = match self {
            Self::Character(..) => FileType::Character,
            Self::Block(..) => FileType::Block,
            Self::Socket(_) => FileType::Socket,
            Self::Fifo(_) => FileType::Fifo,
            Self::Other(kind) => *kind,
        };
        kind.encode(out);
        match self {
            Self::Character(attributes, device) | Self::Block(attributes, device) => {
                attributes.encode(out);
                device.encode(out);
            }
            Self::Socket(attributes) | Self::Fifo(attributes) => attributes.encode(out),
            Self::Other(_) => {}
        }
    }
}

impl Decode<'_> for MknodWhat {
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(match FileType::decode(from)? {
            FileType::Character => Self::Character(SetAttributes::decode(from)?, Device::decode(from)?),
            FileType::Block => Self::Block(SetAttributes::decode(from)?, Device::decode(from)?),
            FileType::Socket => Self::Socket(SetAttributes::decode(from)?),
            FileType::Fifo => Self::Fifo(SetAttributes::decode(from)?),
            other => Self::Other(other),
        })
    }
}

xdr_struct! {
    /// MKNOD.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    MknodArgs<'a> {
        /// Directory and name.
        place: DirArgs<'a>,
        /// What to create.
        what: MknodWhat,
    }
}

xdr_struct! {
    /// RENAME.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    RenameArgs<'a> {
        /// Old directory and name.
        from: DirArgs<'a>,
        /// New directory and name.
        to: DirArgs<'a>,
    }
}

xdr_struct! {
    /// LINK.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    LinkArgs<'a> {
        /// The existing file.
        file: FileHandle,
        /// Directory and name of the new link.
        link: DirArgs<'a>,
    }
}

xdr_struct! {
    /// COMMIT.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    CommitArgs {
        /// The file.
        file: FileHandle,
        /// First byte to make durable.
        offset: u64,
        /// Number of bytes; 0 for everything up to the end.
        count: u32,
    }
}
