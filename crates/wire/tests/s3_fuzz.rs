//! Fuzzing as an ordinary test: feeds mutated responses and plain noise to every decoder, for a limited time
//! (`MANOMETER_FUZZ_SECONDS`, default 1). Nothing may panic, hang, or allocate out of proportion to its input. The seed
//! is fixed, and each failure prints the round, which reproduces it.

#[path = "support/random.rs"]
mod random;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::{Duration, Instant};

use random::Random;
use wire::http1::{BodyDecoder, Framing, HeadScanner, HeaderStorage, ResponseHead};

thread_local! {
    static LIVE: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

fn count(bytes: isize) {
    // At thread exit the counters are already gone; nothing is measured there.
    let _ = LIVE.try_with(|live| {
        live.set(live.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(live.get())));
    });
}

// SAFETY: every call is passed unchanged to the system's allocator; the counters do not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's contract is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller's contract is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn mutate(random: &mut Random, seeds: &[&[u8]]) -> Vec<u8> {
    let mut bytes = seeds[random.below(seeds.len())].to_vec();
    if random.below(8) == 0 {
        return (0..random.below(600)).map(|_| random.next() as u8).collect();
    }
    for _ in 0..1 + random.below(6) {
        let at = random.below(bytes.len());
        match random.below(6) {
            0 if !bytes.is_empty() => bytes[at] = random.next() as u8,
            1 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            2 => bytes.truncate(at),
            3 => bytes.insert(at.min(bytes.len()), b"\r\n<>&;/0f9\0\xff"[random.below(12)]),
            4 => {
                let end = at + random.below(bytes.len() - at.min(bytes.len()) + 1);
                let part = bytes[at.min(bytes.len())..end.min(bytes.len())].to_vec();
                for _ in 0..1 + random.below(20) {
                    bytes.splice(at..at, part.iter().copied());
                }
                bytes.truncate(200_000);
            }
            _ => {
                let other = seeds[random.below(seeds.len())];
                bytes.extend_from_slice(&other[random.below(other.len())..]);
            }
        }
    }
    bytes
}

/// Runs `target` on mutations of `seeds` until the time budget is used up; at least 200 rounds.
#[allow(clippy::disallowed_methods, reason = "the budget is wall-clock time; nothing is judged by it")]
fn fuzz(name: &str, seeds: &[&[u8]], target: impl Fn(&[u8])) {
    let seconds =
        std::env::var("MANOMETER_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let mut round = 0u64;
    while round < 200 || Instant::now() < end {
        let input = mutate(&mut Random(round), seeds);
        let before = LIVE.with(Cell::get);
        PEAK.with(|peak| peak.set(before));
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| target(&input)));
        let used = PEAK.with(Cell::get) - before;
        assert!(outcome.is_ok(), "{name}: panic in round {round} on {:?}", String::from_utf8_lossy(&input));
        // A listing holds a record for every few bytes of input, and vectors grow by doubling.
        let most = 64 * input.len() as isize + 64 * 1024;
        assert!(used <= most, "{name}: {used} bytes allocated for {} in round {round}", input.len());
        round += 1;
    }
}

#[test]
fn heads_and_bodies() {
    let seeds: &[&[u8]] = &[
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nETag: \"x\"\r\nConnection: close\r\n\r\nhello",
        b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-4/9\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n0\r\nt: u\r\n\r\n",
        b"HTTP/1.0 503 Slow Down\r\nRetry-After: 1\r\n\r\n<Error><Code>SlowDown</Code></Error>",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    ];
    fuzz("http", seeds, |input| {
        let mut scanner = HeadScanner::default();
        let mut whole = HeadScanner::default();
        let mut found = Ok(None);
        for len in (0..=input.len()).step_by(7) {
            found = scanner.find(&input[..len]);
            if !matches!(found, Ok(None)) {
                break;
            }
        }
        if matches!(found, Ok(None)) {
            found = scanner.find(input);
        }
        if let Ok(Some(end)) = found {
            assert_eq!(whole.find(input), Ok(Some(end)), "pieces do not matter");
            let mut storage = HeaderStorage::new();
            if let Ok(head) = ResponseHead::parse(&input[..end], &mut storage) {
                let _ = (head.keeps_alive(), head.text("date").map(wire::http1::parse_date));
                if let Ok(framing) = head.framing(false) {
                    drain(framing, &input[end..]);
                }
            }
        }
        drain(Framing::Chunked, input);
    });
}

fn drain(framing: Framing, input: &[u8]) {
    let mut decoder = BodyDecoder::new(framing);
    let mut at = 0;
    while at < input.len() && !decoder.is_done() {
        match decoder.next(&input[at..]) {
            Ok(piece) => {
                assert!(piece.consumed > 0 && piece.data.end <= piece.consumed);
                at += piece.consumed;
            }
            Err(_) => return,
        }
    }
    let _ = decoder.end();
}

#[test]
fn xml_bodies() {
    let seeds: &[&[u8]] = &[
        b"<?xml version=\"1.0\" encoding=\"UTF-8\"?><ListBucketResult xmlns=\"x\"><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>\
          <NextContinuationToken>t</NextContinuationToken><Contents><Key>a%2Fb</Key><Size>12</Size></Contents></ListBucketResult>",
        b"<Error><Code>NoSuchKey</Code><Message>&lt;&#233;&#x10FFFF;&amp;</Message><RequestId>r</RequestId></Error>",
        b"<CompleteMultipartUploadResult><ETag>&quot;e&quot;</ETag></CompleteMultipartUploadResult>",
        b"<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>",
        b"<ListMultipartUploadsResult><IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker><Upload><Key>k</Key><UploadId>i</UploadId></Upload></ListMultipartUploadsResult>",
        b"<ListPartsResult><Part><PartNumber>1</PartNumber><Size>3</Size><ETag>e</ETag></Part></ListPartsResult>",
        b"<DeleteResult><Error><Key>k</Key><Code>c</Code></Error></DeleteResult><!DOCTYPE a [<!ENTITY b \"c\">]>",
        b"<LocationConstraint><![CDATA[eu]]></LocationConstraint>",
    ];
    fuzz("xml", seeds, |input| {
        let _ = wire::s3::parse_list_v2(input);
        let _ = wire::s3::parse_error(input);
        let _ = wire::s3::parse_complete(input);
        let _ = wire::s3::parse_initiate(input);
        let _ = wire::s3::parse_list_uploads(input);
        let _ = wire::s3::parse_list_parts(input);
        let _ = wire::s3::parse_delete_result(input);
        let _ = wire::s3::parse_location(input);
    });
}
