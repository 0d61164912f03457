//! `ioengine=rbd`: a job uses an image of a pool.

use std::collections::BTreeMap;

use experiment::TargetUrl;

use super::ValueKind::{Bool, Text};
use super::rados::access;
use super::{EngineJob, EngineOption, EngineTarget, JobEngine, JobEngines, OptionSupport, refused};
use crate::kinds;

const RBD: &[&str] = &["rbd"];

/// The engine for images.
pub const ENGINES: JobEngines = JobEngines {
    engines: &[JobEngine {
        queues: true,
        ..JobEngine::new(
            "rbd",
            "rbd",
            OptionSupport::Differs(
                "clones share one open image; librbd caches nothing unless rbd_cache=1; an image that holds data is written \
                 only if --destroy names it",
            ),
            target,
        )
    }],
    options: &[
        EngineOption::same(RBD, "rbdname", Text),
        EngineOption::ours(
            RBD,
            "rbd_cache",
            Bool,
            "data are cached in memory by librbd, as far as the cluster's configuration has it do so",
        ),
    ],
};

fn target(job: &dyn EngineJob) -> EngineTarget {
    let missing = |option: &'static str, text: &str, correction: &str| {
        job.fault(option, text.to_owned(), correction.to_owned());
        EngineTarget::default()
    };
    let Some(pool) = job.text("pool") else {
        return missing("pool", "no pool is named", "write pool=NAME; `ceph osd pool ls` lists the pools");
    };
    let Some(image) = job.text("rbdname").filter(|image| !image.is_empty()) else {
        return missing(
            "rbdname",
            "no image is named",
            "write rbdname=NAME; `rbd ls POOL` lists the images of a pool",
        );
    };
    let url = format!("rbd://{pool}/{image}");
    if let Err(wrong) = TargetUrl::parse(kinds(), &url) {
        return refused(job, "rbdname", wrong);
    }
    let mut options = BTreeMap::new();
    let mut set = |name: &str, value: Option<String>| {
        options.extend(value.map(|value| (name.to_owned(), value)));
    };
    access(job, &mut set);
    set("cache", job.flag("rbd_cache").then(|| "true".to_owned()));
    EngineTarget { options, file_names: Some(vec![image.to_owned()]), ..EngineTarget::of_url(&url) }
}
