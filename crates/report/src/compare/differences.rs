//! What else differs between two runs: whoever reads that one is slower wants to know that its kernel was another.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use store::{State, Validity};

use super::matching::{Key, RepeatedPoint};
use crate::Document;

/// Parts of a planned cell that do not change what is measured, or that make it the same cell.
const ASIDE: [&str; 8] =
    ["index", "name", "workload_name", "point", "repetition", "gates", "errors", "study"];
/// Facts that say nothing of what is measured.
const FLEETING: [&str; 4] = ["hostname", "uptime", "load", "time"];
/// Beyond this many a list of differences is not read.
const SHOWN: usize = 12;
/// The longest text of a fact that is shown.
const LONGEST: usize = 60;

/// One line for each difference that matters, and for each figure that is doubtful.
pub fn warnings(
    a: &Document,
    b: &Document,
    groups_a: &BTreeMap<Key, RepeatedPoint<'_>>,
    groups_b: &BTreeMap<Key, RepeatedPoint<'_>>,
) -> Vec<String> {
    let mut out = Vec::new();
    for (letter, document) in [("A", a), ("B", b)] {
        let run = &document.run;
        if run.state != State::Finished {
            out.push(format!("{letter} ({}) is not finished: cells may be missing", run.id));
        }
    }
    out.extend(facts(a, b));
    out.extend(hosts(a, b));
    out.extend(plans(groups_a, groups_b));
    out.extend(doubtful("A", groups_a));
    out.extend(doubtful("B", groups_b));
    out
}

fn facts(a: &Document, b: &Document) -> Vec<String> {
    let mut out = Vec::new();
    if a.run.version != b.run.version {
        out.push(differs("manometer", &a.run.version, &b.run.version));
    }
    let different = different_facts(&a.run.environment.facts, &b.run.environment.facts);
    limited(&mut out, different, "facts of the environment");
    out
}

/// Which hosts only one of two fleets has, and what else differs on those that both have.
fn hosts(a: &Document, b: &Document) -> Vec<String> {
    let of = |document: &Document| -> BTreeMap<String, BTreeMap<String, String>> {
        let hosts = document.run.hosts.iter();
        hosts.map(|host| (host.name.clone(), host.environment.facts.clone())).collect()
    };
    let (of_a, of_b) = (of(a), of(b));
    let mut out = Vec::new();
    if of_a.is_empty() && of_b.is_empty() {
        return out;
    }
    for (letter, mine, theirs) in [("A", &of_a, &of_b), ("B", &of_b, &of_a)] {
        let alone: Vec<&str> = mine.keys().filter(|name| !theirs.contains_key(*name)).map(|n| &**n).collect();
        if !alone.is_empty() {
            out.push(format!("hosts only in {letter}: {}", some(&alone)));
        }
    }
    // What differs alike on many hosts is one line.
    let mut different: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (host, facts_a) in &of_a {
        let Some(facts_b) = of_b.get(host) else { continue };
        for text in different_facts(facts_a, facts_b) {
            different.entry(text).or_default().push(host);
        }
    }
    let lines = different.into_iter().map(|(text, hosts)| format!("on {}: {text}", some(&hosts))).collect();
    limited(&mut out, lines, "facts of hosts");
    out
}

/// The first of some names, and how many more there are.
fn some(names: &[&str]) -> String {
    let more = names.len().saturating_sub(4);
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{tail}", names[..names.len().min(4)].join(", "))
}

fn different_facts(of_a: &BTreeMap<String, String>, of_b: &BTreeMap<String, String>) -> Vec<String> {
    let names: BTreeSet<&String> = of_a.keys().chain(of_b.keys()).collect();
    let mut different = Vec::new();
    for name in names {
        let fleeting = FLEETING.iter().any(|word| name == word || name.starts_with(&format!("{word}.")));
        let get = |of: &BTreeMap<String, String>| of.get(name).map_or("(unknown)".to_owned(), Clone::clone);
        if !fleeting && get(of_a) != get(of_b) {
            different.push(differs(name, &get(of_a), &get(of_b)));
        }
    }
    different
}

