//! Targets as an experiment uses them: opened, prepared, loaded, verified, resumed and removed.
#![allow(clippy::borrowed_box)] // what is opened is a box

use std::path::Path;
use std::time::Duration;

use array::{AddressConfig, Array, Config};
use drivers::Payload;
use drivers::Sink;
use engine::DataShape;
use engine::{
    ContentSummary, Control, Mix, Schedule, StageContext, StagePlan, StageResult, StageWorkload as Load,
    StopRule,
};
use experiment::{Access, Arrivals, CacheControl, MixLoad, Target, WeightedOp, WeightedSize, Workload};
use metrics::{ErrorKind, OpKind};
use provision::{ApiSecret, Cancel, Journal, Management, RunId, Trust, Wanted};

use super::*;

mod cycles;
mod existing;
mod jobs;
mod journal;
mod listings;
mod names;
mod object_ops;
mod objects;
mod opening;
mod places;
mod remote_jobs;
mod trees;

fn target(url: &str, options: &[(&str, &str)]) -> Target {
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Target::new("t", url, options)
}

fn workload(ops: &[(OpKind, f64)]) -> Workload {
    Workload {
        ops: ops.iter().map(|(op, weight)| WeightedOp { op: *op, weight: *weight }).collect(),
        queue_depth: 4,
        jobs: 2,
        arrivals: Arrivals::Closed,
        backlog_limit: 0,
        sink: "buffer".into(),
        op_timeout_s: 20.0,
        load: experiment::Load::Mix(Box::new(MixLoad {
            access: Access::Random,
            block_sizes: vec![WeightedSize { bytes: 4096, weight: 1.0 }],
            fsync_every: 0,
            batch_size: 10,
            fdatasync: false,
            user_files: None,
            files: 8,
            file_bytes: 64 << 10,
            sizes: None,
            compressible: 0.5,
            dedupe: 0.2,
            verify: true,
            on_own: false,
            placement: None,
            think: None,
        })),
    }
}

/// The same workload with another data set, or other data in it.
fn changed(mut workload: Workload, change: impl FnOnce(&mut MixLoad)) -> Workload {
    change(workload.mix_mut().unwrap());
    workload
}

fn options(run: &Run) -> OpenContext {
    OpenContext {
        run: run.clone(),
        place: run.id().clone(),
        parts: 1,
        destroy: Vec::new(),
        cleared: ClearedFiles::default(),
        secrets: Arc::new(HeldSecrets::default()),
        seed: 7,
        patience: Patience { connect: Duration::from_secs(20), ..Patience::default() },
    }
}

type Opened = Box<dyn OpenTarget>;

