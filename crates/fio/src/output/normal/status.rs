//! The "Run status group" lines.

use experiment::ShownDirections;

use super::super::groups::{EntryGroup, Summary};
use super::super::numbers::Style;

/// The lines of a group, starting with an empty one.
pub(super) fn group_lines(number: u32, group: &EntryGroup, style: Style) -> String {
    let mut text = format!("\nRun status group {number} (all jobs):\n");
    let mut line = |name: &str, summary: &Summary| {
        if summary.longest_ns > 0 {
            text.push_str(&direction_line(name, summary, style));
        }
    };
    if group.shown != ShownDirections::Together {
        ["READ", "WRITE", "TRIM"]
            .iter()
            .zip(&group.directions)
            .for_each(|(name, summary)| line(name, summary));
    }
    if group.shown != ShownDirections::Apart {
        line("MIXED", &group.mixed);
    }
    text
}

fn direction_line(name: &str, summary: &Summary, style: Style) -> String {
    let rate = |bytes_per_s: f64| style.rate(bytes_per_s as u64);
    let ([all, all_too], [least, least_too], [most, most_too]) =
        (rate(summary.bytes_per_s()), rate(summary.slowest), rate(summary.fastest));
    let [bytes, bytes_too] = style.bytes(summary.bytes);
    let ms = |ns: u64| ((ns + 500_000) / 1_000_000).max(1);
    format!(
        "{name:>7}: bw={all} ({all_too}), {least}-{most} ({least_too}-{most_too}), io={bytes} ({bytes_too}), \
         run={}-{}msec\n",
        ms(summary.shortest_ns),
        ms(summary.longest_ns),
    )
}
