//! Faults as data: the types behind the fault file.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::latency::LatencyDistribution;

/// All active faults. The default has none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FaultPlan {
    /// Faults of data addresses; if several match, later ones override the fields that they set.
    pub paths: Vec<PathRule>,
    /// Every write is rejected for lack of space, whatever the capacity.
    pub full_disk: bool,
    /// Faults of management calls; each rule counts the calls it matches.
    pub management: Vec<StepRule>,
    /// Early expiry of management sessions.
    pub session: SessionFault,
    /// Number of NFS server restarts. A change is a restart: uncommitted writes are lost, the write verifier changes, and
    /// clients of NFSv4.1 are forgotten.
    pub nfs_restarts: u64,
    /// A change ends the leases of all clients of NFSv4.1: they, their sessions and what they have open are forgotten.
    pub nfs_lease_expiries: u64,
    /// A change ends all sessions of NFSv4.1; their clients stay known.
    pub nfs_session_losses: u64,
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

/// The temporary error returned by NFS calls.
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

/// Ways in which an address is unreachable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unreachable {
    /// Connection attempts are dropped without any response.
    Drop,
    /// Connection attempts are refused at once.
    Refuse,
    /// Connections are accepted but never answered.
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
    /// Delay before each response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyDistribution>,
    /// Payload bytes per second, in each direction, shared by all connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bandwidth_bytes_per_s: Option<u64>,
    /// Share of requests (0 to 1) whose connection is reset in the middle of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset_share: Option<f64>,
    /// Share of requests (0 to 1) that fail with a temporary error (S3: 503 SlowDown or 500; NFS: see `nfs_error`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_share: Option<f64>,
    /// The error returned by NFS calls; absent for `jukebox`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nfs_error: Option<NfsError>,
    /// Share of NFS RENAMEs (0 to 1) that are acknowledged, but not done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_rename_share: Option<f64>,
    /// Share of NFS READs (0 to 1) that return what the file held before its last WRITE, if that came while this fault was
    /// active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale_read_share: Option<f64>,
}

/// The faults of one data address and protocol, combined from all rules.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathFaults {
    /// The address cannot be reached.
    pub unreachable: Option<Unreachable>,
    /// Delay before each response.
    pub latency: Option<LatencyDistribution>,
    /// Payload bytes per second, in each direction, shared by all connections.
    pub bandwidth_bytes_per_s: Option<u64>,
    /// Share of requests (0 to 1) whose connection is reset in the middle of the response.
    pub reset_share: f64,
    /// Share of requests (0 to 1) that fail with a temporary error.
    pub error_share: f64,
    /// The error returned by NFS calls.
    pub nfs_error: NfsError,
    /// Share of NFS RENAMEs (0 to 1) that are acknowledged, but not done.
    pub lost_rename_share: f64,
    /// Share of NFS READs (0 to 1) that return old content.
    pub stale_read_share: f64,
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
            sum.lost_rename_share = rule.lost_rename_share.unwrap_or(sum.lost_rename_share);
            sum.stale_read_share = rule.stale_read_share.unwrap_or(sum.stale_read_share);
        }
        sum
    }
}

/// Which management calls a rule applies to.
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
    /// The calls counted; by default all, including login, logout and `GET /api/api_version`.
    #[serde(default, rename = "match")]
    pub calls: Match,
    /// Which of the counted calls fails, from 1, since the rule was activated; absent for every one.
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
    /// It fails without effect.
    Fail,
    /// It is never answered, and has no effect.
    Hang,
    /// The connection is closed without an answer, and the call has no effect.
    Close,
    /// It takes effect, but an error is returned.
    DoThenFail,
    /// It takes effect, but is never answered.
    DoThenHang,
    /// It takes effect, but the connection is closed without a response.
    DoThenClose,
}

/// Early expiry of a management session.
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
