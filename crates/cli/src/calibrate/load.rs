//! Pieces that go through the load engine: the null target, NFS and S3.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use drivers::nfs::NfsDriver;
use drivers::null::NullDriver;
use drivers::s3::S3Driver;
use drivers::{Driver, Payload, Sink};
use engine::{Beside, Control, DataSet, Order, Schedule, Shape, StagePlan, StageResult, StopRule, Workload};
use metrics::OpKind;

use super::pieces::{Block, Found};
use super::server::Server;
use runner::StopToken;

/// Operations in flight of each worker: large and small ones.
const LANES: [u32; 2] = [8, 32];
/// Files that are read and written are so large.
const FILE: u64 = 2 << 20;
/// Objects of 4 KiB that are read and written, over all lanes.
const SMALL_OBJECTS: u64 = 4096;
/// The longest that filling may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What all stages share.
#[derive(Clone)]
pub struct Bench {
    /// Measured time of a stage.
    pub window: Duration,
    /// Threads that make load, where a server shares the cores.
    pub clients: u32,
    /// How the kernel is asked for I/O.
    pub reactor: reactor::Choice,
    /// What a signal must reach.
    pub interrupt: StopToken,
}

impl Bench {
    /// A stage over a workload.
    pub fn plan(&self, workers: u32, lanes: u32, workload: Workload) -> StagePlan {
        StagePlan {
            workers,
            lanes_per_worker: lanes,
            reactor: self.reactor,
            pin: false,
            ramp: self.window / 5,
            window: self.window,
            drain: Duration::from_secs(10),
            interval: self.window.min(Duration::from_secs(1)),
            schedule: Schedule::Closed,
            stop: StopRule::Window,
            workload,
            payload: Payload::new(1),
            sink: Sink::Buffer,
            op_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(10),
            error_limit: None,
            beside: Beside::default(),
        }
    }

    /// Runs a stage; an operation that fails makes it worthless.
    pub fn run<D: Driver>(&self, driver: &D, plan: &StagePlan) -> Result<StageResult> {
        let control = Control::new();
        let _governed = self.interrupt.governs(&control);
        let result = engine::run_stage(driver, plan, &control, &mut |_| {})?;
        if let Some((kind, detail)) = result.error_samples.first() {
            bail!("{} operations failed, such as {kind}: {detail}", result.total.failed().max(1));
        }
        if result.stopped || self.interrupt.is_requested() {
            bail!("interrupted");
        }
        Ok(result)
    }

    /// Operations that do nothing, on so many cores.
    pub fn null(&self, workers: u32) -> Result<Found> {
        let workload = Workload::Repeat { kind: OpKind::Read, bytes: Block::Small.bytes() };
        let plan = StagePlan { pin: true, ..self.plan(workers, 32, workload) };
        Ok(found(&self.run(&NullDriver, &plan)?, Block::Small))
    }

    fn lanes(block: Block) -> u32 {
        LANES[usize::from(block == Block::Small)]
    }
}

/// What was filled on the server, to be read again and again.
pub struct Filled {
    nfs: (NfsDriver, DataSet),
    s3: [(S3Driver, DataSet); 2],
}

impl Filled {
    /// Writes what the reading pieces read.
    pub fn new(bench: &Bench, server: &Server) -> Result<Self> {
        let nfs = NfsDriver::new(server.nfs("read")?)?;
        nfs.prepare(PATIENCE)?;
        let files =
            bench.filled(&nfs, Shape::Files { file_bytes: FILE, block_bytes: 1 << 20 }, bench.files_bytes());
        let nfs = (nfs, files.context("filling over NFS")?);
        let s3 = |block: Block, prefix| -> Result<(S3Driver, DataSet)> {
            let driver = S3Driver::new(server.s3(prefix)?)?;
            let shape = Shape::Objects { object_bytes: block.bytes() };
            let objects =
                bench.filled(&driver, shape, bench.objects_bytes(block)).context("filling over S3")?;
            Ok((driver, objects))
        };
        Ok(Self { nfs, s3: [s3(Block::Large, "read-1m")?, s3(Block::Small, "read-4k")?] })
    }

    /// Reads over NFS, in order or, small blocks, by chance.
    pub fn nfs(&self, bench: &Bench, block: Block) -> Result<Found> {
        let (driver, data_set) = &self.nfs;
        let order = if block == Block::Small { Order::Random } else { Order::Sequential };
        let workload = Workload::Read { data_set: data_set.clone(), block_bytes: Some(block.bytes()), order };
        let plan = bench.plan(bench.clients, Bench::lanes(block), workload);
        Ok(found(&bench.run(driver, &plan)?, block))
    }

    /// Gets whole objects.
    pub fn s3(&self, bench: &Bench, block: Block) -> Result<Found> {
        let (driver, data_set) = &self.s3[usize::from(block == Block::Small)];
        let workload =
            Workload::Read { data_set: data_set.clone(), block_bytes: None, order: Order::Sequential };
        let plan = bench.plan(bench.clients, Bench::lanes(block), workload);
        Ok(found(&bench.run(driver, &plan)?, block))
    }
}

impl Bench {
    fn files_bytes(&self) -> u64 {
        u64::from(self.clients) * u64::from(LANES[1]) * FILE
    }

    fn objects_bytes(&self, block: Block) -> u64 {
        match block {
            Block::Large => u64::from(self.clients) * u64::from(LANES[0]) * 4 * block.bytes(),
            Block::Small => SMALL_OBJECTS * block.bytes(),
        }
    }

    /// Writes a data set once.
    fn filled<D: Driver>(&self, driver: &D, shape: Shape, limit_bytes: u64) -> Result<DataSet> {
        let plan = StagePlan {
            ramp: Duration::ZERO,
            window: PATIENCE,
            stop: StopRule::Exhausted,
            ..self.plan(self.clients, LANES[1], Workload::Write { shape, limit_bytes })
        };
        Ok(self.run(driver, &plan)?.data_set)
    }

    /// Writes over NFS.
    pub fn nfs_write(&self, server: &Server, block: Block) -> Result<Found> {
        let driver =
            NfsDriver::new(server.nfs(if block == Block::Small { "write-4k" } else { "write-1m" })?)?;
        driver.prepare(PATIENCE)?;
        let shape = Shape::Files { file_bytes: FILE, block_bytes: block.bytes() };
        let workload = Workload::Write { shape, limit_bytes: self.files_bytes() };
        let ran = self.run(&driver, &self.plan(self.clients, Self::lanes(block), workload));
        driver.remove_all(PATIENCE)?;
        Ok(found(&ran?, block))
    }

    /// Puts whole objects.
    pub fn s3_write(&self, server: &Server, block: Block) -> Result<Found> {
        let driver =
            S3Driver::new(server.s3(if block == Block::Small { "write-4k" } else { "write-1m" })?)?;
        let shape = Shape::Objects { object_bytes: block.bytes() };
        let workload = Workload::Write { shape, limit_bytes: self.objects_bytes(block) };
        Ok(found(&self.run(&driver, &self.plan(self.clients, Self::lanes(block), workload))?, block))
    }
}

/// Bytes of large blocks, operations of small ones.
fn found(result: &StageResult, block: Block) -> Found {
    let small: u64 =
        result.total.ops.iter().filter(|(kind, _)| kind.moves_bytes()).map(|(_, stats)| stats.ok).sum();
    let amount = if block == Block::Small { small } else { result.total.bytes() };
    let cpu: u64 = result.worker_cpu_ns.iter().sum();
    Found::rate(amount as f64, result.window_ns as f64 / 1e9, cpu as f64 / 1e9)
}
