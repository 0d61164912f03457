//! The hot path of Gluster does not allocate: once its buffers are warm, an operation takes no memory from the allocator
//! (but for what libgfapi itself takes).
#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "shared with tests that also look at sizes")]
#[path = "../../wire/tests/nfs_codecs/alloc.rs"]
mod alloc;
mod gluster_library;

use std::time::Duration;

use drivers::gluster::{GlusterConfig, GlusterDriver};
use drivers::{Driver, Op, Payload, Session, Sink, WorkerContext};
use gluster_library::GlusterLibrary;
use metrics::OpKind;
use reactor::{BackendChoice, Reactor};

#[test]
fn warm_operations_allocate_nothing() {
    const LEN: u64 = 300_000;
    let library = GlusterLibrary::compiled();
    let long = Duration::from_secs(30);
    for sink in [Sink::Buffer, Sink::Verify] {
        let config = GlusterConfig {
            port: library.port(),
            library: Some(library.file()),
            ..GlusterConfig::new("127.0.0.1", "gv", "warm")
        };
        let driver = GlusterDriver::new(config).unwrap();
        driver.prepare_announced(long, &mut || Ok(())).unwrap();
        let context = WorkerContext {
            worker: 0,
            lanes: 1,
            payload: Payload::new(7),
            sink,
            op_timeout: long,
            connect_timeout: long,
        };
        let reactor = Reactor::open(BackendChoice::Auto).unwrap();
        reactor.block_on(async {
            let session = driver.connect(&reactor, &context).await.unwrap();
            session.perform(&Op::new(OpKind::Create, 0, 1)).await.unwrap();
            let sized = |kind| Op::new(kind, 0, 1).range(0, LEN);
            let ops = [
                sized(OpKind::Write),
                sized(OpKind::Read),
                Op::new(OpKind::Append, 0, 1).range(LEN, 4096),
                Op::new(OpKind::Commit, 0, 1),
                Op::new(OpKind::Truncate, 0, 1).range(0, LEN),
                Op::new(OpKind::Stat, 0, 1),
                Op::new(OpKind::Access, 0, 1),
                Op::new(OpKind::Setxattr, 0, 1),
                Op::new(OpKind::Mkdir, 0, 2),
                Op::new(OpKind::Rmdir, 0, 2),
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
        driver.remove_all(long).unwrap();
    }
}
