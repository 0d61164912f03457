//! The state of a run in one line.

use units::{ByteRate, OpRate, latency};

use runner::progress::RunProgress;

/// Seconds in clock notation: `42 s`, `3:07`, `1:02:03`.
pub fn clock(seconds: f64) -> String {
    let whole = seconds.max(0.0).round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest} s"),
        (0, _) => format!("{minutes}:{rest:02}"),
        _ => format!("{hours}:{minutes:02}:{rest:02}"),
    }
}

/// Shortens a text to at most `most` characters.
pub fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Which cell, time left, which stage, for how long, how fast, how steady.
pub fn line(model: &RunProgress, now_ns: u64) -> String {
    let stage = &model.stage;
    let name = model.cells.get(model.current).map_or("", |cell| cell.name.as_str());
    let all = model.cells.len();
    // The most important part comes first: a narrow terminal cuts the end.
    let left = model.eta_s(now_ns).map_or_else(String::new, |(cell, whole)| match all {
        1 => format!(", about {} left", clock(whole)),
        _ => format!(", about {} left, {} in all", clock(cell), clock(whole)),
    });
    let mut parts = vec![match model.running.len() {
        0 | 1 => format!("cell {}/{all}{left}", model.current + 1),
        more => format!("{more} cells at once of {all}{left}"),
    }];
    parts.push(match model.running.len() {
        0 | 1 => shortened(name, 60),
        _ => format!("{} and others", shortened(name, 60)),
    });
    if !stage.name.is_empty() {
        let elapsed = clock(model.stage_elapsed_s(now_ns));
        let simulated = if stage.simulated { " (simulated)" } else { "" };
        parts.push(match stage.at_most_s {
            Some(most) => format!("{} {elapsed} of at most {}{simulated}", stage.name, clock(most)),
            None => format!("{} {elapsed}{simulated}", stage.name),
        });
    }
    if let Some(expected) = stage.bytes_expected.filter(|expected| *expected > 0) {
        let share = (stage.bytes as f64 / expected as f64).min(1.0) * 100.0;
        parts.push(format!("{share:.0} % of {}", units::Size(expected).rounded()));
    }
    if let Some(now) = model.now() {
        let mut rates = Vec::new();
        if now.bytes > 0 {
            rates.push(ByteRate(now.bytes_per_s()).to_string());
        }
        rates.push(OpRate(now.ops_per_s()).to_string());
        if now.p99_ns > 0 {
            rates.push(format!("p99 {}", latency(now.p99_ns)));
        }
        parts.push(rates.join(", "));
    }
    if model.failed > 0 {
        parts.push(format!("{} errors", model.failed));
    }
    if let Some(steady) = model.steady.as_ref().filter(|steady| steady.rule != "none") {
        let met = steady.criteria.iter().filter(|criterion| criterion.met).count();
        parts.push(match steady.criteria.len() {
            0 => format!("steady? first look at {}", clock(steady.next_look_s)),
            all => format!("steady? {met} of {all}"),
        });
    }
    parts.join(" · ")
}

#[cfg(test)]
mod tests {
    use metrics::OpKind;
    use stats::Criterion;

    use super::*;
    use runner::progress::{Stage, Steady};
    use runner::test_support::{cell, interval};

    #[test]
    fn clocks_read_like_clocks() {
        assert_eq!(clock(0.4), "0 s");
        assert_eq!(clock(59.0), "59 s");
        assert_eq!(clock(187.0), "3:07");
        assert_eq!(clock(3723.0), "1:02:03");
        assert_eq!(shortened("abcdef", 4), "abc…");
        assert_eq!(shortened("abcd", 4), "abcd");
    }

    #[test]
    fn the_line_says_where_the_run_is() {
        let second = 1_000_000_000;
        let mut model =
            RunProgress { cells: vec![cell("read 4KiB", 100.0), cell("b", 50.0)], ..RunProgress::default() };
        model.begin_cell(0, "null:", 0);
        model.begin_stage(
            Some(0),
            Stage { name: "measure".into(), at_most_s: Some(90.0), ..Stage::default() },
        );
        model.interval(0, &interval(0, &[(OpKind::Read, 1000, 4096, 1_000_000)]));
        let criterion = Criterion {
            name: "a".into(),
            value: 1.0,
            limit: 2.0,
            at_most: true,
            met: true,
            unit: stats::CriterionUnit::Count,
        };
        let missing = Criterion { met: false, ..criterion.clone() };
        model.steady =
            Some(Steady { rule: "default".into(), next_look_s: 30.0, criteria: vec![criterion, missing] });
        insta::assert_snapshot!(line(&model, 10 * second));
        model.steady.as_mut().unwrap().criteria.clear();
        model.stage.bytes_expected = Some(8192 * 1000);
        model.failed = 3;
        insta::assert_snapshot!(line(&model, 10 * second));
    }
}
