//! What data is made of: the bytes of blocks, how they are marked and compared, and how the files are named that hold them.
//!
//! Values alone: experiments hold them, drivers carry them out.

mod bytes;
mod check;
mod names;

pub use bytes::{Content, ContentKind, PatternPiece};
pub use check::{Check, CheckMethod};
pub use names::{FileNames, USUAL_FORMAT};

/// What is not written, because everybody has it.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
