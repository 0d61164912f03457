//! Converts jobs into an experiment file that people can read and change.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use experiment::{Plan, Reporting};

use crate::{OptionSupport, Warning, find_option};

/// Options that only affect how figures are shown in fio's formats.
const SHOWN_ONLY: &[&str] = &[
    "description",
    "unit_base",
    "gtod_reduce",
    "unified_rw_reporting",
    "group_reporting",
    "new_group",
    "stats",
    "bwavgtime",
    "iopsavgtime",
    "disk_util",
    "disable_lat",
    "disable_clat",
    "disable_bw_measurement",
    "slat_percentiles",
    "clat_percentiles",
    "lat_percentiles",
    "percentile_list",
    "significant_figures",
];

/// The plan without anything used only by fio's output formats, and without groups where all jobs run one after the
/// other, as cells do anyway. Its load and measurement are the same.
pub fn plain(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    for cell in &mut plan.cells {
        if let Some(job) = cell.workload.stream_mut() {
            job.report = Reporting::default();
        }
        if let Some(group) = &mut cell.group {
            group.report = None;
        }
    }
    let groups: Vec<_> = plan.cells.iter().filter_map(|cell| cell.group).collect();
    let numbers: BTreeSet<u32> = groups.iter().map(|group| group.number).collect();
    let one_by_one = numbers.len() == plan.cells.len();
    if one_by_one
        && groups.iter().all(|group| !group.ends_group && !group.ends_run && group.after_cell.is_none())
    {
        plan.cells.iter_mut().for_each(|cell| cell.group = None);
    }
    plan
}

/// The experiment file that is equivalent to a plan's jobs: `manometer run` on it does the same. Anything that an
/// experiment cannot express becomes a comment. `None` if a cell has no job.
pub fn convert(plan: &Plan, warnings: &[Warning]) -> Option<String> {
    let mut text = String::new();
    let mut remarks: Vec<String> = warnings.iter().map(|warning| warning.0.text.clone()).collect();
    remarks.extend(without_counterpart(plan));
    if !remarks.is_empty() {
        text.push_str("# Without a counterpart here:\n");
        for remark in remarks {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "#   {}", remark.replace(['\n', '\r'], " "));
        }
    }
    Some(text + &experiment::convert(&plain(plan))?)
}

/// Options of the jobs without effect on the load, each with the reason and the jobs that have it.
fn without_counterpart(plan: &Plan) -> Vec<String> {
    let mut found: BTreeMap<(String, String), BTreeSet<&str>> = BTreeMap::new();
    for cell in &plan.cells {
        let Some(job) = cell.workload.stream() else { continue };
        let own = job.report.options.iter().map(|pair| (pair, &*job.name));
        let global = job.report.global_options.iter().map(|pair| (pair, ""));
        for ((name, value), job) in own.chain(global) {
            if let Some(why) = why_without_effect(name) {
                found.entry((format!("{name}={value}"), why)).or_default().insert(job);
            }
        }
    }
    let line = |((option, why), jobs): ((String, String), BTreeSet<&str>)| {
        let jobs: Vec<&str> = jobs.into_iter().filter(|job| !job.is_empty()).collect();
        if jobs.is_empty() {
            format!("{option}: {why}")
        } else {
            format!("{option} of {}: {why}", jobs.join(", "))
        }
    };
    found.into_iter().map(line).collect()
}

fn why_without_effect(name: &str) -> Option<String> {
    if SHOWN_ONLY.contains(&name) {
        return Some("says how fio shows its figures".to_owned());
    }
    match find_option(name)?.support {
        OptionSupport::Differs(how) if how.starts_with("accepted") => Some(
            how.trim_start_matches("accepted")
                .trim_start_matches(" without effect")
                .trim_start_matches([':', ' '])
                .to_owned(),
        ),
        _ => None,
    }
}
