//! Targets as an experiment uses them: opened, prepared, loaded, verified, resumed and removed.

use std::path::Path;
use std::time::Duration;

use array::{Array, Config, DataAddress};
use drivers::{Payload, Sink};
use engine::{Control, Mix, Schedule, StagePlan, StageResult, StopRule, Workload as Load, Written};
use experiment::{Access, Arrivals, CacheControl, Target, WeightedOp, WeightedSize, Workload};
use metrics::{ErrorKind, OpKind};
use provision::{Cancel, Journal, Management, RunId, Secret, Trust, Want, Wanted};

use super::*;

fn target(url: &str, options: &[(&str, &str)]) -> Target {
    let options = options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    Target { name: "t".into(), url: url.into(), options }
}

fn workload(ops: &[(OpKind, f64)]) -> Workload {
    Workload {
        ops: ops.iter().map(|(op, weight)| WeightedOp { op: *op, weight: *weight }).collect(),
        access: Access::Random,
        block_sizes: vec![WeightedSize { bytes: 4096, weight: 1.0 }],
        queue_depth: 4,
        jobs: 2,
        arrivals: Arrivals::Closed,
        backlog_limit: 0,
        fsync_every: 0,
        fdatasync: false,
        files: 8,
        file_bytes: 64 << 10,
        compressible: 0.5,
        dedupe: 0.2,
        verify: true,
        sink: "buffer".into(),
        op_timeout_s: 20.0,
    }
}

fn options(run: &Run) -> OpenOptions {
    OpenOptions { run: run.clone(), destroy: None, seed: 7, connect_timeout: Duration::from_secs(20) }
}

/// A run with a journal of its own, which goes with the directory.
fn run() -> (tempfile::TempDir, Journal, Run) {
    let directory = tempfile::tempdir().unwrap();
    let journal = Journal::open(&directory.path().join("journal")).unwrap();
    let run = journal.begin(&RunId::random()).unwrap();
    (directory, journal, run)
}

/// Runs one stage to its end and wants no error of any kind but `expected`.
fn stage(opened: &Opened, workload: &Workload, load: Load, stop: StopRule, sink: Sink) -> StageResult {
    let plan = StagePlan {
        workers: workload.jobs,
        lanes_per_worker: workload.queue_depth,
        reactor: opened.reactor(reactor::Choice::Auto),
        pin: false,
        ramp: Duration::ZERO,
        window: Duration::from_secs(60),
        drain: Duration::from_secs(20),
        interval: Duration::from_secs(1),
        schedule: Schedule::Closed,
        stop,
        workload: load,
        payload: Payload::new(7).with(workload.compressible, workload.dedupe),
        sink,
        op_timeout: Duration::from_secs(20),
        connect_timeout: Duration::from_secs(20),
        error_limit: None,
    };
    opened.run_stage(&plan, &Control::new(), &mut |_| {}).unwrap()
}

fn fill(opened: &Opened, workload: &Workload, generation: u32) {
    let data_set = opened.data_set(workload);
    if let Shape::Files { .. } = data_set.shape() {
        let load = Load::Visit { data_set: data_set.clone(), kind: OpKind::Create };
        stage(opened, workload, load, StopRule::Exhausted, Sink::Buffer);
    }
    let load = Load::Fill { data_set: data_set.clone(), block_bytes: 16 << 10, generation };
    let filled = stage(opened, workload, load, StopRule::Exhausted, Sink::Buffer);
    assert_eq!(filled.total.bytes(), data_set.bytes(), "{:?}", filled.error_samples);
    opened.check_complete(&data_set).unwrap();
}

fn check(opened: &Opened, workload: &Workload, written: Written) -> StageResult {
    let load = Load::Check { data_set: opened.data_set(workload), block_bytes: 16 << 10, written };
    stage(opened, workload, load, StopRule::Exhausted, Sink::Verify)
}

