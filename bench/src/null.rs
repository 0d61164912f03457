//! The tool's own overhead.

use anyhow::Result;
use drivers::Sink;
use drivers::null::NullDriver;
use engine::{DataSet, DataShape, Mix, StageWorkload};
use experiment::{Access, WeightedOp, WeightedSize};
use metrics::OpKind;

use crate::load::{Load, Measured, measure};

/// Bytes of the data set that a mix pretends to use.
const DATA_SET_BYTES: u64 = 1 << 40;

/// Flags of `bench null`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    load: Load,
    /// Bytes that an operation pretends to read.
    #[arg(long, default_value_t = 4096)]
    block: u64,
    /// Draw each operation's place as experiments do: sequential, random, shuffled, zipf, pareto or hotspot. Without
    /// it, the same operation for ever.
    #[arg(long)]
    access: Option<String>,
    /// Percent of writes among the reads of a mix; without it, only reads.
    #[arg(long, default_value_t = 0)]
    writes: u8,
}

/// Reads nothing, as often as possible.
pub fn run(args: &Args) -> Result<Measured> {
    let workload = match &args.access {
        None => StageWorkload::Repeat { kind: OpKind::Read, bytes: args.block },
        Some(name) => StageWorkload::Mix(mix(access(name)?, args.block, args.writes)),
    };
    Ok(measure(&NullDriver, &args.load.plan(workload, Sink::Buffer))?.0)
}

/// A mix of reads, and writes if any, of a device's blocks.
pub fn mix(access: Access, block: u64, writes: u8) -> Mix {
    let write = f64::from(writes.min(100)) / 100.0;
    let ops = [(OpKind::Read, 1.0 - write), (OpKind::Write, write)];
    let ops = ops.into_iter().filter(|(_, weight)| *weight > 0.0);
    Mix {
        data_set: DataSet::laid_out(DataShape::Device { bytes: DATA_SET_BYTES }, 1),
        ops: ops.map(|(op, weight)| WeightedOp { op, weight }).collect(),
        access,
        block_sizes: vec![WeightedSize { bytes: block, weight: 1.0 }],
        fsync_every: 0,
        batch_size: 100,
        think: None,
        verify: false,
        on_own: false,
        generation: 0,
        seed: 1,
    }
}

/// An access pattern by name, with default parameters.
pub fn access(name: &str) -> Result<Access> {
    Ok(match name {
        "sequential" => Access::Sequential,
        "random" => Access::Random,
        "shuffled" => Access::Shuffled,
        "zipf" => Access::Zipf { theta: 0.99 },
        "pareto" => Access::Pareto { h: 0.2 },
        "hotspot" => Access::Hotspot { ops: 0.8, space: 0.2 },
        other => anyhow::bail!(
            "\"{other}\" is no access pattern: write sequential, random, shuffled, zipf, pareto or hotspot"
        ),
    })
}
