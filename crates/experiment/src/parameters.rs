//! Parameters: `${name}` and `${env:NAME}` in any value.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::kind::TargetKind;
use crate::nearest::hint;
use crate::place::{Log, Place};
use crate::source::Settings;
use crate::tree::{Node, Value};

/// Parameters nested deeper than this refer to each other in a cycle.
const DEEPEST: u32 = 16;

/// Maximum number of parameters that one value may need, including indirect ones.
const MAX_STEPS: u32 = 10_000;

/// Maximum length of a text after substitution.
const LONGEST: usize = 64 << 10;

/// A parameter of the file.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub name: Rc<str>,
    pub key_place: Place,
    pub node: Node,
    /// The origin of the value, for messages: `line 3`, `--set size=4GiB`.
    pub from: Rc<str>,
}

/// All parameters, including overrides from the command line and the environment.
pub(crate) struct Parameters<'a> {
    pub all: Vec<Parameter>,
    settings: &'a Settings<'a>,
    log: &'a Log,
    depth: Cell<u32>,
    /// Parameters looked up for the current value.
    steps: Cell<u32>,
}

/// A piece of a text with parameters.
enum Piece<'t> {
    Plain(&'t str),
    Name(&'t str),
}

impl<'a> Parameters<'a> {
    /// The available kinds of targets.
    pub fn kinds(&self) -> &'a [&'static TargetKind] {
        self.settings.kinds
    }

    /// Reads the file's `parameters`; `MANOMETER_SET_name` from the environment overrides a value, and `--set` does so
    /// later.
    pub fn read(section: Option<&Node>, settings: &'a Settings<'a>, log: &'a Log) -> Self {
        let mut all = Vec::new();
        if let Some(node) = section
            && !matches!(node.value, Value::Map(_) | Value::Empty)
        {
            log.fault(node.place, "parameters are a map", "write parameters: {size: 1GiB}");
        }
        for entry in section.map_or(&[][..], Node::entries) {
            if !is_name(&entry.key) {
                log.fault(
                    entry.key_place,
                    format!("{:?} is no name of a parameter", entry.key),
                    "use letters, digits and _, a letter first",
                );
                continue;
            }
            let variable = format!("MANOMETER_SET_{}", entry.key);
            let (node, from) = match (settings.environment)(&variable) {
                Some(value) => {
                    let from = format!("environment variable {variable}");
                    (from_outside(&value, log.origin(from.clone())), from)
                }
                None => (entry.node.clone(), format!("line {}", entry.node.place.line)),
            };
            all.push(Parameter {
                name: entry.key.clone(),
                key_place: entry.key_place,
                node,
                from: from.into(),
            });
        }
        Self { all, settings, log, depth: Cell::new(0), steps: Cell::new(0) }
    }

    pub fn get(&self, name: &str) -> Option<&Parameter> {
        self.all.iter().find(|parameter| &*parameter.name == name)
    }

    /// Applies `--set name=value`; returns whether there is such a parameter.
    pub fn set(&mut self, name: &str, value: &str) -> bool {
        let Some(parameter) = self.all.iter_mut().find(|parameter| &*parameter.name == name) else {
            return false;
        };
        let from = format!("--set {name}={value}");
        parameter.node = from_outside(value, self.log.origin(from.clone()));
        parameter.from = from.into();
        true
    }

    /// A value with its parameters substituted; `crossed` are parameters with a value of their own in this cell. `None`
    /// if one is unknown, which is logged.
    pub fn resolve(&self, node: &Node, crossed: &[(Rc<str>, Node)]) -> Option<Node> {
        let Value::Scalar(text) = &node.value else { return Some(node.clone()) };
        if !text.contains("${") {
            return Some(node.clone());
        }
        let pieces = self.pieces(text, node.place)?;
        if let [Piece::Name(name)] = pieces.as_slice() {
            return self.value(name, node.place, crossed);
        }
        let mut out = String::new();
        let mut notes: Vec<String> = Vec::new();
        for piece in pieces {
            match piece {
                Piece::Plain(text) => out.push_str(text),
                Piece::Name(name) => {
                    let value = self.value(name, node.place, crossed)?;
                    let Value::Scalar(text) = &value.value else {
                        self.log.fault(
                            node.place,
                            format!("${{{name}}} is {}, which does not fit into a text", value.text()),
                            "only a single value can stand inside of a text",
                        );
                        return None;
                    };
                    out.push_str(text);
                    notes.extend(value.note.as_deref().map(str::to_owned));
                }
            }
            if out.len() > LONGEST {
                self.log.fault(node.place, "this becomes longer than 64 KiB", "use shorter parameters");
                return None;
            }
        }
        let note = (!notes.is_empty()).then(|| notes.join("; ").into());
        Some(Node { place: node.place, value: Value::Scalar(out.into()), note })
    }

    /// The value of a name at its place of use.
    fn value(&self, name: &str, at: Place, crossed: &[(Rc<str>, Node)]) -> Option<Node> {
        if let Some(variable) = name.strip_prefix("env:") {
            return self.variable(variable, at);
        }
        let (node, from) = match crossed.iter().find(|(crossed, _)| &**crossed == name) {
            Some((_, node)) => (node, "the matrix".into()),
            None => match self.get(name) {
                Some(parameter) => (&parameter.node, parameter.from.clone()),
                None => {
                    let hint = if self.all.is_empty() {
                        format!("declare it: parameters: {{{name}: …}}")
                    } else {
                        let names = self.all.iter().map(|parameter| &*parameter.name);
                        hint(name, names) + &format!(" Or declare it: parameters: {{{name}: …}}")
                    };
                    self.log.fault(at, format!("there is no parameter {name:?}"), hint);
                    return None;
                }
            },
        };
        if matches!(node.value, Value::Empty) {
            self.log.fault(
                at,
                format!("parameter {name:?} has no value"),
                format!("give one with --set {name}=VALUE, or in the file"),
            );
            return None;
        }
        if self.depth.get() >= DEEPEST {
            self.log.fault(at, format!("parameter {name:?} is defined by itself"), "break the circle");
            return None;
        }
        if self.depth.get() == 0 {
            self.steps.set(0);
        }
        self.steps.set(self.steps.get() + 1);
        if self.steps.get() > MAX_STEPS {
            self.log.fault(at, "this needs more than 10000 parameters", "use fewer within each other");
            return None;
        }
        self.depth.set(self.depth.get() + 1);
        let resolved = self.resolve(node, crossed);
        self.depth.set(self.depth.get() - 1);
        let resolved = resolved?;
        Some(match &resolved.value {
            Value::Scalar(text) => {
                let note = Some(format!("${{{name}}} is {:?}, from {from}", shortened(text)).into());
                Node { place: at, value: resolved.value, note }
            }
            // The items of a list keep the places where they were written.
            _ if resolved.place.origin == 0 => resolved,
            _ => resolved.at(at),
        })
    }

    /// `${env:NAME}` and `${env:NAME:-default}`.
    fn variable(&self, name: &str, at: Place) -> Option<Node> {
        let (name, default) = match name.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (name, None),
        };
        let upper = name.to_ascii_uppercase();
        if ["SECRET", "PASSWORD", "TOKEN", "CREDENTIAL", "ACCESS_KEY"].iter().any(|word| upper.contains(word))
        {
            self.log.fault(
                at,
                format!("{name} looks like a secret, and a plan is stored with the results"),
                "leave it out: S3 keys are read from the AWS_… environment or from credentials_file",
            );
            return None;
        }
        let value = (self.settings.environment)(name);
        let from = if value.is_some() { "the environment" } else { "its default" };
        let Some(value) = value.or_else(|| default.map(str::to_owned)) else {
            self.log.fault(
                at,
                format!("the environment has no variable {name:?}"),
                format!("set it, or give a default: ${{env:{name}:-value}}"),
            );
            return None;
        };
        let note = Some(format!("${{env:{name}}} is {:?}, from {from}", shortened(&value)).into());
        Some(Node { note, ..Node::scalar(at, &value) })
    }

    /// Splits a text at its `${…}`.
    fn pieces<'t>(&self, text: &'t str, at: Place) -> Option<Vec<Piece<'t>>> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(found) = rest.find("${") {
            let (before, after) = rest.split_at(found);
            if !before.is_empty() {
                pieces.push(Piece::Plain(before));
            }
            let Some(end) = after.find('}') else {
                self.log.fault(at, "${ is not closed", "write ${name}");
                return None;
            };
            pieces.push(Piece::Name(after[2..end].trim()));
            rest = &after[end + 1..];
        }
        if !rest.is_empty() {
            pieces.push(Piece::Plain(rest));
        }
        Some(pieces)
    }

    /// Reports parameters that nothing in the file uses.
    pub fn check_used(&self, root: &Node, crossed: &BTreeSet<Rc<str>>) {
        let mut used = BTreeSet::new();
        collect(root, &mut used, &mut BTreeSet::new());
        for parameter in &self.all {
            if used.contains(&*parameter.name) {
                continue;
            }
            let name = &parameter.name;
            let how = if crossed.contains(name) { "crossed, but used nowhere" } else { "used nowhere" };
            self.log.fault(
                parameter.key_place,
                format!("parameter {name:?} is {how}"),
                format!("write ${{{name}}} where it belongs, or remove it"),
            );
        }
    }
}

