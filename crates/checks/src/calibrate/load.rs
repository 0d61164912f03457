//! Pieces that go through the load engine: the null target, NFS and S3.

use std::time::Duration;

use drivers::nfs::NfsDriver;
use drivers::null::NullDriver;
use drivers::s3::S3Driver;
use drivers::{Driver, Payload, Sink};
use engine::{
    Control, DataSet, DataShape, Schedule, StageContext, StagePlan, StageResult, StageWorkload, StopRule,
    VisitOrder,
};
use metrics::OpKind;

use super::array_process::ArrayProcess;
use super::microbenchmarks::{BlockSize, RepetitionResult};
use crate::error::{CheckError, While};
use ::runner::StopToken;

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
pub struct BenchmarkRunner {
    /// Measured time of a stage.
    pub window: Duration,
    /// Threads that make load, where a server shares the cores.
    pub clients: u32,
    /// How the kernel is asked for I/O.
    pub reactor: reactor::BackendChoice,
    /// What a signal must reach.
    pub stop: StopToken,
}

impl BenchmarkRunner {
    /// A stage over a workload.
    pub fn plan(&self, workers: u32, lanes: u32, workload: StageWorkload) -> StagePlan {
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
            beside: StageContext::default(),
        }
    }

    /// Runs a stage; an operation that fails makes it worthless.
    pub fn run<D: Driver>(&self, driver: &D, plan: &StagePlan) -> Result<StageResult, CheckError> {
        let control = Control::new();
        let _governed = self.stop.governs(&control);
        let result = engine::run_stage(driver, plan, &control, &mut |_| {})?;
        if let Some((kind, detail)) = result.error_samples.first() {
            return Err(CheckError::Failure(format!(
                "{} operations failed, such as {kind}: {detail}",
                result.total.failed().max(1)
            )));
        }
        if result.stopped || self.stop.is_requested() {
            return Err(CheckError::Stopped("interrupted".to_owned()));
        }
        Ok(result)
    }

    /// Operations that do nothing, on this many cores.
    pub fn null(&self, workers: u32) -> Result<RepetitionResult, CheckError> {
        let workload = StageWorkload::Repeat { kind: OpKind::Read, bytes: BlockSize::Small.bytes() };
        let plan = StagePlan { pin: true, ..self.plan(workers, 32, workload) };
        Ok(found(&self.run(&NullDriver, &plan)?, BlockSize::Small))
    }

    fn lanes(block: BlockSize) -> u32 {
        LANES[usize::from(block == BlockSize::Small)]
    }
}

/// What was filled on the server, to be read again and again.
pub struct FilledData {
    nfs: (NfsDriver, DataSet),
    s3: [(S3Driver, DataSet); 2],
}

impl FilledData {
    /// Writes what the reading steps read.
    pub fn new(runner: &BenchmarkRunner, server: &ArrayProcess) -> Result<Self, CheckError> {
        let nfs = NfsDriver::new(server.nfs("read")?)?;
        nfs.prepare(PATIENCE)?;
        let files = runner.filled(
            &nfs,
            DataShape::Files { file_bytes: FILE, block_bytes: 1 << 20 },
            runner.files_bytes(),
        );
        let nfs = (nfs, files.during("filling over NFS")?);
        let s3 = |block: BlockSize, prefix| -> Result<(S3Driver, DataSet), CheckError> {
            let driver = S3Driver::new(server.s3(prefix)?)?;
            let shape = DataShape::Objects { object_bytes: block.bytes() };
            let objects =
                runner.filled(&driver, shape, runner.objects_bytes(block)).during("filling over S3")?;
            Ok((driver, objects))
        };
        Ok(Self { nfs, s3: [s3(BlockSize::Large, "read-1m")?, s3(BlockSize::Small, "read-4k")?] })
    }

