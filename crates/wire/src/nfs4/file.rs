//! Operations on the current file (RFC 8881 sections 18.1, 18.3, 18.22, 18.30 and 18.32).

use super::attributes::Fattr;
use super::types::StateId;
use crate::nfs3::{Stability, Verifier};
use crate::xdr::{Decode, DecodeError, Encode, Reader, put_opaque, xdr_struct};

/// Maximum payload accepted, in bytes. The caller's own limit is tighter.
const PAYLOAD_LIMIT: usize = 1 << 30;

xdr_struct! {
    /// ACCESS's result. The bits are those of version 3 ([`crate::nfs3::AccessArgs`]).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Access4Ok {
        /// Bits that the server can judge.
        supported: u32,
        /// The permitted bits.
        access: u32,
    }
}

xdr_struct! {
    /// COMMIT.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Commit4Args {
        /// First byte to make durable.
        offset: u64,
        /// Number of bytes; 0 for everything up to the end.
        count: u32,
    }
}

xdr_struct! {
    /// SETATTR.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    SetAttrArgs<'a> {
        /// The open; needed to set the size.
        state: StateId,
        /// What to set.
        attributes: Fattr<'a>,
    }
}

xdr_struct! {
    /// READ.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Read4Args {
        /// The open.
        state: StateId,
        /// First byte.
        offset: u64,
        /// Number of bytes.
        count: u32,
    }
}

/// READ's result up to its payload. The payload and its padding follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read4Head {
    /// The read reached the file's end.
    pub eof: bool,
    /// Length of the payload.
    pub data_len: u32,
}

impl Encode for Read4Head {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        self.eof.encode(out);
        self.data_len.encode(out);
    }
}

impl Decode<'_> for Read4Head {
    #[inline]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self { eof: from.bool()?, data_len: from.length("READ payload", PAYLOAD_LIMIT)? as u32 })
    }
}

/// The whole result of READ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read4Ok<'a> {
    /// The read reached the file's end.
    pub eof: bool,
    /// The bytes.
    pub data: &'a [u8],
}

impl Encode for Read4Ok<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        self.eof.encode(out);
        put_opaque(out, self.data);
    }
}

impl<'a> Decode<'a> for Read4Ok<'a> {
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let Read4Head { eof, data_len } = Read4Head::decode(from)?;
        Ok(Self { eof, data: from.opaque_fixed(data_len as usize)? })
    }
}

/// WRITE's arguments up to the payload. The payload and its padding follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write4Head {
    /// The open.
    pub state: StateId,
    /// First byte.
    pub offset: u64,
    /// Required durability at the time of the reply.
    pub stable: Stability,
    /// Length of the payload.
    pub data_len: u32,
}

impl Encode for Write4Head {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        self.state.encode(out);
        self.offset.encode(out);
        self.stable.encode(out);
        self.data_len.encode(out);
    }
}

impl Decode<'_> for Write4Head {
    #[inline]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            state: StateId::decode(from)?,
            offset: from.u64()?,
            stable: Stability::decode(from)?,
            data_len: from.length("WRITE payload", PAYLOAD_LIMIT)? as u32,
        })
    }
}

/// The whole arguments of WRITE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write4Args<'a> {
    /// The open.
    pub state: StateId,
    /// First byte.
    pub offset: u64,
    /// Required durability at the time of the reply.
    pub stable: Stability,
    /// The bytes.
    pub data: &'a [u8],
}

impl Encode for Write4Args<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        self.state.encode(out);
        self.offset.encode(out);
        self.stable.encode(out);
        put_opaque(out, self.data);
    }
}

impl<'a> Decode<'a> for Write4Args<'a> {
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let Write4Head { state, offset, stable, data_len } = Write4Head::decode(from)?;
        Ok(Self { state, offset, stable, data: from.opaque_fixed(data_len as usize)? })
    }
}

xdr_struct! {
    /// WRITE's result.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    Write4Ok {
        /// Bytes written.
        count: u32,
        /// Their durability.
        committed: Stability,
        /// Changes when the server loses uncommitted data.
        verifier: Verifier,
    }
}
