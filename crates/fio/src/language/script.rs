//! Reads job files and command-line jobs, in order, into one script.

use super::arguments::JobArgument;
use super::faults::{ScriptFault, ScriptFaults, Warning};
use super::include::{Block, Blocks};
use super::lines::{COMMAND_LINE, RawOption};
use super::section::{Origin, Section, Setting};
use super::settings::{Settings, of_engine_in_use};

/// The jobs, in order, each with all settings that apply to it. Clones (`numjobs`) are not expanded yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobScript {
    /// The jobs; at least one.
    pub sections: Vec<Section>,
}

/// An input. As in fio, command-line jobs come first, then the files.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// Job options of the command line.
    Arguments(&'a [JobArgument]),
    /// A job file.
    File {
        /// The name as written by the user; messages use it, and included files are looked up relative to it.
        name: &'a str,
        /// Its content.
        bytes: &'a [u8],
    },
}

/// Reads a file's bytes.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> std::io::Result<Vec<u8>>;

/// Context outside the files.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    /// An environment variable, for `${NAME}`.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// Reads an included file by a path relative to the current directory.
    pub include: ReadFile<'a>,
    /// Page size in bytes (`$pagesize`).
    pub page_bytes: u64,
    /// Memory in MiB (`$mb_memory`).
    pub memory_mib: u64,
    /// Online cores (`$ncpus`).
    pub cpus: u64,
    /// Only these sections (`--section`) and the global ones; empty: all.
    pub sections: &'a [String],
    /// Warn about unknown or unsupported options instead of refusing them.
    pub ignore_unsupported: bool,
}

impl std::fmt::Debug for Reading<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reading").field("sections", &self.sections).finish_non_exhaustive()
    }
}

impl Reading<'_> {
    fn wants(&self, section: &str) -> bool {
        is_global(section) || self.sections.is_empty() || self.sections.iter().any(|wanted| wanted == section)
    }
}

/// As in fio, every section whose name starts with `global` is global.
fn is_global(section: &str) -> bool {
    section.starts_with("global")
}

/// Maximum number of jobs.
const MAX_JOBS: usize = 4096;

/// Maximum settings of all jobs together, including inherited ones.
const MAX_SETTINGS: usize = 200_000;

/// Reads job files and command-line jobs into a script.
///
/// # Errors
/// All faults, with their positions.
pub fn read(inputs: &[Input<'_>], reading: &Reading<'_>) -> Result<(JobScript, Vec<Warning>), ScriptFaults> {
    let wanted = |name: &str| reading.wants(name);
    let mut blocks = Blocks { include: reading.include, wanted: &wanted, faults: Vec::new(), included: 0 };
    let mut reader = Reader {
        settings: Settings { reading, faults: Vec::new(), warnings: Vec::new(), engine_is_refused: false },
        globals: Vec::new(),
        sections: Vec::new(),
        held: 0,
    };
    let mut files = 0;
    for input in inputs {
        let found = match input {
            Input::Arguments(arguments) => of_arguments(arguments, &wanted),
            Input::File { name, bytes } => {
                files += 1;
                blocks.of_file(name, bytes)
            }
        };
        reader.settings.faults.append(&mut blocks.faults);
        let begins_file = matches!(input, Input::File { .. }) && files > 1;
        if begins_file {
            reader.globals.clear();
        }
        if let Err(fault) = reader.take(found, begins_file) {
            reader.settings.faults.push(fault);
            break;
        }
    }
    let Settings { mut faults, warnings, .. } = reader.settings;
    if faults.is_empty() {
        faults.extend(missing(inputs, reading, &reader.sections));
    }
    match ScriptFaults::of(faults) {
        Some(faults) => Err(faults),
        None => Ok((JobScript { sections: reader.sections }, warnings)),
    }
}

struct Reader<'a> {
    settings: Settings<'a>,
    globals: Vec<Setting>,
    sections: Vec<Section>,
    /// Settings of all sections so far.
    held: usize,
}

impl Reader<'_> {
    fn take(&mut self, blocks: Vec<Block>, mut begins_file: bool) -> Result<(), ScriptFault> {
        for block in blocks {
            let global = is_global(&block.name);
            let mut own = self.settings.of(&block.options, &self.globals, global);
            self.held += own.len() + if global { 0 } else { self.globals.len() };
            if self.held > MAX_SETTINGS || self.sections.len() >= MAX_JOBS {
                let text = format!("there are more than {MAX_JOBS} jobs or {MAX_SETTINGS} settings");
                return Err(ScriptFault::new(&block.origin, text, "numjobs=N makes clones of a job"));
            }
            if global {
                if block.name != "global" {
                    self.settings.warnings.push(Warning(ScriptFault::new(
                        &block.origin,
                        format!(
                            "{:?} is a global section, because its name begins with \"global\"",
                            block.name
                        ),
                        "give a job another name",
                    )));
                }
                self.globals.append(&mut own);
                continue;
            }
            let mut all = self.globals.clone();
            all.append(&mut own);
            self.sections.push(Section {
                name: block.name,
                settings: of_engine_in_use(all),
                origin: block.origin,
                begins_file,
            });
            begins_file = false;
        }
        Ok(())
    }
}

/// The command line as sections: options before the first `--name` are global.
fn of_arguments(arguments: &[JobArgument], wanted: &dyn Fn(&str) -> bool) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut skipped = false;
    for argument in arguments {
        let raw = &argument.0;
        if raw.name == "name" {
            let name = raw.value.clone().unwrap_or_default();
            skipped = !wanted(&name);
            if !skipped {
                blocks.push(Block { name, origin: raw.value_origin.clone(), options: Vec::new() });
            }
            continue;
        }
        if skipped {
            continue;
        }
        if blocks.is_empty() {
            let origin = raw.name_origin.clone();
            blocks.push(Block { name: "global".into(), origin, options: Vec::new() });
        }
        if let Some(block) = blocks.last_mut() {
            block.options.push(RawOption::clone(raw));
        }
    }
    blocks
}

/// What was requested but does not exist: a section, or any job at all.
fn missing(inputs: &[Input<'_>], reading: &Reading<'_>, sections: &[Section]) -> Option<ScriptFault> {
    let on_command_line = |text: String, column: usize| Origin {
        file: COMMAND_LINE.into(),
        line: 1,
        column,
        length: text.chars().count().saturating_sub(column - 1).max(1),
        text: text.into(),
    };
    let named = |name: &String| sections.iter().any(|section| section.name == *name);
    if let Some(name) = reading.sections.iter().find(|name| !named(name)) {
        let origin = on_command_line(format!("--section={name}"), "--section=".len() + 1);
        return Some(ScriptFault::new(
            &origin,
            format!("there is no section {name:?}"),
            "name a section of the job files",
        ));
    }
    if !sections.is_empty() {
        return None;
    }
    let origin = match inputs.last() {
        Some(Input::File { name, bytes }) => Origin {
            file: (*name).into(),
            line: 1,
            column: 1,
            length: 1,
            text: String::from_utf8_lossy(bytes).lines().next().unwrap_or("").into(),
        },
        _ => on_command_line(String::new(), 1),
    };
    Some(ScriptFault::new(
        &origin,
        "there is no job",
        "a job begins with [name], or --name=… on the command line",
    ))
}
