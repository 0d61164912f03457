//! An experiment as a person would write it: short maps on one line, sizes and times with units, no defaults.

use serde::Serialize;
use units::{Share, Size, Span};

use crate::brief::scalar;
use crate::job::{BlockSizes, Job, JobFiles, Layout, Pattern, Queue, Region};
use crate::place::Log;
use crate::tree::{self, Node, Value};

/// Maximum line length, in characters.
const LONGEST_LINE: usize = 100;

/// A part of the file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Form {
    /// A text, a number, a flag; `None` for an empty value.
    Scalar(Option<String>),
    List(Vec<Form>),
    Map(Vec<(String, Form)>),
}

impl Form {
    /// Converts a serialisable value.
    pub fn of(value: &impl Serialize) -> Option<Form> {
        let text = serde_saphyr::to_string(value).ok()?;
        tree::read(&text, &Log::default()).as_ref().map(Form::of_node)
    }

    pub fn text(text: impl Into<String>) -> Form {
        Form::Scalar(Some(text.into()))
    }

    fn of_node(node: &Node) -> Form {
        match &node.value {
            Value::Empty => Form::Scalar(None),
            Value::Scalar(text) => Form::text(&**text),
            Value::List(items) => Form::List(items.iter().map(Form::of_node).collect()),
            Value::Map(entries) => {
                let pair = |entry: &tree::Entry| (entry.key.to_string(), Form::of_node(&entry.node));
                Form::Map(entries.iter().map(pair).collect())
            }
        }
    }

    /// The entries of a map.
    pub fn entries(&mut self) -> &mut Vec<(String, Form)> {
        if !matches!(self, Form::Map(_)) {
            *self = Form::Map(Vec::new());
        }
        match self {
            Form::Map(entries) => entries,
            _ => unreachable!("it was made a map"),
        }
    }

    /// The value of a key, if this is a map that contains it.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Form> {
        match self {
            Form::Map(entries) => entries.iter_mut().find(|entry| entry.0 == key).map(|entry| &mut entry.1),
            _ => None,
        }
    }

    /// Whether this is a map without entries.
    pub fn is_empty(&self) -> bool {
        matches!(self, Form::Map(entries) if entries.is_empty())
    }

    /// Removes everything that equals the default.
    fn prune(&mut self, usual: &Form) {
        let (Form::Map(entries), Form::Map(usual)) = (self, usual) else { return };
        entries.retain_mut(|(key, form)| match usual.iter().find(|other| other.0 == *key) {
            Some((_, usual)) if form == usual => false,
            Some((_, usual)) => {
                form.prune(usual);
                !form.is_empty()
            }
            None => true,
        });
    }

    /// As YAML in one line.
    fn one_line(&self) -> String {
        let list = |parts: Vec<String>| parts.join(", ");
        match self {
            Form::Scalar(None) => "~".to_owned(),
            Form::Scalar(Some(text)) if text.parse::<f64>().is_ok() => text.clone(),
            Form::Scalar(Some(text)) => scalar(text),
            Form::List(items) => format!("[{}]", list(items.iter().map(Form::one_line).collect())),
            Form::Map(entries) => {
                let pair = |(key, form): &(String, Form)| format!("{}: {}", scalar(key), form.one_line());
                format!("{{{}}}", list(entries.iter().map(pair).collect()))
            }
        }
    }

    /// As YAML; maps on the first `open` levels get one line per key.
    pub fn write(&self, indent: usize, open: usize, out: &mut String) {
        let Form::Map(entries) = self else { return };
        for (key, form) in entries {
            let line = format!("{:indent$}{}: {}", "", scalar(key), form.one_line());
            let is_long = line.chars().count() > LONGEST_LINE;
            match form {
                Form::Map(entries) if !entries.is_empty() && (open > 1 || is_long) => {
                    out.push_str(&format!("{:indent$}{}:\n", "", scalar(key)));
                    form.write(indent + 2, open.saturating_sub(1), out);
                }
                Form::List(items) if is_long => {
                    out.push_str(&format!("{:indent$}{}:\n", "", scalar(key)));
                    for item in items {
                        out.push_str(&format!("{:indent$}- {}\n", "", item.one_line()));
                    }
                }
                _ => {
                    out.push_str(&line);
                    out.push('\n');
                }
            }
        }
    }
}

