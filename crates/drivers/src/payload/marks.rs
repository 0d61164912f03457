//! Headers in blocks ([`super::header`]): written and verified.
//!
//! With an offset, the header swaps places with the bytes there; the checksum covers the block as it was before the
//! swap.

use content::{Check, CheckMethod, split_mix};

use super::Payload;
use super::body::Body;
use super::header::{Header, hex, name_of, number_of};
use super::sums::{self, Sum};
use super::wrong_block::{Difference, HeaderError, WrongBlock};
use crate::Op;

/// Bytes of a block generated at a time when only its checksum is needed.
const STEP: usize = 4096;

/// How blocks are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Marks {
    method: CheckMethod,
    /// Bytes covered by each header; 0: the whole block.
    interval: u64,
    /// Bytes of a header.
    header: usize,
    /// The header's offset in its interval.
    place: usize,
}

/// One interval of a block.
#[derive(Clone, Copy)]
struct Interval {
    /// Its offset in the block.
    start: u64,
    len: usize,
}

impl Marks {
    /// The marks of a check; `None` when its method has none.
    ///
    /// An offset inside the header itself is treated as 0: it would destroy the header, and plans reject it.
    pub(super) fn new(check: &Check) -> Option<Self> {
        let header = check.method.header_bytes();
        let place = usize::try_from(check.header_offset).ok().filter(|place| *place >= header).unwrap_or(0);
        (header > 0).then_some(Self { method: check.method, interval: check.interval_bytes, header, place })
    }

    /// Writes the bytes from offset `at` of the operation's block.
    pub(super) fn fill(&self, payload: &Payload, body: &Body, op: &Op, at: u64, out: &mut [u8]) {
        let mut done = 0;
        while done < out.len() {
            let here = at + done as u64;
            let interval = self.interval(op, here);
            let from = (here - interval.start) as usize;
            let len = (interval.len - from).min(out.len() - done);
            let part = &mut out[done..done + len];
            if len == interval.len {
                self.fill_whole(payload, body, op, interval, part);
            } else {
                self.fill_piece(payload, body, op, interval, from, part);
            }
            done += len;
        }
    }

    /// Verifies the operation's whole block. An error gives the offset of the damaged interval in the block, its
    /// length, and what is wrong.
    pub(super) fn verify(
        &self,
        payload: &Payload,
        body: &Body,
        op: &Op,
        data: &[u8],
    ) -> Result<(), (usize, usize, Box<str>)> {
        let mut at = 0;
        while at < data.len() {
            let interval = self.interval(op, at as u64);
            let end = (at + interval.len).min(data.len());
            if self.is_marked(interval) && end - at == interval.len {
                self.verify_interval(payload, body, op, interval, &data[at..end])
                    .map_err(|text| (at, end - at, text))?;
            }
            at = end;
        }
        Ok(())
    }

    /// The interval that contains a byte of the block.
    fn interval(&self, op: &Op, at: u64) -> Interval {
        let len = if self.interval == 0 { op.len.max(at + 1) } else { self.interval };
        let start = at / len * len;
        let left = op.len.max(at + 1) - start;
        Interval { start, len: usize::try_from(len.min(left)).unwrap_or(usize::MAX) }
    }

    /// A block's remainder that is too short for a header has none.
    fn is_marked(&self, interval: Interval) -> bool {
        self.place + self.header <= interval.len
    }

    fn fill_whole(&self, payload: &Payload, body: &Body, op: &Op, interval: Interval, out: &mut [u8]) {
        body.fill(payload, op, interval.start, out);
        if !self.is_marked(interval) {
            return;
        }
        let mut sum = Sum::new(self.method);
        sum.update(&out[self.header..]);
        let header = self.header_of(payload, body, op, interval, sum).bytes();
        if self.place > 0 {
            out.copy_within(self.place..self.place + self.header, 0);
        }
        out[self.place..self.place + self.header].copy_from_slice(&header[..self.header]);
    }

    /// Writes part of an interval. If that includes any of the header, all bytes that its checksum covers are
    /// generated.
    fn fill_piece(
        &self,
        payload: &Payload,
        body: &Body,
        op: &Op,
        interval: Interval,
        from: usize,
        out: &mut [u8],
    ) {
        let end = from + out.len();
        body.fill(payload, op, interval.start + from as u64, out);
        if !self.is_marked(interval) {
            return;
        }
        if self.place > 0 && from < self.header {
            let moved = end.min(self.header) - from;
            body.fill(payload, op, interval.start + (self.place + from) as u64, &mut out[..moved]);
        }
        let (first, last) = (self.place.max(from), (self.place + self.header).min(end));
        if first >= last {
            return;
        }
        let mut sum = Sum::new(self.method);
        let mut scratch = [0; STEP];
        let mut at = self.header;
        while at < interval.len {
            let piece = &mut scratch[..STEP.min(interval.len - at)];
            body.fill(payload, op, interval.start + at as u64, piece);
            sum.update(piece);
            at += piece.len();
        }
        let header = self.header_of(payload, body, op, interval, sum).bytes();
        out[first - from..last - from].copy_from_slice(&header[first - self.place..last - self.place]);
    }

    /// The header to write.
    fn header_of(&self, payload: &Payload, body: &Body, op: &Op, interval: Interval, sum: Sum) -> Header {
        let offset = op.offset + interval.start;
        Header {
            method: number_of(self.method),
            len: interval.len as u32,
            seed: self.seed_of(payload, body, op.object, offset),
            offset,
            number: op.generation as u16,
            sum: sum.finish(),
        }
    }

