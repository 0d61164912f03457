//! The MOUNT protocol, version 3 (RFC 1813 appendix I): from an export's path to its file handle.

use crate::nfs3::FileHandle;
use crate::xdr::{Decode, DecodeError, Encode, Reader, put_list, read_list, xdr_bytes};

/// Program number.
pub const PROGRAM: u32 = 100_005;
/// Version implemented here.
pub const VERSION: u32 = 3;

/// Do nothing.
pub const PROC_NULL: u32 = 0;
/// Mount: [`DirPath`] to [`MountResult`].
pub const PROC_MNT: u32 = 1;
/// Unmount: [`DirPath`] to nothing.
pub const PROC_UMNT: u32 = 3;
/// Unmount everything of this client: nothing to nothing.
pub const PROC_UMNTALL: u32 = 4;
/// List the exports: nothing to [`Exports`].
pub const PROC_EXPORT: u32 = 5;

xdr_bytes!(
    /// The path of an export (`dirpath`), at most `MNTPATHLEN` bytes.
    DirPath,
    "export path",
    1024
);
xdr_bytes!(
    /// The name of a group of hosts (`name`), at most `MNTNAMLEN` bytes.
    GroupName,
    "group name",
    255
);

/// `mountstat3`: the outcome of an MNT call. Unnamed numbers are kept as they are.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct MountStatus(pub u32);

impl MountStatus {
    /// No error.
    pub const OK: Self = Self(0);
    /// Not owner.
    pub const PERM: Self = Self(1);
    /// No such file or directory.
    pub const NOENT: Self = Self(2);
    /// I/O error.
    pub const IO: Self = Self(5);
    /// Permission denied.
    pub const ACCES: Self = Self(13);
    /// Not a directory.
    pub const NOTDIR: Self = Self(20);
    /// Invalid argument.
    pub const INVAL: Self = Self(22);
    /// Name too long.
    pub const NAMETOOLONG: Self = Self(63);
    /// Operation not supported.
    pub const NOTSUPP: Self = Self(10_004);
    /// Internal server error.
    pub const SERVERFAULT: Self = Self(10_006);

    /// The RFC's name, or `MNT3ERR` for a number without one.
    pub const fn name(self) -> &'static str {
        match self {
            Self::OK => "MNT3_OK",
            Self::PERM => "MNT3ERR_PERM",
            Self::NOENT => "MNT3ERR_NOENT",
            Self::IO => "MNT3ERR_IO",
            Self::ACCES => "MNT3ERR_ACCES",
            Self::NOTDIR => "MNT3ERR_NOTDIR",
            Self::INVAL => "MNT3ERR_INVAL",
            Self::NAMETOOLONG => "MNT3ERR_NAMETOOLONG",
            Self::NOTSUPP => "MNT3ERR_NOTSUPP",
            Self::SERVERFAULT => "MNT3ERR_SERVERFAULT",
            _ => "MNT3ERR",
        }
    }
}

impl std::fmt::Debug for MountStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.name(), self.0)
    }
}

impl std::fmt::Display for MountStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(self, f)
    }
}

/// A mounted export (`mountres3_ok`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mounted {
    /// Handle of the export's root directory.
    pub root: FileHandle,
    /// Authentication flavors that the export accepts.
    pub flavors: Vec<u32>,
}

impl Mounted {
    /// Maximum number of flavors accepted.
    pub const FLAVORS_LIMIT: usize = 64;
}

/// The result of MNT.
pub type MountResult = Result<Mounted, MountStatus>;

impl Encode for MountResult {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Ok(mounted) => {
                MountStatus::OK.0.encode(out);
                mounted.root.encode(out);
                (mounted.flavors.len() as u32).encode(out);
                for flavor in &mounted.flavors {
                    flavor.encode(out);
                }
            }
            Err(status) => status.0.encode(out),
        }
    }
}

impl Decode<'_> for MountResult {
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let status = MountStatus(from.u32()?);
        if status != MountStatus::OK {
            return Ok(Err(status));
        }
        let root = FileHandle::decode(from)?;
        let count = from.length("flavor list", Mounted::FLAVORS_LIMIT)?;
        let flavors = (0..count).map(|_| from.u32()).collect::<Result<_, _>>()?;
        Ok(Ok(Mounted { root, flavors }))
    }
}

/// One export and who may mount it (`exportnode`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export<'a> {
    /// The path to mount.
    pub path: DirPath<'a>,
    /// Hosts or groups of hosts; empty means everyone.
    pub groups: Vec<GroupName<'a>>,
}

impl Encode for Export<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        self.path.encode(out);
        put_list(out, &self.groups);
    }
}

impl<'a> Decode<'a> for Export<'a> {
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self { path: DirPath::decode(from)?, groups: read_list(from, "group list", Exports::LIMIT)? })
    }
}

/// The result of EXPORT.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exports<'a>(pub Vec<Export<'a>>);

impl Exports<'_> {
    /// Maximum number of exports accepted, and of groups per export.
    pub const LIMIT: usize = 4096;
}

impl Encode for Exports<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        put_list(out, &self.0);
    }
}

impl<'a> Decode<'a> for Exports<'a> {
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(Self(read_list(from, "export list", Self::LIMIT)?))
    }
}