/// Job keys whose whole numbers are bytes.
const BYTES: &[&str] = &[
    "bytes",
    "most_bytes",
    "fixed",
    "least",
    "most",
    "offset_align",
    "range",
    "skip",
    "interval_bytes",
    "header_offset",
    "chunk_bytes",
    "align",
];
/// Job keys that are sizes or percentages.
const AMOUNTS: &[&str] = &["offset", "offset_increment", "size", "io_bytes", "length"];
/// Job keys that are numbers of any kind.
const NUMBERS: &[&str] =
    &["bytes-per-s", "ops-per-s", "percent", "percentile", "compress_percent", "dedupe_percent"];
/// Job keys with a value per direction, in bytes.
const BYTES_EACH: &[&str] = &["sizes", "align"];

/// A job without defaults and with units.
pub(crate) fn of_job(job: &Job) -> Option<Form> {
    let mut form = Form::of(job)?;
    let files = JobFiles { layout: Layout { create: false, ..Layout::default() }, ..JobFiles::default() };
    // A layout is written only if it differs: this one does, and so shows all its keys.
    let mut usual_files = Form::of(&files)?;
    if let Some(create) = usual_files.get_mut("layout").and_then(|layout| layout.get_mut("create")) {
        *create = Form::text("true");
    }
    let usual = [
        ("files", usual_files),
        ("region", Form::of(&Region::default())?),
        ("pattern", Form::of(&Pattern::default())?),
        ("block_sizes", Form::of(&BlockSizes::default())?),
        ("queue", Form::of(&Queue::default())?),
        ("check", Form::Map(vec![("after_writes".to_owned(), Form::text("true"))])),
    ];
    for (key, usual) in &usual {
        if let Some(part) = form.get_mut(key) {
            part.prune(usual);
        }
    }
    // Only `check` has an effect as a bare key.
    form.entries().retain(|(key, form)| key == "check" || !form.is_empty());
    with_units(&mut form, "", "");
    Some(form)
}

/// Writes sizes and times in their usual units: they parse back to the same value, or stay numbers.
fn with_units(form: &mut Form, key: &str, parent: &str) {
    match form {
        Form::Scalar(Some(text)) => {
            let bytes = BYTES.contains(&key) || BYTES_EACH.contains(&parent);
            if bytes && let Ok(number) = text.parse::<u64>() {
                *text = Size(number).to_string();
            } else if key.ends_with("_s")
                && let Some(span) = text.parse().ok().and_then(exact_span)
            {
                *text = span;
            } else if NUMBERS.contains(&key)
                && let Some(whole) = text.strip_suffix(".0")
            {
                *text = whole.to_owned();
            }
        }
        Form::Scalar(None) => {}
        Form::List(items) => items.iter_mut().for_each(|item| with_units(item, key, parent)),
        Form::Map(entries) => {
            entries.iter_mut().for_each(|(own, form)| with_units(form, own, key));
            if let [(kind, Form::Scalar(Some(value)))] = entries.as_slice() {
                let short = match &**kind {
                    "bytes" if AMOUNTS.contains(&key) => Some(value.clone()),
                    "percent" if AMOUNTS.contains(&key) => Some(format!("{value}%")),
                    "fixed" if BYTES_EACH.contains(&parent) => Some(value.clone()),
                    _ => None,
                };
                if let Some(short) = short {
                    *form = Form::text(short);
                }
            }
        }
    }
}

/// Seconds as a duration that parses back to the same number.
pub(crate) fn exact_span(seconds: f64) -> Option<String> {
    let text = Span(std::time::Duration::try_from_secs_f64(seconds).ok()?).to_string();
    let again = text.parse::<Span>().ok()?.duration().as_secs_f64();
    (again == seconds).then_some(text)
}

/// A share in percent that parses back to the same number, otherwise the number.
pub(crate) fn share(value: f64) -> String {
    let percent = Share::new(value).map(|share| share.to_string());
    let same = |text: &String| text.parse::<Share>().is_ok_and(|again| again.value() == value);
    percent.filter(same).unwrap_or_else(|| value.to_string())
}
