//! Reads of a logical unit over iSCSI; what it holds stays as it is.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use drivers::Sink;
use drivers::iscsi::{IscsiConfig, IscsiDriver};
use engine::{DataSet, DataShape, StageWorkload, VisitOrder};

use crate::load::{Load, Measured, measure};

/// Timeout of asking for the unit's size.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(10);

/// Flags of `bench iscsi`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    load: Load,
    /// The portal's address and port.
    #[arg(long)]
    portal: SocketAddr,
    /// The target's name.
    #[arg(long)]
    target: String,
    /// The logical unit.
    #[arg(long, default_value_t = 1)]
    lun: u16,
    /// Sessions of each worker.
    #[arg(long, default_value_t = 1)]
    sessions: u32,
    /// How to read it.
    #[arg(long)]
    op: Operation,
    /// Bytes of one read.
    #[arg(long, default_value_t = 1 << 20)]
    block: u64,
    /// Where the payload goes: buffer, verify or discard.
    #[arg(long, default_value = "buffer", value_parser = crate::load::sink)]
    sink: Sink,
}

#[derive(Clone, Copy, ValueEnum)]
enum Operation {
    Read,
    Randread,
}

/// Reads the whole unit again and again.
pub fn run(args: &Args) -> Result<Measured> {
    let config = IscsiConfig {
        sessions: args.sessions,
        ..IscsiConfig::new(args.portal, args.target.as_str(), args.lun)
    };
    let driver = IscsiDriver::new(config)?;
    let (facts, _) = driver.look(CONTROL_TIMEOUT)?;
    let shape = DataShape::Files { file_bytes: facts.capacity.bytes(), block_bytes: args.block };
    let workload = StageWorkload::Read {
        data_set: DataSet::laid_out(shape, 1),
        block_bytes: Some(args.block),
        order: match args.op {
            Operation::Read => VisitOrder::Sequential,
            Operation::Randread => VisitOrder::Random,
        },
    };
    Ok(measure(&driver, &args.load.plan(workload, args.sink))?.0)
}
