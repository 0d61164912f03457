//! Mistakes in the matrix.

use crate::Mistake;

pub const ALL: &[Mistake] = &[
    Mistake::new("matrix-unknown", "a misspelt key in the matrix", disk!("matrix: {queue_deph: [1, 32]}\n")),
    Mistake::new("matrix-nothing", "a key that nothing has", disk!("matrix: {temperature: [1, 32]}\n")),
    Mistake::new("matrix-empty", "an empty list", disk!("matrix: {queue_depth: []}\n")),
    Mistake::new("matrix-scalar", "one value instead of a list", disk!("matrix: {queue_depth: 32}\n")),
    Mistake::new(
        "matrix-twice",
        "a value that is in the list twice",
        disk!("matrix: {queue_depth: [1, 32, 1]}\n"),
    ),
    Mistake::new("matrix-hole", "a list with a hole", disk!("matrix: {queue_depth: [1, , 32]}\n")),
    Mistake::new(
        "matrix-same",
        "one key under two names",
        disk!("matrix: {warm_up: [1s], stages.warm_up: [2s]}\n"),
    ),
    Mistake::new("matrix-value", "a wrong value in a list", disk!("matrix: {block_size: [4KiB, 64KB/s]}\n")),
    Mistake::new(
        "matrix-huge",
        "more cells than anybody can wait for",
        disk!(
            "matrix:\n  queue_depth: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n  jobs: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n  files: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n  repetitions: 200\n"
        ),
    ),
    Mistake::new("matrix-repetitions", "no repetitions", disk!("matrix: {repetitions: 0}\n")),
    Mistake::new(
        "matrix-order",
        "a misspelt order",
        disk!("matrix: {queue_depth: [1, 2], order: shufled}\n"),
    ),
    Mistake::new(
        "matrix-option",
        "an option that the target does not know",
        disk!("matrix: {connections: [1, 4]}\n"),
    ),
    Mistake::new(
        "matrix-order-workload",
        "an order in a workload's matrix",
        disk!("    matrix: {order: shuffled}\n"),
    ),
    Mistake::new("matrix-defaults", "a matrix in defaults", disk!("defaults: {matrix: {jobs: [1, 2]}}\n")),
    Mistake::new("matrix-list", "a list as the matrix", disk!("matrix: [queue_depth]\n")),
];
