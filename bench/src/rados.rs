//! RADOS against a given pool, under a prefix of our own whose objects are removed at the end.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use drivers::Sink;
use drivers::rados::{RadosAccess, RadosConfig, RadosDriver};
use engine::{DataShape, StagePlan, StageWorkload, StopRule, VisitOrder};
use reactor::clock::cpu_process_ns;

use crate::load::{Load, Measured, measure, stage, unique_name};

/// Time limit of an answer while objects are removed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Flags of `bench rados`. There is no load before the window: connecting counts, as in `rados bench`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    load: Load,
    /// The cluster's configuration file.
    #[arg(long)]
    conf: PathBuf,
    /// An existing pool.
    #[arg(long)]
    pool: String,
    /// What to do.
    #[arg(long)]
    op: Operation,
    /// Bytes of an object.
    #[arg(long, default_value_t = 4 << 20)]
    size: u64,
    /// Objects over all lanes: those that are got, or put before the first is put again.
    #[arg(long, default_value_t = 16)]
    objects: u64,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Operation {
    Get,
    Put,
}

/// Puts the objects and, unless puts are to be measured, gets them in random order.
pub fn run(args: &Args) -> Result<Measured> {
    let access = RadosAccess { conf: Some(args.conf.clone()), ..RadosAccess::default() };
    let driver = RadosDriver::new(RadosConfig::new(access, &args.pool, unique_name()))?;
    let measured = load(args, &driver);
    driver.remove_all(PATIENCE)?;
    measured
}

fn load(args: &Args, driver: &RadosDriver) -> Result<Measured> {
    let shape = DataShape::Objects { object_bytes: args.size };
    let putting = StageWorkload::Write { shape, limit_bytes: args.size.saturating_mul(args.objects) };
    let plan = StagePlan { ramp: Duration::ZERO, ..args.load.plan(putting, Sink::Buffer) };
    let (plan, before_ns) = match args.op {
        // All that this process has used so far was to start it.
        Operation::Put => (plan, 0),
        Operation::Get => {
            let once =
                StagePlan { window: Duration::from_secs(60), stop: StopRule::Exhausted, ..plan.clone() };
            let before_ns = cpu_process_ns();
            let data_set = stage(driver, &once)?.data_set;
            let order = VisitOrder::Random;
            let getting = StageWorkload::Read { data_set, block_bytes: None, order };
            (StagePlan { workload: getting, ..plan }, cpu_process_ns() - before_ns)
        }
    };
    let (measured, _) = measure(driver, &plan)?;
    // librados has threads of its own.
    Ok(Measured { cpu_seconds: (cpu_process_ns() - before_ns) as f64 / 1e9, ..measured })
}
