//! After the load: everything is read once and compared with what was acknowledged.

use engine::{Workload, Written};
use experiment::{CacheControl, Cell};
use metrics::ErrorKind;
use store::StageRecord;

use super::context::{Context, Fault, Order};
use super::ground::{Content, Ready};
use super::load;
use crate::target::Opened;

/// What verification found.
#[derive(Debug, Default)]
pub struct Checked {
    /// Wrong data, each kind in a line.
    pub wrong: Vec<String>,
    /// Why nothing, or not all, was verified.
    pub not_verified: Option<String>,
    /// Examples.
    pub samples: Vec<(ErrorKind, String)>,
}

/// Reads everything once and compares it with what was acknowledged.
///
/// # Errors
/// It could not begin.
pub fn verify(
    context: &Context,
    cell: &Cell,
    opened: &Opened,
    ready: &Ready,
    written: &Written,
    stages: &mut Vec<StageRecord>,
) -> Result<Checked, Fault> {
    // Without writes of its own the load left what was there.
    let written = match (&ready.content, load::writes(cell)) {
        (Content::Uniform(generation), false) => Written::uniform(*generation),
        _ => written.clone(),
    };
    if !written.is_known() {
        let why = "what was written could not be followed: nothing was verified".to_owned();
        return Ok(Checked { not_verified: Some(why), ..Checked::default() });
    }
    // What this client's memory holds would say nothing of the storage.
    let caches = match opened.uses_page_cache() {
        true => format!("; before: {}", opened.cache(CacheControl::Invalidate)),
        false => String::new(),
    };
    let data_set = ready.data_set.clone();
    let block_bytes = load::verify_block(cell, data_set.shape().item_bytes());
    let bytes_expected = Some(data_set.bytes());
    let workload = Workload::Check { data_set, block_bytes, written };
    let mut plan = load::mass(cell, workload, opened.reactor(context.reactor), context.seed);
    // Everything is looked at, however much of it is wrong.
    plan.error_limit = None;
    let order =
        Order { cell, opened, name: super::VERIFY, trial: 0, plan: &plan, bytes_expected, together: None };
    let result = match context.stage(&order, &mut |_, _| false) {
        Ok(result) => result,
        Err(Fault::Interrupted) => {
            let why = "interrupted before what was written was verified".to_owned();
            return Ok(Checked { not_verified: Some(why), ..Checked::default() });
        }
        Err(fault) => return Err(fault),
    };
    let counts = result.checked;
    let mut record = StageRecord {
        name: super::VERIFY.into(),
        seconds: result.window_ns as f64 / 1e9,
        ok: result.total.ok(),
        failed: result.total.failed(),
        bytes: result.total.bytes(),
        note: Some(format!(
            "{} blocks right, {} wrong, {} unread, {} uncertain after failed writes{caches}",
            counts.right, counts.wrong, counts.unread, counts.uncertain
        )),
    };
    let mut checked = Checked { samples: result.error_samples.clone(), ..Checked::default() };
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
            "verification: {} blocks do not hold what was written: {}",
            counts.wrong,
            first.join("; ")
        ));
    }
    if counts.unread > 0 {
        checked.wrong.push(format!("verification: {} blocks could not be read", counts.unread));
    }
    if result.stopped || !result.exhausted {
        record.note = Some("ended before its end".into());
        checked.not_verified = Some("verification was ended before its end".into());
    }
    stages.push(record);
    Ok(checked)
}
