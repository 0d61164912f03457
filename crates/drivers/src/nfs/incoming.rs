//! From received bytes to answers, without I/O: records, reply headers, results, payloads in passing.
//!
//! A reply that arrived whole in one fragment is decoded where it lies. Otherwise its first bytes are
//! gathered until the head is complete; the payload of a READ is checked in passing and never kept.

use metrics::ErrorKind;
use wire::nfs3::{
    Attributes, CommitOk, CreateOk, LookupOk, Outcome, ReadHead, ReaddirplusEntry, Status, Verifier, WccData,
    WriteOk,
};
use wire::rpc::{Event, RecordScanner, ReplyHeader, peek_xid};
use wire::xdr::{Decode, DecodeError, Reader, padding};

use super::errors::refusal;
use super::slots::{Answer, Expect, Found, Piece, Reply, Table};
use crate::{Payload, Sink};

/// The head of a READ reply is complete within this many bytes: RPC header with the longest verifier,
/// attributes and lengths take 560.
const HEAD_MAX: usize = 1024;

/// The stream cannot be followed any further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Garbage(pub(super) Box<str>);

fn garbage(what: impl std::fmt::Display) -> Garbage {
    Garbage(format!("the answer cannot be understood: {what}").into())
}

/// The payload of a READ reply on its way.
struct Flow {
    slot: u32,
    xid: u32,
    asked: Piece,
    count: u32,
    eof: bool,
    data_len: u32,
    taken: u32,
    padding_left: usize,
    first_byte_ns: u64,
    corrupt_at: Option<u64>,
    /// Every byte that was asked for must be there.
    whole: bool,
}

enum Phase {
    /// The first bytes of a record, in `head`.
    Head,
    Payload(Flow),
    /// A record that nobody waits for.
    Skip,
}

/// What is known of the stream of replies.
pub(super) struct Incoming {
    scanner: RecordScanner,
    head: Vec<u8>,
    phase: Phase,
    records: u64,
    payload: Payload,
    sink: Sink,
}

impl Incoming {
    /// The start of a stream whose records have at most `record_limit` bytes.
    pub(super) fn new(record_limit: usize, payload: Payload, sink: Sink) -> Self {
        Self {
            scanner: RecordScanner::new(record_limit),
            head: Vec::with_capacity(HEAD_MAX),
            phase: Phase::Head,
            records: 0,
            payload,
            sink,
        }
    }

    /// Takes what was received at `now_ns`, settling the calls that it answers.
    pub(super) fn feed(&mut self, mut input: &[u8], table: &mut Table, now_ns: u64) -> Result<(), Garbage> {
        loop {
            if let Some(record) = self.scanner.whole_record(&mut input).map_err(garbage)? {
                self.record(record, table, now_ns)?;
                self.records += 1;
                continue;
            }
            match self.scanner.next(&mut input).map_err(garbage)? {
                Some(Event::Data(data)) => self.data(data, table, now_ns)?,
                Some(Event::End) => {
                    self.end(table, now_ns)?;
                    self.records += 1;
                }
                None => return Ok(()),
            }
        }
    }

    /// Records that were understood so far.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// Bytes of payload that may be dropped unseen right now; 0 when they must be seen, or none is due.
    pub(super) fn discardable(&self) -> usize {
        if self.sink == Sink::Discard { self.due() } else { 0 }
    }

    /// Bytes of the present payload, if any, that will come next.
    pub(super) fn due(&self) -> usize {
        match &self.phase {
            Phase::Payload(flow) => self.scanner.fragment_left().min((flow.data_len - flow.taken) as usize),
            _ => 0,
        }
    }

    /// Takes note that `len` bytes of [`Incoming::discardable`] were dropped.
    pub(super) fn discarded(&mut self, len: usize) {
        if let Phase::Payload(flow) = &mut self.phase {
            flow.taken += len as u32;
            self.scanner.skip(len);
        }
    }

    /// A record that lies there in one piece.
    #[inline]
    fn record(&mut self, record: &[u8], table: &mut Table, now_ns: u64) -> Result<(), Garbage> {
        let Some(xid) = peek_xid(record) else {
            return Err(garbage("a record without a transaction number"));
        };
        let Some(index) = find(table, xid)? else { return Ok(()) };
        let expect = table.slots[index as usize].expect;
        let failed = match read_head(record, expect) {
            Ok(Head::Payload(head, at)) => {
                let mut flow = Flow::new(index, xid, expect, &head, now_ns, self.sink == Sink::Verify);
                match self.take(&mut flow, &record[at..]) {
                    Ok(()) => return flow.finish(table),
                    Err(error) => error,
                }
            }
            Ok(Head::Answer(answer)) => {
                table.settle(index, Some(answer));
                return Ok(());
            }
            Err(error) => error,
        };
        let problem = garbage(failed);
        table.settle(index, Some(Answer::Failed(ErrorKind::Protocol, problem.0.clone())));
        Err(problem)
    }

