//! The reference tables of docs/experiment-reference.md, generated from the tables that the reader uses.

use metrics::OpKind;

use super::*;
use crate::kind::{NeededValue, OpNeed, TargetKind};
use crate::option::OptionKind;

fn form(form: Form) -> String {
    match form {
        Form::Text => "text".into(),
        Form::Flag => "true, false".into(),
        Form::Count(least) => format!("number from {least}"),
        Form::Size => "size".into(),
        Form::Span => "duration".into(),
        Form::SpanOrNone => "duration, none".into(),
        Form::Share => "share".into(),
        Form::Rate => "rate".into(),
        Form::Choice(words) => words.join(", "),
        Form::Named(name) => named(name),
    }
}

/// The name of a structured form: a link to its description, or plain text.
fn named(name: &str) -> String {
    let here = |section: &str| format!("[map](#{section})");
    let guide = |what: &str, section: &str| format!("[{what}](experiments.md#{section})");
    match name {
        "fleet" | "observe" | "scale" | "placement" | "think" | "find" | "sweep" | "matrix" | "stages"
        | "errors" => here(name),
        "server_scale" => here("scale-server-"),
        "sizes" => "list of numbers or words".to_owned(),
        "slurm" | "kubernetes" | "command" => here(&format!("fleet-{name}-")),
        "claim" => here("fleet-kubernetes-claim-"),
        "accounting_gluster" | "accounting_ceph" | "accounting_command" | "provision_gluster"
        | "provision_tgt" | "provision_ceph" | "provision_radosgw" => {
            here(&format!("{}-", name.replace('_', "-")))
        }
        "via" => format!("host, or {}", here("accounting-via-")),
        "file_size" => format!("size, or {}", here("file_size-")),
        "lognormal" => here("file_size-lognormal-"),
        "size_shares" => "map of sizes to shares".to_owned(),
        "files" => format!("number, or {}", here("files")),
        "file_names" => "list of names, or map".to_owned(),
        "measure" => format!("duration, or {}", here("stages-measure-")),
        "defaults" | "workloads" => here("workloads"),
        "targets" | "parameters" => guide("map", name),
        "axes" => guide("map", "a-matrix"),
        "job" | "group" => guide("map", "jobs"),
        "pass" => guide("map", "passes"),
        "gates" => guide("list", "gates"),
        "steady" => guide("rule", "steady-state"),
        "ops" | "access" | "block_size" | "rate" => guide("text or map", "workloads"),
        "numbers" | "counts" => "list of numbers".to_owned(),
        "rates" => "list of rates".to_owned(),
        "hosts" | "arguments" => "text, or list of texts".to_owned(),
        "texts" | "variables" => "map of texts".to_owned(),
        "agents" => "number, all".to_owned(),
        other => other.to_owned(),
    }
}

fn table(title: &str, about: &str, keys: &[Key]) -> String {
    let mut out = format!("### {title}\n\n{about}\n\n| key | value | default | what |\n|---|---|---|---|\n");
    for key in keys {
        let default = match key.default {
            "" if LAUNCHERS.contains(&key.name) && [FLEET.len(), OBSERVE.len()].contains(&keys.len()) => {
                "**one of these**"
            }
            "" if [ACCOUNTING, PROVISION, VIA].contains(&keys) => "**one of these**",
            "" => "**required**",
            default => default,
        };
        out.push_str(&format!("| `{}` | {} | {default} | {} |\n", key.name, form(key.form), key.about));
    }
    out.push('\n');
    out
}

