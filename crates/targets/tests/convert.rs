//! A plan of jobs, written as an experiment file, gives the same plan again.

#![allow(clippy::unwrap_used)] // a test may fail loudly

use std::collections::BTreeMap;

use experiment::*;
use metrics::OpKind;

fn again(plan: &Plan) -> Plan {
    let text = convert(plan).unwrap();
    let source = SourceText { file: "converted.yaml", text: &text };
    parse(&source, &Settings::of(targets::kinds())).unwrap_or_else(|faults| panic!("{faults}\n{text}"))
}

fn cell(index: u32, name: &str, job: Job, group: ConcurrentCells) -> Cell {
    let ops =
        vec![WeightedOp { op: OpKind::Read, weight: 0.7 }, WeightedOp { op: OpKind::Write, weight: 0.3 }];
    let stages = Stages::of_job(&job, 1.5);
    Cell {
        index,
        name: name.into(),
        workload_name: name.into(),
        point: BTreeMap::new(),
        repetition: 1,
        target: Target::new(
            "data",
            "file:///mnt/data",
            BTreeMap::from([("direct".into(), "true".into()), ("engine".into(), "threads".into())]),
        ),
        stages,
        workload: Workload::of_job(job, ops, 16, 2, 86_400.0),
        steady: SteadyRule::Fio { metric: "iops".into(), slope: true, limit: 0.003, window_s: 30.0 },
        gates: Vec::new(),
        cache: CacheControl::Keep,
        errors: ErrorPolicy::Stop,
        study: None,
        group: Some(group),
        agents: None,
    }
}

/// A job with something in every part.
fn full() -> Job {
    Job {
        name: "a job: \"quoted\" #1".into(),
        first_number: 3,
        seed: u64::MAX,
        files: JobFiles {
            names: FileNames {
                directories: vec!["a".into(), "b c".into()],
                listed: vec!["x:y".into(), "- no list".into(), "true".into(), "1".into(), "".into()],
                format: "$jobname-$filenum".into(),
                found: None,
            },
            count: 2,
            bytes: 4096,
            most_bytes: 8192,
            open: 1,
            service: FileService::Zipf(1.2, 3),
            layout: Layout { create_only: true, allocate: Allocate::Keep, ..Layout::default() },
        },
        region: Region {
            offset: Amount::Percent(12.5),
            size: Amount::Bytes(1 << 40),
            zones: Some(Zones { bytes: 1, range: 2, skip: 3 }),
            ..Region::default()
        },
        pattern: Pattern {
            random: true,
            skip: -4096,
            percent_random: Directions { read: Percent(50.0), ..Directions::default() },
            distribution: Directions {
                read: Distribution::Zipf { theta: 1.1, centre: None },
                write: Distribution::Zoned {
                    zones: vec![Zone { percent: 60.0, length: Amount::Percent(10.0) }],
                },
                trim: Distribution::Even,
            },
            ..Pattern::default()
        },
        block_sizes: BlockSizes {
            sizes: Directions {
                read: SizeChoice::Split(vec![WeightedSize { bytes: 4096, weight: 1.0 / 3.0 }]),
                write: SizeChoice::Range { least: 512, most: 1 << 20 },
                trim: SizeChoice::Fixed(65_536),
            },
            ..BlockSizes::default()
        },
        pace: Pace {
            rates: Directions { read: Some(Rate::BytesPerS(1e9)), ..Directions::default() },
            think: Some(Think { pause_s: 1e-6, after: 8, ..Think::default() }),
            ..Pace::default()
        },
        content: Content {
            kind: ContentKind::Pattern(vec![PatternPiece::Hex("00ff".into()), PatternPiece::Offset]),
            compress_percent: 33.3,
            ..Content::default()
        },
        check: Some(Check { method: CheckMethod::Sha3_256, interval_bytes: 512, ..Check::default() }),
        ending: Ending {
            runtime_s: 0.1 + 0.2,
            time_based: true,
            latency_target: Some(LatencyTarget {
                target_s: 0.002,
                window_s: 5.0,
                percentile: 99.9,
                run_on: true,
            }),
            errors: OnErrors { ignore: [vec!["EIO".into()], vec![], vec![]], ..OnErrors::default() },
            ..Ending::default()
        },
        replay: Some(Replay { files: vec!["log".into()], ..Replay::default() }),
        logs: Logs { bandwidth: Some("bw".into()), average_ms: 500, ..Logs::default() },
        placement: Placement {
            cores: vec![0, 1],
            io_priority: Some((2, 7)),
            nice: -5,
            ..Placement::default()
        },
        ..Job::default()
    }
}

