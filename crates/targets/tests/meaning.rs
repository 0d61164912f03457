//! The meaning of files: every key, the defaults, the matrix, parameters, and settings from outside.
#![allow(clippy::unwrap_used)] // a test may fail loudly

use std::collections::BTreeMap;

use experiment::{
    Access, Arrivals, CacheControl, Cell, ErrorPolicy, GateMetric, GateOperator, LevelLimits, Plan, Prepare,
    RateFrom, RateStep, Settings, SourceText, SteadyRule, Study, WeightedOp, WeightedSize, parse,
};
use metrics::OpKind;

fn plan_with(text: &str, set: &[(&str, &str)], environment: &[(&str, &str)]) -> Plan {
    let set: Vec<_> = set.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let environment: BTreeMap<String, String> =
        environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let look_up = |name: &str| environment.get(name).cloned();
    let settings = Settings { set: &set, environment: &look_up, ..Settings::of(targets::kinds()) };
    match parse(&SourceText { file: "/somewhere/nightly.yaml", text }, &settings) {
        Ok(plan) => plan,
        Err(faults) => panic!("\n{faults}\n{text}"),
    }
}

fn plan(text: &str) -> Plan {
    plan_with(text, &[], &[])
}

/// One cell of a workload on files with these keys.
fn cell(keys: &str) -> Cell {
    let mut plan =
        plan(&format!("targets: {{disk: file:///mnt/data}}\nworkloads:\n  w: {{ops: read, {keys}}}\n"));
    assert_eq!(plan.cells.len(), 1);
    plan.cells.remove(0)
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.cells.iter().map(|cell| cell.name.as_str()).collect()
}

#[test]
fn the_smallest_file_has_sensible_defaults() {
    let plan = plan("targets: {disk: file:///mnt/data}\nworkloads:\n  first: {ops: read}\n");
    assert_eq!((plan.name.as_str(), plan.seed, plan.cells.len()), ("nightly", 1, 1));
    let cell = &plan.cells[0];
    assert_eq!((cell.name.as_str(), cell.repetition, cell.point.len()), ("first", 1, 0));
    let workload = &cell.workload;
    assert_eq!(workload.ops, [WeightedOp { op: OpKind::Read, weight: 1.0 }]);
    assert_eq!(*workload.block_sizes(), [WeightedSize { bytes: 4096, weight: 1.0 }]);
    assert_eq!(
        (workload.queue_depth, workload.jobs, workload.files(), workload.file_bytes()),
        (1, 1, 1, 1 << 30)
    );
    assert_eq!((workload.access(), &workload.arrivals), (Access::Random, &Arrivals::Closed));
    assert_eq!((workload.backlog_limit, workload.commit_every(), workload.op_timeout_s), (100_000, 0, 60.0));
    assert!(!workload.verifies() && !workload.fdatasync() && workload.sink == "buffer");
    let stages = &cell.stages;
    assert_eq!((stages.prepare, stages.verify, stages.clean_up), (Prepare::Fill, false, true));
    assert_eq!((stages.warm_up_s, stages.measure_at_least_s, stages.measure_at_most_s), (10.0, 60.0, 1800.0));
    let rule = SteadyRule::Default(LevelLimits::default());
    assert_eq!(cell.steady, rule);
    assert_eq!((cell.cache, cell.errors), (CacheControl::Invalidate, ErrorPolicy::Continue));
    assert!(cell.gates.is_empty() && cell.study.is_none());
}

#[test]
fn every_key_of_a_workload_has_its_meaning() {
    let cell = cell(
        "block_size: {4KiB: 60%, 64KiB: 40%}, queue_depth: 32, jobs: 2, files: 8, file_size: 1 GiB, backlog: 500, \
         compressible: 50%, dedupe: 0.2, verify: true, op_timeout: 2m30s",
    );
    let workload = &cell.workload;
    let sizes = [WeightedSize { bytes: 4096, weight: 0.6 }, WeightedSize { bytes: 65536, weight: 0.4 }];
    assert_eq!(*workload.block_sizes(), sizes);
    assert_eq!(
        (workload.queue_depth, workload.jobs, workload.files(), workload.file_bytes()),
        (32, 2, 8, 1 << 30)
    );
    assert_eq!((workload.backlog_limit, workload.compressible(), workload.dedupe()), (500, 0.5, 0.2));
    assert!(workload.verifies() && cell.stages.verify, "verify: true also runs the verify stage");
    assert_eq!(workload.op_timeout_s, 150.0);
    let thirds =
        plan("targets: {d: file:///x}\nworkloads: {w: {ops: {read: 33.3%, write: 33.3%, stat: 33.3%}}}\n");
    assert_eq!(thirds.cells[0].workload.ops[2].weight, 1.0 / 3.0);
}

