//! Log replay, threads, and dependencies between jobs.

use super::ValueKind::{Bool, Flag, Floats, Integer, Text, Word, Words};
use super::{FioOption, MOST, absent, differs, same};

const NO_BLKTRACE: &str = "binary traces of blktrace are not read";
const AS_IOLOG: &str = "replay the trace once under fio with write_iolog=FILE, then read_iolog=FILE here";
const NO_GROUPS: &str = "control groups are the machine's settings";
const RUN_IN_GROUP: &str = "start the program in one: systemd-run --scope -p IOWeight=…";
const NO_FLOW: &str = "jobs do not wait for each other's share";
const USE_RATES: &str = "rate_iops in each job fixes the ratio";

pub(super) const OPTIONS: &[FioOption] = &[
    differs("write_iolog", &[], Text, "version 3 of the format is written, whichever jobs there are"),
    differs(
        "read_iolog",
        &[],
        Text,
        "logs of fio's own format, version 2 and 3, are read; binary traces of blktrace and standard input are not",
    ),
    differs("read_iolog_chunked", &[], Bool, "accepted: the log is read as the load goes on in any case"),
    absent("merge_blktrace_file", Text, NO_BLKTRACE, AS_IOLOG),
    absent("merge_blktrace_scalars", Floats(64, 0.0, f64::MAX), NO_BLKTRACE, AS_IOLOG),
    absent("merge_blktrace_iters", Floats(64, 0.0, f64::MAX), NO_BLKTRACE, AS_IOLOG),
    same("replay_no_stall", &[], Bool),
    same("replay_time_scale", &[], Integer(1, MOST)),
    same("replay_redirect", &[], Text),
    same("replay_align", &[], Integer(0, MOST)),
    same("replay_scale", &[], Integer(0, MOST)),
    same("replay_skip", &[], Words(&["read", "write", "trim", "sync"])),
    differs("thread", &["threads"], Flag, "accepted: workers are always threads of one process"),
    same("wait_for", &[], Text),
    same("nice", &[], Integer(-20, 19)),
    same("prio", &[], Integer(0, 7)),
    same("prioclass", &[], Integer(0, 3)),
    absent("priohint", Integer(0, 1023), "no hint goes with a priority", "leave it out, or write priohint=0")
        .harmless(&["0"]),
    same("cpus_allowed", &[], Text),
    same("cpus_allowed_policy", &[], Word(&["shared", "split"])),
    same("cpumask", &[], Integer(0, i64::MAX)),
    same("numa_cpu_nodes", &[], Text),
    same("numa_mem_policy", &[], Text),
    absent("cgroup", Text, NO_GROUPS, RUN_IN_GROUP),
    absent("cgroup_weight", Integer(100, 1000), NO_GROUPS, RUN_IN_GROUP),
    absent("cgroup_nodelete", Bool, NO_GROUPS, RUN_IN_GROUP).harmless(&["0"]),
    absent("flow_id", Integer(0, MOST), NO_FLOW, USE_RATES).harmless(&["0"]),
    absent("flow", Integer(0, 1000), NO_FLOW, USE_RATES).harmless(&["0"]),
    absent("flow_sleep", Integer(0, MOST), NO_FLOW, USE_RATES).harmless(&["0"]),
    same("stonewall", &["wait_for_previous"], Flag),
    same("exitall", &[], Flag),
    differs(
        "exit_what",
        &[],
        Word(&["group", "stonewall", "all"]),
        "a group is all jobs that run at the same time, also behind new_group",
    ),
    absent(
        "exec_prerun",
        Text,
        "a job starts no other programs",
        "call it before manometer; jobs of one file can be run apart with --section=NAME",
    ),
    absent(
        "exec_postrun",
        Text,
        "a job starts no other programs",
        "call it after manometer; jobs of one file can be run apart with --section=NAME",
    ),
    absent(
        "uid",
        Integer(0, MOST),
        "workers are threads of one process and keep its user",
        "start the program as that user: setpriv --reuid=… manometer …",
    ),
    absent(
        "gid",
        Integer(0, MOST),
        "workers are threads of one process and keep its group",
        "start the program as that group: setpriv --regid=… manometer …",
    ),
];
