//! What is wrong, as data: the types behind the fault file.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::latency::LatencyDistribution;

/// All faults in force at one time. The default is: nothing is wrong.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FaultPlan {
    /// Faults of data addresses; where several match, each later one overrides the fields it names.
    pub paths: Vec<PathRule>,
    /// Every write is refused for lack of space, whatever the capacity.
    pub full_disk: bool,
    /// Faults of management calls; each rule counts the calls it matches.
    pub management: Vec<StepRule>,
    /// When management sessions end before their time.
    pub session: SessionFault,
    /// How often the NFS servers have restarted. A change is a restart: writes that were not committed
    /// are lost, and the write verifier is another.
    pub nfs_restarts: u64,
}

/// A protocol of a data address. `Nfs` covers the portmapper and MOUNT too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DataProtocol {
    /// NFS, MOUNT and the portmapper.
    Nfs,
    /// S3 over HTTP and HTTPS.
    S3,
}

/// The passing error that NFS calls are answered with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NfsError {
    /// `NFS3ERR_JUKEBOX`: call again later.
    #[default]
    Jukebox,
    /// `NFS3ERR_IO`.
    Io,
    /// `NFS3ERR_NOSPC`.
    Nospc,
}

/// How an address fails to be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unreachable {
    /// Connection attempts vanish: no answer of any kind.
    Drop,
    /// Connection attempts are refused at once.
    Refuse,
    /// Connections are accepted, and nothing is ever answered.
    Stall,
}

/// A fault of one data address and protocol, as written in the plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathRule {
    /// The address; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The protocol; absent for both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<DataProtocol>,
    /// The address cannot be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<Unreachable>,
    /// Time that passes before each answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyDistribution>,
    /// Payload bytes per second, in each direction, shared by all connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_bytes_per_s: Option<u64>,
    /// Share of requests (0 to 1) whose connection is reset in the middle of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset_share: Option<f64>,
    /// Share of requests (0 to 1) answered with a passing error (S3: 503 SlowDown or 500; NFS: see `nfs_error`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_share: Option<f64>,
    /// Which error NFS calls are answered with; absent for `jukebox`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nfs_error: Option<NfsError>,
}

/// The faults of one data address and protocol, all rules taken together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathFaults {
    /// The address cannot be reached.
    pub unreachable: Option<Unreachable>,
    /// Time that passes before each answer.
    pub latency: Option<LatencyDistribution>,
    /// Payload bytes per second, in each direction, shared by all connections.
    pub bandwidth_bytes_per_s: Option<u64>,
    /// Share of requests (0 to 1) whose connection is reset in the middle of the answer.
    pub reset_share: f64,
    /// Share of requests (0 to 1) answered with a passing error.
    pub error_share: f64,
    /// Which error NFS calls are answered with.
    pub nfs_error: NfsError,
}

impl FaultPlan {
    /// The faults of one address and protocol.
    pub fn path(&self, address: IpAddr, protocol: DataProtocol) -> PathFaults {
        let mut sum = PathFaults::default();
        let matching = self.paths.iter().filter(|rule| {
            rule.address.is_none_or(|wanted| wanted == address)
                && rule.protocol.is_none_or(|wanted| wanted == protocol)
        });
        for rule in matching {
            sum.unreachable = rule.unreachable.or(sum.unreachable);
            sum.latency = rule.latency.clone().or(sum.latency);
            sum.bandwidth_bytes_per_s = rule.bandwidth_bytes_per_s.or(sum.bandwidth_bytes_per_s);
            sum.reset_share = rule.reset_share.unwrap_or(sum.reset_share);
            sum.error_share = rule.error_share.unwrap_or(sum.error_share);
            sum.nfs_error = rule.nfs_error.unwrap_or(sum.nfs_error);
        }
        sum
    }
}

/// Which management calls a rule counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Match {
    /// HTTP method, for example `POST`; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Path with `*` for any text, for example `/api/*/buckets`; absent for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// A fault of management calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepRule {
    /// The calls counted; by default all, with login, logout and `GET /api/api_version`.
    #[serde(default, rename = "match")]
    pub calls: Match,
    /// Which of the counted calls, from 1, counted from when the rule was put in force; absent for every one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// What happens to it.
    pub then: StepAction,
    /// HTTP status of a failure; 500 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// What happens to a management call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepAction {
    /// It fails, and has no effect.
    Fail,
    /// It is never answered, and has no effect.
    Hang,
    /// The connection is closed without an answer, and the call has no effect.
    Close,
    /// It has its effect, and is answered with an error.
    DoThenFail,
    /// It has its effect, and is never answered.
    DoThenHang,
    /// It has its effect, and the connection is closed without an answer.
    DoThenClose,
}

/// When a management session ends before its time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionFault {
    /// After this many calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_after_calls: Option<u64>,
    /// After this many milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_after_ms: Option<u64>,
}
