//! The JSON Schema of experiment files (draft 2020-12), for editors that complete and check YAML. It is generated from
//! the same tables that the reader uses. What depends on the whole file (shares that add up, names that exist) is left
//! to [`parse`](crate::parse).

mod accounting;
mod fleet;
mod provision;

use metrics::OpKind;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::job::Job;
use crate::kind::TargetKind;
use crate::known::{self, Form, Key};
use crate::option::{OptionHelp, OptionKind};
use crate::pass::Pass;
use crate::plan::ConcurrentCells;

/// Anything with a parameter: its value is known only when it is read.
const PARAMETER: &str = r"\$\{[^}]+\}";

/// The JSON Schema of experiment files with these kinds of targets, as in `schemas/experiment.schema.json`.
pub fn schema(kinds: &[&'static TargetKind]) -> Value {
    let mut top = object(known::FILE, &["targets", "workloads"]);
    let fields = top.as_object_mut().expect("an object was made");
    fields.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
    fields.insert("title".into(), json!("manometer experiment"));
    fields.insert(
        "description".into(),
        json!(
            "What `manometer run` carries out: targets, workloads, and the matrix that crosses their keys."
        ),
    );
    let mut all = definitions(kinds);
    let jobs = all.as_object_mut().expect("an object was made");
    jobs.extend(fleet::definitions());
    jobs.extend(accounting::definitions());
    jobs.extend(provision::definitions());
    jobs.extend(sizes());
    for (name, schema) in [
        ("job", of_type::<Job>(jobs)),
        ("pass", of_type::<Pass>(jobs)),
        ("group", of_type::<ConcurrentCells>(jobs)),
    ] {
        jobs.insert(name.into(), schema);
    }
    fields.insert("$defs".into(), all);
    top
}

/// The schema of a deserialisable type; the types that it uses are added to the definitions. Numbers may have units,
/// and anything may be a parameter.
fn of_type<T: JsonSchema>(definitions: &mut Map<String, Value>) -> Value {
    let mut schema = SchemaGenerator::default().into_root_schema_for::<T>().to_value();
    let fields = schema.as_object_mut().expect("a struct is an object");
    fields.remove("$schema");
    fields.remove("title");
    let parts = fields.remove("$defs");
    allow_units(&mut schema);
    for (name, mut part) in
        parts.iter().flat_map(Value::as_object).flatten().map(|(n, v)| (n.clone(), v.clone()))
    {
        allow_units(&mut part);
        definitions.insert(name, part);
    }
    schema
}

/// Allows a size for a whole number, a duration for any other number, and a parameter for a flag.
fn allow_units(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(allow_units),
        Value::Object(fields) => {
            let unit = match fields.get("type").and_then(Value::as_str) {
                Some("integer") => Some("size"),
                Some("number") => Some("span"),
                Some("boolean") => Some("flag"),
                _ => None,
            };
            if let Some(unit) = unit {
                let mut plain = std::mem::take(fields);
                let about = plain.remove("description");
                // A type's memory layout means nothing to authors of files.
                plain.remove("format");
                plain.remove("default");
                fields.insert("anyOf".into(), json!([plain, reference(unit)]));
                fields.extend(about.map(|about| ("description".to_owned(), about)));
                return;
            }
            fields.values_mut().for_each(allow_units);
        }
        _ => {}
    }
}

/// A map of these keys to shares.
fn share_of(keys: Value) -> Value {
    json!({"type": "object", "propertyNames": keys, "additionalProperties": reference("share"), "minProperties": 1})
}

/// Sizes of files and objects.
fn sizes() -> [(String, Value); 3] {
    [
        ("file_size", json!({"anyOf": [reference("size"), object(known::SIZES, &[])]})),
        ("lognormal", object(known::LOGNORMAL, &["median", "sigma"])),
        ("size_shares", share_of(json!({"type": "string"}))),
    ]
    .map(|(name, schema)| (name.to_owned(), schema))
}

