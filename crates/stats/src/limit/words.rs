//! Numbers as the sentences have them.

/// A share as a percentage: `93 %`, `0.4 %`.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// A time in seconds: `1.3 ms`.
pub(super) fn time(seconds: f64) -> String {
    units::latency((seconds.max(0.0) * 1e9) as u64)
}
