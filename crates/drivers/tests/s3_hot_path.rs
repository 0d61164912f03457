//! The hot path does not allocate: once its buffers are warm, an operation takes no memory from the allocator.

#[allow(dead_code, reason = "shared with tests that also look at sizes")]
#[path = "../../wire/tests/nfs_codecs/alloc.rs"]
mod alloc;
mod s3_support;

use drivers::s3::{PayloadSigning, S3Config};
use drivers::{Session, Sink};
use metrics::OpKind;
use s3_support::{Server, backends, content, context, op, with_session};

const SIGNINGS: [PayloadSigning; 4] = [
    PayloadSigning::Unsigned,
    PayloadSigning::Signed,
    PayloadSigning::CrcTrailer,
    PayloadSigning::Crc32cTrailer,
];

const WARM: [OpKind; 9] = [
    OpKind::Put,
    OpKind::Get,
    OpKind::Read,
    OpKind::Stat,
    OpKind::Delete,
    OpKind::Copy,
    OpKind::PutTagging,
    OpKind::GetTagging,
    OpKind::BatchDelete,
];

#[test]
fn warm_operations_allocate_nothing() {
    const LEN: usize = 300_000;
    for choice in backends() {
        let sinks = [Sink::Buffer, Sink::Verify, Sink::Discard].map(|sink| (sink, PayloadSigning::Unsigned));
        for (sink, signing) in sinks.into_iter().chain(SIGNINGS.map(|signing| (Sink::Buffer, signing))) {
            let server = Server::start(|mut conn| {
                while let Some(request) = conn.request() {
                    match request.method.as_str() {
                        "GET" if request.target.ends_with("?tagging=") => conn.answer(
                            "200 OK",
                            "",
                            b"<Tagging><TagSet><Tag><Key>object</Key><Value>0000000000000001</Value></Tag></TagSet></Tagging>",
                        ),
                        "PUT" if request.header("x-amz-copy-source").is_some() => conn.answer(
                            "200 OK",
                            "",
                            b"<CopyObjectResult><ETag>x</ETag></CopyObjectResult>",
                        ),
                        "GET" => conn.answer(
                            "200 OK",
                            "ETag: \"x\"\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
                            &content(1, 0, LEN),
                        ),
                        "HEAD" => conn.write("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n"),
                        "POST" => conn.answer("200 OK", "", b"<DeleteResult/>"),
                        _ => conn.answer("200 OK", "ETag: \"x\"\r\n", b""),
                    }
                }
            });
            let config = S3Config { payload_signing: signing, ..server.config() };
            with_session(choice, config, &context(sink), async |session| {
                let round = async || {
                    let before = alloc::calls();
                    for kind in WARM {
                        session.perform(&op(kind, 1, LEN as u64).other(100)).await.unwrap();
                    }
                    alloc::calls() - before
                };
                for _ in 0..50 {
                    round().await;
                }
                // The date may change during the test, and with it the day's key: at most once in all rounds.
                let mut allocations = Vec::new();
                for _ in 0..50 {
                    allocations.push(round().await);
                }
                allocations.sort_unstable();
                assert_eq!(allocations[48], 0, "{choice} {sink:?} {signing:?}: {allocations:?}");
            });
        }
    }
}