/// All named definitions.
fn definitions(kinds: &[&'static TargetKind]) -> Value {
    let op_names: Vec<_> = OpKind::ALL.iter().map(|kind| kind.name()).collect();
    let one_of_keys = |pairs: Vec<(&str, Value)>| {
        let properties: Map<String, Value> =
            pairs.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
        json!({"type": "object", "properties": properties, "additionalProperties": false, "minProperties": 1, "maxProperties": 1})
    };
    let list = |items: Value| json!({"type": "array", "items": items, "minItems": 1});
    json!({
        "text": {"type": ["string", "number", "boolean"]},
        "parameter": {"type": "string", "pattern": PARAMETER},
        "size": unit(r"^\s*[0-9.]+\s*([KkMmGgTtPp]([Ii]?[Bb])?|[KkMmGgTtPp][Ii]|[Bb])?\s*$", "a size such as 4KiB, 8M or 1 GB"),
        "span": unit(r"^\s*(0|([0-9.]+\s*(d|h|m|min|s|sec|ms|us|µs|μs|ns)\s*)+)\s*$", "a duration such as 30s, 1m30s or 250ms"),
        "rate_value": unit(r"^\s*[0-9.]+\s*[KkMmGg]?\s*(ops)?/s\s*$", "operations a second, such as 350/s, 10k/s or 1.2M/s"),
        "share": {"description": "a share such as 80% or 0.8", "anyOf": [
            {"type": "number", "minimum": 0, "maximum": 1},
            {"type": "string", "pattern": r"^\s*[0-9.]+\s*%?\s*$"},
            reference("parameter"),
        ]},
        "flag": {"anyOf": [{"type": "boolean"}, {"enum": ["true", "false"]}, reference("parameter")]},
        "count": {"anyOf": [
            {"type": "integer", "minimum": 0}, {"type": "string", "pattern": "^[0-9_]+$"}, reference("parameter"),
        ]},
        "number": {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^[0-9.eE+-]+$"}, reference("parameter")]},
        "name": {"pattern": "^[A-Za-z0-9_-]{1,64}$"},
        "gate": {"description": "a condition such as read.bandwidth >= 3 GB/s, write.p99 <= 5 ms or errors == 0",
            "anyOf": [{"type": "string", "pattern": r"^\s*([a-z-]+\s*\.\s*)?(bandwidth|bw|rate|iops|mean|max|errors|p[0-9.]+)\s*(>=|<=|==|>|<)\s*\S"}, reference("parameter")]},
        "parameters": {"type": ["object", "null"], "propertyNames": {"pattern": "^[A-Za-z_][A-Za-z0-9_]{0,63}$"}},
        "targets": {"type": "object", "minProperties": 1, "propertyNames": reference("name"), "additionalProperties": reference("target")},
        "target": target(kinds),
        "workloads": {"type": "object", "minProperties": 1, "propertyNames": reference("name"),
            "additionalProperties": reference("workload")},
        "workload": object(known::WORKLOAD, &[]),
        "ops": {"anyOf": [{"enum": op_names}, share_of(json!({"enum": op_names})), reference("parameter")]},
        "block_size": {"anyOf": [reference("size"), share_of(json!({"type": "string"}))]},
        "files": {"anyOf": [
            {"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^[0-9_]+$"}, reference("parameter"),
            object(known::FILES, &[]),
        ]},
        "file_names": {"anyOf": [list(reference("text")), reference("FileNames"), reference("parameter")]},
        "access": {"anyOf": [
            {"enum": known::ACCESS.iter().filter(|name| **name != "strided").collect::<Vec<_>>()},
            one_of_keys(vec![
                ("zipf", reference("number")),
                ("pareto", reference("number")),
                ("hotspot", object(known::HOTSPOT, &[])),
                ("strided", reference("size")),
            ]),
            reference("parameter"),
        ]},
        "rate": {"anyOf": [
            {"enum": ["none", "poisson"]},
            reference("rate_value"),
            one_of_keys(vec![
                ("constant", reference("rate_value")),
                ("poisson", reference("rate_value")),
                ("ramp", object(known::RAMP, &["from", "to", "over"])),
                ("steps", list(object(known::STEP, &["rate", "for"]))),
                ("times", list(object(known::TIME, &["at", "rate"]))),
            ]),
        ]},
        "rates": {"anyOf": [{"const": "auto"}, list(reference("rate_value")), reference("parameter")]},
        "numbers": {"description": "numbers and ranges such as 0-7,16", "anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string", "pattern": r"^\s*[0-9]+(\s*[-,]\s*[0-9]+)*\s*$"},
            list(json!({"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string", "pattern": r"^\s*[0-9]+(\s*[-,]\s*[0-9]+)*\s*$"}, reference("parameter")]})),
            reference("parameter"),
        ]},
        "placement": {"anyOf": [
            {"type": "integer", "minimum": 0},
            {"type": "string", "pattern": r"^\s*[0-9]+(\s*[-,]\s*[0-9]+)*\s*$"},
            reference("parameter"),
            object(known::PLACEMENT, &[]),
        ]},
        "think": {"anyOf": [reference("span"), object(known::THINK, &["pause"])]},
        "find": {"anyOf": [reference("gate"), object(known::FIND, &["goal"])]},
        "sweep": {"anyOf": [reference("rates"), object(known::SWEEP, &[])]},
        "stages": or_nothing(object(known::STAGES, &[])),
        "measure": {"anyOf": [reference("span"), or_nothing(object(known::MEASURE, &[]))]},
        "steady": {"anyOf": [
            {"enum": known::STEADY},
            one_of_keys(vec![
                ("default", object(known::STEADY_DEFAULT, &[])),
                ("sustained", object(known::STEADY_SUSTAINED, &[])),
                ("snia", object(known::STEADY_SNIA, &[])),
                ("storperf", object(known::STEADY_STORPERF, &[])),
                ("fio", object(known::STEADY_FIO, &[])),
            ]),
            reference("parameter"),
        ]},
        "gates": {"anyOf": [reference("gate"), list(reference("gate"))]},
        "errors": {"anyOf": [{"enum": ["continue", "stop"]}, object(known::ERRORS, &["stop_cell_after"]), reference("parameter")]},
        "defaults": or_nothing(object(known::WORKLOAD, &[])),
        "axes": or_nothing(axes(false)),
        "matrix": or_nothing(axes(true)),
    })
}

