//! The traffic of each path, over real sockets on loopback: from several addresses to several.
#![allow(clippy::unwrap_used)]

mod support;

use std::net::{IpAddr, SocketAddr};
use std::thread;

use drivers::net::{NetConfig, NetDriver};
use drivers::paths::{Paths, addresses, sources};
use engine::{Control, StagePlan, StageWorkload, run_stage};
use metrics::OpKind;
use reactor::BackendChoice;
use support::{ms, plan};

fn moving(kind: OpKind, window_ms: u64, choice: BackendChoice) -> StagePlan {
    StagePlan {
        workers: 2,
        lanes_per_worker: 2,
        reactor: choice,
        ramp: ms(100),
        window: ms(window_ms),
        interval: ms(100),
        op_timeout: ms(20_000),
        connect_timeout: ms(20_000),
        workload: StageWorkload::Repeat { kind, bytes: 256 << 10 },
        ..plan()
    }
}

#[test]
fn every_path_carries_its_share_and_is_seen_from_outside() {
    for choice in [BackendChoice::Uring, BackendChoice::Epoll] {
        let usual = NetConfig::new("0.0.0.0:0".parse().unwrap());
        let config = NetConfig { listen: true, connections_per_worker: 2, ..usual };
        let listener = NetDriver::new(config).unwrap();
        let port = listener.bind().unwrap().unwrap().port();
        let receiver = thread::spawn(move || {
            // It ends when the sender has closed its connections.
            let plan = moving(OpKind::Read, 60_000, choice);
            run_stage(&listener, &plan, &Control::new(), &mut |_| {}).unwrap()
        });

        let remotes = addresses("127.0.0.4,127.0.0.5").unwrap();
        let ips: Vec<IpAddr> = remotes.iter().map(|remote| remote.ip).collect();
        let config = NetConfig {
            addresses: remotes,
            paths: Paths { sources: sources("127.0.0.2,127.0.0.3", &ips).unwrap(), ..Paths::default() },
            connections_per_worker: 2,
            ..NetConfig::new(SocketAddr::new(ips[0], port))
        };
        let sender = NetDriver::new(config).unwrap();
        let mut most_live = 0;
        let plan = moving(OpKind::Write, 1000, choice);
        let sent = run_stage(&sender, &plan, &Control::new(), &mut |_| {
            let live = drivers::connections::watch();
            let ours = live.iter().filter(|now| now.facts.remote.port() == port);
            most_live = most_live.max(ours.filter(|now| now.facts.tcp.bytes_acknowledged > 0).count());
        })
        .unwrap();
        let received = receiver.join().unwrap();

        assert_eq!(most_live, 4, "each connection is seen while it works");
        assert_eq!(sent.paths.len(), 4, "{:?}", sent.paths);
        for path in &sent.paths {
            assert_eq!((path.connections, path.interface.as_deref()), (1, Some("lo")));
            assert!(path.bytes_sent > 1 << 20 && path.bytes_received == 0, "{path:?}");
            assert!(path.rtt_us > 0 && path.mss_bytes > 0, "{path:?}");
        }
        // Bytes passed to the kernel inside the window equal those acknowledged there, except for the socket buffers.
        let acknowledged: u64 = sent.paths.iter().map(|path| path.bytes_sent).sum();
        let all = sent.total.bytes() + sent.before.bytes + sent.after.bytes;
        assert!(acknowledged <= all + 8 && acknowledged * 2 > sent.total.bytes(), "{acknowledged} of {all}");
        // The receiver sees the same paths from the other side.
        assert_eq!(received.paths.len(), 4);
        assert!(received.paths.iter().all(|path| path.bytes_received > 1 << 20));
        assert!(
            drivers::connections::watch().iter().all(|now| now.facts.remote.port() != port),
            "all are closed"
        );
    }
}
