//! Turns received bytes into answers, without I/O: headers, digests, and payload as it arrives.
//!
//! A header that arrived whole is decoded in place. Payload is verified as it arrives and never kept, unless it can be
//! verified only as a whole block.

use metrics::ErrorKind;
use wire::iscsi::{
    Crc32c, DIGEST_BYTES, DataIn, HEADER_BYTES, Header, IscsiAnswer, Operational, additional_bytes,
    data_bytes, padding,
};

use super::answers::{asked, data_came, ended, unusual};
use super::command::{Data, Piece};
use super::connection::Connection;
use super::slots::Found;
use super::state::State;
use crate::reconnecting::Loss;
use crate::{Payload, Sink};

const HEAD_MAX: usize = HEADER_BYTES + DIGEST_BYTES;
/// Bytes kept of data that are no payload, such as sense data.
const KEPT_MAX: usize = 512;

/// A data segment as it arrives.
struct Segment {
    answer: IscsiAnswer,
    /// The payload of a read; `None` for anything else, which is kept.
    flow: Option<Flow>,
    left: usize,
    padding: usize,
    digest: Option<Crc32c>,
    /// Bytes of the received digest, and how many are still to come.
    sum: [u8; DIGEST_BYTES],
    sum_left: usize,
}

/// The payload of a command.
pub(super) struct Flow {
    /// The slot and what it reads; `None`: the command was abandoned.
    pub(super) of: Option<(u32, Piece)>,
    pub(super) tag: u32,
    /// Offset in the command's data.
    pub(super) at: u32,
    pub(super) first_byte_ns: u64,
    pub(super) corrupt: Option<Box<str>>,
    pub(super) gathered: Option<Vec<u8>>,
}

/// State of the stream of answers.
pub(super) struct Incoming {
    header_digest: bool,
    data_digest: bool,
    receive_bytes: usize,
    payload: Payload,
    sink: Sink,
    /// A header that arrives in pieces.
    head: [u8; HEAD_MAX],
    head_len: usize,
    segment: Option<Segment>,
    /// Data that are no payload.
    kept: Vec<u8>,
    pdus: u64,
}

#[cold]
pub(super) fn garbage(what: impl std::fmt::Display) -> Loss {
    Loss::new(ErrorKind::Protocol, format!("the target's answer cannot be understood: {what}"))
}

#[cold]
pub(super) fn told(text: &str) -> Loss {
    Loss::new(ErrorKind::ConnectionLost, text)
}

impl Incoming {
    /// Starts a stream.
    pub(super) fn new(agreed: &Operational, payload: Payload, sink: Sink) -> Self {
        Self {
            header_digest: agreed.header_digest,
            data_digest: agreed.data_digest,
            receive_bytes: agreed.receive_bytes as usize,
            payload,
            sink,
            head: [0; HEAD_MAX],
            head_len: 0,
            segment: None,
            kept: Vec::with_capacity(KEPT_MAX),
            pdus: 0,
        }
    }

    /// PDUs received so far.
    pub(super) fn pdus(&self) -> u64 {
        self.pdus
    }

    /// Bytes of a header with its digest.
    #[inline]
    pub(super) fn head_bytes(&self) -> usize {
        if self.header_digest { HEAD_MAX } else { HEADER_BYTES }
    }

    /// True when payload may be discarded unseen: its digest would need it.
    pub(super) fn discards(&self) -> bool {
        self.sink == Sink::Discard && !self.data_digest
    }

    /// Bytes still to come of the current data segment.
    pub(super) fn due(&self) -> usize {
        self.segment.as_ref().map_or(0, |segment| segment.left)
    }

    /// Payload bytes that may be discarded right now.
    pub(super) fn discardable(&self) -> usize {
        match &self.segment {
            Some(Segment { flow: Some(_), left, .. }) if self.discards() => *left,
            _ => 0,
        }
    }

