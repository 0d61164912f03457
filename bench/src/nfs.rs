//! NFS against a given server, in a directory of our own that is removed at the end.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;
use drivers::Sink;
use drivers::nfs::{NfsConfig, NfsDriver, NfsVersion};
use engine::{DataShape, StagePlan, StageWorkload, StopRule, VisitOrder};
use metrics::OpKind;

use crate::load::{Load, Measured, measure, stage, unique_name};
use crate::names::{self, Names};

/// Timeout of creating or removing our directory.
const CONTROL_TIMEOUT: Duration = Duration::from_secs(60);

/// Flags of `bench nfs`.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    load: Load,
    /// The server's address.
    #[arg(long)]
    server: IpAddr,
    /// Port of NFS; the portmapper is asked without it.
    #[arg(long)]
    nfs_port: Option<u16>,
    /// Port of MOUNT; the portmapper is asked without it.
    #[arg(long)]
    mount_port: Option<u16>,
    /// The export.
    #[arg(long)]
    export: String,
    /// Version of NFS: 3 or 4.1.
    #[arg(long, default_value = "3", value_parser = version)]
    nfs_version: NfsVersion,
    /// What to do with large files, one of each lane.
    #[arg(long)]
    op: Option<Operation>,
    /// What to do with small files instead, of `--block` bytes each.
    #[arg(long, conflicts_with = "op", required_unless_present = "op")]
    names: Option<Names>,
    /// Bytes of one read or write.
    #[arg(long, default_value_t = 1 << 20)]
    block: u64,
    /// Connections of each worker.
    #[arg(long, default_value_t = 1)]
    connections: u32,
    /// Where the payload of reads goes: buffer, verify or discard.
    #[arg(long, default_value = "buffer", value_parser = crate::load::sink)]
    sink: Sink,
    /// Size of all files together, in MiB; each lane has one.
    #[arg(long, default_value_t = 64)]
    data_mib: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Operation {
    Read,
    Write,
    Getattr,
    Randread,
}

/// Writes the files and, unless writes are to be measured, reads them or gets their attributes.
pub fn run(args: &Args) -> Result<Measured> {
    let directory = unique_name();
    let mut config = NfsConfig::new(args.server, args.export.as_str(), directory);
    config.version = args.nfs_version;
    config.nfs_port = args.nfs_port;
    config.mount_port = args.mount_port;
    config.connections_per_worker = args.connections;
    let driver = NfsDriver::new(config)?;
    driver.prepare(CONTROL_TIMEOUT)?;
    let measured = load(args, &driver);
    driver.remove_all(CONTROL_TIMEOUT)?;
    measured
}

/// Parses a version of NFS.
fn version(text: &str) -> Result<NfsVersion, String> {
    match text {
        "3" => Ok(NfsVersion::V3),
        "4.1" => Ok(NfsVersion::V4_1),
        other => Err(format!("\"{other}\" is no version: write 3 or 4.1")),
    }
}

fn load(args: &Args, driver: &NfsDriver) -> Result<Measured> {
    if let Some(names) = args.names {
        let workload = names::workload(names, args.block);
        return Ok(measure(driver, &args.load.plan(workload, args.sink))?.0);
    }
    let limit_bytes = args.data_mib << 20;
    let file_bytes = (limit_bytes / u64::from(args.load.lanes)).max(4096);
    let writing = |block_bytes| {
        let block_bytes = u64::min(block_bytes, file_bytes);
        StageWorkload::Write { shape: DataShape::Files { file_bytes, block_bytes }, limit_bytes }
    };
    if let Some(Operation::Write) = args.op {
        return Ok(measure(driver, &args.load.plan(writing(args.block), Sink::Buffer))?.0);
    }
    let once = StagePlan {
        ramp: Duration::ZERO,
        window: CONTROL_TIMEOUT,
        stop: StopRule::Exhausted,
        ..args.load.plan(writing(1 << 20), Sink::Buffer)
    };
    let data_set = stage(driver, &once)?.data_set;
    let read =
        |order| StageWorkload::Read { data_set: data_set.clone(), block_bytes: Some(args.block), order };
    let workload = match args.op {
        Some(Operation::Read) => read(VisitOrder::Sequential),
        Some(Operation::Randread) => read(VisitOrder::Random),
        // Each lane queries its own file, whose handle is cached: one call per operation.
        Some(Operation::Getattr | Operation::Write) | None => {
            StageWorkload::Repeat { kind: OpKind::Stat, bytes: 0 }
        }
    };
    Ok(measure(driver, &args.load.plan(workload, args.sink))?.0)
}
