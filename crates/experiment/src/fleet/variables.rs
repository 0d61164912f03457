//! `{host}`, `{index}` and the names of a table, put into targets for each host.

use std::collections::BTreeMap;

use super::{Fleet, bare_host};
use crate::kind::{TargetKind, kind_of};
use crate::nearest::hint;
use crate::plan::{Cell, Target};

/// Names that every host has.
pub(crate) const ALWAYS: [&str; 2] = ["host", "index"];

/// The longest text that putting in makes.
const LONGEST: usize = 64 << 10;

impl Fleet {
    /// The cell as a host is to carry it out: with its variables put into the target's URL and options, and its name for
    /// `$clientuid` in those of a job's files. `host` is its name as [`host_names`](Self::host_names) has it (or as the launcher found it), `index` counts the hosts from 0.
    ///
    /// # Errors
    /// One line: which name this host has no value for, or what became of an option that it does not know.
    pub fn cell_for(
        &self,
        kinds: &[&'static TargetKind],
        cell: &Cell,
        host: &str,
        index: u32,
    ) -> Result<Cell, String> {
        let mut own = Cell { target: self.target_for(kinds, &cell.target, host, index)?, ..cell.clone() };
        if let Some(job) = own.workload.stream_mut() {
            let format = &mut job.files.names.format;
            *format = format.replace("$clientuid", &self.client_uid(host, index));
        }
        Ok(own)
    }

    /// What `$clientuid` is on a host: its name without user and port, with its number where another has the same.
    fn client_uid(&self, host: &str, index: u32) -> String {
        let bare = bare_host(host);
        let alike = |other: &String| bare_host(other) == bare;
        let among = self.host_names().map_or(0, |names| names.iter().filter(|name| alike(name)).count());
        // Several agents on one node are `node/0`, `node/1`.
        if among > 1 || host.contains('/') { format!("{bare}-{index}") } else { bare.to_owned() }
    }

    /// A target as a host is to open it.
    pub(crate) fn target_for(
        &self,
        kinds: &[&'static TargetKind],
        target: &Target,
        host: &str,
        index: u32,
    ) -> Result<Target, String> {
        let values = self.values_of(host, index)?;
        let put_in = |text: &str| fill_in(text, &values, host);
        let url = put_in(&target.url)?;
        let kind = kind_of(kinds, &url);
        let mut options = BTreeMap::new();
        for (name, text) in &target.options {
            let value = put_in(text)?;
            // What the reader of the file could not check, because only a host's value makes it whole.
            let value = match kind.and_then(|kind| kind.option(name)) {
                Some(help) if value != *text => {
                    let read =
                        help.read(&value).map_err(|wrong| format!("host {host:?}: {name}: {wrong}"))?;
                    read.to_string()
                }
                _ => value,
            };
            options.insert(name.clone(), value);
        }
        Ok(Target { name: target.name.clone(), url, options })
    }

    /// All values of a host: those of `*`, over them its own, and `host` and `index`.
    pub(crate) fn values_of(&self, host: &str, index: u32) -> Result<BTreeMap<String, String>, String> {
        let bare = bare_host(host);
        let mut always = BTreeMap::from([("host".to_owned(), bare.to_owned())]);
        always.insert("index".to_owned(), index.to_string());
        let mut values = BTreeMap::new();
        let tables = ["*", bare, host].into_iter().filter_map(|name| self.variables.get(name));
        for (name, text) in tables.flatten() {
            // A value may hold the host, but no other value: there are no circles.
            values.insert(name.clone(), fill_in(text, &always, host)?);
        }
        values.extend(always);
        Ok(values)
    }

    /// The names that some host has a value for.
    pub(crate) fn variable_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.variables.values().flatten().map(|(name, _)| &**name).collect();
        names.extend(ALWAYS);
        names.sort_unstable();
        names.dedup();
        names
    }
}

/// A text in which nothing is put in: every brace is doubled.
pub fn escape_braces(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// The names in `{…}` of a text, and the text itself when it has none, with doubled braces as single ones.
///
/// # Errors
/// Which brace has no other.
pub(crate) fn pieces(text: &str) -> Result<Vec<Piece>, String> {
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
            _ => return Err(format!("{brace} stands alone")),
        }
    }
    plain.push_str(rest);
    pieces.push(Piece::Plain(plain));
    pieces.retain(|piece| !matches!(piece, Piece::Plain(text) if text.is_empty()));
    Ok(pieces)
}

/// A part of a text with variables in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    Plain(String),
    Name(String),
}

/// What to do about a brace that stands alone.
pub(crate) const BRACES: &str = "write {name}, or double every brace that is none: {{ and }}";

/// A text with a host's values in it; an error has its hint behind `; `.
pub(crate) fn fill_in(text: &str, values: &BTreeMap<String, String>, host: &str) -> Result<String, String> {
    let mut out = String::new();
    for piece in pieces(text).map_err(|wrong| format!("{wrong} in {text:?}; {BRACES}"))? {
        match piece {
            Piece::Plain(text) => out.push_str(&text),
            Piece::Name(name) => match values.get(&name) {
                Some(value) => out.push_str(value),
                None => {
                    let hint = hint(&name, values.keys().map(String::as_str));
                    return Err(format!("host {host:?} has no variable {name:?}; {hint}"));
                }
            },
        }
        if out.len() > LONGEST {
            return Err(format!("host {host:?}: a target becomes longer than 64 KiB; use shorter variables"));
        }
    }
    Ok(out)
}