    /// Records that `len` bytes of [`Incoming::discardable`] were discarded.
    pub(super) fn discarded(&mut self, len: usize, connection: &Connection, now_ns: u64) -> Result<(), Loss> {
        if let Some(segment) = &mut self.segment {
            segment.left -= len;
            if let Some(flow) = &mut segment.flow {
                flow.at += len as u32;
            }
        }
        self.feed(&[], connection, now_ns)
    }

    /// Processes what was received at `now_ns`, completing the commands that it ends.
    pub(super) fn feed(
        &mut self,
        mut input: &[u8],
        connection: &Connection,
        now_ns: u64,
    ) -> Result<(), Loss> {
        let mut state = connection.state.borrow_mut();
        let state = &mut *state;
        let before = state.window;
        let outcome = loop {
            if self.segment.is_some() {
                match self.take_data(&mut input, state, now_ns) {
                    Ok(true) => continue,
                    Ok(false) => break Ok(()),
                    Err(loss) => break Err(loss),
                }
            }
            let need = self.head_bytes();
            if self.head_len == 0 && input.len() >= need {
                let (head, rest) = input.split_at(need);
                input = rest;
                if let Err(loss) = self.header(head, state, now_ns) {
                    break Err(loss);
                }
                continue;
            }
            let take = (need - self.head_len).min(input.len());
            let (part, rest) = input.split_at(take);
            self.head[self.head_len..self.head_len + take].copy_from_slice(part);
            self.head_len += take;
            input = rest;
            if self.head_len < need {
                break Ok(());
            }
            self.head_len = 0;
            let head = self.head;
            if let Err(loss) = self.header(&head[..need], state, now_ns) {
                break Err(loss);
            }
        };
        // R2Ts and pings are to be answered; commands may have waited for the window.
        if !state.due.is_empty() || (state.window != before && !state.commands.is_empty()) {
            connection.transport.wake.set();
        }
        outcome
    }

    /// Processes a header.
    #[inline]
    fn header(&mut self, head: &[u8], state: &mut State, now_ns: u64) -> Result<(), Loss> {
        let (bytes, sum) = head.split_at(HEADER_BYTES);
        let header: &Header = bytes.try_into().expect("split there");
        if self.header_digest && sum != Crc32c::of(header) {
            return Err(garbage("a header digest is wrong"));
        }
        let answer = IscsiAnswer::decode(header).map_err(garbage)?;
        if additional_bytes(header) > 0 {
            return Err(garbage("additional header segments"));
        }
        let len = data_bytes(header);
        if len > self.receive_bytes {
            return Err(garbage(format_args!(
                "a data segment of {len} bytes, and {} were agreed on",
                self.receive_bytes
            )));
        }
        self.pdus += 1;
        let flow = match &answer {
            IscsiAnswer::DataIn(data) => Some(self.flow(data, state, now_ns)?),
            _ => None,
        };
        self.kept.clear();
        let segment = Segment {
            answer,
            flow,
            left: len,
            padding: padding(len),
            digest: (self.data_digest && len > 0).then(Crc32c::new),
            sum: [0; DIGEST_BYTES],
            sum_left: if self.data_digest && len > 0 { DIGEST_BYTES } else { 0 },
        };
        if len == 0 {
            return self.complete(segment, state, now_ns);
        }
        self.segment = Some(segment);
        Ok(())
    }

