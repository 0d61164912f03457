//! Results reduced to what is used of them. Attributes are most of a small reply, and hardly any of them is looked at.

use wire::nfs3::{Attributes, FileHandle, ReadHead, Stability, Verifier, WccAttributes};
use wire::xdr::{Decode, DecodeError, Reader};

use super::calls::Written;

/// Passes over optional data of `N` bytes.
#[inline(always)]
fn pass_over<const N: usize>(from: &mut Reader<'_>) -> Result<(), DecodeError> {
    if from.bool()? {
        from.array::<N>()?;
    }
    Ok(())
}

/// `post_op_attr` that is passed over.
pub(super) struct After;

impl Decode<'_> for After {
    #[inline(always)]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        pass_over::<{ Attributes::ENCODED_BYTES }>(from)?;
        Ok(Self)
    }
}

/// `wcc_data` that is passed over.
pub(super) struct BeforeAndAfter;

impl Decode<'_> for BeforeAndAfter {
    #[inline(always)]
    fn decode(from: &mut Reader<'_>) -> Result<Self, DecodeError> {
        pass_over::<{ WccAttributes::ENCODED_BYTES }>(from)?;
        pass_over::<{ Attributes::ENCODED_BYTES }>(from)?;
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

#[cfg(test)]
mod tests {
    use wire::nfs3::{CommitOk, CreateOk, FileType, LookupOk, Time, WccData, WriteOk};
    use wire::xdr::{Encode, decode_all};

    use super::*;

    fn attributes() -> Attributes {
        let time = Time { seconds: 1, nanoseconds: 2 };
        Attributes {
            kind: FileType::Regular,
            mode: 0o644,
            links: 1,
            uid: 0,
            gid: 0,
            size: 4096,
            used: 8192,
            device: Default::default(),
            fsid: 3,
            file_id: 4,
            accessed: time,
            modified: time,
            changed: time,
        }
    }

    fn reduced<T: for<'a> Decode<'a>>(whole: &impl Encode) -> T {
        let mut record = Vec::new();
        whole.encode(&mut record);
        decode_all(&record).expect("the whole result was read")
    }

    /// Each reads all of the result that it stands for, with any of its attributes missing.
    #[test]
    fn reduced_results_are_as_long_as_whole_ones() {
        let Attributes { size, modified, changed, .. } = attributes();
        let file = FileHandle::new(&[7; 32]).expect("short enough");
        let verifier = [5; 8];
        for missing in 0..8u32 {
            let some = |bit: u32| (missing >> bit & 1 == 0).then(attributes);
            let before = (missing >> 2 & 1 == 0).then_some(WccAttributes { size, modified, changed });
            let wcc = WccData { before, after: some(1) };
            let After = reduced(&some(0));
            let BeforeAndAfter = reduced(&wcc);
            let LookedUp(found, found_size) =
                reduced(&LookupOk { file, attributes: some(0), directory: some(1) });
            assert_eq!((found, found_size), (file, some(0).map(|_| 4096)));
            for file in [None, Some(file)] {
                let Created(created) = reduced(&CreateOk { file, attributes: some(0), directory: wcc });
                assert_eq!(created, file);
            }
            let whole = WriteOk { attributes: wcc, count: 9, committed: Stability::FileSync, verifier };
            let Written { bytes, committed, verifier: written } = reduced(&whole);
            assert_eq!((bytes, committed, written), (9, Stability::FileSync, verifier));
            let Committed(committed) = reduced(&CommitOk { attributes: wcc, verifier });
            assert_eq!(committed, verifier);
        }
        let Size(found) = reduced(&attributes());
        assert_eq!(found, 4096);
    }
}
