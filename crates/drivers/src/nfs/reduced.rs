//! Results reduced to what is used of them. Attributes are most of a small reply, and hardly any of them is looked at.

use wire::nfs3::{Attributes, FileHandle, ReadHead, Stability, Verifier, WccAttributes};
use wire::xdr::{Decode, DecodeError, Reader};

use super::calls::Written;

/// `post_op_attr` that is passed over.
pub(super) struct After;

impl Decode<'_> for After {
    #[inline(always)]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        if from.bool()? {
            from.array::<{ Attributes::ENCODED_BYTES }>()?;
        }
        Ok(Self)
    }
}

/// `wcc_data` that is passed over.
pub(super) struct BeforeAndAfter;

impl Decode<'_> for BeforeAndAfter {
    #[inline(always)]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        if from.bool()? {
            from.array::<{ WccAttributes::ENCODED_BYTES }>()?;
        }
        After::decode(from)?;
        Ok(Self)
    }
}

/// `fattr3`: the size in bytes.
pub(super) struct Size(pub(super) u64);

impl Decode<'_> for Size {
    #[inline(always)]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self(Attributes::decode(from)?.size))
    }
}

/// LOOKUP: the handle, and the size if the server returns it.
pub(super) struct LookedUp(pub(super) FileHandle, pub(super) Option<u64>);

impl Decode<'_> for LookedUp {
    #[inline]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (file, size) = (FileHandle::decode(from)?, Option::<Size>::decode(from)?);
        After::decode(from)?;
        Ok(Self(file, size.map(|size| size.0)))
    }
}

/// CREATE, MKDIR and SYMLINK: the handle of what was created, if the server returns it.
pub(super) struct Created(pub(super) Option<FileHandle>);

impl Decode<'_> for Created {
    #[inline]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let file = Option::decode(from)?;
        After::decode(from)?;
        BeforeAndAfter::decode(from)?;
        Ok(Self(file))
    }
}

impl Decode<'_> for Written {
    #[inline]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        BeforeAndAfter::decode(from)?;
        Ok(Self { bytes: from.u32()?, committed: Stability::decode(from)?, verifier: Decode::decode(from)? })
    }
}

/// COMMIT.
pub(super) struct Committed(pub(super) Verifier);

impl Decode<'_> for Committed {
    #[inline]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        BeforeAndAfter::decode(from)?;
        Ok(Self(Decode::decode(from)?))
    }
}

/// READ, up to its payload.
pub(super) struct Coming {
    /// Bytes read.
    pub(super) count: u32,
    /// The read reached the file's end.
    pub(super) eof: bool,
    /// Length of the payload.
    pub(super) data_len: u32,
}

impl Decode<'_> for Coming {
    #[inline(always)]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        After::decode(from)?;
        Ok(Self { count: from.u32()?, eof: from.bool()?, data_len: ReadHead::payload_len(from)? })
    }
}
