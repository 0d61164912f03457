//! The basic types that everything else is built from (RFC 1813 section 2.5).

use crate::xdr::{Decode, DecodeError, Encode, Reader, put_opaque, xdr_bytes, xdr_enum, xdr_struct};

/// A file handle (`nfs_fh3`): bytes opaque to the client, stored inline. Version 3 has at most 64, and longer ones are not
/// decoded; version 4 has at most 128.
#[derive(Clone, Copy)]
pub struct FileHandle {
    len: u8,
    bytes: [u8; FileHandle::CAPACITY],
}

impl FileHandle {
    /// `NFS3_FHSIZE`.
    pub const LIMIT: usize = 64;
    /// `NFS4_FHSIZE`.
    pub const CAPACITY: usize = 128;
    /// The empty handle.
    pub const EMPTY: Self = Self { len: 0, bytes: [0; Self::CAPACITY] };

    /// A handle of these bytes; `None` if there are more than 128.
    pub fn new(bytes: &[u8]) -> Option<Self> {
        let mut handle = Self::EMPTY;
        handle.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        handle.len = bytes.len() as u8;
        Some(handle)
    }

    /// The bytes.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

impl PartialEq for FileHandle {
    fn eq(&self, other: &Self) -> bool {
        self.as_bytes() == other.as_bytes()
    }
}

impl Eq for FileHandle {}

impl std::hash::Hash for FileHandle {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_bytes().hash(state);
    }
}

impl std::fmt::Debug for FileHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for byte in self.as_bytes() {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl Encode for FileHandle {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        put_opaque(out, self.as_bytes());
    }
}

impl Decode<'_> for FileHandle {
    #[inline]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let bytes = from.opaque("file handle", from.file_handle_max())?;
        Ok(Self::new(bytes).expect("its length was checked"))
    }
}

xdr_bytes!(
    /// A name in a directory (`filename3`). The RFC sets no limit; every known server has 255.
    Name,
    "file name",
    255
);
xdr_bytes!(
    /// The content of a symbolic link (`nfspath3`). The RFC sets no limit; Linux has 4096.
    Path,
    "path",
    4096
);

/// `writeverf3`, `cookieverf3`, `createverf3`: eight bytes that are only compared.
pub type Verifier = [u8; 8];

xdr_struct! {
    /// A time (`nfstime3`) since 1970-01-01 UTC.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
    Time[8] {
        /// Seconds.
        seconds: u32,
        /// Nanoseconds of the second.
        nanoseconds: u32,
    }
}

xdr_struct! {
    /// A device's numbers (`specdata3`).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    Device[8] {
        /// Major number.
        major: u32,
        /// Minor number.
        minor: u32,
    }
}

xdr_enum! {
    /// The durability of a write, required or achieved (`stable_how`).
    Stability {
        /// The server may keep the data in memory until COMMIT.
        Unstable = 0,
        /// The data is on stable storage.
        DataSync = 1,
        /// The data and all metadata are on stable storage.
        FileSync = 2,
    }
}
