//! Decodes replies of COMPOUNDs.

use wire::nfs3::{self, FileHandle, Verifier};
use wire::nfs4::{
    Access4Ok, Attributes4, Bitmap, ChangeInfo, Create4Ok, Entry, Fattr, Handle, Nfs4Status, OpenOk,
    Operation, Read4Head, RenameOk, ReplyHead, SequenceOk, StateId, Write4Ok,
};
use wire::rpc::ReplyHeader;
use wire::xdr::{Decode, DecodeError, Reader};

use super::super::calls::{Expect, Listed, Reply, Written};
use super::super::decode::Head;
use super::super::errors::refusal;
use super::super::incoming::{Garbage, garbage};
use super::super::reduced::Coming;
use super::super::slots::{Answer, Slot};
use super::slots::SessionSlots;

/// The outcomes of a reply's operations after SEQUENCE, in order.
pub(super) struct Outcomes<'r, 'a> {
    from: &'r mut Reader<'a>,
    status: Nfs4Status,
    left: u32,
}

/// Why the next operation has no result.
pub(super) enum Stop {
    /// An operation failed: the rest was not executed.
    Status(Nfs4Status),
    Malformed(DecodeError),
}

impl From<DecodeError> for Stop {
    fn from(error: DecodeError) -> Self {
        Stop::Malformed(error)
    }
}

impl<'r, 'a> Outcomes<'r, 'a> {
    /// Reads the head.
    #[inline]
    pub(super) fn begin(from: &'r mut Reader<'a>) -> Result<Self, DecodeError> {
        let head = ReplyHead::decode(from)?;
        if !head.tag.0.is_empty() {
            let len = head.tag.0.len() as u64;
            return Err(DecodeError::Oversize {
                what: "COMPOUND tag, which is not the call's",
                len,
                limit: 0,
            });
        }
        Ok(Self { from, status: head.status, left: head.count })
    }

    /// The result of the next operation, which must be this one.
    #[inline]
    pub(super) fn next<T: Decode<'a>>(&mut self, operation: Operation) -> Result<T, Stop> {
        if self.left == 0 {
            // A reply without further operations must say why.
            return Err(match self.status {
                Nfs4Status::OK => Stop::Malformed(DecodeError::Truncated { needed: 8, left: 0 }),
                status => Stop::Status(status),
            });
        }
        self.left -= 1;
        let number = self.from.u32()?;
        if number != operation as u32 && number != Operation::Illegal as u32 {
            return Err(
                DecodeError::BadDiscriminant { what: "COMPOUND reply at this place", value: number }.into()
            );
        }
        match Nfs4Status::decode(self.from)? {
            Nfs4Status::OK => Ok(T::decode(self.from)?),
            status => {
                // The only failure with more than its status: what was set before it failed (RFC 8881 section 18.30.2).
                if number == Operation::SetAttr as u32 {
                    Bitmap::decode(self.from)?;
                }
                Err(Stop::Status(status))
            }
        }
    }

    /// Where the next byte lies.
    #[inline]
    pub(super) fn position(&self) -> usize {
        self.from.position()
    }

    /// Checks that nothing remains.
    pub(super) fn finish(&self) -> Result<(), DecodeError> {
        match self.left {
            0 => self.from.finish(),
            left => Err(DecodeError::Trailing(8 * left as usize)),
        }
    }
}

/// What a reply says about its slot.
pub(in super::super) enum Late {
    /// The slot was freed.
    Freed,
    /// The session is lost.
    SessionLost(Nfs4Status),
}

/// Checks a reply's SEQUENCE against its call's slot, and frees that.
pub(in super::super) fn sequenced(
    record: &[u8],
    slot: &mut Slot,
    session: &SessionSlots,
) -> Result<Late, Garbage> {
    let Some(assigned) = slot.assigned else { return Ok(Late::Freed) };
    let mut reader = Reader::new(record);
    let header = ReplyHeader::decode(&mut reader).map_err(garbage)?;
    if refusal(&header.body).is_some() {
        slot.assigned = None;
        session.release(assigned, false);
        return Ok(Late::Freed);
    }
    let mut outcomes = Outcomes::begin(&mut reader).map_err(garbage)?;
    match outcomes.next::<SequenceOk>(Operation::Sequence) {
        Ok(result) if session.complete(assigned, &result) => {}
        Ok(result) => {
            return Err(garbage(format_args!(
                "it is for slot {} with sequence {}, the call had slot {} with sequence {} of the session",
                result.slot, result.sequence, assigned.slot, assigned.sequence
            )));
        }
        Err(Stop::Malformed(error)) => return Err(garbage(error)),
        Err(Stop::Status(status)) if super::is_session_loss(status) => {
            if status != Nfs4Status::CONN_NOT_BOUND_TO_SESSION {
                session.refused(Some(assigned));
            }
            return Ok(Late::SessionLost(status));
        }
        Err(Stop::Status(status)) => {
            session.release(assigned, status == Nfs4Status::RETRY_UNCACHED_REP);
        }
    }
    slot.assigned = None;
    Ok(Late::Freed)
}

impl SessionSlots {
    /// Frees the slot of an abandoned call whose reply has arrived after all, as far as the first bytes of it show.
    pub(in super::super) fn late_record(&self, record: &[u8]) {
        let mut reader = Reader::new(record);
        let Ok(header) = ReplyHeader::decode(&mut reader) else { return };
        if refusal(&header.body).is_some() {
            return;
        }
        let Ok(mut outcomes) = Outcomes::begin(&mut reader) else { return };
        if let Ok(result) = outcomes.next::<SequenceOk>(Operation::Sequence) {
            self.late(&result);
        }
    }
}

