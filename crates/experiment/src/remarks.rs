//! Remarks on what is allowed but seldom intended.

use metrics::OpKind;
use units::Size;

use crate::checks::decimal;
use crate::kind::{TargetKind, kind_of};
use crate::plan::Plan;

impl Plan {
    /// What is allowed but seldom intended in this plan, one line each: blocks of 4000 bytes where 4096 are usual.
    pub fn remarks(&self) -> Vec<String> {
        let mixes = self.cells.iter().filter(|cell| cell.workload.does(OpKind::is_of_ranges));
        let mut sizes: Vec<u64> = mixes
            .filter_map(|cell| cell.workload.mix())
            .flat_map(|mix| mix.block_sizes.iter().map(|size| size.bytes))
            .collect();
        sizes.sort_unstable();
        sizes.dedup();
        let line = |bytes: u64| {
            let meant = decimal(bytes)?;
            let size = Size(bytes);
            Some(format!(
                "block_size {size} is {bytes} bytes, no multiple of 512; what fio calls {} is {meant}",
                size.to_string().to_lowercase()
            ))
        };
        sizes.into_iter().filter_map(line).collect()
    }

    /// Targets whose reads may be served from this client's page cache, so that its memory would be measured.
    pub fn through_page_cache(&self, kinds: &[&'static TargetKind]) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for cell in &self.cells {
            let cached = kind_of(kinds, &cell.target.url)
                .is_some_and(|kind| kind.page_cache && !cell.target.flag(kind, "direct"));
            if cached && cell.workload.does(OpKind::reads) && !names.contains(&&*cell.target.name) {
                names.push(&cell.target.name);
            }
        }
        names
    }
}
