//! The lines of a latency, its percentiles, the samples over time and the distribution.

use super::super::direction::DirectionFigures;
use super::super::latency::{LIMITS, LatencyOutput, Shares};

/// The unit that keeps numbers short, from the min and max in nanoseconds.
fn unit(least: u64, most: u64) -> (&'static str, u64) {
    let fits = |scale: u64| least / scale > 2_000 && most / scale > 99_999;
    match (fits(1), fits(1_000)) {
        (true, true) => ("msec", 1_000_000),
        (true, false) => ("usec", 1_000),
        _ => ("nsec", 1),
    }
}

/// `    clat (usec): min=15, max=5224, avg=42.07, stdev=230.89`
pub(super) fn latency_line(label: &str, latency: &LatencyOutput) -> String {
    // If all values are similar, the smaller unit shows how they differ.
    let scale = |name, scale: u64| (name, scale, latency.deviation / scale as f64);
    let (name, divisor, deviation) = match unit(latency.min, latency.max) {
        ("msec", _) if latency.deviation > 1e6 => scale("msec", 1_000_000),
        ("msec" | "usec", _) if latency.deviation > 1e3 => scale("usec", 1_000),
        _ => scale("nsec", 1),
    };
    format!(
        "{label} ({name}): min={}, max={}, avg={:5.2}, stdev={deviation:5.2}",
        latency.min / divisor,
        latency.max / divisor,
        latency.mean / divisor as f64,
    )
}

/// The percentile table with its heading; empty if percentiles are not shown.
pub(super) fn percentile_lines(name: &str, latency: &LatencyOutput) -> Vec<String> {
    let Some(list) = latency.percentiles.as_ref().filter(|list| !list.is_empty()) else {
        return Vec::new();
    };
    let least = list.iter().map(|(_, ns)| *ns).min().unwrap_or(0);
    let most = list.iter().map(|(_, ns)| *ns).max().unwrap_or(0);
    let (unit, divisor) = unit(least, most);
    let decimals = |percent: &f64| percent.to_string().split_once('.').map_or(0, |(_, behind)| behind.len());
    let precision = list.iter().map(|(percent, _)| decimals(percent)).max().unwrap_or(0);
    let before = if precision == 0 { 3 } else { precision + 3 };
    let width = (most / divisor).to_string().len().max(5);
    let per_line = 73 / (before + width + 7).max(1);
    let items: Vec<String> = list
        .iter()
        .map(|(percent, ns)| format!("{percent:before$.precision$}th=[{:width$}]", ns / divisor))
        .collect();
    let rows = items.chunks(per_line.max(1));
    let last = rows.len();
    let mut lines = vec![format!("    {name} percentiles ({unit}):")];
    for (row, items) in rows.enumerate() {
        lines.push(format!("     | {}{}", items.join(", "), if row + 1 < last { "," } else { "" }));
    }
    lines
}

/// `   bw (  KiB/s): …` and `   iops        : …`; empty without samples.
pub(super) fn sample_lines(direction: &DirectionFigures, percent: f64, bits: bool) -> Vec<String> {
    let (bandwidth, rate) = (&direction.bandwidth, &direction.rate);
    let mut lines = Vec::new();
    if bandwidth.count > 0 {
        let times = if bits { 8.0 } else { 1.0 };
        let end = if bits { "bit" } else { "B" };
        let (prefix, divisor) = match bandwidth.mean * times / 1024.0 {
            mean if mean > 1024.0 * 1024.0 => ("Mi", 1024.0 * 1024.0),
            _ => ("Ki", 1024.0),
        };
        let scaled = |value: f64| value * times / divisor;
        lines.push(format!(
            "   bw ({:>5}/s): min={:5}, max={:5}, per={percent:.2}%, avg={:5.2}, stdev={:5.2}, samples={}",
            format!("{prefix}{end}"),
            scaled(bandwidth.min) as u64,
            scaled(bandwidth.max) as u64,
            scaled(bandwidth.mean),
            scaled(bandwidth.deviation()),
            bandwidth.count,
        ));
    }
    if rate.count > 0 {
        lines.push(format!(
            "   iops        : min={:5}, max={:5}, avg={:5.2}, stdev={:5.2}, samples={}",
            rate.min as u64,
            rate.max as u64,
            rate.mean,
            rate.deviation(),
            rate.count,
        ));
    }
    lines
}

