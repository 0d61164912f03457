//! Checks of combinations: parts of a cell that are valid on their own, but not together.

mod own;
mod verification;

use metrics::OpKind::{
    self, Append, BatchDelete, Commit, Create, Delete, Get, Overwrite, Put, Read, ReadFile, Remove,
    TruncateOverwrite, Write, WriteFile, WriteZeroes,
};
use units::Size;

use crate::kind::{NeededValue, TargetKind};
use crate::place::{Log, Place};
use crate::plan::{Access, Cell, Prepare};
use crate::reader::Fields;

/// Checks a complete cell.
pub(crate) fn cell(fields: &Fields<'_>, kind: &TargetKind, cell: &Cell) {
    ops_of_kind(fields, kind, cell);
    if kind.objects && kind.ranges {
        one_kind_of_data(fields, cell);
    }
    blocks(fields, kind, cell);
    direct_files(fields, kind, cell);
    emptied_files(fields, cell);
    commits(fields, kind, cell);
    batches(fields, cell);
    reads(fields, kind, cell);
    sink(fields, kind, cell);
    verification::check(fields, cell);
    own_gates(fields, cell);
}

/// Checks a cell whose workload is a pass.
pub(crate) fn pass(fields: &Fields<'_>, kind: &TargetKind, cell: &Cell) {
    ops_of_kind(fields, kind, cell);
    own_gates(fields, cell);
    sink(fields, kind, cell);
}

/// Checks a cell whose workload is a job.
pub(crate) fn job(fields: &Fields<'_>, kind: &TargetKind, cell: &Cell) {
    ops_of_kind(fields, kind, cell);
    own_gates(fields, cell);
    commits(fields, kind, cell);
    batches(fields, cell);
    sink(fields, kind, cell);
    for size in cell.workload.block_sizes().iter() {
        if size.bytes == 0 {
            fields.fault("job", "a block of no bytes moves nothing", "write block sizes above zero");
        }
    }
    let sizes = cell
        .workload
        .stream()
        .into_iter()
        .flat_map(|job| cell.workload.ops.iter().filter_map(|weighted| job.choice_of(weighted.op)));
    for choice in sizes {
        let (least, most) = (choice.least(), choice.most());
        if least > most || least == 0 {
            let text = format!("block sizes from {} to {} are none", Size(least), Size(most));
            fields.fault("job", text, "write the least first, above zero");
        }
    }
    let ending = cell.workload.stream().map(|job| &job.ending);
    if ending.is_some_and(|ending| ending.time_based && ending.runtime_s <= 0.0) {
        fields.fault("job", "a job that goes by time needs a runtime", "add ending: {runtime_s: 60}");
    }
}

/// Checks how the groups of an experiment's cells relate to each other; `places` are those of the workloads.
pub(crate) fn groups(cells: &[Cell], places: &[Place], log: &Log) {
    if cells.iter().all(|cell| cell.group.is_none()) {
        return;
    }
    let place_of = |at: usize| places.get(at).copied().unwrap_or(Place::START);
    if cells.len() != places.len() {
        log.fault(
            place_of(0),
            "jobs that run at the same time are not crossed or repeated",
            "remove the matrix and repetitions, or the groups",
        );
        return;
    }
    let mut latest = None;
    for (at, cell) in cells.iter().enumerate() {
        let number = cell.group.map(|group| group.number);
        if number.is_some() && number < latest {
            let text = "a group's jobs stand next to each other, and groups in the order of their numbers";
            log.fault(place_of(at), text, "move this workload, or give it another group");
        }
        latest = latest.max(number);
        let waits_for = cell.group.and_then(|group| group.after_cell);
        if waits_for.is_some_and(|other| other as usize >= at) {
            let text = "a job waits for one that stands before it";
            log.fault(place_of(at), text, "write after_cell with the number of an earlier workload, from 0");
        }
    }
}

