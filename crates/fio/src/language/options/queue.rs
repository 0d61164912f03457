//! Queue depth, rates, think time, latency goals.

use super::ValueKind::{Bool, Float, Integer, Integers, Time, Times, Word};
use super::{FioOption, MOST, absent, differs, same};

const MICROSECOND: u64 = 1;
const SECOND: u64 = 1_000_000;

const EARLY_RATE: &str = "the first two seconds are judged too; fio 3.33 leaves them out";

pub(super) const OPTIONS: &[FioOption] = &[
    same("iodepth", &[], Integer(1, 65_536)),
    same("iodepth_batch", &["iodepth_batch_submit"], Integer(0, MOST)),
    same("iodepth_batch_complete_min", &["iodepth_batch_complete"], Integer(0, MOST)),
    same("iodepth_batch_complete_max", &[], Integer(0, MOST)),
    same("iodepth_low", &[], Integer(0, MOST)),
    same("serialize_overlap", &[], Bool),
    differs(
        "io_submit_mode",
        &[],
        Word(&["inline", "offload"]),
        "offload is accepted: a rate is kept whether or not earlier operations have ended, which is what it is for",
    ),
    same("thinktime", &[], Time(MICROSECOND)),
    same("thinktime_spin", &[], Time(MICROSECOND)),
    same("thinktime_blocks", &[], Integer(0, MOST)),
    same("thinktime_blocks_type", &[], Word(&["complete", "issue"])),
    same("thinktime_iotime", &[], Time(SECOND)),
    absent(
        "thinkcycles",
        Integer(0, MOST),
        "pauses have a length of time",
        "thinktime_spin=TIME computes for so long",
    )
    .harmless(&["0"]),
    same("rate", &[], Integers(0, i64::MAX)),
    differs("rate_min", &["ratemin"], Integers(0, i64::MAX), EARLY_RATE),
    same("rate_iops", &[], Integers(0, MOST)),
    differs("rate_iops_min", &[], Integers(0, MOST), EARLY_RATE),
    same("rate_process", &[], Word(&["linear", "poisson"])),
    same("rate_ignore_thinktime", &[], Bool),
    same("latency_target", &[], Time(MICROSECOND)),
    same("latency_window", &[], Time(MICROSECOND)),
    same("latency_percentile", &[], Float(0.0, 100.0)),
    same("latency_run", &[], Bool),
    differs(
        "max_latency",
        &[],
        Times(MICROSECOND),
        "one limit for all directions; limits that differ are refused",
    ),
    same("rate_cycle", &["ratecycle"], Integer(0, MOST)),
];
