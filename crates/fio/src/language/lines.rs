//! Splits a file into lines: without comments, each line is a section header, an option, or an `include`.

use std::sync::Arc;

use super::faults::ScriptFault;
use super::options::is_secret;
use super::section::Origin;

/// Maximum size of a job file, in bytes.
pub(super) const LARGEST_FILE: usize = 1 << 20;

/// Maximum length of a line, and of a value after substitution, in bytes.
pub(super) const LONGEST_LINE: usize = 64 << 10;

/// Maximum length of a section name, in characters.
const LONGEST_NAME: usize = 255;

/// The content of a line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Line {
    /// `[name]`.
    Head(String, Origin),
    /// `name=value`, or `name` alone.
    Option(RawOption),
    /// `include FILE`.
    Include(String, Origin),
    /// None of these.
    Wrong(ScriptFault),
}

/// An option as written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RawOption {
    /// The text before the `=`.
    pub name: String,
    /// The text after the `=`.
    pub value: Option<String>,
    /// Position of the name.
    pub name_origin: Origin,
    /// Position of the value; that of the name if there is none.
    pub value_origin: Origin,
    /// Whether `${NAME}` is substituted: not on the command line, where the shell does it.
    pub with_environment: bool,
}

/// The meaningful lines of a file.
///
/// # Errors
/// The file is too large, or not UTF-8 text.
pub(super) fn lines(file: &Arc<str>, bytes: &[u8]) -> Result<Vec<Line>, ScriptFault> {
    let start = |line: usize| Origin { file: file.clone(), line, column: 1, length: 1, text: "".into() };
    if bytes.len() > LARGEST_FILE {
        let text = format!("the job file is too large: {} bytes", bytes.len());
        return Err(ScriptFault::new(&start(1), text, format!("the most is {LARGEST_FILE} bytes")));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        ScriptFault::new(&start(line), "this is not UTF-8 text", "save the file as UTF-8")
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Ok(text.split('\n').enumerate().filter_map(|(index, line)| read_line(file, index + 1, line)).collect())
}

fn read_line(file: &Arc<str>, number: usize, line: &str) -> Option<Line> {
    if line.len() > LONGEST_LINE {
        let shown = line.chars().take(80).collect::<String>();
        let origin = Origin { file: file.clone(), line: number, column: 1, length: 1, text: shown.into() };
        let text = format!("the line is too long: {} bytes", line.len());
        return Some(Line::Wrong(ScriptFault::new(
            &origin,
            text,
            format!("the most is {LONGEST_LINE} bytes"),
        )));
    }
    let line = line.trim_end_matches('\r');
    let said = line.trim_start();
    if said.is_empty() || said.starts_with(['#', ';']) {
        return None;
    }
    let end = said.find(['#', ';']).unwrap_or(said.len());
    let said = said[..end].trim_end_matches(|c: char| c.is_whitespace() || c.is_control());
    let place = Placed { file, number, line };
    if said.starts_with('[') {
        return Some(head(&place, said));
    }
    if let Some(name) = included(said) {
        return Some(Line::Include(name.to_owned(), place.origin(name)));
    }
    Some(Line::Option(option(&place, said)))
}

/// A line with its position; parts are slices of it.
struct Placed<'a> {
    file: &'a Arc<str>,
    number: usize,
    line: &'a str,
}

impl Placed<'_> {
    /// Position of `part`, a slice of the line.
    fn origin(&self, part: &str) -> Origin {
        let at = (part.as_ptr() as usize).saturating_sub(self.line.as_ptr() as usize);
        let before = self.line.get(..at).unwrap_or("");
        Origin {
            file: self.file.clone(),
            line: self.number,
            column: before.chars().count() + 1,
            length: part.chars().count().max(1),
            text: self.line.into(),
        }
    }
}

fn head(place: &Placed<'_>, said: &str) -> Line {
    let origin = place.origin(said);
    let wrong = |text: &str, hint: &str| Line::Wrong(ScriptFault::new(&origin, text, hint));
    let Some(name) = said[1..].strip_suffix(']') else {
        return match said.find(']') {
            Some(_) => wrong("something stands behind the section's name", "put it into a line of its own"),
            None => wrong("the section's name has no end", "write [name]"),
        };
    };
    if name.trim().is_empty() {
        return wrong(
            "the section has no name",
            "write [name], or [global] for what holds for all that follow",
        );
    }
    if name.chars().count() > LONGEST_NAME {
        return wrong("the section's name is too long", "the most is 255 characters");
    }
    Line::Head(name.to_owned(), origin)
}

fn included(said: &str) -> Option<&str> {
    let rest = said.strip_prefix("include")?;
    rest.starts_with(|c: char| c == '=' || c.is_whitespace())
        .then(|| rest.trim_start_matches(|c: char| c == '=' || c.is_whitespace()))
}

fn option(place: &Placed<'_>, said: &str) -> RawOption {
    let (name, value) = match said.split_once('=') {
        Some((name, value)) => (name.trim_end(), Some(value.trim_start())),
        None => (said, None),
    };
    let mut name_origin = place.origin(name);
    let mut value_origin =
        value.filter(|value| !value.is_empty()).map_or_else(|| name_origin.clone(), |v| place.origin(v));
    if let Some(value) = value.filter(|_| is_secret(name)) {
        let hidden: Arc<str> = hide(place.line, value).into();
        name_origin.text = hidden.clone();
        value_origin.text = hidden;
    }
    RawOption {
        name: name.to_owned(),
        value: value.map(str::to_owned),
        name_origin,
        value_origin,
        with_environment: true,
    }
}

fn hide(line: &str, value: &str) -> String {
    if value.is_empty() { line.to_owned() } else { line.replace(value, &"…".repeat(value.chars().count())) }
}

impl RawOption {
    /// An option from the command line: `argument` as written, with its index `number`.
    pub fn of_command_line(name: &str, value: Option<&str>, argument: &str, number: usize) -> Self {
        let secret = is_secret(name);
        let text: Arc<str> = match value {
            Some(value) if secret => hide(argument, value).into(),
            _ => argument.into(),
        };
        let at = |part: &str| {
            let byte = argument.rfind(part).unwrap_or(0);
            Origin {
                file: COMMAND_LINE.into(),
                line: number,
                column: argument[..byte].chars().count() + 1,
                length: part.chars().count().max(1),
                text: text.clone(),
            }
        };
        let name_at = Origin { length: argument.chars().count().max(1), column: 1, ..at("") };
        let value_origin = match value {
            Some(value) if !value.is_empty() => at(value),
            _ => name_at.clone(),
        };
        Self {
            name: name.to_owned(),
            value: value.map(str::to_owned),
            name_origin: name_at,
            value_origin,
            with_environment: false,
        }
    }
}

/// Name of the command line in place of a file name.
pub(super) const COMMAND_LINE: &str = "command line";
