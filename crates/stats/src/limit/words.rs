//! Numbers as they appear in sentences.

/// A share as a percentage: `93 %`, `0.4 %`.
pub(super) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 9.95 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// A time in seconds: `1.3 ms`.
pub(super) fn time(seconds: f64) -> String {
    units::latency((seconds.max(0.0) * 1e9) as u64)
}

/// A part of a rate: `1.1 of 1.2 GB/s`.
pub(super) fn part_of(part: f64, whole: f64) -> String {
    let (part, whole) = (units::ByteRate(part).to_string(), units::ByteRate(whole).to_string());
    let unit = |text: &str| text.split_once(' ').map(|(_, unit)| unit.to_owned());
    match part.split_once(' ') {
        Some((number, of)) if unit(&whole).as_deref() == Some(of) => format!("{number} of {whole}"),
        _ => format!("{part} of {whole}"),
    }
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
    use super::{age, part_of};

    #[test]
    fn parts_have_their_unit_once_where_it_is_the_same() {
        assert_eq!(part_of(1.097e9, 1.1e9), "1.1 of 1.1 GB/s");
        assert_eq!(part_of(3e6, 1.1e9), "3.0 MB/s of 1.1 GB/s");
    }

    #[test]
    fn ages_are_in_the_unit_that_people_would_use() {
        let ages = [-5.0, 119.0, 600.0, 10_800.0, 172_800.0, 3.16e7].map(age);
        assert_eq!(
            ages,
            ["just now", "just now", "10 minutes ago", "3 hours ago", "2 days ago", "366 days ago"]
        );
    }
}
