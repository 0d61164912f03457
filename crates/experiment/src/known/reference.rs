//! The reference tables of docs/experiment-reference.md, from the tables that the reader uses.

use super::*;
use crate::kind::TargetKind;
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
        Form::Named(_) => "see its section".into(),
    }
}

fn table(title: &str, about: &str, keys: &[Key]) -> String {
    let mut out = format!("### {title}\n\n{about}\n\n| key | value | default | what |\n|---|---|---|---|\n");
    for key in keys {
        let default = match key.default {
            "" if LAUNCHERS.contains(&key.name) && keys.len() == FLEET.len() => "**one of these**",
            "" => "**required**",
            default => default,
        };
        out.push_str(&format!("| `{}` | {} | {default} | {} |\n", key.name, form(key.form), key.about));
    }
    out.push('\n');
    out
}

fn options(kinds: &[&'static TargetKind]) -> String {
    let mut out = String::from("### Options of targets\n\nBesides `url`.\n\n");
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
        let ops: Vec<_> = kind.ops.iter().map(|op| op.name()).collect();
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
        table("`fleet: {kubernetes: …}`", "An Indexed Job, made and removed by `kubectl`.", KUBERNETES),
        table("`fleet: {kubernetes: {claim: …}}`", "A persistent volume claim that is there already.", CLAIM),
        table(
            "`fleet: {command: …}`",
            "A list of arguments, or a text that is parted at its blanks; `{host}` and `{index}` are put in.",
            COMMAND,
        ),
        table("`scale`", "A list of numbers alone, or `doubling`, is short for `agents`.", SCALE),
        ops(kinds),
        options(kinds),
        table("Workloads", "Keys of each workload, and of `defaults`.", WORKLOAD),
        table("`placement`", "Cores alone, `placement: 0-7`, are short for `cores`.", PLACEMENT),
        table(
            "`think`",
            "A duration alone, `think: 1ms`, is short for `pause`. A rate goes on meanwhile: what was due in a pause starts late.",
            THINK,
        ),
        table("`find`", "A goal alone, `find: p99 <= 2 ms`, is short for `find: {goal: p99 <= 2 ms}`.", FIND),
        table("`sweep`", "A list of rates alone is short for `rates`; `auto` takes all defaults.", SWEEP),
        table("`rate: {ramp: …}`", "The rate changes evenly, then stays.", RAMP),
        table("`rate: {steps: [{…}, …]}`", "One rate after the other; the last stays.", STEP),
        table(
            "`rate: {times: [{…}, …]}`",
            "Each rate from its moment on, counted from the start of the warm-up.",
            TIME,
        ),
        table("`access: {hotspot: …}`", "A share of the operations goes to a share of the space.", HOTSPOT),
        table("`matrix`", "Besides the keys that are crossed.", MATRIX),
        table(
            "`stages`",
            "At the top for all workloads, or in a workload, which then wins key by key.",
            STAGES,
        ),
        table("`stages: {measure: …}`", "A duration alone is short for `at_least`.", MEASURE),
        table("`steady: {default: …}`", "The rule of this program.", STEADY_DEFAULT),
        table(
            "`steady: {sustained: …}`",
            "The rule of this program with a claim about the time after \
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
