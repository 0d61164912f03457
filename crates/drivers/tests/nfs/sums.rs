//! Blocks with checksums: verified as a whole, even when transferred in several calls.

use content::{Check, CheckMethod, Content};
use drivers::nfs::NfsConfig;
use drivers::{Op, Payload, WorkerContext};
use metrics::{ErrorKind, OpKind};
use reactor::Reactor;
use wire::nfs3::Procedure;

use crate::alloc::allocated;
use crate::server::Server;
use crate::support::*;

const BLOCK: u64 = 100_000;

#[test]
fn blocks_of_several_calls_are_compared_as_a_whole() {
    on_both(|choice| {
        let server = Server::start(obedient);
        add_file(&server, 3, 3 * BLOCK as usize);
        let check = Check { method: CheckMethod::Md5, ..Check::default() };
        let payload = Payload::of_content(5, &Content::default(), Some(&check));
        let context = WorkerContext { payload, ..context(2) };
        let reactor = Reactor::open(choice).unwrap();
        for size in [16 << 10, 1 << 20] {
            let config = NfsConfig { read_size: Some(size), write_size: Some(size), ..config(&server) };
            let session = open_with(&reactor, &server, &config, &context).unwrap();
            let write = Op { generation: 4, ..op(OpKind::Write, 1, 3, BLOCK, BLOCK) };
            assert_eq!(perform(&reactor, &session, write).unwrap().bytes, BLOCK);
            let read = Op { kind: OpKind::Read, ..write };
            assert_eq!(perform(&reactor, &session, read).unwrap().bytes, BLOCK);
            let ((), seen) = allocated(|| {
                for _ in 0..20 {
                    perform(&reactor, &session, read).unwrap();
                }
            });
            assert!(seen.calls < 20, "{} allocations in 20 operations", seen.calls);

            // A byte in the middle of the server's data.
            let at = (BLOCK + 77_777) as usize;
            let flip = || {
                let mut nodes = server.state.nodes.lock().unwrap();
                let node = nodes.values_mut().find(|node| node.name == format!("{:016x}", 3)).unwrap();
                node.data[at] ^= 8;
            };
            flip();
            let error = perform(&reactor, &session, read).unwrap_err();
            assert_eq!(error.kind, ErrorKind::Corrupt);
            assert!(error.detail.contains(&format!("1 byte differs from byte {at} on")), "{error}");
            flip();
            perform(&reactor, &session, read).unwrap();
        }
        assert!(server.count(Procedure::Read) > 7 * 22, "one of the sizes splits each block");
    });
}
