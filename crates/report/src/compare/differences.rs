//! Other differences between runs: if one run is slower, the reader needs to know that its kernel was different.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use stats::SteadyJudgement;
use store::{State, Validity};
use units::Size;

use super::matching::{MatchedPoint, RepeatedPoint};
use super::{label, procedures};
use crate::Document;

/// Parts of a planned cell that identify it or do not affect the measurement.
const ASIDE: [&str; 8] =
    ["index", "name", "workload_name", "point", "repetition", "gates", "errors", "study"];
/// Facts that have no bearing on the measurement.
const FLEETING: [&str; 5] = ["hostname", "uptime", "load", "time", "manometer.command"];
/// Shown in place of a fact that one side lacks.
const UNKNOWN: &str = "(unknown)";
/// Maximum differences listed.
const SHOWN: usize = 12;
/// Maximum length of a displayed fact.
const LONGEST: usize = 60;

/// A line for each setting that differs between the runs: the first thing to check when one run is slower.
pub fn changed(runs: &[&Document], points: &[MatchedPoint<'_>]) -> Vec<String> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for point in points {
        let settings: Vec<Option<BTreeMap<String, String>>> = point
            .of_runs
            .iter()
            .zip(runs)
            .map(|(of_run, run)| of_run.as_ref().map(|of_run| settings(of_run, &run.run.id)))
            .collect();
        for line in different(&settings, "(not set)") {
            *counts.entry(line).or_default() += 1;
        }
    }
    let lines = counts.into_iter().map(|(text, count)| match count {
        1 => text,
        several => format!("{text} ({several} cells)"),
    });
    limited(lines.collect(), "settings")
}

