//! Tests of the network between the hosts of a fleet.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::Range;

use checks::{LinkChoice, NetworkRequest, OptionStyle, positive};
use experiment::{Diagnostics, Fleet};
use serde::Deserialize;
use serde_json::{Map, Value};
use units::Size;
use utoipa::ToSchema;

use super::RunKind;
use super::fields::{FieldFault, read, size, time};
use super::reactor_form::ReactorForm;
use crate::new_work::{NewWork, RunSecrets};
use crate::options::RequestPolicy;
use crate::policy;

/// Maximum number of variants of each link.
const MOST_VARIANTS: usize = 16;
/// Maximum number of connections per link.
const MOST_STREAMS: u32 = 1024;
/// Maximum size of a system call.
const MOST_BLOCK: Size = Size(64 << 20);
/// Ports on which hosts may listen for each other.
const PORTS: Range<u16> = 1024..60_000;

/// A test of the network between hosts, by the options of `manometer network`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewNetworkTest)]
pub(crate) struct NetworkTestForm {
    /// The hosts and how agents are started there, as `fleet` of an experiment file: `{"hosts": ["a", "b"]}`
    #[schema(value_type = Object)]
    fleet: Map<String, Value>,
    /// Measure only these links, from the first host to the second: `a:b,c:d`
    #[serde(default)]
    pairs: Option<String>,
    /// Measure each pair in both directions, one after the other; by default only from the earlier host to the later
    #[serde(default)]
    both_directions: bool,
    /// Also measure both directions of each pair at the same time
    #[serde(default)]
    duplex: bool,
    /// TCP connections per link; each number is a separate measurement
    #[schema(default = json!([1, 8]), min_items = 1, max_items = 16)]
    streams: Option<Vec<u32>>,
    /// Measured time per link, at most a day
    #[schema(default = "5s")]
    duration: Option<String>,
    /// Ramp before it, which is not counted
    #[schema(default = "1s")]
    ramp: Option<String>,
    /// Measure pairs without a common host at the same time
    #[serde(default)]
    parallel: bool,
    /// Bytes per system call
    #[schema(default = "256KiB")]
    block_size: Option<String>,
    /// Addresses at which the other hosts reach a host, by host
    #[serde(default)]
    #[schema(value_type = BTreeMap<String, String>)]
    address: BTreeMap<String, IpAddr>,
    /// First port on which the hosts listen for each other; concurrent links use the following ports
    #[schema(minimum = 1024, maximum = 59999, default = 18700)]
    port: Option<u16>,
    /// How I/O is submitted to the kernel
    #[schema(default = "auto")]
    reactor: Option<ReactorForm>,
}

/// A network test that this service allows.
#[derive(Debug)]
pub(crate) struct NetworkTest {
    /// What to measure; where it is recorded, and how to log in, are still absent.
    pub request: NetworkRequest,
    /// The hosts that it occupies, as the queue names them.
    pub hosts: Vec<String>,
}

impl NewWork {
    /// A network test, from the object that was posted.
    ///
    /// # Errors
    /// A field cannot be read.
    pub(crate) fn network_test(posted: Map<String, Value>) -> Result<Self, FieldFault> {
        let posted = Value::Object(posted);
        read::<NetworkTestForm>(&posted)?;
        let (text, secrets) = (posted.to_string(), RunSecrets::default());
        Ok(Self { kind: RunKind::NetworkTest, text, secrets, storperf: None })
    }
}

impl NetworkTest {
    /// Reads the text of a network test; the policy for fleets is that of experiments.
    ///
    /// # Errors
    /// A field is wrong, or its launcher is not allowed.
    pub(super) fn read(text: &str, policy: &RequestPolicy) -> Result<Self, FieldFault> {
        let value: Value = serde_json::from_str(text).map_err(|_| FieldFault::damaged())?;
        let form: NetworkTestForm = read(&value)?;
        let (fleet, hosts) = fleet(&form.fleet, policy)?;
        let usual = NetworkRequest::new(fleet.launcher);
        let links = match (form.pairs, form.both_directions) {
            (Some(_), true) => {
                return Err(FieldFault::of(
                    "pairs",
                    "it contradicts both_directions; next: leave one of them out",
                ));
            }
            (Some(pairs), false) => LinkChoice::Named(pairs),
            (None, true) => LinkChoice::BothDirections,
            (None, false) => LinkChoice::EachPair,
        };
        let streams = form.streams.unwrap_or_else(|| usual.streams.clone());
        let are_useful = streams.iter().all(|streams| (1..=MOST_STREAMS).contains(streams));
        if !are_useful || !(1..=MOST_VARIANTS).contains(&streams.len()) {
            let why = format!("write 1 to {MOST_VARIANTS} numbers from 1 to {MOST_STREAMS}");
            return Err(FieldFault::of("streams", why));
        }
        let port = form.port.unwrap_or(usual.port);
        if !PORTS.contains(&port) {
            let why = format!("write a port from {} to {}", PORTS.start, PORTS.end - 1);
            return Err(FieldFault::of("port", why));
        }
        let block = size("block_size", form.block_size.as_deref(), Size(usual.block_bytes))?;
        if block == Size(0) || block > MOST_BLOCK {
            return Err(FieldFault::of("block_size", format!("write a size from 1B to {MOST_BLOCK}")));
        }
        let duration = time("duration", form.duration.as_deref(), usual.duration)?;
        let duration = positive(OptionStyle::Fields, "duration", duration)
            .map_err(|error| FieldFault { field: error.option().to_owned(), why: error.to_string() })?;
        let request = NetworkRequest {
            links,
            streams,
            port,
            duration,
            duplex: form.duplex,
            ramp: time("ramp", form.ramp.as_deref(), usual.ramp)?,
            parallel: form.parallel,
            block_bytes: block.bytes(),
            addresses: form.address.into_iter().collect(),
            reactor: ReactorForm::choice(form.reactor),
            ..usual
        };
        Ok(Self { request, hosts })
    }
}

