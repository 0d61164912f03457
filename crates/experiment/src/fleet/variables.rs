//! Substitutes `{host}`, `{index}` and user-defined names in targets, per host.

use std::collections::BTreeMap;

use content::FileNames;

use super::{Fleet, bare_host};
use crate::kind::{TargetKind, kind_of};
use crate::load::Load;
use crate::nearest::hint;
use crate::option_error::OptionValueError;
use crate::plan::{Cell, Target};
use crate::text_fault::TextFault;

/// Names that every host has.
pub(crate) const ALWAYS: [&str; 2] = ["host", "index"];

/// Maximum length of a text after substitution.
const LONGEST: usize = 64 << 10;

/// Why a cell has no meaning on a host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostValueError {
    /// A variable that the host has no value for, or a text that none can be put into.
    #[error(transparent)]
    Text(#[from] TextFault),
    /// With its variables an option has a value that means nothing.
    #[error("host {host:?}: {name}: {error}")]
    Option {
        /// The host's name.
        host: String,
        /// The option's name.
        name: String,
        /// What is wrong with its value, and what to write.
        error: Box<OptionValueError>,
    },
}

impl Fleet {
    /// The cell as a host is to run it: with the host's variables substituted in the target's URL and options, and its
    /// name for `$clientuid` in file names. `host` is its name as in [`host_names`](Self::host_names) (or as
    /// found by the launcher), `index` counts the hosts from 0.
    ///
    /// # Errors
    /// One line: a name for which this host has no value, or an option value that became invalid.
    pub fn cell_for(
        &self,
        kinds: &[&'static TargetKind],
        cell: &Cell,
        host: &str,
        index: u32,
    ) -> Result<Cell, HostValueError> {
        let mut own = Cell { target: self.target_for(kinds, &cell.target, host, index)?, ..cell.clone() };
        if let Load::Pass(pass) = &mut own.workload.load
            && pass.tree.host.is_empty()
        {
            pass.tree.host = self.host_of_files(host, index, pass.next_host);
        }
        let names = match &mut own.workload.load {
            Load::Mix(mix) => mix.user_files.as_mut().map(|files| &mut files.names),
            Load::Stream(job) => Some(&mut job.files.names),
            Load::Pass(_) => None,
        };
        if let Some(FileNames { format, .. }) = names {
            *format = format.replace("$clientuid", &self.client_uid(host, index));
        }
        Ok(own)
    }

    /// The host whose files a host works on in a pass: itself, or the next one.
    fn host_of_files(&self, host: &str, index: u32, next: bool) -> String {
        let names = if next { self.host_names() } else { None };
        match names.filter(|names| !names.is_empty()) {
            Some(names) => {
                let index = (index as usize + 1) % names.len();
                self.client_uid(&names[index], index as u32)
            }
            None => self.client_uid(host, index),
        }
    }

    /// The value of `$clientuid` on a host: its name without user and port, with its number if others have the same
    /// name.
    fn client_uid(&self, host: &str, index: u32) -> String {
        let bare = bare_host(host);
        let alike = |other: &String| bare_host(other) == bare;
        let among = self.host_names().map_or(0, |names| names.iter().filter(|name| alike(name)).count());
        // Several agents on one node are `node/0`, `node/1`.
        if among > 1 || host.contains('/') { format!("{bare}-{index}") } else { bare.to_owned() }
    }

    /// A target as a host opens it.
    pub(crate) fn target_for(
        &self,
        kinds: &[&'static TargetKind],
        target: &Target,
        host: &str,
        index: u32,
    ) -> Result<Target, HostValueError> {
        let values = self.values_of(host, index)?;
        let put_in = |text: &str| fill_in(text, &values, host);
        let url = put_in(&target.url)?;
        let kind = kind_of(kinds, &url);
        let mut options = BTreeMap::new();
        for (name, text) in &target.options {
            let value = put_in(text)?;
            // Checks what the file reader could not, because only a host's value completes it.
            let value = match kind.and_then(|kind| kind.option(name)) {
                Some(help) if value != *text => {
                    let read = help.read(&value).map_err(|error| HostValueError::Option {
                        host: host.to_owned(),
                        name: name.clone(),
                        error: Box::new(error),
                    })?;
                    read.to_string()
                }
                _ => value,
            };
            options.insert(name.clone(), value);
        }
        Ok(Target::new(target.name.clone(), url, options))
    }

    /// All values of a host: those of `*`, overridden by its own, plus `host` and `index`.
    pub(crate) fn values_of(&self, host: &str, index: u32) -> Result<BTreeMap<String, String>, TextFault> {
        let bare = bare_host(host);
        let mut always = BTreeMap::from([("host".to_owned(), bare.to_owned())]);
        always.insert("index".to_owned(), index.to_string());
        let mut values = BTreeMap::new();
        let tables = ["*", bare, host].into_iter().filter_map(|name| self.variables.get(name));
        for (name, text) in tables.flatten() {
            // A value may contain the host, but no other value, so cycles cannot occur.
            values.insert(name.clone(), fill_in(text, &always, host)?);
        }
        values.extend(always);
        Ok(values)
    }

    /// The names for which some host has a value.
    pub(crate) fn variable_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.variables.values().flatten().map(|(name, _)| &**name).collect();
        names.extend(ALWAYS);
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// Escapes a text against substitution by doubling every brace.
pub fn escape_braces(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// Splits a text into its `{…}` names and the text between them, with doubled braces as single ones.
///
/// # Errors
/// [`LoneBrace`].
pub(crate) fn pieces(text: &str) -> Result<Vec<Piece>, LoneBrace> {
    let mut pieces = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        plain.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let brace = &rest[at..=at];
        if let Some(after) = after.strip_prefix(brace) {
            plain.push_str(brace);
            rest = after;
            continue;
        }
        let name = after.split_once(['{', '}']).filter(|_| brace == "{");
        match name {
            Some((name, _)) if after[name.len()..].starts_with('}') => {
                pieces.push(Piece::Plain(std::mem::take(&mut plain)));
                pieces.push(Piece::Name(name.trim().to_owned()));
                rest = &after[name.len() + 1..];
            }
            _ => return Err(LoneBrace(char::from(rest.as_bytes()[at]))),
        }
    }
    plain.push_str(rest);
    pieces.push(Piece::Plain(plain));
    pieces.retain(|piece| !matches!(piece, Piece::Plain(text) if text.is_empty()));
    Ok(pieces)
}

/// A brace in a text that is neither doubled nor one of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} stands alone")]
pub(crate) struct LoneBrace(char);

/// A part of a text with variables in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Plain(String),
    Name(String),
}

/// The hint for an unbalanced brace.
pub(crate) const BRACES: &str = "write {name}, or double every brace that is none: {{ and }}";

/// A text with a host's values substituted; an error carries its hint after `; `.
pub(crate) fn fill_in(
    text: &str,
    values: &BTreeMap<String, String>,
    host: &str,
) -> Result<String, TextFault> {
    let mut out = String::new();
    for piece in pieces(text).map_err(|wrong| TextFault::new(format!("{wrong} in {text:?}"), BRACES))? {
        match piece {
            Piece::Plain(text) => out.push_str(&text),
            Piece::Name(name) => match values.get(&name) {
                Some(value) => out.push_str(value),
                None => {
                    let hint = hint(&name, values.keys().map(String::as_str));
                    return Err(TextFault::new(format!("host {host:?} has no variable {name:?}"), hint));
                }
            },
        }
        if out.len() > LONGEST {
            let text = format!("host {host:?}: a target becomes longer than 64 KiB");
            return Err(TextFault::new(text, "use shorter variables"));
        }
    }
    Ok(out)
}
