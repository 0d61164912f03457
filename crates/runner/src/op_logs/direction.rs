//! The direction of an operation, as fio's logs and reports number it.

use metrics::OpKind;

/// Reads, writes, trims.
pub const COUNT: usize = 3;

/// The direction of an operation; `None`: it moves no data.
pub fn of_kind(kind: OpKind) -> Option<usize> {
    match kind {
        OpKind::Read | OpKind::Get => Some(0),
        OpKind::Write | OpKind::Put => Some(1),
        OpKind::Trim => Some(2),
        _ => None,
    }
}
