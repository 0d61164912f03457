//! Copies and tags: what is sent, what the store has afterwards, and answers that are not what they seem.

mod s3_support;

use drivers::{Op, Session, Sink};
use metrics::{ErrorKind, OpKind};
use s3_support::{LONG, Server, backends, content, context, op, perform, store, with_session};

const PREFIX: &str = "manometer-test/";

fn always(status: &'static str, body: &'static str) -> Server {
    Server::start(move |mut conn| {
        while conn.request().is_some() {
            conn.answer(status, "", body.as_bytes());
        }
    })
}

fn copy() -> Op {
    op(OpKind::Copy, 1, 5000).other(2)
}

#[test]
fn a_copy_has_the_data_of_its_source() {
    for choice in backends() {
        let (server, store) = store::start();
        let mut config = server.config();
        config.prefix = "manometer test+ä".to_owned();
        with_session(choice, config, &context(Sink::Verify), async |session| {
            session.perform(&op(OpKind::Put, 1, 5000)).await.unwrap();
            let done = session.perform(&copy()).await.unwrap();
            assert_eq!((done.bytes, done.rpcs), (0, 1), "no data crosses the connection");
            let copied = store.lock().unwrap().objects["manometer test+ä/0000000000000002"].clone();
            assert!(copied == content(1, 0, 5000));
            let missing = session.perform(&op(OpKind::Copy, 8, 5000).other(9)).await.unwrap_err();
            assert_eq!(missing.kind, ErrorKind::NotFound);
            assert!(missing.detail.contains("0008 to manometer test+ä/0000000000000009"), "{missing}");
            let huge = session.perform(&op(OpKind::Copy, 1, (5 << 30) + 1).other(2)).await.unwrap_err();
            assert_eq!((huge.kind, huge.rpcs), (ErrorKind::Rejected, 0), "{huge}");
        });
    }
}

#[test]
fn a_copy_that_fails_with_status_200_has_failed() {
    for choice in backends() {
        for (body, kind) in [
            ("<Error><Code>QuotaExceeded</Code></Error>", ErrorKind::NoSpace),
            ("<?xml version=\"1.0\"?>\n \n<Error><Code>AccessDenied</Code></Error>", ErrorKind::AccessDenied),
            ("<CopyObjectResult/>", ErrorKind::Protocol),
            ("<html>Log in</html>", ErrorKind::Protocol),
            ("", ErrorKind::Protocol),
        ] {
            let error = perform(choice, &always("200 OK", body), Sink::Buffer, copy(), LONG).unwrap_err();
            assert_eq!(error.kind, kind, "{body}: {error}");
        }
    }
}

#[test]
fn a_copy_that_is_slowed_down_with_status_200_is_retried() {
    let server = Server::start(|mut conn| {
        for body in
            ["<Error><Code>SlowDown</Code></Error>", "<CopyObjectResult><ETag>e</ETag></CopyObjectResult>"]
        {
            if conn.request().is_some() {
                conn.answer("200 OK", "", body.as_bytes());
            }
        }
    });
    let done = perform(reactor::BackendChoice::Auto, &server, Sink::Buffer, copy(), LONG).unwrap();
    assert_eq!((done.rpcs, done.retries), (2, 1));
}

#[test]
fn tags_are_read_as_they_were_put() {
    for choice in backends() {
        let (server, store) = store::start();
        with_session(choice, server.config(), &context(Sink::Buffer), async |session| {
            session.perform(&op(OpKind::Put, 1, 10)).await.unwrap();
            // It has none yet: this store says so with an error, as versitygw does.
            session.perform(&op(OpKind::GetTagging, 1, 10)).await.unwrap();
            session.perform(&op(OpKind::PutTagging, 1, 10)).await.unwrap();
            let key = format!("{PREFIX}{:016x}", 1);
            let first = store.lock().unwrap().tags[&key].clone();
            session.perform(&op(OpKind::GetTagging, 1, 10)).await.unwrap();
            session.perform(&op(OpKind::PutTagging, 1, 10)).await.unwrap();
            assert_ne!(store.lock().unwrap().tags[&key], first, "every put changes something");
            let other = String::from_utf8(first).unwrap().replace("0000000000000001", "0000000000000003");
            store.lock().unwrap().tags.insert(key.clone(), other.into_bytes());
            let error = session.perform(&op(OpKind::GetTagging, 1, 10)).await.unwrap_err();
            assert_eq!(error.kind, ErrorKind::Corrupt, "{error}");
            assert!(error.detail.contains("\"0000000000000003\" instead of 0000000000000001"), "{error}");
            for kind in [OpKind::GetTagging, OpKind::PutTagging] {
                let error = session.perform(&op(kind, 9, 10)).await.unwrap_err();
                assert_eq!(error.kind, ErrorKind::NotFound, "{error}");
            }
        });
    }
    let empty = always("200 OK", "<Tagging><TagSet/></Tagging>");
    perform(reactor::BackendChoice::Auto, &empty, Sink::Buffer, op(OpKind::GetTagging, 1, 1), LONG).unwrap();
    let page = always("200 OK", "<html>Log in</html>");
    for kind in [OpKind::GetTagging, OpKind::PutTagging] {
        let error =
            perform(reactor::BackendChoice::Auto, &page, Sink::Buffer, op(kind, 1, 1), LONG).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Protocol, "{error}");
    }
}
