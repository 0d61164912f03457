//! `ioengine=rados`: each file of a job is an object of a pool.

use std::collections::BTreeMap;

use experiment::TargetUrl;

use super::ValueKind::{Bool, Integer, Text};
use super::{EngineJob, EngineOption, EngineTarget, JobEngine, JobEngines, OptionSupport, refused};
use crate::kinds;

const RADOS: &[&str] = &["rados"];
// fio's rbd, and dfs of DAOS, share some options.
const WITH_RBD: &[&str] = &["rados", "rbd"];
const WITH_DFS: &[&str] = &["rados", "rbd", "dfs"];
/// The type of users in `client.admin`.
const CLIENT: &str = "client.";

/// The engine for objects of a pool.
pub const ENGINES: JobEngines = JobEngines {
    engines: &[JobEngine {
        queues: true,
        needs_size: true,
        ..JobEngine::new(
            "rados",
            "rados",
            OptionSupport::Differs(
                "reads and writes only; objects that are read are filled first, so that reads find data; clones share clients",
            ),
            target,
        )
    }],
    options: &[
        EngineOption::same(WITH_RBD, "clustername", Text),
        EngineOption::differs(
            WITH_RBD,
            "clientname",
            Text,
            "with or without client., and admin when it is absent; users of other types are not supported",
        ),
        EngineOption::differs(
            WITH_RBD,
            "conf",
            Text,
            "$CEPH_CONF, if set, goes before /etc/ceph/ceph.conf when it is absent; ioengine=rbd has it, too",
        ),
        EngineOption::differs(
            WITH_RBD,
            "busy_poll",
            Bool,
            "changes nothing: completions come through the worker's event loop",
        ),
        EngineOption::differs(
            RADOS,
            "touch_objects",
            Bool,
            "changes nothing: missing objects are filled if they are read, else created by their first write",
        ),
        EngineOption::same(WITH_DFS, "pool", Text),
        EngineOption::ours(
            RADOS,
            "rados_clients",
            Integer(1, 256),
            "instances of librados of each host, which operations use in turn; 1 unless given",
        ),
    ],
};

fn target(job: &dyn EngineJob) -> EngineTarget {
    let fault = |option: &'static str, text: &str, correction: &str| {
        job.fault(option, text.to_owned(), correction.to_owned());
    };
    if job.operations().trims {
        fault("rw", "objects are not trimmed here", "use rw=read, write or rw, or their random forms");
    }
    let Some(pool) = job.text("pool") else {
        fault("pool", "no pool is named", "write pool=NAME; `ceph osd pool ls` lists the pools");
        return EngineTarget::default();
    };
    let url = format!("rados://{pool}");
    if let Err(wrong) = TargetUrl::parse(kinds(), &url) {
        return refused(job, "pool", wrong);
    }
    let mut options = BTreeMap::new();
    let mut set = |name: &str, value: Option<String>| {
        options.extend(value.map(|value| (name.to_owned(), value)));
    };
    access(job, &mut set);
    set("clients", job.number("rados_clients").map(|count| count.to_string()));
    EngineTarget { options, ..EngineTarget::of_url(&url) }
}

/// Passes on how the cluster is reached, and as whom.
pub(super) fn access(job: &dyn EngineJob, set: &mut dyn FnMut(&str, Option<String>)) {
    let client = job.text("clientname").map(|name| name.strip_prefix(CLIENT).unwrap_or(name));
    set("id", client.map(str::to_owned));
    set("cluster", job.text("clustername").map(str::to_owned));
    set("conf", job.text("conf").map(str::to_owned));
}
