//! Failed commands as kinds of errors, and in words.

use metrics::ErrorKind;
use wire::iscsi::{ScsiStatus, Sense, SenseKey};

use super::command::Outcome;

/// The additional sense code INVALID COMMAND OPERATION CODE.
const NO_SUCH_COMMAND: u8 = 0x20;

/// The kind of error and the words for a command that failed.
#[cold]
pub(super) fn explain(outcome: &Outcome) -> (ErrorKind, String) {
    match outcome {
        Outcome::Failed(kind, text) => (*kind, text.to_string()),
        Outcome::TargetFailure(response) => {
            (ErrorKind::ServerFault, format!("the target failed (response {response:#04x})"))
        }
        Outcome::Status(status, Some(sense)) => {
            (kind_of_sense(sense), format!("the unit answers {}: {sense}{}", status.name(), advice(sense)))
        }
        Outcome::Status(status, None) => {
            let next = match *status {
                ScsiStatus::RESERVATION_CONFLICT => {
                    "; another initiator has reserved the unit: release it there, or use another"
                }
                _ => "",
            };
            (kind_of_status(*status), format!("the unit answers {}{next}", status.name()))
        }
    }
}

fn kind_of_status(status: ScsiStatus) -> ErrorKind {
    match status {
        ScsiStatus::BUSY | ScsiStatus::TASK_SET_FULL => ErrorKind::Busy,
        ScsiStatus::RESERVATION_CONFLICT => ErrorKind::AccessDenied,
        _ => ErrorKind::ServerFault,
    }
}

fn kind_of_sense(sense: &Sense) -> ErrorKind {
    match (sense.key, sense.code, sense.qualifier) {
        // Space allocation failed: a thin unit is full.
        (SenseKey::DATA_PROTECT, 0x27, 0x07) => ErrorKind::NoSpace,
        (SenseKey::DATA_PROTECT, ..) => ErrorKind::ReadOnly,
        (SenseKey::ILLEGAL_REQUEST, 0x25, _) => ErrorKind::NotFound,
        (SenseKey::ILLEGAL_REQUEST, ..) => ErrorKind::Rejected,
        (SenseKey::NOT_READY | SenseKey::UNIT_ATTENTION, ..) => ErrorKind::Busy,
        _ => ErrorKind::ServerFault,
    }
}

fn advice(sense: &Sense) -> &'static str {
    match (sense.key, sense.code) {
        (SenseKey::ILLEGAL_REQUEST, NO_SUCH_COMMAND) => "; the unit does not support this command",
        (SenseKey::ILLEGAL_REQUEST, 0x25) => "; check the number of the unit (LUN)",
        (SenseKey::DATA_PROTECT, _) => "; make the unit writable, or only read",
        _ => "",
    }
}

/// True when the command was not run and may be repeated at once.
pub(super) fn is_attention(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Status(_, Some(sense)) if sense.key == SenseKey::UNIT_ATTENTION)
}

/// True when the unit asks to try again later.
pub(super) fn is_busy(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Status(ScsiStatus::BUSY | ScsiStatus::TASK_SET_FULL, _))
}

/// True when the unit does not have this command.
pub(super) fn is_unsupported(outcome: &Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Status(_, Some(Sense { key: SenseKey::ILLEGAL_REQUEST, code: NO_SUCH_COMMAND, .. }))
    )
}

/// True when the unit does not have what was asked for.
pub(super) fn is_rejected(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Status(_, Some(sense)) if sense.key == SenseKey::ILLEGAL_REQUEST)
}
