//! File sizes of a job.

use super::{Amount, Job};

impl Job {
    /// The intended size of a file in bytes: as in [`JobFiles::bytes`], drawn if there is a range, otherwise its part
    /// of the region's size. `number` is the worker's, counted over all clones. 0 if the existing size applies.
    pub fn size_of_file(&self, number: u32, file: u32) -> u64 {
        let files = &self.files;
        if files.bytes == 0 {
            let Amount::Bytes(all) = self.region.size else { return 0 };
            return all / u64::from(files.per_worker().max(1));
        }
        let spread = files.most_bytes.saturating_sub(files.bytes);
        if spread == 0 {
            return files.bytes;
        }
        // The size is a multiple of the smallest block.
        let draw = content::mixed(self.seed ^ files.names.object(number, file));
        let drawn = files.bytes + ((u128::from(draw) * (u128::from(spread) + 1)) >> 64) as u64;
        let sizes = &self.block_sizes.sizes;
        let least = sizes.read.least().min(sizes.write.least()).max(1);
        (drawn - drawn % least).max(files.bytes)
    }
}
