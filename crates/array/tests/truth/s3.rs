//! S3: latency and bandwidth, putting and getting.

use std::net::SocketAddr;
use std::time::Duration;

use array::faults::{Latency, Plan};
use array::{Array, Config, ManagementTls};
use drivers::s3::{Credentials, S3Config, S3Driver};
use engine::{DataSet, Order, Schedule, Shape, StageResult, Workload};
use metrics::OpKind;
use serde_json::{Value, json};

use crate::http::request;
use crate::{EVEN, LATENCY, LATENCY_WINDOW, alone, assert_true, measure, quantile, shaped};

/// Small enough to go through the pipe in one piece: larger objects share it piece by piece, so that those of all
/// lanes end almost together, and a window would hold one such wave more or less.
const OBJECT_BYTES: u64 = 16 << 10;
/// The programmed bandwidth, in bytes a second; 64 objects are 260 ms of work.
const BANDWIDTH: u64 = 4_000_000;

struct Target {
    array: Array,
    writing: S3Driver,
    reading: S3Driver,
}

/// A management call that must succeed.
fn manage(to: SocketAddr, session: &str, resource: &str, body: &Value) -> Value {
    let target = format!("/api/2.0/{resource}");
    let headers = [("x-auth-token", session)];
    let answer = request(to, "POST", &target, &headers, body.to_string().as_bytes()).unwrap();
    assert_eq!(answer.status, 200, "{resource}: {}", answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

impl Target {
    fn new() -> Self {
        let array = Array::start(Config { tls: ManagementTls::Off, ..Config::loopback() }).unwrap();
        let to = array.management_address();
        let login = request(to, "POST", "/api/login", &[("api-token", array.token().reveal())], b"").unwrap();
        let session = login.header("x-auth-token").unwrap();
        manage(to, session, "object-store-accounts?names=a", &json!({}));
        manage(to, session, "object-store-users?names=a/u&full_access=true", &json!({}));
        let key =
            manage(to, session, "object-store-access-keys", &json!({ "user": { "name": "a/u" } }))["items"]
                [0]
            .clone();
        manage(to, session, "buckets?names=bucket", &json!({ "account": { "name": "a" } }));
        let credentials =
            Credentials::new(key["name"].as_str().unwrap(), key["secret_access_key"].as_str().unwrap());
        let data = &array.data()[0];
        let endpoint = format!("http://{}:{}", data.ip, data.s3_port);
        let driver = |prefix| {
            let endpoint = endpoint.parse().unwrap();
            S3Driver::new(S3Config::new(endpoint, "bucket", prefix, credentials.clone())).unwrap()
        };
        Self { writing: driver("written"), reading: driver("read"), array }
    }

    fn write(&self, schedule: Schedule, window: Duration) -> StageResult {
        measure(&self.writing, puts(), schedule, window)
    }

    fn read(&self, data_set: DataSet, schedule: Schedule, window: Duration) -> StageResult {
        let workload = Workload::Read { data_set, block_bytes: None, order: Order::Sequential };
        measure(&self.reading, workload, schedule, window)
    }

    /// Something to read, written without faults.
    fn data_set(&self) -> DataSet {
        self.array.faults().set(Plan::default());
        measure(&self.reading, puts(), Schedule::Closed, Duration::from_millis(200)).data_set
    }
}

/// Objects of one size.
fn puts() -> Workload {
    Workload::Write { shape: Shape::Objects { object_bytes: OBJECT_BYTES }, limit_bytes: 1 << 30 }
}

#[test]
fn a_fixed_latency_is_the_median_that_is_measured() {
    let _turn = alone();
    let target = Target::new();
    let data_set = target.data_set();
    target.array.faults().set(shaped(Some(Latency::Fixed(LATENCY)), None));
    let written = target.write(EVEN, LATENCY_WINDOW);
    assert_true("put p50", quantile(&written, OpKind::Put, 0.5), LATENCY.as_secs_f64());
    let read = target.read(data_set, EVEN, LATENCY_WINDOW);
    assert_true("get p50", quantile(&read, OpKind::Get, 0.5), LATENCY.as_secs_f64());
}

#[test]
fn a_bandwidth_is_the_throughput_that_is_measured() {
    let _turn = alone();
    let target = Target::new();
    let data_set = target.data_set();
    target.array.faults().set(shaped(None, Some(BANDWIDTH)));
    let window = Duration::from_secs(3);
    let written = target.write(Schedule::Closed, window);
    assert_true("put throughput", written.bytes_per_s(), BANDWIDTH as f64);
    let read = target.read(data_set, Schedule::Closed, window);
    assert_true("get throughput", read.bytes_per_s(), BANDWIDTH as f64);
}