#[test]
fn placements_in_every_form() {
    for (text, cores, nodes, near_card) in [
        ("0-2", vec![0, 1, 2], vec![], false),
        ("{cores: [4, 0-1], numa_nodes: 1}", vec![0, 1, 4], vec![1], false),
        ("{cores: \"8,2-3\"}", vec![2, 3, 8], vec![], false),
        ("{numa: nic}", vec![], vec![], true),
    ] {
        let placement = cell(&format!("placement: {text}")).workload.placement().unwrap().clone();
        assert_eq!((placement.cores, placement.numa_nodes), (cores, nodes), "{text}");
        assert_eq!((placement.near_card, placement.split_cores), (near_card, true), "{text}");
    }
    assert_eq!(cell("jobs: 2").workload.placement(), None);
}

#[test]
fn access_patterns() {
    for (text, access) in [
        ("sequential", Access::Sequential),
        ("shuffled", Access::Shuffled),
        ("zipf", Access::Zipf { theta: 0.99 }),
        ("{zipf: 1.1}", Access::Zipf { theta: 1.1 }),
        ("{pareto: 0.2}", Access::Pareto { h: 0.2 }),
        ("{hotspot: {ops: 90%, space: 10%}}", Access::Hotspot { ops: 0.9, space: 0.1 }),
        ("hotspot", Access::Hotspot { ops: 0.8, space: 0.2 }),
        ("{strided: 1MiB}", Access::Strided { stride_bytes: 1 << 20 }),
    ] {
        assert_eq!(cell(&format!("access: {text}")).workload.access(), access, "{text}");
    }
}

#[test]
fn rates_in_every_form() {
    let steps = vec![RateStep { ops_per_s: 100.0, for_s: 30.0 }, RateStep { ops_per_s: 0.0, for_s: 5.0 }];
    let times = vec![RateFrom { at_s: 0.0, ops_per_s: 50.0 }, RateFrom { at_s: 10.0, ops_per_s: 2000.0 }];
    for (text, arrivals) in [
        ("none", Arrivals::Closed),
        ("1000/s", Arrivals::Constant { ops_per_s: 1000.0 }),
        ("{constant: 1k/s}", Arrivals::Constant { ops_per_s: 1000.0 }),
        ("{poisson: 1.5k/s}", Arrivals::Poisson { ops_per_s: 1500.0 }),
        (
            "{ramp: {from: 0/s, to: 1k/s, over: 1m}}",
            Arrivals::Ramp { from_ops_per_s: 0.0, to_ops_per_s: 1000.0, over_s: 60.0 },
        ),
        ("{steps: [{rate: 100/s, for: 30s}, {rate: 0/s, for: 5s}]}", Arrivals::Steps { steps }),
        ("{times: [{at: 0s, rate: 50/s}, {at: 10s, rate: 2k/s}]}", Arrivals::Times { times }),
    ] {
        assert_eq!(cell(&format!("rate: {text}")).workload.arrivals, arrivals, "{text}");
    }
}

#[test]
fn searches_and_sweeps() {
    let Some(Study::Find { goal, from_ops_per_s, to_ops_per_s, tolerance, trial_s }) =
        cell("find: p99 <= 2 ms").study
    else {
        panic!()
    };
    assert_eq!(
        (goal.metric, goal.comparison, goal.limit),
        (GateMetric::Percentile(0.99), GateOperator::AtMost, 2e6)
    );
    assert_eq!((from_ops_per_s, to_ops_per_s, tolerance, trial_s), (10.0, 0.0, 0.02, 30.0));
    let found = cell("find: {goal: read.mean < 1ms, from: 1k/s, to: 9k/s, tolerance: 5%, trial: 10s}").study;
    assert!(matches!(found, Some(Study::Find { to_ops_per_s: 9000.0, tolerance: 0.05, trial_s: 10.0, .. })));
    let poisson = cell("find: p99 <= 2 ms, rate: poisson");
    assert!(matches!(poisson.workload.arrivals, Arrivals::Poisson { .. }) && poisson.study.is_some());
    for (text, rates, point_s) in [
        ("[100/s, 1k/s]", vec![100.0, 1000.0], 30.0),
        ("{rates: [100/s], point: 1m}", vec![100.0], 60.0),
        ("auto", vec![], 30.0),
        ("{rates: auto, point: 5s}", vec![], 5.0),
    ] {
        let expected = Some(Study::Sweep { rates_ops_per_s: rates, point_s });
        assert_eq!(cell(&format!("sweep: {text}")).study, expected, "{text}");
    }
}

