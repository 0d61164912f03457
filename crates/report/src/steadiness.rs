//! What a measurement implies for the time after it, in sentences: drift with its horizon, and rare stalls.

use stats::{Measure, Stalls, SteadyOutcome, Trend};
use units::{ByteRate, OpRate};

const TEN_MINUTES_S: f64 = 600.0;
const HOUR_S: f64 = 3600.0;

/// Drift per minute and per hour with its uncertainty, and the stalls; empty if neither is known.
pub fn steadiness(outcome: &SteadyOutcome) -> Vec<String> {
    outcome.trend.as_ref().map(trend).into_iter().chain(outcome.stalls.as_ref().map(stalls)).collect()
}

fn trend(trend: &Trend) -> String {
    if trend.bound_over(60.0) >= 1.0 {
        return "the measurement is too short to estimate drift".to_owned();
    }
    let over = |seconds: f64| {
        let (change, bound) = (trend.change_over(seconds), trend.bound_over(seconds));
        match bound < 1.0 {
            true => format!("{} (at most {})", signed(change), percent(bound)),
            false => "unknown".to_owned(),
        }
    };
    let level = match trend.level_after(TEN_MINUTES_S) {
        Some((low, high)) => {
            format!("; in ten minutes the level may be {} to {}", rate(trend, low), rate(trend, high))
        }
        None => "; the level in ten minutes cannot be predicted".to_owned(),
    };
    format!("drift per minute {}, per hour {}{level}", over(60.0), over(HOUR_S))
}

fn stalls(stalls: &Stalls) -> String {
    let (noun, longest) = match stalls.count {
        1 => ("stall", String::new()),
        _ => ("stalls", format!(", the longest {:.0} s", stalls.longest_s)),
    };
    format!(
        "{} {noun} in the whole measurement, {:.0} s in all{longest}; {} in the reported window, where {:.1} would be \
         expected; they cost {} of the throughput",
        stalls.count,
        stalls.seconds,
        if stalls.in_window == 0 { "none".to_owned() } else { stalls.in_window.to_string() },
        stalls.expected_in_window,
        percent(stalls.cost)
    )
}

fn rate(trend: &Trend, value: f64) -> String {
    match trend.measure {
        Measure::BytesPerS => ByteRate(value).to_string(),
        _ => OpRate(value).to_string(),
    }
}

fn percent(share: f64) -> String {
    let percent = share.abs() * 100.0;
    match percent {
        percent if percent >= 9.95 => format!("{percent:.0} %"),
        percent if percent >= 0.095 => format!("{percent:.1} %"),
        percent => format!("{percent:.2} %"),
    }
}

fn signed(share: f64) -> String {
    let sign = if share < 0.0 { "−" } else { "+" };
    format!("{sign}{}", percent(share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drift_is_told_with_its_horizon() {
        let trend =
            Trend { measure: Measure::BytesPerS, mean: 1e9, per_minute: -0.002, per_minute_bound: 0.007 };
        assert_eq!(
            super::trend(&trend),
            "drift per minute −0.2 % (at most 0.7 %), per hour −12 % (at most 42 %); in ten minutes the level may be \
             930.0 MB/s to 1.1 GB/s"
        );
        let short = Trend { measure: Measure::OpsPerS, mean: 1e3, per_minute: 0.1, per_minute_bound: 0.4 };
        assert_eq!(
            super::trend(&short),
            "drift per minute +10 % (at most 40 %), per hour unknown; the level in ten minutes cannot be predicted"
        );
    }

    #[test]
    fn stalls_are_counted_with_what_a_window_would_have_seen() {
        let found = Stalls {
            count: 2,
            seconds: 20.0,
            longest_s: 12.0,
            in_window: 0,
            expected_in_window: 1.1,
            cost: 0.031,
            window_cost: 0.0,
        };
        assert_eq!(
            stalls(&found),
            "2 stalls in the whole measurement, 20 s in all, the longest 12 s; none in the reported window, where 1.1 would be \
             expected; they cost 3.1 % of the throughput"
        );
    }
}