/// Decodes a reply; a READ's only up to its payload. A handle in it goes to `file`.
#[inline]
pub(in super::super) fn read_head(
    record: &[u8],
    expect: Expect,
    file: &mut FileHandle,
) -> Result<Head, DecodeError> {
    let mut reader = Reader::new(record);
    let header = ReplyHeader::decode(&mut reader)?;
    if let Some((kind, text)) = refusal(&header.body) {
        return Ok(Head::Answer(Answer::Failed(kind, text.into())));
    }
    let mut outcomes = Outcomes::begin(&mut reader)?;
    match results(&mut outcomes, expect, file) {
        Ok(Results::Payload(..)) if outcomes.left > 0 => {
            Err(DecodeError::Trailing(8 * outcomes.left as usize))
        }
        Ok(Results::Payload(piece, head)) => Ok(Head::Payload(piece, head, outcomes.position())),
        Ok(Results::Reply(reply)) => {
            outcomes.finish()?;
            Ok(Head::Answer(Answer::Reply(reply)))
        }
        Err(Stop::Status(status)) => {
            outcomes.finish()?;
            Ok(Head::Answer(Answer::Status(nfs3::Status(status.0))))
        }
        Err(Stop::Malformed(error)) => Err(error),
    }
}

enum Results {
    Payload(super::super::slots::Piece, Coming),
    Reply(Reply),
}

#[inline]
fn results(from: &mut Outcomes<'_, '_>, expect: Expect, file: &mut FileHandle) -> Result<Results, Stop> {
    from.next::<SequenceOk>(Operation::Sequence)?;
    if expect == Expect::Renew {
        return Ok(Results::Reply(Reply::Renew(())));
    }
    from.next::<()>(Operation::PutFh)?;
    Ok(Results::Reply(match expect {
        Expect::Read(piece) => {
            let Read4Head { eof, data_len } = from.next(Operation::Read)?;
            return Ok(Results::Payload(piece, Coming { count: data_len, eof, data_len }));
        }
        Expect::Getattr => {
            let attributes = from.next::<Fattr<'_>>(Operation::GetAttr)?;
            Reply::Getattr(Attributes4::of(&attributes)?.size)
        }
        Expect::Lookup => {
            from.next::<()>(Operation::Lookup)?;
            Handle(*file) = from.next(Operation::GetFh)?;
            let attributes = from.next::<Fattr<'_>>(Operation::GetAttr)?;
            Reply::Lookup(Attributes4::of(&attributes)?.size)
        }
        Expect::Create => {
            from.next::<OpenOk<'_>>(Operation::Open)?;
            Handle(*file) = from.next(Operation::GetFh)?;
            from.next::<StateId>(Operation::Close)?;
            Reply::Create(true)
        }
        Expect::Open => {
            let OpenOk { state, .. } = from.next(Operation::Open)?;
            Handle(*file) = from.next(Operation::GetFh)?;
            Reply::Open(state)
        }
        Expect::Close => {
            from.next::<StateId>(Operation::Close)?;
            Reply::Close(())
        }
        Expect::Remove => {
            from.next::<ChangeInfo>(Operation::Remove)?;
            Reply::Remove(())
        }
        Expect::Rmdir => {
            from.next::<ChangeInfo>(Operation::Remove)?;
            Reply::Rmdir(())
        }
        Expect::Access => {
            from.next::<Access4Ok>(Operation::Access)?;
            Reply::Access(())
        }
        Expect::Setattr => {
            from.next::<Bitmap>(Operation::SetAttr)?;
            Reply::Setattr(())
        }
        Expect::Rename => {
            from.next::<()>(Operation::SaveFh)?;
            from.next::<()>(Operation::PutFh)?;
            from.next::<RenameOk>(Operation::Rename)?;
            Reply::Rename(())
        }
        Expect::Link => {
            from.next::<()>(Operation::SaveFh)?;
            from.next::<()>(Operation::PutFh)?;
            from.next::<ChangeInfo>(Operation::Link)?;
            Reply::Link(())
        }
        Expect::Symlink => {
            from.next::<Create4Ok>(Operation::Create)?;
            Reply::Symlink(())
        }
        Expect::Mkdir => {
            from.next::<Create4Ok>(Operation::Create)?;
            Reply::Mkdir(())
        }
        Expect::Readlink => {
            from.next::<nfs3::Path<'_>>(Operation::ReadLink)?;
            Reply::Readlink(())
        }
        Expect::Write(_) => {
            let Write4Ok { count: bytes, committed, verifier } = from.next(Operation::Write)?;
            Reply::Write(Written { bytes, committed, verifier })
        }
        Expect::Commit => Reply::Commit(from.next::<Verifier>(Operation::Commit)?),
        Expect::Readdir => Reply::Readdir(from.next::<Page>(Operation::ReadDir)?.0),
        Expect::Readdirplus => Reply::Readdirplus(from.next::<Page>(Operation::ReadDir)?.0),
        Expect::Renew => Reply::Renew(()),
    }))
}

/// A page of a listing, reduced to the number of entries and where to continue. Servers leave out `.` and `..` (RFC 8881,
/// section 18.23.3).
struct Page(Listed);

impl<'a> Decode<'a> for Page {
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let verifier = Verifier::decode(from)?;
        let (mut entries, mut cookie) = (0, 0);
        while from.bool()? {
            cookie = Entry::decode(from)?.cookie;
            entries += 1;
        }
        let eof = from.bool()?;
        Ok(Self(Listed { entries, names: entries, cookie, verifier, eof }))
    }
}
