//! The tool's own overhead.

use anyhow::Result;
use drivers::Sink;
use drivers::null::NullDriver;
use engine::Workload;
use metrics::OpKind;

use crate::load::{Load, Measured, measure};

/// Flags of `bench null`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    load: Load,
    /// Bytes that an operation pretends to read.
    #[arg(long, default_value_t = 4096)]
    block: u64,
}

/// Reads nothing, as often as possible.
pub fn run(args: &Args) -> Result<Measured> {
    let workload = Workload::Repeat { kind: OpKind::Read, bytes: args.block };
    Ok(measure(&NullDriver, &args.load.plan(workload, Sink::Buffer))?.0)
}
