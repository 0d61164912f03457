//! Failures of client libraries, before they name their operation or target.

use std::ffi::c_int;
use std::io;

use metrics::ErrorKind;

use crate::{Op, Payload};

/// Why a call failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: ErrorKind,
    pub(crate) detail: String,
}

impl Failure {
    #[cold]
    pub(crate) fn new(kind: ErrorKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into() }
    }
}

/// Compares a part of an operation's block, which begins at `at`, with what was written.
///
/// # Errors
/// They differ.
#[inline]
pub(crate) fn compared(payload: &Payload, op: &Op, at: u64, data: &[u8]) -> Result<(), Failure> {
    let found = payload.verify_op(op, at, data);
    found.map_err(|found| Failure::new(ErrorKind::Corrupt, format!("not what was written: {found}")))
}

/// What an error number (errno(3)) says, such as `Permission denied (error 13)`.
pub(crate) fn text_of(number: c_int) -> String {
    let error = io::Error::from_raw_os_error(number).to_string();
    error.split(" (os error").next().unwrap_or_default().to_owned() + &format!(" (error {number})")
}