#[test]
fn rules_policies_and_gates() {
    let head = "targets: {d: file:///x}\nworkloads:\n  a: {ops: read}\n  b: {ops: write, gates: [write.max < 1s], steady: none}\n";
    let plan = plan(&format!(
        "{head}steady: {{fio: {{metric: lat, slope: false, limit: 1%, window: 20s}}}}
errors: {{stop_cell_after: 7}}
cache: drop
gates: [read.bandwidth >= 3 GB/s, errors == 0]
stages: {{prepare: fill-always, warm_up: 0s, measure: {{at_least: 2m, at_least_bytes: 10GiB}}, clean_up: false}}
"
    ));
    let (a, b) = (&plan.cells[0], &plan.cells[1]);
    let fio = SteadyRule::Fio { metric: "lat".into(), slope: false, limit: 0.01, window_s: 20.0 };
    assert_eq!((&a.steady, &b.steady), (&fio, &SteadyRule::None));
    assert_eq!((a.errors, a.cache), (ErrorPolicy::StopCellAfter(7), CacheControl::Drop));
    // A gate belongs to the cells that it applies to.
    let texts = |cell: &Cell| cell.gates.iter().map(|gate| gate.text.clone()).collect::<Vec<_>>();
    assert_eq!(texts(a), ["read.bandwidth >= 3 GB/s", "errors == 0"]);
    assert_eq!(texts(b), ["write.max < 1s", "errors == 0"]);
    assert_eq!(
        (a.stages.prepare, a.stages.measure_at_least_bytes, a.stages.clean_up),
        (Prepare::FillAlways, 10 << 30, false)
    );
    assert_eq!((a.stages.measure_at_least_s, a.stages.measure_at_most_s), (120.0, 1800.0));
    // Without a rule, this is the exact duration of the measurement.
    assert_eq!((b.stages.measure_at_least_s, b.stages.measure_at_most_s), (120.0, 120.0));
}

