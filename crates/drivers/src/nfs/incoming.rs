//! Turns received bytes into replies, without I/O: records, reply headers, results, payloads as they arrive.
//!
//! A reply that arrived whole in one fragment is decoded in place. Otherwise its first bytes are collected until the
//! head is complete; the payload of a READ is verified as it arrives and never kept.

use std::rc::Rc;

use metrics::ErrorKind;
use wire::rpc::{RecordEvent, RecordScanner, peek_xid};
use wire::xdr::DecodeError;

use super::calls::Expect;
use super::decode::{Head, read_head};
use super::flow::{Flow, fail};
use super::slots::{Answer, Found, Slot, Table};
use super::v41::{self, Late, SessionSlots};
use crate::{Payload, Sink};

/// The head of a READ reply is complete within this many bytes: the RPC header with the longest verifier, attributes
/// and lengths take 560.
const HEAD_MAX: usize = 1024;

/// The stream can no longer be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Garbage(pub(super) Box<str>);

pub(super) fn garbage(what: impl std::fmt::Display) -> Garbage {
    Garbage(format!("the answer cannot be understood: {what}").into())
}

#[expect(clippy::large_enum_variant, reason = "there is one a connection")]
enum Phase {
    /// The first bytes of a record, in `head`.
    Head,
    Payload(Flow),
    /// A record that no call waits for.
    Skip,
}

/// State of the stream of replies.
pub(super) struct Incoming {
    scanner: RecordScanner,
    head: Vec<u8>,
    phase: Phase,
    records: u64,
    payload: Payload,
    sink: Sink,
    /// The session, with version 4.1.
    session: Option<Rc<SessionSlots>>,
    /// The server no longer knows it, or differs about its slots.
    session_lost: bool,
}

impl Incoming {
    /// Starts a stream whose records have at most `record_limit` bytes.
    pub(super) fn new(record_limit: usize, payload: Payload, sink: Sink) -> Self {
        Self {
            scanner: RecordScanner::new(record_limit),
            head: Vec::with_capacity(HEAD_MAX),
            phase: Phase::Head,
            records: 0,
            payload,
            sink,
            session: None,
            session_lost: false,
        }
    }

    /// The replies are those of version 4.1, within this session.
    pub(super) fn within(self, session: Option<Rc<SessionSlots>>) -> Self {
        Self { session, ..self }
    }

    /// True when the stream ended because the session is lost.
    pub(super) fn session_lost(&self) -> bool {
        self.session_lost
    }

    #[inline]
    fn read_head(&self, record: &[u8], slot: &mut Slot) -> Result<Head, DecodeError> {
        let Slot { expect, file, .. } = slot;
        if self.session.is_some() {
            v41::read_head(record, *expect, file)
        } else {
            read_head(record, *expect, file)
        }
    }

    /// Frees the session's slot of a call whose reply arrives.
    #[inline]
    fn free_slot(&mut self, record: &[u8], table: &mut Table, index: u32) -> Result<(), Garbage> {
        let Some(session) = &self.session else { return Ok(()) };
        match v41::sequenced(record, &mut table.slots[index as usize], session)? {
            Late::Freed => Ok(()),
            Late::SessionLost(status) => {
                self.session_lost = true;
                Err(Garbage(
                    format!("the server ended the session, or differs about its slots: {status}").into(),
                ))
            }
        }
    }

    /// Frees the session's slot of an abandoned call.
    fn free_late(&self, record: &[u8]) {
        if let Some(session) = &self.session {
            session.late_record(record);
        }
    }

    /// Processes what was received at `now_ns`, completing the calls that it answers.
    pub(super) fn feed(&mut self, mut input: &[u8], table: &mut Table, now_ns: u64) -> Result<(), Garbage> {
        loop {
            if let Some(record) = self.scanner.whole_record(&mut input).map_err(garbage)? {
                self.record(record, table, now_ns)?;
                self.records += 1;
                continue;
            }
            match self.scanner.next(&mut input).map_err(garbage)? {
                Some(RecordEvent::Data(data)) => self.data(data, table, now_ns)?,
                Some(RecordEvent::End) => {
                    self.end(table, now_ns)?;
                    self.records += 1;
                }
                None => return Ok(()),
            }
        }
    }

