//! Steady state, logs, reports, errors.

use super::ValueKind::{Bool, Flag, Floats, Integer, OptionalText, Text, Time, Word};
use super::{FioOption, MOST, absent, differs, same};

const SECOND: u64 = 1_000_000;

pub(super) const OPTIONS: &[FioOption] = &[
    differs(
        "steadystate",
        &["ss"],
        Word(&["iops", "iops_slope", "bw", "bw_slope", "lat", "lat_slope"]),
        "limits are percentages of the mean; ones in operations or bytes are refused",
    ),
    same("steadystate_duration", &["ss_dur"], Time(SECOND)),
    absent(
        "steadystate_check_interval",
        Time(SECOND),
        "the rule looks after every interval of the run",
        "leave it out: iops and bw are those of each second",
    )
    .harmless(&["1", "1s"]),
    same("steadystate_ramp_time", &["ss_ramp"], Time(SECOND)),
    same("per_job_logs", &[], Bool),
    same("group_reporting", &[], Flag),
    same("new_group", &[], Flag),
    same("stats", &[], Bool),
    differs(
        "write_bw_log",
        &[],
        OptionalText,
        "without averages a line is KiB/s, as the manual has it; fio writes kB/s",
    ),
    differs(
        "write_lat_log",
        &[],
        OptionalText,
        "service times are clat, response times lat; the log of slat is empty",
    ),
    same("write_hist_log", &[], OptionalText),
    same("write_iops_log", &[], OptionalText),
    differs("log_entries", &[], Integer(0, MOST), "accepted: logs are written as they grow"),
    differs("log_avg_msec", &[], Integer(0, MOST), "the last span is written too, with its true length"),
    same("log_hist_msec", &[], Integer(0, MOST)),
    same("log_hist_coarseness", &[], Integer(0, 6)),
    differs(
        "log_max_value",
        &["log_window_value"],
        Bool,
        "of latencies; bandwidth and operations a second are those of the span",
    ),
    same("log_offset", &[], Bool),
    absent(
        "log_issue_time",
        Bool,
        "times in logs are those of the end of an operation",
        "write_iolog has the start of each",
    )
    .harmless(&["0"]),
    same("log_prio", &[], Bool),
    differs("log_compression", &[], Integer(1024, 536_870_912), "accepted: logs do not stay in memory"),
    differs("log_compression_cpus", &[], Text, "accepted: nothing is compressed"),
    absent("log_store_compressed", Bool, "logs are written as text", "compress them afterwards: gzip *.log")
        .harmless(&["0"]),
    same("log_unix_epoch", &[], Bool),
    differs("log_alternate_epoch", &[], Bool, "of clocks there is CLOCK_REALTIME, which is fio's default"),
    absent(
        "log_alternate_epoch_clock_id",
        Integer(0, MOST),
        "times in logs are since the start or since 1970",
        "log_unix_epoch=1",
    )
    .harmless(&["0"]),
    absent(
        "block_error_percentiles",
        Bool,
        "errors are counted by kind, not by block",
        "manometer report shows them",
    )
    .harmless(&["0"]),
    differs(
        "bwavgtime",
        &[],
        Integer(0, MOST),
        "in whole intervals: of half a second, or of a tenth in jobs of less than ten seconds",
    ),
    differs(
        "iopsavgtime",
        &[],
        Integer(0, MOST),
        "in whole intervals: of half a second, or of a tenth in jobs of less than ten seconds",
    ),
    same("disk_util", &[], Bool),
    same("disable_lat", &[], Bool),
    same("disable_clat", &[], Bool),
    differs("disable_slat", &[], Bool, "submission is never measured"),
    same("disable_bw_measurement", &["disable_bw"], Bool),
    differs("slat_percentiles", &[], Bool, "submission is not measured: there are none"),
    same("clat_percentiles", &[], Bool),
    same("lat_percentiles", &[], Bool),
    same("percentile_list", &[], Floats(20, 0.0, 100.0)),
    same("significant_figures", &[], Integer(1, 10)),
    same("exitall_on_error", &[], Flag),
    differs(
        "continue_on_error",
        &[],
        Word(&["none", "read", "write", "io", "verify", "all", "0", "1"]),
        "after two errors in a row a lane pauses for 1 to 128 ms; wrong data makes the exit code 1, fio's is 0",
    ),
    same("ignore_error", &[], Text),
    differs("error_dump", &[], Bool, "accepted: each kind of error is shown once, with its number"),
];
