//! `ioengine=gfapi` and `gfapi_async`: each file of a job is a file of a volume.

use std::collections::BTreeMap;

use experiment::TargetUrl;

use super::ValueKind::{Bool, Integer, Text};
use super::{EngineJob, EngineOption, EngineTarget, JobEngine, JobEngines, OptionSupport, refused};
use crate::hosts::in_url;
use crate::kinds;

const BOTH: &[&str] = &["gfapi", "gfapi_async"];
// fio's libhdfs has the option too.
const WITH_HDFS: &[&str] = &["libhdfs", "gfapi", "gfapi_async"];
const HOW: OptionSupport = OptionSupport::Differs(
    "both names are the asynchronous calls; files that are read are filled first; clones share clients",
);

const fn engine(name: &'static str) -> JobEngine {
    JobEngine { queues: true, ..JobEngine::new(name, "gluster", HOW, target) }
}

/// The engines for files of a volume.
pub const ENGINES: JobEngines = JobEngines {
    engines: &[engine("gfapi"), engine("gfapi_async")],
    options: &[
        EngineOption::same(BOTH, "volume", Text),
        EngineOption::differs(
            BOTH,
            "brick",
            Text,
            "a server of the volume, with :PORT where its glusterd has another",
        ),
        EngineOption::differs(
            WITH_HDFS,
            "single-instance",
            Bool,
            "changes nothing: clones share the clients that gfapi_clients says",
        ),
        EngineOption::ours(
            BOTH,
            "gfapi_clients",
            Integer(1, 256),
            "instances of libgfapi of each host, which clones use in turn; 1 unless given",
        ),
    ],
};

fn target(job: &dyn EngineJob) -> EngineTarget {
    let fault = |option: &'static str, text: &str, correction: &str| {
        job.fault(option, text.to_owned(), correction.to_owned());
    };
    let Some(volume) = job.text("volume") else {
        fault("volume", "no volume is named", "write volume=NAME; `gluster volume list` lists the volumes");
        return EngineTarget::default();
    };
    let Some(brick) = job.text("brick") else {
        fault(
            "brick",
            "no server of the volume is named",
            "write brick=HOST, any host of the volume's bricks",
        );
        return EngineTarget::default();
    };
    let host = if brick.matches(':').count() > 1 { in_url(brick) } else { brick.to_owned() };
    let url = format!("gluster://{host}/{volume}");
    if let Err(wrong) = TargetUrl::parse(kinds(), &url) {
        return refused(job, "volume", wrong);
    }
    let mut options = BTreeMap::new();
    let clients = job.number("gfapi_clients").map(|count| count.to_string());
    options.extend(clients.map(|count| ("clients".to_owned(), count)));
    if job.is_direct() {
        options.insert("o_direct".to_owned(), "true".to_owned());
    }
    EngineTarget { options, ..EngineTarget::of_url(&url) }
}
