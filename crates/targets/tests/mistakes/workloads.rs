//! Mistakes in single keys of workloads.

use crate::Mistake;

pub const ALL: &[Mistake] = &[
    Mistake::new(
        "ops-missing",
        "no operation",
        "targets: {disk: file:///mnt/data}\nworkloads:\n  first:\n    jobs: 2\n",
    ),
    Mistake::new(
        "ops-unknown",
        "a misspelt operation",
        "targets: {d: file:///x}\nworkloads: {r: {ops: raed}}\n",
    ),
    Mistake::new(
        "ops-fio",
        "fio's name of an operation",
        "targets: {d: file:///x}\nworkloads: {r: {ops: randread}}\n",
    ),
    Mistake::new(
        "ops-list",
        "a list of operations",
        "targets: {d: file:///x}\nworkloads: {r: {ops: [read, write]}}\n",
    ),
    Mistake::new(
        "ops-shares",
        "shares of operations that do not add up",
        "targets: {d: file:///x}\nworkloads: {r: {ops: {read: 70%, write: 20%}}}\n",
    ),
    Mistake::new(
        "ops-shares-plain",
        "shares without %",
        "targets: {d: file:///x}\nworkloads: {r: {ops: {read: 70, write: 0.3}}}\n",
    ),
    Mistake::new(
        "ops-share-zero",
        "an operation with a share of 0",
        "targets: {d: file:///x}\nworkloads: {r: {ops: {read: 100%, write: 0%}}}\n",
    ),
    Mistake::new("block-size-unit", "an unknown unit", disk!("    block_size: 4 KiBB\n")),
    Mistake::new("block-size-zero", "a block size of 0", disk!("    block_size: 0\n")),
    Mistake::new(
        "block-size-list",
        "a list of block sizes in a workload",
        disk!("    block_size: [4KiB, 64KiB]\n"),
    ),
    Mistake::new(
        "block-size-shares",
        "shares of block sizes that exceed 100 %",
        disk!("    block_size: {4KiB: 60%, 64KiB: 60%}\n"),
    ),
    Mistake::new(
        "block-size-twice",
        "a block size given twice",
        disk!("    block_size: {4KiB: 60%, 4096: 40%}\n"),
    ),
    Mistake::new("access-unknown", "a misspelt access pattern", disk!("    access: squential\n")),
    Mistake::new("access-zipf", "a Zipf exponent that makes no sense", disk!("    access: {zipf: -1}\n")),
    Mistake::new("access-pareto", "a Pareto share above 1", disk!("    access: {pareto: 20}\n")),
    Mistake::new(
        "access-hotspot",
        "an unknown key of a hot spot",
        disk!("    access: {hotspot: {ops: 80%, spce: 20%}}\n"),
    ),
    Mistake::new("access-strided", "strides without their length", disk!("    access: strided\n")),
    Mistake::new(
        "access-value",
        "a value that the pattern does not take",
        disk!("    access: {random: 5}\n"),
    ),
    Mistake::new("access-two", "two patterns at once", disk!("    access: {zipf: 1.1, pareto: 0.2}\n")),
    Mistake::new("queue-depth-zero", "a queue depth of 0", disk!("    queue_depth: 0\n")),
    Mistake::new("queue-depth-huge", "a queue depth without bounds", disk!("    queue_depth: 1000000\n")),
    Mistake::new("queue-depth-text", "a number with a unit", disk!("    queue_depth: 32 ops\n")),
    Mistake::new("queue-depth-list", "a list in a workload", disk!("    queue_depth: [1, 32]\n")),
    Mistake::new("jobs-fraction", "half a job", disk!("    jobs: 1.5\n")),
    Mistake::new("file-size-zero", "files of no bytes", disk!("    file_size: 0\n")),
    Mistake::new(
        "files-huge",
        "more data than there is anywhere",
        disk!("    files: 1000000\n    file_size: 8TiB\n"),
    ),
    Mistake::new("share-percent", "a share above 100 %", disk!("    compressible: 150%\n")),
    Mistake::new("rate-plain", "a rate without /s", disk!("    rate: 1000\n")),
    Mistake::new("rate-bytes", "a rate in bytes", disk!("    rate: 100 MB/s\n")),
    Mistake::new("rate-zero", "a rate of 0", disk!("    rate: 0/s\n")),
    Mistake::new("rate-poisson", "poisson without its rate", disk!("    rate: poisson\n")),
    Mistake::new("rate-kind", "a misspelt kind of rate", disk!("    rate: {posson: 1000/s}\n")),
    Mistake::new(
        "rate-ramp",
        "a ramp without its length",
        disk!("    rate: {ramp: {from: 1/s, to: 100/s}}\n"),
    ),
    Mistake::new("rate-list", "a list of rates", disk!("    rate: [100/s, 200/s]\n")),
    Mistake::new(
        "rate-times",
        "moments that are not in order",
        disk!("    rate: {times: [{at: 10s, rate: 100/s}, {at: 5s, rate: 10/s}]}\n"),
    ),
    Mistake::new("rate-pause", "nothing but pauses", disk!("    rate: {steps: [{rate: 0/s, for: 10s}]}\n")),
    Mistake::new("find-goal", "a search for bandwidth", disk!("    find: bandwidth >= 1 GB/s\n")),
    Mistake::new("find-no-goal", "a search without a goal", disk!("    find: {from: 100/s}\n")),
    Mistake::new(
        "find-range",
        "a search from high to low",
        disk!("    find: {goal: p99 <= 1 ms, from: 1k/s, to: 100/s}\n"),
    ),
    Mistake::new("sweep-empty", "a load sweep without rates", disk!("    sweep: {rates: []}\n")),
    Mistake::new("sweep-twice", "a rate that is swept twice", disk!("    sweep: [100/s, 0.1k/s]\n")),
    Mistake::new("timeout-zero", "no time for an operation", disk!("    op_timeout: 0s\n")),
    Mistake::new("duration-unit", "a duration without a unit", disk!("    op_timeout: 30\n")),
];
