//! YAML as a tree in which every key and value knows its place. Numbers, sizes and flags remain text: they are
//! interpreted where they are read, so that messages can repeat what the user wrote.

use std::collections::HashMap;
use std::rc::Rc;

use serde_saphyr::granit_parser::{Event, Parser, ScalarStyle, ScanError, Span};

use crate::place::{Log, Place};

/// Deeper nesting has no meaning here and would only risk a stack overflow.
const DEEPEST: usize = 24;

/// Maximum number of keys in a map.
const MOST_KEYS: usize = 10_000;

/// Maximum number of keys that `<<` copies in a file: aliases would otherwise make trees far larger than it.
const MOST_MERGED: usize = 100_000;

/// Maximum file size, in bytes.
pub(crate) const LARGEST_FILE: usize = 1 << 20;

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub place: Place,
    pub value: Value,
    /// The origin of a substituted value.
    pub note: Option<Rc<str>>,
}

/// Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// An empty value.
    Empty,
    Scalar(Rc<str>),
    List(Rc<Vec<Node>>),
    Map(Rc<Vec<Entry>>),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub key: Rc<str>,
    pub key_place: Place,
    pub node: Node,
}

impl Node {
    pub fn scalar(place: Place, text: &str) -> Self {
        Self { place, value: Value::Scalar(text.into()), note: None }
    }

    pub fn map(place: Place, entries: Vec<Entry>) -> Self {
        Self { place, value: Value::Map(Rc::new(entries)), note: None }
    }

    /// The entries of a map; empty for anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    /// The value of a key of a map.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.entries().iter().find(|entry| &*entry.key == key).map(|entry| &entry.node)
    }

    /// The value in one-line form, truncated if very long.
    pub fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match &self.value {
            Value::Empty => out.push('~'),
            Value::Scalar(text) => out.push_str(text),
            Value::List(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if cut(out) {
                        break;
                    }
                    out.push_str(if index == 0 { "" } else { ", " });
                    item.write(out);
                }
                out.push(']');
            }
            Value::Map(entries) => {
                out.push('{');
                for (index, entry) in entries.iter().enumerate() {
                    if cut(out) {
                        break;
                    }
                    out.push_str(if index == 0 { "" } else { ", " });
                    out.push_str(&entry.key);
                    out.push_str(": ");
                    entry.node.write(out);
                }
                out.push('}');
            }
        }
    }

    /// The same value with all places replaced: for texts from outside the file.
    pub fn at(&self, place: Place) -> Self {
        let value = match &self.value {
            Value::List(items) => Value::List(Rc::new(items.iter().map(|item| item.at(place)).collect())),
            Value::Map(entries) => Value::Map(Rc::new(
                entries
                    .iter()
                    .map(|entry| Entry {
                        key: entry.key.clone(),
                        key_place: place,
                        node: entry.node.at(place),
                    })
                    .collect(),
            )),
            other => other.clone(),
        };
        Self { place, value, note: self.note.clone() }
    }
}

/// Truncates long text and returns whether it did; aliases make trees far larger than their file.
fn cut(out: &mut String) -> bool {
    let long = out.len() > 400;
    if long && !out.ends_with('…') {
        out.push('…');
    }
    long
}

/// Parses a YAML document. `None` if it cannot be parsed at all, which the log then says; duplicate keys and the like
/// are logged, and parsing continues.
pub(crate) fn read(text: &str, log: &Log) -> Option<Node> {
    let mut builder = Builder { events: Parser::new_from_str(text), anchors: HashMap::new(), merged: 0, log };
    match builder.document() {
        Ok(node) => node,
        Err(stop) => {
            log.fault(stop.place, stop.text, stop.hint);
            None
        }
    }
}

struct Builder<'a, 'log> {
    events: Parser<'a, serde_saphyr::granit_parser::StrInput<'a>>,
    anchors: HashMap<usize, Node>,
    /// Number of keys that `<<` copied.
    merged: usize,
    log: &'log Log,
}

/// What stops parsing.
struct Stop {
    place: Place,
    text: String,
    hint: String,
}

impl From<ScanError> for Stop {
    fn from(error: ScanError) -> Self {
        let marker = error.marker();
        let place = Place {
            origin: 0,
            line: number(marker.line()).max(1),
            column: number(marker.col()).saturating_add(1),
            length: 1,
        };
        let (text, hint) = in_our_words(&error.info());
        Self { place, text, hint: hint.into() }
    }
}

