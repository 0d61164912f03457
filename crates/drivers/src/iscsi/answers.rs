//! What answers mean for the commands that they end, ask data for, or say something about.

use metrics::ErrorKind;
use wire::iscsi::{DataIn, IscsiAnswer, NO_TAG, ReadyToTransfer, ScsiResponse, ScsiStatus, Sense};

use super::command::{Data, Outcome};
use super::incoming::{Flow, garbage, told};
use super::slots::{Answer, Found};
use super::state::{Burst, Due, State};
use crate::reconnecting::Loss;

/// All data of a Data-In have come; they may end the command.
#[inline]
pub(super) fn data_came(data: &DataIn, flow: Option<Flow>, state: &mut State) {
    if data.has_status {
        state.note_status(data.stat_sn);
    }
    let Some(Flow { of: Some((index, _)), tag, first_byte_ns, corrupt, gathered, .. }) = flow else {
        state.table.late_replies += u64::from(data.has_status);
        return;
    };
    let Some(slot) = state.table.current(index, tag) else {
        state.table.late_replies += u64::from(data.has_status);
        return;
    };
    slot.moved += data.data_bytes;
    slot.first_byte_ns.get_or_insert(first_byte_ns);
    if slot.corrupt.is_none() {
        slot.corrupt = corrupt;
    }
    if let Some(gathered) = gathered {
        slot.gathered = gathered;
    }
    if data.has_status {
        let moved = Residual { overflow: data.overflow, underflow: data.underflow, bytes: data.residual };
        let status = ScsiStatus(data.status);
        settle(state, index, if status == ScsiStatus::GOOD { Ok(moved) } else { Err((status, None)) });
    }
}

/// What the target says about the bytes moved.
struct Residual {
    overflow: bool,
    underflow: bool,
    bytes: u32,
}

/// A SCSI response.
#[inline]
pub(super) fn ended(response: &ScsiResponse, kept: &[u8], state: &mut State) -> Result<(), Loss> {
    let index = match state.table.find(response.tag) {
        Found::Waiting(index) => index,
        Found::Late => {
            state.table.late_replies += 1;
            return Ok(());
        }
        _ => return Err(garbage("the end of a command that was never sent")),
    };
    if response.response != 0 {
        let failed = Outcome::TargetFailure(response.response);
        state.table.settle(index, Some(Answer::Failed(failed)));
        return Ok(());
    }
    let status = ScsiStatus(response.status);
    let moved =
        Residual { overflow: response.overflow, underflow: response.underflow, bytes: response.residual };
    let outcome =
        if status == ScsiStatus::GOOD { Ok(moved) } else { Err((status, Sense::in_response(kept))) };
    settle(state, index, outcome);
    Ok(())
}

/// Ends a command as the unit says.
#[inline]
fn settle(state: &mut State, index: u32, outcome: Result<Residual, (ScsiStatus, Option<Sense>)>) {
    let slot = &mut state.table.slots[index as usize];
    let answer = match outcome {
        Err((status, sense)) => Answer::Failed(Outcome::Status(status, sense)),
        Ok(moved) => judge(slot.command.data, slot.moved, &moved, slot.corrupt.take()),
    };
    state.table.settle(index, Some(answer));
}

#[inline]
fn judge(data: Data, came: u32, moved: &Residual, corrupt: Option<Box<str>>) -> Answer {
    let len = data.len();
    let failed = |kind, text: String| Answer::Failed(Outcome::Failed(kind, text.into()));
    if moved.overflow {
        return failed(ErrorKind::Length, format!("{} bytes more than the {len} asked for", moved.bytes));
    }
    match data {
        Data::Read(_) if came < len => failed(ErrorKind::Length, format!("{came} of {len} bytes came")),
        // Some targets do not count the parameters of a command as taken: its status says what became of it.
        Data::Write(_) if came < len || (moved.underflow && moved.bytes > 0) => {
            let taken = came.min(len.saturating_sub(moved.bytes));
            failed(ErrorKind::Length, format!("the unit took {taken} of {len} bytes"))
        }
        _ => match corrupt {
            Some(found) => failed(ErrorKind::Corrupt, format!("not what was written: {found}")),
            None => Answer::Done,
        },
    }
}

/// The target asks for data.
#[inline]
pub(super) fn asked(wanted: &ReadyToTransfer, state: &mut State) -> Result<(), Loss> {
    let index = match state.table.find(wanted.tag) {
        Found::Waiting(index) => index,
        Found::Late => return Ok(()),
        _ => return Err(garbage("R2T for a command that was never sent")),
    };
    let agreed = state.agreed;
    let slot = &mut state.table.slots[index as usize];
    let len = match slot.command.data {
        Data::Write(_) | Data::Parameters(_) | Data::Zeroes(_) => slot.command.data.len(),
        Data::None | Data::Read(_) => return Err(garbage("R2T for a command that writes nothing")),
    };
    if wanted.r2t_sn != slot.data_sn || wanted.offset != slot.moved {
        return Err(garbage(format_args!(
            "R2T out of order: number {} for offset {} instead of {} for {}",
            wanted.r2t_sn, wanted.offset, slot.data_sn, slot.moved
        )));
    }
    let bytes = wanted.wanted_bytes;
    if bytes == 0 || bytes > len - slot.moved || bytes > agreed.burst_bytes {
        return Err(garbage(format_args!("R2T for {bytes} bytes at offset {} of {len}", wanted.offset)));
    }
    if slot.outstanding_r2t >= agreed.outstanding_r2t {
        return Err(garbage(format_args!("more than {} R2Ts at once", agreed.outstanding_r2t)));
    }
    slot.data_sn += 1;
    slot.moved += bytes;
    slot.outstanding_r2t += 1;
    state.push(Due::Burst(Burst {
        index,
        tag: wanted.tag,
        target_tag: wanted.target_tag,
        offset: wanted.offset,
        left: bytes,
        data_sn: 0,
    }));
    Ok(())
}

/// Everything that is no part of a command.
#[cold]
pub(super) fn unusual(answer: &IscsiAnswer, state: &mut State, now_ns: u64) -> Result<(), Loss> {
    match answer {
        IscsiAnswer::Nop(ping) => {
            state.note_window(ping.exp_cmd_sn, ping.max_cmd_sn);
            if ping.tag != NO_TAG {
                state.note_status(ping.stat_sn);
                if state.table.find(ping.tag) == Found::Ping {
                    state.pinged_ns = None;
                }
            }
            if ping.target_tag != NO_TAG {
                state.push_pong(ping.lun, ping.target_tag);
            }
            Ok(())
        }
        IscsiAnswer::Task(done) => {
            state.note_window(done.exp_cmd_sn, done.max_cmd_sn);
            state.note_status(done.stat_sn);
            match state.table.find(done.tag) {
                Found::Abort(index) if state.aborted(index, now_ns) => Ok(()),
                _ => Err(garbage("an answer to task management that was not asked for")),
            }
        }
        IscsiAnswer::Async(message) => {
            state.note_window(message.exp_cmd_sn, message.max_cmd_sn);
            state.note_status(message.stat_sn);
            match message.event {
                1 => Err(told("the target asked for a logout")),
                2 | 3 => Err(told("the target dropped the connection")),
                4 => Err(told("the target asked to negotiate again")),
                // SCSI events come as unit attentions, too; the others are the vendor's.
                _ => Ok(()),
            }
        }
        IscsiAnswer::Reject(rejection) => {
            let text = format!("the target rejected a PDU: {}", rejection.words());
            Err(Loss::new(ErrorKind::Protocol, text))
        }
        _ => Err(garbage("an answer to what was not asked")),
    }
}
