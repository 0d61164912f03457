//! Generates the table of options as a document.

use std::fmt::Write;

use super::{Argument, FioOption, OptionGroup, OptionSupport, chapters, every_engine};

/// The text of `docs/fio-options.md`.
pub fn document() -> String {
    let mut text = String::from(HEAD);
    let count = |which: fn(&OptionSupport) -> bool| {
        chapters().flat_map(|(_, options)| options).filter(|option| which(&option.support)).count()
    };
    let _ = writeln!(
        text,
        "Of fio's options {} are as in fio, {} are as in fio with a difference that is stated, and {} are not there. {} \
         are ours.\n",
        count(|status| *status == OptionSupport::Same),
        count(|status| matches!(status, OptionSupport::Differs(_))),
        count(|status| matches!(status, OptionSupport::Absent { .. })),
        count(|status| matches!(status, OptionSupport::Ours(_))),
    );
    engines(&mut text);
    for (heading, options) in chapters() {
        let _ = writeln!(text, "## {heading}\n\n| Option | Here | |\n|---|---|---|");
        for option in options {
            let (word, note) = status(&option.support);
            let note = match option.harmless {
                [] => note,
                values => format!("{note} Accepted where it asks for nothing: {}.", codes(values)),
            };
            let _ = writeln!(text, "| {} | {word} | {} |", names(option), note.replace('|', "\\|"));
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

const HEAD: &str = "\
# fio's options in `manometer fio`

Every option of fio 3.33's HOWTO, and what it is here: **same**, **differs** (the same but for what is stated), or **no**
(refused with its file and line, the reason, and the nearest thing that there is; with `--ignore-unsupported` a warning).
This page is written by the code: `MANOMETER_UPDATE_SCHEMA=1 cargo test -p fio --test fio_language_table`.

The language is fio's: sections, `[global]` (several, each for what follows), `include FILE`, `${NAME}` for environment
variables, `$pagesize`, `$mb_memory` and `$ncpus`, comments with `#` and `;`, several job files one after the other,
jobs on the command line (`--name=a --rw=read --bs=4k`). What differs in the language:

- Arithmetic in parentheses, `(1+2)*3k` as in the HOWTO, is always there; Debian's fio is built without it. `/` between
  whole numbers drops the rest.
- What stands behind a number must be a unit: fio reads `1.5k` as 1 and `10sec` as 10 microseconds, without a word. Here
  `sec`, `msec` and `usec` are units as the HOWTO says, and the rest is refused. `4ki` is what the HOWTO says, 1000 or 1024
  each; fio 3.33 takes it for `4k` unless it is written `4kib`. A fraction of zeros at the end, `70.0`, is no fraction.
- Blanks around `=` are no part of the value. An environment variable that is not set is the empty text, as in fio.
- `--section=NAME` chooses in every job file, and a name that no file has is an error.
- An option of an engine that the job does not use is refused, as in fio; on the command line it may stand before
  `--ioengine`.
- Options are not abbreviated on the command line.
- Limits: 1 MiB a file, 64 KiB a line, 16 files included in each other, 4096 jobs, 200000 settings in all of them
  together.

";

fn engines(text: &mut String) {
    text.push_str("## What `ioengine` names\n\n| Engine | Here | |\n|---|---|---|\n");
    for engine in every_engine() {
        let (word, note) = status(&engine.support);
        let _ = writeln!(text, "| `{}` | {word} | {note} |", engine.name);
    }
    text.push('\n');
}

fn status(status: &OptionSupport) -> (&'static str, String) {
    match status {
        OptionSupport::Same => ("same", String::new()),
        OptionSupport::Differs(how) => ("differs", sentence(how)),
        OptionSupport::Absent { why, instead } => {
            ("no", format!("{} Instead: {}", sentence(why), sentence_from(instead)))
        }
        OptionSupport::Ours(what) => ("ours", sentence(what)),
    }
}

/// Capitalises a text and ends it with a full stop; option and program names keep their case.
fn sentence(text: &str) -> String {
    let word = text.split(' ').next().unwrap_or("").trim_end_matches([',', ':', ';']);
    if ["fio", "malloc", "tcp"].contains(&word) || !word.chars().all(char::is_alphabetic) {
        return sentence_from(text);
    }
    let mut chars = text.chars();
    let first = chars.next().map(|c| c.to_uppercase().collect::<String>()).unwrap_or_default();
    sentence_from(&(first + chars.as_str()))
}

fn sentence_from(text: &str) -> String {
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}

fn names(option: &FioOption) -> String {
    let dashes = if matches!(option.group, OptionGroup::Program(_)) { "--" } else { "" };
    let mut all = vec![option.name];
    all.extend(option.aliases);
    let mut text = all.iter().map(|name| format!("`{dashes}{name}`")).collect::<Vec<_>>().join(", ");
    match option.group {
        OptionGroup::Engine(engines) => {
            let _ = write!(text, " ({})", engines.join(", "));
        }
        OptionGroup::Program(Argument::Required) => text.push_str(" VALUE"),
        OptionGroup::Program(Argument::Optional) => text.push_str(" [VALUE]"),
        _ => {}
    }
    text
}

fn codes(values: &[&str]) -> String {
    values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ")
}