/// One line for each relevant difference between the runs' environments, and for each doubtful figure.
pub fn warnings(runs: &[&Document], points: &[MatchedPoint<'_>]) -> Vec<String> {
    let mut out = Vec::new();
    for (n, document) in runs.iter().enumerate() {
        let run = &document.run;
        if run.state != State::Finished {
            out.push(format!("{} ({}) is not finished: cells may be missing", label(n), run.id));
        }
    }
    let versions: Vec<_> = runs.iter().map(|run| Some(run.run.version.clone())).collect();
    out.extend(differs("manometer", &versions));
    let facts: Vec<_> = runs.iter().map(|run| Some(known_facts(&run.run.environment.facts))).collect();
    out.extend(limited(different(&facts, UNKNOWN), "facts of the environment"));
    out.extend(hosts(runs));
    out.extend(limited(procedures::changed(points), "procedures"));
    for n in 0..runs.len() {
        out.extend(doubtful(n, points));
    }
    out
}

/// Hosts that only some fleets have, and differences on the hosts that all have.
fn hosts(runs: &[&Document]) -> Vec<String> {
    let of = |document: &&Document| -> BTreeMap<String, BTreeMap<String, String>> {
        let hosts = document.run.hosts.iter();
        hosts.map(|host| (host.name.clone(), known_facts(&host.environment.facts))).collect()
    };
    let fleets: Vec<_> = runs.iter().map(of).collect();
    let mut out = Vec::new();
    for (n, fleet) in fleets.iter().enumerate() {
        let missing = |name: &str| fleets.iter().any(|other| !other.contains_key(name));
        let alone: Vec<&str> = fleet.keys().map(String::as_str).filter(|name| missing(name)).collect();
        if !alone.is_empty() {
            let only = if runs.len() == 2 { "hosts only in" } else { "hosts that not all have, in" };
            out.push(format!("{only} {}: {}", label(n), first_of(&alone, 4)));
        }
    }
    // The same difference on many hosts becomes one line.
    let mut by_line: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for host in fleets.first().into_iter().flat_map(BTreeMap::keys) {
        let facts: Vec<_> = fleets.iter().map(|fleet| fleet.get(host).cloned()).collect();
        if facts.iter().all(Option::is_some) {
            for line in different(&facts, UNKNOWN) {
                by_line.entry(line).or_default().push(host);
            }
        }
    }
    let lines =
        by_line.into_iter().map(|(text, hosts)| format!("on {}: {text}", first_of(&hosts, 4))).collect();
    out.extend(limited(lines, "facts of hosts"));
    out
}

/// The first few names, and how many more there are.
fn first_of(names: &[&str], shown: usize) -> String {
    let more = names.len().saturating_sub(shown);
    let tail = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{tail}", names[..names.len() - more].join(", "))
}

/// The facts that bear on the measurement.
fn known_facts(facts: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let fleeting = |name: &str| {
        FLEETING
            .iter()
            .any(|word| name == *word || name.strip_prefix(word).is_some_and(|rest| rest.starts_with('.')))
    };
    facts
        .iter()
        .filter(|(name, _)| !fleeting(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// All settings of a point, and what was really done.
fn settings(point: &RepeatedPoint<'_>, run: &str) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    if let Ok(Value::Object(mut cell)) = serde_json::to_value(point.planned) {
        cell.retain(|name, _| !ASIDE.contains(&name.as_str()));
        flatten("", &Value::Object(cell), &mut settings);
    }
    if let Some(result) = point.results.first() {
        settings.insert("cache, as it was done".into(), result.cache.clone());
        for (name, value) in &result.target {
            // Places contain the run's id, which always differs.
            settings.insert(format!("target {name}"), value.replace(run, "RUN"));
        }
    }
    settings.insert("repetitions".into(), point.results.len().to_string());
    settings
}

/// A line for each name whose values differ between the runs that have it.
fn different(of_runs: &[Option<BTreeMap<String, String>>], absent: &str) -> Vec<String> {
    let of_runs = &alternatives(of_runs);
    let names: BTreeSet<&String> = of_runs.iter().flatten().flat_map(BTreeMap::keys).collect();
    let value = |of: &BTreeMap<String, String>, name: &String| {
        of.get(name).cloned().unwrap_or_else(|| absent.to_owned())
    };
    let values = |name: &String| -> Vec<Option<String>> {
        of_runs.iter().map(|of| of.as_ref().map(|of| value(of, name))).collect()
    };
    names.into_iter().filter_map(|name| differs(name, &values(name))).collect()
}

/// A branch that only some runs have is an alternative (`steady.default.…`, `steady.sustained.…`): it is reported as one
/// difference, for everything below it.
fn alternatives(of_runs: &[Option<BTreeMap<String, String>>]) -> Vec<Option<BTreeMap<String, String>>> {
    let branches = |of: &BTreeMap<String, String>| -> BTreeSet<String> {
        let of_name =
            |name: &String| name.match_indices('.').map(|(at, _)| name[..at].to_owned()).collect::<Vec<_>>();
        of.keys().flat_map(of_name).collect()
    };
    let all: Vec<BTreeSet<String>> = of_runs.iter().flatten().map(branches).collect();
    let short = |(name, value): (&String, &String)| {
        let ends = name.match_indices('.').map(|(at, _)| at);
        let missing =
            ends.clone().zip(ends.skip(1)).find(|(_, end)| all.iter().any(|of| !of.contains(&name[..*end])));
        match missing {
            Some((parent, end)) => (name[..parent].to_owned(), name[parent + 1..end].to_owned()),
            None => (name.clone(), value.clone()),
        }
    };
    of_runs.iter().map(|of| of.as_ref().map(|of| of.iter().map(short).collect())).collect()
}

/// `kernel differs: 6.1 in A and B, 6.6 in C`; `None` if all known values are equal.
fn differs(name: &str, values: &[Option<String>]) -> Option<String> {
    let mut by_value: Vec<(&String, Vec<String>)> = Vec::new();
    for (n, value) in values.iter().enumerate() {
        let Some(value) = value else { continue };
        match by_value.iter_mut().find(|(known, _)| *known == value) {
            Some((_, runs)) => runs.push(label(n)),
            None => by_value.push((value, vec![label(n)])),
        }
    }
    let each = by_value.iter().map(|(value, runs)| format!("{} in {}", short(name, value), runs.join(" ")));
    (by_value.len() > 1)
        .then(|| format!("{} differs: {}", plain_name(name), each.collect::<Vec<_>>().join(", ")))
}

/// A setting's name without the index into a list of one, and without the unit, which its value then carries.
fn plain_name(name: &str) -> String {
    let name = name.replace(".0.", ".");
    name.strip_suffix(".bytes").unwrap_or(&name).to_owned()
}

fn short(name: &str, text: &str) -> String {
    if let (true, Ok(bytes)) = (name.ends_with("bytes"), text.parse()) {
        return Size(bytes).to_string();
    }
    let text = text.replace(|c: char| c.is_control(), " ");
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn limited(mut lines: Vec<String>, what: &str) -> Vec<String> {
    let more = lines.len().saturating_sub(SHOWN);
    lines.truncate(SHOWN);
    if more > 0 {
        lines.push(format!("and {more} more {what} differ"));
    }
    lines
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

fn doubtful(n: usize, points: &[MatchedPoint<'_>]) -> Vec<String> {
    let mut out = Vec::new();
    let mut cells = |keep: &dyn Fn(&store::CellResult) -> bool, what: &str| {
        let of_run = points.iter().filter_map(|point| Some((point, point.of_runs[n].as_ref()?)));
        let names: Vec<&str> = of_run
            .filter(|(_, own)| own.results.iter().any(|result| keep(result)))
            .map(|(point, _)| point.cell.as_str())
            .collect();
        if !names.is_empty() {
            out.push(format!("{}: {what}: {}", label(n), first_of(&names, 3)));
        }
    };
    cells(
        &|result| result.steady.judgement() == SteadyJudgement::No,
        "no steady state, so that the figure depends on when it was taken",
    );
    cells(&|result| result.verdict.validity == Validity::Invalid, "the result is called INVALID");
    cells(&|result| result.total.failed > 0, "operations failed");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alternative_is_named_and_not_all_of_its_settings() {
        let of = |pairs: &[(&str, &str)]| {
            Some(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
        };
        let a =
            of(&[("steady.default.drift", "0.05"), ("steady.default.half_width", "0.03"), ("kernel", "6.1")]);
        let b = of(&[("steady.sustained.drift", "0.05"), ("kernel", "6.1")]);
        let c =
            of(&[("steady.default.drift", "0.02"), ("steady.default.half_width", "0.03"), ("kernel", "6.6")]);
        assert_eq!(different(&[a.clone(), b], "(not set)"), ["steady differs: default in A, sustained in B"]);
        assert_eq!(
            different(&[a, None, c], "(not set)"),
            ["kernel differs: 6.1 in A, 6.6 in C", "steady.default.drift differs: 0.05 in A, 0.02 in C"]
        );
    }
}
