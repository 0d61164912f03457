//! The direction of an operation, numbered as in fio's logs and reports.

use metrics::OpKind;

/// Reads, writes, trims.
pub const COUNT: usize = 3;

/// The direction of an operation; `None` if it neither moves nor trims data.
pub fn of_kind(kind: OpKind) -> Option<usize> {
    kind.traits().direction.map(|direction| direction as usize)
}
