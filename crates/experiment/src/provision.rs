//! What a run creates on a storage server before its first cell and removes after its last, by the server's own tools.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::accounting::Via;
use crate::job::is_default;
use crate::plan::{Cell, Plan};

/// What stands in a URL for what was provisioned.
pub const PROVISIONED: &str = "{provisioned}";

/// Something to create on a storage server, and how its tools are reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provision {
    /// What is created.
    pub wanted: ProvisionKind,
    /// Options added to the command line of the tool.
    #[serde(default, skip_serializing_if = "is_default")]
    pub options: Vec<String>,
    /// How the host that runs the tool is reached; `None`: the host that coordinates the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<Via>,
    /// Timeout of each command, in milliseconds.
    pub timeout_ms: u64,
}

/// Default timeout of a command that provisions, in milliseconds.
pub const PROVISION_TIMEOUT_MS: u64 = 120_000;

/// Max number of placement groups of a pool.
pub const MAX_PLACEMENT_GROUPS: u32 = 1 << 16;

/// What is created.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProvisionKind {
    /// A Gluster volume, by `gluster`.
    Gluster(GlusterVolume),
    /// An iSCSI target with one logical unit, by `tgtadm`.
    Tgt(TgtTarget),
    /// A pool of a Ceph cluster and a user for it, by `ceph`.
    Ceph(CephPool),
    /// A user of Ceph's object gateway with a bucket, by `radosgw-admin`.
    Radosgw(GatewayUser),
}

/// A Gluster volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GlusterVolume {
    /// The directories in which each brick gets a directory of its own.
    pub bricks: Vec<Brick>,
    /// How files are spread over the bricks: words of `gluster volume create` and their numbers, such as `replica` and 3.
    #[serde(default, skip_serializing_if = "is_default")]
    pub layout: Vec<(String, u32)>,
    /// Options of the volume, set before it starts.
    #[serde(default, skip_serializing_if = "is_default")]
    pub settings: BTreeMap<String, String>,
    /// Whether bricks may lie where Gluster warns, as on the root file system.
    #[serde(default, skip_serializing_if = "is_default")]
    pub force: bool,
    /// How the hosts of the bricks are reached, with [`BRICK_HOST`] for their names; `None`: as the tool's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bricks_via: Option<Via>,
}

/// What stands for the host of a brick in `bricks_via`.
pub const BRICK_HOST: &str = "{host}";

/// A directory for a brick.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brick {
    /// The host, as in Gluster's pool.
    pub host: String,
    /// The directory, from `/`.
    pub directory: String,
}

/// An iSCSI target with one logical unit: a file that is created for it, or a block device that exists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TgtTarget {
    /// The directory for the file, from `/`; empty with a device.
    #[serde(default, skip_serializing_if = "is_default")]
    pub directory: String,
    /// The file's size in bytes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub size_bytes: u64,
    /// The block device, from `/`, in place of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Whether tgtd opens it with `O_DIRECT`, past the server's page cache.
    #[serde(default, skip_serializing_if = "is_default")]
    pub direct: bool,
    /// Whether whoever logs in must know a secret, which the run makes up.
    #[serde(default, skip_serializing_if = "is_default")]
    pub chap: bool,
    /// The addresses that may log in: `ALL`, an address or a network.
    pub initiators: String,
}

/// A pool of a Ceph cluster, with a user who may use it and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CephPool {
    /// Number of placement groups; `None`: the cluster's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pg_num: Option<u32>,
    /// Copies of each object; `None`: the cluster's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    /// The profile of an erasure-coded pool, in place of copies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub erasure_code_profile: Option<String>,
    /// The CRUSH rule that selects its OSDs; `None`: the cluster's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crush_rule: Option<String>,
    /// Who uses it, such as `rbd`, as `ceph osd pool application enable` takes it.
    pub application: String,
    /// Settings of the pool, as `ceph osd pool set` takes them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub settings: BTreeMap<String, String>,
}

impl Default for CephPool {
    /// With the cluster's defaults, for manometer.
    fn default() -> Self {
        Self {
            pg_num: None,
            size: None,
            erasure_code_profile: None,
            crush_rule: None,
            application: "manometer".to_owned(),
            settings: BTreeMap::new(),
        }
    }
}

