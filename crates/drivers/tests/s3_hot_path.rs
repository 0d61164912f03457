//! The hot path does not allocate: once its buffers are warm, an operation takes no memory from the allocator.

mod s3_support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use drivers::{Op, Session, Sink};
use metrics::OpKind;
use s3_support::{Server, backends, content, context, op, with_session};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call is passed on to the system's allocator unchanged; the counter does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's contract is passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn warm_operations_allocate_nothing() {
    const LEN: usize = 300_000;
    for choice in backends() {
        for sink in [Sink::Buffer, Sink::Verify, Sink::Discard] {
            let server = Server::start(|mut conn| {
                while let Some(request) = conn.request() {
                    match request.method.as_str() {
                        "GET" => conn.answer(
                            "200 OK",
                            "ETag: \"x\"\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
                            &content(1, 0, LEN),
                        ),
                        "HEAD" => conn.write("HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n"),
                        _ => conn.answer("200 OK", "ETag: \"x\"\r\n", b""),
                    }
                }
            });
            with_session(choice, server.config(), &context(sink), async |session| {
                let round = async || {
                    let before = ALLOCATIONS.with(Cell::get);
                    for kind in [OpKind::Put, OpKind::Get, OpKind::Read, OpKind::Stat, OpKind::Delete] {
                        session.perform(&Op { offset: 0, ..op(kind, 1, LEN as u64) }).await.unwrap();
                    }
                    ALLOCATIONS.with(Cell::get) - before
                };
                for _ in 0..50 {
                    round().await;
                }
                // The date may turn while this runs, and with it the day's key; once in all rounds.
                let mut allocations = Vec::new();
                for _ in 0..50 {
                    allocations.push(round().await);
                }
                allocations.sort_unstable();
                assert_eq!(allocations[48], 0, "{choice} {sink:?}: {allocations:?}");
            });
        }
    }
}