    /// The seed in our headers, derived from this run's seed, the file and the offset, and whether the surrounding
    /// bytes are fresh.
    fn seed_of(&self, payload: &Payload, body: &Body, object: u64, offset: u64) -> u64 {
        let mut state = payload.seed() ^ object.rotate_left(17) ^ u64::from(body.is_fresh());
        state = split_mix(&mut state) ^ offset;
        split_mix(&mut state)
    }

    fn verify_interval(
        &self,
        payload: &Payload,
        body: &Body,
        op: &Op,
        interval: Interval,
        data: &[u8],
    ) -> Result<(), Box<str>> {
        let offset = op.offset + interval.start;
        let lies = |wrong: WrongBlock| -> Box<str> { format!("block at {offset}: {wrong}").into() };
        let stored = &data[self.place..self.place + self.header];
        let header = Header::read(stored).map_err(|error| lies(not_a_header(stored, error)))?;
        self.judge(payload, body, op, interval, &header).map_err(lies)?;
        let mut sum = Sum::new(self.method);
        let (before, behind) = (self.header, self.place + self.header);
        if self.place == 0 {
            sum.update(&data[before..]);
        } else {
            sum.update(&data[before..self.place]);
            sum.update(&data[..self.header]);
            sum.update(&data[behind..]);
        }
        let (len, made) = (sums::len_of(self.method), sum.finish());
        if made[..len] != header.sum[..len] {
            return Err(lies(WrongBlock::Sum {
                name: name_of(self.method),
                made: hex(&made[..len.min(32)]),
                found: hex(&header.sum[..len.min(32)]),
                difference: self.difference(payload, body, op, interval, &header, data).map(Box::new),
            }));
        }
        // Checksums of a few bits, and that of sha512, miss some damage. Our own data is compared byte by byte.
        let own = body.is_fresh() && header.seed == self.seed_of(payload, body, op.object, offset);
        if own || self.method == CheckMethod::PatternHeader {
            let op = Op { generation: u32::from(header.number), ..*op };
            return self.compare_body(payload, body, &op, interval, data).map_err(lies);
        }
        Ok(())
    }

    /// Checks a header's fields as far as possible.
    fn judge(
        &self,
        payload: &Payload,
        body: &Body,
        op: &Op,
        interval: Interval,
        header: &Header,
    ) -> Result<(), WrongBlock> {
        let offset = op.offset + interval.start;
        let ours = self.seed_of(payload, body, op.object, offset);
        let (method, len) = (number_of(self.method), interval.len as u32);
        // The same checksum has a second method number.
        let same_method = header.method == method || (method == 5 && header.method == 6);
        if header.offset != offset {
            return Err(WrongBlock::Misplaced(header.offset));
        }
        if !same_method {
            let name = name_of(self.method);
            return Err(WrongBlock::Method { found: header.method, expected: method, name });
        }
        if header.len != len {
            return Err(WrongBlock::Length { found: header.len, expected: len });
        }
        if op.generation == Op::ANY_GENERATION {
            return Ok(());
        }
        if header.seed != ours {
            return Err(WrongBlock::Seed { found: header.seed, expected: ours });
        }
        let (found, expected) = (header.number, op.generation as u16);
        if found != expected {
            return Err(WrongBlock::Generation { found, expected });
        }
        Ok(())
    }

    /// Where the data differs from what this payload writes, if this payload wrote it.
    #[cold]
    fn difference(
        &self,
        payload: &Payload,
        body: &Body,
        op: &Op,
        interval: Interval,
        header: &Header,
        data: &[u8],
    ) -> Option<Difference> {
        let offset = op.offset + interval.start;
        if header.seed != self.seed_of(payload, body, op.object, offset) && !body.is_fixed() {
            return None;
        }
        let op = Op { generation: u32::from(header.number), ..*op };
        let mut expected = vec![0; data.len()];
        self.fill_whole(payload, body, &op, interval, &mut expected);
        let header = self.place..self.place + self.header;
        let wrong = |at: &usize| data[*at] != expected[*at] && !header.contains(at);
        let count = (0..data.len()).filter(wrong).count();
        let Some(first) = (0..data.len()).find(wrong) else {
            return Some(Difference::Nowhere);
        };
        let end = (first + 8).min(data.len());
        Some(Difference::From {
            count,
            at: offset + first as u64,
            expected: expected[first..end].to_vec(),
            found: data[first..end].to_vec(),
        })
    }

    /// Compares the data around a header.
    fn compare_body(
        &self,
        payload: &Payload,
        body: &Body,
        op: &Op,
        interval: Interval,
        data: &[u8],
    ) -> Result<(), WrongBlock> {
        let behind = self.place + self.header;
        let end = self.header.max(behind);
        // Offset of the data, its length, and its offset in the interval.
        let stretches = [
            (0, if self.place > 0 { self.header } else { 0 }, self.place),
            (self.header, self.place.saturating_sub(self.header), self.header),
            (end, data.len() - end, end),
        ];
        for (lies, len, belongs) in stretches {
            let place = interval.start + belongs as u64;
            if let Some(found) = body.differs(payload, op, place, &data[lies..lies + len]) {
                let mut expected = vec![0; len];
                body.fill(payload, op, place, &mut expected);
                let end = (found + 8).min(len);
                let at = op.offset + interval.start + (lies + found) as u64;
                let (expected, found) = (&expected[found..end], &data[lies + found..lies + end]);
                return Err(WrongBlock::Data { at, expected: expected.to_vec(), found: found.to_vec() });
            }
        }
        Ok(())
    }
}

/// What is found in place of a header.
#[cold]
fn not_a_header(stored: &[u8], error: HeaderError) -> WrongBlock {
    if stored.iter().all(|byte| *byte == 0) {
        return WrongBlock::Zeros;
    }
    let mut begin = [0; 16];
    begin.copy_from_slice(&stored[..16]);
    WrongBlock::NoHeader { error, begin }
}