/// `  lat (usec)   : 2=36.52%, 4=3.97%, …`: at most five non-zero shares per line.
pub(super) fn shares_lines(shares: &Shares) -> Vec<String> {
    let mut names: Vec<String> = LIMITS.iter().map(u64::to_string).collect();
    names.extend(["2000".to_owned(), ">=2000".to_owned()]);
    let scales: [(&str, &[f64]); 3] = [("nsec", &shares.ns), ("usec", &shares.us), ("msec", &shares.ms)];
    let mut lines = Vec::new();
    for (unit, values) in scales {
        let shown: Vec<String> = names
            .iter()
            .zip(values)
            .filter(|(_, share)| **share > 0.0)
            // A non-zero share is never shown as zero.
            .map(|(name, share)| format!("{name}={:.2}%", share.max(0.01)))
            .collect();
        lines.extend(shown.chunks(5).map(|items| format!("  lat ({unit})   : {}", items.join(", "))));
    }
    lines
}

#[cfg(test)]
mod tests {
    use metrics::Histogram;

    use super::*;

    fn latency(values: &[u64], list: &[f64]) -> LatencyOutput {
        let mut histogram = Histogram::new();
        values.iter().for_each(|ns| histogram.record(*ns));
        LatencyOutput::of(&histogram, Some(list))
    }

    #[test]
    fn a_latency_is_shown_in_the_unit_that_fits() {
        let line = |values: &[u64]| latency_line("    clat", &latency(values, &[]));
        assert_eq!(line(&[10, 60]), "    clat (nsec): min=10, max=60, avg=35.00, stdev=35.36");
        assert_eq!(line(&[550, 663_471]).split_once(')').map(|(unit, _)| unit), Some("    clat (nsec"));
        assert!(line(&[15_000, 5_224_000]).starts_with("    clat (usec): min=15, max=52"));
        assert!(line(&[15_500_000, 5_224_000_000]).starts_with("    clat (msec): min=15, max=52"));
        assert!(line(&[1, 9]).ends_with("avg= 5.00, stdev= 5.66"));
    }

    #[test]
    fn percentiles_stand_in_rows_as_wide_as_fios() {
        // The format of fio 3.33 with these percentile lists.
        let lines = percentile_lines("clat", &latency(&[110], &[1.0, 5.0, 10.0, 20.0, 99.99]));
        assert_eq!(
            lines,
            [
                "    clat percentiles (nsec):",
                "     |  1.00th=[  110],  5.00th=[  110], 10.00th=[  110], 20.00th=[  110],",
                "     | 99.99th=[  110]",
            ]
        );
        let list = [99.0, 99.9, 99.99, 99.9999, 100.0];
        assert_eq!(
            percentile_lines("clat", &latency(&[19], &list))[1..],
            [
                "     | 99.0000th=[   19], 99.9000th=[   19], 99.9900th=[   19],",
                "     | 99.9999th=[   19], 100.0000th=[   19]",
            ]
        );
        assert_eq!(
            percentile_lines("lat", &latency(&[1], &[1.0, 100.0]))[1],
            "     |   1th=[    1], 100th=[    1]"
        );
        assert!(percentile_lines("lat", &LatencyOutput::default()).is_empty());
    }

    #[test]
    fn seventy_seconds_are_shown_as_such() {
        let lines = percentile_lines("clat", &latency(&[70_000_000_000; 3], &[100.0]));
        assert_eq!(lines[0], "    clat percentiles (msec):");
        let value: f64 =
            lines[1].split(['[', ']']).nth(1).and_then(|text| text.trim().parse().ok()).unwrap_or(0.0);
        assert!((value / 70_000.0 - 1.0).abs() < 0.001, "{lines:?}");
    }

    #[test]
    fn empty_ranges_are_left_out_of_the_distribution() {
        let mut shares = Shares::default();
        for share in &mut shares.us[..6] {
            *share = 10.0;
        }
        (shares.ns[9], shares.ms[11]) = (0.001, 39.999);
        assert_eq!(
            shares_lines(&shares),
            [
                "  lat (nsec)   : 1000=0.01%",
                "  lat (usec)   : 2=10.00%, 4=10.00%, 10=10.00%, 20=10.00%, 50=10.00%",
                "  lat (usec)   : 100=10.00%",
                "  lat (msec)   : >=2000=40.00%",
            ]
        );
    }
}