fn has(cell: &Cell, kinds: &[OpKind]) -> bool {
    cell.workload.ops.iter().any(|weighted| kinds.contains(&weighted.op))
}

/// Rejects operations that the kind of target does not support.
fn ops_of_kind(fields: &Fields<'_>, kind: &TargetKind, cell: &Cell) {
    for weighted in &cell.workload.ops {
        let op = weighted.op;
        if kind.ops.contains(&op) {
            option_of_op(fields, kind, cell, op);
            continue;
        }
        let instead = match (op, kind.objects) {
            (Write, true) => "use put, which stores a whole object",
            (Remove, true) => "use delete",
            (Create, true) => "use put",
            (Put, false) => "use write",
            (Get, false) => "use read",
            (Delete, false) => "use remove",
            _ => "",
        };
        let all: Vec<_> = kind.ops.iter().map(|op| op.name()).collect();
        let hint = match instead {
            "" => format!("there are {}", crate::reader::one_of(&all).replace(" or ", " and ")),
            instead if !kind.ops.iter().any(|op| instead.contains(op.name())) => {
                format!("there are {}", crate::reader::one_of(&all).replace(" or ", " and "))
            }
            instead => instead.to_owned(),
        };
        fields.fault("ops", format!("{} targets have no {op:?}", kind.scheme, op = op.name()), hint);
    }
}

/// Rejects an operation without the option that it needs.
fn option_of_op(fields: &Fields<'_>, kind: &TargetKind, cell: &Cell, op: OpKind) {
    for need in kind.op_needs.iter().filter(|need| need.op == op) {
        let (option, given) = (need.option, cell.target.option(need.option));
        match need.value {
            NeededValue::Any { such_as } if given.is_none_or(str::is_empty) => fields.fault(
                "ops",
                format!("{op} needs the option {option} of the target"),
                format!("write {option}: {such_as} at the target, or take {op} out"),
            ),
            NeededValue::This { value, otherwise }
                if given.or_else(|| kind.option(option).map(|help| help.default)) != Some(value) =>
            {
                fields.fault(
                    "ops",
                    format!("{otherwise} has no {:?}", op.name()),
                    format!("write {option}: \"{value}\" at the target, or take {op} out"),
                );
            }
            NeededValue::Any { .. } | NeededValue::This { .. } => {}
        }
    }
}

/// A data set consists of files or objects, each with its own operations.
fn one_kind_of_data(fields: &Fields<'_>, cell: &Cell) {
    let first =
        |is: fn(OpKind) -> bool| cell.workload.ops.iter().map(|weighted| weighted.op).find(|op| is(*op));
    if let (Some(object), Some(file)) = (first(OpKind::is_for_objects), first(OpKind::is_for_files)) {
        fields.fault(
            "ops",
            format!("{object} is for objects and {file} for files: a workload has one of them"),
            "write two workloads",
        );
    }
}

