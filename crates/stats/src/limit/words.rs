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

/// How long ago something was: `3 days ago`.
pub(super) fn age(seconds: f64) -> String {
    let (count, unit) = match seconds.max(0.0) {
        s if s < 120.0 => return "just now".to_owned(),
        s if s < 7_200.0 => (s / 60.0, "minutes"),
        s if s < 172_800.0 => (s / 3_600.0, "hours"),
        s => (s / 86_400.0, "days"),
    };
    format!("{count:.0} {unit} ago")
}

#[cfg(test)]
mod tests {
    use super::age;

    #[test]
    fn ages_are_in_the_unit_that_people_would_use() {
        let ages = [-5.0, 119.0, 600.0, 10_800.0, 172_800.0, 3.16e7].map(age);
        assert_eq!(
            ages,
            ["just now", "just now", "10 minutes ago", "3 hours ago", "2 days ago", "366 days ago"]
        );
    }
}
