//! Batch deletes: what is sent, what the store has afterwards, and keys that were not deleted.

mod s3_support;

use drivers::{Op, Session, Sink};
use metrics::{ErrorKind, OpKind};
use s3_support::{LONG, Server, backends, context, op, perform, store, with_session};

fn batch(first: u64, last: u64) -> Op {
    op(OpKind::BatchDelete, first, 0).other(last)
}

#[test]
fn a_batch_deletes_its_objects_and_no_others() {
    for choice in backends() {
        let (server, store) = store::start();
        with_session(choice, server.config(), &context(Sink::Buffer), async |session| {
            for object in 1..=1200 {
                session.perform(&op(OpKind::Put, object, 1)).await.unwrap();
            }
            for (first, last, left) in [(1, 1000, 200), (1001, 1001, 199), (1002, 1198, 2), (1, 1000, 2)] {
                let done = session.perform(&batch(first, last)).await.unwrap();
                assert_eq!((done.bytes, done.rpcs), (0, 1));
                assert_eq!(store.lock().unwrap().objects.len(), left, "{first} to {last}");
            }
            for (first, last) in [(1, 1001), (2, 1), (0, u64::MAX)] {
                let error = session.perform(&batch(first, last)).await.unwrap_err();
                assert_eq!((error.kind, error.rpcs), (ErrorKind::Rejected, 0), "{error}");
            }
        });
        let last = store.lock().unwrap().requests.last().unwrap().clone();
        assert_eq!(last, "POST /bucket?delete=");
    }
}

#[test]
fn keys_that_were_not_deleted_fail_the_batch_with_their_code() {
    for choice in backends() {
        for (code, kind) in [
            ("AccessDenied", ErrorKind::AccessDenied),
            ("InternalError", ErrorKind::ServerFault),
            ("SlowDown", ErrorKind::Busy),
            ("MethodNotAllowed", ErrorKind::Rejected),
        ] {
            let server = Server::start(move |mut conn| {
                while let Some(request) = conn.request() {
                    let text = String::from_utf8(request.body).unwrap();
                    assert!(
                        text.starts_with("<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Quiet>")
                    );
                    assert_eq!(text.matches("<Object><Key>manometer-test/00000000").count(), 3);
                    let error =
                        format!("<Error><Key>k\nk</Key><Code>{code}</Code><Message>no</Message></Error>");
                    let body = format!("<DeleteResult>{error}{error}</DeleteResult>");
                    conn.answer("200 OK", "", body.as_bytes());
                }
            });
            let error = perform(choice, &server, Sink::Buffer, batch(5, 7), LONG).unwrap_err();
            assert_eq!((error.kind, error.rpcs), (kind, 1), "{error}");
            let told = format!("\"k\\nk\" could not be deleted: {code} (no); 1 more were not deleted either");
            assert!(error.detail.ends_with(&told), "{error}");
            let keys = "s3://bucket/manometer-test/0000000000000005 to manometer-test/0000000000000007";
            assert!(error.detail.contains(keys), "{error}");
        }
    }
}

#[test]
fn an_answer_that_is_no_result_deletes_nothing() {
    for (status, body, kind) in [
        ("200 OK", "<html>Log in</html>", ErrorKind::Protocol),
        ("200 OK", "", ErrorKind::Protocol),
        ("200 OK", "<Error><Code>AccessDenied</Code></Error>", ErrorKind::AccessDenied),
        ("501 Not Implemented", "<Error><Code>NotImplemented</Code></Error>", ErrorKind::Rejected),
    ] {
        let server = Server::start(move |mut conn| {
            while conn.request().is_some() {
                conn.answer(status, "", body.as_bytes());
            }
        });
        let error =
            perform(reactor::BackendChoice::Auto, &server, Sink::Buffer, batch(1, 2), LONG).unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
    }
}
