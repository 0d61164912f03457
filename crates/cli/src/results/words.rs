//! Formats figures and times for people, consistently in every command.

use jiff::Timestamp;
use report::{FittedTable, TableColumn, paragraph};
use stats::Estimate;
use store::{State, Validity};
use units::{ByteRate, OpRate, latency};

/// `2026-11-22 00:06:09 UTC`
pub fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// Seconds with as many digits as matter: `0.25 s`, `12.3 s`, `11m 40s`, `3h 5m`.
pub fn seconds(seconds: f64) -> String {
    let whole = seconds.round().max(0.0) as u64;
    match whole {
        0..10 => format!("{seconds:.2} s"),
        10..120 => format!("{seconds:.1} s"),
        120..7200 => format!("{}m {}s", whole / 60, whole % 60),
        _ => format!("{}h {}m", whole / 3600, whole / 60 % 60),
    }
}

/// `1.2M/s`
pub fn ops(rate: f64) -> String {
    OpRate(rate).to_string()
}

/// `3.1 GB/s`, or a placeholder.
pub fn bytes(rate: f64) -> String {
    if rate > 0.0 { ByteRate(rate).to_string() } else { "-".into() }
}

/// A latency, if one was measured.
pub fn time(nanos: u64, count: u64) -> String {
    if count == 0 { "-".into() } else { latency(nanos) }
}

/// Relative half-width of the 95 % interval in percent; a placeholder if a single value gives none.
pub fn half_width(estimate: &Estimate) -> String {
    let known = estimate.effective_samples > 1.0 && estimate.mean > 0.0;
    let share = (estimate.high - estimate.low) / 2.0 / estimate.mean * 100.0;
    if known && share.is_finite() { format!("± {share:.1} %") } else { "-".into() }
}

/// A state in a word.
pub fn state(state: State) -> &'static str {
    state.name()
}

/// A verdict in a word; `-` when there is none.
pub fn verdict(validity: Option<Validity>) -> &'static str {
    validity.map_or("-", Validity::name)
}

/// Text from a file, in one line and without terminal control characters.
pub fn plain(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}

/// Columns with these titles, each with its rank as in [`TableColumn::rank`]; the first `left` are left-aligned, the
/// others right-aligned.
pub fn columns(titles: &[(&str, u8)], left: usize) -> Vec<TableColumn> {
    let column = |(at, (title, rank)): (usize, &(&str, u8))| {
        if at < left { TableColumn::left(*title) } else { TableColumn::right(*title) }.rank(*rank)
    };
    titles.iter().enumerate().map(column).collect()
}

/// Rows under [`columns`], each line indented.
pub fn table(
    titles: &[(&str, u8)],
    left: usize,
    rows: Vec<Vec<String>>,
    (width, indent): (usize, &str),
) -> String {
    FittedTable::of(columns(titles, left), rows).text(width, indent)
}

/// An indented line; text beyond `width` continues on the next line, indented further.
pub fn wrapped(line: &str, width: usize) -> String {
    // Lines of a table keep their columns.
    if line.chars().count() + 2 <= width || line.starts_with(' ') {
        return format!("  {line}\n");
    }
    paragraph(line, width, "  ", "    ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_at_a_glance() {
        let texts = [0.0, 0.254, 12.34, 119.4, 700.0, 11_100.0].map(seconds);
        assert_eq!(texts, ["0.00 s", "0.25 s", "12.3 s", "119.4 s", "11m 40s", "3h 5m"]);
    }

    #[test]
    fn one_sample_has_no_interval() {
        let estimate = |effective_samples| Estimate {
            mean: 100.0,
            low: 98.0,
            high: 102.0,
            deviation: 1.0,
            samples: 10,
            effective_samples,
            autocorrelation: 1.0,
        };
        assert_eq!(half_width(&estimate(10.0)), "± 2.0 %");
        assert_eq!(half_width(&estimate(1.0)), "-");
        assert_eq!(half_width(&Estimate { mean: 0.0, ..estimate(10.0) }), "-");
    }

    #[test]
    fn nothing_from_a_file_reaches_the_terminal_as_a_command() {
        assert_eq!(plain("a\u{1b}[2Jb\nc"), "a [2Jb c");
    }
}
