//! READ and WRITE (RFC 1813 sections 3.3.6 and 3.3.7), either whole or in two parts: a head, which is decoded from the
//! first bytes of a message, and the payload, which streams past without being stored.

use super::attributes::{Attributes, WccData};
use super::types::{FileHandle, Stability, Verifier};
use crate::xdr::{Decode, DecodeError, Encode, Reader, put_opaque, xdr_struct};

/// Maximum payload accepted, in bytes. The caller's own limit is tighter.
const PAYLOAD_LIMIT: usize = 1 << 30;

xdr_struct! {
    /// READ.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    ReadArgs {
        /// The file.
        file: FileHandle,
        /// First byte.
        offset: u64,
        /// Number of bytes.
        count: u32,
    }
}

/// READ's result up to its payload. The payload and its padding follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadHead {
    /// Attributes of the file.
    pub attributes: Option<Attributes>,
    /// Bytes read.
    pub count: u32,
    /// The read reached the file's end.
    pub eof: bool,
    /// Length of the payload; a server violates the protocol if this differs from `count`.
    pub data_len: u32,
}

impl ReadHead {
    /// Reads the length of the payload, its last field.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`], or a length that no payload has.
    #[inline]
    pub fn payload_len(from: &mut Reader<'_>) -> Result<u32, DecodeError> {
        Ok(from.length("READ payload", PAYLOAD_LIMIT)? as u32)
    }
}

impl Encode for ReadHead {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        self.attributes.encode(out);
        self.count.encode(out);
        self.eof.encode(out);
        self.data_len.encode(out);
    }
}

impl Decode<'_> for ReadHead {
    #[inline]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            attributes: Option::decode(from)?,
            count: from.u32()?,
            eof: from.bool()?,
            data_len: Self::payload_len(from)?,
        })
    }
}

/// The whole result of READ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOk<'a> {
    /// Attributes of the file.
    pub attributes: Option<Attributes>,
    /// Bytes read.
    pub count: u32,
    /// The read reached the file's end.
    pub eof: bool,
    /// The bytes.
    pub data: &'a [u8],
}

impl Encode for ReadOk<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        self.attributes.encode(out);
        self.count.encode(out);
        self.eof.encode(out);
        put_opaque(out, self.data);
    }
}

impl<'a> Decode<'a> for ReadOk<'a> {
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let head = ReadHead::decode(from)?;
        let data = from.opaque_fixed(head.data_len as usize)?;
        Ok(Self { attributes: head.attributes, count: head.count, eof: head.eof, data })
    }
}

/// WRITE's arguments up to the payload. The payload and its padding follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteHead {
    /// The file.
    pub file: FileHandle,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub count: u32,
    /// Required durability at the time of the reply.
    pub stable: Stability,
    /// Length of the payload; a client violates the protocol if this differs from `count`.
    pub data_len: u32,
}

impl Encode for WriteHead {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        self.file.encode(out);
        self.offset.encode(out);
        self.count.encode(out);
        self.stable.encode(out);
        self.data_len.encode(out);
    }
}

impl Decode<'_> for WriteHead {
    #[inline]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            file: FileHandle::decode(from)?,
            offset: from.u64()?,
            count: from.u32()?,
            stable: Stability::decode(from)?,
            data_len: from.length("WRITE payload", PAYLOAD_LIMIT)? as u32,
        })
    }
}

/// The whole arguments of WRITE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteArgs<'a> {
    /// The file.
    pub file: FileHandle,
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub count: u32,
    /// Required durability at the time of the reply.
    pub stable: Stability,
    /// The bytes.
    pub data: &'a [u8],
}

impl Encode for WriteArgs<'_> {
    fn encode(&self, out: &mut Vec<u8>) {
        self.file.encode(out);
        self.offset.encode(out);
        self.count.encode(out);
        self.stable.encode(out);
        put_opaque(out, self.data);
    }
}

impl<'a> Decode<'a> for WriteArgs<'a> {
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let head = WriteHead::decode(from)?;
        let data = from.opaque_fixed(head.data_len as usize)?;
        Ok(Self { file: head.file, offset: head.offset, count: head.count, stable: head.stable, data })
    }
}

xdr_struct! {
    /// WRITE's result.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    WriteOk {
        /// Attributes of the file.
        attributes: WccData,
        /// Bytes written.
        count: u32,
        /// Their durability.
        committed: Stability,
        /// Changes when the server loses uncommitted data.
        verifier: Verifier,
    }
}