fn plans(
    groups_a: &BTreeMap<Key, RepeatedPoint<'_>>,
    groups_b: &BTreeMap<Key, RepeatedPoint<'_>>,
) -> Vec<String> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (key, a) in groups_a {
        let Some(b) = groups_b.get(key) else { continue };
        let of = |group: &RepeatedPoint<'_>| -> BTreeMap<String, String> {
            let mut leaves = BTreeMap::new();
            if let Ok(Value::Object(mut cell)) = serde_json::to_value(group.planned) {
                cell.retain(|name, _| !ASIDE.contains(&name.as_str()));
                flatten("", &Value::Object(cell), &mut leaves);
            }
            if let Some(result) = group.results.first() {
                leaves.insert("cache, as it was done".into(), result.cache.clone());
                for (name, value) in &result.target {
                    leaves.insert(format!("target {name}"), value.clone());
                }
            }
            leaves
        };
        let (of_a, of_b) = (of(a), of(b));
        let names: BTreeSet<&String> = of_a.keys().chain(of_b.keys()).collect();
        for name in names {
            let get =
                |of: &BTreeMap<String, String>| of.get(name).map_or("(not set)".to_owned(), Clone::clone);
            if get(&of_a) != get(&of_b) {
                *counts.entry(differs(name, &get(&of_a), &get(&of_b))).or_default() += 1;
            }
        }
        if a.results.len() != b.results.len() {
            let text = differs("repetitions", &a.results.len().to_string(), &b.results.len().to_string());
            *counts.entry(text).or_default() += 1;
        }
    }
    let lines = counts.into_iter().map(|(text, count)| match count {
        1 => text,
        several => format!("{text} ({several} cells)"),
    });
    let mut out = Vec::new();
    limited(&mut out, lines.collect(), "settings");
    out
}

fn limited(out: &mut Vec<String>, lines: Vec<String>, what: &str) {
    let more = lines.len().saturating_sub(SHOWN);
    out.extend(lines.into_iter().take(SHOWN));
    if more > 0 {
        out.push(format!("and {more} more {what} differ"));
    }
}

fn differs(name: &str, a: &str, b: &str) -> String {
    format!("{name} differs: {} in A, {} in B", short(a), short(b))
}

fn short(text: &str) -> String {
    let text = text.replace(|c: char| c.is_control(), " ");
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn flatten(path: &str, value: &Value, out: &mut BTreeMap<String, String>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| flatten(&below(name), value, out)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(n, value)| flatten(&below(&n.to_string()), value, out));
        }
        Value::String(text) => {
            out.insert(path.to_owned(), text.clone());
        }
        other => {
            out.insert(path.to_owned(), other.to_string());
        }
    }
}

fn doubtful(letter: &str, groups: &BTreeMap<Key, RepeatedPoint<'_>>) -> Vec<String> {
    let mut out = Vec::new();
    let mut ordered: Vec<_> = groups.iter().collect();
    ordered.sort_by_key(|(_, group)| group.first);
    let mut cells = |keep: &dyn Fn(&store::CellResult) -> bool, what: &str| {
        let names: Vec<String> = ordered
            .iter()
            .filter(|(_, group)| group.results.iter().any(|result| keep(result)))
            .map(|(key, _)| key.cell())
            .collect();
        if !names.is_empty() {
            let more = names.len().saturating_sub(3);
            let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
            out.push(format!("{letter}: {what}: {}{tail}", names[..names.len().min(3)].join(", ")));
        }
    };
    cells(
        &|result| !result.steady.reached,
        "no steady state, so that the figure depends on when it was taken",
    );
    cells(&|result| result.verdict.validity == Validity::Invalid, "the result is called INVALID");
    cells(&|result| result.total.failed > 0, "operations failed");
    out
}
