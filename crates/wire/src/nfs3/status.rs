//! Outcome of a procedure (`nfsstat3`, RFC 1813 section 2.6).

use crate::xdr::{Decode, DecodeError, Encode, Reader};

/// A procedure's status. Unnamed numbers are kept as they are.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status(pub u32);

macro_rules! statuses {
    ($($(#[$meta:meta])* $name:ident = $value:literal,)*) => {
        impl Status {
            $($(#[$meta])* pub const $name: Self = Self($value);)*

            /// The RFC's name, or `NFS3ERR` for a number without one.
            pub const fn name(self) -> &'static str {
                match self {
                    Self::OK => "NFS3_OK",
                    $(Self::$name => concat!("NFS3ERR_", stringify!($name)),)*
                    _ => "NFS3ERR",
                }
            }
        }
    };
}

impl Status {
    /// The call succeeded.
    pub const OK: Self = Self(0);
}

statuses! {
    /// Not owner.
    PERM = 1,
    /// No such file or directory.
    NOENT = 2,
    /// I/O error.
    IO = 5,
    /// No such device or address.
    NXIO = 6,
    /// Permission denied.
    ACCES = 13,
    /// It already exists.
    EXIST = 17,
    /// Link across devices.
    XDEV = 18,
    /// No such device.
    NODEV = 19,
    /// Not a directory.
    NOTDIR = 20,
    /// It is a directory.
    ISDIR = 21,
    /// Invalid argument.
    INVAL = 22,
    /// File too large.
    FBIG = 27,
    /// No space left.
    NOSPC = 28,
    /// Read-only file system.
    ROFS = 30,
    /// Too many links.
    MLINK = 31,
    /// Name too long.
    NAMETOOLONG = 63,
    /// Directory not empty.
    NOTEMPTY = 66,
    /// Quota exhausted.
    DQUOT = 69,
    /// The handle no longer refers to anything.
    STALE = 70,
    /// Too many levels of remote in the path.
    REMOTE = 71,
    /// The handle is malformed.
    BADHANDLE = 10_001,
    /// SETATTR's guard did not match.
    NOT_SYNC = 10_002,
    /// The directory's cookie is stale.
    BAD_COOKIE = 10_003,
    /// Not supported.
    NOTSUPP = 10_004,
    /// The buffer or the request is too small.
    TOOSMALL = 10_005,
    /// Internal server error.
    SERVERFAULT = 10_006,
    /// The object type is not supported.
    BADTYPE = 10_007,
    /// The server asks the client to retry later.
    JUKEBOX = 10_008,
}

impl std::fmt::Debug for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.name(), self.0)
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self, f)
    }
}

/// A failed procedure, with what else the server returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NfsFailure<T> {
    /// Never [`Status::OK`].
    pub status: Status,
    /// Attributes, as defined for the procedure.
    pub detail: T,
}

/// A procedure's result: a union over its status.
pub type ProcedureResult<T, F> = Result<T, NfsFailure<F>>;

impl<T: Encode, F: Encode> Encode for ProcedureResult<T, F> {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Ok(result) => {
                Status::OK.0.encode(out);
                result.encode(out);
            }
            Err(failure) => {
                failure.status.0.encode(out);
                failure.detail.encode(out);
            }
        }
    }
}

impl<'a, T: Decode<'a>, F: Decode<'a>> Decode<'a> for ProcedureResult<T, F> {
    // Inlined, so that only what is looked at of a result is decoded.
    #[inline(always)]
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        match Status(from.u32()?) {
            Status::OK => Ok(Ok(T::decode(from)?)),
            status => Ok(Err(NfsFailure { status, detail: F::decode(from)? })),
        }
    }
}
