//! S3: latency and bandwidth, putting and getting.

use std::net::SocketAddr;

use array::{Array, Config, FaultHandle, ManagementTls};
use drivers::s3::{Credentials, S3Config, S3Driver};
use engine::DataShape;
use metrics::OpKind;
use serde_json::{Value, json};

use crate::checks;
use crate::http::request;
use crate::measure::Target;

/// Small enough to pass the pipe in one piece: larger objects share it piece by piece, so those of all lanes complete
/// almost together, and a window would contain one such wave more or less.
const OBJECT_BYTES: u64 = 16 << 10;
/// Bytes per second at which 64 such objects are 260 ms of work.
const BANDWIDTH: u64 = 4_000_000;

struct S3 {
    array: Array,
    credentials: Credentials,
}

/// A management call that must succeed.
fn manage(to: SocketAddr, session: &str, resource: &str, body: &Value) -> Value {
    let target = format!("/api/2.0/{resource}");
    let headers = [("x-auth-token", session)];
    let answer = request(to, "POST", &target, &headers, body.to_string().as_bytes()).unwrap();
    assert_eq!(answer.status, 200, "{resource}: {}", answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

impl S3 {
    fn new() -> Self {
        let array = Array::start(Config { tls: ManagementTls::Off, ..Config::loopback() }).unwrap();
        let to = array.management_address();
        let login = request(to, "POST", "/api/login", &[("api-token", array.token().reveal())], b"").unwrap();
        let session = login.header("x-auth-token").unwrap();
        manage(to, session, "object-store-accounts?names=a", &json!({}));
        manage(to, session, "object-store-users?names=a/u&full_access=true", &json!({}));
        manage(to, session, "buckets?names=bucket", &json!({ "account": { "name": "a" } }));
        let made = manage(to, session, "object-store-access-keys", &json!({ "user": { "name": "a/u" } }));
        let text = |field: &str| made["items"][0][field].as_str().unwrap().to_owned();
        let credentials = Credentials::new(text("name"), text("secret_access_key"));
        Self { array, credentials }
    }
}

impl Target for S3 {
    type Driver = S3Driver;
    const WRITE: OpKind = OpKind::Put;
    const READ: OpKind = OpKind::Get;

    fn driver(&self, place: &str) -> S3Driver {
        let data = &self.array.data()[0];
        let endpoint = format!("http://{}:{}", data.ip, data.s3_port).parse().unwrap();
        S3Driver::new(S3Config::new(endpoint, "bucket", place, self.credentials.clone())).unwrap()
    }

    fn faults(&self) -> &FaultHandle {
        self.array.faults()
    }

    fn shape(&self, write_bytes: u64) -> DataShape {
        DataShape::Objects { object_bytes: write_bytes }
    }

    fn read_bytes(&self, _: u64) -> Option<u64> {
        None
    }
}

#[test]
fn a_fixed_latency_is_the_median_that_is_measured() {
    checks::fixed_latency(&S3::new());
}

#[test]
fn a_bandwidth_is_the_throughput_that_is_measured() {
    checks::bandwidth(&S3::new(), OBJECT_BYTES, BANDWIDTH);
}