/// Collects the names in `${…}` of all texts below a node; parts shared by aliases are visited once.
fn collect(node: &Node, used: &mut BTreeSet<String>, seen: &mut BTreeSet<usize>) {
    match &node.value {
        Value::Scalar(text) => {
            for part in text.split("${").skip(1) {
                used.extend(part.split_once('}').map(|(name, _)| name.trim().to_owned()));
            }
        }
        Value::List(items) if seen.insert(Rc::as_ptr(items).addr()) => {
            items.iter().for_each(|item| collect(item, used, seen));
        }
        Value::Map(entries) if seen.insert(Rc::as_ptr(entries).addr()) => {
            entries.iter().for_each(|entry| collect(&entry.node, used, seen));
        }
        _ => {}
    }
}

/// A value from the command line or the environment: parsed as YAML where possible, so that lists can be given,
/// otherwise plain text.
pub(crate) fn from_outside(value: &str, origin: Place) -> Node {
    let scratch = Log::default();
    let node = if value.trim_start().starts_with(['[', '{', '"', '\'']) {
        crate::tree::read(value, &scratch).filter(|_| scratch.is_clean())
    } else {
        None
    };
    node.unwrap_or_else(|| Node::scalar(origin, value.trim())).at(origin)
}

fn shortened(text: &str) -> String {
    let mut out: String = text.chars().take(60).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

/// Letters, digits and underscores, not starting with a digit.
fn is_name(text: &str) -> bool {
    text.len() <= 64
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && text.chars().next().is_some_and(|c| !c.is_ascii_digit())
}
