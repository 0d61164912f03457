//! NFS: latency and bandwidth, writing and reading.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use array::faults::{Latency, Plan};
use array::files::{Files, Options};
use array::nfs::{Endpoint, Server, Settings};
use array::{Capacity, Faults};
use drivers::nfs::{NfsConfig, NfsDriver};
use engine::{DataSet, Order, Schedule, Shape, StageResult, Workload};
use metrics::OpKind;

use crate::{EVEN, LATENCY, LATENCY_WINDOW, alone, assert_true, measure, quantile, shaped};

const BLOCK_BYTES: u64 = 128 << 10;
/// The programmed bandwidth, in bytes a second; 64 blocks are 280 ms of work.
const BANDWIDTH: u64 = 30_000_000;

struct Target {
    _server: Server,
    faults: Faults,
    /// A directory to measure writes in, and one with something to read.
    writing: NfsDriver,
    reading: NfsDriver,
}

impl Target {
    fn new() -> Self {
        let files = Files::new(Capacity::new(4 << 30));
        files.create("fs", Options::default()).unwrap();
        let faults = Faults::default();
        let endpoint =
            Endpoint { ip: Ipv4Addr::LOCALHOST.into(), nfs_port: 0, mount_port: 0, portmap_port: 0 };
        let server = Server::start(&Arc::clone(&files), &faults, &[endpoint], Settings::default()).unwrap();
        let endpoint = server.endpoints()[0];
        let driver = |directory| {
            let config = NfsConfig {
                portmap_port: endpoint.portmap_port,
                connections_per_worker: 2,
                ..NfsConfig::new(endpoint.ip, "/fs", directory)
            };
            let driver = NfsDriver::new(config).unwrap();
            driver.prepare(Duration::from_secs(10)).unwrap();
            driver
        };
        Self { _server: server, faults, writing: driver("written"), reading: driver("read") }
    }

    fn write(&self, schedule: Schedule, window: Duration) -> StageResult {
        measure(&self.writing, writes(), schedule, window)
    }

    fn read(&self, data_set: DataSet, schedule: Schedule, window: Duration) -> StageResult {
        let block_bytes = Some(BLOCK_BYTES);
        measure(
            &self.reading,
            Workload::Read { data_set, block_bytes, order: Order::Sequential },
            schedule,
            window,
        )
    }

    /// Something to read, written without faults.
    fn data_set(&self) -> DataSet {
        self.faults.set(Plan::default());
        measure(&self.reading, writes(), Schedule::Closed, Duration::from_millis(200)).data_set
    }
}

/// Files for each lane, none so large that one lane fills them all.
fn writes() -> Workload {
    let shape = Shape::Files { file_bytes: 8 << 20, block_bytes: BLOCK_BYTES };
    Workload::Write { shape, limit_bytes: 1 << 30 }
}

#[test]
fn a_fixed_latency_is_the_median_that_is_measured() {
    let _turn = alone();
    let target = Target::new();
    let data_set = target.data_set();
    target.faults.set(shaped(Some(Latency::Fixed(LATENCY)), None));
    let written = target.write(EVEN, LATENCY_WINDOW);
    assert_true("write p50", quantile(&written, OpKind::Write, 0.5), LATENCY.as_secs_f64());
    let read = target.read(data_set, EVEN, LATENCY_WINDOW);
    assert_true("read p50", quantile(&read, OpKind::Read, 0.5), LATENCY.as_secs_f64());
}

#[test]
fn the_quantiles_of_a_distribution_are_those_that_are_measured() {
    let _turn = alone();
    let target = Target::new();
    let data_set = target.data_set();
    let slow = 3 * LATENCY;
    let latencies = [LATENCY, LATENCY, LATENCY, slow];
    target.faults.set(shaped(Some(Latency::List(latencies.into())), None));
    let read = target.read(data_set, EVEN, LATENCY_WINDOW);
    // Three of four are fast, and the quarter that is slow begins at p75.
    assert_true("read p50 of a list", quantile(&read, OpKind::Read, 0.5), LATENCY.as_secs_f64());
    assert_true("read p85 of a list", quantile(&read, OpKind::Read, 0.85), slow.as_secs_f64());
}

#[test]
fn a_bandwidth_is_the_throughput_that_is_measured() {
    let _turn = alone();
    let target = Target::new();
    let data_set = target.data_set();
    target.faults.set(shaped(None, Some(BANDWIDTH)));
    let window = Duration::from_secs(3);
    // 64 operations share the pipe: each waits for the others' bytes and its own.
    let wait = 64.0 * BLOCK_BYTES as f64 / BANDWIDTH as f64;
    let written = target.write(Schedule::Closed, window);
    assert_true("write throughput", written.bytes_per_s(), BANDWIDTH as f64);
    let read = target.read(data_set, Schedule::Closed, window);
    assert_true("read throughput", read.bytes_per_s(), BANDWIDTH as f64);
    assert_true("read p50 in the pipe", quantile(&read, OpKind::Read, 0.5), wait);
}
