//! The hot path of Gluster does not allocate: once its buffers are warm, an operation takes no memory from the allocator
//! (but for what libgfapi itself takes).
#![allow(clippy::unwrap_used)]

mod gluster_library;
mod warm;

use std::time::Duration;

use drivers::gluster::{GlusterConfig, GlusterDriver};
use drivers::{Driver, Op, Session, Sink};
use gluster_library::GlusterLibrary;
use metrics::OpKind;
use reactor::{BackendChoice, Reactor};

#[test]
fn warm_operations_allocate_nothing() {
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
        let reactor = Reactor::open(BackendChoice::Auto).unwrap();
        reactor.block_on(async {
            let session = driver.connect(&reactor, &warm::context(sink)).await.unwrap();
            session.perform(&Op::new(OpKind::Create, 0, 1)).await.unwrap();
            let sized = |kind| Op::new(kind, 0, 1).range(0, warm::LEN);
            let ops = [
                sized(OpKind::Write),
                sized(OpKind::Read),
                Op::new(OpKind::Append, 0, 1).range(warm::LEN, 4096),
                Op::new(OpKind::Commit, 0, 1),
                Op::new(OpKind::Truncate, 0, 1).range(0, warm::LEN),
                Op::new(OpKind::Stat, 0, 1),
                Op::new(OpKind::Access, 0, 1),
                Op::new(OpKind::Setxattr, 0, 1),
                Op::new(OpKind::Mkdir, 0, 2),
                Op::new(OpKind::Rmdir, 0, 2),
            ];
            warm::allocate_nothing(&session, &ops, sink).await;
        });
        driver.remove_all(long).unwrap();
    }
}
