//! What is sent: collects commands, requested data and replies into one buffer, and generates payload there.
//!
//! The buffer is small enough to stay in the core's cache from when it is filled until the kernel copies it.

use wire::iscsi::{
    Crc32c, DIGEST_BYTES, DataOut, HEADER_BYTES, Header, NO_TAG, NopOut, Operational, ScsiCommand,
    TaskRequest, padding, task,
};

use super::command::Data;
use super::connection::Connection;
use super::state::{Burst, Due, State};

/// Room that any header needs.
const HEAD_MAX: usize = HEADER_BYTES + DIGEST_BYTES;
/// Task attribute: the unit may reorder commands.
const SIMPLE: u8 = 1;

/// A data segment being sent.
struct Segment {
    data: Data,
    offset: u32,
    left: u32,
    padding: usize,
    /// Its digest so far, if it has one.
    digest: Option<Crc32c>,
}

/// What was begun and is not complete.
#[derive(Default)]
pub(super) struct Unfinished {
    segment: Option<Segment>,
    /// A sequence of which more PDUs follow.
    burst: Option<(Burst, Data)>,
}

/// Fills the buffer with what is to be sent; returns the number of bytes.
pub(super) fn gather(connection: &Connection, buffer: &mut [u8], unfinished: &mut Unfinished) -> usize {
    let mut state = connection.state.borrow_mut();
    let state = &mut *state;
    let lun = connection.settings.lun.0;
    let mut filled = 0;
    let mut now_ns = 0;
    loop {
        if let Some(segment) = &mut unfinished.segment {
            filled += segment.fill(connection, &mut buffer[filled..]);
            if !segment.is_complete() {
                return filled;
            }
            unfinished.segment = None;
        }
        if buffer.len() - filled < HEAD_MAX {
            return filled;
        }
        let out = &mut buffer[filled..];
        if let Some((burst, data)) = &mut unfinished.burst {
            if burst.left == 0 || !state.table.is_current(burst.index, burst.tag) {
                unfinished.burst = None;
                continue;
            }
            let (header, segment) = data_out(state, burst, *data, lun);
            filled += put(&header, &state.agreed, out);
            unfinished.segment = Some(segment);
            continue;
        }
        if let Some(due) = state.due.pop_front() {
            match due {
                Due::Burst(burst) => {
                    if let Some(slot) = state.table.current(burst.index, burst.tag) {
                        slot.outstanding_r2t = slot.outstanding_r2t.saturating_sub(1);
                        unfinished.burst = Some((burst, slot.command.data));
                    }
                }
                other => filled += put(&control(state, other, lun), &state.agreed, out),
            }
            continue;
        }
        let Some(&(index, tag)) = state.commands.front() else { return filled };
        if !state.table.is_current(index, tag) {
            // Abandoned before it was sent.
            state.commands.pop_front();
            continue;
        }
        if !state.window.is_open() {
            state.window_waits += 1;
            return filled;
        }
        state.commands.pop_front();
        if now_ns == 0 {
            now_ns = connection.transport.reactor.now();
        }
        let header = command(connection, state, index, now_ns, unfinished);
        filled += put(&header, &state.agreed, out);
    }
}

/// Writes a header with its digest.
#[inline]
fn put(header: &Header, agreed: &Operational, out: &mut [u8]) -> usize {
    out[..HEADER_BYTES].copy_from_slice(header);
    if !agreed.header_digest {
        return HEADER_BYTES;
    }
    out[HEADER_BYTES..HEAD_MAX].copy_from_slice(&Crc32c::of(header));
    HEAD_MAX
}

