//! Keys of the rules of steady state.

use super::Form::{Choice, Count, Flag, Share, Span};
use super::{Key, key};

pub(crate) const STEADY_DEFAULT: &[Key] = &[
    key("half_width", Share, "3%", "half of the 95 % confidence interval, relative, that is good enough"),
    key("drift", Share, "5%", "drift of throughput over the window that is tolerated"),
    key("latency_drift", Share, "10%", "drift of p99 over the window that is tolerated"),
    key("effective_samples", Count(2), "30", "independent samples that are demanded"),
];

pub(crate) const STEADY_SUSTAINED: &[Key] = &[
    key("horizon", Span, "10m", "how long the level is claimed for; no measurement is shorter"),
    key("half_width", Share, "3%", "half of the 95 % confidence interval, relative, that is good enough"),
    key("drift", Share, "5%", "drift of throughput over the horizon that is tolerated"),
    key("latency_drift", Share, "10%", "drift of p99 over the horizon that is tolerated"),
    key("effective_samples", Count(2), "30", "independent samples that are demanded"),
];

pub(crate) const STEADY_SNIA: &[Key] = &[key("round", Span, "60s", "length of a round; five must be alike")];

pub(crate) const STEADY_STORPERF: &[Key] = &[
    key("sample", Span, "60s", "length of a sample"),
    key("samples", Count(2), "10", "how many samples must be alike"),
];

pub(crate) const STEADY_FIO: &[Key] = &[
    key("metric", Choice(FIO_METRIC), "iops", "what is looked at"),
    key("slope", Flag, "true", "the slope is limited; otherwise the deviation from the mean"),
    key("limit", Share, "0.3%", "relative to the mean"),
    key("window", Span, "30s", "the window that is looked at"),
];

/// Words of fio's `metric`.
pub(crate) const FIO_METRIC: &[&str] = &["iops", "bw", "lat"];

/// Names of the rules.
pub(crate) const STEADY: &[&str] = &["default", "sustained", "snia", "storperf", "fio", "none"];