/// Calls `then` with the request that opens a target.
pub(crate) fn with_request<T>(
    url: &str,
    given: &[(&str, &str)],
    then: impl FnOnce(&OpenRequest<'_>) -> Result<T, TargetError>,
) -> Result<T, TargetError> {
    let (_directory, _, run) = run();
    let target = target(url, given);
    let (_, url, read) = parts(&target)?;
    let (workload, context) = (workload(&HALF_AND_HALF), options(&run));
    then(&OpenRequest { target: &target, url: &url, options: &read, workload: &workload, context: &context })
}

/// A run with a journal of its own, which is deleted with the directory.
fn run() -> (tempfile::TempDir, Journal, Run) {
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::open(&directory.path().join("journal")).unwrap();
    let run = journal.begin(&RunId::random()).unwrap();
    (directory, journal, run)
}

/// Runs one stage to its end; the only errors allowed are of kind `expected`.
fn stage(opened: &Opened, workload: &Workload, load: Load, stop: StopRule, sink: Sink) -> StageResult {
    let plan = StagePlan {
        workers: workload.jobs,
        lanes_per_worker: workload.queue_depth,
        reactor: opened.reactor(reactor::BackendChoice::Auto),
        pin: false,
        ramp: Duration::ZERO,
        window: Duration::from_secs(60),
        drain: Duration::from_secs(20),
        interval: Duration::from_secs(1),
        schedule: Schedule::Closed,
        stop,
        workload: load,
        payload: Payload::new(7).with(workload.compressible(), workload.dedupe()),
        sink,
        op_timeout: Duration::from_secs(20),
        connect_timeout: Duration::from_secs(20),
        error_limit: None,
        beside: StageContext::default(),
    };
    opened.driver().run_stage(&plan, &Control::new(), &mut |_| {}).unwrap()
}

fn fill(opened: &Opened, workload: &Workload, generation: u32) {
    let data_set = opened.data_set(workload);
    if let DataShape::Files { .. } = data_set.shape() {
        let load = Load::Visit { data_set: data_set.clone(), kind: OpKind::Create };
        stage(opened, workload, load, StopRule::Exhausted, Sink::Buffer);
    }
    let load = Load::Fill { data_set: data_set.clone(), block_bytes: 16 << 10, generation };
    let filled = stage(opened, workload, load, StopRule::Exhausted, Sink::Buffer);
    assert_eq!(filled.total.bytes(), data_set.bytes(), "{:?}", filled.error_samples);
    opened.check_complete(&data_set).unwrap();
}

fn check(opened: &Opened, workload: &Workload, written: ContentSummary) -> StageResult {
    let load = Load::Check { data_set: opened.data_set(workload), block_bytes: 16 << 10, written };
    stage(opened, workload, load, StopRule::Exhausted, Sink::Verify)
}

/// The workload's operations on its data set, which [`fill`] wrote as generation 1; nothing is verified.
fn mix_of(opened: &Opened, workload: &Workload) -> Mix {
    Mix {
        data_set: opened.data_set(workload),
        ops: workload.ops.clone(),
        access: workload.access(),
        block_sizes: workload.block_sizes().into_owned(),
        fsync_every: workload.commit_every(),
        batch_size: 10,
        think: None,
        verify: false,
        on_own: false,
        generation: 1,
        seed: 3,
    }
}

/// Fill, a mix that verifies what it reads, then one read of everything: no errors, and every byte checked.
fn cycle(opened: &Opened, workload: &Workload) {
    assert_eq!(opened.prepare().unwrap(), Entered::New);
    fill(opened, workload, 1);
    let checked = check(opened, workload, ContentSummary::uniform(1));
    assert_eq!((checked.checked.wrong, checked.checked.unread), (0, 0), "{:?}", checked.error_samples);
    assert!(checked.checked.right > 0);
    // The data there is not of another generation.
    let stale = check(opened, workload, ContentSummary::uniform(2));
    assert_eq!(stale.checked.right, 0);
    let detail = &stale.corrupt.first().expect("what is wrong is named").detail;
    assert!(detail.contains("generation 1 of this place instead of 2"), "{detail}");
    let mix = Mix { verify: true, ..mix_of(opened, workload) };
    let mixed = stage(opened, workload, Load::Mix(mix), StopRule::Ops(2000), Sink::Verify);
    assert_eq!(mixed.total.failed(), 0, "{:?}", mixed.error_samples);
    for op in &workload.ops {
        let done = mixed.total.op(op.op).map_or(0, |stats| stats.ok);
        assert!(done > 100, "{done} of {}", op.op);
    }
    let checked = check(opened, workload, mixed.written);
    assert_eq!((checked.checked.wrong, checked.checked.unread), (0, 0), "{:?}", checked.corrupt);
    assert!(checked.checked.right > 0);
}

const HALF_AND_HALF: [(OpKind, f64); 2] = [(OpKind::Read, 0.5), (OpKind::Write, 0.5)];

/// Both protocols of a simulated array, as `manometer check` provisions them.
struct Provisioned {
    array: Array,
    export: String,
    bucket: String,
    keys: String,
}

impl Provisioned {
    /// Starts it with a journal of its own, as if somebody else had created the export and the bucket.
    fn start(directory: &Path) -> Self {
        let run = Journal::open(&directory.join("array")).unwrap().begin(&RunId::random()).unwrap();
        let (a, b) = (fastrand::u8(1..=250), fastrand::u8(0..=250));
        let ip = std::net::Ipv4Addr::new(127, a, b, 1);
        let data = vec![AddressConfig::new(ip, "data1.eth1", "subnet1")];
        let array = Array::start(Config { data, ..Config::loopback() }).unwrap();
        let management = Management {
            address: array.management_address().to_string(),
            token: ApiSecret::new(array.token().reveal()),
            trust: Trust::Fingerprint(array.fingerprint().unwrap().parse().unwrap()),
            call_timeout: Duration::from_secs(20),
        };
        let mut session = provision::ArraySession::open(&management, &run, &Cancel::new()).unwrap();
        let wanted = Wanted::both();
        let made = session.create(&wanted).unwrap();
        let access = made.bucket.unwrap();
        let keys = directory.join("keys");
        let text = format!(
            "[default]\naws_access_key_id={}\naws_secret_access_key={}\n",
            access.access_key,
            access.secret_key.reveal()
        );
        std::fs::write(&keys, text).unwrap();
        std::mem::forget(session);
        let keys = keys.to_str().unwrap().to_owned();
        Self { array, export: made.export.unwrap(), bucket: access.bucket, keys }
    }

    fn nfs(&self) -> Target {
        let data = &self.array.data()[0];
        let url = format!("nfs://{}:{}{}?connections=2", data.ip, data.nfs_port, self.export);
        target(&url, &[("mount_port", &data.mount_port.to_string())])
    }

    fn s3(&self) -> Target {
        let data = &self.array.data()[0];
        let url = format!("s3://{}?endpoint=http://{}:{}", self.bucket, data.ip, data.s3_port);
        target(&url, &[("credentials_file", &self.keys), ("part_size", "5MiB")])
    }
}