/// The header of a command, whose unsolicited data are `unfinished` from then on.
#[inline]
fn command(
    connection: &Connection,
    state: &mut State,
    index: u32,
    now_ns: u64,
    unfinished: &mut Unfinished,
) -> Header {
    let agreed = state.agreed;
    let cmd_sn = state.window.take();
    let slot = &mut state.table.slots[index as usize];
    if !std::mem::take(&mut slot.fresh) {
        connection.count_retry();
    }
    slot.sends += 1;
    slot.sent_ns = now_ns;
    slot.on_wire = true;
    slot.cmd_sn = cmd_sn;
    let data = slot.command.data;
    let len = data.len();
    let (read, write) = match data {
        Data::None => (false, false),
        Data::Read(_) => (true, false),
        Data::Write(_) | Data::Parameters(_) | Data::Zeroes(_) => (false, true),
    };
    let (immediate, unsolicited) =
        if write { (agreed.immediate_bytes(len), agreed.unsolicited_bytes(len)) } else { (0, 0) };
    if write {
        slot.moved = unsolicited;
    }
    if immediate > 0 {
        unfinished.segment = Some(Segment::new(data, 0, immediate, &agreed));
    }
    if unsolicited > immediate {
        let left = unsolicited - immediate;
        let burst = Burst { index, tag: slot.tag, target_tag: NO_TAG, offset: immediate, left, data_sn: 0 };
        unfinished.burst = Some((burst, data));
    }
    ScsiCommand {
        immediate: false,
        is_final: unsolicited == immediate,
        read,
        write,
        attribute: SIMPLE,
        data_bytes: immediate,
        lun: connection.settings.lun.0,
        tag: slot.tag,
        transfer_bytes: len,
        cmd_sn,
        exp_stat_sn: state.exp_stat_sn,
        cdb: slot.command.request.encode(),
    }
    .encode()
}

/// The next PDU of a sequence.
#[inline]
fn data_out(state: &State, burst: &mut Burst, data: Data, lun: u64) -> (Header, Segment) {
    let len = burst.left.min(state.agreed.send_bytes);
    let header = DataOut {
        is_final: len == burst.left,
        data_bytes: len,
        lun,
        tag: burst.tag,
        target_tag: burst.target_tag,
        exp_stat_sn: state.exp_stat_sn,
        data_sn: burst.data_sn,
        offset: burst.offset,
    };
    let segment = Segment::new(data, burst.offset, len, &state.agreed);
    burst.data_sn += 1;
    burst.offset += len;
    burst.left -= len;
    (header.encode(), segment)
}

/// The header of a ping, a reply to one, or task management: all immediate, so that a closed window does not matter.
#[cold]
fn control(state: &State, due: Due, lun: u64) -> Header {
    let (cmd_sn, exp_stat_sn) = (state.window.next(), state.exp_stat_sn);
    let nop = NopOut { immediate: true, cmd_sn, exp_stat_sn, ..NopOut::default() };
    match due {
        Due::Pong { lun, target_tag } => NopOut { lun, tag: NO_TAG, target_tag, ..nop }.encode(),
        Due::Ping | Due::Burst(_) => {
            NopOut { tag: state.table.ping_tag(), target_tag: NO_TAG, ..nop }.encode()
        }
        Due::Abort { index, tag, cmd_sn: referenced_cmd_sn } => TaskRequest {
            immediate: true,
            function: task::ABORT_TASK,
            lun,
            tag: state.table.abort_tag(index),
            referenced_tag: tag,
            cmd_sn,
            exp_stat_sn,
            referenced_cmd_sn,
        }
        .encode(),
    }
}

impl Segment {
    fn new(data: Data, offset: u32, len: u32, agreed: &Operational) -> Self {
        let digest = agreed.data_digest.then(Crc32c::new);
        Self { data, offset, left: len, padding: padding(len as usize), digest }
    }

    fn is_complete(&self) -> bool {
        self.left == 0 && self.padding == 0 && self.digest.is_none()
    }

    /// Writes as much as fits: data, padding, digest.
    #[inline]
    fn fill(&mut self, connection: &Connection, out: &mut [u8]) -> usize {
        let (data, rest) = out.split_at_mut(out.len().min(self.left as usize));
        if !data.is_empty() {
            self.data.fill(&connection.settings.payload, self.offset, data);
            self.offset += data.len() as u32;
            self.left -= data.len() as u32;
        }
        let mut filled = data.len();
        let (zeros, rest) = rest.split_at_mut(if self.left == 0 { rest.len().min(self.padding) } else { 0 });
        zeros.fill(0);
        self.padding -= zeros.len();
        filled += zeros.len();
        if let Some(digest) = &mut self.digest {
            digest.update(data);
            digest.update(zeros);
            if self.left == 0 && self.padding == 0 && rest.len() >= DIGEST_BYTES {
                rest[..DIGEST_BYTES].copy_from_slice(&digest.value());
                self.digest = None;
                filled += DIGEST_BYTES;
            }
        }
        filled
    }
}