/// The parser's message in words for people who do not know its grammar, and the hint.
fn in_our_words(info: &str) -> (String, &'static str) {
    let known: [(&[&str], &str, &str); 6] = [
        (&["tab"], "a tab stands before this", "indent with blanks: YAML allows no tabs there"),
        (
            &["unknown anchor"],
            "this alias has no anchor before it",
            "write &name at the value that *name repeats; quote a text that begins with *",
        ),
        (
            &["quoted scalar", "unclosed quote", "end quote"],
            "a quote before this is not closed",
            "close it with the same quote; within '…' a ' is written twice",
        ),
        (
            &["flow mapping", "flow sequence", "flow collection", "implicit flow", "unclosed bracket"],
            "a value is missing here, or a bracket before it is not closed",
            "separate the parts within [ ] and { } by commas, and close both",
        ),
        (
            &["mapping values are not allowed", "simple key", "mapping key"],
            "there can be no key here",
            "indent the keys of one map alike; put a text that holds a colon and a blank in quotes",
        ),
        (
            &["indent", "block mapping", "block sequence", "block entr"],
            "the indentation does not fit what stands before",
            "indent the keys of one map, or the items of one list, alike",
        ),
    ];
    match known.iter().find(|(words, ..)| words.iter().any(|word| info.contains(word))) {
        Some((_, text, hint)) => ((*text).to_owned(), hint),
        None => (
            format!("this is not YAML: {info}"),
            "check this line and the one before it: keys end in a colon and a blank, brackets and quotes are closed",
        ),
    }
}