#[test]
fn targets_have_options_in_their_own_forms() {
    let plan = plan(
        "targets:
  filer: {url: nfs://filer:2049/export, connections: 4, read_size: 256KiB, stable: true}
workloads:
  w: {ops: stat, target: filer}
",
    );
    let target = &plan.cells[0].target;
    assert_eq!((target.name.as_str(), target.url.as_str()), ("filer", "nfs://filer:2049/export"));
    let expected = [("connections", "4"), ("read_size", "262144"), ("stable", "true")];
    assert_eq!(target.options, expected.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect());
    assert_eq!((target.option("connections"), target.option("uid")), (Some("4"), None));
    assert_eq!(plan.cells[0].cache, CacheControl::Keep, "there is no cache of this client to invalidate");
}

#[test]
fn objects_have_sizes_and_no_blocks() {
    let text = "targets: {s: 's3://b?endpoint=http://h'}\nworkloads:\n  put: {ops: put, object_size: 1MiB}\n  get: {ops: get, objects: 9}\n";
    let plan = plan(text);
    let (put, get) = (&plan.cells[0], &plan.cells[1]);
    assert_eq!(
        (put.workload.files(), put.workload.file_bytes(), put.stages.prepare),
        (64, 1 << 20, Prepare::None)
    );
    assert_eq!(
        (get.workload.files(), get.workload.file_bytes(), get.stages.prepare),
        (9, 8 << 20, Prepare::Fill)
    );
    assert_eq!(get.workload.block_sizes()[0].bytes, 8 << 20);
}

#[test]
fn the_matrix_is_crossed_in_order_and_repeated_in_rounds() {
    let text = "targets: {d: file:///x}
workloads: {r: {ops: read}, w: {ops: write}}
matrix: {block_size: [4KiB, 64KiB], queue_depth: [1, 8], repetitions: 2}
";
    let plan = plan(text);
    assert_eq!(plan.cells.len(), 16);
    assert_eq!(
        names(&plan)[..4],
        [
            "r block_size=4KiB queue_depth=1 repetition=1",
            "r block_size=4KiB queue_depth=8 repetition=1",
            "r block_size=64KiB queue_depth=1 repetition=1",
            "r block_size=64KiB queue_depth=8 repetition=1",
        ]
    );
    let cell = &plan.cells[13];
    assert_eq!(cell.name, "w block_size=4KiB queue_depth=8 repetition=2");
    assert_eq!(
        (cell.workload.block_sizes()[0].bytes, cell.workload.queue_depth, cell.repetition),
        (4096, 8, 2)
    );
    let point = [("block_size", "4KiB"), ("queue_depth", "8")];
    assert_eq!(cell.point, point.iter().map(|(k, v)| ((*k).into(), (*v).into())).collect());
    assert!(plan.cells.iter().enumerate().all(|(index, cell)| cell.index as usize == index));
}

#[test]
fn a_shuffled_order_follows_from_the_seed_and_keeps_rounds_together() {
    let text = |seed: u64| {
        format!(
            "seed: {seed}\ntargets: {{d: file:///x}}\nworkloads: {{r: {{ops: read}}}}\n\
             matrix: {{queue_depth: [1, 2, 3, 4, 5, 6, 7, 8], order: shuffled, repetitions: 3}}\n"
        )
    };
    let first = plan(&text(7));
    assert_eq!(first, plan(&text(7)));
    assert_ne!(names(&first), names(&plan(&text(8))));
    let mut orders = Vec::new();
    for round in first.cells.chunks(8) {
        let repetition = round[0].repetition;
        assert!(round.iter().all(|cell| cell.repetition == repetition));
        let order: Vec<_> = round.iter().map(|cell| cell.workload.queue_depth).collect();
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [1, 2, 3, 4, 5, 6, 7, 8], "a round visits every point once");
        orders.push(order);
    }
    assert!(orders[0] != orders[1] && orders[1] != orders[2], "{orders:?}");
}

