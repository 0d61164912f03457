//! S3 against a given server, under a prefix of our own that is emptied at the end.

use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use drivers::Sink;
use drivers::s3::{Credentials, Endpoint, S3Config, S3Driver};
use engine::{DataShape, StagePlan, StageWorkload, StopRule, VisitOrder};

use crate::load::{Load, Measured, measure, stage, unique_name};

/// Flags of `bench s3`. The keys come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    load: Load,
    /// As in http://127.0.0.1:9000.
    #[arg(long)]
    endpoint: Endpoint,
    /// An existing bucket.
    #[arg(long)]
    bucket: String,
    /// What to do.
    #[arg(long)]
    op: Operation,
    /// Bytes of an object.
    #[arg(long, default_value_t = 8 << 20)]
    size: u64,
    /// Where the payload of reads goes: buffer, verify or discard.
    #[arg(long, default_value = "buffer", value_parser = crate::load::sink)]
    sink: Sink,
    /// Objects over all lanes.
    #[arg(long, default_value_t = 16)]
    objects: u64,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Operation {
    Get,
    Put,
}

/// Puts the objects and, unless puts are to be measured, gets them.
pub fn run(args: &Args) -> Result<Measured> {
    let credentials = Credentials::find_in(None, &|name| std::env::var(name).ok())?;
    let config = S3Config::new(args.endpoint.clone(), &args.bucket, &unique_name(), credentials);
    let driver = S3Driver::new(config)?;
    let measured = load(args, &driver);
    driver.remove_all()?;
    measured
}

fn load(args: &Args, driver: &S3Driver) -> Result<Measured> {
    let shape = DataShape::Objects { object_bytes: args.size };
    let putting = StageWorkload::Write { shape, limit_bytes: args.size * args.objects };
    let plan = args.load.plan(putting, Sink::Buffer);
    if args.op == Operation::Put {
        return Ok(measure(driver, &plan)?.0);
    }
    let once = StagePlan {
        ramp: Duration::ZERO,
        window: Duration::from_secs(60),
        stop: StopRule::Exhausted,
        ..plan
    };
    let data_set = stage(driver, &once)?.data_set;
    let getting = StageWorkload::Read { data_set, block_bytes: None, order: VisitOrder::Sequential };
    Ok(measure(driver, &args.load.plan(getting, args.sink))?.0)
}
