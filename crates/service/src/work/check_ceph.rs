//! A Ceph cluster to check: how its tools are called on behalf of a request.

use checks::{CephRequest, gateway};
use experiment::{MAX_PLACEMENT_GROUPS, Via};
use serde::Deserialize;
use utoipa::ToSchema;

use super::check::{at_most, fault};
use super::fields::FieldFault;
use crate::options::RequestPolicy;
use crate::policy::ALLOW_COMMAND;

/// A Ceph cluster to check: RADOS through the public address of each host with OSDs, S3 through each object gateway.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CheckCeph)]
pub(crate) struct CephForm {
    /// The host that has `ceph` and `radosgw-admin`, reached by ssh: `[user@]host`; the service's host by default
    #[serde(default)]
    via: Option<String>,
    /// The command that runs them, in words: `["cephadm", "shell", "--"]`
    #[schema(max_items = 64)]
    #[serde(default)]
    via_command: Vec<String>,
    /// Options for them: `["--id=operator"]`
    #[schema(max_items = 64)]
    #[serde(default)]
    options: Vec<String>,
    /// Check S3 through these gateways, not those that the cluster knows: `http://host:port`
    #[schema(max_items = 64)]
    #[serde(default)]
    gateways: Vec<String>,
    /// Number of placement groups of the pool; by default at least eight for each OSD
    #[schema(minimum = 1, maximum = 65536)]
    #[serde(default)]
    pg_num: Option<u32>,
}

impl CephForm {
    /// What the check needs to know.
    ///
    /// # Errors
    /// A field is wrong, or the policy does not allow commands.
    pub(super) fn request(&self, policy: &RequestPolicy) -> Result<CephRequest, FieldFault> {
        if !policy.commands {
            let why = format!("the tools of a cluster can start any program here; next: {ALLOW_COMMAND}");
            return Err(FieldFault::of("ceph", why));
        }
        let lists =
            [("via_command", &self.via_command), ("options", &self.options), ("gateways", &self.gateways)];
        for (name, list) in lists {
            at_most(&format!("ceph.{name}"), list.len(), "shorten the list")?;
        }
        let via = match (&self.via, &*self.via_command) {
            (Some(_), [_, ..]) => {
                let why = "it contradicts ceph.via_command; next: leave one of them out";
                return Err(FieldFault::of("ceph.via", why));
            }
            (Some(host), []) => Some(Via::Ssh { host: host.clone(), options: Vec::new() }),
            (None, []) => None,
            (None, command) => Some(Via::Command { command: command.to_vec() }),
        };
        if self.pg_num.is_some_and(|count| !(1..=MAX_PLACEMENT_GROUPS).contains(&count)) {
            let why = format_args!("write a number from 1 to {MAX_PLACEMENT_GROUPS}");
            return Err(FieldFault::of("ceph.pg_num", why));
        }
        let gateways = self.gateways.iter().map(|url| gateway("ceph.gateways", url));
        Ok(CephRequest {
            options: self.options.clone(),
            via,
            gateways: gateways.collect::<Result<_, _>>().map_err(fault)?,
            pg_num: self.pg_num,
            ..CephRequest::default()
        })
    }
}
