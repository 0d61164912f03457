//! A run of a fleet with one slow host and one that is lost, and baselines of each kind.

use std::collections::BTreeMap;

use metrics::{OpKind, PathFacts};
use stats::limit::{Bottleneck, Bound, Cause, Confidence, EvidenceRow, HostFinding};
use stats::{LinkFacts, NetworkLink, NetworkMatrix};
use store::{
    Baseline, BaselineContent, CallCounter, CallFigures, CellRecord, CellResult, Environment, FleetFigures,
    HostClock, HostRecord, HostResult, LostHost, ProcedureCalls, RunRecord, ServerCalls, ServerFigures,
    State, Validity,
};

use super::{cells, estimate, interval, moment, op_result, result, run};

/// Hosts of [`fleet_run`].
pub const HOSTS: [&str; 3] = ["db1", "db2", "admin@[fe80::1]:2222"];

/// A fleet run, before [`run`].
pub fn fleet_run() -> RunRecord {
    let host = |name: &str| HostRecord {
        name: name.into(),
        environment: Environment { facts: [("kernel".to_owned(), format!("6.12 of {name}"))].into() },
    };
    RunRecord { started: moment(-1000), hosts: HOSTS.map(host).into(), ..run("fffftttt", "a fleet") }
}

/// The outcome of its first cell: one host slow, one lost.
pub fn fleet_result() -> CellResult {
    let hosts = HOSTS.iter().enumerate().map(|(index, name)| {
        let mut total = op_result(None);
        total.bytes_per_s = estimate(4_096_000.0 / (index + 1) as f64);
        HostResult {
            name: (*name).into(),
            index: index as u32,
            total,
            ops: vec![op_result(Some(OpKind::Read))],
            started_ns: (index < 2).then_some(-1500 + 3000 * index as i64),
            clock: (index > 0).then_some(HostClock {
                offset_ns: -5_000_000_000,
                uncertainty_ns: 41_000,
                drift_ppm: -1.25,
                round_trip_ns: 80_000,
            }),
            lost: (index == 2).then(|| LostHost { at_s: 12.5, why: "its pipe was closed".into() }),
            client: BTreeMap::from([("cpu.busiest".to_owned(), 0.5)]),
            paths: vec![path()],
        }
    });
    let hosts: Vec<HostResult> = hosts.collect();
    CellResult {
        fleet: Some(FleetFigures::of(&hosts, 3000, 41_000)),
        hosts,
        paths: vec![path()],
        limit: Some(Box::new(limit())),
        server_calls: vec![server_calls()],
        ..result(Validity::Valid)
    }
}

/// What two bricks were asked to do.
fn server_calls() -> ServerCalls {
    let figures = |calls: u64, errors, mean_ns| CallFigures {
        calls,
        calls_per_op: calls as f64 / 1000.0,
        errors,
        mean_ns,
    };
    let server = |server: &str, figures| ServerFigures { server: server.into(), figures };
    let lookups = ProcedureCalls {
        procedure: "LOOKUP".into(),
        all: figures(2000, Some(2), Some(1.5e6)),
        servers: vec![
            server("one:/brick", figures(1500, Some(2), Some(2e6))),
            server("two:/brick", figures(500, Some(0), Some(0.0))),
        ],
    };
    let creates = ProcedureCalls {
        procedure: "CREATE".into(),
        all: figures(20, None, None),
        servers: vec![server("one:/brick", figures(20, None, None))],
    };
    let procedures = vec![lookups, creates];
    ServerCalls { counter: CallCounter::Gluster, name: "volume".into(), operations: 1000, procedures }
}

/// A network matrix in which one link could not be measured.
pub fn matrix() -> NetworkMatrix {
    let link = |from, to, rate: Option<f64>| NetworkLink {
        from,
        to,
        streams: 4,
        both_ways: false,
        throughput: rate.map(estimate),
        failure: rate.is_none().then(|| "db2 did not listen".into()),
        from_address: Some("10.0.0.1".into()),
        to_address: None,
        tcp: LinkFacts { retransmits: 12, round_trip_ns: Some(20_000), ..LinkFacts::default() },
    };
    NetworkMatrix {
        hosts: vec!["db1".into(), "db2".into()],
        links: vec![link(0, 1, Some(1.2e9)), link(1, 0, None)],
        path_mtus: Vec::new(),
    }
}

/// What limited it.
fn limit() -> Bottleneck {
    let sentence = "network-bound: db2's card is full".to_owned();
    Bottleneck {
        bound: Bound::Network,
        cause: Cause::LineRate,
        confidence: Confidence::High,
        place: "eth0".into(),
        share: Some(0.97),
        sentence: sentence.clone(),
        next: "add a card".into(),
        evidence: vec![EvidenceRow {
            name: "eth0 sends".into(),
            value: "97 % of 10 Gbit/s".into(),
            limit: "90 %".into(),
            says: "full".into(),
        }],
        hosts: vec![HostFinding {
            host: "db2".into(),
            bound: Bound::Network,
            cause: Cause::LineRate,
            sentence,
        }],
        servers: Vec::new(),
        doubts: Vec::new(),
        probe: None,
    }
}

/// What a path carried.
fn path() -> PathFacts {
    let ends = ("10.0.0.1".parse().unwrap(), "[fe80::9]:2049".parse().unwrap());
    PathFacts {
        interface: Some("eth0".into()),
        connections: 4,
        bytes_received: 1 << 40,
        ..PathFacts::new(ends.0, ends.1)
    }
}

/// A baseline of each kind, by name.
pub fn baselines() -> Vec<Baseline> {
    let record = CellRecord { result: Some(fleet_result()), ..cells().remove(0) };
    let disks = Baseline::of_run("disks", moment(-900), &fleet_run(), &[record]).unwrap();
    let content = BaselineContent::Network(matrix());
    vec![disks, Baseline { name: "network of rack 7".into(), kept: moment(-800), content }]
}

/// Adds the fleet's run and the baselines to a file.
pub fn sample_fleet(store: &store::Store) {
    let record = fleet_run();
    store.begin_run(&record).unwrap();
    let mut writer = store.writer(&record.id).unwrap();
    for index in 0..3 {
        writer.interval(0, "measure", 0, &interval(index)).unwrap();
        for (host, name) in HOSTS.iter().enumerate() {
            writer.host_interval(0, "measure", 0, name, &interval(index + 10 * host as u32)).unwrap();
            let busy = serde_json::json!({"cpu": 0.25, "second": index});
            writer.sample(0, name, u64::from(index) * 1_000_000_000, &busy).unwrap();
        }
    }
    writer.finish().unwrap();
    store.finish_cell(&record.id, &CellRecord { result: Some(fleet_result()), ..cells().remove(0) }).unwrap();
    store.finish_run(&record.id, State::Finished, moment(-700)).unwrap();
    for baseline in baselines() {
        store.save_baseline(&baseline).unwrap();
    }
}
