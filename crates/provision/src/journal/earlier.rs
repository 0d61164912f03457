//! Resources in the form of journal format 1, in which each protocol's places had a kind of their own.

use std::path::Path;

use serde::{Deserialize, Deserializer, de::Error};
use serde_json::Value;

use super::place::{Container, RecordedPlace};
use super::record::Resource;

/// Parses a resource of this format or an earlier one.
pub(super) fn resource<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Resource, D::Error> {
    let mut value = Value::deserialize(deserializer)?;
    let place = match value.get("kind").and_then(Value::as_str) {
        Some("directory") => directory(&value),
        Some("objects") => objects(&value),
        Some("local-directory") => local_directory(&value),
        _ => return serde_json::from_value(value).map_err(D::Error::custom),
    };
    let mut place = place.map_err(D::Error::custom)?;
    if let Some(fields) = value.as_object_mut() {
        fields.remove("kind");
    }
    place.place = value;
    Ok(Resource::Place(place))
}

/// A record lacks a text field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no text \"{0}\"")]
struct NoText(&'static str);

/// A text field of a record.
fn text<'a>(value: &'a Value, field: &'static str) -> Result<&'a str, NoText> {
    value.get(field).and_then(Value::as_str).ok_or(NoText(field))
}

fn place(scheme: &str, name: &str, title: String, within: Option<Container>) -> RecordedPlace {
    RecordedPlace { scheme: scheme.into(), name: name.into(), title, within, holds: None, place: Value::Null }
}

fn directory(value: &Value) -> Result<RecordedPlace, NoText> {
    let (server, export, name) = (text(value, "server")?, text(value, "export")?, text(value, "directory")?);
    let within = export.strip_prefix('/').map(|name| Container::FileSystem(name.to_owned()));
    Ok(place("nfs", name, format!("directory {name} on {server}:{export}"), within))
}

fn objects(value: &Value) -> Result<RecordedPlace, NoText> {
    let (endpoint, bucket) = (text(value, "endpoint")?, text(value, "bucket")?);
    let prefix = text(value, "prefix")?;
    let title = format!("objects {prefix} in bucket {bucket} at {endpoint}");
    let name = prefix.strip_suffix('/').unwrap_or_default();
    Ok(place("s3", name, title, Some(Container::Bucket(bucket.to_owned()))))
}

fn local_directory(value: &Value) -> Result<RecordedPlace, NoText> {
    let (host, text) = (text(value, "host")?, text(value, "path")?);
    let path = Path::new(text);
    let name = path.file_name().and_then(|name| name.to_str()).filter(|_| path.is_absolute());
    Ok(place("file", name.unwrap_or_default(), format!("directory {text} on {host}"), None))
}
