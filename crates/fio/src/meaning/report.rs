//! How figures are shown.

use std::collections::BTreeMap;

use super::asked::Asked;
use super::numbers::float;
use crate::language::is_secret;
use crate::values::ValueError;
use experiment::{Reporting, ShownDirections};
use targets::job_engines;

/// Maximum percentiles.
const MAX_PERCENTILES: usize = 20;

/// Whether an option holds the name of an access key.
fn names_a_key(option: &str) -> bool {
    let mut keys = job_engines().filter_map(|(_, engine)| engine.key_options);
    keys.any(|keys| keys.id == option)
}

/// How the job's figures are shown.
pub(crate) fn report(asked: &Asked<'_>, engine: &str, depth: u32) -> Reporting {
    let reduced = asked.flag("gtod_reduce");
    let of = |global: bool| -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        for setting in &asked.section.settings {
            let name = setting.option.name;
            if setting.global == global && !is_secret(name) && !names_a_key(name) {
                let value = if setting.has_value { setting.value.trim() } else { "1" };
                found.insert(name.to_owned(), value.to_owned());
            }
        }
        found
    };
    let own_name = asked.section.settings.iter().rfind(|s| s.option.name == "name" && !s.global);
    Reporting {
        title: own_name.map(|name| name.value.trim().to_owned()).filter(|name| *name != asked.section.name),
        description: asked.text("description").unwrap_or_default().to_owned(),
        group: None,
        percentiles: percentiles(asked),
        without_service: !asked.flag_or("clat_percentiles", true),
        response: asked.flag("lat_percentiles"),
        submission: asked.flag("slat_percentiles"),
        directions: directions(asked),
        digits: digits(asked),
        bits: asked.number("unit_base") == Some(1),
        thousands: asked.number("kb_base") == Some(1000),
        hide_response: reduced || asked.flag("disable_lat"),
        hide_service: reduced || asked.flag("disable_clat"),
        hide_samples: reduced || asked.flag("disable_bw_measurement"),
        hide: !asked.flag_or("stats", true),
        hide_disks: !asked.flag_or("disk_util", true),
        bandwidth_sample_ms: asked.count("bwavgtime").unwrap_or(0),
        operations_sample_ms: asked.count("iopsavgtime").unwrap_or(0),
        engine: engine.to_owned(),
        depth,
        options: of(false),
        global_options: of(true),
    }
}

fn digits(asked: &Asked<'_>) -> u32 {
    match asked.count("significant_figures") {
        None => 0,
        Some(digits @ 1..=10) => digits,
        Some(digits) => {
            let text = format!("significant_figures is {digits}");
            asked.fault("significant_figures", text, "write a number from 1 to 10");
            0
        }
    }
}

/// Why a text is no list of percentiles.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
enum PercentilesError {
    #[error("write at most {MAX_PERCENTILES}")]
    TooMany,
    #[error("write percentages above 0, up to 100, with colons between them")]
    Outside,
    #[error(transparent)]
    Value(#[from] ValueError),
}

fn percentiles(asked: &Asked<'_>) -> Vec<f64> {
    let Some(setting) = asked.setting("percentile_list") else { return Vec::new() };
    let read = asked.read(setting, &setting.value, |text| {
        let list: Vec<f64> = text.split(':').map(float).collect::<Result<_, _>>()?;
        if list.len() > MAX_PERCENTILES {
            Err(PercentilesError::TooMany)
        } else if list.iter().any(|percentile| !(*percentile > 0.0 && *percentile <= 100.0)) {
            Err(PercentilesError::Outside)
        } else {
            Ok(list)
        }
    });
    let mut list = read.unwrap_or_default();
    list.sort_by(f64::total_cmp);
    list
}

fn directions(asked: &Asked<'_>) -> ShownDirections {
    match asked.text("unified_rw_reporting") {
        None | Some("none" | "0") => ShownDirections::Apart,
        Some("mixed" | "1" | "") => ShownDirections::Together,
        Some("both" | "2") => ShownDirections::Both,
        Some(other) => {
            let hint = experiment::hint(other, ["none", "mixed", "both"]);
            asked.fault("unified_rw_reporting", format!("there is no unified_rw_reporting {other:?}"), hint);
            ShownDirections::Apart
        }
    }
}