/// The fleet of an experiment that consists of little else, which the policy for experiments judges.
fn fleet(given: &Map<String, Value>, policy: &RequestPolicy) -> Result<(Fleet, Vec<String>), FieldFault> {
    // JSON is YAML.
    let fleet = Value::Object(given.clone());
    let text = format!("fleet: {fleet}\ntargets: {{t: 'null:'}}\nworkloads: {{w: {{ops: read}}}}\n");
    let plan = policy::plan(&text, policy).map_err(|faults| of_fleet(&faults))?;
    let hosts = policy::hosts(&plan);
    let fleet = plan.fleet.ok_or_else(|| FieldFault::of("fleet", "it names no hosts"))?;
    if fleet != Fleet::of(fleet.launcher.clone()) {
        let why = "only the hosts and how agents are started there matter; next: take the other fields out";
        return Err(FieldFault::of("fleet", why));
    }
    Ok((fleet, hosts))
}

fn of_fleet(faults: &Diagnostics) -> FieldFault {
    let first = faults.faults.first();
    let why = first.map_or_else(String::new, |fault| format!("{}; {}", fault.text, fault.hint));
    FieldFault::of("fleet", why)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::policy::THIS_HOST;

    fn read_back(body: &Value, policy: &RequestPolicy) -> Result<NetworkTest, FieldFault> {
        let work = NewWork::network_test(body.as_object().unwrap().clone())?;
        NetworkTest::read(&work.text, policy)
    }

    #[test]
    fn hosts_and_options_are_those_of_the_command_line() {
        let none = RequestPolicy::default();
        let found = read_back(&json!({ "fleet": { "hosts": ["b", "a"] } }), &none).unwrap();
        assert_eq!(found.hosts, ["a", "b"]);
        let usual = NetworkRequest::new(found.request.launcher.clone());
        assert_eq!(format!("{:?}", found.request), format!("{usual:?}"));
        let local = RequestPolicy { local: true, ..RequestPolicy::default() };
        let body = json!({
            "fleet": { "local": 2 }, "streams": [2], "both_directions": true, "port": 2000, "block_size": "4KiB",
            "address": { "x": "10.0.0.1" }, "duration": "200ms", "ramp": "0s",
        });
        let found = read_back(&body, &local).unwrap();
        assert_eq!(found.hosts, [THIS_HOST]);
        let request = found.request;
        assert_eq!((request.streams, request.links), (vec![2], LinkChoice::BothDirections));
        assert_eq!((request.port, request.block_bytes, request.addresses.len()), (2000, 4096, 1));
    }

    #[test]
    fn what_is_wrong_or_not_allowed_is_named_by_its_field() {
        let none = RequestPolicy::default();
        let with = |more: Value| {
            let mut body = json!({ "fleet": { "hosts": ["a", "b"] } });
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            body
        };
        for (body, field, said) in [
            (json!({}), "", "missing field `fleet`"),
            (json!({ "fleet": { "local": 2 } }), "fleet", "--allow-local"),
            (
                json!({ "fleet": { "command": { "hosts": ["a"], "command": ["sh"] } } }),
                "fleet",
                "--allow-command",
            ),
            (
                json!({ "fleet": { "hosts": ["a", "b"], "ssh_options": ["-oProxyCommand=x"] } }),
                "fleet",
                "--allow-command",
            ),
            (json!({ "fleet": { "hosts": "@/etc/passwd" } }), "fleet", "reads no files"),
            (json!({ "fleet": { "hosts": ["${env:PATH}"] } }), "fleet", "PATH"),
            (json!({ "fleet": { "nodes": 2 } }), "fleet", "nodes"),
            (json!({ "fleet": { "hosts": ["a", "b"], "on_host_failure": "continue" } }), "fleet", ""),
            (with(json!({ "streams": [] })), "streams", "1 to 16 numbers"),
            (with(json!({ "streams": [0] })), "streams", "from 1 to 1024"),
            (with(json!({ "port": 80 })), "port", "from 1024"),
            (with(json!({ "duration": "0s" })), "duration", "longer than nothing"),
            (with(json!({ "block_size": "0" })), "block_size", "from 1B"),
            (with(json!({ "pairs": "a:b", "both_directions": true })), "pairs", "contradicts"),
            (with(json!({ "address": { "a": "x" } })), "address.a", "cannot be read"),
            (with(json!({ "picture": "/tmp/x.svg" })), "picture", "unknown field"),
        ] {
            let fault = read_back(&body, &none).unwrap_err();
            assert_eq!(fault.field, field, "{body}: {fault:?}");
            assert!(fault.why.contains(said) && !fault.why.contains('\n'), "{body}: {fault:?}");
        }
    }
}