    /// Some bytes of a record that comes in pieces.
    fn data(&mut self, data: &[u8], table: &mut Table, now_ns: u64) -> Result<(), Garbage> {
        match std::mem::replace(&mut self.phase, Phase::Skip) {
            Phase::Skip => Ok(()),
            Phase::Payload(flow) => self.flow_on(flow, data, table),
            Phase::Head => self.gather_head(data, table, now_ns),
        }
    }

    fn flow_on(&mut self, mut flow: Flow, data: &[u8], table: &mut Table) -> Result<(), Garbage> {
        let result = self.take(&mut flow, data);
        let (slot, xid) = (flow.slot, flow.xid);
        self.phase = Phase::Payload(flow);
        result.map_err(|error| fail(table, slot, xid, garbage(error)))
    }

    fn gather_head(&mut self, data: &[u8], table: &mut Table, now_ns: u64) -> Result<(), Garbage> {
        let (first, rest) = data.split_at(HEAD_MAX.saturating_sub(self.head.len()).min(data.len()));
        self.head.extend_from_slice(first);
        let Some(xid) = peek_xid(&self.head) else {
            self.phase = Phase::Head;
            return Ok(());
        };
        // A record that nobody waits for leaves the phase at `Skip`.
        let Some(index) = find(table, xid)? else { return Ok(()) };
        self.phase = Phase::Head;
        let expect = table.slots[index as usize].expect;
        if !matches!(expect, Expect::Read(_)) {
            self.head.extend_from_slice(rest);
            return Ok(());
        }
        match read_head(&self.head, expect) {
            Ok(Head::Payload(head, at)) => {
                let mut flow = Flow::new(index, xid, expect, &head, now_ns, self.sink == Sink::Verify);
                let gathered = std::mem::take(&mut self.head);
                let result = self.take(&mut flow, &gathered[at..]);
                self.head = gathered;
                match result {
                    Ok(()) => self.flow_on(flow, rest, table),
                    Err(error) => Err(fail(table, index, xid, garbage(error))),
                }
            }
            // The rest of the record decides.
            Ok(Head::Answer(_)) | Err(DecodeError::Truncated { .. }) => {
                self.head.extend_from_slice(rest);
                Ok(())
            }
            Err(error) => Err(fail(table, index, xid, garbage(error))),
        }
    }

    /// The end of a record that came in pieces.
    fn end(&mut self, table: &mut Table, now_ns: u64) -> Result<(), Garbage> {
        let result = match std::mem::replace(&mut self.phase, Phase::Head) {
            Phase::Skip => Ok(()),
            Phase::Payload(flow) => flow.finish(table),
            Phase::Head => {
                let head = std::mem::take(&mut self.head);
                let result = self.record(&head, table, now_ns);
                self.head = head;
                result
            }
        };
        self.head.clear();
        self.head.shrink_to(64 * 1024);
        result
    }

    /// Passes payload bytes and the padding behind them.
    #[inline]
    fn take(&self, flow: &mut Flow, data: &[u8]) -> Result<(), DecodeError> {
        let due = (flow.data_len - flow.taken) as usize;
        let (payload, rest) = data.split_at(due.min(data.len()));
        if self.sink == Sink::Verify && flow.corrupt_at.is_none() {
            let offset = flow.asked.offset + u64::from(flow.taken);
            if let Err(mismatch) = self.payload.verify(flow.asked.object, offset, payload) {
                flow.corrupt_at = Some(mismatch.offset);
            }
        }
        flow.taken += payload.len() as u32;
        if rest.len() > flow.padding_left {
            return Err(DecodeError::Trailing(rest.len() - flow.padding_left));
        }
        flow.padding_left -= rest.len();
        Ok(())
    }
}

/// The slot that waits for `xid`; `None` when that call was given up.
#[inline]
fn find(table: &mut Table, xid: u32) -> Result<Option<u32>, Garbage> {
    match table.find(xid) {
        Found::Waiting(index) => Ok(Some(index)),
        Found::Late => {
            table.late_replies += 1;
            Ok(None)
        }
        Found::Unknown => Err(garbage(format_args!("it is for call {xid:#010x}, which was never made"))),
    }
}

/// Ends the call that a malformed reply was for.
fn fail(table: &mut Table, slot: u32, xid: u32, problem: Garbage) -> Garbage {
    if table.current(slot, xid).is_some() {
        table.settle(slot, Some(Answer::Failed(ErrorKind::Protocol, problem.0.clone())));
    }
    problem
}

impl Flow {
    fn new(slot: u32, xid: u32, expect: Expect, head: &ReadHead, now_ns: u64, whole: bool) -> Self {
        let Expect::Read(asked) = expect else { unreachable!("only a READ has a payload") };
        Self {
            slot,
            xid,
            asked,
            count: head.count,
            eof: head.eof,
            data_len: head.data_len,
            taken: 0,
            padding_left: padding(head.data_len as usize),
            first_byte_ns: now_ns,
            corrupt_at: None,
            whole,
        }
    }

