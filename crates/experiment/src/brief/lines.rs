//! The lines of an experiment, one key per line.

use super::text::BriefText;
use super::yaml;

/// The column where comments start, unless the line is longer.
const COMMENTS_AT: usize = 32;

/// In which files a line appears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Always,
    /// A default, spelt out in a commented file.
    Commented,
    /// An option that a commented file offers behind a `#`.
    Offered,
}

/// A key with its value, or the head of a map.
#[derive(Clone, Debug)]
pub(super) struct Line {
    depth: usize,
    key: String,
    /// Empty for the head of a map.
    value: String,
    /// The command line input it comes from.
    origin: Option<String>,
    about: &'static str,
    shown: Shown,
    /// The comment appears in a short file, too.
    explained: bool,
}

impl Line {
    pub fn of(depth: usize, key: &str, value: &str) -> Self {
        let (key, value) = (key.to_owned(), value.to_owned());
        Self { depth, key, value, origin: None, about: "", shown: Shown::Always, explained: false }
    }

    /// The head of a map.
    pub fn head(depth: usize, key: &str) -> Self {
        Self::of(depth, key, "")
    }

    pub fn from(self, origin: Option<String>) -> Self {
        Self { origin, ..self }
    }

    pub fn about(self, about: &'static str) -> Self {
        Self { about, ..self }
    }

    pub fn only_commented(self) -> Self {
        Self { shown: Shown::Commented, ..self }
    }

    pub fn always_explained(self) -> Self {
        Self { explained: true, ..self }
    }

    /// Writes the line; `inner` tells whether the lines below belong to it.
    fn write(&self, commented: bool, inner: bool) -> String {
        let indent = "  ".repeat(self.depth);
        let sign = if self.shown == Shown::Offered { "# " } else { "" };
        let mut out = format!("{indent}{sign}{}:", self.key);
        if !self.value.is_empty() {
            out.push_str(&format!(" {}", self.value));
        } else if !inner && self.shown != Shown::Offered {
            out.push_str(" {}");
        }
        if !self.about.is_empty() && (commented || self.explained) {
            let blanks = COMMENTS_AT.saturating_sub(out.chars().count()).max(2);
            out.push_str(&format!("{}# {}", " ".repeat(blanks), self.about));
        }
        out
    }
}

/// An experiment in lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    lines: Vec<Line>,
    matrix: Vec<Line>,
    stages: Vec<Line>,
    /// Lines from now on belong to the `stages` section.
    in_stages: bool,
}

impl Lines {
    pub fn add(&mut self, line: Line) {
        if self.in_stages { self.stages.push(line) } else { self.lines.push(line) }
    }

    /// Starts the stages, which are the last section; its head is written only if something follows.
    pub fn begin_stages(&mut self) {
        self.in_stages = true;
    }

    pub fn matrix_line(&mut self, line: Line) {
        self.matrix.push(line);
    }

    /// A matrix key.
    pub fn cross(&mut self, key: &str, values: &[String], origin: String) {
        self.matrix.push(Line::of(1, key, &yaml::list(values)).from(Some(origin)));
    }

    /// A workload key; without a value, a commented file shows `usual` if that `fits`.
    pub fn key(
        &mut self,
        given: &Option<String>,
        key: &str,
        flag: &str,
        usual: &str,
        about: &'static str,
        fits: bool,
    ) {
        self.given_or(given, 2, key, flag, about, || {
            fits.then(|| Line::of(2, key, usual).about(about).only_commented())
        });
    }

    /// A workload key; without a value, a commented file offers `example`.
    pub fn optional_key(
        &mut self,
        given: &Option<String>,
        key: &str,
        flag: &str,
        example: &str,
        about: &'static str,
    ) {
        self.given_or(given, 2, key, flag, about, || {
            Some(Line { shown: Shown::Offered, ..Line::of(2, key, example).about(about) })
        });
    }

    /// A stage; without a value, a commented file shows `usual`.
    pub fn stage(&mut self, given: &Option<String>, key: &str, flag: &str, usual: &str, about: &'static str) {
        self.given_or(given, 1, key, flag, about, || {
            Some(Line::of(1, key, usual).about(about).only_commented())
        });
    }

    fn given_or(
        &mut self,
        given: &Option<String>,
        depth: usize,
        key: &str,
        flag: &str,
        about: &'static str,
        otherwise: impl FnOnce() -> Option<Line>,
    ) {
        let Some(given) = given else {
            if let Some(line) = otherwise() {
                self.add(line);
            }
            return;
        };
        let origin = format!("{flag} {given}");
        match yaml::items(given).as_slice() {
            [one] => self.add(Line::of(depth, key, &yaml::value(one)).from(Some(origin)).about(about)),
            several => self.cross(key, several, origin),
        }
    }

    /// The shortest form.
    pub fn short(self) -> BriefText {
        self.write(false, "")
    }

    /// With comments, defaults and further options.
    pub fn commented(mut self) -> BriefText {
        let offered = |line: Line| Line { shown: Shown::Offered, ..line };
        if self.matrix.is_empty() {
            let about = "every combination of such lists is a cell, measured by itself";
            self.matrix.push(offered(Line::head(0, "matrix").about(about)));
            self.matrix.push(offered(Line::of(1, "queue_depth", "[1, 8, 32]")));
            self.matrix.push(offered(Line::of(1, "repetitions", "3")));
        } else {
            self.matrix
                .insert(0, Line::head(0, "matrix").about("every combination is a cell, measured by itself"));
        }
        let about = "conditions on the result; one that fails makes the exit code 1";
        self.stages.push(offered(Line::of(0, "gates", "[p99 <= 5 ms, errors == 0]").about(about)));
        self.write(true, "# An experiment. `manometer run FILE --dry-run` shows what it will do, and `manometer run FILE` does it.\n# A line behind a # is an example of what else can be written.\n")
    }

    fn write(mut self, commented: bool, preface: &str) -> BriefText {
        if !commented && !self.matrix.is_empty() {
            self.matrix.insert(0, Line::head(0, "matrix"));
        }
        let shown = |line: &Line| commented || line.shown == Shown::Always;
        if self.stages.iter().any(|line| line.depth > 0 && shown(line)) {
            self.stages.insert(0, Line::head(0, "stages"));
        }
        let mut out = BriefText::new(preface);
        // The matrix follows the workload and precedes the keys that apply to everything.
        let at = self.lines.iter().position(|line| line.key == "steady" && line.depth == 0);
        let rest = at.map_or_else(Vec::new, |at| self.lines.split_off(at));
        let all = self.lines.iter().chain(&self.matrix).chain(&rest).chain(&self.stages);
        let lines: Vec<&Line> = all.filter(|line| shown(line)).collect();
        for (at, line) in lines.iter().enumerate() {
            if commented && line.depth == 0 && !out.is_blank() {
                out.blank();
            }
            let inner =
                lines.get(at + 1).is_some_and(|next| next.depth > line.depth && next.shown != Shown::Offered);
            out.push(&line.write(commented, inner), line.origin.as_deref());
        }
        out
    }
}
