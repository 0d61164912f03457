//! Untrusted bytes must give a named error, no panic, and no memory use out of proportion to the input.

use proptest::collection::vec;
use proptest::prelude::*;
use wire::nfs3::{FileHandle, Name, ReadHead, ReaddirplusOk, SetTime};
use wire::rpc::{AuthSys, CallHeader, ReplyHeader};
use wire::xdr::{DecodeError, Encode, Reader, decode_all};

use crate::alloc::allocated;
use crate::codecs::{Codec, nfs, nfs41, rpc};

/// Decoded lists are larger in memory than on the wire: a READDIRPLUS entry without attributes takes 32 bytes there and
/// about 250 here, in a vector that may be half empty; small vectors start with a capacity of four.
const GROWTH: usize = 24;
const AT_LEAST: usize = 2048;

/// Decodes and checks the memory used; the message itself is copied once for comparison.
pub fn check(codec: &Codec, bytes: &[u8]) {
    let (_, seen) = allocated(|| (codec.decode)(bytes));
    let bound = AT_LEAST + GROWTH * bytes.len();
    assert!(seen.largest <= bound, "{}: {} bytes for a message of {}", codec.name, seen.largest, bytes.len());
}

/// Words as they occur in protocols: small numbers, flags, and sometimes anything.
fn words() -> impl Strategy<Value = Vec<u8>> {
    let word = prop_oneof![
        6 => (0u32..4).boxed(),
        2 => (0u32..80).boxed(),
        1 => any::<u32>().boxed(),
        1 => Just(u32::MAX).boxed(),
        1 => Just(0x7fff_ffff).boxed(),
    ];
    vec(word, 0..200).prop_map(|words| words.into_iter().flat_map(u32::to_be_bytes).collect())
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_survived(bytes in vec(any::<u8>(), 0..600)) {
        for codec in nfs().into_iter().chain(nfs41()).chain(rpc()) {
            check(&codec, &bytes);
        }
    }

    #[test]
    fn plausible_words_are_survived(bytes in words()) {
        for codec in nfs().into_iter().chain(nfs41()).chain(rpc()) {
            check(&codec, &bytes);
        }
    }
}

fn encoded(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

#[test]
fn errors_have_names() {
    assert_eq!(decode_all::<u64>(&[0; 7]), Err(DecodeError::Truncated { needed: 8, left: 7 }));
    assert_eq!(decode_all::<u32>(&[0; 8]), Err(DecodeError::Trailing(4)));
    assert_eq!(decode_all::<bool>(&encoded(&[2])), Err(DecodeError::BadBool(2)));
    assert_eq!(
        decode_all::<FileHandle>(&encoded(&[65])),
        Err(DecodeError::Oversize { what: "file handle", len: 65, limit: 64 })
    );
    assert_eq!(
        decode_all::<Name>(&encoded(&[u32::MAX])),
        Err(DecodeError::Oversize { what: "file name", len: u64::from(u32::MAX), limit: 255 })
    );
    assert_eq!(decode_all::<Name>(&[0, 0, 0, 1, b'a', 0, 0, 1]), Err(DecodeError::BadPadding));
    assert_eq!(
        decode_all::<SetTime>(&encoded(&[3])),
        Err(DecodeError::BadDiscriminant { what: "time_how", value: 3 })
    );
    assert_eq!(
        decode_all::<ReplyHeader>(&encoded(&[1, 0])),
        Err(DecodeError::BadDiscriminant { what: "reply direction", value: 0 })
    );
    assert_eq!(
        decode_all::<CallHeader>(&encoded(&[1, 1])),
        Err(DecodeError::BadDiscriminant { what: "call direction", value: 1 })
    );
    assert_eq!(
        decode_all::<AuthSys>(&encoded(&[0, 0, 0, 0, 17])),
        Err(DecodeError::Oversize { what: "group list", len: 17, limit: 16 })
    );
    assert_eq!(
        decode_all::<ReadHead>(&encoded(&[0, 1, 0, 0x7fff_ffff])),
        Err(DecodeError::Oversize { what: "READ payload", len: 0x7fff_ffff, limit: 1 << 30 })
    );
    assert_eq!(
        DecodeError::Truncated { needed: 8, left: 7 }.to_string(),
        "truncated: 8 more bytes needed, 7 left"
    );
}

#[test]
fn an_endless_listing_is_cut_off() {
    let mut bytes = Vec::new();
    None::<u32>.encode(&mut bytes);
    0u64.encode(&mut bytes);
    for _ in 0..70_000 {
        bytes.extend(encoded(&[1, 0, 0, 0, 0, 0, 0, 0]));
    }
    let mut reader = Reader::new(&bytes);
    let result = <ReaddirplusOk as wire::xdr::Decode>::decode(&mut reader);
    assert_eq!(result, Err(DecodeError::Oversize { what: "directory entries", len: 65_537, limit: 65_536 }));
}
