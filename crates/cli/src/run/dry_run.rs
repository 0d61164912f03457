//! The output of `manometer run --dry-run`: the cells, the bytes to be written, the expected time, and the state of the
//! targets. Nothing is created or written.

mod fleet;
mod server_scale;

use experiment::{BytesToWrite, CellFigures, DataSetFigures, Plan};
use report::{FittedTable, TableColumn};
use runner::{Preflight, TargetLook};
use serde::Serialize;
use units::{Size, Span};

/// Version of the JSON document.
const FORMAT: u32 = 1;
/// Maximum cells listed for people; machine-readable output has all.
const LISTED: usize = 200;

/// A plan and its figures in machine-readable form.
#[derive(Serialize)]
struct Document<'a> {
    format: u32,
    cells: Vec<CellFigures>,
    data_sets: Vec<DataSetFigures>,
    bytes_to_write: BytesToWrite,
    expected_s: Range,
    /// `null` if the targets were not checked.
    preflight: Option<&'a Preflight>,
    plan: &'a Plan,
}

#[derive(Serialize)]
struct Range {
    low: f64,
    high: f64,
}

/// The plan, its cost and the state of its targets, as one JSON document.
pub fn json(plan: &Plan, seen: Option<&Preflight>) -> String {
    let (low, high) = plan.expected_seconds();
    let document = Document {
        format: FORMAT,
        cells: plan.cell_figures(targets::kinds()),
        data_sets: plan.data_sets(targets::kinds()),
        bytes_to_write: plan.bytes_to_write(targets::kinds()),
        expected_s: Range { low, high },
        preflight: seen,
        plan,
    };
    let mut text = serde_json::to_string_pretty(&document).expect("plans are plain data");
    text.push('\n');
    text
}

/// The plan, its cost and the state of its targets, for people.
pub fn text(plan: &Plan, seen: Option<&Preflight>, width: usize) -> String {
    let mut out = format!("{}: {}\n", plan.name, count(plan.cells.len(), "cell"));
    if let Some(description) = &plan.description {
        out.push_str(&format!("{description}\n"));
    }
    if let Some(fleet) = &plan.fleet {
        out.push_str(&fleet::words(fleet));
    }
    if let Some(observe) = &plan.observe {
        out.push_str(&fleet::observed(observe));
    }
    if let Some(scale) = &plan.server_scale {
        out.push_str(&server_scale::words(scale));
    }
    out.push('\n');
    out.push_str(&cells(plan, width));
    out.push_str("\nData sets\n");
    for set in plan.data_sets(targets::kinds()) {
        out.push_str(&format!("  {}: {}\n", set.target, data_set(&set)));
    }
    let of_one =
        if plan.cells.iter().all(|cell| plan.hosts_of(cell).is_some()) { "" } else { " by each host" };
    out.push_str(&format!("\nTo be written{of_one}: {}\n", written(&plan.bytes_to_write(targets::kinds()))));
    let (low, high) = plan.expected_seconds();
    let by_amount = match plan.jobs_without_limit() {
        0 => String::new(),
        jobs => format!("; {} until the amount is moved", count(jobs, "job")),
    };
    out.push_str(&format!(
        "Expected time: {} for warm-up and measurement, plus preparation, verification and clean-up{by_amount}\n",
        range(low, high)
    ));
    let mut gates: Vec<&str> = Vec::new();
    for gate in plan.cells.iter().flat_map(|cell| &cell.gates) {
        if !gates.contains(&gate.text.as_str()) {
            gates.push(&gate.text);
        }
    }
    if !gates.is_empty() {
        out.push_str(&format!("Gates: {}\n", gates.join(", ")));
    }
    let looks = seen.map_or(&[][..], |seen| &seen.targets);
    if !looks.is_empty() {
        out.push_str("\nTargets\n");
        looks.iter().for_each(|look| out.push_str(&format!("  {}: {}\n", look.target, target(look))));
    }
    out.push_str(if looks.is_empty() {
        "Nothing was touched.\n"
    } else {
        "\nNothing was created or written.\n"
    });
    out
}

fn target(look: &TargetLook) -> String {
    let mut words = look.seen.clone();
    if let Some(available) = look.available_bytes {
        words.push_str(&format!("; {} free", Size(available).rounded()));
    }
    if look.needed_bytes > 0 {
        words.push_str(&format!(", {} needed", Size(look.needed_bytes).rounded()));
    }
    words
}