fn number(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// The place of an event; if it spans several lines, the rest of its first.
fn place(span: &Span) -> Place {
    let length = if span.start.line() == span.end.line() {
        span.end.col().saturating_sub(span.start.col())
    } else {
        usize::MAX
    };
    Place {
        origin: 0,
        line: number(span.start.line()).max(1),
        column: number(span.start.col()).saturating_add(1),
        length: number(length).max(1),
    }
}

impl<'a> Builder<'a, '_> {
    fn next(&mut self) -> Result<(Event<'a>, Place), Stop> {
        loop {
            match self.events.next_event() {
                Some(Ok((Event::Comment(..), _))) => {}
                Some(Ok((event, span))) => return Ok((event, place(&span))),
                Some(Err(error)) => return Err(error.into()),
                None => return Ok((Event::StreamEnd, Place::START)),
            }
        }
    }

    fn document(&mut self) -> Result<Option<Node>, Stop> {
        let mut root = None;
        loop {
            let (event, at) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(root),
                Event::StreamStart | Event::DocumentStart(..) | Event::DocumentEnd => {}
                _ if root.is_some() => {
                    return Err(Stop {
                        place: at,
                        text: "a second document begins here".into(),
                        hint: "write one experiment a file, and no --- between its parts".into(),
                    });
                }
                event => root = Some(self.node(event, at, 0)?),
            }
        }
    }

    fn node(&mut self, event: Event<'a>, at: Place, depth: usize) -> Result<Node, Stop> {
        if depth > DEEPEST {
            return Err(Stop {
                place: at,
                text: format!("this is nested more than {DEEPEST} deep"),
                hint: "no part of an experiment is nested so deep".into(),
            });
        }
        let (anchor, value) = match event {
            Event::Scalar(text, style, anchor, _) => {
                let nothing = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null");
                (anchor, if nothing { Value::Empty } else { Value::Scalar(text.as_ref().into()) })
            }
            Event::SequenceStart(_, anchor, _) => {
                let mut items = Vec::new();
                loop {
                    match self.next()? {
                        (Event::SequenceEnd, _) => break,
                        (event, at) => items.push(self.node(event, at, depth + 1)?),
                    }
                }
                (anchor, Value::List(Rc::new(items)))
            }
            Event::MappingStart(_, anchor, _) => (anchor, Value::Map(Rc::new(self.map(depth)?))),
            Event::Alias(anchor) => {
                // An anchor is not yet defined inside itself.
                let Some(node) = self.anchors.get(&anchor) else {
                    return Err(Stop {
                        place: at,
                        text: "this alias stands inside of what it names".into(),
                        hint: "move the anchor (&name) to a value before".into(),
                    });
                };
                return Ok(node.clone());
            }
            _ => (0, Value::Empty),
        };
        let node = Node { place: at, value, note: None };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn map(&mut self, depth: usize) -> Result<Vec<Entry>, Stop> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut merged: Vec<Entry> = Vec::new();
        // The line of each key.
        let mut given: HashMap<Rc<str>, u32> = HashMap::new();
        for count in 1.. {
            let (event, key_place) = self.next()?;
            if event == Event::MappingEnd {
                break;
            }
            if count > MOST_KEYS {
                return Err(Stop {
                    place: key_place,
                    text: format!("this map has more than {MOST_KEYS} keys"),
                    hint: "no part of an experiment has so many".into(),
                });
            }
            let key = self.node(event, key_place, depth + 1)?;
            let (event, at) = self.next()?;
            let node = self.node(event, at, depth + 1)?;
            let key = match key.value {
                Value::Scalar(key) => key,
                _ => {
                    self.log.fault(key_place, "a key must be a word", "write key: value");
                    continue;
                }
            };
            if &*key == "<<" {
                self.merge(&node, &mut merged)?;
            } else if let Some(first) = given.get(&key) {
                self.log.fault(
                    key_place,
                    format!("{key:?} is given twice; the first is in line {first}"),
                    "remove one of the two",
                );
            } else {
                given.insert(key.clone(), key_place.line);
                entries.push(Entry { key, key_place, node });
            }
        }
        // The first of several merged maps counts.
        for entry in merged {
            if given.insert(entry.key.clone(), entry.key_place.line).is_none() {
                entries.push(entry);
            }
        }
        Ok(entries)
    }

    /// `<<: *name`: merges the entries of another map, unless they are given here.
    fn merge(&mut self, node: &Node, merged: &mut Vec<Entry>) -> Result<(), Stop> {
        let maps: &[Node] = match &node.value {
            Value::List(items) => items,
            _ => std::slice::from_ref(node),
        };
        for map in maps {
            if !matches!(map.value, Value::Map(_)) {
                self.log.fault(
                    node.place,
                    "<< takes the keys of a map",
                    "write <<: *name, with &name at a map",
                );
                return Ok(());
            }
            self.merged += map.entries().len();
            if self.merged > MOST_MERGED {
                return Err(Stop {
                    place: node.place,
                    text: format!("<< copies more than {MOST_MERGED} keys in this file"),
                    hint: "write what several maps share once, above them".into(),
                });
            }
            merged.extend_from_slice(map.entries());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str) -> Node {
        let log = Log::default();
        let node = read(text, &log);
        assert!(log.is_clean(), "{}", log.into_faults("f", text));
        node.unwrap()
    }

    #[test]
    fn every_key_and_value_knows_its_place() {
        let node = tree("# a comment\na:\n  b: [1, 'two']\nc: {d: 4 KiB}\n");
        assert_eq!(node.text(), "{a: {b: [1, two]}, c: {d: 4 KiB}}");
        let d = node.get("c").unwrap().get("d").unwrap();
        assert_eq!(d.place, Place { origin: 0, line: 4, column: 8, length: 5 });
        let Value::List(items) = &node.get("a").unwrap().get("b").unwrap().value else { panic!() };
        assert_eq!(items[1].place, Place { origin: 0, line: 3, column: 10, length: 5 });
        assert_eq!(node.entries()[1].key_place, Place { origin: 0, line: 4, column: 1, length: 1 });
    }

    #[test]
    fn anchors_aliases_and_merges_share_values() {
        let node = tree("base: &base {a: 1, b: 2}\nx: {<<: *base, b: 3}\ny: *base\n");
        assert_eq!(node.get("x").unwrap().text(), "{b: 3, a: 1}");
        assert_eq!(node.get("y").unwrap().text(), "{a: 1, b: 2}");
    }

    #[test]
    fn a_bomb_of_aliases_stays_small() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..20 {
            let before = format!("*a{}", level - 1);
            text.push_str(&format!("a{level}: &a{level} [{}]\n", vec![before; 10].join(", ")));
        }
        assert!(tree(&text).text().len() < 1000);
    }

    #[test]
    fn maps_and_merges_are_bounded() {
        let large: String = (0..9_000).map(|n| format!("  k{n}: 1\n")).collect();
        for text in [
            "? a\n".repeat(250_000),
            (0..120_000).map(|n| format!("k{n}:\n")).collect(),
            format!("a: &a\n{large}b: {{<<: [{}]}}\n", vec!["*a"; 100_000].join(", ")),
            format!("a: &a\n{large}b:\n{}", "  - {<<: *a}\n".repeat(50_000)),
        ] {
            let log = Log::default();
            assert!(read(&text, &log).is_none() && log.count() > 0, "{text:.20}");
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        for text in ["[".repeat(100_000), "a: ".to_owned() + &"{a: ".repeat(500), "- ".repeat(3000)] {
            let log = Log::default();
            assert!(read(&text, &log).is_none());
            assert_eq!(log.count(), 1);
        }
    }
}
