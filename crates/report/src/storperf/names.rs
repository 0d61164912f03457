//! The names of `StorPerf`'s cells, metrics and Graphite paths.

use std::collections::BTreeSet;

use experiment::Cell;

/// `rw.queue-depth.8.block-size.4k`; queue depth and block size as the user wrote them.
pub fn cell_key(workload: &str, queue_depth: &str, block_size: &str) -> String {
    format!("{workload}.queue-depth.{queue_depth}.block-size.{block_size}")
}

/// `rw.queue-depth.8.block-size.4k.read.bw`.
pub fn metric_key(cell: &str, direction: &str, metric: &str) -> String {
    format!("{cell}.{direction}.{metric}")
}

/// `192-168-0-1--dev-vdb`: a host and what it loads, in a Graphite path, where dots separate the parts.
pub fn host_key(host: &str, target: &str) -> String {
    word(&format!("{host}.{target}"))
}

/// Gives each cell of a run a key of its own.
///
/// `StorPerf` crosses queue depths and block sizes only. Where other parameters are crossed, or cells repeated, the
/// workload's name says so: `read-direct-true`, `read-2`.
#[derive(Debug, Default)]
pub struct CellNames {
    taken: BTreeSet<String>,
}

impl CellNames {
    /// The key of the next cell.
    pub fn of(&mut self, cell: &Cell) -> String {
        let mut workload = word(&cell.workload_name);
        for (name, value) in &cell.point {
            if !["block_size", "queue_depth"].contains(&name.as_str()) {
                workload.push_str(&format!("-{}-{}", word(name), word(value)));
            }
        }
        let crossed = |key: &str| cell.point.get(key).map(|value| word(value));
        let queue_depth = crossed("queue_depth").unwrap_or_else(|| cell.workload.queue_depth.to_string());
        let block_size = crossed("block_size").unwrap_or_else(|| block_size(cell));
        let key = |number: u32| {
            let workload = if number == 1 { workload.clone() } else { format!("{workload}-{number}") };
            cell_key(&workload, &queue_depth, &block_size)
        };
        let free = (1..).map(key).find(|key| !self.taken.contains(key)).unwrap_or_default();
        self.taken.insert(free.clone());
        free
    }
}

/// The block size in bytes where the matrix does not cross it; for a mix of sizes, all of them.
fn block_size(cell: &Cell) -> String {
    let sizes = cell.workload.block_sizes();
    let texts: Vec<String> = sizes.iter().map(|size| size.bytes.to_string()).collect();
    texts.join("-")
}

/// Text that can be a part of a key: no dots, which separate the parts.
fn word(text: &str) -> String {
    text.replace(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-', "-")
}
