//! The hot path of RADOS does not allocate: once its buffers are warm, an operation takes no memory from the allocator
//! (but for what librados itself takes).
#![allow(clippy::unwrap_used)]

mod rados_library;
mod warm;

use drivers::rados::{ObjectMethod, OmapShape, RadosAccess, RadosConfig, RadosDriver};
use drivers::{Driver, Op, Sink};
use metrics::OpKind;
use reactor::{BackendChoice, Reactor};

#[test]
fn warm_operations_allocate_nothing() {
    let directory = rados_library::compiled();
    let file = directory.path().join("librados.so.2");
    for sink in [Sink::Buffer, Sink::Verify] {
        let config = RadosConfig {
            omap: Some(OmapShape { keys: 100, value_bytes: 1000 }),
            exec: Some(ObjectMethod {
                class: "hello".to_owned(),
                method: "say_hello".to_owned(),
                input: b"world".to_vec(),
                output_bytes: 1 << 16,
            }),
            library: Some(file.clone()),
            ..RadosConfig::new(RadosAccess::default(), "bench", "warm")
        };
        let driver = RadosDriver::new(config).unwrap();
        let reactor = Reactor::open(BackendChoice::Auto).unwrap();
        reactor.block_on(async {
            let session = driver.connect(&reactor, &warm::context(sink)).await.unwrap();
            let sized = |kind| Op::new(kind, 0, 1).range(0, warm::LEN);
            let ops = [
                sized(OpKind::Put),
                sized(OpKind::Get),
                Op::new(OpKind::Write, 0, 1).range(4096, 4096),
                Op::new(OpKind::Read, 0, 1).range(4096, 4096),
                Op::new(OpKind::Stat, 0, 1),
                Op::new(OpKind::OmapSet, 0, 1),
                Op::new(OpKind::OmapGet, 0, 1),
                Op::new(OpKind::Exec, 0, 1),
                Op::new(OpKind::Append, 0, 1).range(warm::LEN, 4096),
                Op::new(OpKind::Truncate, 0, 1).range(0, 4096),
                Op::new(OpKind::Delete, 0, 1),
                Op::new(OpKind::Create, 0, 1),
                Op::new(OpKind::Remove, 0, 1),
            ];
            warm::allocate_nothing(&session, &ops, sink).await;
        });
    }
}
