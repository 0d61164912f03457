//! Parses values as fio does. Every function returns either the value or how to write it.

mod arithmetic;
mod check;
mod error;
mod lists;
mod number;
mod time;

pub(super) use check::check;
pub use error::{ExpressionError, NumberError, ValueError};
pub use lists::{Triple, amount, floats, integers, names, range, ranges, times};
pub use number::{integer, percent};
pub use time::{time, time_range};
