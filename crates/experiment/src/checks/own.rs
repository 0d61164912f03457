//! Loads that work on the files or objects that they create.

use metrics::OpKind::{Copy, Create, Link, Truncate};

use super::stage_fault;
use crate::kind::TargetKind;
use crate::plan::{Cell, Prepare};
use crate::reader::Fields;

/// A load that works on what it creates has no data set, and knows what its files hold if it reads them.
pub(super) fn files(fields: &Fields<'_>, kind: &TargetKind, cell: &Cell) {
    let objects = kind.holds_objects(&cell.workload.ops);
    for key in ["files", "objects"] {
        if fields.own(key) {
            let text = format!("{} works on files that it creates, and has no data set", fields.what);
            fields.fault(key, text, format!("remove {key}, or works_on: own"));
        }
    }
    if cell.stages.verify {
        let text = format!("the verify stage reads a data set, and {} has none", fields.what);
        stage_fault(fields, "verify", text, "remove it: verify: true of the workload compares what is read");
    }
    if cell.stages.prepare != Prepare::None {
        let text = format!("{} creates what it works on: there is nothing to prepare", fields.what);
        stage_fault(fields, "prepare", text, "write prepare: none, or remove works_on: own");
    }
    if kind.device {
        fields.fault("works_on", "a block device holds no files", "remove works_on");
    }
    let kinds = || cell.workload.ops.iter().map(|weighted| weighted.op);
    if let Some(op) = kinds().find(|op| op.is_of_ranges() && op.needs_data()) {
        let next =
            if objects { "write get" } else { "write read-file, append, overwrite or truncate-overwrite" };
        let text = format!("{op} works on blocks of a data set, not on files that the load creates");
        fields.fault("ops", text, next);
    }
    if let Some((op, set_by)) = kinds().find_map(|op| Some((op, op.traits().set_by?))) {
        let text = format!("{op} finds what {set_by} set in the preparation, and such a load has none");
        fields.fault("ops", text, format!("take {op} out, or remove works_on: own"));
    }
    let known = kinds().find(|op| op.is_whole() && op.needs_data());
    let unknown = kinds().find(|op| matches!(op, Create | Truncate | Link | Copy));
    if let (Some(known), Some(unknown)) = (known, unknown) {
        let text = format!("{known} needs files whose content is known, and {unknown} makes others");
        let next =
            if unknown == Create { "write write-file instead of create" } else { "leave one of them out" };
        fields.fault("ops", text, next);
    }
}
