//! Jobs on remote targets: their files over NFS, and blocks between two sessions over TCP.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::JobLoad;
use experiment::{Amount, BlockSizes, Cell, Directions, Job, SizeChoice, Stages, SteadyRule};

use super::*;

/// A job of this name with files of its own, 300 000 bytes each, in blocks of 64 KiB.
fn job(name: &str) -> Job {
    let mut job = Job { name: name.to_owned(), ..Job::default() };
    job.files.names.format = "myfiles.$clientuid.$jobnum.$filenum".to_owned();
    job.files.names.directories = vec!["a/b".to_owned()];
    job.files.count = 2;
    job.region.size = Amount::Bytes(600_000);
    job.block_sizes =
        BlockSizes { sizes: Directions::all(SizeChoice::Fixed(64 << 10)), ..BlockSizes::default() };
    job
}

fn cell(target: Target, job: Job, op: OpKind, workers: u32) -> Cell {
    let stages = Stages::of_job(&job, 0.0);
    Cell {
        index: 0,
        name: job.name.clone(),
        workload_name: job.name.clone(),
        point: BTreeMap::new(),
        repetition: 1,
        target,
        workload: Workload::of_job(job, vec![WeightedOp { op, weight: 1.0 }], 4, workers, 20.0),
        stages,
        steady: SteadyRule::None,
        gates: Vec::new(),
        cache: CacheControl::Keep,
        errors: experiment::ErrorPolicy::Continue,
        study: None,
        group: None,
        agents: None,
    }
}

/// Lays out the files, runs the stages before the load, and returns the bytes moved for it.
fn lay_out(opened: &Opened, cell: &Cell) -> (LaidOut, u64) {
    let laid_out = opened.lay_out(cell).unwrap();
    let mut moved = 0;
    for step in &laid_out.stages {
        let workload = Workload { jobs: step.load.files.len() as u32, ..cell.workload.clone() };
        let load = Load::Job(step.load.clone());
        let done = stage(opened, &workload, load, StopRule::Exhausted, Sink::Buffer);
        assert_eq!((done.total.failed(), done.total.bytes()), (0, step.bytes), "{:?}", done.error_samples);
        moved += step.bytes;
    }
    opened.begin_job(cell, &laid_out).unwrap();
    (laid_out, moved)
}

fn load(opened: &Opened, cell: &Cell, laid_out: &LaidOut) -> StageResult {
    let job = cell.workload.stream().unwrap().clone();
    let load = JobLoad::new(Arc::new(job), cell.workload.ops.clone(), laid_out.files.clone());
    stage(opened, &cell.workload, Load::Job(load), StopRule::Exhausted, Sink::Buffer)
}

#[test]
fn files_of_jobs_are_made_filled_used_and_removed_over_nfs() {
    let (directory, _, run) = run();
    let provisioned = Provisioned::start(directory.path());
    let target = provisioned.nfs();
    let writing = cell(target.clone(), job("write"), OpKind::Write, 2);
    let opened = open(&target, &writing.workload, &options(&run)).unwrap();
    assert!(opened.lays_out_late());
    let (laid_out, moved) = lay_out(&opened, &writing);
    assert_eq!(moved, 0, "what is only written is not filled before");
    let written = load(&opened, &writing, &laid_out);
    // Four files of 300 000 bytes, whose last 37 856 bytes are not a whole block.
    assert_eq!((written.total.failed(), written.total.ok()), (0, 4 * 4), "{:?}", written.error_samples);

    // Jobs that derive the same file names find the same files, and fill the rest of them.
    let mut again = job("read");
    again.files.layout.unlink = true;
    let reading = cell(target.clone(), again, OpKind::Read, 2);
    let opened = open(&target, &reading.workload, &options(&run)).unwrap();
    let (laid_out, moved) = lay_out(&opened, &reading);
    assert_eq!(moved, 4 * (300_000 - 4 * 65_536));
    let (_, nothing) = lay_out(&opened, &reading);
    assert_eq!(nothing, 0);
    let read = load(&opened, &reading, &laid_out);
    assert_eq!((read.total.failed(), read.total.ok()), (0, 4 * 4), "{:?}", read.error_samples);
    opened.finish_job(&reading, &laid_out).unwrap();

    // A file that workers share is created once, as large as any of them needs it, and read before the load.
    let mut shared = job("shared");
    shared.files.names.listed = vec!["shared".to_owned()];
    shared.files.count = 1;
    shared.region.size = Amount::Bytes(64 << 10);
    shared.region.offset_increment = Amount::Bytes(64 << 10);
    shared.files.layout.pre_read = true;
    let sharing = cell(target.clone(), shared, OpKind::Read, 3);
    let opened = open(&target, &sharing.workload, &options(&run)).unwrap();
    let (laid_out, moved) = lay_out(&opened, &sharing);
    assert_eq!((laid_out.stages.len(), moved), (2, (3 + 1) * (64 << 10)));
    assert_eq!(load(&opened, &sharing, &laid_out).total.failed(), 0);

    // Removed, and not to be created: the first missing file is named.
    let mut strict = job("read");
    strict.files.layout.create = false;
    let strict = cell(target.clone(), strict, OpKind::Read, 1);
    let error = open(&target, &strict.workload, &options(&run)).unwrap().lay_out(&strict).err().unwrap();
    assert!(error.to_string().contains("file a/b/myfiles..0.0 is not there"), "{error}");

    let trimming = cell(target.clone(), job("trim"), OpKind::Trim, 1);
    let error = open(&target, &trimming.workload, &options(&run)).unwrap().lay_out(&trimming).err().unwrap();
    assert!(error.to_string().contains("NFS has no trim here"), "{error}");
}

