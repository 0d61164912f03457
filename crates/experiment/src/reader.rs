//! Reads values from the tree: layered maps, parameters, and one fault per error.

use std::rc::Rc;
use std::str::FromStr;

use units::{ByteRate, OpRate, ParseError, Share, Size, Span};

use crate::known::Key;
use crate::nearest::{hint, nearest};
use crate::parameters::Parameters;
use crate::place::{Log, Place};
use crate::tree::{Entry, Node, Value};

/// The values of a cell's point: parameters, and paths such as `queue_depth`, `target.direct` or `stages.warm_up`.
#[derive(Debug, Default)]
pub(crate) struct Point {
    pub parameters: Vec<(Rc<str>, Node)>,
    pub paths: Vec<Crossed>,
}

/// A path that the matrix sets.
#[derive(Debug)]
pub(crate) struct Crossed {
    pub path: Rc<str>,
    pub node: Node,
    /// Where the matrix names it.
    pub key_place: Place,
}

/// Everything needed to read one cell.
pub(crate) struct Reader<'a> {
    pub log: &'a Log,
    pub parameters: &'a Parameters<'a>,
    pub point: &'a Point,
}

impl<'a> Reader<'a> {
    /// Reports a fault at a value.
    pub fn fault(&self, node: &Node, text: impl Into<String>, hint: impl Into<String>) {
        self.log.fault_with(node.place, text, hint, node.note.clone());
    }

    pub fn resolve(&self, node: &Node) -> Option<Node> {
        self.parameters.resolve(node, &self.point.parameters)
    }

    /// A single value.
    pub fn text(&self, node: &Node, hint: &str) -> Option<String> {
        let node = self.resolve(node)?;
        match &node.value {
            Value::Scalar(text) => Some(text.trim().to_owned()),
            Value::Empty => {
                self.fault(&node, "a value is missing here", hint);
                None
            }
            Value::List(_) => {
                self.fault(&node, "this is a list where one value belongs", hint);
                None
            }
            Value::Map(_) => {
                self.fault(&node, "this is a map where one value belongs", hint);
                None
            }
        }
    }

    fn unit<T: FromStr<Err = ParseError>>(&self, node: &Node, hint: &str) -> Option<T> {
        let text = self.text(node, hint)?;
        match text.parse() {
            Ok(value) => Some(value),
            Err(error) => {
                // The resolved node carries the origin of a substituted value.
                let node = self.resolve(node)?;
                self.fault(&node, error.fault(), error.hint());
                None
            }
        }
    }

    pub fn size(&self, node: &Node) -> Option<u64> {
        self.unit::<Size>(node, "write a size such as 4KiB, 8M or 1 GB").map(Size::bytes)
    }

    /// A duration in seconds.
    pub fn seconds(&self, node: &Node) -> Option<f64> {
        self.unit::<Span>(node, "write a duration such as 30s, 1m30s or 250ms")
            .map(|span| span.duration().as_secs_f64())
    }

    pub fn share(&self, node: &Node) -> Option<f64> {
        let percent = match &node.value {
            Value::Scalar(text) => text.trim().parse::<f64>().ok().filter(|n| *n > 1.0 && *n <= 100.0),
            _ => None,
        };
        if let Some(percent) = percent {
            let text = format!("{percent} is more than the whole");
            self.fault(node, text, format!("did you mean {percent}%?"));
            return None;
        }
        self.unit::<Share>(node, "write a percentage such as 80% or a number from 0 to 1").map(Share::value)
    }

    /// Operations per second.
    pub fn rate(&self, node: &Node) -> Option<f64> {
        let hint = "write operations per second, such as 350/s, 10k/s or 1.2M/s";
        let text = self.text(node, hint)?;
        if let Ok(rate) = text.parse::<OpRate>() {
            if rate.0 > 1e9 {
                let node = self.resolve(node)?;
                self.fault(&node, format!("{text:?} is more than 1G/s"), "use a rate of at most 1G/s");
                return None;
            }
            return Some(rate.0);
        }
        if let Ok(bytes) = text.parse::<ByteRate>() {
            let node = self.resolve(node)?;
            let each = bytes.bytes_per_second() / 4096.0;
            self.fault(
                &node,
                format!("{text:?} counts bytes, and a rate counts operations"),
                format!("divide it by the size of an operation: in blocks of 4KiB it is {each:.0}/s"),
            );
            return None;
        }
        self.unit::<OpRate>(node, hint).map(|rate| rate.0)
    }