    /// Checks a Data-In, and finds where its payload belongs.
    #[inline]
    fn flow(&self, data: &DataIn, state: &mut State, now_ns: u64) -> Result<Flow, Loss> {
        let mut flow = Flow {
            of: None,
            tag: data.tag,
            at: data.offset,
            first_byte_ns: now_ns,
            corrupt: None,
            gathered: None,
        };
        match state.table.find(data.tag) {
            Found::Late => Ok(flow),
            Found::Waiting(index) => {
                let slot = &mut state.table.slots[index as usize];
                let Data::Read(piece) = slot.command.data else {
                    return Err(garbage("data for a command that reads none"));
                };
                if data.offset != slot.moved || data.data_sn != slot.data_sn {
                    return Err(garbage(format_args!(
                        "data out of order: number {} at offset {} instead of {} at {}",
                        data.data_sn, data.offset, slot.data_sn, slot.moved
                    )));
                }
                if data.data_bytes > piece.len - slot.moved {
                    return Err(garbage(format_args!(
                        "{} bytes at offset {} of a command for {}",
                        data.data_bytes, data.offset, piece.len
                    )));
                }
                slot.data_sn += 1;
                if self.payload.gathers(self.sink) {
                    flow.gathered = Some(std::mem::take(&mut slot.gathered));
                }
                flow.of = Some((index, piece));
                Ok(flow)
            }
            _ => Err(garbage("data for a command that was never sent")),
        }
    }

    /// Processes bytes of the current segment; true when it is complete.
    #[inline]
    fn take_data(&mut self, input: &mut &[u8], state: &mut State, now_ns: u64) -> Result<bool, Loss> {
        let Some(segment) = &mut self.segment else { return Ok(true) };
        let (data, rest) = input.split_at(segment.left.min(input.len()));
        segment.left -= data.len();
        match &mut segment.flow {
            Some(flow) => flow.take(data, &self.payload, self.sink),
            None => {
                let room = KEPT_MAX - self.kept.len();
                self.kept.extend_from_slice(&data[..room.min(data.len())]);
            }
        }
        let pad = if segment.left == 0 { segment.padding.min(rest.len()) } else { 0 };
        let (zeros, rest) = rest.split_at(pad);
        segment.padding -= pad;
        if let Some(digest) = &mut segment.digest {
            digest.update(data);
            digest.update(zeros);
        }
        let sum =
            if segment.left == 0 && segment.padding == 0 { segment.sum_left.min(rest.len()) } else { 0 };
        let (sum, rest) = rest.split_at(sum);
        let at = DIGEST_BYTES - segment.sum_left;
        if !sum.is_empty() {
            segment.sum[at..at + sum.len()].copy_from_slice(sum);
            segment.sum_left -= sum.len();
        }
        *input = rest;
        if segment.left > 0 || segment.padding > 0 || segment.sum_left > 0 {
            return Ok(false);
        }
        if segment.digest.as_ref().is_some_and(|digest| digest.value() != segment.sum) {
            return Err(garbage("a data digest is wrong"));
        }
        let segment = self.segment.take().expect("it was there");
        self.complete(segment, state, now_ns)?;
        Ok(true)
    }

    /// Processes a PDU that is complete.
    #[inline]
    fn complete(&mut self, segment: Segment, state: &mut State, now_ns: u64) -> Result<(), Loss> {
        match segment.answer {
            IscsiAnswer::DataIn(data) => {
                state.note_window(data.exp_cmd_sn, data.max_cmd_sn);
                data_came(&data, segment.flow, state);
                Ok(())
            }
            IscsiAnswer::Response(response) => {
                state.note_window(response.exp_cmd_sn, response.max_cmd_sn);
                state.note_status(response.stat_sn);
                ended(&response, &self.kept, state)
            }
            IscsiAnswer::R2t(wanted) => {
                state.note_window(wanted.exp_cmd_sn, wanted.max_cmd_sn);
                asked(&wanted, state)
            }
            other => unusual(&other, state, now_ns),
        }
    }
}

impl Flow {
    /// Verifies or collects some bytes.
    #[inline]
    fn take(&mut self, data: &[u8], payload: &Payload, sink: Sink) {
        let Some((_, piece)) = &self.of else { return };
        if let Some(gathered) = &mut self.gathered {
            gathered.extend_from_slice(data);
        } else if sink == Sink::Verify && self.corrupt.is_none() && !data.is_empty() {
            self.corrupt = payload.verify_op(&piece.op, piece.at + u64::from(self.at), data).err();
        }
        self.at += data.len() as u32;
    }
}