/// Checks block sizes against files, strides and direct I/O.
fn blocks(fields: &Fields<'_>, kind: &TargetKind, cell: &Cell) {
    let workload = &cell.workload;
    if !cell.workload.does(OpKind::is_of_ranges) {
        if fields.own("block_size") {
            let hint = if fields.crossed("block_size") {
                "give this workload a matrix of its own, without block_size (matrix: {} crosses nothing)"
            } else if kind.objects {
                "remove it: object_size is the size of put and get"
            } else {
                "remove it"
            };
            fields.fault("block_size", format!("no operation of {} has a block size", fields.what), hint);
        }
        if matches!(workload.access(), Access::Strided { .. }) {
            fields.fault(
                "access",
                "strides go through blocks, and nothing is read or written",
                "write access: random",
            );
        }
        return;
    }
    for size in workload.block_sizes().iter() {
        let max_bytes = workload.max_file_bytes();
        if max_bytes > 0 && size.bytes > max_bytes {
            let (block, file) = (Size(size.bytes), Size(max_bytes));
            let what = if kind.ranges { "file" } else { "object" };
            fields.fault(
                if fields.has("block_size") { "block_size" } else { "file_size" },
                format!("a block of {block} is larger than the {what} of {file}"),
                format!("use blocks of at most {file}, or larger {what}s"),
            );
        }
        if let Access::Strided { stride_bytes } = workload.access()
            && !stride_bytes.is_multiple_of(size.bytes)
        {
            fields.fault(
                "access",
                format!(
                    "a stride of {} is no multiple of the block of {}",
                    Size(stride_bytes),
                    Size(size.bytes)
                ),
                format!("write a multiple of {}", Size(size.bytes)),
            );
        }
    }
    if kind.page_cache && cell.target.flag(kind, "direct") {
        for size in workload.block_sizes().iter() {
            if !size.bytes.is_multiple_of(512) {
                fields.fault(
                    "block_size",
                    format!("direct I/O moves multiples of 512 bytes, not {}", Size(size.bytes)),
                    match decimal(size.bytes) {
                        Some(meant) => {
                            let fios = Size(size.bytes).to_string().to_lowercase();
                            format!("use a multiple of 512, such as {meant} (fio's {fios}), or direct: false")
                        }
                        None => "use a multiple of 512, or direct: false".to_owned(),
                    },
                );
            }
        }
    }
}

/// Checks the size of files against direct I/O.
fn direct_files(fields: &Fields<'_>, kind: &TargetKind, cell: &Cell) {
    let bytes = cell.workload.file_bytes();
    let moves = cell.workload.does(|op| op.is_of_ranges() || op.is_whole());
    if !(moves && kind.page_cache && cell.target.flag(kind, "direct")) {
        return;
    }
    if let Some(sizes) = cell.workload.sizes() {
        if !sizes.are_multiples_of(512) {
            fields.fault(
                "file_size",
                "direct I/O moves multiples of 512 bytes, and these sizes are any number of bytes",
                "use shares of such multiples, as in {shares: {4KiB: 60%, 64KiB: 40%}}, or direct: false",
            );
        }
    } else if !bytes.is_multiple_of(512) {
        fields.fault(
            "file_size",
            format!("direct I/O moves multiples of 512 bytes, not {}", Size(bytes)),
            "use a multiple of 512, or direct: false",
        );
    }
}

/// A file that one lane empties cannot be read by another at that moment.
fn emptied_files(fields: &Fields<'_>, cell: &Cell) {
    // A lane does not read its own files while it empties one.
    let shared = !cell.workload.works_on_own();
    if shared && has(cell, &[TruncateOverwrite]) && has(cell, &[Read, ReadFile]) {
        fields.fault(
            "ops",
            "truncate-overwrite empties files of the data set while others read them, and they would find too little",
            "use overwrite, or read in a workload of its own",
        );
    }
}

/// The likely intended size behind a power of 1000 that fits no sector: other programs call 4096 bytes 4kb.
pub(crate) fn decimal(bytes: u64) -> Option<Size> {
    let units = [(1_000_000_000, 1 << 30), (1_000_000, 1 << 20), (1000, 1 << 10)];
    let (decimal, binary) = units.into_iter().find(|(decimal, _)| bytes.is_multiple_of(*decimal))?;
    (bytes > 0 && !bytes.is_multiple_of(512)).then(|| Size(bytes / decimal * binary))
}

/// Commits need writes, and a target that supports them.
fn commits(fields: &Fields<'_>, kind: &TargetKind, cell: &Cell) {
    if cell.workload.commit_every() == 0 || !fields.own("fsync_every") {
        return;
    }
    if !kind.ops.contains(&Commit) {
        fields.fault(
            "fsync_every",
            format!("{} targets have no commit", kind.scheme),
            "remove fsync_every: what is put is durable when it is answered",
        );
    } else if !has(cell, &[Write, WriteZeroes, Append, WriteFile, Overwrite, TruncateOverwrite]) {
        fields.fault(
            "fsync_every",
            "nothing is written, so there is nothing to commit",
            "remove fsync_every",
        );
    }
}