/// Fill, a mix that verifies what it reads, and everything read once at the end: all right, and every byte of it seen.
fn cycle(opened: &Opened, workload: &Workload) {
    assert_eq!(opened.prepare().unwrap(), Entered::New);
    fill(opened, workload, 1);
    let data_set = opened.data_set(workload);
    let checked = check(opened, workload, Written::uniform(1));
    assert_eq!((checked.checked.wrong, checked.checked.unread), (0, 0), "{:?}", checked.error_samples);
    assert!(checked.checked.right > 0);
    // What lies there is not of another generation.
    let stale = check(opened, workload, Written::uniform(2));
    assert_eq!(stale.checked.right, 0);
    let detail = &stale.corrupt.first().expect("what is wrong is named").detail;
    assert!(detail.contains("generation 1 of this place instead of 2"), "{detail}");
    let mix = Mix {
        data_set: data_set.clone(),
        ops: workload.ops.clone(),
        access: workload.access,
        block_sizes: workload.block_sizes.clone(),
        fsync_every: workload.fsync_every,
        verify: true,
        generation: 1,
        seed: 3,
    };
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
    /// With a journal of its own, as if somebody else had made the export and the bucket.
    fn start(directory: &Path) -> Self {
        let run = Journal::open(&directory.join("array")).unwrap().begin(&RunId::random()).unwrap();
        let (a, b) = (fastrand::u8(1..=250), fastrand::u8(0..=250));
        let ip = std::net::Ipv4Addr::new(127, a, b, 1);
        let data = vec![DataAddress::new(ip, "data1.eth1", "subnet1")];
        let array = Array::start(Config { data, ..Config::loopback() }).unwrap();
        let management = Management {
            address: array.management_address().to_string(),
            token: Secret::new(array.token().reveal()),
            trust: Trust::Fingerprint(array.fingerprint().unwrap().parse().unwrap()),
            call_timeout: Duration::from_secs(20),
        };
        let mut session = provision::Session::open(&management, &run, &Cancel::new()).unwrap();
        let wanted = Wanted { filesystem: Some(Want::Create), bucket: Some(Want::Create) };
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

#[test]
fn files_go_through_a_whole_cycle() {
    let (directory, _, run) = run();
    let url = format!("file://{}", directory.path().display());
    let workload = workload(&HALF_AND_HALF);
    let opened = open(&target(&url, &[]), &workload, &options(&run)).unwrap();
    cycle(&opened, &workload);
    let place = directory.path().join(run.id().object_name());
    assert_eq!(opened.directory(), Some(place.as_path()));
    assert!(run.remaining()[0].contains(place.to_str().unwrap()), "{:?}", run.remaining());
    assert_eq!(opened.facts()["path"], place.to_str().unwrap());
    opened.remove_all().unwrap();
    assert!(!place.exists() && run.remaining().is_empty());
    // Nothing to remove is no error.
    opened.remove_all().unwrap();
}

/// A file that is used like a device: nothing is made or removed, and what holds data is left alone.
#[test]
fn devices_are_used_as_a_whole() {
    let (directory, _, run) = run();
    let path = directory.path().join("device");
    std::fs::File::create(&path).unwrap().set_len((1 << 20) + 100).unwrap();
    let device = target(&format!("block://{}?direct=false", path.display()), &[]);
    let workload = Workload { files: 1, file_bytes: 0, ..workload(&HALF_AND_HALF) };
    let opened = open(&device, &workload, &options(&run)).unwrap();
    assert_eq!(opened.shape(&workload), Shape::Device { bytes: 1 << 20 }, "whole blocks");
    assert!(opened.directory().is_none() && opened.stays());
    for generation in [1, 2] {
        assert_eq!(opened.prepare().unwrap(), Entered::Existing);
        fill(&opened, &workload, generation);
        let checked = check(&opened, &workload, Written::uniform(generation));
        assert_eq!((checked.checked.right, checked.checked.wrong), (64, 0), "{:?}", checked.corrupt);
        // The next cell opens it anew.
        open(&device, &workload, &options(&run)).unwrap().prepare().unwrap();
    }
    opened.remove_all().unwrap();
    assert!(path.exists() && run.remaining().is_empty());
    let precious = directory.path().join("precious");
    std::fs::write(&precious, [1; 8192]).unwrap();
    let url = format!("block://{}?direct=false", precious.display());
    let error =
        open(&target(&url, &[]), &workload, &options(&run)).unwrap().prepare().unwrap_err().to_string();
    assert!(
        error.contains("is a file that holds data: nothing was written") && error.contains("--destroy"),
        "{error}"
    );
    assert_eq!(std::fs::read(&precious).unwrap(), [1; 8192]);
    let named = OpenOptions { destroy: Some(precious.clone()), ..options(&run) };
    open(&target(&url, &[]), &workload, &named).unwrap().prepare().unwrap();
    let large = Workload { file_bytes: 1 << 30, ..workload };
    let Err(error) = open(&target(&url, &[]), &large, &named) else { panic!("it is not so large") };
    assert!(error.to_string().contains("1073741824 bytes are to be used"), "{error}");
}

/// One of each kind of damage, done to the files behind the target's back: each is found, and called what it is.
#[test]
fn injected_damage_is_found_and_named() {
    use std::os::unix::fs::FileExt;
    let (directory, _, run) = run();
    let url = format!("file://{}", directory.path().display());
    let workload = Workload { compressible: 0.0, dedupe: 0.0, ..workload(&HALF_AND_HALF) };
    let opened = open(&target(&url, &[]), &workload, &options(&run)).unwrap();
    opened.prepare().unwrap();
    fill(&opened, &workload, 2);
    let payload = Payload::new(7);
    let write = |object: u64, at: u64, data: &[u8]| {
        let path = opened.directory().unwrap().join(format!("{object:016x}"));
        std::fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(data, at).unwrap();
    };
    let content = |object: u64, generation: u64, at: u64, len: usize| {
        let mut data = vec![0; len];
        payload.fill(object, generation << 48 | at, &mut data);
        data
    };
    let mut flipped = content(1, 2, 5000, 1);
    flipped[0] ^= 0x20;
    write(1, 5000, &flipped);
    write(2, 8192, &content(2, 1, 8192, 4096));
    write(3, 0, &content(3, 1, 0, 65536));
    write(4, 16384, &content(5, 2, 4096, 4096));
    write(6, 32768, &[0; 4096]);
    write(7, 100, b"somebody else was here");
    let checked = check(&opened, &workload, Written::uniform(2));
    // Blocks of 16 KiB, of which file 3 has four.
    assert_eq!((checked.checked.wrong, checked.checked.right), (9, 8 * 4 - 9), "{:?}", checked.corrupt);
    let said = |object: u64, text: &str| {
        let details: Vec<&str> = checked
            .corrupt
            .iter()
            .filter(|range| range.object == object)
            .map(|range| &*range.detail)
            .collect();
        assert!(details.iter().any(|detail| detail.contains(text)), "{object}: {text}: {details:?}");
    };
    said(1, "1 bit differs at byte 5000");
    said(
        2,
        "4096 bytes from byte 8192 on are generation 1 of this place instead of 2: a lost write or a stale read",
    );
    said(3, "16384 bytes from byte 0 on are generation 1 of this place instead of 2");
    said(4, "belong to object 0000000000000005 at byte 4096 (generation 2): a misplaced block");
    said(6, "4096 bytes from byte 32768 on are zeros");
    said(7, "foreign");
    assert!(checked.corrupt.iter().all(|range| ![0, 5].contains(&range.object)));
    opened.remove_all().unwrap();
}

#[test]
fn nfs_goes_through_a_whole_cycle() {
    let (directory, _, run) = run();
    let array = Provisioned::start(directory.path());
    let workload = Workload { fsync_every: 10, ..workload(&HALF_AND_HALF) };
    let opened = open(&array.nfs(), &workload, &options(&run)).unwrap();
    cycle(&opened, &workload);
    let facts = opened.facts();
    assert_eq!((&*facts["connections per job"], &*facts["export"]), ("2", &*array.export));
    assert!(facts["rtmax"].parse::<u64>().unwrap() > 4096, "{facts:?}");
    assert!(opened.cache(CacheControl::Drop).starts_with("not possible for nfs"));
    assert_eq!(run.remaining().len(), 1);
    opened.remove_all().unwrap();
    assert!(run.remaining().is_empty());
    assert_eq!(opened.prepare().unwrap(), Entered::New, "it was really removed");
}

#[test]
fn s3_goes_through_a_whole_cycle() {
    let (directory, _, run) = run();
    let array = Provisioned::start(directory.path());
    for ops in [[(OpKind::Put, 0.5), (OpKind::Get, 0.5)], [(OpKind::Put, 0.5), (OpKind::Read, 0.5)]] {
        let workload = workload(&ops);
        let opened = open(&array.s3(), &workload, &options(&run)).unwrap();
        cycle(&opened, &workload);
        let facts = opened.facts();
        assert_eq!((&*facts["bucket"], &*facts["part size"]), (&*array.bucket, "5242880"));
        opened.remove_all().unwrap();
        let error = opened.adopt().unwrap_err().to_string();
        assert!(error.contains("nothing lies under"), "{error}");
    }
}

/// What a killed run made is found again by the run that goes on with it, and by nobody else.
#[test]
fn a_resumed_run_enters_the_same_place() {
    let (directory, journal, run) = run();
    let array = Provisioned::start(directory.path());
    let file = target(&format!("file://{}", directory.path().display()), &[]);
    let id = run.id().clone();
    let with = |run: &Run, target: &Target, ops: &[(OpKind, f64)]| {
        open(target, &workload(ops), &options(run)).unwrap()
    };
    let puts = [(OpKind::Put, 1.0)];
    let (nfs, s3) = (array.nfs(), array.s3());
    let cases = [(&file, &HALF_AND_HALF[..]), (&nfs, &HALF_AND_HALF[..]), (&s3, &puts[..])];
    for (target, ops) in &cases {
        let opened = with(&run, target, ops);
        assert_eq!(opened.prepare().unwrap(), Entered::New);
        fill(&opened, &workload(ops), 3);
        assert_eq!(opened.prepare().unwrap(), Entered::Existing, "the next cell");
    }
    drop(run);
    let run = journal.reopen(&id).unwrap();
    for (target, ops) in &cases {
        let opened = with(&run, target, ops);
        assert_eq!(opened.prepare().unwrap(), Entered::Existing, "{}", target.url);
        let checked = check(&opened, &workload(ops), Written::uniform(3));
        assert!(checked.checked.right > 0 && checked.checked.wrong == 0, "{}", target.url);
        opened.remove_all().unwrap();
    }
}

#[test]
fn a_place_that_the_user_named_stays() {
    let (directory, _, run) = run();
    let url = format!("file://{}?directory=mine", directory.path().display());
    let workload = workload(&HALF_AND_HALF);
    let opened = open(&target(&url, &[]), &workload, &options(&run)).unwrap();
    assert!(opened.stays());
    assert!(opened.adopt().is_err(), "it is not there yet");
    assert_eq!(opened.prepare().unwrap(), Entered::New);
    assert!(opened.check_complete(&opened.data_set(&workload)).is_err(), "it is empty");
    fill(&opened, &workload, 0);
    opened.remove_all().unwrap();
    assert!(run.remaining().is_empty(), "it is nobody's to remove");
    assert_eq!(opened.prepare().unwrap(), Entered::Existing);
    opened.adopt().unwrap();
    let file = directory.path().join("mine").join(format!("{:016x}", 5));
    std::fs::OpenOptions::new().write(true).open(&file).unwrap().set_len(100).unwrap();
    let error = opened.check_complete(&opened.data_set(&workload)).unwrap_err().to_string();
    assert!(error.contains("0000000000000005 has 100 bytes and should have 65536"), "{error}");
    // A directory of somebody else's is not entered.
    std::fs::create_dir(directory.path().join("theirs")).unwrap();
    let theirs = target(&url, &[("directory", "theirs")]);
    let opened = open(&theirs, &workload, &options(&run)).unwrap();
    assert!(opened.prepare().is_err());
}

#[test]
fn what_is_wrong_with_a_target_is_one_line() {
    let (directory, _, run) = run();
    let here = directory.path().to_str().unwrap();
    let keys = directory.path().join("keys");
    std::fs::write(&keys, "[default]\naws_access_key_id=a\naws_secret_access_key=b\n").unwrap();
    let keys = keys.to_str().unwrap();
    let s3 = "s3://b?endpoint=http://127.0.0.1:1";
    for (url, options_given, problem) in [
        ("file:///no/such/place", &[][..], "there is no such directory"),
        ("file://host/place", &[], "three slashes"),
        (&format!("file://{here}"), &[("dircet", "true")], "no option \"dircet\"; did you mean \"direct\"?"),
        (&format!("file://{here}"), &[("direct", "maybe")], "direct: \"maybe\": write true or false"),
        (&format!("file://{here}?engine=fast"), &[], "engine: \"fast\": write auto, uring or threads"),
        (&format!("file://{here}?engine=threads&sqpoll=true"), &[], "threads cannot poll"),
        (&format!("file://{here}?directory=a/b"), &[], "write one name"),
        (&format!("file://{here}?fallocate=lots"), &[], "write none or reserve"),
        ("block:///no/such/device", &[], "/no/such/device"),
        ("nfs://127.0.0.1", &[], "the export is missing; write nfs://host[:port]/export"),
        ("nfs:///export", &[], "the host is missing"),
        ("nfs://127.0.0.1:0/export", &[], "is no port"),
        ("nfs://[::1/export", &[], "bracket is not closed"),
        ("nfs://127.0.0.1/export", &[("connections", "0")], "at least 1"),
        ("nfs://127.0.0.1/export", &[("connections", "few")], "connections: \"few\": write a whole number"),
        ("nfs://127.0.0.1/export?conections=2", &[], "did you mean \"connections\"?"),
        ("nfs://127.0.0.1/export?read_size=0", &[], "read_size: \"0\""),
        ("nfs://me:hunter2@127.0.0.1/export", &[], "a user or password does not belong in a URL"),
        ("s3://b", &[], "the endpoint is missing; write s3://bucket?endpoint="),
        ("s3://b/c?endpoint=http://h", &[], "a bucket alone"),
        ("s3://b?endpoint=h", &[], "no scheme"),
        ("s3://k:hunter2@b?endpoint=http://h", &[], "AWS_ACCESS_KEY_ID"),
        ("s3://b?endpoint=http://k:hunter2@h", &[], "keys do not belong in a URL"),
        (s3, &[("credentials_file", "/no/such/file")], "credentials file /no/such/file"),
        (s3, &[("credentials_file", keys), ("profile", "other")], "no profile [other]"),
        (s3, &[("credentials_file", keys), ("part_size", "1MiB")], "parts have at least 5242880 bytes"),
        (s3, &[("credentials_file", keys), ("signing", "md5")], "\"md5\" is no way to sign payload"),
        ("null:", &[("latency", "1ms")], "this kind has no options"),
        ("sim:?latency=fast", &[], "latency: \"fast\": write 1ms"),
        ("sim:?latecny=1ms", &[], "did you mean \"latency\"?"),
        ("sim:?stall=10s/1s", &[], "write LENGTH/PERIOD"),
        ("simm:", &[], "did you mean sim:?"),
    ] {
        let Err(error) = open(&target(url, options_given), &workload(&HALF_AND_HALF), &options(&run)) else {
            panic!("{url} {options_given:?} was opened");
        };
        let text = error.to_string();
        assert!(text.contains(problem), "{url}: {text}");
        assert!(!text.contains('\n') && !text.contains("hunter2"), "{text}");
    }
    assert!(run.remaining().is_empty());
}

#[test]
fn options_of_the_file_win_over_those_of_the_url() {
    let (_directory, _, run) = run();
    let opened = open(
        &target("nfs://127.0.0.1/export?connections=2&uid=5", &[("connections", "3")]),
        &workload(&HALF_AND_HALF),
        &options(&run),
    );
    let Ok(Opened::Nfs(nfs)) = opened else { panic!("an export") };
    assert_eq!((nfs.driver.config().connections_per_worker, nfs.driver.config().uid), (3, 5));
}

#[test]
fn simulated_targets_follow_their_script() {
    let (_directory, _, run) = run();
    let workload = workload(&[(OpKind::Read, 1.0)]);
    let opened = open(&target("sim:?latency=5ms&errors=1/10", &[]), &workload, &options(&run)).unwrap();
    assert!(opened.virtual_clock() && !opened.uses_page_cache());
    assert_eq!(opened.facts()["latency"], "5ms");
    assert_eq!(opened.prepare().unwrap(), Entered::New);
    let load = Load::Mix(Mix {
        data_set: opened.data_set(&workload),
        ops: workload.ops.clone(),
        access: workload.access,
        block_sizes: workload.block_sizes.clone(),
        fsync_every: 0,
        verify: false,
        generation: 0,
        seed: 3,
    });
    let result = stage(&opened, &workload, load, StopRule::Ops(1000), Sink::Buffer);
    assert_eq!((result.total.ok(), result.total.failed()), (900, 100));
    let reads = result.total.op(OpKind::Read).unwrap();
    assert_eq!(reads.errors[ErrorKind::ServerFault as usize], 100);
    let median = reads.service.quantile_ns(0.5) as f64;
    assert!((median / 5e6 - 1.0).abs() < 0.01, "{median}");
}
