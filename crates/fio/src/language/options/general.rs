//! Units, description of jobs, and time.

use super::ValueKind::{Bool, Flag, Integer, OptionalText, Text, Time, TimeRange, Word};
use super::{FioOption, MOST, absent, differs, same};

const SECOND: u64 = 1_000_000;

pub(super) const OPTIONS: &[FioOption] = &[
    same("kb_base", &[], Word(&["1024", "1000"])),
    same("unit_base", &[], Word(&["0", "8", "1"])),
    same("name", &[], Text),
    same("description", &[], OptionalText),
    same("loops", &[], Integer(0, MOST)),
    same("numjobs", &[], Integer(1, 65_536)),
    same("runtime", &["timeout"], Time(SECOND)),
    same("time_based", &[], Flag),
    same("startdelay", &[], TimeRange(SECOND)),
    same("ramp_time", &[], Time(SECOND)),
    differs(
        "clocksource",
        &[],
        Word(&["gettimeofday", "clock_gettime", "cpu"]),
        "accepted without effect: time is read from the processor's counter where the kernel trusts it, else with clock_gettime",
    ),
    differs(
        "gtod_reduce",
        &[],
        Bool,
        "the same figures are left out of the output, but every operation is still timed",
    ),
    absent(
        "job_start_clock_id",
        Integer(0, MOST),
        "the start of a job stands in the results file, in real time",
        "manometer show last",
    )
    .harmless(&["0"]),
    absent(
        "gtod_cpu",
        Integer(0, MOST),
        "every worker reads the clock itself",
        "leave it out; cpus_allowed keeps workers off a core",
    )
    .harmless(&["0"]),
];