#[test]
fn a_plan_of_jobs_comes_back() {
    let group = |number| ConcurrentCells {
        number,
        ends_group: false,
        ends_run: false,
        after_cell: None,
        report: None,
    };
    let later = ConcurrentCells { ends_group: true, after_cell: Some(0), report: Some(7), ..group(0) };
    let plan = Plan {
        name: "job.fio".into(),
        description: None,
        seed: 42,
        results: None,
        fleet: None,
        server_scale: None,
        cells: vec![
            cell(0, "one", full(), group(0)),
            cell(1, "two", Job::default(), later),
            cell(2, "three", full(), group(1)),
        ],
    };
    // Printing may change the last digit at most, so values are compared.
    assert_eq!(again(&plan), plan);
    assert_eq!(again(&again(&plan)), plan);
}

#[test]
fn a_fleet_comes_back_with_every_launcher() {
    let texts = |texts: &[&str]| -> Vec<String> { texts.iter().map(|text| (*text).to_owned()).collect() };
    let table = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let pods = Pods {
        count: 3,
        image: "registry:5000/manometer:1".into(),
        node_selector: table(&[("disk", "true")]),
        resources: table(&[("cpu", "4")]),
        claim: Some(("data".into(), "/data".into())),
        user: Some(1000),
        share_nodes: true,
        ..Pods::default()
    };
    for launcher in [
        Launcher::Local { count: 2 },
        Launcher::Ssh {
            hosts: texts(&["me@n1:22", "[fd00::1]:22", "10"]),
            options: texts(&["-o", "Compression=no", "- x: #"]),
            binary: Some("/opt/m m".into()),
        },
        Launcher::Slurm { nodes: None, options: texts(&["--partition=x"]), binary: None },
        Launcher::Slurm { nodes: Some(4), options: Vec::new(), binary: Some("/m".into()) },
        Launcher::Kubernetes(Box::new(pods)),
        Launcher::Command { hosts: texts(&["a", "b"]), command: texts(&["run in", "{host}", "{{x}}"]) },
    ] {
        let fleet = Fleet {
            sharing: Sharing::Neighbour,
            on_failure: FailurePolicy::RepeatCell,
            variables: BTreeMap::from([("*".into(), table(&[("nic", "eth{index}"), ("n", "true")]))]),
            start_timeout_ms: 90_000,
            ..Fleet::of(launcher)
        };
        let group =
            ConcurrentCells { number: 0, ends_group: false, ends_run: false, after_cell: None, report: None };
        let mut one = cell(0, "one", full(), group);
        one.target.url = "file:///mnt/{nic}/{{x}}".into();
        let plan = Plan {
            name: "p".into(),
            description: None,
            seed: 1,
            results: None,
            fleet: Some(fleet),
            server_scale: None,
            cells: vec![one],
        };
        assert_eq!(again(&plan), plan);
    }
}

#[test]
fn braces_of_a_plan_without_a_fleet_come_back() {
    let group =
        ConcurrentCells { number: 0, ends_group: false, ends_run: false, after_cell: None, report: None };
    let mut one = cell(0, "one", full(), group);
    one.target.url = "file:///mnt/{host}/}{".into();
    let plan = Plan {
        name: "p".into(),
        description: None,
        seed: 1,
        results: None,
        fleet: None,
        server_scale: None,
        cells: vec![one],
    };
    assert_eq!(again(&plan), plan);
}

#[test]
fn names_become_such_as_a_file_may_have() {
    let group =
        ConcurrentCells { number: 0, ends_group: false, ends_run: false, after_cell: None, report: None };
    let long = "x".repeat(100);
    let names = ["a b", "a b", "", &long, &long, "é"];
    let cells = names.iter().zip(0..).map(|(name, index)| cell(index, name, full(), group)).collect();
    let plan = Plan {
        name: "p".into(),
        description: None,
        seed: 1,
        results: None,
        fleet: None,
        server_scale: None,
        cells,
    };
    let text = convert(&plan).unwrap();
    let source = SourceText { file: "converted.yaml", text: &text };
    let read =
        parse(&source, &Settings::of(targets::kinds())).unwrap_or_else(|faults| panic!("{faults}\n{text}"));
    let made: Vec<&str> = read.cells.iter().map(|cell| &*cell.name).collect();
    let x = "x".repeat(58);
    assert_eq!(made, ["a-b", "a-b-2", "job", &x, &format!("{x}-2"), "-"]);
    assert!(read.cells.iter().all(|cell| cell.workload.load == plan.cells[0].workload.load));
}

#[test]
fn a_plan_without_jobs_has_no_such_file() {
    let text = "targets: {t: 'null:'}\nworkloads: {a: {ops: read}}\n";
    let plan = parse(&SourceText { file: "f", text }, &Settings::of(targets::kinds())).unwrap();
    assert_eq!(convert(&plan), None);
}
