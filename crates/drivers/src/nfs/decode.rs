//! Decodes the relevant parts of replies.

use wire::nfs3::{
    AccessOk, Attributes, CommitOk, CreateOk, FileHandle, LinkWcc, LookupOk, Name, ProcedureResult, ReadHead,
    ReaddirEntry, ReaddirplusEntry, ReadlinkOk, RenameWcc, Status, Verifier, WccData, WriteOk,
};
use wire::rpc::ReplyHeader;
use wire::xdr::{Decode, DecodeError, Reader};

use super::calls::{Expect, Listed, Reply, Written};
use super::errors::refusal;
use super::slots::{Answer, Piece};

/// The type of a reply, as far as its first bytes show.
pub(super) enum Head {
    /// A READ of this piece, with its payload at this offset.
    Payload(Piece, Coming, usize),
    Answer(Answer),
}

/// What a READ's reply says of its payload.
pub(super) struct Coming {
    /// Bytes read.
    pub(super) count: u32,
    /// The read reached the file's end.
    pub(super) eof: bool,
    /// Length of the payload.
    pub(super) data_len: u32,
}

/// [`ReadHead`] without the attributes, which nobody looks at.
struct HeadOfRead(Coming);

impl Decode<'_> for HeadOfRead {
    #[inline]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        if from.bool()? {
            from.take(Attributes::ENCODED_BYTES)?;
        }
        let (count, eof) = (from.u32()?, from.bool()?);
        Ok(Self(Coming { count, eof, data_len: ReadHead::payload_len(from)? }))
    }
}

/// Decodes a reply; a READ's only up to its payload. A handle in it goes to `file`.
#[inline]
pub(super) fn read_head(record: &[u8], expect: Expect, file: &mut FileHandle) -> Result<Head, DecodeError> {
    let mut reader = Reader::new(record);
    let header = ReplyHeader::decode(&mut reader)?;
    if let Some((kind, text)) = refusal(&header.body) {
        return Ok(Head::Answer(Answer::Failed(kind, text.into())));
    }
    let from = &mut reader;
    let answer = match expect {
        Expect::Read(piece) => {
            let outcome: ProcedureResult<HeadOfRead, Option<Attributes>> = ProcedureResult::decode(from)?;
            match outcome {
                Ok(HeadOfRead(coming)) => return Ok(Head::Payload(piece, coming, reader.position())),
                Err(failure) => Answer::Status(failure.status),
            }
        }
        Expect::Getattr => answer::<Attributes, ()>(from, |found| Reply::Getattr(Some(found.size)))?,
        Expect::Lookup => answer::<LookupOk, Option<Attributes>>(from, |ok| {
            *file = ok.file;
            Reply::Lookup(ok.attributes.map(|attributes| attributes.size))
        })?,
        Expect::Create => answer::<CreateOk, WccData>(from, |ok| {
            ok.file.inspect(|created| *file = *created);
            Reply::Create(ok.file.is_some())
        })?,
        Expect::Remove => answer::<WccData, WccData>(from, |_| Reply::Remove(()))?,
        Expect::Write(_) => answer::<WriteOk, WccData>(from, |ok| {
            let WriteOk { count: bytes, committed, verifier, .. } = ok;
            Reply::Write(Written { bytes, committed, verifier })
        })?,
        Expect::Commit => answer::<CommitOk, WccData>(from, |ok| Reply::Commit(ok.verifier))?,
        // No call of version 3 waits for these.
        Expect::Renew | Expect::Open | Expect::Close => answer::<(), ()>(from, |()| Reply::Renew(()))?,
        Expect::Readdir => answer::<Names, Option<Attributes>>(from, |page| Reply::Readdir(page.0))?,
        Expect::Readdirplus => answer::<Page, Option<Attributes>>(from, |page| Reply::Readdirplus(page.0))?,
        Expect::Access => answer::<AccessOk, Option<Attributes>>(from, |_| Reply::Access(()))?,
        Expect::Setattr => answer::<WccData, WccData>(from, |_| Reply::Setattr(()))?,
        Expect::Rename => answer::<RenameWcc, RenameWcc>(from, |_| Reply::Rename(()))?,
        Expect::Link => answer::<LinkWcc, LinkWcc>(from, |_| Reply::Link(()))?,
        Expect::Symlink => answer::<CreateOk, WccData>(from, |_| Reply::Symlink(()))?,
        Expect::Readlink => answer::<ReadlinkOk<'_>, Option<Attributes>>(from, |_| Reply::Readlink(()))?,
        Expect::Mkdir => answer::<CreateOk, WccData>(from, |_| Reply::Mkdir(()))?,
        Expect::Rmdir => answer::<WccData, WccData>(from, |_| Reply::Rmdir(()))?,
    };
    reader.finish()?;
    Ok(Head::Answer(answer))
}

#[inline]
fn answer<'a, T: Decode<'a>, F: Decode<'a>>(
    from: &mut Reader<'a>,
    reply: impl FnOnce(T) -> Reply,
) -> Result<Answer, DecodeError> {
    Ok(match ProcedureResult::<T, F>::decode(from)? {
        Ok(ok) => Answer::Reply(reply(ok)),
        Err(failure) => {
            debug_assert_ne!(failure.status, Status::OK);
            Answer::Status(failure.status)
        }
    })
}

/// A page of READDIRPLUS.
struct Page(Listed);

impl<'a> Decode<'a> for Page {
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        listed(from, |from| {
            let ReaddirplusEntry { name, cookie, .. } = ReaddirplusEntry::decode(from)?;
            Ok((name, cookie))
        })
        .map(Self)
    }
}

/// A page of READDIR.
struct Names(Listed);

impl<'a> Decode<'a> for Names {
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        listed(from, |from| {
            let ReaddirEntry { name, cookie, .. } = ReaddirEntry::decode(from)?;
            Ok((name, cookie))
        })
        .map(Self)
    }
}

/// A page of a listing, reduced to the number of entries and where to continue.
fn listed<'a>(
    from: &mut Reader<'a>,
    next: impl Fn(&mut Reader<'a>) -> Result<(Name<'a>, u64), DecodeError>,
) -> Result<Listed, DecodeError> {
    Option::<Attributes>::decode(from)?;
    let verifier = Verifier::decode(from)?;
    let (mut entries, mut names, mut cookie) = (0, 0, 0);
    while from.bool()? {
        let name;
        (name, cookie) = next(from)?;
        entries += 1;
        names += u32::from(!matches!(name.0, b"." | b".."));
    }
    let eof = from.bool()?;
    Ok(Listed { entries, names, cookie, verifier, eof })
}
