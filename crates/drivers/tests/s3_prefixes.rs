//! Listings, page by page, with a delimiter and without.

#[allow(dead_code, reason = "shared with tests that also count")]
#[path = "../../wire/tests/nfs_codecs/alloc.rs"]
mod alloc;
mod s3_support;

use std::sync::{Arc, Mutex};

use drivers::{Session, Sink};
use metrics::{CallKind, OpKind};
use s3_support::{LONG, Server, backends, context, op, perform, with_session};

const PAGE: &str = "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t/1</NextContinuationToken>\
    <CommonPrefixes><Prefix>manometer-test/0/</Prefix></CommonPrefixes></ListBucketResult>";
const LAST: &str = "<ListBucketResult><IsTruncated>false</IsTruncated>\
    <Contents><Key>manometer-test/a</Key><Size>1</Size></Contents>\
    <CommonPrefixes><Prefix>manometer-test/1/</Prefix></CommonPrefixes></ListBucketResult>";

#[test]
fn prefixes_are_listed_to_the_last_page() {
    for choice in backends() {
        let targets = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&targets);
        let server = Server::start(move |mut conn| {
            while let Some(request) = conn.request() {
                let page = if request.target.contains("continuation-token") { LAST } else { PAGE };
                seen.lock().unwrap().push(request.target);
                conn.answer("200 OK", "", page.as_bytes());
            }
        });
        let done = perform(choice, &server, Sink::Buffer, op(OpKind::ListPrefixes, 1, 0), LONG).unwrap();
        assert_eq!((done.bytes, done.rpcs), (0, 2));
        let first = "/bucket?delimiter=%2F&list-type=2&prefix=manometer-test%2F";
        let second = "/bucket?continuation-token=t%2F1&delimiter=%2F&list-type=2&prefix=manometer-test%2F";
        assert_eq!(*targets.lock().unwrap(), [first, second]);
    }
}

/// A bucket with 1,000 keys a page.
fn page(number: u64, pages: u64) -> String {
    let key = |key: u64| format!("<Contents><Key>manometer-test/{key:016x}</Key><Size>1</Size></Contents>");
    let keys: String = (number * 1000..(number + 1) * 1000).map(key).collect();
    let next = match number + 1 < pages {
        true => {
            format!(
                "<IsTruncated>true</IsTruncated><NextContinuationToken>{}</NextContinuationToken>",
                number + 1
            )
        }
        false => "<IsTruncated>false</IsTruncated>".to_owned(),
    };
    format!("<ListBucketResult>{next}{keys}</ListBucketResult>")
}

#[test]
fn a_bucket_of_200_000_keys_is_listed_without_holding_them() {
    for choice in backends() {
        let peak_of = |pages: u64| {
            let server = Server::start(move |mut conn| {
                while let Some(request) = conn.request() {
                    let token = request.target.split_once("continuation-token=");
                    let number =
                        token.map_or(0, |(_, rest)| rest.split('&').next().unwrap().parse().unwrap());
                    conn.answer("200 OK", "", page(number, pages).as_bytes());
                }
            });
            with_session(choice, server.config(), &context(Sink::Buffer), async |session| {
                let mut peak = 0;
                for _ in 0..2 {
                    let before = alloc::start();
                    let done = session.perform(&op(OpKind::List, 0, 0)).await.unwrap();
                    peak = alloc::peak_since(before);
                    let mut seen = Vec::new();
                    session.visit_procedures(0, |stats| seen.push(*stats));
                    let [stats] = seen[..] else { panic!("{seen:?}") };
                    let listing = stats.listing.unwrap();
                    assert_eq!(stats.procedure, CallKind::ListObjectsV2);
                    assert_eq!((u64::from(done.rpcs), stats.calls, stats.ok), (pages, pages, pages));
                    assert_eq!((listing.entries, listing.started), (pages * 1000, 1));
                    assert!(listing.first_total_ns > 0 && stats.max_ns <= stats.total_ns);
                }
                peak
            })
        };
        let (small, large) = (peak_of(2), peak_of(200));
        assert!(large <= small + small / 4, "{large} bytes at once for 200 pages, {small} for 2");
    }
}
