//! The progress line of a run (`--eta`), following "Interpreting the output" in fio's HOWTO.

use super::numbers::{NumberUnit, Style, short};

/// The current state of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FioProgress {
    /// The state of each worker in job order, as a letter from fio's table, such as `r` for random reads.
    pub states: Vec<char>,
    /// Files that are open.
    pub files: u64,
    /// Share completed, 0 to 1; `None`: unknown.
    pub done: Option<f64>,
    /// Bytes per second of reads, writes and trims since the last line.
    pub bytes_per_s: [f64; 3],
    /// Operations per second of reads, writes and trims since the last line.
    pub ops_per_s: [f64; 3],
    /// Seconds until the current group ends; `None`: unknown.
    pub left_s: Option<u64>,
}

/// States in which a worker is running.
const RUNNING: &str = "pRrWwMmDdFV/If";

/// The line, without a line end.
pub fn line(progress: &FioProgress, style: Style) -> String {
    let running = progress.states.iter().filter(|state| RUNNING.contains(**state)).count();
    let mut text = format!("Jobs: {running} (f={}): [{}]", progress.files, condensed(&progress.states));
    match progress.done {
        Some(done) => text.push_str(&format!("[{:.1}%]", done.clamp(0.0, 1.0) * 100.0)),
        None => text.push_str("[-.-%]"),
    }
    let present: Vec<usize> = (0..3).filter(|n| progress.ops_per_s[*n] > 0.0).collect();
    if !present.is_empty() {
        let each = |shown: &dyn Fn(usize) -> String| {
            let parts: Vec<String> =
                present.iter().map(|n| format!("{}={}", ["r", "w", "t"][*n], shown(*n))).collect();
            parts.join(",")
        };
        let bytes = each(&|n| style.rate(progress.bytes_per_s[n] as u64)[0].clone());
        let ops = each(&|n| short(progress.ops_per_s[n] as u64, 4, false, NumberUnit::None));
        text.push_str(&format!("[{bytes}][{ops} IOPS]"));
    }
    text + &format!("[eta {}]", progress.left_s.map_or_else(|| "--".to_owned(), duration))
}

/// Runs of the same letter with their lengths: `R(10),W(10)`.
fn condensed(states: &[char]) -> String {
    let mut runs: Vec<(char, usize)> = Vec::new();
    for state in states {
        match runs.last_mut() {
            Some((last, count)) if last == state => *count += 1,
            _ => runs.push((*state, 1)),
        }
    }
    let parts: Vec<String> = runs.iter().map(|(state, count)| format!("{state}({count})")).collect();
    parts.join(",")
}

/// `01m:31s`, `02h:01m:31s`, `1d:02h:01m:31s`.
fn duration(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    let mut text = String::new();
    if days > 0 {
        text.push_str(&format!("{days:02}d:"));
    }
    if days > 0 || hours > 0 {
        text.push_str(&format!("{hours:02}h:"));
    }
    text + &format!("{minutes:02}m:{:02}s", seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_fios_manual() {
        let style = Style { digits: 4, thousands: false, bits: false };
        let mut progress = FioProgress {
            states: vec!['_', 'M'],
            files: 1,
            done: Some(0.248),
            bytes_per_s: [20.5 * 1048576.0, 23.5 * 1048576.0, 0.0],
            ops_per_s: [82.0, 94.0, 0.0],
            left_s: Some(91),
        };
        assert_eq!(
            line(&progress, style),
            "Jobs: 1 (f=1): [_(1),M(1)][24.8%][r=20.5MiB/s,w=23.5MiB/s][r=82,w=94 IOPS][eta 01m:31s]"
        );
        progress.states = [vec!['R'; 10], vec!['W'; 10]].concat();
        (progress.done, progress.left_s, progress.ops_per_s) = (None, None, [0.0; 3]);
        assert_eq!(line(&progress, style), "Jobs: 20 (f=1): [R(10),W(10)][-.-%][eta --]");
        assert_eq!([3_600, 90_061].map(duration), ["01h:00m:00s", "01d:01h:01m:01s"]);
    }
}