/// A value with a unit: also a bare number where that has a meaning, and anything with a parameter.
fn unit(pattern: &str, about: &str) -> Value {
    json!({"description": about, "anyOf": [
        {"type": "integer", "minimum": 0},
        {"type": "string", "pattern": pattern},
        reference("parameter"),
    ]})
}

fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// A map with exactly these keys.
fn object(keys: &[Key], required: &[&str]) -> Value {
    let properties: Map<String, Value> =
        keys.iter().map(|key| (key.name.to_owned(), property(key))).collect();
    let mut out = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        out["required"] = json!(required);
    }
    out
}

/// A section of which keys that have no default exclude each other.
fn one_of(keys: &[Key]) -> Value {
    let mut out = object(keys, &[]);
    for property in out["properties"].as_object_mut().into_iter().flatten().map(|(_, property)| property) {
        let text = property["description"].as_str().unwrap_or("").replace(" (required)", "");
        property["description"] = json!(text);
    }
    out
}

/// Also allows an empty section.
fn or_nothing(mut object: Value) -> Value {
    object["type"] = json!(["object", "null"]);
    object
}

/// The schema of a key's value, with description and default.
fn property(key: &Key) -> Value {
    let mut out = match key.form {
        Form::Text => reference("text"),
        Form::Flag => reference("flag"),
        Form::Count(0) => reference("count"),
        Form::Count(least) => {
            json!({"anyOf": [
                {"type": "integer", "minimum": least}, {"type": "string", "pattern": "^[0-9_]+$"}, reference("parameter"),
            ]})
        }
        Form::Size => reference("size"),
        Form::Span => reference("span"),
        Form::SpanOrNone => json!({"anyOf": [reference("span"), {"const": "none"}]}),
        Form::Share => reference("share"),
        Form::Rate => reference("rate_value"),
        Form::Choice(words) => choice(words),
        Form::Named(name) => reference(name),
    };
    let default =
        if key.default.is_empty() { "required".into() } else { format!("default: {}", key.default) };
    out["description"] = json!(format!("{} ({default})", key.about));
    out
}

/// One of a set of words, with dashes or underscores, or a parameter.
fn choice(words: &[&str]) -> Value {
    let mut all: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    all.extend(words.iter().filter(|word| word.contains('_')).map(|word| word.replace('_', "-")));
    json!({"anyOf": [{"enum": all}, reference("parameter")]})
}

/// A URL, or a map of a URL and the options of any kind of target.
fn target(kinds: &[&'static TargetKind]) -> Value {
    let mut properties = Map::new();
    let schemes: Vec<_> = kinds.iter().map(|kind| kind.scheme).collect();
    let examples: Vec<_> = kinds.iter().map(|kind| kind.example).collect();
    let url = json!({
        "description": "what is loaded",
        "examples": examples,
        "anyOf": [{"type": "string", "pattern": format!("^({}):", schemes.join("|"))}, reference("parameter")],
    });
    properties.insert("url".into(), url.clone());
    properties.insert("accounting".into(), reference("accounting"));
    properties.insert("provision".into(), reference("provision"));
    for kind in kinds {
        for help in kind.options {
            let having = kinds.iter().filter(|kind| kind.option(help.name).is_some());
            let schemes: Vec<_> = having.map(|kind| kind.scheme).collect();
            properties.entry(help.name).or_insert_with(|| option(help, &schemes));
        }
    }
    json!({"anyOf": [
        url,
        {"type": "object", "properties": properties, "required": ["url"], "additionalProperties": false},
    ]})
}

fn option(help: &OptionHelp, kinds: &[&str]) -> Value {
    let mut out = match help.kind {
        OptionKind::Flag => reference("flag"),
        OptionKind::Count { .. } => reference("count"),
        OptionKind::Bytes { .. } => reference("size"),
        OptionKind::Span => reference("span"),
        OptionKind::Share => reference("share"),
        OptionKind::Choice(words) => choice(words),
        OptionKind::Text => reference("text"),
    };
    if help.kind != OptionKind::Text {
        out = json!({"anyOf": [out, reference("variable")]});
    }
    out["description"] = json!(format!("{}: {} (default: {})", kinds.join(", "), help.about, help.default));
    out
}

/// A matrix: parameters can be crossed too, so any name is allowed, but each needs a list.
fn axes(whole: bool) -> Value {
    let mut properties = Map::new();
    if whole {
        properties = known::MATRIX.iter().map(|key| (key.name.to_owned(), property(key))).collect();
    }
    let crossable = known::WORKLOAD.iter().filter(|key| {
        !matches!(key.name, "stages" | "gates" | "matrix" | "scale" | "job" | "pass" | "group")
    });
    for key in crossable {
        let items = property(key);
        let list = json!({"type": "array", "minItems": 1, "items": items});
        properties.insert(key.name.to_owned(), json!({"anyOf": [list, reference("parameter")]}));
    }
    json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": {"anyOf": [{"type": "array", "minItems": 1}, reference("parameter")]},
    })
}
