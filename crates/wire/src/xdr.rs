//! XDR (RFC 4506): the external data representation used by ONC-RPC, MOUNT and NFS.
//!
//! Decoding borrows from the input and never allocates for single values; a length is checked against its limit and
//! against the available bytes before it is used. Encoding appends to a `Vec<u8>`.

mod macros;

pub(crate) use macros::{xdr_bytes, xdr_enum, xdr_struct};

/// Why bytes could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The message ends inside a value.
    #[error("truncated: {needed} more bytes needed, {left} left")]
    Truncated {
        /// Bytes that the value needs.
        needed: usize,
        /// Bytes available.
        left: usize,
    },
    /// A length field exceeds what the protocol (or this program) allows.
    #[error("oversize {what}: {len}, at most {limit} allowed")]
    Oversize {
        /// The field.
        what: &'static str,
        /// The length in the message.
        len: u64,
        /// The largest accepted length.
        limit: u64,
    },
    /// The bytes that pad an opaque to a multiple of four are not zero (RFC 4506 section 4.9).
    #[error("padding bytes are not zero")]
    BadPadding,
    /// A boolean that is neither 0 nor 1 (RFC 4506 section 4.4).
    #[error("a boolean is {0}")]
    BadBool(u32),
    /// A value that the protocol's union or enumeration does not have.
    #[error("{what} has no value {value}")]
    BadDiscriminant {
        /// The union or enumeration.
        what: &'static str,
        /// The value in the message.
        value: u32,
    },
    /// Bytes remain after the last field.
    #[error("{0} bytes are left after the end of the message")]
    Trailing(usize),
}

/// A value with an XDR form.
pub trait Encode {
    /// Appends the XDR form.
    fn encode(&self, out: &mut Vec<u8>);
}

/// A value that can be read from its XDR form, borrowing from it where that saves a copy.
pub trait Decode<'a>: Sized {
    /// Reads one value and advances the reader past it.
    ///
    /// # Errors
    /// What is wrong with the bytes; the reader's position is then unspecified.
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError>;
}

/// Decodes a value that must occupy `bytes` exactly.
///
/// # Errors
/// What is wrong with the bytes, [`DecodeError::Trailing`] included.
pub fn decode_all<'a, T: Decode<'a>>(bytes: &'a [u8]) -> Result<T, DecodeError> {
    let mut reader = Reader::new(bytes);
    let value = T::decode(&mut reader)?;
    reader.finish()?;
    Ok(value)
}

/// Number of zero bytes that follow `len` bytes of opaque data.
#[inline]
pub const fn padding(len: usize) -> usize {
    len.wrapping_neg() & 3
}

/// A position in a message that is being decoded.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    file_handle_max: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of `bytes`.
    #[inline]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, file_handle_max: crate::nfs3::FileHandle::LIMIT }
    }

    /// Accepts file handles of version 4's length, for procedures of version 3 that carry them between parts of a program.
    #[must_use]
    pub const fn with_long_file_handles(self) -> Self {
        Self { file_handle_max: crate::nfs3::FileHandle::CAPACITY, ..self }
    }

    /// Maximum length of a file handle, in bytes.
    #[inline]
    pub(crate) const fn file_handle_max(&self) -> usize {
        self.file_handle_max
    }

    /// Bytes read so far.
    #[inline]
    pub const fn position(&self) -> usize {
        self.at
    }

    /// Bytes still to be read.
    #[inline]
    pub const fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Everything that was not read yet.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.at..]
    }

    /// Checks that nothing remains.
    ///
    /// # Errors
    /// [`DecodeError::Trailing`].
    #[inline]
    pub const fn finish(&self) -> Result<(), DecodeError> {
        if self.left() == 0 { Ok(()) } else { Err(DecodeError::Trailing(self.left())) }
    }

    /// Reads `len` bytes as they are, without padding.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    #[inline]
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        if len > self.left() {
            return Err(DecodeError::Truncated { needed: len, left: self.left() });
        }
        let taken = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(taken)
    }

    /// Reads `N` bytes as they are, without padding.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    #[inline(always)]
    pub fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], DecodeError> {
        let Some(taken) = self.rest().first_chunk() else {
            return Err(DecodeError::Truncated { needed: N, left: self.left() });
        };
        self.at += N;
        Ok(taken)
    }

    /// Reads an unsigned integer (RFC 4506 section 4.2).
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    #[inline(always)]
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_be_bytes(*self.array()?))
    }

    /// Reads an unsigned hyper integer (RFC 4506 section 4.5).
    ///
    /// # Errors
    /// [`DecodeError::Truncated`].
    #[inline(always)]
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        Ok(u64::from_be_bytes(*self.array()?))
    }

    /// Reads a boolean (RFC 4506 section 4.4).
    ///
    /// # Errors
    /// [`DecodeError::Truncated`], [`DecodeError::BadBool`].
    #[inline]
    pub fn bool(&mut self) -> Result<bool, DecodeError> {
        match self.u32()? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(DecodeError::BadBool(other)),
        }
    }

    /// Reads the length of a variable-length value and checks it against `limit` only.
    ///
    /// # Errors
    /// [`DecodeError::Truncated`], or [`DecodeError::Oversize`] naming `what`.
    #[inline]
    pub fn length(&mut self, what: &'static str, limit: usize) -> Result<usize, DecodeError> {
        let len = self.u32()?;
        if len as usize > limit {
            return Err(DecodeError::Oversize { what, len: u64::from(len), limit: limit as u64 });
        }
        Ok(len as usize)
    }

    /// Reads fixed-length opaque data and its padding (RFC 4506 section 4.9).
    ///
    /// # Errors
    /// [`DecodeError::Truncated`], [`DecodeError::BadPadding`].
    #[inline]
    pub fn opaque_fixed(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let data = self.take(len)?;
        let pad = self.take(padding(len))?;
        if pad.iter().any(|&byte| byte != 0) {
            return Err(DecodeError::BadPadding);
        }
        Ok(data)
    }

    /// Reads variable-length opaque data or a string (RFC 4506 sections 4.10 and 4.11).
    ///
    /// # Errors
    /// Those of [`Reader::length`] and [`Reader::opaque_fixed`].
    #[inline]
    pub fn opaque(&mut self, what: &'static str, limit: usize) -> Result<&'a [u8], DecodeError> {
        let len = self.length(what, limit)?;
        self.opaque_fixed(len)
    }
}

