//! The hot path of RADOS does not allocate: once its buffers are warm, an operation takes no memory from the allocator
//! (but for what librados itself takes).
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "shared with tests that also look at sizes")]
#[path = "../../wire/tests/nfs_codecs/alloc.rs"]
mod alloc;
mod rados_library;

use std::time::Duration;

use drivers::rados::{RadosAccess, RadosConfig, RadosDriver};
use drivers::{Driver, Op, Payload, Session, Sink, WorkerContext};
use metrics::OpKind;
use reactor::{BackendChoice, Reactor};

#[test]
fn warm_operations_allocate_nothing() {
    const LEN: u64 = 300_000;
    let directory = rados_library::compiled();
    let file = directory.path().join("librados.so.2");
    for sink in [Sink::Buffer, Sink::Verify] {
        let config = RadosConfig {
            library: Some(file.clone()),
            ..RadosConfig::new(RadosAccess::default(), "bench", "warm")
        };
        let driver = RadosDriver::new(config).unwrap();
        let context = WorkerContext {
            worker: 0,
            lanes: 1,
            payload: Payload::new(7),
            sink,
            op_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(5),
        };
        let reactor = Reactor::open(BackendChoice::Auto).unwrap();
        reactor.block_on(async {
            let session = driver.connect(&reactor, &context).await.unwrap();
            let sized = |kind| Op::new(kind, 0, 1).range(0, LEN);
            let ops = [
                sized(OpKind::Put),
                sized(OpKind::Get),
                Op::new(OpKind::Write, 0, 1).range(4096, 4096),
                Op::new(OpKind::Read, 0, 1).range(4096, 4096),
                Op::new(OpKind::Stat, 0, 1),
                Op::new(OpKind::Append, 0, 1).range(LEN, 4096),
                Op::new(OpKind::Truncate, 0, 1).range(0, 4096),
                Op::new(OpKind::Delete, 0, 1),
                Op::new(OpKind::Create, 0, 1),
                Op::new(OpKind::Remove, 0, 1),
            ];
            let round = async || {
                let before = alloc::calls();
                for op in &ops {
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
        });
    }
}