    /// Reads over NFS, in order or, small blocks, at random.
    pub fn nfs(&self, runner: &BenchmarkRunner, block: BlockSize) -> Result<RepetitionResult, CheckError> {
        let (driver, data_set) = &self.nfs;
        let order = if block == BlockSize::Small { VisitOrder::Random } else { VisitOrder::Sequential };
        let workload =
            StageWorkload::Read { data_set: data_set.clone(), block_bytes: Some(block.bytes()), order };
        let plan = runner.plan(runner.clients, BenchmarkRunner::lanes(block), workload);
        Ok(found(&runner.run(driver, &plan)?, block))
    }

    /// Gets whole objects.
    pub fn s3(&self, runner: &BenchmarkRunner, block: BlockSize) -> Result<RepetitionResult, CheckError> {
        let (driver, data_set) = &self.s3[usize::from(block == BlockSize::Small)];
        let workload = StageWorkload::Read {
            data_set: data_set.clone(),
            block_bytes: None,
            order: VisitOrder::Sequential,
        };
        let plan = runner.plan(runner.clients, BenchmarkRunner::lanes(block), workload);
        Ok(found(&runner.run(driver, &plan)?, block))
    }
}

impl BenchmarkRunner {
    fn files_bytes(&self) -> u64 {
        u64::from(self.clients) * u64::from(LANES[1]) * FILE
    }

    fn objects_bytes(&self, block: BlockSize) -> u64 {
        match block {
            BlockSize::Large => u64::from(self.clients) * u64::from(LANES[0]) * 4 * block.bytes(),
            BlockSize::Small => SMALL_OBJECTS * block.bytes(),
        }
    }

    /// Writes a data set once.
    fn filled<D: Driver>(
        &self,
        driver: &D,
        shape: DataShape,
        limit_bytes: u64,
    ) -> Result<DataSet, CheckError> {
        let plan = StagePlan {
            ramp: Duration::ZERO,
            window: PATIENCE,
            stop: StopRule::Exhausted,
            ..self.plan(self.clients, LANES[1], StageWorkload::Write { shape, limit_bytes })
        };
        Ok(self.run(driver, &plan)?.data_set)
    }

    /// Writes over NFS.
    pub fn nfs_write(&self, server: &ArrayProcess, block: BlockSize) -> Result<RepetitionResult, CheckError> {
        let driver =
            NfsDriver::new(server.nfs(if block == BlockSize::Small { "write-4k" } else { "write-1m" })?)?;
        driver.prepare(PATIENCE)?;
        let shape = DataShape::Files { file_bytes: FILE, block_bytes: block.bytes() };
        let workload = StageWorkload::Write { shape, limit_bytes: self.files_bytes() };
        let ran = self.run(&driver, &self.plan(self.clients, Self::lanes(block), workload));
        driver.remove_all(PATIENCE)?;
        Ok(found(&ran?, block))
    }

    /// Puts whole objects.
    pub fn s3_write(&self, server: &ArrayProcess, block: BlockSize) -> Result<RepetitionResult, CheckError> {
        let driver =
            S3Driver::new(server.s3(if block == BlockSize::Small { "write-4k" } else { "write-1m" })?)?;
        let shape = DataShape::Objects { object_bytes: block.bytes() };
        let workload = StageWorkload::Write { shape, limit_bytes: self.objects_bytes(block) };
        Ok(found(&self.run(&driver, &self.plan(self.clients, Self::lanes(block), workload))?, block))
    }
}

/// Bytes of large blocks, operations of small ones.
fn found(result: &StageResult, block: BlockSize) -> RepetitionResult {
    let small: u64 =
        result.total.ops.iter().filter(|(kind, _)| kind.moves_bytes()).map(|(_, stats)| stats.ok).sum();
    let amount = if block == BlockSize::Small { small } else { result.total.bytes() };
    let cpu: u64 = result.worker_cpu_ns.iter().sum();
    RepetitionResult::rate(amount as f64, result.window_ns as f64 / 1e9, cpu as f64 / 1e9)
}
