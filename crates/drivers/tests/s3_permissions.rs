//! Cleanup with keys that may only list, get, put and delete: all our objects are removed.

mod s3_support;

use std::sync::{Arc, Mutex};

use drivers::s3::{Removed, S3Config, S3Driver};
use metrics::ErrorKind;
use s3_support::Server;

const DENIED: &[u8] = b"<Error><Code>AccessDenied</Code><Message>Access Denied.</Message></Error>";

/// A bucket with this many of our objects, whose uploads nobody may list.
fn bucket(objects: usize) -> (Server, Arc<Mutex<Vec<String>>>) {
    let keys = (0..objects).map(|number| format!("manometer-test/{number:016x}")).collect();
    let held: Arc<Mutex<Vec<String>>> = Arc::new(Mutex::new(keys));
    let keys = Arc::clone(&held);
    let server = Server::start(move |mut conn| {
        while let Some(request) = conn.request() {
            let mut keys = keys.lock().expect("no test panics with it");
            match (request.method.as_str(), &*request.target) {
                ("GET", target) if target.contains("uploads=") => conn.answer("403 Forbidden", "", DENIED),
                ("GET", _) => {
                    let found: String = keys
                        .iter()
                        .map(|key| format!("<Contents><Key>{key}</Key><Size>1</Size></Contents>"))
                        .collect();
                    let page = format!("<ListBucketResult>{found}</ListBucketResult>");
                    conn.answer("200 OK", "", page.as_bytes());
                }
                _ => {
                    let text = String::from_utf8(request.body).expect("XML");
                    keys.retain(|key| !text.contains(key.as_str()));
                    conn.answer("200 OK", "", b"<DeleteResult/>");
                }
            }
        }
    });
    (server, held)
}

#[test]
fn uploads_that_cannot_be_there_need_not_be_listed() {
    let (server, held) = bucket(3);
    let config = S3Config { may_put_parts: false, ..server.config() };
    let driver = S3Driver::new(config).unwrap();
    assert_eq!(driver.remove_all().unwrap(), Removed { objects: 3, uploads: 0 });
    assert!(held.lock().unwrap().is_empty());
}

#[test]
fn uploads_that_may_be_there_are_named_with_the_permission_after_the_objects_are_gone() {
    let (server, held) = bucket(3);
    let driver = S3Driver::new(server.config()).unwrap();
    let error = driver.remove_all().unwrap_err();
    assert_eq!(error.kind, ErrorKind::AccessDenied, "{error}");
    for words in ["ListMultipartUploads", "needs s3:ListBucketMultipartUploads", "AccessDenied"] {
        assert!(error.detail.contains(words), "{error}");
    }
    assert!(held.lock().unwrap().is_empty(), "objects are deleted first");
}
