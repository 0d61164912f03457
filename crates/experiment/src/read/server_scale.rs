//! `scale: {server: …}`: the outermost axis, whose values the server is brought to by commands.

use super::fleet::arguments;
use crate::axis::{Axis, Reach};
use crate::known::{EARLIER_DATA, SERVER_SCALE};
use crate::reader::{Fields, Reader};
use crate::server_scale::{EarlierData, ServerScale, VALUE};
use crate::tree::{Node, Value};

/// Limits of times, in seconds.
const TIMES_S: std::ops::RangeInclusive<f64> = 0.001..=86_400.0;

/// Names that mean something else in a cell's point.
const TAKEN: &[&str] = &["agents", "addresses", "repetition"];

/// The server's sizes in the file's `scale`, and their axis.
pub(crate) fn server_scale(reader: &Reader<'_>, scale: Option<&Node>) -> Option<(ServerScale, Axis)> {
    let node = reader.resolve(scale?)?;
    let server = node.get("server")?;
    let before = reader.log.count();
    let fields = Fields::new(reader, "scale.server", "scale.server.", server.place, [server.clone()]);
    fields.check_keys(SERVER_SCALE);
    let missing = |key: &str| !fields.has(key);
    if reader.log.count() == before
        && let Some(key) = ["values", "set"].into_iter().find(|key| missing(key))
    {
        reader.log.fault(
            fields.place,
            format!("scale.server needs {key}"),
            "write server: {name: osds, values: [1, 2, 3], set: [./osds.sh, \"{value}\"]}",
        );
        return None;
    }
    let name = match fields.get("name") {
        Some(node) => name(reader, &node)?,
        None => "servers".to_owned(),
    };
    let values = values(reader, &fields.get("values")?)?;
    let set = command(&fields, "set")?;
    if values.len() > 1 && !set.iter().any(|word| word.contains(VALUE)) {
        fields.fault(
            "set",
            "the command does not say which size: {value} is missing",
            "write {value} where the size belongs, such as ./osds.sh {value}",
        );
    }
    let (ready, reset) = (command(&fields, "ready")?, command(&fields, "reset")?);
    if reset.iter().any(|word| word.contains(VALUE)) {
        fields.fault("reset", "reset has no {value}: it follows the last size", "write the size itself");
    }
    let millis = |key: &str, default: f64| {
        let seconds = fields.seconds(key, default);
        if !TIMES_S.contains(&seconds) {
            fields.fault(key, format!("{key} does not fit"), "write a duration from 1ms to 1d");
        }
        (seconds * 1000.0) as u64
    };
    let (timeout_ms, interval_ms) = (millis("timeout", 600.0), millis("interval", 1.0));
    let data = match fields.choice("data", EARLIER_DATA, "remove") {
        "keep" => EarlierData::Keep,
        _ => EarlierData::Remove,
    };
    if reader.log.count() != before {
        return None;
    }
    // A parameter of this name gets the size in every cell.
    let reach = match reader.parameters.get(&name) {
        Some(_) => Reach::Parameter,
        None => Reach::Server,
    };
    let texts = values.iter().map(|(_, text)| text.clone()).collect();
    let axis = Axis { name: name.as_str().into(), key_place: fields.place_of("values"), reach, values };
    Some((ServerScale { name, values: texts, set, ready, reset, timeout_ms, interval_ms, data }, axis))
}

/// Reports sizes of the server anywhere but in the file's own `scale`: the server has one size at a time.
pub(crate) fn only_at_the_top(reader: &Reader<'_>, scale: Option<&Node>) {
    let Some(node) = scale.and_then(|node| node.get("server")) else { return };
    reader.fault(
        node,
        "the server has one size at a time, for all workloads",
        "write scale: {server: …} at the top of the file",
    );
}

fn name(reader: &Reader<'_>, node: &Node) -> Option<String> {
    let text = reader.text(node, "write a name for the number of servers, such as osds")?;
    let good = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if text.is_empty() || text.len() > 64 || !text.chars().all(good) {
        let hint = "use up to 64 letters, digits, - and _";
        reader.fault(node, format!("{text:?} is no name of a size"), hint);
        return None;
    }
    if TAKEN.contains(&&*text) {
        reader.fault(node, format!("{text:?} means something else"), "give it another name, such as osds");
        return None;
    }
    Some(text)
}

fn values(reader: &Reader<'_>, node: &Node) -> Option<Vec<(Node, String)>> {
    let mut values: Vec<(Node, String)> = Vec::new();
    for item in reader.list(node)? {
        let text = reader.text(&item, "write a size such as 3")?;
        if text.is_empty() || text.len() > 64 || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
            reader.fault(&item, format!("{text:?} is no size"), "write a number or one word");
            return None;
        }
        if values.iter().any(|(_, other)| *other == text) {
            let hint = "use repetitions to measure it more often";
            reader.fault(&item, format!("{text} is in the list twice"), hint);
            return None;
        }
        values.push((Node::scalar(item.place, &text), text));
    }
    if values.is_empty() {
        reader.fault(node, "the list of sizes is empty, so there is no cell", "write values: [1, 2, 3]");
        return None;
    }
    Some(values)
}

/// A command, whose only variable is `{value}`; empty if the key is not given.
fn command(fields: &Fields<'_>, key: &str) -> Option<Vec<String>> {
    let words = arguments(fields, key)?;
    let empty = words.first().is_none_or(|program| program.is_empty());
    if fields.has(key) && empty {
        fields.fault(key, format!("{key} is empty"), "write the program and its arguments");
        return None;
    }
    let shell = |c: char| matches!(c, '|' | ';' | '&' | '<' | '>' | '$' | '`' | '*');
    let text = matches!(fields.get(key).map(|node| node.value), Some(Value::Scalar(_)));
    if text && words.iter().any(|word| word.contains(shell) || word.starts_with(['"', '\''])) {
        fields.fault(
            key,
            format!("{key} is not given to a shell, and contains characters that only a shell understands"),
            format!("write {key}: [sh, -c, '…'], or a list of the program and its arguments"),
        );
        return None;
    }
    Some(words)
}