#[test]
fn anything_can_be_crossed() {
    let text = "parameters: {size: 1GiB}
targets: {a: {url: file:///a, direct: false}, b: file:///b}
workloads: {w: {ops: read, target: a, file_size: '${size}'}}
matrix:
  target: [a, b]
  target.direct: [true, false]
  size: [1MiB, 2MiB]
  stages.measure.at_least: [1s, 2s]
  warm_up: [0s, 3s]
  ops: [read, {read: 50%, write: 50%}]
  access: [random, {zipf: 1.1}]
  rate: [none, 100/s]
  steady: [none]
  cache: [keep, drop]
";
    let plan = plan(text);
    assert_eq!(plan.cells.len(), 1 << 9);
    let last = plan.cells.last().unwrap();
    assert_eq!((last.target.url.as_str(), last.target.options["direct"].as_str()), ("file:///b", "false"));
    assert_eq!(
        (last.workload.file_bytes(), last.stages.measure_at_least_s, last.stages.warm_up_s),
        (2 << 20, 2.0, 3.0)
    );
    assert_eq!((last.workload.ops.len(), last.workload.access()), (2, Access::Zipf { theta: 1.1 }));
    assert_eq!((&last.steady, last.cache), (&SteadyRule::None, CacheControl::Drop));
    assert_eq!(last.point["ops"], "{read: 50%, write: 50%}");
    assert!(last.name.contains("size=2MiB"), "{}", last.name);
}

#[test]
fn a_workload_can_have_its_own_matrix() {
    let plan = plan(
        "targets: {d: file:///x}
workloads:
  read: {ops: read}
  meta: {ops: stat, matrix: {jobs: [1, 2, 3]}}
  once: {ops: list, matrix: {}}
matrix: {block_size: [4KiB, 64KiB]}
",
    );
    let expected = [
        "read block_size=4KiB",
        "read block_size=64KiB",
        "meta jobs=1",
        "meta jobs=2",
        "meta jobs=3",
        "once",
    ];
    assert_eq!(names(&plan), expected);
}

#[test]
fn parameters_come_from_the_file_the_environment_and_the_command_line() {
    let text = "name: ${kind}-${env:HOST:-here}
parameters: {kind: nightly, size: 1GiB, twice: '${size}', depths: [1, 2]}
targets: {d: 'file:///mnt/${kind}'}
workloads: {w: {ops: read, file_size: '${twice}'}}
matrix: {queue_depth: '${depths}'}
";
    let size = |plan: &Plan| plan.cells[0].workload.file_bytes();
    let file = plan(text);
    assert_eq!((file.name.as_str(), size(&file), file.cells.len()), ("nightly-here", 1 << 30, 2));
    assert_eq!(file.cells[0].target.url, "file:///mnt/nightly");
    let environment = [("MANOMETER_SET_size", "2GiB"), ("HOST", "lab")];
    let outside = plan_with(text, &[], &environment);
    assert_eq!((outside.name.as_str(), size(&outside)), ("nightly-lab", 2 << 30));
    let set = plan_with(text, &[("size", "3GiB"), ("depths", "[4, 5, 6]")], &environment);
    assert_eq!((size(&set), set.cells.len()), (3 << 30, 3));
    assert_eq!(set.cells[2].workload.queue_depth, 6);
}

#[test]
fn set_reaches_any_path_of_the_file() {
    let text = "targets: {d: file:///x}\nworkloads: {w: {ops: read}}\nstages: {measure: 5s}\n";
    let set = [
        ("seed", "9"),
        ("workloads.w.queue_depth", "64"),
        ("workloads.w.block_size", "{4KiB: 50%, 8KiB: 50%}"),
        ("targets.d.direct", "true"),
        ("stages.measure.at_most", "7s"),
        ("gates", "[read.p99 <= 5 ms]"),
        ("matrix.jobs", "[1, 2]"),
        ("workloads.w.ops", "write"),
        ("gates", "[write.p99 <= 6 ms]"),
    ];
    let plan = plan_with(text, &set, &[]);
    assert_eq!((plan.seed, plan.cells.len()), (9, 2));
    let cell = &plan.cells[1];
    assert_eq!(
        (cell.workload.queue_depth, cell.workload.jobs, cell.workload.block_sizes().len()),
        (64, 2, 2)
    );
    assert_eq!((cell.target.url.as_str(), cell.target.options["direct"].as_str()), ("file:///x", "true"));
    assert_eq!((cell.stages.measure_at_least_s, cell.stages.measure_at_most_s), (5.0, 7.0));
    assert_eq!(cell.gates[0].limit, 6e6, "the last one counts");
}

#[test]
fn defaults_hold_unless_a_workload_says_otherwise() {
    let plan = plan(
        "targets: {d: file:///x}
defaults: {queue_depth: 8, jobs: 2, stages: {warm_up: 1s}}
workloads:
  a: {ops: read}
  b: {ops: read, queue_depth: 1, stages: {measure: 3s}}
stages: {measure: 9s, warm_up: 5s}
",
    );
    let depths: Vec<_> =
        plan.cells.iter().map(|cell| (cell.workload.queue_depth, cell.workload.jobs)).collect();
    assert_eq!(depths, [(8, 2), (1, 2)]);
    let times: Vec<_> =
        plan.cells.iter().map(|cell| (cell.stages.warm_up_s, cell.stages.measure_at_least_s)).collect();
    assert_eq!(times, [(1.0, 9.0), (1.0, 3.0)]);
}

/// Defaults are for all workloads; where one does not apply, it is ignored.
#[test]
fn defaults_need_not_fit_every_workload() {
    let plan = plan(
        "targets: {d: file:///x, s: 's3://b?endpoint=http://h'}
defaults: {block_size: 64KiB, fsync_every: 8, files: 4, file_size: 1MiB, objects: 5, object_size: 2MiB}
workloads:
  read: {target: d, ops: read}
  write: {target: d, ops: write}
  stat: {target: d, ops: stat}
  put: {target: s, ops: put}
",
    );
    let sizes: Vec<_> =
        plan.cells.iter().map(|cell| (cell.workload.files(), cell.workload.file_bytes())).collect();
    assert_eq!(sizes, [(4, 1 << 20), (4, 1 << 20), (4, 1 << 20), (5, 2 << 20)]);
    assert_eq!(
        (plan.cells[1].workload.commit_every(), plan.cells[1].workload.block_sizes()[0].bytes),
        (8, 65536)
    );
}

/// Nested parameters, ten at each of several levels, are rejected in finite time.
#[test]
fn parameters_that_multiply_are_refused() {
    let mut text =
        "targets: {d: file:///x}\nworkloads: {w: {ops: read, file_size: '${p0}'}}\nparameters:\n".to_owned();
    for level in 0..14 {
        text.push_str(&format!("  p{level}: '{}'\n", format!("${{p{}}}", level + 1).repeat(10)));
    }
    text.push_str("  p14: ''\n");
    let faults = parse(&SourceText { file: "f", text: &text }, &Settings::of(targets::kinds())).unwrap_err();
    assert!(faults.to_string().contains("more than 10000 parameters"), "{faults}");
}

/// A mix's keys also apply to a job, where the job does not override them.
#[test]
fn keys_beside_a_job_say_its_parts() {
    let cell = |keys: &str| {
        let text = format!("targets: {{disk: file:///mnt/data}}\nworkloads:\n  w: {{ops: write, {keys}}}\n");
        plan(&text).cells.remove(0)
    };
    let beside = cell(
        "block_size: {4KiB: 50%, 64KiB: 50%}, access: {zipf: 1.1}, files: 3, file_size: 1MiB, fsync_every: 8, \
         fdatasync: true, compressible: 50%, dedupe: 20%, verify: true, placement: 0-1, \
         think: {pause: 1ms, after: 10}, cache: keep, job: {name: w}",
    );
    let split = "{split: [{bytes: 4096, weight: 0.5}, {bytes: 65536, weight: 0.5}]}";
    let zipf = "{zipf: {theta: 1.1}}";
    let inside = cell(&format!(
        "job: {{name: w, block_sizes: {{sizes: {{read: {split}, write: {split}, trim: {split}}}}}, \
         pattern: {{random: true, distribution: {{read: {zipf}, write: {zipf}, trim: {zipf}}}}}, \
         files: {{count: 3, bytes: 1MiB, layout: {{invalidate: false}}}}, commits: {{fdatasync_every: 8}}, \
         content: {{compress_percent: 50, dedupe_percent: 20}}, check: {{method: fresh}}, \
         placement: {{cores: [0, 1], split_cores: true}}, pace: {{think: {{pause_s: 0.001, after: 10}}}}}}"
    ));
    assert_eq!(beside.workload.load, inside.workload.load);
    let rated = cell("queue_depth: 4, rate: {poisson: 100/s}, backlog: 7, job: {name: w}").workload;
    assert_eq!((rated.arrivals, rated.backlog_limit), (Arrivals::Poisson { ops_per_s: 100.0 }, 7));
    // Defaults apply where nothing more specific is given.
    let text = "targets: {d: file:///x}\ndefaults: {block_size: 64KiB, access: sequential, file_size: 1MiB}\nworkloads:\n  \
                own: {ops: read, job: {block_sizes: {sizes: {read: {fixed: 512}}}, region: {size: {bytes: 2MiB}}}}\n  \
                other: {ops: read, job: {name: o}}\n";
    let plan = plan(text);
    let sizes: Vec<_> = plan
        .cells
        .iter()
        .map(|cell| (cell.workload.block_sizes()[0].bytes, cell.workload.file_bytes()))
        .collect();
    assert_eq!(sizes, [(512, 2 << 20), (65536, 1 << 20)]);
}

#[test]
fn a_matrix_crosses_what_stands_beside_a_job() {
    let plan = plan(
        "targets: {d: file:///x}
workloads:
  mix: {ops: read}
  job: {ops: read, job: {region: {size: {bytes: 1MiB}}, ending: {runtime_s: 10, time_based: true}}}
matrix: {block_size: [4KiB, 64KiB], rate: [100/s, 200/s], queue_depth: [1, 8], think: [0s, 1ms]}
",
    );
    assert_eq!(plan.cells.len(), 32);
    let (mix, job) = (&plan.cells[15].workload, &plan.cells[31].workload);
    assert!(mix.mix().is_some() && job.stream().is_some());
    for workload in [mix, job] {
        assert_eq!(workload.block_sizes()[0].bytes, 65536);
        assert_eq!((workload.queue_depth, &workload.arrivals), (8, &Arrivals::Constant { ops_per_s: 200.0 }));
    }
    let pause = |think: Option<experiment::Think>| think.map(|think| think.pause_s);
    assert_eq!(
        (pause(mix.mix().unwrap().think), pause(job.stream().unwrap().pace.think)),
        (Some(0.001), Some(0.001))
    );
}
