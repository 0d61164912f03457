//! OpOutcome of an operation or a COMPOUND (`nfsstat4`, RFC 8881 section 15.1).

use crate::xdr::{Decode, DecodeError, Encode, Reader};

/// A status. Unnamed numbers are kept as they are. Numbers that also exist in version 3 have the same meaning there.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Nfs4Status(pub u32);

macro_rules! statuses {
    ($($name:ident = $value:literal,)*) => {
        #[allow(missing_docs, reason = "the names are the RFC's; their meaning is in its section 15.1")]
        impl Nfs4Status {
            $(pub const $name: Self = Self($value);)*

            /// Every named failure.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The RFC's name, or `NFS4ERR` for a number without one.
            pub const fn name(self) -> &'static str {
                match self {
                    Self::OK => "NFS4_OK",
                    $(Self::$name => concat!("NFS4ERR_", stringify!($name)),)*
                    _ => "NFS4ERR",
                }
            }
        }
    };
}

impl Nfs4Status {
    /// The operation succeeded.
    pub const OK: Self = Self(0);
}

statuses! {
    PERM = 1,
    NOENT = 2,
    IO = 5,
    NXIO = 6,
    ACCESS = 13,
    EXIST = 17,
    XDEV = 18,
    NOTDIR = 20,
    ISDIR = 21,
    INVAL = 22,
    FBIG = 27,
    NOSPC = 28,
    ROFS = 30,
    MLINK = 31,
    NAMETOOLONG = 63,
    NOTEMPTY = 66,
    DQUOT = 69,
    STALE = 70,
    BADHANDLE = 10_001,
    BAD_COOKIE = 10_003,
    NOTSUPP = 10_004,
    TOOSMALL = 10_005,
    SERVERFAULT = 10_006,
    BADTYPE = 10_007,
    DELAY = 10_008,
    SAME = 10_009,
    DENIED = 10_010,
    EXPIRED = 10_011,
    LOCKED = 10_012,
    GRACE = 10_013,
    FHEXPIRED = 10_014,
    SHARE_DENIED = 10_015,
    WRONGSEC = 10_016,
    CLID_INUSE = 10_017,
    MOVED = 10_019,
    NOFILEHANDLE = 10_020,
    MINOR_VERS_MISMATCH = 10_021,
    STALE_CLIENTID = 10_022,
    STALE_STATEID = 10_023,
    OLD_STATEID = 10_024,
    BAD_STATEID = 10_025,
    BAD_SEQID = 10_026,
    NOT_SAME = 10_027,
    SYMLINK = 10_029,
    RESTOREFH = 10_030,
    LEASE_MOVED = 10_031,
    ATTRNOTSUPP = 10_032,
    NO_GRACE = 10_033,
    RECLAIM_BAD = 10_034,
    RECLAIM_CONFLICT = 10_035,
    BADXDR = 10_036,
    LOCKS_HELD = 10_037,
    OPENMODE = 10_038,
    BADOWNER = 10_039,
    BADCHAR = 10_040,
    BADNAME = 10_041,
    OP_ILLEGAL = 10_044,
    FILE_OPEN = 10_046,
    ADMIN_REVOKED = 10_047,
    CB_PATH_DOWN = 10_048,
    BADIOMODE = 10_049,
    BADLAYOUT = 10_050,
    BAD_SESSION_DIGEST = 10_051,
    BADSESSION = 10_052,
    BADSLOT = 10_053,
    COMPLETE_ALREADY = 10_054,
    CONN_NOT_BOUND_TO_SESSION = 10_055,
    DELEG_ALREADY_WANTED = 10_056,
    BACK_CHAN_BUSY = 10_057,
    LAYOUTTRYLATER = 10_058,
    LAYOUTUNAVAILABLE = 10_059,
    NOMATCHING_LAYOUT = 10_060,
    RECALLCONFLICT = 10_061,
    UNKNOWN_LAYOUTTYPE = 10_062,
    SEQ_MISORDERED = 10_063,
    SEQUENCE_POS = 10_064,
    REQ_TOO_BIG = 10_065,
    REP_TOO_BIG = 10_066,
    REP_TOO_BIG_TO_CACHE = 10_067,
    RETRY_UNCACHED_REP = 10_068,
    UNSAFE_COMPOUND = 10_069,
    TOO_MANY_OPS = 10_070,
    OP_NOT_IN_SESSION = 10_071,
    HASH_ALG_UNSUPP = 10_072,
    CLIENTID_BUSY = 10_074,
    PNFS_IO_HOLE = 10_075,
    SEQ_FALSE_RETRY = 10_076,
    BAD_HIGH_SLOT = 10_077,
    DEADSESSION = 10_078,
    ENCR_ALG_UNSUPP = 10_079,
    PNFS_NO_LAYOUT = 10_080,
    NOT_ONLY_OP = 10_081,
    WRONG_CRED = 10_082,
    WRONG_TYPE = 10_083,
    DIRDELEG_UNAVAIL = 10_084,
    REJECT_DELEG = 10_085,
    RETURNCONFLICT = 10_086,
    DELEG_REVOKED = 10_087,
}

impl std::fmt::Debug for Nfs4Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.name(), self.0)
    }
}

impl std::fmt::Display for Nfs4Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self, f)
    }
}

impl Encode for Nfs4Status {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }
}

impl Decode<'_> for Nfs4Status {
    #[inline]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self(from.u32()?))
    }
}

/// The result of an operation: a union over its status, empty on failure.
impl<T: Encode> Encode for Result<T, Nfs4Status> {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Ok(value) => {
                Nfs4Status::OK.encode(out);
                value.encode(out);
            }
            Err(status) => status.encode(out),
        }
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for Result<T, Nfs4Status> {
    #[inline]
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        match Nfs4Status::decode(from)? {
            Nfs4Status::OK => Ok(Ok(T::decode(from)?)),
            status => Ok(Err(status)),
        }
    }
}