    /// Records parsed so far.
    pub(super) fn records(&self) -> u64 {
        self.records
    }

    /// Payload bytes that may be discarded unseen right now; 0 when they must be verified, or none is due.
    pub(super) fn discardable(&self) -> usize {
        if self.sink == Sink::Discard { self.due() } else { 0 }
    }

    /// Bytes still to come of the current payload, if any.
    pub(super) fn due(&self) -> usize {
        match &self.phase {
            Phase::Payload(flow) => self.scanner.fragment_left().min(flow.due()),
            _ => 0,
        }
    }

    /// Records that `len` bytes of [`Incoming::discardable`] were discarded.
    pub(super) fn discarded(&mut self, len: usize) {
        if let Phase::Payload(flow) = &mut self.phase {
            flow.dropped(len);
            self.scanner.skip(len);
        }
    }

    /// The expected payload, if it is verified.
    fn checked(&self) -> Option<Payload> {
        (self.sink == Sink::Verify).then_some(self.payload)
    }

    /// Processes a record that is contiguous in memory.
    #[inline]
    fn record(&mut self, record: &[u8], table: &mut Table, now_ns: u64) -> Result<(), Garbage> {
        let Some(xid) = peek_xid(record) else {
            return Err(garbage("a record without a transaction number"));
        };
        let Some(index) = find(table, xid)? else {
            self.free_late(record);
            return Ok(());
        };
        if let Err(problem) = self.free_slot(record, table, index) {
            return Err(self.refuse(problem, table, index));
        }
        let failed = match self.read_head(record, &mut table.slots[index as usize]) {
            Ok(Head::Payload(asked, head, at)) => {
                let mut flow = Flow::new(index, xid, asked, &head, now_ns, self.checked(), table);
                match flow.take(&record[at..]) {
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
        Err(self.refuse(problem, table, index))
    }

    /// Ends the call of a malformed reply. One whose session is lost waits for the next.
    fn refuse(&self, problem: Garbage, table: &mut Table, index: u32) -> Garbage {
        if !self.session_lost {
            table.settle(index, Some(Answer::Failed(ErrorKind::Protocol, problem.0.clone())));
        }
        problem
    }

    /// Processes some bytes of a record that arrives in pieces.
    fn data(&mut self, data: &[u8], table: &mut Table, now_ns: u64) -> Result<(), Garbage> {
        match std::mem::replace(&mut self.phase, Phase::Skip) {
            Phase::Skip => Ok(()),
            Phase::Payload(flow) => self.flow_on(flow, data, table),
            Phase::Head => self.gather_head(data, table, now_ns),
        }
    }

    fn flow_on(&mut self, mut flow: Flow, data: &[u8], table: &mut Table) -> Result<(), Garbage> {
        let result = flow.take(data);
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
        // For a record that no call waits for, the phase stays `Skip`.
        let Some(index) = find(table, xid)? else {
            self.free_late(&self.head);
            return Ok(());
        };
        self.phase = Phase::Head;
        let expect = table.slots[index as usize].expect;
        if !matches!(expect, Expect::Read(_)) {
            self.head.extend_from_slice(rest);
            return Ok(());
        }
        match self.read_head(&self.head, &mut table.slots[index as usize]) {
            Ok(Head::Payload(asked, head, at)) => {
                let whole = std::mem::take(&mut self.head);
                let freed = self.free_slot(&whole, table, index);
                self.head = whole;
                if let Err(problem) = freed {
                    return Err(self.refuse(problem, table, index));
                }
                let mut flow = Flow::new(index, xid, asked, &head, now_ns, self.checked(), table);
                let gathered = std::mem::take(&mut self.head);
                let result = flow.take(&gathered[at..]);
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

    /// Processes the end of a record that arrived in pieces.
    fn end(&mut self, table: &mut Table, now_ns: u64) -> Result<(), Garbage> {
        let result = match std::mem::replace(&mut self.phase, Phase::Head) {
            Phase::Skip => Ok(()),
            Phase::Payload(mut flow) => flow.finish(table),
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
}

/// The slot that waits for `xid`; `None` when that call was abandoned.
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
