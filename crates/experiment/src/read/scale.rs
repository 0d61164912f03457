//! `scale`: the matrix axis that repeats workloads with an increasing number of agents, or of the target's addresses.
//! The server's own size is read by `server_scale`.

use super::hosts::Hosts;
use crate::axis::{Axis, Reach};
use crate::known::SCALE;
use crate::reader::{Fields, Reader};
use crate::tree::{Node, Value};

/// The path for the axis of agents.
const AGENTS: &str = "agents";

/// The target option that sets how many of its addresses are used.
const ADDRESSES: &str = "target.use_addresses";

/// The axes of a scale; empty for `none`.
pub(crate) fn axes(reader: &Reader<'_>, node: &Node, hosts: &Hosts<'_>) -> Vec<Axis> {
    let Some(node) = reader.resolve(node) else { return Vec::new() };
    let is = |word: &str| matches!(&node.value, Value::Scalar(text) if text.trim() == word);
    if is("none") {
        return Vec::new();
    }
    match &node.value {
        Value::Map(_) => {
            let fields = Fields::new(reader, "scale", "scale.", node.place, [node.clone()]);
            fields.check_keys(SCALE);
            if node.entries().is_empty() {
                reader.fault(&node, "scale counts nothing", "write scale: [1, 2, 4, all]");
            }
            let agents = fields.get("agents").and_then(|node| agents(reader, &node, hosts));
            let addresses = fields.get("addresses").and_then(|node| addresses(reader, &node));
            agents.into_iter().chain(addresses).collect()
        }
        _ => agents(reader, &node, hosts).into_iter().collect(),
    }
}

/// Numbers of agents: a list, or `doubling`.
fn agents(reader: &Reader<'_>, node: &Node, hosts: &Hosts<'_>) -> Option<Axis> {
    let Some(fleet) = hosts.fleet else {
        reader.fault(
            node,
            "there is no fleet to be scaled",
            "add fleet: {hosts: …}, or give --hosts or --local on the command line",
        );
        return None;
    };
    let count = fleet.count();
    let numbers = match &node.value {
        Value::Scalar(text) if text.trim() == "doubling" => {
            let Some(count) = count else {
                reader.fault(
                    node,
                    "how many agents there are is known only when they were started",
                    "write a list such as [1, 2, 4, all], or how many nodes the launcher takes",
                );
                return None;
            };
            let mut numbers: Vec<u32> =
                (0..32).map(|power| 1u32 << power).take_while(|n| *n < count).collect();
            numbers.push(count);
            numbers.iter().map(|n| Node::scalar(node.place, &n.to_string())).collect()
        }
        Value::List(_) => reader.list(node)?,
        _ => {
            let text = format!("{:?} is no scale", node.text());
            reader.fault(node, text, "write a list such as [1, 2, 4, all], doubling or none");
            return None;
        }
    };
    let mut values: Vec<(Node, String)> = Vec::new();
    for item in numbers {
        let text = reader.text(&item, "write a number of agents, or all")?;
        let all = text == "all";
        let text = match (all, count) {
            (true, Some(count)) => count.to_string(),
            (true, None) => text,
            (false, _) => reader.integer(&item, 1, crate::fleet::MAX_HOSTS as u64)?.to_string(),
        };
        if let Some(count) = count
            && text.parse::<u32>().is_ok_and(|agents| agents > count)
        {
            let hint = format!("write numbers up to {count}, or all");
            reader.fault(&item, format!("{text} agents are more than the fleet's {count}"), hint);
            return None;
        }
        match values.iter().any(|(_, other)| *other == text) {
            // `all` may already be one of the numbers.
            true if all => {}
            true => {
                reader.fault(&item, format!("{text} is in the list twice"), "write each number once");
                return None;
            }
            false => values.push((Node::scalar(item.place, &text), text)),
        }
    }
    axis(reader, node, AGENTS, AGENTS, values)
}

/// Numbers of the target's addresses.
fn addresses(reader: &Reader<'_>, node: &Node) -> Option<Axis> {
    let mut values: Vec<(Node, String)> = Vec::new();
    for item in reader.list(node)? {
        let text = reader.integer(&item, 1, 1024)?.to_string();
        if values.iter().any(|(_, other)| *other == text) {
            reader.fault(&item, format!("{text} is in the list twice"), "write each number once");
            return None;
        }
        values.push((item, text));
    }
    axis(reader, node, "addresses", ADDRESSES, values)
}

fn axis(
    reader: &Reader<'_>,
    node: &Node,
    name: &str,
    path: &str,
    values: Vec<(Node, String)>,
) -> Option<Axis> {
    if values.is_empty() {
        reader.fault(node, "the scale is empty, so there is no cell", "write numbers such as [1, 2, 4]");
        return None;
    }
    Some(Axis { name: name.into(), key_place: node.place, reach: Reach::Path(path.into()), values })
}
