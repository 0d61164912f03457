//! Rules as text, and their times over changes of clocks.

#![allow(clippy::unwrap_used)] // a test may fail loudly

use super::*;

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap()
}

/// The next times in a zone, as UTC.
fn next(every: &str, name: &str, created: &str, after: &str, count: usize) -> Vec<String> {
    let every: Every = every.parse().unwrap();
    let times = every.upcoming(&zone(name), created.parse().unwrap(), after.parse().unwrap(), count);
    times.iter().map(Timestamp::to_string).collect()
}

#[test]
fn rules_are_read_and_written_alike() {
    for text in
        ["30m", "6h", "1d at 02:00", "14d at 23:59", "1w on mon at 02:00", "2w on mon,thu,sun at 00:00"]
    {
        assert_eq!(text.parse::<Every>().unwrap().to_string(), text);
    }
    for (text, same) in [("60m", "1h"), (" 1w  on sun,mon,sun at 02:00 ", "1w on mon,sun at 02:00")] {
        assert_eq!(text.parse::<Every>().unwrap().to_string(), same);
    }
}

#[test]
fn what_is_no_rule_is_named() {
    for text in [
        "",
        "1",
        "d",
        "0h",
        "-1h",
        "1s",
        "1 d",
        "6h at 02:00",
        "1d",
        "1d at 2:00",
        "1d at 24:00",
        "1d at 02:60",
        "1d at 02:00:00",
        "367d at 02:00",
        "99999999999h",
        "1w at 02:00",
        "1w on at 02:00",
        "1w on mon,, at 02:00",
        "1w on monday at 02:00",
        "1d at ０2:00",
        "1é",
        "é",
    ] {
        let error = text.parse::<Every>().unwrap_err().to_string();
        assert!(error.contains(&format!("{text:?}")) && error.contains("next: write"), "{error}");
    }
}

#[test]
fn minutes_and_hours_count_from_the_creation() {
    let created = "2026-03-29T00:17:05Z";
    assert_eq!(
        next("6h", "Europe/Berlin", created, created, 3),
        ["2026-03-29T06:17:05Z", "2026-03-29T12:17:05Z", "2026-03-29T18:17:05Z"],
        "hours pass at the same pace when clocks change"
    );
    assert_eq!(
        next("6h", "UTC", created, "2026-03-29T06:17:05Z", 1),
        ["2026-03-29T12:17:05Z"],
        "strictly after"
    );
    assert_eq!(
        next("30m", "UTC", created, "2020-01-01T00:00:00Z", 1),
        ["2026-03-29T00:47:05Z"],
        "never before"
    );
}

#[test]
fn a_day_has_its_local_time_when_clocks_change() {
    // In Berlin, 02:00 to 03:00 did not exist on 29 March 2026: 02:30 is due at 03:30.
    assert_eq!(
        next("1d at 02:30", "Europe/Berlin", "2026-03-27T12:00:00Z", "2026-03-27T12:00:00Z", 3),
        ["2026-03-28T01:30:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"]
    );
    // On 25 October 2026, 02:00 to 03:00 happened twice: due once, at the first.
    assert_eq!(
        next("1d at 02:30", "Europe/Berlin", "2026-10-23T12:00:00Z", "2026-10-23T12:00:00Z", 3),
        ["2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]
    );
    assert_eq!(
        next("1d at 02:30", "Europe/Berlin", "2026-10-23T12:00:00Z", "2026-10-25T00:30:00Z", 1),
        ["2026-10-26T01:30:00Z"],
        "not again an hour later"
    );
    // In New York, 8 March and 1 November 2026.
    assert_eq!(
        next("1d at 02:30", "America/New_York", "2026-03-07T12:00:00Z", "2026-03-07T12:00:00Z", 2),
        ["2026-03-08T07:30:00Z", "2026-03-09T06:30:00Z"]
    );
    // Lord Howe Island changes by half an hour.
    assert_eq!(
        next("1d at 02:15", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "2026-10-03T00:00:00Z", 2),
        ["2026-10-03T15:45:00Z", "2026-10-04T15:15:00Z"]
    );
    // Samoa had no 30 December 2011.
    assert_eq!(
        next("1d at 02:00", "Pacific/Apia", "2011-12-28T13:00:00Z", "2011-12-28T13:00:00Z", 3),
        ["2011-12-29T12:00:00Z", "2011-12-30T12:00:00Z", "2011-12-31T12:00:00Z"]
    );
}

#[test]
fn several_days_and_weeks_count_from_the_first_time() {
    assert_eq!(
        next("3d at 02:00", "UTC", "2026-11-24T01:00:00Z", "2026-11-24T01:00:00Z", 3),
        ["2026-11-24T02:00:00Z", "2026-11-27T02:00:00Z", "2026-11-30T02:00:00Z"]
    );
    assert_eq!(
        next("3d at 02:00", "UTC", "2026-11-24T02:00:00Z", "2026-12-31T00:00:00Z", 1),
        ["2026-12-31T02:00:00Z"]
    );
    // 24 November 2026 is a Tuesday.
    assert_eq!(
        next("1w on mon,thu at 02:00", "UTC", "2026-11-24T00:00:00Z", "2026-11-24T00:00:00Z", 4),
        ["2026-11-26T02:00:00Z", "2026-11-30T02:00:00Z", "2026-12-03T02:00:00Z", "2026-12-07T02:00:00Z"]
    );
    assert_eq!(
        next("2w on mon,thu at 02:00", "UTC", "2026-11-24T00:00:00Z", "2026-11-24T00:00:00Z", 4),
        ["2026-11-26T02:00:00Z", "2026-12-07T02:00:00Z", "2026-12-10T02:00:00Z", "2026-12-21T02:00:00Z"]
    );
}

/// Any rule, over years: each time is after the one before, on its local time or moved by a change of clocks.
#[test]
fn times_go_forward_through_years_of_changing_clocks() {
    for name in [
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "Africa/Casablanca",
        "Asia/Kathmandu",
    ] {
        for (text, count) in
            [("1d at 02:30", 1000), ("2d at 00:00", 500), ("1w on sun at 02:00", 150), ("7h", 500)]
        {
            let every: Every = text.parse().unwrap();
            let created = "2025-01-01T00:00:00Z".parse().unwrap();
            let times = every.upcoming(&zone(name), created, created, count);
            assert_eq!(times.len(), count);
            for pair in times.windows(2) {
                let hours = pair[1].duration_since(pair[0]).as_secs_f64() / 3600.0;
                let usual = match text {
                    "7h" => 7.0,
                    "1d at 02:30" => 24.0,
                    "2d at 00:00" => 48.0,
                    _ => 168.0,
                };
                assert!((hours - usual).abs() <= 1.0, "{name}: {text}: {pair:?}");
            }
        }
    }
}
