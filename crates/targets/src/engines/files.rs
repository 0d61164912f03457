//! Engines for files and devices of this machine.

use std::collections::BTreeMap;

use experiment::hint;

use super::ValueKind::{Bool, Flag, Integer, Integers, Text, Word};
use super::{EngineJob, EngineOption, EngineTarget, JobEngine, JobEngines, MOST, OptionSupport};

const BLOCKING: OptionSupport =
    OptionSupport::Differs("one operation at a time of each worker, with blocking calls");
const QUEUED: OptionSupport = OptionSupport::Differs("io_uring, or threads where it is not allowed");

const fn blocking(name: &'static str, support: OptionSupport) -> JobEngine {
    JobEngine::new(name, "files", support, |job| files(job, "threads"))
}

const fn queued(name: &'static str) -> JobEngine {
    JobEngine { queues: true, ..JobEngine::new(name, "files", QUEUED, |job| files(job, "auto")) }
}

/// The engines for files.
pub const ENGINES: JobEngines = JobEngines {
    engines: &[
        blocking("psync", BLOCKING),
        blocking("sync", BLOCKING),
        blocking(
            "vsync",
            OptionSupport::Differs("one operation at a time; neighbours are not put together into one call"),
        ),
        blocking("pvsync", BLOCKING),
        blocking("pvsync2", BLOCKING),
        queued("libaio"),
        JobEngine {
            queues: true,
            ..JobEngine::new("io_uring", "files", OptionSupport::Same, |job| files(job, "uring"))
        },
        queued("posixaio"),
        JobEngine {
            maps_files: true,
            ..blocking(
                "mmap",
                OptionSupport::Differs(
                    "reads and writes instead of a mapping, so that errors and latency are those of operations",
                ),
            )
        },
    ],
    options: OPTIONS,
};

const URING: &[&str] = &["io_uring", "io_uring_cmd"];
const PRIORITIES: &[&str] = &["io_uring", "io_uring_cmd", "libaio"];

const ONE_PRIORITY: &str = "all operations of a job have one priority";
const TWO_JOBS: &str = "two jobs, each with its own prio and prioclass";

const OPTIONS: &[EngineOption] = &[
    EngineOption::absent(PRIORITIES, "cmdprio_percentage", Integers(0, 100), ONE_PRIORITY, TWO_JOBS)
        .harmless(&["0"]),
    EngineOption::absent(PRIORITIES, "cmdprio_class", Integers(0, 3), ONE_PRIORITY, TWO_JOBS),
    EngineOption::absent(PRIORITIES, "cmdprio", Integers(0, 7), ONE_PRIORITY, TWO_JOBS),
    EngineOption::absent(PRIORITIES, "cmdprio_bssplit", Text, ONE_PRIORITY, TWO_JOBS),
    EngineOption::same(URING, "fixedbufs", Flag),
    EngineOption::differs(
        URING,
        "nonvectored",
        Integer(-1, MOST),
        "accepted: each operation has one buffer in any case",
    ),
    EngineOption::absent(
        URING,
        "force_async",
        Integer(0, MOST),
        "operations are submitted without that flag",
        "leave it out",
    )
    .harmless(&["0"]),
    EngineOption::same(URING, "registerfiles", Flag),
    EngineOption::same(&["io_uring", "io_uring_cmd", "xnvme"], "sqthread_poll", Flag),
    EngineOption::absent(
        URING,
        "sqthread_poll_cpu",
        Integer(0, MOST),
        "the kernel chooses the core of its polling thread",
        "leave it out",
    ),
    EngineOption::absent(
        &["io_uring_cmd", "io_uring"],
        "cmd_type",
        Word(&["nvme"]),
        "commands of NVMe are not passed through",
        "ioengine=io_uring",
    ),
    EngineOption::differs(
        &["io_uring", "io_uring_cmd", "pvsync2", "sg", "xnvme"],
        "hipri",
        Flag,
        "with io_uring as in fio; with pvsync2 completions are polled for through io_uring",
    ),
    EngineOption::differs(
        &["libaio"],
        "userspace_reap",
        Flag,
        "accepted: io_uring's endings are read without a system call anyway",
    ),
    EngineOption::absent(
        &["pvsync2"],
        "hipri_percentage",
        Integer(0, 100),
        "all operations are polled for, or none",
        "hipri=1",
    )
    .harmless(&["100"]),
    EngineOption::absent(
        &["pvsync2", "io_uring", "io_uring_cmd"],
        "uncached",
        Integer(0, MOST),
        "the kernel is not asked for it",
        "direct=1 does not fill the page cache",
    )
    .harmless(&["0"]),
    EngineOption::absent(
        &["pvsync2", "libaio", "io_uring", "io_uring_cmd"],
        "nowait",
        Bool,
        "operations that would wait are not given back",
        "leave it out; rate_iops with percentiles shows who waits",
    )
    .harmless(&["0"]),
    EngineOption::absent(&["mmap"], "thp", Integer(0, 1), "files are not mapped into memory", "leave it out")
        .harmless(&["0"]),
];

/// The target for the job's directory; `backend` becomes the target's option `engine`.
fn files(job: &dyn EngineJob, backend: &str) -> EngineTarget {
    let mut options = BTreeMap::new();
    let mut set = |name: &str, value: &str| options.insert(name.to_owned(), value.to_owned());
    let polled = job.flag("hipri");
    let uring = backend == "uring";
    // Only io_uring can poll for completions.
    set("engine", if polled && backend == "threads" { "uring" } else { backend });
    if job.is_direct() {
        set("direct", "true");
    }
    match job.text("sync") {
        None | Some("none" | "0") => {}
        Some("sync" | "1" | "") => drop(set("sync", "sync")),
        Some("dsync") => drop(set("sync", "dsync")),
        Some(other) => {
            let correction = hint(other, ["none", "sync", "dsync"]);
            job.fault("sync", format!("there is no sync {other:?}"), correction);
        }
    }
    if polled {
        set("iopoll", "true");
    }
    if uring && job.flag("sqthread_poll") {
        set("sqpoll", "true");
    }
    if uring && (job.flag("fixedbufs") || job.flag("registerfiles")) {
        set("registered", "true");
    }
    if polled && !job.is_direct() {
        let correction = "add direct=1, or take hipri out";
        job.fault("hipri", "hipri needs direct=1".to_owned(), correction.to_owned());
    }
    // Escapes characters with a meaning in URLs; the root directory needs a form that is not rejected as a mistake.
    let directory = job.directory().trim_end_matches('/').replace('%', "%25").replace('?', "%3F");
    let url = if directory.is_empty() { "file:///.".to_owned() } else { format!("file://{directory}") };
    EngineTarget { url, options, file_names: None }
}
