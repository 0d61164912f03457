//! Generates valid values of every type from arbitrary bytes.

use wire::mount::{DirPath, Export, Exports, GroupName, MountStatus, Mounted};
use wire::nfs3::*;
use wire::portmap::{Binding, Dump, Label, Mapping, UniversalAddress};
use wire::rpc::{AcceptStatus, Auth, AuthStatus, AuthSys, CallHeader, Gids, ReplyBody, ReplyHeader};

/// Arbitrary bytes from which decisions and contents are drawn; zeros once they are exhausted.
pub struct Source<'a> {
    bytes: &'a [u8],
}

impl<'a> Source<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// The next bytes, as many as are left, at most `max`.
    pub fn bytes(&mut self, max: usize) -> &'a [u8] {
        let want = usize::from(self.get::<u16>()) % (max + 1);
        let (taken, rest) = self.bytes.split_at(want.min(self.bytes.len()));
        self.bytes = rest;
        taken
    }

    pub fn get<T: Sample<'a>>(&mut self) -> T {
        T::sample(self)
    }

    pub fn choose(&mut self, choices: u8) -> u8 {
        self.get::<u8>() % choices
    }

    pub fn list<T: Sample<'a>>(&mut self) -> Vec<T> {
        (0..self.choose(6)).map(|_| self.get()).collect()
    }
}

/// A type with a generator for valid values.
pub trait Sample<'a>: Sized {
    fn sample(from: &mut Source<'a>) -> Self;
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Sample<'_> for $type {
            fn sample(from: &mut Source<'_>) -> Self {
                let mut bytes = [0; size_of::<$type>()];
                let have = bytes.len().min(from.bytes.len());
                bytes[..have].copy_from_slice(&from.bytes[..have]);
                from.bytes = &from.bytes[have..];
                <$type>::from_be_bytes(bytes)
            }
        }
    )*};
}
integers!(u8, u16, u32, u64);

macro_rules! structures {
    ($($type:ident { $($field:ident),* })*) => {$(
        impl<'a> Sample<'a> for $type {
            fn sample(from: &mut Source<'a>) -> Self { Self { $($field: from.get()),* } }
        }
    )*};
}
macro_rules! borrowing {
    ($($type:ident { $($field:ident),* })*) => {$(
        impl<'a> Sample<'a> for $type<'a> {
            fn sample(from: &mut Source<'a>) -> Self { Self { $($field: from.get()),* } }
        }
    )*};
}
macro_rules! enumerations {
    ($($type:ident),*) => {$(
        impl Sample<'_> for $type {
            fn sample(from: &mut Source<'_>) -> Self { <$type>::ALL[usize::from(from.get::<u8>()) % <$type>::ALL.len()] }
        }
    )*};
}
macro_rules! names {
    ($($type:ident),*) => {$(
        impl<'a> Sample<'a> for $type<'a> {
            fn sample(from: &mut Source<'a>) -> Self { Self(from.bytes(<$type>::LIMIT)) }
        }
    )*};
}

structures! {
    Time { seconds, nanoseconds }
    Device { major, minor }
    Attributes { kind, mode, links, uid, gid, size, used, device, fsid, file_id, accessed, modified, changed }
    WccAttributes { size, modified, changed }
    WccData { before, after }
    SetAttributes { mode, uid, gid, size, accessed, modified }
    SetattrArgs { file, attributes, guard }
    AccessArgs { file, access }
    CommitArgs { file, offset, count }
    ReadArgs { file, offset, count }
    ReaddirArgs { directory, cookie, verifier, count }
    ReaddirplusArgs { directory, cookie, verifier, dir_count, max_count }
    LookupOk { file, attributes, directory }
    AccessOk { attributes, access }
    CreateOk { file, attributes, directory }
    RenameWcc { from, to }
    LinkWcc { attributes, directory }
    FsstatOk { attributes, total_bytes, free_bytes, available_bytes, total_files, free_files, available_files, invariant_seconds }
    FsinfoOk { attributes, read_max, read_preferred, read_multiple, write_max, write_preferred, write_multiple, readdir_preferred, file_size_max, time_delta, properties }
    PathconfOk { attributes, link_max, name_max, no_truncation, chown_restricted, case_insensitive, case_preserving }
    CommitOk { attributes, verifier }
    WriteOk { attributes, count, committed, verifier }
    Mapping { program, version, protocol, port }
}
borrowing! {
    DirArgs { directory, name }
    CreateArgs { place, how }
    MkdirArgs { place, attributes }
    SymlinkArgs { place, attributes, target }
    MknodArgs { place, what }
    RenameArgs { from, to }
    LinkArgs { file, link }
    ReadlinkOk { attributes, target }
    ReaddirEntry { file_id, name, cookie }
    ReaddirplusEntry { file_id, name, cookie, attributes, file }
    ReaddirOk { attributes, verifier, entries, eof }
    ReaddirplusOk { attributes, verifier, entries, eof }
    Export { path, groups }
    Binding { program, version, network, address, owner }
    CallHeader { xid, rpc_version, program, version, procedure, credential, verifier }
    ReplyHeader { xid, body }
}
enumerations!(FileType, Stability, AuthStatus, Procedure);
names!(Name, Path, DirPath, GroupName, Label, UniversalAddress);

impl Sample<'_> for bool {
    fn sample(from: &mut Source<'_>) -> Self {
        from.choose(2) == 1
    }
}

