//! Formats figures for people: four digits of a throughput, three of a latency, with a suitable unit.

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureUnit {
    /// Bytes per second, in decimal units.
    BytesPerS,
    /// Operations per second.
    OpsPerS,
    /// Nanoseconds, shown in a suitable unit.
    Ns,
    /// A count: operations, errors, samples.
    Count,
    /// Bytes, in decimal units.
    Bytes,
    /// Seconds.
    Seconds,
    /// A share, in percent.
    Percent,
    /// A number without a unit.
    Plain,
}

const DECIMAL: [(&str, f64); 5] = [("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0)];
const TIMES: [(&str, f64); 4] = [("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1.0)];

impl FigureUnit {
    /// The unit of the stored number, as machine-readable output and CSV headers name it.
    pub fn symbol(self) -> &'static str {
        match self {
            FigureUnit::BytesPerS => "B/s",
            FigureUnit::OpsPerS => "/s",
            FigureUnit::Ns => "ns",
            FigureUnit::Bytes => "B",
            FigureUnit::Seconds => "s",
            FigureUnit::Percent => "share",
            FigureUnit::Count | FigureUnit::Plain => "",
        }
    }

    /// A value as text; `–` when it is not a number.
    pub fn text(self, value: f64) -> String {
        if !value.is_finite() {
            return "–".into();
        }
        match self {
            FigureUnit::BytesPerS => scaled(value, &DECIMAL, 4, "B/s"),
            FigureUnit::OpsPerS => scaled(value, &DECIMAL, 4, "/s"),
            FigureUnit::Bytes => scaled(value, &DECIMAL, 4, "B"),
            FigureUnit::Ns => scaled(value, &TIMES, 3, ""),
            FigureUnit::Count => grouped(value),
            FigureUnit::Seconds => seconds(value),
            FigureUnit::Percent => format!("{} %", digits(value * 100.0, 3)),
            FigureUnit::Plain => plain(value),
        }
    }
}

/// A value in the largest unit that keeps it at 1 or above.
fn scaled(value: f64, units: &[(&str, f64)], wanted: usize, tail: &str) -> String {
    let smallest = units.last().expect("no table of units is empty");
    // The printed value decides: 999.96 k with four digits is 1.000 M.
    let reaches = |factor: f64| (value.abs() / factor) * (1.0 + 0.5 * 10f64.powi(-(wanted as i32))) >= 1.0;
    let (name, factor) = units.iter().find(|(_, factor)| reaches(*factor)).unwrap_or(smallest);
    let number = value / factor;
    let number = match *factor == 1.0 && number.fract() == 0.0 {
        true => format!("{number:.0}"),
        false => digits(number, wanted),
    };
    match (name.is_empty(), tail.starts_with('/')) {
        (true, true) => format!("{number}{tail}"),
        (false, true) => format!("{number} {name}{tail}"),
        (true, false) if tail.is_empty() => number,
        _ => format!("{number} {name}{tail}"),
    }
}

/// This many significant digits, never in scientific form.
pub fn digits(value: f64, wanted: usize) -> String {
    let rounded = |places: usize| format!("{value:.places$}");
    if value == 0.0 {
        return "0".into();
    }
    let before = value.abs().log10().floor() as i64 + 1;
    let places = (wanted as i64 - before).clamp(0, 9) as usize;
    let text = rounded(places);
    // Without this, 9.9996 with four digits would become 10.0000.
    let grown = text.trim_start_matches('-').parse::<f64>().unwrap_or(0.0).log10().floor() as i64 + 1;
    if grown > before && places > 0 { rounded(places - 1) } else { text }
}

/// A whole number with digits grouped in threes: `1 284 003`.
fn grouped(value: f64) -> String {
    let text = format!("{value:.0}");
    let (sign, number) = match text.strip_prefix('-') {
        Some(number) => ("-", number),
        None => ("", text.as_str()),
    };
    let mut out = String::from(sign);
    for (index, digit) in number.chars().enumerate() {
        if index > 0 && (number.len() - index).is_multiple_of(3) {
            // A narrow no-break space.
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

/// A duration: `12.3 s`, `5 min 20 s`, `2 h 5 min`.
fn seconds(value: f64) -> String {
    let whole = value.round();
    match value {
        v if v >= 7200.0 => parts((whole / 3600.0).floor(), "h", (whole % 3600.0 / 60.0).floor(), "min"),
        v if v >= 120.0 => parts((whole / 60.0).floor(), "min", whole % 60.0, "s"),
        v if v > 0.0 && v < 0.1 => scaled(v * 1e9, &TIMES, 3, ""),
        _ => {
            let text = format!("{value:.1}");
            format!("{} s", text.strip_suffix(".0").unwrap_or(&text))
        }
    }
}

fn parts(large: f64, unit: &str, small: f64, smaller: &str) -> String {
    if small > 0.0 { format!("{large} {unit} {small} {smaller}") } else { format!("{large} {unit}") }
}

/// Any number: integers in full, others with four digits.
fn plain(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 { grouped(value) } else { digits(value, 4) }
}

/// Half-width of an interval relative to its mean, as ` ± 1.2 %`; `None` without an interval.
pub fn plus_minus(estimate: &stats::Estimate) -> Option<String> {
    let half = (estimate.high - estimate.low) / 2.0 / estimate.mean.abs();
    (half.is_finite() && half >= 0.0 && estimate.samples > 1).then(|| {
        let percent = half * 100.0;
        match percent {
            p if p < 0.01 => "± 0.01 %".to_owned(),
            p => format!("± {} %", digits(p, 2)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_fit_their_unit() {
        for (unit, value, text) in [
            (FigureUnit::BytesPerS, 3_214_567_890.0, "3.215 GB/s"),
            (FigureUnit::BytesPerS, 999_960_000.0, "1.000 GB/s"),
            (FigureUnit::BytesPerS, 0.0, "0 B/s"),
            (FigureUnit::OpsPerS, 128_437.0, "128.4 k/s"),
            (FigureUnit::OpsPerS, 350.0, "350/s"),
            (FigureUnit::OpsPerS, 0.25, "0.2500/s"),
            (FigureUnit::Ns, 847.0, "847 ns"),
            (FigureUnit::Ns, 1_234.0, "1.23 µs"),
            (FigureUnit::Ns, 999_600.0, "1.00 ms"),
            (FigureUnit::Ns, 2_500_000_000.0, "2.50 s"),
            (FigureUnit::Count, 1_284_003.0, "1\u{202f}284\u{202f}003"),
            (FigureUnit::Bytes, 1_500.0, "1.500 kB"),
            (FigureUnit::Seconds, 12.34, "12.3 s"),
            (FigureUnit::Seconds, 320.0, "5 min 20 s"),
            (FigureUnit::Seconds, 300.0, "5 min"),
            (FigureUnit::Seconds, 7_500.0, "2 h 5 min"),
            (FigureUnit::Seconds, 0.002, "2.00 ms"),
            (FigureUnit::Percent, 0.0123, "1.23 %"),
            (FigureUnit::Plain, 30.0, "30"),
            (FigureUnit::Plain, 0.0312345, "0.03123"),
            (FigureUnit::Plain, f64::NAN, "–"),
        ] {
            assert_eq!(unit.text(value), text, "{unit:?} {value}");
        }
    }

    #[test]
    fn rounding_up_does_not_add_a_digit() {
        assert_eq!(digits(9.9996, 4), "10.00");
        assert_eq!(digits(0.099_996, 4), "0.1000");
    }
}