/// A user of Ceph's object gateway, whose bucket the S3 target creates.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatewayUser {
    /// The placement target of the bucket; `None`: the zone group's default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
}

/// Number of the unit on a target: 0 is the controller of tgt.
const UNIT: u16 = 1;

impl Provision {
    /// The key in an experiment file, such as `gluster`.
    pub fn word(&self) -> &'static str {
        match self.wanted {
            ProvisionKind::Gluster(_) => "gluster",
            ProvisionKind::Tgt(_) => "tgt",
            ProvisionKind::Ceph(_) => "ceph",
            ProvisionKind::Radosgw(_) => "radosgw",
        }
    }

    /// Schemes of targets that can use it, with an example of a URL.
    pub(crate) fn use_for(&self) -> (&'static [&'static str], &'static str) {
        match self.wanted {
            ProvisionKind::Gluster(_) => (&["gluster"], "gluster://server1/{provisioned}"),
            ProvisionKind::Tgt(_) => (&["iscsi"], "iscsi://server1/{provisioned}"),
            ProvisionKind::Ceph(_) => (&["rados", "rbd"], "rados://{provisioned}"),
            ProvisionKind::Radosgw(_) => (&["s3"], "s3://{provisioned}?endpoint=http://gateway1:7480"),
        }
    }

    /// What a URL has for it in the place of `{provisioned}`, if its name is this one.
    pub fn in_url(&self, name: &str) -> String {
        match self.wanted {
            ProvisionKind::Gluster(_) | ProvisionKind::Ceph(_) | ProvisionKind::Radosgw(_) => name.to_owned(),
            ProvisionKind::Tgt(_) => format!("{}/{UNIT}", target_name(name)),
        }
    }
}

/// The name of an iSCSI target of ours.
pub fn target_name(name: &str) -> String {
    format!("iqn.2026-01.manometer:{name}")
}

impl Plan {
    /// Everything that a run provisions, once each: targets with equal provisions share what is created.
    pub fn provisions(&self) -> Vec<&Provision> {
        let mut all: Vec<&Provision> = Vec::new();
        for provision in self.cells.iter().filter_map(|cell| cell.target.provision.as_ref()) {
            if !all.contains(&provision) {
                all.push(provision);
            }
        }
        all
    }

    /// A cell with the name of what the run provisioned for its target in the URL. `run` begins the names of everything
    /// that the run creates.
    pub fn with_provisioned(&self, cell: &Cell, run: &str) -> Cell {
        let mut cell = cell.clone();
        cell.target.url = self.name_provisioned(&cell.target.url, &cell, run);
        cell
    }

    /// A URL, such as the user gave to `--destroy`, with the name of what the run provisioned for a cell's target.
    pub fn name_provisioned(&self, url: &str, cell: &Cell, run: &str) -> String {
        let Some(provision) = &cell.target.provision else { return url.to_owned() };
        match self.provisions().iter().position(|known| *known == provision) {
            Some(at) => url.replace(PROVISIONED, &provision.in_url(&provisioned_name(run, at))),
            None => url.to_owned(),
        }
    }
}

/// The name of one of [`Plan::provisions`], counted from 0.
pub fn provisioned_name(run: &str, at: usize) -> String {
    format!("{run}-{}", at + 1)
}

/// Whether a name is one that [`provisioned_name`] gives something of the run.
pub fn is_provisioned_name(name: &str, run: &str) -> bool {
    let number = name.strip_prefix(run).and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(|number| {
        (1..=4).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_of_one_run_only() {
        let run = "manometer-abcdefgh";
        assert!(is_provisioned_name(&provisioned_name(run, 0), run));
        assert!(is_provisioned_name(&provisioned_name(run, 41), run));
        for foreign in [
            "manometer-abcdefgh",
            "manometer-abcdefgh-",
            "manometer-abcdefgh-1/..",
            "x-1",
            "",
            "manometer-abcdefgh-x",
        ] {
            assert!(!is_provisioned_name(foreign, run), "{foreign}");
        }
    }
}
