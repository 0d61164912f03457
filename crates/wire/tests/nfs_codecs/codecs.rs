//! All codecs behind one pair of functions, so that each check runs over all of them.

use std::fmt::Debug;

use wire::mount::{DirPath, Exports, MountResult};
use wire::nfs3::*;
use wire::nfs4;
use wire::portmap::{Binding, Dump, Mapping, UniversalAddress};
use wire::rpc::{AuthSys, CallHeader, ReplyHeader};
use wire::xdr::{Decode, DecodeError, Encode, decode_all};

use crate::sample::{Sample, Source};

/// One type's codec.
pub struct Codec {
    pub name: &'static str,
    /// Decodes, and checks that an accepted message encodes to the same bytes again.
    pub decode: fn(&[u8]) -> Result<(), DecodeError>,
    /// Encodes a value built from arbitrary bytes, checks that it decodes to the same value, and returns its encoded
    /// form.
    pub round_trip: fn(&[u8]) -> Vec<u8>,
}

fn decode<'a, T: Decode<'a> + Encode>(bytes: &'a [u8]) -> Result<(), DecodeError> {
    let value: T = decode_all(bytes)?;
    let mut again = Vec::with_capacity(bytes.len());
    value.encode(&mut again);
    assert_eq!(again, bytes, "a message that is accepted has one form only");
    Ok(())
}

/// The caller builds the value because its type borrows from the source, and the decoded one from the encoded form.
fn encode<T: Encode>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    value.encode(&mut bytes);
    assert_eq!(bytes.len() % 4, 0, "everything in XDR is a multiple of four bytes");
    bytes
}

fn same<'a, T: Decode<'a> + PartialEq + Debug>(bytes: &'a [u8], value: &T) {
    assert_eq!(&decode_all::<T>(bytes).expect("what was encoded is decoded"), value);
}

fn made<'a, T: Sample<'a>>(entropy: &'a [u8]) -> T {
    Source::new(entropy).get()
}

macro_rules! codecs {
    ($($type:ty),* $(,)?) => {
        vec![$(Codec {
            name: stringify!($type),
            decode: |bytes| decode::<$type>(bytes),
            round_trip: |entropy| {
                let value: $type = made(entropy);
                let bytes = encode(&value);
                same::<$type>(&bytes, &value);
                bytes
            },
        }),*]
    };
}

type Attrs = Option<Attributes>;

/// Arguments and results of all NFSv3 procedures, and the heads of READ and WRITE.
pub fn nfs() -> Vec<Codec> {
    codecs![
        (),
        FileHandle,
        ProcedureResult<Attributes, ()>,
        SetattrArgs,
        ProcedureResult<WccData, WccData>,
        DirArgs<'_>,
        ProcedureResult<LookupOk, Attrs>,
        AccessArgs,
        ProcedureResult<AccessOk, Attrs>,
        ProcedureResult<ReadlinkOk<'_>, Attrs>,
        ReadArgs,
        ReadHead,
        ProcedureResult<ReadOk<'_>, Attrs>,
        WriteArgs<'_>,
        WriteHead,
        ProcedureResult<WriteOk, WccData>,
        CreateArgs<'_>,
        MkdirArgs<'_>,
        SymlinkArgs<'_>,
        MknodArgs<'_>,
        ProcedureResult<CreateOk, WccData>,
        RenameArgs<'_>,
        ProcedureResult<RenameWcc, RenameWcc>,
        LinkArgs<'_>,
        ProcedureResult<LinkWcc, LinkWcc>,
        ReaddirArgs,
        ProcedureResult<ReaddirOk<'_>, Attrs>,
        ReaddirplusArgs,
        ProcedureResult<ReaddirplusOk<'_>, Attrs>,
        ProcedureResult<FsstatOk, Attrs>,
        ProcedureResult<FsinfoOk, Attrs>,
        ProcedureResult<PathconfOk, Attrs>,
        CommitArgs,
        ProcedureResult<CommitOk, WccData>,
        Procedure,
    ]
}

/// Operations and outcomes of NFSv4.1, and the heads of COMPOUND, READ and WRITE.
pub fn nfs41() -> Vec<Codec> {
    codecs![
        nfs4::OpArgument<'_>,
        nfs4::OpOutcome<'_>,
        nfs4::CallHead<'_>,
        nfs4::ReplyHead<'_>,
        nfs4::Read4Head,
        nfs4::Write4Head,
        nfs4::Fattr<'_>,
        nfs4::Bitmap,
    ]
}

/// RPC headers, credentials, portmap and MOUNT.
pub fn rpc() -> Vec<Codec> {
    codecs![
        CallHeader<'_>,
        ReplyHeader<'_>,
        AuthSys<'_>,
        Mapping,
        Dump,
        Binding<'_>,
        UniversalAddress<'_>,
        DirPath<'_>,
        MountResult,
        Exports<'_>,
    ]
}
