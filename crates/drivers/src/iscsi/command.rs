//! A command as the load sends it, and how it ends.

use metrics::ErrorKind;
use wire::iscsi::{ScsiRequest, ScsiStatus, Sense};

use crate::{Op, Payload};

/// A part of an operation's range, moved by one command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) op: Op,
    /// Its offset in the operation's range.
    pub(super) at: u64,
    pub(super) len: u32,
}

/// What a command moves.
#[derive(Clone, Copy, Debug)]
pub(super) enum Data {
    None,
    Read(Piece),
    Write(Piece),
    /// Parameters of UNMAP.
    Parameters([u8; ScsiRequest::UNMAP_BYTES]),
    /// The block of zeroes of WRITE SAME, of so many bytes.
    Zeroes(u32),
}

impl Data {
    pub(super) const fn len(&self) -> u32 {
        match self {
            Self::None => 0,
            Self::Read(piece) | Self::Write(piece) => piece.len,
            Self::Parameters(_) => ScsiRequest::UNMAP_BYTES as u32,
            Self::Zeroes(bytes) => *bytes,
        }
    }

    /// Writes the outgoing bytes from `offset` on.
    #[inline]
    pub(super) fn fill(&self, payload: &Payload, offset: u32, out: &mut [u8]) {
        match self {
            Self::Write(piece) => payload.fill_op(&piece.op, piece.at + u64::from(offset), out),
            Self::Parameters(bytes) => {
                let from = offset as usize;
                out.copy_from_slice(&bytes[from..from + out.len()]);
            }
            Self::Zeroes(_) => out.fill(0),
            Self::None | Self::Read(_) => {}
        }
    }
}

/// A command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    pub(super) request: ScsiRequest,
    pub(super) data: Data,
}

impl Command {
    /// Nothing to do yet.
    pub(super) const IDLE: Self = Self { request: ScsiRequest::TestUnitReady, data: Data::None };
}

/// How a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The unit ended it with this status.
    Status(ScsiStatus, Option<Sense>),
    /// The target could not run it (RFC 7143, 11.4.3).
    TargetFailure(u8),
    /// It failed before the unit ended it.
    Failed(ErrorKind, Box<str>),
}
