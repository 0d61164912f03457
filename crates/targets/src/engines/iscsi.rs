//! `ioengine=libiscsi`: the URL of a logical unit is the job's file name.

use std::collections::BTreeMap;

use experiment::{TargetUrl, UrlForm};

use super::ValueKind::{Integer, Text};
use super::{EngineJob, EngineOption, EngineTarget, JobEngine, JobEngines, OptionSupport, refused};
use crate::kinds;

const LIBISCSI: &[&str] = &["libiscsi"];
const HOW: &str =
    "write filename=iscsi\\://PORTAL\\:3260/TARGET/LUN, with a backslash before each colon of a name";

/// The engine for logical units.
pub const ENGINES: JobEngines = JobEngines {
    engines: &[JobEngine {
        queues: true,
        ..JobEngine::new(
            "libiscsi",
            "iscsi",
            OptionSupport::Differs(
                "our own initiator: several sessions; the secret for CHAP is read from LIBISCSI_CHAP_PASSWORD, not from the URL",
            ),
            target,
        )
    }],
    options: &[
        EngineOption::same(LIBISCSI, "initiator", Text),
        EngineOption::ours(
            LIBISCSI,
            "iscsi_sessions",
            Integer(1, 4096),
            "sessions of each clone with the target; 1 unless given",
        ),
    ],
};

fn target(job: &dyn EngineJob) -> EngineTarget {
    let [url] = job.file_names() else {
        let text = match job.file_names() {
            [] => "no logical unit is named",
            _ => "a job has one logical unit here",
        };
        job.fault("filename", text.to_owned(), format!("{HOW}; write a job for each unit"));
        return EngineTarget::default();
    };
    let parsed = match TargetUrl::parse(kinds(), url) {
        Ok(parsed) if parsed.kind().form == UrlForm::LogicalUnit => parsed,
        Ok(_) => {
            job.fault("filename", "ioengine=libiscsi needs an iscsi: URL".to_owned(), HOW.to_owned());
            return EngineTarget::default();
        }
        Err(fault) => return refused(job, "filename", fault),
    };
    let mut options = BTreeMap::new();
    options.extend(job.text("initiator").map(|name| ("initiator".to_owned(), name.to_owned())));
    options.extend(job.number("iscsi_sessions").map(|count| ("sessions".to_owned(), count.to_string())));
    let unit = parsed.path().trim_start_matches('/').to_owned();
    EngineTarget { url: url.clone(), options, file_names: Some(vec![unit]) }
}