/// Appends variable-length opaque data: length, data, padding.
#[inline]
pub fn put_opaque(out: &mut Vec<u8>, data: &[u8]) {
    let len = u32::try_from(data.len()).expect("messages are far smaller than 4 GiB");
    len.encode(out);
    put_opaque_fixed(out, data);
}

/// Appends fixed-length opaque data: data, padding.
#[inline]
pub fn put_opaque_fixed(out: &mut Vec<u8>, data: &[u8]) {
    out.extend_from_slice(data);
    let padding = padding(data.len());
    if padding > 0 {
        out.extend_from_slice(&[0u8; 3][..padding]);
    }
}

impl Encode for u32 {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_be_bytes());
    }
}

impl Decode<'_> for u32 {
    #[inline]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        from.u32()
    }
}

impl Encode for u64 {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_be_bytes());
    }
}

impl Decode<'_> for u64 {
    #[inline]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        from.u64()
    }
}

impl Encode for bool {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        u32::from(*self).encode(out);
    }
}

impl Decode<'_> for bool {
    #[inline]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        from.bool()
    }
}

/// Bytes without a length prefix, as in verifiers and cookies.
impl<const N: usize> Encode for [u8; N] {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        put_opaque_fixed(out, self);
    }
}

impl<const N: usize> Decode<'_> for [u8; N] {
    #[inline]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(from.opaque_fixed(N)?.try_into().expect("N bytes were taken"))
    }
}

/// Optional data (RFC 4506 section 4.19).
impl<T: Encode> Encode for Option<T> {
    #[inline]
    fn encode(&self, out: &mut Vec<u8>) {
        self.is_some().encode(out);
        if let Some(value) = self {
            value.encode(out);
        }
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for Option<T> {
    #[inline]
    fn decode(from: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(if from.bool()? { Some(T::decode(from)?) } else { None })
    }
}

/// Nothing at all (`void`, RFC 4506 section 4.16).
impl Encode for () {
    fn encode(&self, _out: &mut Vec<u8>) {}
}

impl Decode<'_> for () {
    fn decode(_from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(())
    }
}

/// Appends a linked list in RPC form: each element after a "one more" flag.
pub fn put_list<T: Encode>(out: &mut Vec<u8>, elements: &[T]) {
    for element in elements {
        true.encode(out);
        element.encode(out);
    }
    false.encode(out);
}

/// Reads a linked list of at most `limit` elements.
///
/// # Errors
/// Those of the elements, or [`DecodeError::Oversize`] naming `what`.
pub fn read_list<'a, T: Decode<'a>>(
    from: &mut Reader<'a>,
    what: &'static str,
    limit: usize,
) -> Result<Vec<T>, DecodeError> {
    let mut list = Vec::new();
    while from.bool()? {
        if list.len() == limit {
            return Err(DecodeError::Oversize { what, len: limit as u64 + 1, limit: limit as u64 });
        }
        list.push(T::decode(from)?);
    }
    Ok(list)
}