fn cells(plan: &Plan, width: usize) -> String {
    let sets = plan.data_sets(targets::kinds());
    let many_targets = sets.iter().any(|set| Some(&set.target) != sets.first().map(|s| &s.target));
    let mut table = FittedTable::new(vec![
        TableColumn::right("#"),
        TableColumn::left("cell"),
        TableColumn::left("target").optional(),
        TableColumn::right("prepare"),
        TableColumn::left("time"),
    ]);
    let figures = plan.cell_figures(targets::kinds());
    for figures in figures.iter().take(LISTED) {
        let prepare = match (figures.fills, figures.prepared_bytes) {
            (false, _) => "-".to_owned(),
            (true, 0) => "whole device".to_owned(),
            (true, bytes) => Size(bytes).rounded(),
        };
        table.row(vec![
            (figures.index + 1).to_string(),
            figures.name.clone(),
            if many_targets { figures.target.clone() } else { String::new() },
            prepare,
            range(figures.low_s, figures.high_s),
        ]);
    }
    let mut out = table.text(width, "");
    if figures.len() > LISTED {
        out.push_str(&format!("… and {} more; --output json lists all\n", figures.len() - LISTED));
    }
    out
}

fn data_set(set: &DataSetFigures) -> String {
    let device = targets::kind_of(&set.url).is_some_and(|kind| kind.device);
    let what = match (set.objects, set.item_bytes) {
        // What a tree holds is known once it is walked.
        (_, 0) if set.names.is_some() && set.items == 0 => "files as they are".to_owned(),
        (_, 0) if set.names.is_some() => format!("{} in full size", count(set.items as usize, "file")),
        (_, 0) if !device && set.items > 1 => count(set.items as usize, "file"),
        (_, 0) => "the whole device".to_owned(),
        (false, bytes) if device => format!("the first {} of the device", Size(bytes)),
        (objects, bytes) => {
            let items = count(set.items as usize, if objects { "object" } else { "file" });
            let hosts = match set.hosts {
                Some(1) => String::new(),
                Some(hosts) => format!(" on each of {hosts} hosts"),
                None => " on each host".to_owned(),
            };
            let all = match set.hosts {
                Some(hosts) if set.items > 1 || hosts > 1 => {
                    format!(", {} in all", Size(set.bytes()).rounded())
                }
                _ => String::new(),
            };
            let size = match &set.sizes {
                Some(sizes) => sizes.to_string(),
                None => Size(bytes).to_string(),
            };
            format!("{items} of {size}{hosts}{all}")
        }
    };
    let names = set.names.as_ref().map_or_else(String::new, |names| format!(" ({names})"));
    let fills = match set.fills {
        0 => "not written beforehand".to_owned(),
        1 => "written once".to_owned(),
        times => format!("written {times} times"),
    };
    format!("{what}{names}; {fills}, used by {}", count(set.cells as usize, "cell"))
}

fn written(bytes: &BytesToWrite) -> String {
    let mut parts = Vec::new();
    if bytes.fill > 0 {
        parts.push(format!("{} to prepare", Size(bytes.fill).rounded()));
    }
    if bytes.whole_devices > 0 {
        parts.push(format!("whole devices, {}", times(bytes.whole_devices)));
    }
    if bytes.load_high > 0 {
        let (low, high) = (Size(bytes.load_low).rounded(), Size(bytes.load_high).rounded());
        parts.push(if low == high {
            format!("{high} for loads with a given rate or minimum amount")
        } else {
            format!("{low} to {high} for loads with a given rate or minimum amount")
        });
    }
    if bytes.unbounded_cells > 0 {
        let cells = count(bytes.unbounded_cells as usize, "cell");
        let verb = if bytes.unbounded_cells == 1 { "writes" } else { "write" };
        parts.push(format!("{cells} {verb} as much as the target takes"));
    }
    if parts.is_empty() { "nothing".to_owned() } else { parts.join("; ") }
}

fn times(n: u32) -> String {
    if n == 1 { "once".to_owned() } else { format!("{n} times") }
}

fn count(n: usize, thing: &str) -> String {
    if n == 1 { format!("1 {thing}") } else { format!("{n} {thing}s") }
}

/// `70s` or `1m10s to 30m10s`.
fn range(low: f64, high: f64) -> String {
    let (low, high) = (rounded(low), rounded(high));
    if low == high { low } else { format!("{low} to {high}") }
}

/// Long times need no seconds.
fn rounded(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    let whole = if whole >= 3600 { whole.div_ceil(60) * 60 } else { whole };
    Span::from_secs(whole).to_string()
}

#[cfg(test)]
mod tests {
    use experiment::{Settings, SourceText, parse};

    use super::*;

    fn plan(text: &str) -> Plan {
        parse(&SourceText { file: "nightly.yaml", text }, &Settings::of(targets::kinds()))
            .unwrap_or_else(|faults| panic!("\n{faults}"))
    }

    fn conforms(json: &serde_json::Value) {
        let schema = include_str!("../../../../schemas/dry-run.schema.json");
        let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
        let errors: Vec<String> = jsonschema::validator_for(&schema)
            .unwrap()
            .iter_errors(json)
            .map(|error| format!("{}: {error}", error.instance_path))
            .collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }

    const NIGHTLY: &str = "description: What the array does at night
targets: {disk: file:///mnt/data, dev: 'block:///dev/nvme0n1'}
workloads:
  read: {target: disk, ops: read, files: 4, file_size: 256MiB}
  paced: {target: disk, ops: write, rate: 1000/s, files: 4, file_size: 256MiB}
  raw: {target: dev, ops: write}
matrix: {queue_depth: [1, 32]}
gates: [errors == 0]
";

    /// As it appears in a log.
    fn shown(file: &str) -> String {
        text(&plan(file), None, 100)
    }

    #[test]
    fn people_see_cells_bytes_and_time() {
        insta::assert_snapshot!(shown(NIGHTLY));
    }

    fn seen() -> Preflight {
        let disk = TargetLook {
            target: "disk".into(),
            seen: "the directory can be used".into(),
            available_bytes: Some(3 << 30),
            needed_bytes: 1 << 30,
        };
        let kind = targets::FindingKind::Warning;
        Preflight { targets: vec![disk], findings: vec![targets::Finding { kind, text: "clock".into() }] }
    }

    #[test]
    fn what_was_seen_of_the_targets_is_shown() {
        let shown = text(&plan(NIGHTLY), Some(&seen()), 100);
        let wanted = "\nTargets\n  disk: the directory can be used; 3.00 GiB free, 1.00 GiB needed\n\nNothing was created or written.\n";
        assert!(shown.ends_with(wanted), "{shown}");
    }

    #[test]
    fn one_target_needs_no_column() {
        insta::assert_snapshot!(shown(
            "targets: {store: 's3://b?endpoint=http://h'}\nworkloads: {get: {ops: get, find: p99 <= 20 ms}}\n"
        ));
    }

    #[test]
    fn a_fleet_is_shown_with_the_bytes_of_all_its_hosts() {
        insta::assert_snapshot!(shown(
            "fleet: {hosts: [\"node[01-12]\"], sharing: disjoint, on_host_failure: stop}
targets: {filer: nfs://filer/export}
workloads:
  read: {ops: read, jobs: 4, files: 16, file_size: 1GiB}
scale: [1, 4, all]
"
        ));
        let shown = shown(
            "fleet: {slurm: {options: --partition=x}}\ntargets: {t: file:///scratch}\nworkloads: {r: {ops: read}}\n",
        );
        assert!(
            shown.contains("Fleet: all nodes of the Slurm allocation; each has a place of its own"),
            "{shown}"
        );
        assert!(shown.contains("1 file of 1GiB on each host;"), "{shown}");
        assert!(shown.contains("To be written by each host: 1.00 GiB"), "{shown}");
    }

    #[test]
    fn scripts_that_set_the_servers_size_follow_each_once() {
        let shown = shown(
            "targets: {t: 'null:'}
workloads: {w: {ops: read}}
scale:
  server:
    name: osds
    values: [1, 2]
    set: [sh, -ec, \"date\\n./set $0\\n\", \"{value}\"]
    ready: [sh, -ec, \"date\\n./set $0\\n\", all]
",
        );
        let expected = "Server: osds of 1, 2, set by `sh -ec [script 1] 1`, `sh -ec [script 1] 2`; ready when \
                        `sh -ec [script 1] all` succeeds; data sets are removed before the next size\n  \
                        script 1:\n    date\n    ./set $0\n";
        assert!(shown.contains(expected), "{shown}");
    }

    #[test]
    fn machines_get_everything() {
        let with_fleet = NIGHTLY.replace("targets: ", "fleet: {slurm: {}}\ntargets: ");
        let servers =
            "observe: {local: 1}\nscale: {server: {values: [1, 2], set: './set {value}'}}\ntargets: ";
        let with_servers = NIGHTLY.replace("targets: ", servers);
        for file in [NIGHTLY, &with_fleet, &with_servers] {
            conforms(&serde_json::from_str(&json(&plan(file), Some(&seen()))).unwrap());
            conforms(&serde_json::from_str(&json(&plan(file), None)).unwrap());
        }
        let json: serde_json::Value = serde_json::from_str(&json(&plan(NIGHTLY), None)).unwrap();
        assert_eq!(json["cells"].as_array().map(Vec::len), Some(6));
        assert_eq!(json["bytes_to_write"]["fill"], 1u64 << 30);
        assert_eq!(json["bytes_to_write"]["whole_devices"], 1);
        assert_eq!(json["plan"]["cells"][0]["workload"]["queue_depth"], 1);
        assert_eq!(json["expected_s"]["low"], 6.0 * 70.0);
    }

    #[test]
    fn many_cells_are_cut_short() {
        let depths: Vec<String> = (1..=300).map(|depth| depth.to_string()).collect();
        let file = format!(
            "targets: {{t: 'null:'}}\nworkloads: {{w: {{ops: read}}}}\nmatrix: {{queue_depth: [{}]}}\n",
            depths.join(", ")
        );
        let shown = shown(&file);
        assert!(shown.contains("… and 100 more") && shown.lines().count() < 220, "{shown}");
    }
}
