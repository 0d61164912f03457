//! Mistakes in stages, steady-state rules, gates and policies.

use crate::Mistake;

pub const ALL: &[Mistake] = &[
    Mistake::new("stages-unknown", "a misspelt stage", disk!("stages: {warmup: 10s}\n")),
    Mistake::new("stages-prepare", "a word that prepare does not know", disk!("stages: {prepare: filll}\n")),
    Mistake::new(
        "measure-unknown",
        "a misspelt key of measure",
        disk!("stages: {measure: {atleast: 60s}}\n"),
    ),
    Mistake::new(
        "measure-order",
        "at_least above at_most",
        disk!("stages: {measure: {at_least: 10m, at_most: 60s}}\n"),
    ),
    Mistake::new("measure-short", "a measurement of no time", disk!("stages: {measure: 0s}\n")),
    Mistake::new(
        "steady-too-long",
        "a rule that needs longer than the measurement",
        disk!("steady: snia\nstages: {measure: {at_most: 4m}}\n"),
    ),
    Mistake::new("steady-unknown", "a misspelt rule", disk!("steady: sniaa\n")),
    Mistake::new(
        "steady-option",
        "an option that the rule does not know",
        disk!("steady: {snia: {samples: 5}}\n"),
    ),
    Mistake::new("steady-zero", "an interval of no width", disk!("steady: {default: {half_width: 0%}}\n")),
    Mistake::new(
        "steady-fraction",
        "a sample of half a second",
        disk!("steady: {storperf: {sample: 500ms}}\n"),
    ),
    Mistake::new(
        "steady-fio",
        "a metric that fio's rule does not know",
        disk!("steady: {fio: {metric: p99}}\n"),
    ),
    Mistake::new(
        "gate-no-comparison",
        "a gate that compares nothing",
        disk!("gates: [read.bandwidth 3 GB/s]\n"),
    ),
    Mistake::new("gate-metric", "a misspelt measure", disk!("gates: [read.bandwith >= 3 GB/s]\n")),
    Mistake::new("gate-unit", "a latency without a unit", disk!("gates: [read.p99 <= 5]\n")),
    Mistake::new("gate-bandwidth-unit", "a bandwidth without /s", disk!("gates: [read.bandwidth >= 3 GB]\n")),
    Mistake::new("gate-percentile", "the 100th percentile", disk!("gates: [read.p100 <= 5 ms]\n")),
    Mistake::new("gate-op", "a misspelt operation in a gate", disk!("gates: [raed.p99 <= 5 ms]\n")),
    Mistake::new("gate-workload", "a workload's name in a gate", disk!("gates: [randread.p99 <= 5 ms]\n")),
    Mistake::new(
        "gate-never",
        "a gate on an operation that no workload does",
        disk!("gates: [write.p99 <= 5 ms]\n"),
    ),
    Mistake::new(
        "gate-never-own",
        "a workload's gate on an operation that it does not do",
        disk!("    gates: [write.p99 <= 5 ms]\n"),
    ),
    Mistake::new("gate-map", "gates as a map", disk!("gates: {read.p99: 5 ms}\n")),
    Mistake::new("errors-unknown", "a misspelt error policy", disk!("errors: contine\n")),
    Mistake::new("errors-number", "an error policy without its number", disk!("errors: stop_cell_after\n")),
    Mistake::new("errors-zero", "a cell that ends after no errors", disk!("errors: {stop_cell_after: 0}\n")),
    Mistake::new("cache-unknown", "a word that cache does not know", disk!("cache: flush\n")),
];