fn options(kinds: &[&'static TargetKind]) -> String {
    let mut out = String::from(
        "### Options of targets\n\nBesides `url`, [`accounting`](#accounting) and [`provision`](#provision).\n\n",
    );
    out.push_str("| kind | option | value | default | what |\n|---|---|---|---|---|\n");
    for kind in kinds {
        for help in kind.options {
            let value = match help.kind {
                OptionKind::Flag => "true, false".to_owned(),
                OptionKind::Count { least, .. } => format!("number from {least}"),
                OptionKind::Bytes { .. } => "size".to_owned(),
                OptionKind::Span => "duration".to_owned(),
                OptionKind::Share => "share".to_owned(),
                OptionKind::Choice(words) => words.join(", "),
                OptionKind::Text => "text".to_owned(),
            };
            let (scheme, name) = (kind.scheme, help.name);
            out.push_str(&format!("| {scheme} | `{name}` | {value} | {} | {} |\n", help.default, help.about));
        }
    }
    out.push('\n');
    out
}

fn ops(kinds: &[&'static TargetKind]) -> String {
    let mut out = String::from("### Operations of targets\n\n| kind | URL | operations |\n|---|---|---|\n");
    for kind in kinds {
        let needed = |need: &OpNeed| match need.value {
            NeededValue::Any { .. } => need.option.to_owned(),
            NeededValue::This { value, .. } => format!("{}: \"{value}\"", need.option),
        };
        let name = |op: &OpKind| {
            let needs: Vec<_> = kind.op_needs.iter().filter(|need| need.op == *op).map(needed).collect();
            if needs.is_empty() {
                op.name().to_owned()
            } else {
                format!("{op} (with {})", needs.join(" and "))
            }
        };
        let ops: Vec<_> = kind.ops.iter().map(name).collect();
        out.push_str(&format!("| {} | `{}` | {} |\n", kind.scheme, kind.example, ops.join(", ")));
    }
    out.push('\n');
    out
}

/// The reference of experiment files with these kinds of targets, in Markdown.
pub fn reference(kinds: &[&'static TargetKind]) -> String {
    [
        table("The file", "Keys at the top.", FILE),
        table("`fleet`", "[fleet.md](fleet.md) explains them.", FLEET),
        table("`fleet: {slurm: …}`", "A number alone is short for `nodes`.", SLURM),
        table("`fleet: {kubernetes: …}`", "An Indexed Job, created and removed by `kubectl`.", KUBERNETES),
        table("`fleet: {kubernetes: {claim: …}}`", "An existing persistent volume claim.", CLAIM),
        table(
            "`fleet: {command: …}`",
            "A list of arguments, or a text split at blanks; `{host}` and `{index}` are substituted.",
            COMMAND,
        ),
        table("`observe`", "[observe.md](observe.md) explains them.", OBSERVE),
        table("`scale`", "A list of numbers alone, or `doubling`, is short for `agents`.", SCALE),
        table(
            "`scale: {server: …}`",
            "Commands are lists of arguments, or texts split at blanks, without a shell; `{value}` is substituted. \
             [experiments.md](experiments.md#the-size-of-the-server) explains them.",
            SERVER_SCALE,
        ),
        ops(kinds),
        options(kinds),
        table(
            "`accounting`",
            "Of a target of any kind. [accounting.md](accounting.md) explains it.",
            ACCOUNTING,
        ),
        table("`accounting: {gluster: …}`", "A Gluster volume's bricks.", ACCOUNTING_GLUSTER),
        table("`accounting: {ceph: …}`", "Ceph's metadata servers.", ACCOUNTING_CEPH),
        table("`accounting: {command: …}`", "Any command that prints counters.", ACCOUNTING_COMMAND),
        table("`accounting: {…: {via: …}}`", "Of `provision` too. A host's name alone is short for `host`.", VIA),
        table(
            "`provision`",
            "Of a target whose URL has `{provisioned}` in it. [provision.md](provision.md) explains it.",
            PROVISION,
        ),
        table("`provision: {gluster: …}`", "A Gluster volume.", PROVISION_GLUSTER),
        table("`provision: {tgt: …}`", "An iSCSI target of tgt with one logical unit.", PROVISION_TGT),
        table(
            "`provision: {ceph: …}`",
            "A pool of a Ceph cluster, and a user who may use it and nothing else.",
            PROVISION_CEPH,
        ),
        table(
            "`provision: {radosgw: …}`",
            "A user of Ceph's object gateway, and a bucket of this user's.",
            PROVISION_RADOSGW,
        ),
        table("Workloads", "Keys of each workload, and of `defaults`.", WORKLOAD),
        table(
            "`files`",
            "A number alone is short for `count`. [experiments.md](experiments.md#files-with-names) explains names.",
            FILES,
        ),
        table(
            "`file_size: {…}`",
            "One of the distributions, and perhaps `max`; the same for `object_size`. \
             [experiments.md](experiments.md#files-of-different-sizes) explains them.",
            SIZES,
        ),
        table("`file_size: {lognormal: {…}}`", "Many small files and a few large ones.", LOGNORMAL),
        table("`placement`", "Cores alone, `placement: 0-7`, are short for `cores`.", PLACEMENT),
        table(
            "`think`",
            "A duration alone, `think: 1ms`, is short for `pause`. In an open loop the schedule continues: operations due in a pause start late.",
            THINK,
        ),
        table("`find`", "A goal alone, `find: p99 <= 2 ms`, is short for `find: {goal: p99 <= 2 ms}`.", FIND),
        table("`sweep`", "A list of rates alone is short for `rates`; `auto` uses all defaults.", SWEEP),
        table("`rate: {ramp: …}`", "The rate changes linearly, then holds.", RAMP),
        table("`rate: {steps: [{…}, …]}`", "One rate after another; the last one holds.", STEP),
        table(
            "`rate: {times: [{…}, …]}`",
            "Each rate from its time on, counted from the start of the warm-up.",
            TIME,
        ),
        table("`access: {hotspot: …}`", "A share of the operations goes to a share of the space.", HOTSPOT),
        table("`matrix`", "In addition to the keys to cross.", MATRIX),
        table(
            "`stages`",
            "At the top for all workloads, or in a workload, which overrides it key by key.",
            STAGES,
        ),
        table("`stages: {measure: …}`", "A duration alone is short for `at_least`.", MEASURE),
        table("`steady: {default: …}`", "manometer's own rule.", STEADY_DEFAULT),
        table(
            "`steady: {sustained: …}`",
            "manometer's own rule, with a claim about the time after the measurement \
             ([steady-state.md](steady-state.md#how-long-a-claim-holds-sustained)).",
            STEADY_SUSTAINED,
        ),
        table("`steady: {snia: …}`", "The SNIA Performance Test Specification's.", STEADY_SNIA),
        table("`steady: {storperf: …}`", "StorPerf's, for comparison with its results.", STEADY_STORPERF),
        table("`steady: {fio: …}`", "fio's `steadystate`.", STEADY_FIO),
        table(
            "`errors`",
            "Or one of the words `continue` and `stop` (the run ends at the first error).",
            ERRORS,
        ),
    ]
    .concat()
}
