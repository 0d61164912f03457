//! Operations of a warm session: once its buffers have grown, they take no memory from the allocator.

#[allow(dead_code, reason = "shared with tests that also look at sizes")]
#[path = "../../../wire/tests/nfs_codecs/alloc.rs"]
mod alloc;

use std::time::Duration;

use drivers::{Op, Payload, Session, Sink, WorkerContext};

/// More than one piece of anything.
pub const LEN: u64 = 300_000;

/// A worker of one lane with long deadlines.
pub fn context(sink: Sink) -> WorkerContext {
    let long = Duration::from_secs(30);
    WorkerContext {
        worker: 0,
        lanes: 1,
        payload: Payload::new(7),
        sink,
        op_timeout: long,
        connect_timeout: long,
    }
}

/// Performs these operations in rounds, and counts allocations once the first rounds have warmed the session.
pub async fn allocate_nothing(session: &impl Session, ops: &[Op], sink: Sink) {
    let round = async || {
        let before = alloc::calls();
        for op in ops {
            session.perform(op).await.unwrap();
        }
        alloc::calls() - before
    };
    for _ in 0..5 {
        round().await;
    }
    for _ in 0..20 {
        assert_eq!(round().await, 0, "{sink:?}");
    }
}