    /// Judges the payload and settles its call, unless that was given up meanwhile.
    fn finish(self, table: &mut Table) -> Result<(), Garbage> {
        if self.taken < self.data_len || self.padding_left > 0 {
            let missing = (self.data_len - self.taken) as usize + self.padding_left;
            let problem = garbage(format_args!("truncated: the record ends {missing} bytes early"));
            return Err(fail(table, self.slot, self.xid, problem));
        }
        let answer = self.judge();
        match table.current(self.slot, self.xid) {
            Some(slot) => {
                slot.first_byte_ns = Some(self.first_byte_ns);
                table.settle(self.slot, Some(answer));
            }
            None => table.late_replies += 1,
        }
        Ok(())
    }

    fn judge(&self) -> Answer {
        let wrong = |kind, text: String| Answer::Failed(kind, text.into());
        let Piece { offset, len, .. } = self.asked;
        if self.count != self.data_len {
            return wrong(
                ErrorKind::Length,
                format!("the server says {} bytes and sends {}", self.count, self.data_len),
            );
        }
        if self.count > len {
            return wrong(
                ErrorKind::Length,
                format!("{} bytes came, {len} were asked for at offset {offset}", self.count),
            );
        }
        if let Some(at) = self.corrupt_at {
            return wrong(
                ErrorKind::Corrupt,
                format!("the byte at offset {at} is not the one that was written"),
            );
        }
        if self.count < len && (self.whole || !self.eof) {
            let reason = if self.eof { "because the file ends" } else { "and not because the file ends" };
            return wrong(
                ErrorKind::Length,
                format!("{} of {len} bytes came from offset {offset}, {reason}", self.count),
            );
        }
        Answer::Reply(Reply::Read { bytes: self.count, eof: self.eof })
    }
}

enum Head {
    /// A READ whose payload begins at this place.
    Payload(ReadHead, usize),
    Answer(Answer),
}

/// Decodes a reply, of a READ up to its payload.
#[inline]
fn read_head(record: &[u8], expect: Expect) -> Result<Head, DecodeError> {
    let mut reader = Reader::new(record);
    let header = ReplyHeader::decode(&mut reader)?;
    if let Some((kind, text)) = refusal(&header.body) {
        return Ok(Head::Answer(Answer::Failed(kind, text.into())));
    }
    let from = &mut reader;
    let answer = match expect {
        Expect::Read(_) => {
            let outcome: Outcome<ReadHead, Option<Attributes>> = Outcome::decode(from)?;
            match outcome {
                Ok(head) => return Ok(Head::Payload(head, reader.position())),
                Err(failure) => Answer::Status(failure.status),
            }
        }
        Expect::Getattr => {
            answer::<Attributes, ()>(from, |attributes| Reply::Attributes { size: attributes.size })?
        }
        Expect::Lookup => answer::<LookupOk, Option<Attributes>>(from, |ok| Reply::Found {
            file: ok.file,
            size: ok.attributes.map(|attributes| attributes.size),
        })?,
        Expect::Create => answer::<CreateOk, WccData>(from, |ok| Reply::Created { file: ok.file })?,
        Expect::Remove => answer::<WccData, WccData>(from, |_| Reply::Removed)?,
        Expect::Write(_) => answer::<WriteOk, WccData>(from, |ok| Reply::Written {
            bytes: ok.count,
            committed: ok.committed,
            verifier: ok.verifier,
        })?,
        Expect::Commit => answer::<CommitOk, WccData>(from, |ok| Reply::Committed { verifier: ok.verifier })?,
        Expect::Readdirplus => answer::<Listing, Option<Attributes>>(from, |page| page.0)?,
    };
    reader.finish()?;
    Ok(Head::Answer(answer))
}

#[inline]
fn answer<'a, T: Decode<'a>, F: Decode<'a>>(
    from: &mut Reader<'a>,
    reply: impl FnOnce(T) -> Reply,
) -> Result<Answer, DecodeError> {
    Ok(match Outcome::<T, F>::decode(from)? {
        Ok(ok) => Answer::Reply(reply(ok)),
        Err(failure) => {
            debug_assert_ne!(failure.status, Status::OK);
            Answer::Status(failure.status)
        }
    })
}

/// A page of a listing, of which only the number of entries and the place to go on are kept.
struct Listing(Reply);

impl<'a> Decode<'a> for Listing {
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Option::<Attributes>::decode(from)?;
        let verifier = Verifier::decode(from)?;
        let (mut entries, mut cookie) = (0, 0);
        while from.bool()? {
            cookie = ReaddirplusEntry::decode(from)?.cookie;
            entries += 1;
        }
        let eof = from.bool()?;
        Ok(Self(Reply::Listed { entries, cookie, verifier, eof }))
    }
}
