//! Every value decodes to what was encoded, and the hot procedures never allocate.

use proptest::collection::vec;
use proptest::prelude::*;
use wire::nfs3::{
    Attributes, CommitArgs, CommitOk, Device, FileHandle, ProcedureResult, ReadArgs, ReadHead, Stability,
    Time, WccAttributes, WccData, WriteArgs, WriteHead, WriteOk,
};
use wire::rpc::{AUTH_SYS, Auth, CallHeader, ReplyHeader};
use wire::xdr::{Decode, Encode, Reader};

use crate::alloc::allocated;
use crate::codecs::{nfs, nfs41, rpc};
use crate::sample::Source;

proptest! {
    #[test]
    fn every_value_survives_the_wire(entropy in vec(any::<u8>(), 0..700)) {
        for codec in nfs().into_iter().chain(nfs41()).chain(rpc()) {
            let bytes = (codec.round_trip)(&entropy);
            prop_assert_eq!((codec.decode)(&bytes), Ok(()), "{}", codec.name);
        }
    }

    #[test]
    fn every_truncation_is_noticed(entropy in vec(any::<u8>(), 0..300), cut in any::<prop::sample::Index>()) {
        for codec in nfs().into_iter().chain(nfs41()).chain(rpc()) {
            let bytes = (codec.round_trip)(&entropy);
            if !bytes.is_empty() {
                let cut = cut.index(bytes.len());
                prop_assert!((codec.decode)(&bytes[..cut]).is_err(), "{} cut at {}", codec.name, cut);
            }
        }
    }
}

#[test]
fn hot_procedures_allocate_nothing() {
    let entropy: Vec<u8> = (0..=255).cycle().take(2000).collect();
    let mut source = Source::new(&entropy);
    let file: FileHandle = source.get();
    let write_ok: WriteOk = source.get();
    let commit_ok: CommitOk = source.get();
    let attributes: Attributes = source.get();
    let data = [7u8; 4096];
    let mut out = Vec::with_capacity(64 * 1024);
    let ((), seen) = allocated(|| {
        CallHeader::new(1, 2, 3, 4, Auth { flavor: AUTH_SYS, body: &data[..40] }).encode(&mut out);
        ReadArgs { file, offset: 1, count: 2 }.encode(&mut out);
        WriteHead { file, offset: 1, count: 2, stable: Stability::Unstable, data_len: 2 }.encode(&mut out);
        CommitArgs { file, offset: 1, count: 2 }.encode(&mut out);
        let read = out.len();
        ReplyHeader::success(1).encode(&mut out);
        ProcedureResult::<WriteOk, WccData>::Ok(write_ok).encode(&mut out);
        ProcedureResult::<CommitOk, WccData>::Ok(commit_ok).encode(&mut out);
        ProcedureResult::<Attributes, ()>::Ok(attributes).encode(&mut out);
        ReadHead { attributes: Some(attributes), count: 3, eof: true, data_len: 3 }.encode(&mut out);
        let whole = WriteArgs { file, offset: 0, count: 4096, stable: Stability::FileSync, data: &data };
        whole.encode(&mut out);

        let mut reader = Reader::new(&out[read..]);
        ReplyHeader::decode(&mut reader).expect("a reply header");
        let outcome = ProcedureResult::<WriteOk, WccData>::decode(&mut reader).expect("a WRITE result");
        assert_eq!(outcome, Ok(write_ok));
        let outcome = ProcedureResult::<CommitOk, WccData>::decode(&mut reader).expect("a COMMIT result");
        assert_eq!(outcome, Ok(commit_ok));
        let outcome = ProcedureResult::<Attributes, ()>::decode(&mut reader).expect("a GETATTR result");
        assert_eq!(outcome, Ok(attributes));
        assert_eq!(ReadHead::decode(&mut reader).expect("a READ head").data_len, 3);
        assert_eq!(WriteArgs::decode(&mut reader).expect("WRITE arguments"), whole);
    });
    assert_eq!(seen.calls, 0);
}

#[test]
fn structures_of_a_fixed_size_have_it_on_the_wire() {
    let attributes: Attributes = Source::new(&[7; 256]).get();
    let Attributes { size, modified, changed, device, .. } = attributes;
    let before = WccAttributes { size, modified, changed };
    let parts: [(&dyn Encode, usize); 4] = [
        (&attributes, Attributes::ENCODED_BYTES),
        (&before, WccAttributes::ENCODED_BYTES),
        (&modified, Time::ENCODED_BYTES),
        (&device, Device::ENCODED_BYTES),
    ];
    for (part, size) in parts {
        let mut out = Vec::new();
        part.encode(&mut out);
        assert_eq!(out.len(), size);
    }
}
