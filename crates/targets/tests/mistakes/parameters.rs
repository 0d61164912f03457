//! Mistakes with parameters, `--set` and the environment.

use crate::Mistake;

const fn set(
    name: &'static str,
    title: &'static str,
    file: &'static str,
    set: &'static [(&'static str, &'static str)],
) -> Mistake {
    Mistake { name, title, file, set }
}

pub const ALL: &[Mistake] = &[
    Mistake::new(
        "parameter-unknown",
        "an unknown parameter",
        disk!("    file_size: ${siz}\n    queue_depth: ${size}\nparameters: {size: 4}\n"),
    ),
    Mistake::new(
        "parameter-none",
        "a parameter although none is declared",
        disk!("    file_size: ${size}\n"),
    ),
    Mistake::new("parameter-unused", "a parameter that nothing uses", disk!("parameters: {size: 1GiB}\n")),
    Mistake::new("parameter-open", "a parameter that is not closed", disk!("    file_size: ${size\n")),
    Mistake::new(
        "parameter-value",
        "a wrong value in a parameter",
        disk!("    file_size: ${size}\nparameters: {size: 1GiBB}\n"),
    ),
    Mistake::new(
        "parameter-empty",
        "a parameter that must be set",
        disk!("    file_size: ${size}\nparameters: {size: }\n"),
    ),
    Mistake::new(
        "parameter-circle",
        "parameters that name each other",
        disk!("    file_size: ${a}\nparameters: {a: '${b}', b: '${a}'}\n"),
    ),
    Mistake::new(
        "parameter-name",
        "a parameter's name with a dash",
        disk!("parameters: {file-size: 1GiB}\n"),
    ),
    Mistake::new(
        "parameter-list",
        "a list inside of a text",
        disk!("name: n-${sizes}\nparameters: {sizes: [1, 2]}\n"),
    ),
    Mistake::new("parameter-map", "parameters as a list", disk!("parameters: [size]\n")),
    Mistake::new(
        "environment-unknown",
        "a variable that the environment has not",
        disk!("name: ${env:NIGHTLY_NAME}\n"),
    ),
    Mistake::new(
        "environment-secret",
        "a secret from the environment",
        disk!("name: ${env:AWS_SECRET_ACCESS_KEY}\n"),
    ),
    Mistake::new(
        "environment-value",
        "a wrong value in the environment",
        disk!("    queue_depth: ${depth}\nparameters: {depth: 4}\n"),
    ),
    set(
        "set-unknown",
        "an unknown name after --set",
        disk!("    file_size: ${size}\nparameters: {size: 1GiB}\n"),
        &[("sise", "4GiB")],
    ),
    set(
        "set-value",
        "a wrong value after --set",
        disk!("    file_size: ${size}\nparameters: {size: 1GiB}\n"),
        &[("size", "4QiB")],
    ),
    set("set-workload-key", "a workload's key after --set", disk!(""), &[("queue_depth", "64")]),
    set(
        "set-workload-name",
        "a workload that is not there after --set",
        disk!(""),
        &[("workloads.randrd.queue_depth", "64")],
    ),
    set(
        "set-path",
        "an unknown key in a path after --set",
        disk!(""),
        &[("workloads.randread.queue_dept", "64")],
    ),
    set(
        "set-path-value",
        "a wrong value for a path after --set",
        disk!(""),
        &[("workloads.randread.queue_depth", "0")],
    ),
    set(
        "set-crossed",
        "--set of what the matrix crosses",
        disk!("matrix: {queue_depth: [1, 2]}\n"),
        &[("workloads.randread.queue_depth", "64")],
    ),
];
