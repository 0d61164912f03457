//! A job file with its own expectations.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// A job file of the corpus.
pub struct Case {
    /// The file's name without its extension.
    pub name: String,
    /// The file.
    pub path: PathBuf,
    /// What must exist before it runs.
    pub given: Vec<(String, String)>,
    /// Extra command-line arguments, before the file.
    pub arguments: Vec<String>,
    /// The expected results.
    pub expected: Vec<Expected>,
    /// Why fio itself does not run it, or not with this result.
    pub only_ours: Option<String>,
}

/// An expected result.
#[derive(Clone, Debug)]
pub struct Expected {
    /// The figure: `read.ops`, `a:write.bytes`, `file:a.0.0`.
    pub what: String,
    /// As written.
    pub value: String,
}

impl Expected {
    /// The value as a number, or as a min and a max.
    pub fn range(&self) -> RangeInclusive<u64> {
        let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{self:?} has no number"));
        match self.value.split_once("..") {
            Some((least, most)) => number(least)..=number(most),
            None => number(&self.value)..=number(&self.value),
        }
    }

    /// Whether it is one number, the same in each run.
    pub fn is_exact(&self) -> bool {
        !self.value.contains("..")
    }
}

/// Directory of the corpus.
pub fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fio")
}

/// All job files of the corpus, in name order.
pub fn cases() -> Vec<Case> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(corpus())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "fio"))
        .collect();
    paths.sort();
    paths.iter().map(|path| case(path)).collect()
}

fn case(path: &Path) -> Case {
    let text = std::fs::read_to_string(path).unwrap();
    let name = path.file_stem().unwrap().to_string_lossy().into_owned();
    let mut case = Case {
        name: name.clone(),
        path: path.to_owned(),
        given: Vec::new(),
        arguments: Vec::new(),
        expected: Vec::new(),
        only_ours: None,
    };
    for line in text.lines() {
        let Some((word, rest)) = line.trim_start_matches([';', ' ']).split_once(": ") else { continue };
        if !line.starts_with(';') {
            continue;
        }
        let pairs = || rest.split_whitespace().map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        match word {
            "given" => case.given.extend(pairs().map(|(what, value)| (what.to_owned(), value.to_owned()))),
            "arguments" => case.arguments.extend(rest.split_whitespace().map(str::to_owned)),
            "expect" => case.expected.extend(
                pairs().map(|(what, value)| Expected { what: what.to_owned(), value: value.to_owned() }),
            ),
            "only manometer" => case.only_ours = Some(rest.to_owned()),
            _ => {}
        }
    }
    assert!(!case.expected.is_empty(), "{name} expects nothing");
    case
}
