//! READDIR and READDIRPLUS (RFC 1813 sections 3.3.16 and 3.3.17).
//!
//! A server that fills a reply up to the client's limit appends entries one by one with [`put_dir_entry`], checking the
//! length as it goes, and closes the list with [`put_dir_end`].

use super::attributes::Attributes;
use super::types::{FileHandle, Name, Verifier};
use crate::xdr::{Decode, DecodeError, Encode, Reader, put_list, read_list, xdr_struct};

/// Maximum number of entries accepted per reply.
const ENTRIES_LIMIT: usize = 65_536;

xdr_struct! {
    /// READDIR.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    ReaddirArgs {
        /// The directory.
        directory: FileHandle,
        /// Where to continue; 0 for the start.
        cookie: u64,
        /// The verifier from the reply that contained the cookie; zero for the start.
        verifier: Verifier,
        /// Largest result in bytes.
        count: u32,
    }
}

xdr_struct! {
    /// READDIRPLUS.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    ReaddirplusArgs {
        /// The directory.
        directory: FileHandle,
        /// Where to continue; 0 for the start.
        cookie: u64,
        /// The verifier from the reply that contained the cookie; zero for the start.
        verifier: Verifier,
        /// Largest directory information (ids, names, cookies) in bytes.
        dir_count: u32,
        /// Largest result in bytes.
        max_count: u32,
    }
}

xdr_struct! {
    /// An entry of READDIR (`entry3`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    ReaddirEntry<'a> {
        /// Inode number within the file system.
        file_id: u64,
        /// The name.
        name: Name<'a>,
        /// Cookie for the next entry.
        cookie: u64,
    }
}

xdr_struct! {
    /// An entry of READDIRPLUS (`entryplus3`).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    ReaddirplusEntry<'a> {
        /// Inode number within the file system.
        file_id: u64,
        /// The name.
        name: Name<'a>,
        /// Cookie for the next entry.
        cookie: u64,
        /// Its attributes.
        attributes: Option<Attributes>,
        /// Its handle.
        file: Option<FileHandle>,
    }
}

/// Appends one entry of a listing.
pub fn put_dir_entry<T: Encode>(out: &mut Vec<u8>, entry: &T) {
    true.encode(out);
    entry.encode(out);
}

/// Ends a listing.
pub fn put_dir_end(out: &mut Vec<u8>, eof: bool) {
    false.encode(out);
    eof.encode(out);
}

/// Result of READDIR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReaddirOk<'a> {
    /// Attributes of the directory.
    pub attributes: Option<Attributes>,
    /// The verifier for the cookies.
    pub verifier: Verifier,
    /// The entries.
    pub entries: Vec<ReaddirEntry<'a>>,
    /// Whether this is the end of the directory.
    pub eof: bool,
}

/// Result of READDIRPLUS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReaddirplusOk<'a> {
    /// Attributes of the directory.
    pub attributes: Option<Attributes>,
    /// The verifier for the cookies.
    pub verifier: Verifier,
    /// The entries.
    pub entries: Vec<ReaddirplusEntry<'a>>,
    /// Whether this is the end of the directory.
    pub eof: bool,
}

macro_rules! listing {
    ($name:ident) => {
        impl Encode for $name<'_> {
            fn encode(&self, out: &mut Vec<u8>) {
                self.attributes.encode(out);
                self.verifier.encode(out);
                put_list(out, &self.entries);
                self.eof.encode(out);
            }
        }

        impl<'a> Decode<'a> for $name<'a> {
            fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
                Ok(Self {
                    attributes: Option::decode(from)?,
                    verifier: Verifier::decode(from)?,
                    entries: read_list(from, "directory entries", ENTRIES_LIMIT)?,
                    eof: from.bool()?,
                })
            }
        }
    };
}

listing!(ReaddirOk);
listing!(ReaddirplusOk);