/// A batch size needs batch deletes.
fn batches(fields: &Fields<'_>, cell: &Cell) {
    if fields.own("batch_size") && !has(cell, &[BatchDelete]) {
        fields.fault(
            "batch_size",
            "nothing is deleted in batches",
            "add batch-delete to ops, or remove batch_size",
        );
    }
}

/// Data that is read must exist.
fn reads(fields: &Fields<'_>, kind: &TargetKind, cell: &Cell) {
    if cell.workload.works_on_own() {
        return own::files(fields, kind, cell);
    }
    let verified = cell.workload.verifies() || cell.stages.verify;
    if cell.stages.prepare == Prepare::None && !kind.imaginary {
        let op = cell.workload.ops.iter().map(|weighted| weighted.op).find(|op| op.needs_data());
        if let Some(op) = op {
            stage_fault(
                fields,
                "prepare",
                format!("without preparation {} finds nothing to {op}", fields.what),
                "write prepare: fill, or keep for data that exists",
            );
        } else if verified {
            stage_fault(
                fields,
                "prepare",
                format!("{} verifies, and without preparation much was never written", fields.what),
                "write prepare: fill, or verify: false",
            );
        }
    }
    let created = kind.creates_device(|option| cell.target.option(option).is_some());
    if cell.stages.prepare == Prepare::Keep && created {
        stage_fault(
            fields,
            "prepare",
            format!("target {:?} has no existing data: it is created for the run", cell.target.name),
            &format!(
                "write prepare: fill, or a device that exists instead of {}",
                kind.created_by.unwrap_or("")
            ),
        );
    }
    let own_directory =
        kind.own_place && cell.target.option("directory").is_none() && cell.workload.user_files().is_none();
    if cell.stages.prepare == Prepare::Keep && own_directory {
        stage_fault(
            fields,
            "prepare",
            format!(
                "target {:?} has no existing data: its directory is created for the run",
                cell.target.name
            ),
            "name a directory that stays, targets: {name: {url: …, directory: bench}}, or write prepare: fill",
        );
    }
}

/// Data can be discarded in the kernel only if it comes through a socket and nobody looks at it.
fn sink(fields: &Fields<'_>, kind: &TargetKind, cell: &Cell) {
    if cell.workload.sink != "discard" {
        return;
    }
    if fields.own("sink") && !kind.sink_discard {
        fields.fault(
            "sink",
            format!("data of {} targets comes through no socket that could drop it", kind.scheme),
            "remove sink: discard",
        );
    }
    if cell.workload.verifies() {
        fields.fault(
            "sink",
            "what is dropped in the kernel cannot be verified",
            "remove sink: discard, or verify: true",
        );
    }
}

/// Reports a fault at a stage's key if that is given, otherwise at the workload.
fn stage_fault(fields: &Fields<'_>, key: &str, text: String, hint: &str) {
    let stages = fields.below("stages", "stages", None);
    match stages.get(key) {
        Some(node) => fields.reader.fault(&node, text, hint),
        None => fields.reader.log.fault(fields.place, text, hint),
    }
}

/// A workload's own gates must refer to operations that it has.
fn own_gates(fields: &Fields<'_>, cell: &Cell) {
    for gate in &cell.gates {
        if let Some(op) = gate.op
            && !gate_op_occurs(cell, op)
        {
            let all: Vec<_> = cell.workload.ops.iter().map(|weighted| weighted.op.name()).collect();
            fields.fault(
                "gates",
                format!("{:?} looks at {op}, which {} never does", gate.text, fields.what),
                format!("use {}, or total", crate::reader::one_of(&all)),
            );
        }
    }
}

/// Whether a gate on an operation applies to a cell.
pub(crate) fn gate_op_occurs(cell: &Cell, op: OpKind) -> bool {
    has(cell, &[op]) || (op == Commit && cell.workload.commit_every() > 0)
}
