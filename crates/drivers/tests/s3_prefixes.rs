//! Listing with a delimiter.

mod s3_support;

use std::sync::{Arc, Mutex};

use drivers::Sink;
use metrics::OpKind;
use s3_support::{LONG, Server, backends, op, perform};

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
