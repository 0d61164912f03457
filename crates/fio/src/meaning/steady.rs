//! `steadystate`.

use super::asked::Asked;
use super::numbers::float;
use crate::values::ValueError;
use experiment::{Stages, SteadyRule};

/// The criteria by name: the metric, and whether its slope is limited.
const KINDS: [(&str, &str, bool); 6] = [
    ("iops", "iops", false),
    ("iops_slope", "iops", true),
    ("bw", "bw", false),
    ("bw_slope", "bw", true),
    ("lat", "lat", false),
    ("lat_slope", "lat", true),
];

/// Why a text is no criterion of a steady state.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
enum CriterionError {
    #[error("{HOW}")]
    Form,
    #[error("{HOW}; {}", experiment::hint(.0, KINDS.iter().map(|kind| kind.0)))]
    Unknown(String),
    #[error("a limit is a share of the mean here; write it in percent, as in iops:2%")]
    NoShare,
    #[error("write a limit above 0 %")]
    NoLimit,
    #[error(transparent)]
    Value(#[from] ValueError),
}

const HOW: &str = "write CRITERION:LIMIT%, as in iops_slope:0.1%";

/// The rule that ends the job before its runtime, and the related times.
pub(crate) fn steady(asked: &Asked<'_>, stages: &mut Stages) -> SteadyRule {
    let Some(setting) = asked.setting("steadystate") else { return SteadyRule::None };
    let window_s = asked.seconds("steadystate_duration", 1.0).unwrap_or(0.0);
    let ramp_s = asked.seconds("steadystate_ramp_time", 1.0).unwrap_or(0.0);
    let rule = asked.read(setting, &setting.value, |text| {
        let (kind, limit) = text.trim().split_once(':').ok_or(CriterionError::Form)?;
        let kind = KINDS
            .iter()
            .find(|known| known.0 == kind)
            .ok_or_else(|| CriterionError::Unknown(kind.to_owned()))?;
        let share = limit.trim().strip_suffix('%').ok_or(CriterionError::NoShare)?;
        match float(share)? {
            percent if percent > 0.0 => Ok(SteadyRule::Fio {
                metric: kind.1.to_owned(),
                slope: kind.2,
                limit: percent / 100.0,
                window_s,
            }),
            _ => Err(CriterionError::NoLimit),
        }
    });
    if window_s == 0.0 {
        let text = "steadystate has no effect: there is no window to look at";
        asked.warn("steadystate", text, "add steadystate_duration, as in ss_dur=60s");
        return SteadyRule::None;
    }
    stages.measure_at_least_s = ramp_s + window_s;
    rule.unwrap_or(SteadyRule::None)
}
