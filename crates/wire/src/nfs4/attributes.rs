//! Attributes4 of files (`fattr4`, RFC 8881 section 5): a set of numbers, and the values of these attributes in order.

use super::types::{Bitmap, Handle, Owner, Time4};
use super::{Attribute, Nfs4Status};
use crate::nfs3::{Device, FileType};
use crate::xdr::{Decode, DecodeError, Encode, Reader, put_opaque};

/// Maximum length of the values, in bytes.
const VALUES_LIMIT: usize = 64 << 10;

/// Attributes4 as they are sent: [`Attributes4::of`] gives their values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fattr<'a> {
    /// Which attributes.
    pub mask: Bitmap,
    /// Their values, in the order of their numbers.
    pub values: &'a [u8],
}

impl Encode for Fattr<'_> {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        self.mask.encode(out);
        put_opaque(out, self.values);
    }
}

impl<'a> Decode<'a> for Fattr<'a> {
    #[inline]
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self { mask: Bitmap::decode(from)?, values: from.opaque("attribute values", VALUES_LIMIT)? })
    }
}

macro_rules! attributes {
    ($(#[$meta:meta])* $name:ident { $($(#[$fmeta:meta])* $number:ident, $field:ident: $type:ty;)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name<'a> {
            $($(#[$fmeta])* pub $field: Option<$type>,)*
        }

        impl<'a> $name<'a> {
            /// The attributes that this can hold.
            pub const KNOWN: Bitmap = Bitmap::of(&[$(Attribute::$number,)*]);

            /// The values of attributes that were sent.
            ///
            /// # Errors
            /// When the values do not match the set, or the set has a number that is not among those known.
            #[inline]
            pub fn of(sent: &Fattr<'a>) -> Result<Self, DecodeError> {
                let mut found = Self::default();
                let mut from = Reader::new(sent.values);
                for number in sent.mask.numbers() {
                    match number {
                        $(Attribute::$number => found.$field = Some(<$type>::decode(&mut from)?),)*
                        value => return Err(DecodeError::BadDiscriminant { what: "attribute", value }),
                    }
                }
                from.finish()?;
                Ok(found)
            }

            /// Appends the values to `values`, and returns the set of their numbers.
            pub fn put(&self, values: &mut Vec<u8>) -> Bitmap {
                self.put_some(&Self::KNOWN, values)
            }

            /// The same with those among `asked` only.
            pub fn put_some(&self, asked: &Bitmap, values: &mut Vec<u8>) -> Bitmap {
                let mut numbers = [0; 64];
                let mut count = 0;
                $(if let (true, Some(value)) = (asked.has(Attribute::$number), &self.$field) {
                    value.encode(values);
                    numbers[count] = Attribute::$number;
                    count += 1;
                })*
                Bitmap::of(&numbers[..count])
            }
        }
    };
}

attributes! {
    /// Values of the attributes that our client uses; `None` for those that are absent.
    Attributes4 {
        /// Type. Named attributes (8 and 9) are unknown types.
        TYPE, kind: FileType;
        /// Changes with each change of the file.
        CHANGE, change: u64;
        /// Size in bytes.
        SIZE, size: u64;
        /// File system: major and minor number.
        FSID, file_system: FileSystem;
        /// Seconds for which the server keeps the state of a silent client.
        LEASE_TIME, lease_s: u32;
        /// Inode number within the file system.
        FILE_ID, file_id: u64;
        /// Largest READ, in bytes.
        MAX_READ, read_max: u64;
        /// Largest WRITE, in bytes.
        MAX_WRITE, write_max: u64;
        /// Permission bits.
        MODE, mode: u32;
        /// Number of hard links.
        LINKS, links: u32;
        /// Owner.
        OWNER, owner: Owner<'a>;
        /// Group.
        GROUP, group: Owner<'a>;
        /// Free bytes available to this user.
        SPACE_AVAILABLE, available_bytes: u64;
        /// Bytes of storage used.
        SPACE_USED, used: u64;
        /// Last access.
        ACCESSED, accessed: Time4;
        /// Last change of the attributes.
        CHANGED, changed: Time4;
        /// Last change of the data.
        MODIFIED, modified: Time4;
    }
}

attributes! {
    /// Values of the attributes that our server has: those that every server must have, and those that clients mount with.
    ServedAttributes {
        /// The attributes that the server has for this file.
        SUPPORTED, supported: Bitmap;
        /// Type.
        TYPE, kind: FileType;
        /// When handles expire: 0 for never.
        HANDLE_EXPIRY, handle_expiry: u32;
        /// Changes with each change of the file.
        CHANGE, change: u64;
        /// Size in bytes.
        SIZE, size: u64;
        /// Hard links can be made.
        HAS_LINKS, has_links: bool;
        /// Symbolic links can be made.
        HAS_SYMLINKS, has_symlinks: bool;
        /// The file has named attributes.
        HAS_NAMED, has_named: bool;
        /// File system: major and minor number.
        FSID, file_system: FileSystem;
        /// Different handles are different files.
        UNIQUE_HANDLES, unique_handles: bool;
        /// Seconds for which the server keeps the state of a silent client.
        LEASE_TIME, lease_s: u32;
        /// Why an entry of a listing has no attributes.
        READ_ERROR, read_error: Nfs4Status;
        /// Times can be set.
        CAN_SET_TIME, can_set_time: bool;
        /// Names in upper and lower case are the same.
        CASE_INSENSITIVE, case_insensitive: bool;
        /// Names keep their case.
        CASE_PRESERVING, case_preserving: bool;
        /// Only the superuser may give files away.
        CHOWN_RESTRICTED, chown_restricted: bool;
        /// The file's handle.
        HANDLE, handle: Handle;
        /// Inode number within the file system.
        FILE_ID, file_id: u64;
        /// Free file slots available to this user.
        FILES_AVAILABLE, files_available: u64;
        /// Free file slots.
        FILES_FREE, files_free: u64;
        /// File slots.
        FILES_TOTAL, files_total: u64;
        /// All files of the file system have the same limits.
        HOMOGENEOUS, homogeneous: bool;
        /// Largest file, in bytes.
        MAX_FILE_SIZE, file_size_max: u64;
        /// Most hard links of a file.
        MAX_LINKS, links_max: u32;
        /// Longest name, in bytes.
        MAX_NAME, name_max: u32;
        /// Largest READ, in bytes.
        MAX_READ, read_max: u64;
        /// Largest WRITE, in bytes.
        MAX_WRITE, write_max: u64;
        /// Permission bits.
        MODE, mode: u32;
        /// Longer names are refused, not truncated.
        NO_TRUNCATION, no_truncation: bool;
        /// Number of hard links.
        LINKS, links: u32;
        /// Owner.
        OWNER, owner: Owner<'a>;
        /// Group.
        GROUP, group: Owner<'a>;
        /// A device's numbers.
        DEVICE, device: Device;
        /// Free bytes available to this user.
        SPACE_AVAILABLE, available_bytes: u64;
        /// Free bytes.
        SPACE_FREE, free_bytes: u64;
        /// Bytes of the file system.
        SPACE_TOTAL, total_bytes: u64;
        /// Bytes of storage used.
        SPACE_USED, used: u64;
        /// Last access.
        ACCESSED, accessed: Time4;
        /// Smallest step of times.
        TIME_STEP, time_step: Time4;
        /// Last change of the attributes.
        CHANGED, changed: Time4;
        /// Last change of the data.
        MODIFIED, modified: Time4;
        /// Inode number of the directory that this file system is mounted on.
        MOUNTED_ON, mounted_on: u64;
        /// The attributes that an exclusive create can set.
        SETTABLE_AT_CREATION, settable_at_creation: Bitmap;
    }
}

attributes! {
    /// Values of the attributes that can be set; `None` leaves one unchanged.
    SetAttributes4 {
        /// Size in bytes.
        SIZE, size: u64;
        /// Permission bits.
        MODE, mode: u32;
        /// Owner.
        OWNER, owner: Owner<'a>;
        /// Group.
        GROUP, group: Owner<'a>;
        /// Last access.
        SET_ACCESSED, accessed: SetTime4;
        /// Last change of the data.
        SET_MODIFIED, modified: SetTime4;
    }
}

/// How to set a time (`settime4`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetTime4 {
    /// To the server's time.
    Server,
    /// To this time.
    Client(Time4),
}

impl Encode for SetTime4 {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Server => 0u32.encode(out),
            Self::Client(time) => {
                1u32.encode(out);
                time.encode(out);
            }
        }
    }
}

impl Decode<'_> for SetTime4 {
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match from.u32()? {
            0 => Ok(Self::Server),
            1 => Ok(Self::Client(Time4::decode(from)?)),
            value => Err(DecodeError::BadDiscriminant { what: "time_how4", value }),
        }
    }
}

/// Major and minor number of a file system (`fsid4`).
pub type FileSystem = (u64, u64);

impl Encode for FileSystem {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
        self.1.encode(out);
    }
}

impl Decode<'_> for FileSystem {
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok((from.u64()?, from.u64()?))
    }
}
