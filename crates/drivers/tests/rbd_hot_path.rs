//! The hot path of RBD does not allocate: once its buffers are warm, an operation takes no memory from the allocator (but
//! for what librbd itself takes).
#![allow(clippy::unwrap_used)]

mod rados_library;
mod warm;

use std::time::Duration;

use drivers::rados::rbd::{RbdConfig, RbdDriver};
use drivers::rados::{RadosAccess, RadosConfig};
use drivers::{Driver, Op, Sink};
use metrics::OpKind;
use reactor::{BackendChoice, Reactor};

#[test]
fn warm_operations_allocate_nothing() {
    const LIMIT: Duration = Duration::from_secs(30);
    let directory = rados_library::compiled_with_rbd();
    let file = |name| Some(directory.path().join(name));
    for sink in [Sink::Buffer, Sink::Verify] {
        let pool = RadosConfig::new(RadosAccess::default(), "bench", "rbd");
        let pool = RadosConfig { library: file("librados.so.2"), ..pool };
        let config = RbdConfig { library: file("librbd.so.1"), ..RbdConfig::new(pool, "blank") };
        let driver = RbdDriver::new(config).unwrap();
        driver.allow_writing(true, LIMIT).unwrap();
        let reactor = Reactor::open(BackendChoice::Auto).unwrap();
        reactor.block_on(async {
            let session = driver.connect(&reactor, &warm::context(sink)).await.unwrap();
            let ops = [
                Op::new(OpKind::Write, 0, 0).range(0, warm::LEN),
                Op::new(OpKind::Read, 0, 0).range(0, warm::LEN),
                Op::new(OpKind::Commit, 0, 0),
                Op::new(OpKind::Trim, 0, 0).range(0, warm::LEN),
            ];
            warm::allocate_nothing(&session, &ops, sink).await;
        });
    }
}
