//! Keys of the steady-state rules.

use super::Form::{Choice, Count, Flag, Share, Span};
use super::{Key, key};

pub(crate) const STEADY_DEFAULT: &[Key] = &[
    key("half_width", Share, "3%", "maximum relative half-width of the 95 % confidence interval"),
    key("drift", Share, "5%", "maximum drift of throughput over the window"),
    key("latency_drift", Share, "10%", "maximum drift of p99 over the window"),
    key("effective_samples", Count(2), "30", "minimum effective sample size"),
];

pub(crate) const STEADY_SUSTAINED: &[Key] = &[
    key("horizon", Span, "10m", "how long the level must hold; also the minimum length of a measurement"),
    key("half_width", Share, "3%", "maximum relative half-width of the 95 % confidence interval"),
    key("drift", Share, "5%", "maximum drift of throughput over the horizon"),
    key("latency_drift", Share, "10%", "maximum drift of p99 over the horizon"),
    key("effective_samples", Count(2), "30", "minimum effective sample size"),
];

pub(crate) const STEADY_SNIA: &[Key] =
    &[key("round", Span, "60s", "length of a round; five rounds must agree")];

pub(crate) const STEADY_STORPERF: &[Key] = &[
    key("sample", Span, "60s", "length of a sample"),
    key("samples", Count(2), "10", "how many samples must agree"),
];

pub(crate) const STEADY_FIO: &[Key] = &[
    key("metric", Choice(FIO_METRIC), "iops", "metric to watch"),
    key("slope", Flag, "true", "limit the slope; otherwise the deviation from the mean"),
    key("limit", Share, "0.3%", "limit, relative to the mean"),
    key("window", Span, "30s", "length of the window"),
];

/// Values of fio's `metric`.
pub(crate) const FIO_METRIC: &[&str] = &["iops", "bw", "lat"];

/// Names of the rules.
pub(crate) const STEADY: &[&str] = &["default", "sustained", "snia", "storperf", "fio", "none"];
