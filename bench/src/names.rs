//! Operations on whole small files, each lane on files of its own.

use clap::ValueEnum;
use engine::{DataSet, DataShape, Mix, StageWorkload};
use experiment::{Access, WeightedOp, WeightedSize};
use metrics::OpKind;

/// What is done with them.
#[derive(Clone, Copy, ValueEnum)]
pub enum Names {
    /// Files are created with all their content, and removed: as many of each. Counted are those created.
    Cycle,
    /// A file is opened, read and closed.
    ReadFile,
    /// A file's attributes are read.
    Stat,
}

/// The load on files of this size.
pub fn workload(names: Names, file_bytes: u64) -> StageWorkload {
    let ops: &[OpKind] = match names {
        Names::Cycle => &[OpKind::WriteFile, OpKind::Remove],
        Names::ReadFile => &[OpKind::ReadFile],
        Names::Stat => &[OpKind::Stat],
    };
    StageWorkload::Mix(Mix {
        data_set: DataSet::laid_out(DataShape::Files { file_bytes, block_bytes: file_bytes }, 0),
        ops: ops.iter().map(|op| WeightedOp { op: *op, weight: 1.0 }).collect(),
        access: Access::Random,
        block_sizes: vec![WeightedSize { bytes: file_bytes, weight: 1.0 }],
        fsync_every: 0,
        batch_size: 100,
        think: None,
        verify: false,
        on_own: true,
        generation: 0,
        seed: 1,
    })
}
