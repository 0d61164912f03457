//! After the load: reads everything once and compares it with what was acknowledged.

use engine::Left;
use experiment::CacheControl;
use fleet::StageTask;
use host::load;
use metrics::ErrorKind;
use store::StageRecord;

use super::cell_run::CellRun;
use super::context::{CellFailure, CellStage};
use super::data_sets::StoredContent;
use crate::stages::{self, VERIFY};

/// What verification found.
#[derive(Debug, Default)]
pub struct VerifyOutcome {
    /// Wrong data, one line per kind.
    pub wrong: Vec<String>,
    /// Why nothing, or not everything, was verified.
    pub not_verified: Option<String>,
    /// Examples.
    pub samples: Vec<(ErrorKind, String)>,
}

/// Reads everything once and compares it with what was acknowledged.
///
/// # Errors
/// It could not start.
pub fn verify(
    run: &CellRun<'_>,
    left: Left,
    stages: &mut Vec<StageRecord>,
) -> Result<VerifyOutcome, CellFailure> {
    let CellRun { context, cell, site, ready, .. } = *run;
    // A load without writes left the data as it was.
    let content = match (&ready.content, load::writes(cell), left) {
        (StoredContent::Uniform(generation), false, _) => Some(*generation),
        (_, true, Left::Uniform(generation)) => Some(generation),
        _ => None,
    };
    if content.is_none() && left == Left::Unknown {
        let why = "written data could not be tracked: nothing was verified".to_owned();
        return Ok(VerifyOutcome { not_verified: Some(why), ..VerifyOutcome::default() });
    }
    // Data from a client's memory would say nothing about the storage.
    let caches = match site.uses_page_cache() {
        true => format!("; before: {}", site.cache(context, CacheControl::Invalidate)?),
        false => String::new(),
    };
    let stage = CellStage {
        bytes_expected: Some(site.bytes()),
        ..CellStage::full_pass(cell, site, VERIFY, StageTask::Verify { content })
    };
    let result = match context.stage(stage, &mut |_, _| false) {
        Ok(result) => result.whole,
        Err(CellFailure::Interrupted) => {
            let why = "interrupted before what was written was verified".to_owned();
            return Ok(VerifyOutcome { not_verified: Some(why), ..VerifyOutcome::default() });
        }
        Err(fault) => return Err(fault),
    };
    let counts = result.checked;
    let mut record = stages::record(VERIFY, &result);
    record.note = Some(format!(
        "{} blocks right, {} wrong, {} unread, {} uncertain after failed writes{caches}",
        counts.right, counts.wrong, counts.unread, counts.uncertain
    ));
    let mut checked = VerifyOutcome { samples: result.error_samples.clone(), ..VerifyOutcome::default() };
    if counts.wrong > 0 {
        let places = result.corrupt.iter().map(|range| {
            format!(
                "object {:016x}, bytes {} to {}: {}",
                range.object,
                range.offset,
                range.offset + range.len,
                range.detail
            )
        });
        let first: Vec<String> = places.take(3).collect();
        checked.wrong.push(format!(
            "verification: {} blocks do not contain what was written: {}",
            counts.wrong,
            first.join("; ")
        ));
    }
    if counts.unread > 0 {
        checked.wrong.push(format!("verification: {} blocks could not be read", counts.unread));
    }
    if result.stopped || !result.exhausted {
        record.note = Some("ended early".into());
        checked.not_verified = Some("verification was cut short".into());
    }
    stages.push(record);
    Ok(checked)
}
