//! Reports in which every figure is known, for the tests of this crate and of crates that display them.

use fleet::probe::{CardFacts, CoreLoad};
use metrics::{Interval, OpKind, SeriesPoint};
use stats::limit::{Bottleneck, Bound, Cause, Confidence, EvidenceRow};

use crate::check::{ClientLoad, DataAddressFacts, PhaseFigures};

/// A phase of 10 s that moved `bytes` in operations of 1 MiB and 2 ms.
pub fn phase(kind: OpKind, bytes: u64) -> PhaseFigures {
    let mut total = Interval { length_ns: 10_000_000_000, ..Interval::default() };
    let stats = total.op_mut(kind);
    stats.ok = bytes >> 20;
    stats.bytes = bytes;
    stats.rpcs = stats.ok;
    for _ in 0..99 {
        stats.service.record(2_000_000);
    }
    stats.service.record(50_000_000);
    PhaseFigures {
        window_ns: 10_000_000_000,
        seconds: vec![SeriesPoint {
            length_ns: 10_000_000_000,
            bytes,
            ok: stats.ok,
            ..SeriesPoint::default()
        }],
        total,
        connections: 8,
        mss_bytes: 8948,
        client: ClientLoad {
            cores: vec![
                CoreLoad { core: 0, busy: 0.25, steal: 0.0 },
                CoreLoad { core: 1, busy: 0.5, steal: 0.01 },
            ],
            nic: Some(CardFacts {
                name: "eth0".into(),
                speed_mbit: Some(100_000),
                mtu: Some(9000),
                loopback: false,
            }),
        },
        limit: Some(finding(
            Bound::Target,
            "target-bound: operations take 2 ms, of which 150 µs is round-trip time",
        )),
        ..PhaseFigures::default()
    }
}

/// A finding with two rows of evidence.
pub fn finding(bound: Bound, sentence: &str) -> Bottleneck {
    let row = |name: &str, value: &str, says: &str| EvidenceRow {
        name: name.into(),
        value: value.into(),
        limit: "90 %".into(),
        says: says.into(),
    };
    Bottleneck {
        bound,
        cause: Cause::Service,
        confidence: Confidence::High,
        place: String::new(),
        share: None,
        sentence: sentence.into(),
        next: "look at the target: its processors, disks and limits; try more lanes to see whether it can do more"
            .into(),
        evidence: vec![
            row("busiest worker", "30 % of a core", "has time left"),
            row("round trip (echo)", "150 µs, min 100 µs", "no queue on the path"),
        ],
        hosts: Vec::new(),
        servers: Vec::new(),
        doubts: Vec::new(),
        probe: None,
    }
}

/// A path of 192.168.170.0/24 with jumbo frames.
pub fn path(last: u8) -> DataAddressFacts {
    DataAddressFacts {
        address: std::net::IpAddr::from([192, 168, 170, last]),
        subnet: Some("subnet,170".into()),
        array_mtu: Some(9000),
    }
}