impl Sample<'_> for () {
    fn sample(_from: &mut Source<'_>) -> Self {}
}

impl Sample<'_> for Verifier {
    fn sample(from: &mut Source<'_>) -> Self {
        from.get::<u64>().to_be_bytes()
    }
}

impl<'a, T: Sample<'a>> Sample<'a> for Option<T> {
    fn sample(from: &mut Source<'a>) -> Self {
        from.get::<bool>().then(|| from.get())
    }
}

impl<'a, T: Sample<'a>> Sample<'a> for Vec<T> {
    fn sample(from: &mut Source<'a>) -> Self {
        from.list()
    }
}

impl<'a, T: Sample<'a>, F: Sample<'a>> Sample<'a> for ProcedureResult<T, F> {
    fn sample(from: &mut Source<'a>) -> Self {
        match from.choose(3) {
            0 => Err(NfsFailure { status: Status(from.get::<u32>().max(1)), detail: from.get() }),
            _ => Ok(from.get()),
        }
    }
}

impl Sample<'_> for FileHandle {
    fn sample(from: &mut Source<'_>) -> Self {
        Self::new(from.bytes(Self::LIMIT)).expect("at most 64 bytes")
    }
}

impl Sample<'_> for SetTime {
    fn sample(from: &mut Source<'_>) -> Self {
        match from.choose(3) {
            0 => Self::Keep,
            1 => Self::Server,
            _ => Self::Client(from.get()),
        }
    }
}

impl Sample<'_> for CreateHow {
    fn sample(from: &mut Source<'_>) -> Self {
        match from.choose(3) {
            0 => Self::Unchecked(from.get()),
            1 => Self::Guarded(from.get()),
            _ => Self::Exclusive(from.get()),
        }
    }
}

impl Sample<'_> for MknodWhat {
    fn sample(from: &mut Source<'_>) -> Self {
        match from.choose(5) {
            0 => Self::Character(from.get(), from.get()),
            1 => Self::Block(from.get(), from.get()),
            2 => Self::Socket(from.get()),
            3 => Self::Fifo(from.get()),
            _ => Self::Other(FileType::Directory),
        }
    }
}

impl<'a> Sample<'a> for ReadOk<'a> {
    fn sample(from: &mut Source<'a>) -> Self {
        let (attributes, eof, data) = (from.get(), from.get(), from.bytes(5000));
        Self { attributes, count: data.len() as u32, eof, data }
    }
}

impl Sample<'_> for ReadHead {
    fn sample(from: &mut Source<'_>) -> Self {
        let count = from.get::<u32>() >> 2;
        Self { attributes: from.get(), count, eof: from.get(), data_len: count }
    }
}

impl<'a> Sample<'a> for WriteArgs<'a> {
    fn sample(from: &mut Source<'a>) -> Self {
        let (file, offset, stable, data) = (from.get(), from.get(), from.get(), from.bytes(5000));
        Self { file, offset, count: data.len() as u32, stable, data }
    }
}

impl Sample<'_> for WriteHead {
    fn sample(from: &mut Source<'_>) -> Self {
        let count = from.get::<u32>() >> 2;
        Self { file: from.get(), offset: from.get(), count, stable: from.get(), data_len: count }
    }
}

impl<'a> Sample<'a> for Auth<'a> {
    fn sample(from: &mut Source<'a>) -> Self {
        Self { flavor: from.get(), body: from.bytes(400) }
    }
}

impl<'a> Sample<'a> for AuthSys<'a> {
    fn sample(from: &mut Source<'a>) -> Self {
        let gids: Vec<u32> = from.list();
        Self {
            stamp: from.get(),
            machine: from.bytes(255),
            uid: from.get(),
            gid: from.get(),
            gids: Gids::new(&gids),
        }
    }
}

impl<'a> Sample<'a> for ReplyBody<'a> {
    fn sample(from: &mut Source<'a>) -> Self {
        match from.choose(4) {
            0 => Self::RpcMismatch { low: from.get(), high: from.get() },
            1 => Self::AuthError(from.get()),
            _ => Self::Accepted { verifier: from.get(), status: from.get() },
        }
    }
}

impl Sample<'_> for AcceptStatus {
    fn sample(from: &mut Source<'_>) -> Self {
        match from.choose(6) {
            0 => Self::Success,
            1 => Self::ProgramUnavailable,
            2 => Self::ProgramMismatch { low: from.get(), high: from.get() },
            3 => Self::ProcedureUnavailable,
            4 => Self::GarbageArguments,
            _ => Self::SystemError,
        }
    }
}

impl Sample<'_> for MountStatus {
    fn sample(from: &mut Source<'_>) -> Self {
        Self(from.get::<u32>().max(1))
    }
}

impl Sample<'_> for Mounted {
    fn sample(from: &mut Source<'_>) -> Self {
        Self { root: from.get(), flavors: from.list() }
    }
}

impl<'a> Sample<'a> for wire::mount::MountResult {
    fn sample(from: &mut Source<'a>) -> Self {
        if from.choose(3) == 0 { Err(from.get()) } else { Ok(from.get()) }
    }
}

impl Sample<'_> for Dump {
    fn sample(from: &mut Source<'_>) -> Self {
        Self(from.list())
    }
}

impl<'a> Sample<'a> for Exports<'a> {
    fn sample(from: &mut Source<'a>) -> Self {
        Self(from.list())
    }
}
