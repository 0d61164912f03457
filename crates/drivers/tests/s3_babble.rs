//! Whole sessions against a babbling server: randomly mutated responses, for a bounded time (`MANOMETER_FUZZ_SECONDS`,
//! default 1). Every operation ends, successfully or with a named error, and nothing panics. The seed is fixed, and a
//! failure prints the round.

mod s3_support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use drivers::s3::S3Driver;
use drivers::{Driver, Op, Session, Sink};
use metrics::OpKind;
use reactor::{Reactor, clock};
use s3_support::{Server, backends, content, context, op};

/// Responses of a server, good and bad.
fn seeds() -> Vec<Vec<u8>> {
    let mut whole = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nETag: \"e\"\r\n\r\n".to_vec();
    whole.extend_from_slice(&content(1, 0, 1000));
    let mut part =
        b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 5-1004/2000\r\nContent-Length: 1000\r\n\r\n"
            .to_vec();
    part.extend_from_slice(&content(1, 5, 1000));
    let mut chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3E8\r\n".to_vec();
    chunked.extend_from_slice(&content(1, 0, 1000));
    chunked.extend_from_slice(b"\r\n0\r\n\r\n");
    let document =
        |text: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{text}", text.len()).into_bytes();
    vec![
        whole,
        part,
        chunked,
        document("<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken><Contents><Key>k</Key><Size>1</Size></Contents></ListBucketResult>"),
        document("<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>"),
        document("<CompleteMultipartUploadResult><ETag>e</ETag></CompleteMultipartUploadResult>"),
        b"HTTP/1.1 400 Bad\r\nConnection: close\r\nContent-Length: 38\r\n\r\n<Error><Code>InvalidPart</Code></Error>".to_vec(),
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n".to_vec(),
    ]
}

fn mutate(random: &mut fastrand::Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = seeds[random.usize(..seeds.len())].clone();
    for _ in 0..random.usize(0..4) {
        let at = random.usize(..=bytes.len());
        match random.u8(0..5) {
            0 if at < bytes.len() => bytes[at] = random.u8(..),
            1 => bytes.truncate(at),
            2 => bytes.insert(at, b"\r\n09f<>: "[random.usize(..9)]),
            3 => {
                let other = &seeds[random.usize(..seeds.len())];
                bytes.extend_from_slice(&other[random.usize(..other.len())..]);
            }
            _ => {
                let end = random.usize(at..=bytes.len());
                bytes.drain(at..end);
            }
        }
    }
    bytes
}

#[test]
fn every_operation_ends_whatever_the_server_says() {
    let seconds: f64 =
        std::env::var("MANOMETER_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1.0);
    let round = Arc::new(AtomicU64::new(0));
    let served = Arc::clone(&round);
    let seeds = seeds();
    let server = Server::start(move |mut conn| {
        while conn.request().is_some() {
            let mut random = fastrand::Rng::with_seed(served.fetch_add(1, Ordering::SeqCst));
            conn.write(mutate(&mut random, &seeds));
            if random.bool() {
                return;
            }
        }
    });
    let mut config = server.config();
    config.part_size = 5 << 20;
    for choice in backends() {
        for sink in [Sink::Buffer, Sink::Verify, Sink::Discard] {
            let mut context = context(sink);
            // A truncated response on a connection that stays open ends by the deadline.
            context.op_timeout = Duration::from_millis(20);
            let driver = S3Driver::new(config.clone()).unwrap();
            let reactor = Reactor::open(choice).unwrap();
            let end = clock::now_ns() + (seconds / 6.0 * 1e9) as u64;
            reactor.block_on(async {
                let session = driver.connect(&reactor, &context).await.unwrap();
                let (mut good, mut bad) = (0u64, 0u64);
                while clock::now_ns() < end || good + bad < 20 {
                    let at = round.load(Ordering::SeqCst);
                    let op = match at % 7 {
                        0 | 1 => op(OpKind::Get, 1, 1000),
                        2 => Op { offset: 5, ..op(OpKind::Read, 1, 1000) },
                        3 => op(OpKind::Put, 1, 1000),
                        4 => op(OpKind::List, 0, 0),
                        5 => op(OpKind::Stat, 1, 1000),
                        _ => op(OpKind::Put, 1, 6 << 20),
                    };
                    match session.perform(&op).await {
                        Ok(done) => {
                            assert!(done.bytes == 0 || done.bytes == op.len, "round {at}");
                            good += 1;
                        }
                        Err(error) => {
                            assert!(
                                !error.detail.is_empty() && error.detail.len() < 2000,
                                "round {at}: {error}"
                            );
                            bad += 1;
                        }
                    }
                }
            });
        }
    }
}
