//! Files written during the load, and operations replayed from one.

use super::asked::Asked;
use super::lists::names;
use experiment::{Logs, Replay};

/// The logs. An omitted name defaults to the job's.
pub(crate) fn logs(asked: &Asked<'_>, job: &str) -> Logs {
    let named = |name: &'static str| {
        asked.text(name).map(|text| if text.is_empty() { job.to_owned() } else { text.to_owned() })
    };
    let logs = Logs {
        bandwidth: named("write_bw_log"),
        latency: named("write_lat_log"),
        operations: named("write_iops_log"),
        histograms: named("write_hist_log"),
        operations_list: asked.text("write_iolog").map(str::to_owned),
        average_ms: asked.number("log_avg_msec").unwrap_or(0),
        largest: asked.flag("log_max_value"),
        histogram_ms: asked.number("log_hist_msec").unwrap_or(0),
        coarseness: asked.count("log_hist_coarseness").unwrap_or(0),
        offsets: asked.flag("log_offset"),
        priorities: asked.flag("log_prio"),
        unix_epoch: asked.flag("log_unix_epoch") || asked.flag("log_alternate_epoch"),
        together: !asked.flag_or("per_job_logs", true),
    };
    if logs.coarseness > 6 {
        let text = format!("log_hist_coarseness is {}", logs.coarseness);
        asked.fault("log_hist_coarseness", text, "write a number from 0 to 6");
    }
    if logs.operations_list.as_deref() == Some("") {
        asked.fault("write_iolog", "write_iolog has no file", "name the file that is written");
    }
    logs
}

/// The recorded operations to replay; `None` if operations are drawn.
pub(crate) fn replay(asked: &Asked<'_>) -> Option<Replay> {
    let files = names(asked.text("read_iolog")?);
    if files.is_empty() || files.iter().any(|file| file == "-") {
        asked.fault("read_iolog", "read_iolog has no file", "name a file in fio's iolog format");
        return None;
    }
    let scale = asked.number("replay_time_scale").unwrap_or(100);
    if scale == 0 {
        asked.fault(
            "replay_time_scale",
            "replay_time_scale is 0",
            "write a percentage of the recorded speed",
        );
    }
    let skip: Vec<String> = asked
        .text("replay_skip")
        .map(|text| {
            text.split(',').map(|word| word.trim().to_owned()).filter(|word| !word.is_empty()).collect()
        })
        .unwrap_or_default();
    for word in &skip {
        if !["read", "write", "trim", "sync"].contains(&&**word) {
            let hint = experiment::hint(word, ["read", "write", "trim", "sync"]);
            asked.fault("replay_skip", format!("there is no kind of operation {word:?}"), hint);
        }
    }
    let align = asked.number("replay_align").unwrap_or(0);
    if align > 0 && !align.is_power_of_two() {
        asked.fault("replay_align", format!("replay_align is {align}"), "write a power of two");
    }
    Some(Replay {
        files,
        no_stall: asked.flag("replay_no_stall"),
        redirect: asked.text("replay_redirect").map(str::to_owned),
        scale: asked.number("replay_scale").filter(|scale| *scale > 1).unwrap_or(0),
        align,
        // Half the speed is twice the time.
        time_percent: if scale == 100 || scale == 0 { 0 } else { (10_000 / scale).max(1) as u32 },
        skip,
    })
}
