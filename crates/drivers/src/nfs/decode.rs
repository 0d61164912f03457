//! Decodes the relevant parts of replies.

use wire::nfs3::{
    AccessOk, FileHandle, LinkWcc, Name, ProcedureResult, ReaddirEntry, ReaddirplusEntry, ReadlinkOk,
    RenameWcc, Status, Verifier,
};
use wire::rpc::ReplyHeader;
use wire::xdr::{Decode, DecodeError, Reader};

use super::calls::{Expect, Listed, Reply, Written};
use super::errors::refusal;
use super::reduced::{After, BeforeAndAfter, Coming, Committed, Created, LookedUp, Size};
use super::slots::{Answer, Piece};

/// The type of a reply, as far as its first bytes show.
pub(super) enum Head {
    /// A READ of this piece, with its payload at this offset.
    Payload(Piece, Coming, usize),
    Answer(Answer),
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
        Expect::Read(piece) => match ProcedureResult::<Coming, After>::decode(from)? {
            Ok(coming) => return Ok(Head::Payload(piece, coming, reader.position())),
            Err(failure) => Answer::Status(failure.status),
        },
        Expect::Getattr => answer::<Size, ()>(from, |size| Reply::Getattr(Some(size.0)))?,
        Expect::Lookup => answer::<LookedUp, After>(from, |LookedUp(found, size)| {
            *file = found;
            Reply::Lookup(size)
        })?,
        Expect::Create => answer::<Created, BeforeAndAfter>(from, |Created(created)| {
            created.inspect(|created| *file = *created);
            Reply::Create(created.is_some())
        })?,
        Expect::Remove => answer::<BeforeAndAfter, BeforeAndAfter>(from, |_| Reply::Remove(()))?,
        Expect::Write(_) => answer::<Written, BeforeAndAfter>(from, Reply::Write)?,
        Expect::Commit => {
            answer::<Committed, BeforeAndAfter>(from, |Committed(verifier)| Reply::Commit(verifier))?
        }
        // No call of version 3 waits for these.
        Expect::Renew | Expect::Open | Expect::Close => answer::<(), ()>(from, |()| Reply::Renew(()))?,
        Expect::Readdir => answer::<Names, After>(from, |page| Reply::Readdir(page.0))?,
        Expect::Readdirplus => answer::<Page, After>(from, |page| Reply::Readdirplus(page.0))?,
        Expect::Access => answer::<AccessOk, After>(from, |_| Reply::Access(()))?,
        Expect::Setattr => answer::<BeforeAndAfter, BeforeAndAfter>(from, |_| Reply::Setattr(()))?,
        Expect::Rename => answer::<RenameWcc, RenameWcc>(from, |_| Reply::Rename(()))?,
        Expect::Link => answer::<LinkWcc, LinkWcc>(from, |_| Reply::Link(()))?,
        Expect::Symlink => answer::<Created, BeforeAndAfter>(from, |_| Reply::Symlink(()))?,
        Expect::Readlink => answer::<ReadlinkOk<'_>, After>(from, |_| Reply::Readlink(()))?,
        Expect::Mkdir => answer::<Created, BeforeAndAfter>(from, |_| Reply::Mkdir(()))?,
        Expect::Rmdir => answer::<BeforeAndAfter, BeforeAndAfter>(from, |_| Reply::Rmdir(()))?,
    };
    reader.finish()?;
    Ok(Head::Answer(answer))
}

#[inline(always)]
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
    After::decode(from)?;
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
