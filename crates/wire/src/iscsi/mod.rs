//! iSCSI (RFC 7143) and the SCSI commands that it carries (SPC-5, SBC-4), from both ends.
//!
//! A PDU is a header of 48 bytes, perhaps additional header segments, and data padded to four bytes. Headers are values
//! with `encode` and `decode`; data stay where they are. A login is a dialogue without I/O ([`LoginDialog`]).

mod answer;
mod cdb;
mod chap;
mod digest;
mod field;
mod inquiry;
mod login;
mod login_status;
mod lun;
mod negotiation;
mod request;
mod sense;
mod sense_names;
mod text;
mod window;

pub use answer::{
    AsyncMessage, DataIn, IscsiAnswer, LoginResponse, LogoutResponse, NopIn, ReadyToTransfer, Rejection,
    ScsiResponse, TaskResponse, TextResponse,
};
pub use cdb::{Cdb, ScsiRequest};
pub use chap::{ChapAlgorithm, ChapSecret, chap_response};
pub use digest::Crc32c;
pub use inquiry::{BlockLimits, StandardInquiry, UnitCapacity, luns, unit_serial};
pub use login::{LoginDialog, LoginFailure, LoginIdentity, LoginStep};
pub use login_status::LoginStatus;
pub use lun::Lun;
pub use negotiation::{DigestUse, NegotiationError, Offer, Operational};
pub use request::{
    DataOut, IscsiRequest, LoginRequest, LogoutRequest, NopOut, ScsiCommand, TaskRequest, TextRequest,
};
pub use sense::{ScsiStatus, Sense, SenseKey};
pub use text::{TextKeys, push_key};
pub use window::CommandWindow;

/// Bytes of a header.
pub const HEADER_BYTES: usize = 48;
/// A basic header segment.
pub type Header = [u8; HEADER_BYTES];
/// Bytes of a header or data digest.
pub const DIGEST_BYTES: usize = 4;
/// The tag that means none.
pub const NO_TAG: u32 = u32::MAX;
/// The port of iSCSI.
pub const PORT: u16 = 3260;
/// `MaxRecvDataSegmentLength` of a side that declares none.
pub const DEFAULT_SEGMENT_BYTES: u32 = 8192;
/// The largest data segment that a header can announce.
pub const MAX_SEGMENT_BYTES: u32 = 0xff_ffff;

/// Task management functions (RFC 7143, 11.5.1).
pub mod task {
    /// Aborts the referenced task.
    pub const ABORT_TASK: u8 = 1;
}

/// A header that is none of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("opcode {0:#04x} is none that this side receives")]
pub struct UnknownOpcode(pub u8);

/// Bytes of additional header segments behind a header.
#[inline]
pub fn additional_bytes(header: &Header) -> usize {
    usize::from(header[4]) * 4
}

/// Bytes of data behind a header, without padding.
#[inline]
pub fn data_bytes(header: &Header) -> usize {
    u32::from_be_bytes([0, header[5], header[6], header[7]]) as usize
}

/// Bytes of padding behind `len` bytes of data.
#[inline]
pub const fn padding(len: usize) -> usize {
    len.wrapping_neg() & 3
}
