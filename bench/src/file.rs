//! Files in a directory of our own, which is removed at the end, or an existing file used like a device.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use drivers::Sink;
use drivers::file::{FileConfig, FileDriver, Place};
use engine::{DataShape, StagePlan, StageWorkload, StopRule, VisitOrder};

use crate::load::{Load, Measured, measure, stage, unique_name};
use crate::names::{self, Names};

/// Timeout of filling the file.
const FILL_TIMEOUT: Duration = Duration::from_secs(600);

/// Flags of `bench file`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    load: Load,
    /// The directory in which ours is made.
    #[arg(long)]
    directory: PathBuf,
    /// What to do with one large file.
    #[arg(long)]
    op: Option<Operation>,
    /// What to do with small files instead, of `--block` bytes each.
    #[arg(long, conflicts_with = "op", required_unless_present = "op")]
    names: Option<Names>,
    /// Bytes of one read or write.
    #[arg(long, default_value_t = 4096)]
    block: u64,
    /// Past the page cache.
    #[arg(long)]
    direct: bool,
    /// Do not register files and buffers.
    #[arg(long)]
    unregistered: bool,
    /// Where the payload of reads goes: buffer or verify.
    #[arg(long, default_value = "buffer", value_parser = crate::load::sink)]
    sink: Sink,
    /// Size of the file, in MiB.
    #[arg(long, default_value_t = 256)]
    data_mib: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Operation {
    Read,
    Randread,
    Write,
}

/// Writes the file and, unless writes are to be measured, reads it.
pub fn run(args: &Args) -> Result<Measured> {
    let mut config = FileConfig::new(Place::Directory(args.directory.join(unique_name())));
    config.direct = args.direct;
    config.registered = !args.unregistered;
    let driver = FileDriver::new(config)?;
    driver.prepare()?;
    let measured = load(args, &driver);
    driver.remove_all()?;
    measured
}

fn load(args: &Args, driver: &FileDriver) -> Result<Measured> {
    if let Some(names) = args.names {
        let workload = names::workload(names, args.block);
        return Ok(measure(driver, &args.load.plan(workload, Sink::Buffer))?.0);
    }
    let file_bytes = args.data_mib << 20;
    let writing = |block_bytes| StageWorkload::Write {
        shape: DataShape::Files { file_bytes, block_bytes },
        limit_bytes: file_bytes,
    };
    if let Some(Operation::Write) = args.op {
        return Ok(measure(driver, &args.load.plan(writing(args.block), Sink::Buffer))?.0);
    }
    // One lane writes one file.
    let once = StagePlan {
        ramp: Duration::ZERO,
        window: FILL_TIMEOUT,
        stop: StopRule::Exhausted,
        workers: 1,
        lanes_per_worker: 1,
        ..args.load.plan(writing(1 << 20), Sink::Buffer)
    };
    let data_set = stage(driver, &once)?.data_set;
    let order = match args.op {
        Some(Operation::Randread) => VisitOrder::Random,
        _ => VisitOrder::Sequential,
    };
    let workload = StageWorkload::Read { data_set, block_bytes: Some(args.block), order };
    Ok(measure(driver, &args.load.plan(workload, args.sink))?.0)
}
