//! The direction of an operation, as fio's logs and reports number it.

use metrics::OpKind;

/// Reads, writes, trims.
pub const COUNT: usize = 3;

/// The direction of an operation; `None`: it neither moves data nor gives it up.
pub fn of_kind(kind: OpKind) -> Option<usize> {
    kind.traits().direction.map(|direction| direction as usize)
}
