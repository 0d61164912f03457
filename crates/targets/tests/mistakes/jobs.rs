//! Jobs and groups.

use crate::Mistake;

/// A workload with a job, and more of its keys.
macro_rules! job {
    ($rest:literal) => {
        concat!("targets: {disk: file:///mnt/data}\nworkloads:\n  reader:\n    ops: read\n", $rest)
    };
}

pub const ALL: &[Mistake] = &[
    Mistake::new("job-key", "an unknown key of a job", job!("    job: {patern: {random: true}}\n")),
    Mistake::new(
        "job-deep-key",
        "an unknown key inside of a job",
        job!("    job:\n      files:\n        layout: {alocate: none}\n"),
    ),
    Mistake::new(
        "job-word",
        "an unknown word in a job",
        job!("    job:\n      files: {layout: {allocate: nativ}}\n"),
    ),
    Mistake::new("job-number", "a word for a number in a job", job!("    job: {files: {count: many}}\n")),
    Mistake::new("job-flag", "a word for a flag in a job", job!("    job: {pattern: {random: yes}}\n")),
    Mistake::new(
        "job-range",
        "a number that is too large in a job",
        job!("    job: {files: {count: 5GiB}}\n"),
    ),
    Mistake::new("job-map", "a value for a map in a job", job!("    job: {files: 4}\n")),
    Mistake::new(
        "job-choice-of-two",
        "two of several in a job",
        job!("    job: {region: {size: {bytes: 1GiB, percent: 5}}}\n"),
    ),
    Mistake::new("job-empty", "nothing in a job", job!("    job:\n")),
    Mistake::new(
        "job-access",
        "an access beside a job",
        job!("    access: random\n    job: {pattern: {random: true}}\n"),
    ),
    Mistake::new("job-objects", "objects beside a job", job!("    objects: 8\n    job: {name: a}\n")),
    Mistake::new(
        "job-rates",
        "two rates of a job",
        job!("    rate: 100/s\n    job: {pace: {rates: {read: {ops-per-s: 500}}}}\n"),
    ),
    Mistake::new(
        "job-replay-rate",
        "a rate of what is replayed",
        job!("    rate: 100/s\n    job: {replay: {files: [a.log]}}\n"),
    ),
    Mistake::new(
        "job-target-rate",
        "a rate beside a search for a depth",
        job!(
            "    rate: 100/s\n    job: {ending: {latency_target: {target_s: 1ms, window_s: 1s, percentile: 99}}}\n"
        ),
    ),
    Mistake::new("job-backlog", "a backlog without a rate", job!("    backlog: 5\n    job: {name: a}\n")),
    Mistake::new(
        "job-find-time",
        "a search over a job with a time of its own",
        job!("    find: p99 <= 2 ms\n    job: {ending: {runtime_s: 60}}\n"),
    ),
    Mistake::new(
        "job-sink",
        "a job's data that comes through no socket",
        job!("    sink: discard\n    job: {name: a}\n"),
    ),
    Mistake::new(
        "job-stride",
        "a stride between blocks of several sizes",
        job!("    access: {strided: 64KiB}\n    block_size: {4KiB: 50%, 8KiB: 50%}\n    job: {name: a}\n"),
    ),
    Mistake::new("think-pause", "a pause without a length", job!("    think: {after: 5}\n")),
    Mistake::new(
        "think-spin",
        "computing for longer than a pause",
        job!("    think: {pause: 1ms, spin: 2ms}\n"),
    ),
    Mistake::new(
        "think-after",
        "a pause that comes after two things",
        job!("    think: {pause: 1ms, after: 2, after_time: 1s}\n"),
    ),
    Mistake::new(
        "job-prepare",
        "filling beside a job",
        job!("    stages: {prepare: fill}\n    job: {name: a}\n"),
    ),
    Mistake::new(
        "job-sizes",
        "sizes of blocks in the wrong order",
        job!("    job:\n      block_sizes: {sizes: {read: {range: {least: 8KiB, most: 4KiB}}}}\n"),
    ),
    Mistake::new("job-time", "a job by time without a time", job!("    job: {ending: {time_based: true}}\n")),
    Mistake::new("group-alone", "a group without a job", job!("    group: {number: 1}\n")),
    Mistake::new("group-number", "a group without a number", job!("    group: {}\n    job: {name: a}\n")),
    Mistake::new(
        "group-order",
        "groups that are mixed",
        "targets: {t: 'null:'}\nworkloads:\n  a: {ops: read, group: {number: 1}, job: {name: a}}\n  b: {ops: read, group: {number: 0}, job: {name: b}}\n",
    ),
    Mistake::new(
        "group-after",
        "waiting for a later job",
        "targets: {t: 'null:'}\nworkloads:\n  a: {ops: read, group: {number: 0, after_cell: 1}, job: {name: a}}\n  b: {ops: read, group: {number: 0}, job: {name: b}}\n",
    ),
    Mistake::new(
        "group-matrix",
        "groups in a matrix",
        "targets: {t: 'null:'}\nworkloads:\n  a: {ops: read, group: {number: 0}, job: {name: a}}\nmatrix: {queue_depth: [1, 2]}\n",
    ),
];
