//! The OpenAPI document of `StorPerf`'s requests, at `/api/v1.0/openapi.json`.
//!
//! Bodies are read field by field, because clients write numbers as texts and lists as texts with commas. The types here
//! describe them; a test holds their names against those that are read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{OpenApi, ToSchema};

use crate::api::document::Bearer;
use crate::problem::Problem;

/// What is not in the handlers.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "StorPerf on manometer",
        description = "StorPerf's requests, in its structure. A job is a run of manometer: `/api/v3/runs/ID` knows it by the same \
                       id. Errors are `{\"message\": …}`; those of access rules are problems (RFC 9457).",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    tags(
        (name = "jobs", description = "Initializations and measurements"),
        (name = "configurations", description = "Groups of hosts"),
        (name = "logs", description = "Messages of the service")
    ),
    components(schemas(Message, Problem)),
    modifiers(&Bearer)
)]
pub(super) struct Frame;

/// An error.
#[derive(Serialize, ToSchema)]
#[schema(as = Message)]
#[allow(dead_code, reason = "described, and written as a value")]
pub(super) struct Message {
    /// What is wrong, and what to do next.
    message: String,
}

/// A number, or its text.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "described, and read field by field")]
pub(super) enum NumberOrText {
    Number(u64),
    Text(String),
}

/// A list, or a text with commas.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "described, and read field by field")]
pub(super) enum ListOrText {
    List(Vec<NumberOrText>),
    Number(u64),
    Text(String),
}

/// A measurement.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "described, and read field by field")]
pub(super) struct JobBody {
    /// A directory or a device of the hosts; `/dev/vdb` if absent.
    pub target: Option<String>,
    /// Maximum minutes for a pair of block size and queue depth.
    pub deadline: Option<NumberOrText>,
    /// Samples of a minute that must be steady; 10 if absent.
    pub steady_state_samples: Option<NumberOrText>,
    /// Queue depths; 1 if absent.
    pub queue_depths: Option<ListOrText>,
    /// Block sizes as fio writes them; 4096 if absent.
    pub block_sizes: Option<ListOrText>,
    /// Built-in workloads: `rr`, `rs`, `rw`, `wr`, `ws`, `_warm_up`.
    pub workload: Option<ListOrText>,
    /// Workloads by name, each a map of fio options; `null` is a flag without a value.
    pub workloads: Option<BTreeMap<String, BTreeMap<String, Value>>>,
    /// What is found again in reports: a flat map.
    pub metadata: Option<BTreeMap<String, Value>>,
    /// A group of hosts, unless `slave_addresses` are given.
    pub stack_name: Option<String>,
    /// The user on the hosts.
    pub username: Option<String>,
    /// Its password; in memory only.
    pub password: Option<String>,
    /// Its private key; in memory only.
    pub ssh_private_key: Option<String>,
    /// The hosts.
    pub slave_addresses: Option<ListOrText>,
}

/// An initialization.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "described, and read field by field")]
pub(super) struct InitializationBody {
    /// A directory or a device of the hosts; `/dev/vdb` if absent.
    pub target: Option<String>,
    /// Size of each file.
    pub filesize: Option<NumberOrText>,
    /// Files of each job.
    pub nrfiles: Option<NumberOrText>,
    /// Jobs, each with its own files.
    pub numjobs: Option<NumberOrText>,
    /// A group of hosts, unless `slave_addresses` are given.
    pub stack_name: Option<String>,
    /// The user on the hosts.
    pub username: Option<String>,
    /// Its password; in memory only.
    pub password: Option<String>,
    /// Its private key; in memory only.
    pub ssh_private_key: Option<String>,
    /// The hosts.
    pub slave_addresses: Option<ListOrText>,
}

/// A group of hosts.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "described, and read field by field")]
pub(super) struct GroupBody {
    /// Its name; `StorPerfAgentGroup` if absent.
    pub stack_name: Option<String>,
    /// The hosts.
    pub slave_addresses: ListOrText,
    /// The user on them.
    pub username: Option<String>,
    /// Its password; in memory only.
    pub password: Option<String>,
    /// Its private key; in memory only.
    pub ssh_private_key: Option<String>,
}

/// A job that was added.
#[derive(Serialize, ToSchema)]
pub(super) struct JobId {
    /// Its id, also of the run.
    #[schema(pattern = "^[a-z2-7]{8}$")]
    pub job_id: String,
}

/// The hosts of a job that was stopped.
#[derive(Serialize, ToSchema)]
pub(super) struct StoppedJob {
    /// Their addresses.
    #[serde(rename = "Slaves")]
    pub hosts: StoppedHosts,
}

/// The hosts, or `true` if there was no job to stop.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum StoppedHosts {
    Of(Vec<String>),
    None(bool),
}

/// A group that was forgotten.
#[derive(Serialize, ToSchema)]
pub(super) struct ForgottenGroup {
    /// Its id; `null` if there was none.
    #[schema(required = true)]
    pub stack_id: Option<String>,
}

/// Limits of virtual machines.
#[derive(Serialize, ToSchema)]
pub(super) struct Quotas {
    /// None: the service has no virtual machines.
    pub quota: [String; 0],
}

/// The service's latest messages.
#[derive(Serialize, ToSchema)]
pub(super) struct Logs {
    /// A line each.
    pub logs: Vec<String>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;
    use utoipa::PartialSchema;

    use super::*;
    use crate::storperf::{self, GroupBook, HostGroupBody};

    fn names<T: PartialSchema>() -> BTreeSet<String> {
        let schema = serde_json::to_value(T::schema()).unwrap();
        schema["properties"].as_object().unwrap().keys().cloned().collect()
    }

    /// A refusal of an unknown field lists those that are read.
    fn known(detail: &str) -> BTreeSet<String> {
        let (_, list) = detail.split_once("next: write ").unwrap();
        list.split(", ").map(str::to_owned).collect()
    }

    #[test]
    fn bodies_are_described_as_they_are_read() {
        let unknown = json!({"nobody knows": 1}).to_string();
        let book = GroupBook::default();
        let job = storperf::job(unknown.as_bytes(), &book).unwrap_err();
        assert_eq!(names::<JobBody>(), known(job.detail()));
        let initialization = storperf::initialization(unknown.as_bytes(), &book).unwrap_err();
        assert_eq!(names::<InitializationBody>(), known(initialization.detail()));
        let group = HostGroupBody::of(unknown.as_bytes()).unwrap_err();
        assert_eq!(names::<GroupBody>(), known(group.detail()));
    }
}
