//! The sections of a file, with included files inserted in place.

use std::sync::Arc;

use super::faults::ScriptFault;
use super::lines::{Line, RawOption, lines};
use super::script::ReadFile;
use super::section::Origin;

/// Maximum depth of nested includes.
const DEEPEST: usize = 16;

/// Maximum total number of included files.
const MAX_INCLUDED: usize = 1000;

/// A section with its options as written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    /// Its name.
    pub name: String,
    /// Its position.
    pub origin: Origin,
    /// Its options, including those from included files.
    pub options: Vec<RawOption>,
}

/// Reads the sections of files.
pub(super) struct Blocks<'a> {
    /// Reads an included file.
    pub include: ReadFile<'a>,
    /// Whether a section is wanted; the content of others is ignored, as in fio.
    pub wanted: &'a dyn Fn(&str) -> bool,
    /// All faults.
    pub faults: Vec<ScriptFault>,
    /// Number of files included so far.
    pub included: usize,
}

impl Blocks<'_> {
    /// The sections of a job file.
    pub fn of_file(&mut self, name: &str, bytes: &[u8]) -> Vec<Block> {
        let file: Arc<str> = name.into();
        let lines = match lines(&file, bytes) {
            Ok(lines) => lines,
            Err(fault) => {
                self.faults.push(fault);
                return Vec::new();
            }
        };
        let mut blocks: Vec<Block> = Vec::new();
        let mut skipped = false;
        for line in lines {
            match line {
                Line::Wrong(fault) => self.faults.push(fault),
                Line::Head(name, origin) => {
                    skipped = !(self.wanted)(&name);
                    if !skipped {
                        blocks.push(Block { name, origin, options: Vec::new() });
                    }
                }
                _ if skipped => {}
                Line::Option(option) => match blocks.last_mut() {
                    Some(block) => block.options.push(option),
                    None => self.outside(&option.name_origin),
                },
                Line::Include(path, origin) => match blocks.pop() {
                    Some(mut block) => {
                        self.included_file(&mut block, name, &path, &origin, 1);
                        blocks.push(block);
                    }
                    None => self.outside(&origin),
                },
            }
        }
        blocks
    }

    fn outside(&mut self, origin: &Origin) {
        self.faults.push(ScriptFault::new(
            origin,
            "this stands before the first section",
            "put [global] before it, or [name] with the job's name",
        ));
    }

    fn included_file(&mut self, block: &mut Block, from: &str, path: &str, origin: &Origin, depth: usize) {
        self.included += 1;
        let wrong = |text: String, hint: &str| ScriptFault::new(origin, text, hint);
        if path.is_empty() {
            self.faults.push(wrong("no file is named".into(), "write include FILE"));
            return;
        }
        if depth > DEEPEST || self.included > MAX_INCLUDED {
            let text = format!("{path} is included too deeply or too often");
            self.faults.push(wrong(text, "a file must not include itself"));
            return;
        }
        let (name, bytes) = match self.bytes(from, path) {
            Ok(found) => found,
            Err(why) => {
                let hint = "paths are relative to the current directory, or to the including file's";
                self.faults.push(wrong(format!("{path} cannot be included: {why}"), hint));
                return;
            }
        };
        let file: Arc<str> = name.as_str().into();
        match lines(&file, &bytes) {
            Err(fault) => self.faults.push(fault),
            Ok(lines) => {
                for line in lines {
                    match line {
                        Line::Wrong(fault) => self.faults.push(fault),
                        Line::Option(option) => block.options.push(option),
                        Line::Include(path, origin) => {
                            self.included_file(block, &name, &path, &origin, depth + 1);
                        }
                        Line::Head(_, origin) => self.faults.push(ScriptFault::new(
                            &origin,
                            "an included file has no sections of its own",
                            "move the section into the job file",
                        )),
                    }
                }
            }
        }
    }

    /// Reads a file by its path, else by its path relative to the including file.
    fn bytes(&self, from: &str, path: &str) -> std::io::Result<(String, Vec<u8>)> {
        let why = match (self.include)(path) {
            Ok(bytes) => return Ok((path.to_owned(), bytes)),
            Err(why) => why,
        };
        if let Some((directory, _)) = from.rsplit_once('/') {
            let beside = format!("{directory}/{path}");
            if let Ok(bytes) = (self.include)(&beside) {
                return Ok((beside, bytes));
            }
        }
        Err(why)
    }
}
