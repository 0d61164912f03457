//! Operations on the current directory (RFC 8881 sections 18.4, 18.23 and 18.26).

use super::attributes::Fattr;
use super::types::{Bitmap, ChangeInfo};
use crate::nfs3::{Device, Name, Path, Verifier};
use crate::xdr::{Decode, DecodeError, Encode, Reader, put_list, read_list, xdr_struct};

/// Maximum number of entries accepted per reply.
const ENTRIES_LIMIT: usize = 65_536;

/// What CREATE creates (`createtype4`). Regular files are created by OPEN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CreateWhat<'a> {
    /// A directory.
    Directory,
    /// A block device.
    Block(Device),
    /// A character device.
    Character(Device),
    /// A symbolic link to this path.
    Symlink(Path<'a>),
    /// A socket.
    Socket,
    /// A named pipe.
    Fifo,
}

impl Encode for CreateWhat<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Directory => 2u32.encode(out),
            Self::Block(device) => {
                3u32.encode(out);
                device.encode(out);
            }
            Self::Character(device) => {
                4u32.encode(out);
                device.encode(out);
            }
            Self::Socket => 6u32.encode(out),
            Self::Fifo => 7u32.encode(out),
            Self::Symlink(target) => {
                5u32.encode(out);
                target.encode(out);
            }
        }
    }
}

impl<'a> Decode<'a> for CreateWhat<'a> {
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        match from.u32()? {
            2 => Ok(Self::Directory),
            3 => Ok(Self::Block(Device::decode(from)?)),
            4 => Ok(Self::Character(Device::decode(from)?)),
            6 => Ok(Self::Socket),
            7 => Ok(Self::Fifo),
            5 => Ok(Self::Symlink(Path::decode(from)?)),
            value => Err(DecodeError::BadDiscriminant { what: "createtype4", value }),
        }
    }
}

xdr_struct! {
    /// CREATE.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Create4Args<'a> {
        /// What to create.
        what: CreateWhat<'a>,
        /// Its name in the current directory.
        name: Name<'a>,
        /// Its attributes.
        attributes: Fattr<'a>,
    }
}

xdr_struct! {
    /// CREATE's result.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Create4Ok {
        /// The directory's change.
        directory: ChangeInfo,
        /// Attributes4 that were set.
        set: Bitmap,
    }
}

xdr_struct! {
    /// RENAME, from the saved directory to the current one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Rename4Args<'a> {
        /// The old name.
        from: Name<'a>,
        /// The new name.
        to: Name<'a>,
    }
}

xdr_struct! {
    /// RENAME's result.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    RenameOk {
        /// The old directory's change.
        from: ChangeInfo,
        /// The new directory's change.
        to: ChangeInfo,
    }
}

xdr_struct! {
    /// READDIR.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    ReadDirArgs {
        /// Where to continue; 0 for the start.
        cookie: u64,
        /// The verifier from the reply that contained the cookie; zero for the start.
        verifier: Verifier,
        /// Largest directory information (names, cookies) in bytes; a hint.
        dir_count: u32,
        /// Largest result in bytes.
        max_count: u32,
        /// Wanted attributes of each entry.
        attributes: Bitmap,
    }
}

xdr_struct! {
    /// An entry of READDIR (`entry4`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Entry<'a> {
        /// Cookie for the next entry.
        cookie: u64,
        /// The name.
        name: Name<'a>,
        /// Its attributes.
        attributes: Fattr<'a>,
    }
}

/// READDIR's result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadDirOk<'a> {
    /// The verifier for the cookies.
    pub verifier: Verifier,
    /// The entries.
    pub entries: Vec<Entry<'a>>,
    /// Whether this is the end of the directory.
    pub eof: bool,
}

impl Encode for ReadDirOk<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        self.verifier.encode(out);
        put_list(out, &self.entries);
        self.eof.encode(out);
    }
}

impl<'a> Decode<'a> for ReadDirOk<'a> {
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self {
            verifier: Verifier::decode(from)?,
            entries: read_list(from, "directory entries", ENTRIES_LIMIT)?,
            eof: from.bool()?,
        })
    }
}
