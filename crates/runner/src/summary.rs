//! A cell in a line, and whether a run succeeded.

use stats::Estimate;
use store::{CellRecord, State};
use units::{ByteRate, OpRate, latency};

use crate::stages::VERIFY;

/// The result of a cell, in one line.
pub fn in_a_line(record: &CellRecord) -> String {
    if let Some(failure) = &record.failure {
        return format!("failed: {failure}");
    }
    let Some(result) = &record.result else {
        return match record.state {
            State::Interrupted => "interrupted before anything was measured".to_owned(),
            state => format!("{state:?}").to_lowercase(),
        };
    };
    let mut parts = Vec::new();
    if result.total.bytes > 0 {
        parts.push(moved(&result.total.bytes_per_s));
    }
    parts.push(done(&result.total.ops_per_s));
    if result.total.response.count > 0 {
        parts.push(format!("p99 {}", latency(result.total.response.p99_ns)));
    }
    if let Some(found) = result.found_ops_per_s {
        parts.push(format!("found {}", OpRate(found)));
    }
    let mut line = format!("{} · {}", parts.join(", "), result.verdict.validity.name());
    if record.state == State::Interrupted {
        line.push_str(" · interrupted");
    }
    let failed = result.gates.iter().filter(|gate| !gate.passed).count();
    if failed > 0 {
        line.push_str(&format!(" · {failed} gate{} failed", if failed == 1 { "" } else { "s" }));
    }
    line
}

/// `1.23 GB/s ± 2.1 %`.
pub fn moved(rate: &Estimate) -> String {
    format!("{}{}", ByteRate(rate.mean), interval(rate))
}

/// `301 kops/s ± 2.1 %`.
pub fn done(rate: &Estimate) -> String {
    format!("{}{}", OpRate(rate.mean), interval(rate))
}

/// Half the width of the 95 % interval, relative.
fn interval(estimate: &Estimate) -> String {
    let half = (estimate.high - estimate.low) / 2.0;
    if estimate.samples < 2 || estimate.mean <= 0.0 || !half.is_finite() {
        return String::new();
    }
    match half / estimate.mean * 100.0 {
        percent if percent < 0.05 => " ± 0 %".to_owned(),
        percent if percent < 10.0 => format!(" ± {percent:.1} %"),
        percent => format!(" ± {percent:.0} %"),
    }
}

/// `1 cell`, `2 cells`.
pub fn cell_count(cells: usize) -> String {
    if cells == 1 { "1 cell".to_owned() } else { format!("{cells} cells") }
}

/// Whether the run succeeded: every cell ran, every gate passed, no data was wrong.
pub fn success(cells: &[CellRecord]) -> bool {
    cells.iter().all(|record| {
        let result = record.result.as_ref();
        record.state == State::Finished
            && result.is_some_and(|result| {
                let wrong =
                    result.error_samples.iter().any(|sample| sample.kind == metrics::ErrorKind::Corrupt);
                let unverified = |stage: &store::StageRecord| stage.name == VERIFY && stage.failed > 0;
                result.gates.iter().all(|gate| gate.passed) && !wrong && !result.stages.iter().any(unverified)
            })
    })
}