#[test]
fn several_urls_are_used_in_turn() {
    let (directory, _, run) = run();
    let provisioned = Provisioned::start(directory.path());
    let mut target = provisioned.nfs();
    let data = &provisioned.array.data()[0];
    let more =
        format!("nfs://{}:{}{}?mount_port={}", data.ip, data.nfs_port, provisioned.export, data.mount_port);
    target.options.insert("more_urls".to_owned(), format!("{more},{more}"));
    let reading = cell(target.clone(), job("read"), OpKind::Read, 4);
    let opened = open(&target, &reading.workload, &options(&run)).unwrap();
    let (laid_out, moved) = lay_out(&opened, &reading);
    assert_eq!((laid_out.files.len(), moved), (4, 4 * 600_000));
    assert_eq!(load(&opened, &reading, &laid_out).total.failed(), 0);
    assert!(opened.facts()["further addresses"].contains(&provisioned.export));
    for (text, problem) in [
        ("file:///x", "takes other URLs of the same kind"),
        ("nfs://127.0.0.1/e?uid=5", "\"uid\" holds for all URLs"),
        ("nfs://127.0.0.1/e?mount_port=0", "write a port from 1 to 65535"),
    ] {
        target.options.insert("more_urls".to_owned(), text.to_owned());
        let error = open(&target, &reading.workload, &options(&run)).err().unwrap().to_string();
        assert!(error.contains(problem) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn a_listener_receives_what_a_sender_sends_and_ends_with_it() {
    let (_directory, _, run) = run();
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let of = |op: OpKind, listen: &str, bytes: u64| {
        let options = [("listen", listen), ("port_per_job", "true")];
        let target = target(&format!("tcp://127.0.0.1:{port}"), &options);
        let mut job = job("net");
        job.files = experiment::JobFiles::default();
        job.region.size = Amount::Bytes(bytes);
        cell(target, job, op, 1)
    };
    let (sending, receiving) = (of(OpKind::Write, "false", 4 << 20), of(OpKind::Read, "true", 16 << 20));
    let opened =
        [&sending, &receiving].map(|cell| open(&cell.target, &cell.workload, &options(&run)).unwrap());
    let [sent, received] = std::thread::scope(|scope| {
        let sender = scope.spawn(|| load(&opened[0], &sending, &lay_out(&opened[0], &sending).0));
        let receiver = scope.spawn(|| load(&opened[1], &receiving, &lay_out(&opened[1], &receiving).0));
        [sender.join().unwrap(), receiver.join().unwrap()]
    });
    assert_eq!((sent.total.failed(), sent.total.bytes()), (0, 4 << 20), "{:?}", sent.error_samples);
    assert_eq!(
        (received.total.failed(), received.total.bytes()),
        (0, 4 << 20),
        "{:?}",
        received.error_samples
    );
    assert_eq!(opened[1].facts()["listens on"], format!("127.0.0.1:{port}"));
    let mixed = cell(sending.target.clone(), job("mixed"), OpKind::Read, 1);
    let mut workload = mixed.workload;
    workload.ops.push(WeightedOp { op: OpKind::Write, weight: 1.0 });
    let error = open(&mixed.target, &workload, &options(&run)).err().unwrap().to_string();
    assert!(error.contains("read or written, not both"), "{error}");
}
