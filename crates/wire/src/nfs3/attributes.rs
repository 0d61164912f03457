//! Attributes of files, and how they are set (RFC 1813 sections 2.5 and 2.6).

use super::types::{Device, Time};
use crate::xdr::{Decode, DecodeError, Encode, Reader, xdr_enum, xdr_struct};

xdr_enum! {
    /// The type of a file (`ftype3`).
    FileType {
        /// Regular file.
        Regular = 1,
        /// Directory.
        Directory = 2,
        /// Block device.
        Block = 3,
        /// Character device.
        Character = 4,
        /// Symbolic link.
        Symlink = 5,
        /// Socket.
        Socket = 6,
        /// Named pipe.
        Fifo = 7,
    }
}

xdr_struct! {
    /// A file's attributes (`fattr3`). `post_op_attr` is an `Option` of this.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Attributes[84] {
        /// Type.
        kind: FileType,
        /// Permission bits.
        mode: u32,
        /// Number of hard links.
        links: u32,
        /// Owner.
        uid: u32,
        /// Group.
        gid: u32,
        /// Size in bytes.
        size: u64,
        /// Bytes of storage used.
        used: u64,
        /// Device numbers, for devices.
        device: Device,
        /// File system.
        fsid: u64,
        /// Inode number within the file system.
        file_id: u64,
        /// Last access.
        accessed: Time,
        /// Last change of the data.
        modified: Time,
        /// Last change of the attributes.
        changed: Time,
    }
}

xdr_struct! {
    /// Pre-operation attributes that matter to caches (`wcc_attr`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    WccAttributes[24] {
        /// Size in bytes.
        size: u64,
        /// Last change of the data.
        modified: Time,
        /// Last change of the attributes.
        changed: Time,
    }
}

xdr_struct! {
    /// Attributes before and after an operation (`wcc_data`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    WccData {
        /// Before.
        before: Option<WccAttributes>,
        /// After.
        after: Option<Attributes>,
    }
}

/// How to set a time (`set_atime`, `set_mtime`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SetTime {
    /// Leave it unchanged.
    #[default]
    Keep,
    /// Set it to the server's time.
    Server,
    /// Set it to this time.
    Client(Time),
}

impl Encode for SetTime {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Keep => 0u32.encode(out),
            Self::Server => 1u32.encode(out),
            Self::Client(time) => {
                2u32.encode(out);
                time.encode(out);
            }
        }
    }
}

impl Decode<'_> for SetTime {
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match from.u32()? {
            0 => Ok(Self::Keep),
            1 => Ok(Self::Server),
            2 => Ok(Self::Client(Time::decode(from)?)),
            value => Err(DecodeError::BadDiscriminant { what: "time_how", value }),
        }
    }
}

xdr_struct! {
    /// Attributes to set (`sattr3`); `None` leaves one unchanged.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    SetAttributes {
        /// Permission bits.
        mode: Option<u32>,
        /// Owner.
        uid: Option<u32>,
        /// Group.
        gid: Option<u32>,
        /// Size in bytes.
        size: Option<u64>,
        /// Last access.
        accessed: SetTime,
        /// Last change of the data.
        modified: SetTime,
    }
}
