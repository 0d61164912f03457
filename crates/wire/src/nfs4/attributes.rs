//! Attributes4 of files (`fattr4`, RFC 8881 section 5): a set of numbers, and the values of these attributes in order.

use super::types::{Bitmap, Owner, Time4};
use crate::nfs3::FileType;
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

/// Numbers of attributes, for requests.
pub struct Attribute;

macro_rules! attributes {
    ($($(#[$meta:meta])* $number:ident = $value:literal, $field:ident: $type:ty;)*) => {
        impl Attribute {
            $($(#[$meta])* pub const $number: u32 = $value;)*
        }

        /// Values of attributes; `None` for those that are absent.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Attributes4<'a> {
            $($(#[$meta])* pub $field: Option<$type>,)*
        }

        impl<'a> Attributes4<'a> {
            /// The attributes that [`Attributes4`] can hold.
            pub const KNOWN: Bitmap = Bitmap::of(&[$($value,)*]);

            /// The values of attributes that were asked for.
            ///
            /// # Errors
            /// When the values do not match the set, or the set has a number that is not among [`Attributes4::KNOWN`].
            #[inline]
            pub fn of(sent: &Fattr<'a>) -> Result<Self, DecodeError> {
                let mut found = Self::default();
                let mut from = Reader::new(sent.values);
                for number in sent.mask.numbers() {
                    match number {
                        $($value => found.$field = Some(<$type>::decode(&mut from)?),)*
                        value => return Err(DecodeError::BadDiscriminant { what: "attribute", value }),
                    }
                }
                from.finish()?;
                Ok(found)
            }

            /// Appends the values to `values`, and returns the set of their numbers.
            pub fn put(&self, values: &mut Vec<u8>) -> Bitmap {
                let mut numbers = [0; 32];
                let mut count = 0;
                $(if let Some(value) = &self.$field {
                    value.encode(values);
                    numbers[count] = $value;
                    count += 1;
                })*
                Bitmap::of(&numbers[..count])
            }
        }
    };
}

attributes! {
    /// Type. Named attributes (8 and 9) are unknown types.
    TYPE = 1, kind: FileType;
    /// Changes with each change of the file.
    CHANGE = 3, change: u64;
    /// Size in bytes.
    SIZE = 4, size: u64;
    /// File system: major and minor number.
    FSID = 8, file_system: FileSystem;
    /// Seconds for which the server keeps the state of a silent client.
    LEASE_TIME = 10, lease_s: u32;
    /// Inode number within the file system.
    FILE_ID = 20, file_id: u64;
    /// Largest READ, in bytes.
    MAX_READ = 30, read_max: u64;
    /// Largest WRITE, in bytes.
    MAX_WRITE = 31, write_max: u64;
    /// Permission bits.
    MODE = 33, mode: u32;
    /// Number of hard links.
    LINKS = 35, links: u32;
    /// Owner.
    OWNER = 36, owner: Owner<'a>;
    /// Group.
    GROUP = 37, group: Owner<'a>;
    /// Free bytes available to this user.
    SPACE_AVAILABLE = 42, available_bytes: u64;
    /// Bytes of storage used.
    SPACE_USED = 45, used: u64;
    /// Last access.
    ACCESSED = 47, accessed: Time4;
    /// Last change of the attributes.
    CHANGED = 52, changed: Time4;
    /// Last change of the data.
    MODIFIED = 53, modified: Time4;
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
