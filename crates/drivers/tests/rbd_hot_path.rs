//! The hot path of RBD does not allocate: once its buffers are warm, an operation takes no memory from the allocator (but
//! for what librbd itself takes).
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "shared with tests that also look at sizes")]
#[path = "../../wire/tests/nfs_codecs/alloc.rs"]
mod alloc;
mod rados_library;

use std::time::Duration;

use drivers::rados::rbd::{RbdConfig, RbdDriver};
use drivers::rados::{RadosAccess, RadosConfig};
use drivers::{Driver, Op, Payload, Session, Sink, WorkerContext};
use metrics::OpKind;
use reactor::{BackendChoice, Reactor};

#[test]
fn warm_operations_allocate_nothing() {
    const LEN: u64 = 300_000;
    const LIMIT: Duration = Duration::from_secs(30);
    let directory = rados_library::compiled_with_rbd();
    let file = |name| Some(directory.path().join(name));
    for sink in [Sink::Buffer, Sink::Verify] {
        let pool = RadosConfig::new(RadosAccess::default(), "bench", "rbd");
        let pool = RadosConfig { library: file("librados.so.2"), ..pool };
        let config = RbdConfig { library: file("librbd.so.1"), ..RbdConfig::new(pool, "blank") };
        let driver = RbdDriver::new(config).unwrap();
        driver.allow_writing(true, LIMIT).unwrap();
        let context = WorkerContext {
            worker: 0,
            lanes: 1,
            payload: Payload::new(7),
            sink,
            op_timeout: LIMIT,
            connect_timeout: Duration::from_secs(5),
        };
        let reactor = Reactor::open(BackendChoice::Auto).unwrap();
        reactor.block_on(async {
            let session = driver.connect(&reactor, &context).await.unwrap();
            let ops = [
                Op::new(OpKind::Write, 0, 0).range(0, LEN),
                Op::new(OpKind::Read, 0, 0).range(0, LEN),
                Op::new(OpKind::Commit, 0, 0),
                Op::new(OpKind::Trim, 0, 0).range(0, LEN),
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