    /// A whole number within limits.
    pub fn integer(&self, node: &Node, least: u64, most: u64) -> Option<u64> {
        let hint = if most == u64::MAX {
            format!("write a whole number from {least} on")
        } else {
            format!("write a whole number from {least} to {most}")
        };
        let text = self.text(node, &hint)?;
        let digits: String = text.chars().filter(|c| *c != '_').collect();
        let value = digits.parse::<u64>();
        let node = self.resolve(node)?;
        match value {
            Ok(value) if value < least => {
                self.fault(&node, format!("{text} is less than {least}"), hint);
                None
            }
            Ok(value) if value > most => {
                self.fault(&node, format!("{text} is more than {most}"), hint);
                None
            }
            Ok(value) => Some(value),
            Err(_) => {
                self.fault(&node, format!("{text:?} is not a whole number"), hint);
                None
            }
        }
    }

    /// A number that the test accepts.
    pub fn number(&self, node: &Node, wanted: &str, fits: impl Fn(f64) -> bool) -> Option<f64> {
        let text = self.text(node, wanted)?;
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() && fits(value) => Some(value),
            _ => {
                let node = self.resolve(node)?;
                self.fault(&node, format!("{text:?} does not fit here"), wanted);
                None
            }
        }
    }

    pub fn flag(&self, node: &Node) -> Option<bool> {
        let hint = "write true or false";
        match &*self.text(node, hint)? {
            "true" => Some(true),
            "false" => Some(false),
            other => {
                let node = self.resolve(node)?;
                self.fault(&node, format!("{other:?} is neither true nor false"), hint);
                None
            }
        }
    }

    /// One of a set of words; dashes and underscores are equivalent.
    pub fn choice(&self, node: &Node, what: &str, words: &[&'static str]) -> Option<&'static str> {
        let text = self.text(node, &format!("write {}", one_of(words)))?;
        let found = words.iter().find(|word| word.replace('-', "_") == text.replace('-', "_"));
        if found.is_none() {
            let node = self.resolve(node)?;
            let hint = match nearest(&text, words.iter().copied()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("write {}", one_of(words)),
            };
            self.fault(&node, format!("{text:?} is no {what}"), hint);
        }
        found.copied()
    }

    /// The items of a list; a single value is a list of one.
    pub fn list(&self, node: &Node) -> Option<Vec<Node>> {
        let node = self.resolve(node)?;
        Some(match &node.value {
            Value::List(items) => items.to_vec(),
            Value::Empty => {
                self.fault(&node, "a value is missing here", "write a list such as [a, b]");
                return None;
            }
            _ => vec![node],
        })
    }

    /// The only entry of a map such as `{zipf: 1.1}`.
    pub fn only_entry(&self, node: &Node, what: &str, words: &[&'static str]) -> Option<Entry> {
        match node.entries() {
            [entry] => match words.iter().find(|word| ***word == *entry.key) {
                Some(_) => Some(entry.clone()),
                None => {
                    let hint = hint(&entry.key, words.iter().copied());
                    self.log.fault(entry.key_place, format!("{:?} is no {what}", entry.key), hint);
                    None
                }
            },
            entries => {
                let text = format!("{} keys where one {what} belongs", entries.len());
                self.fault(node, text, format!("write one of {}", one_of(words)));
                None
            }
        }
    }
}

/// `a, b or c`.
pub(crate) fn one_of(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

/// Layered maps, highest precedence first: the matrix, the workload, the defaults.
#[derive(Clone)]
pub(crate) struct Fields<'r> {
    pub reader: &'r Reader<'r>,
    /// The prefix of the keys in the matrix's paths: empty, or `stages.`.
    prefix: String,
    layers: Vec<Node>,
    /// Its description in messages: `workload "randread"`.
    pub what: String,
    /// Where to report missing keys.
    pub place: Place,
}

impl<'r> Fields<'r> {
    /// Builds the layers; anything that is not a map is a fault.
    pub fn new(
        reader: &'r Reader<'r>,
        what: impl Into<String>,
        prefix: &str,
        place: Place,
        layers: impl IntoIterator<Item = Node>,
    ) -> Self {
        let what = what.into();
        let mut kept = Vec::new();
        for layer in layers {
            let Some(layer) = reader.resolve(&layer) else { continue };
            match layer.value {
                Value::Map(_) => kept.push(layer),
                Value::Empty => {}
                _ => {
                    reader.fault(&layer, format!("{what} is a map"), "write key: value, one a line, indented")
                }
            }
        }
        Self { reader, prefix: prefix.to_owned(), layers: kept, what, place }
    }

    /// The value of a key as written, with its parameters substituted.
    pub fn get(&self, key: &str) -> Option<Node> {
        let mut paths = self.reader.point.paths.iter();
        let crossed = paths.find(|crossed| crossed.path.strip_prefix(&*self.prefix) == Some(key));
        let node = match crossed {
            Some(crossed) => &crossed.node,
            None => self.layers.iter().find_map(|layer| layer.get(key))?,
        };
        let node = self.reader.resolve(node)?;
        if matches!(node.value, Value::Empty) {
            self.reader.fault(&node, format!("{key} has no value"), "write one, or remove the key");
            return None;
        }
        Some(node)
    }

    /// Whether a key is given in any layer.
    pub fn has(&self, key: &str) -> bool {
        self.reader.point.paths.iter().any(|crossed| {
            crossed.path.strip_prefix(&*self.prefix).is_some_and(|rest| {
                rest == key || rest.strip_prefix(key).is_some_and(|after| after.starts_with('.'))
            })
        }) || self.layers.iter().any(|layer| layer.get(key).is_some())
    }

    /// Whether the matrix sets a key.
    pub fn crossed(&self, key: &str) -> bool {
        self.reader.point.paths.iter().any(|crossed| crossed.path.strip_prefix(&*self.prefix) == Some(key))
    }

    /// Whether a key is given in the top layer or by the matrix, not only among the defaults: defaults need not suit
    /// every workload.
    pub fn own(&self, key: &str) -> bool {
        self.crossed(key) || self.layers.first().is_some_and(|layer| layer.get(key).is_some())
    }

    /// The place of a key, for faults about it as a whole.
    pub fn place_of(&self, key: &str) -> Place {
        self.get(key).map_or(self.place, |node| node.place)
    }

    /// The maps below a key, merged key by key. `scalar` is the key that a bare value stands for.
    pub fn below(&self, key: &str, what: impl Into<String>, scalar: Option<&str>) -> Fields<'r> {
        let mut layers = Vec::new();
        let mut place = self.place;
        let path = format!("{}{key}", self.prefix);
        let mut paths = self.reader.point.paths.iter();
        let crossed = paths.find(|crossed| *crossed.path == *path).map(|crossed| &crossed.node);
        for layer in crossed.into_iter().chain(self.layers.iter().filter_map(|layer| layer.get(key))) {
            let Some(node) = self.reader.resolve(layer) else { continue };
            if place == self.place {
                place = node.place;
            }
            match (&node.value, scalar) {
                (Value::Scalar(_), Some(name)) => {
                    let place = node.place;
                    let entry = Entry { key: name.into(), key_place: place, node };
                    layers.push(Node::map(place, vec![entry]));
                }
                _ => layers.push(node),
            }
        }
        Fields::new(self.reader, what, &format!("{path}."), place, layers)
    }

    /// The entries of all layers.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.layers.iter().flat_map(Node::entries)
    }

    /// Reports every unknown key.
    pub fn check_keys(&self, known: &[Key]) {
        self.check_keys_with(known, |_| None);
    }

    /// The same, where `instead` maps some words to what to write in their place.
    pub fn check_keys_with(&self, known: &[Key], instead: impl Fn(&str) -> Option<String>) {
        for entry in self.entries() {
            if known.iter().any(|key| key.name == &*entry.key) {
                continue;
            }
            let hint =
                instead(&entry.key).unwrap_or_else(|| hint(&entry.key, known.iter().map(|key| key.name)));
            let text = format!("{} has no key {:?}", self.what, entry.key);
            self.reader.log.fault(entry.key_place, text, hint);
        }
    }

    pub fn size(&self, key: &str, default: u64) -> u64 {
        self.get(key).and_then(|node| self.reader.size(&node)).unwrap_or(default)
    }

    pub fn seconds(&self, key: &str, default: f64) -> f64 {
        self.get(key).and_then(|node| self.reader.seconds(&node)).unwrap_or(default)
    }

    pub fn share(&self, key: &str, default: f64) -> f64 {
        self.get(key).and_then(|node| self.reader.share(&node)).unwrap_or(default)
    }

    pub fn flag(&self, key: &str, default: bool) -> bool {
        self.get(key).and_then(|node| self.reader.flag(&node)).unwrap_or(default)
    }

    pub fn integer(&self, key: &str, least: u64, most: u64, default: u64) -> u64 {
        self.get(key).and_then(|node| self.reader.integer(&node, least, most)).unwrap_or(default)
    }

    /// A count within limits.
    pub fn count(&self, key: &str, least: u32, most: u32, default: u32) -> u32 {
        let value = self.integer(key, least.into(), most.into(), default.into());
        u32::try_from(value).unwrap_or(most)
    }

    pub fn choice(&self, key: &str, words: &[&'static str], default: &'static str) -> &'static str {
        self.get(key)
            .and_then(|node| self.reader.choice(&node, &format!("value of {key}"), words))
            .unwrap_or(default)
    }

    /// Reports a fault about a key.
    pub fn fault(&self, key: &str, text: impl Into<String>, hint: impl Into<String>) {
        match self.get(key) {
            Some(node) => self.reader.fault(&node, text, hint),
            None => self.reader.log.fault(self.place, text, hint),
        }
    }
}
