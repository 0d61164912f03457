//! Schemas of stored records and comparisons, from the checked-in schemas of results.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::{Value, json};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

const RUN: &str = include_str!("../../../../../schemas/run.schema.json");
const COMPARISON: &str = include_str!("../../../../../schemas/comparison.schema.json");
const CALIBRATION: &str = include_str!("../../../../../schemas/calibration.schema.json");
const NETWORK: &str = include_str!("../../../../../schemas/network.schema.json");
const CHECK: &str = include_str!("../../../../../schemas/check.schema.json");

/// Documents that consist of one schema, by the names of their schemas here; their definitions have the name as a prefix.
const DOCUMENTS: [(&str, &str); 4] = [
    ("RunComparison", COMPARISON),
    ("CheckReport", CHECK),
    ("Calibration", CALIBRATION),
    ("NetworkReport", NETWORK),
];

/// Where schemas refer to each other in an OpenAPI document.
const COMPONENTS: &str = "#/components/schemas/";

/// Stands for a type that the schemas of results describe.
macro_rules! stored {
    ($($(#[$doc:meta])* $name:ident),*) => {$(
        $(#[$doc])*
        pub(crate) struct $name;

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                Ref::from_schema_name(stringify!($name)).into()
            }
        }

        impl ToSchema for $name {
            fn name() -> Cow<'static, str> {
                Cow::Borrowed(stringify!($name))
            }
        }
    )*};
}

stored!(
    /// `store::CellRecord`.
    CellRecord,
    /// `store::State`.
    State,
    /// `store::Validity`.
    Validity,
    /// `store::HostClock`.
    HostClock,
    /// `store::LostHost`.
    LostHost,
    /// What `manometer compare` prints as JSON.
    RunComparison,
    /// What a run that is no experiment found.
    RunResult
);

/// Adds the schemas that the document names and does not have.
pub(crate) fn add(document: &mut Value) {
    let run = parsed(RUN);
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        // Placeholders refer to themselves.
        schemas.retain(|name, schema| schema["$ref"] != format!("{COMPONENTS}{name}"));
    }
    loop {
        let mut named = BTreeSet::new();
        each_reference(document, &mut |reference| {
            named.extend(reference.strip_prefix(COMPONENTS).map(str::to_owned));
        });
        let known = &document["components"]["schemas"];
        let missing = named.into_iter().find(|name| known.get(name).is_none());
        let Some(name) = missing else { return };
        let of_document =
            DOCUMENTS.iter().find_map(|(title, text)| Some((*title, text, name.strip_prefix(title)?)));
        let schema = match of_document {
            Some((title, text, part)) => of_document_part(&parsed(text), title, part),
            None if name == "RunResult" => result(),
            None => of_run(&run, &name),
        };
        document["components"]["schemas"][name] = schema;
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("a checked-in schema is JSON")
}

/// A definition of the schema of runs.
fn of_run(schema: &Value, name: &str) -> Value {
    let mut found = schema["$defs"].get(name).cloned().expect("the schema of runs defines it");
    each_reference(&mut found, &mut |reference| *reference = reference.replace("#/$defs/", COMPONENTS));
    if name == "CellRecord"
        && let Some(cell) = found.as_object_mut()
    {
        // In a response, a cell has further fields.
        cell.remove("additionalProperties");
    }
    found
}

/// What a run that is no experiment found, by its kind.
fn result() -> Value {
    let reference = |name: &str| json!({ "$ref": format!("{COMPONENTS}{name}") });
    json!({ "oneOf": [reference("CheckReport"), reference("NetworkReport"), reference("Calibration"), reference("CleanUpResult")] })
}

/// The schema of a document (the part is empty), or one of its definitions with a capital letter: `Side`.
fn of_document_part(schema: &Value, title: &str, part: &str) -> Value {
    let mut found = match part {
        "" => {
            let kept = ["title", "type", "required", "properties", "additionalProperties"];
            let given = kept.iter().filter_map(|key| Some(((*key).to_owned(), schema.get(key)?.clone())));
            given.collect()
        }
        _ => {
            let definitions = schema["$defs"].as_object().into_iter().flatten();
            let own = definitions.into_iter().find(|(name, _)| capitalised(name) == part);
            own.map_or_else(|| json!(true), |(_, schema)| schema.clone())
        }
    };
    each_reference(&mut found, &mut |reference| {
        let name = reference.trim_start_matches("#/$defs/");
        *reference = format!("{COMPONENTS}{title}{}", capitalised(name));
    });
    found
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Calls `change` for every `$ref`.
fn each_reference(value: &mut Value, change: &mut impl FnMut(&mut String)) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                match inner {
                    Value::String(reference) if name == "$ref" => change(reference),
                    inner => each_reference(inner, change),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| each_reference(item, change)),
        _ => {}
    }
}
