//! Records that use every field and every alternative, so that everything stored is tested.

#![allow(dead_code, reason = "each test program uses a part of it")]

pub mod engine;
mod fleet;

use std::collections::BTreeMap;

use experiment::{
    Access, Arrivals, CacheControl, Cell, ErrorPolicy, Gate, GateMetric, GateOperator, LevelLimits, Load,
    MixLoad, Plan, Prepare, RateFrom, RateStep, Stages, SteadyRule, Study, Target, WeightedOp, WeightedSize,
    Workload,
};
use jiff::Timestamp;
use metrics::{ErrorKind, Histogram, Interval, OpKind};
use stats::{
    Criterion, CriterionUnit, Estimate, Loss, Measure, PtsStatement, Regime, RunShape, SeriesEstimate,
    SteadyOutcome, Window,
};
use store::{
    CellRecord, CellResult, Environment, ErrorSample, Event, GateResult, LatencySummary, OpSummary, OpenLoop,
    RunRecord, StageRecord, State, StudyPoint, Validity, Verdict,
};

#[allow(unused_imports)] // as above
pub use fleet::*;

/// Cells of [`run`].
pub const CELLS: u32 = 7;

pub fn moment(second: i64) -> Timestamp {
    Timestamp::new(1_790_000_000 + second, 123_456_789).unwrap()
}

/// A run whose cells together use every alternative of the plan.
pub fn run(id: &str, name: &str) -> RunRecord {
    RunRecord {
        id: id.into(),
        name: name.into(),
        started: moment(0),
        finished: None,
        state: State::Running,
        version: "0.1.0".into(),
        plan: Plan {
            name: name.into(),
            description: Some("Every alternative once; \"quoted\", ünïcode, a\nline break".into()),
            seed: u64::MAX,
            results: Some("results.sqlite".into()),
            fleet: None,
            observe: None,
            server_scale: None,
            cells: (0..CELLS).map(cell).collect(),
        },
        environment: Environment {
            facts: [("kernel", "6.18.0"), ("cpu.model", "Imaginary 9000"), ("mount./mnt", "ext4 rw,noatime")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
        },
        hosts: Vec::new(),
    }
}

fn gate(text: &str, op: Option<OpKind>, metric: GateMetric, comparison: GateOperator, limit: f64) -> Gate {
    Gate { text: text.into(), op, metric, comparison, limit }
}

fn cell(index: u32) -> Cell {
    let at = index as usize;
    let pick = |count: usize| at % count;
    let accesses = [
        Access::Sequential,
        Access::Random,
        Access::Shuffled,
        Access::Zipf { theta: 0.99 },
        Access::Pareto { h: 0.2 },
        Access::Hotspot { ops: 0.9, space: 0.1 },
        Access::Strided { stride_bytes: 1 << 20 },
    ];
    let arrivals = [
        Arrivals::Closed,
        Arrivals::Constant { ops_per_s: 1000.0 },
        Arrivals::Poisson { ops_per_s: 0.1 },
        Arrivals::Ramp { from_ops_per_s: 1.0, to_ops_per_s: 1e6, over_s: 60.0 },
        Arrivals::Steps {
            steps: vec![RateStep { ops_per_s: 5.0, for_s: 1.5 }, RateStep { ops_per_s: 0.0, for_s: 2.0 }],
        },
        Arrivals::Times { times: vec![RateFrom { at_s: 3.0, ops_per_s: 7.0 }] },
    ];
    let rules = [
        SteadyRule::Default(LevelLimits::default()),
        SteadyRule::Snia { round_s: 60.0 },
        SteadyRule::Storperf { sample_s: 60.0, samples: 10 },
        SteadyRule::Fio { metric: "iops".into(), slope: true, limit: 0.003, window_s: 30.0 },
        SteadyRule::None,
    ];
    let studies = [
        None,
        Some(Study::Find {
            goal: gate("p99 <= 2 ms", None, GateMetric::Percentile(0.99), GateOperator::AtMost, 2e6),
            from_ops_per_s: 1.0,
            to_ops_per_s: 0.0,
            tolerance: 0.02,
            trial_s: 10.0,
        }),
        Some(Study::Sweep { rates_ops_per_s: vec![100.0, 200.0], point_s: 5.0 }),
    ];
    let gates = [
        gate(
            "read.bandwidth >= 3 GB/s",
            Some(OpKind::Read),
            GateMetric::Bandwidth,
            GateOperator::AtLeast,
            3e9,
        ),
        gate(
            "write.p99.9 <= 5 ms",
            Some(OpKind::Write),
            GateMetric::Percentile(0.999),
            GateOperator::AtMost,
            5e6,
        ),
        gate("total.rate > 1000", None, GateMetric::Rate, GateOperator::Above, 1e3),
        gate("read.mean < 1 ms", Some(OpKind::Read), GateMetric::Mean, GateOperator::Below, 1e6),
        gate("max < 1 s", None, GateMetric::Max, GateOperator::Below, 1e9),
        gate("errors == 0", None, GateMetric::Errors, GateOperator::Equal, 0.0),
    ];
    Cell {
        index,
        name: format!("mixed block_size={}KiB", 4 << at),
        workload_name: "mixed".into(),
        point: BTreeMap::from([("block_size".to_owned(), format!("{} KiB", 4 << at))]),
        repetition: 1 + index / 4,
        target: Target {
            name: "disk".into(),
            url: "file:///mnt/data".into(),
            options: BTreeMap::from([("direct".to_owned(), "true".to_owned())]),
            accounting: None,
            provision: None,
        },
        workload: Workload {
            ops: vec![
                WeightedOp { op: OpKind::Read, weight: 0.7 },
                WeightedOp { op: OpKind::Write, weight: 0.3 },
            ],
            queue_depth: 32,
            jobs: 2,
            arrivals: arrivals[pick(arrivals.len())].clone(),
            backlog_limit: 10_000,
            sink: "buffer".into(),
            op_timeout_s: 30.0,
            load: Load::Mix(Box::new(MixLoad {
                access: accesses[pick(accesses.len())],
                block_sizes: vec![WeightedSize { bytes: 4096 << at, weight: 1.0 }],
                fsync_every: 16,
                batch_size: 100,
                fdatasync: true,
                user_files: None,
                files: 4,
                file_bytes: 1 << 30,
                sizes: None,
                compressible: 0.1,
                dedupe: 1.0 / 3.0,
                verify: true,
                on_own: false,
                placement: None,
                think: None,
            })),
        },
        stages: Stages {
            prepare: [Prepare::Fill, Prepare::FillAlways, Prepare::Keep, Prepare::None][pick(4)],
            warm_up_s: 5.0,
            measure_at_least_s: 30.0,
            measure_at_least_bytes: 1 << 34,
            measure_at_most_s: 600.0,
            probe_s: 0.0,
            verify: true,
            clean_up: true,
        },
        steady: rules[pick(rules.len())].clone(),
        gates: gates.to_vec(),
        cache: [CacheControl::Keep, CacheControl::Invalidate, CacheControl::Drop][pick(3)],
        errors: [ErrorPolicy::Continue, ErrorPolicy::Stop, ErrorPolicy::StopCellAfter(100)][pick(3)],
        study: studies[pick(studies.len())].clone(),
        group: None,
        agents: None,
    }
}

pub fn estimate(mean: f64) -> Estimate {
    Estimate {
        mean,
        low: mean * 0.98,
        high: mean * 1.02,
        deviation: mean / 30.0,
        samples: 60,
        effective_samples: 41.7,
        autocorrelation: 1.438_848_920_863_309_5,
    }
}

fn latency(scale: u64) -> LatencySummary {
    LatencySummary {
        count: 60_000,
        min_ns: scale,
        mean_ns: scale as f64 * 1.234_567,
        p50_ns: 2 * scale,
        p90_ns: 3 * scale,
        p95_ns: 4 * scale,
        p99_ns: 5 * scale,
        p999_ns: 6 * scale,
        p9999_ns: 7 * scale,
        max_ns: 8 * scale,
    }
}

pub fn op_result(op: Option<OpKind>) -> OpSummary {
    OpSummary {
        op,
        ok: 60_000,
        failed: 3,
        errors: BTreeMap::from([(ErrorKind::TimedOut, 2), (ErrorKind::ServerFault, 1)]),
        bytes: 60_000 * 4096,
        rpcs: 60_001,
        retries: 1,
        procedures: Vec::new(),
        bytes_per_s: estimate(4_096_000.0),
        ops_per_s: estimate(1000.0),
        service: latency(100_000),
        response: latency(110_000),
        p99_ns: estimate(550_000.0),
    }
}

/// A result that uses every field.
pub fn result(validity: Validity) -> CellResult {
    CellResult {
        measured_s: 75.0,
        window_start_s: 15.0,
        window_end_s: 75.0,
        steady: SteadyOutcome {
            rule: "default".into(),
            reached: validity == Validity::Valid,
            reason: "30 effective samples, interval ± 2.0 %, drift below 5 %".into(),
            window: Window { first: 15, end: 75 },
            criteria: [
                CriterionUnit::Share,
                CriterionUnit::Count,
                CriterionUnit::Seconds,
                CriterionUnit::Bytes,
                CriterionUnit::BytesPerS,
                CriterionUnit::OpsPerS,
                CriterionUnit::Nanoseconds,
            ]
            .map(|unit| Criterion {
                name: "read ops/s: half-width of the 95 % interval".into(),
                value: 0.02,
                limit: 0.03,
                at_most: true,
                met: true,
                unit,
            })
            .into(),
            series: [Measure::BytesPerS, Measure::OpsPerS, Measure::P50Ns, Measure::P99Ns, Measure::MeanNs]
                .map(|measure| SeriesEstimate {
                    op: Some(OpKind::Read),
                    measure,
                    estimate: estimate(1000.0),
                    drift: -0.01,
                    drift_bound: 0.03,
                })
                .into(),
            shape: RunShape::WarmUp,
            regimes: vec![Regime { window: Window { first: 0, end: 15 }, estimate: estimate(500.0) }],
            pts: vec![PtsStatement {
                op: Some(OpKind::Write),
                measure: Measure::OpsPerS,
                first_round: 3,
                last_round: 7,
                average: 1000.0,
                allowed_data_excursion: 200.0,
                measured_data_excursion: 20.0,
                allowed_slope_excursion: 100.0,
                measured_slope_excursion: 10.0,
                slope: 2.5,
                intercept: 990.0,
            }],
            lost: Some(Loss { interval: 60, before: 1000.0, after: 700.0 }),
            // Stored files are older than these.
            stalls: None,
            trend: None,
            notes: vec!["p99 of write was left out: too few operations an interval".into()],
        },
        total: op_result(None),
        ops: vec![op_result(Some(OpKind::Read)), op_result(Some(OpKind::Write))],
        open_loop: Some(OpenLoop {
            offered_ops_per_s: 1000.0,
            late_starts: 12,
            deepest_backlog: 34,
            shed: 5,
            missed_starts: 6,
        }),
        stages: vec![
            StageRecord {
                name: "prepare".into(),
                seconds: 12.25,
                ok: 1024,
                failed: 0,
                bytes: 1 << 30,
                note: Some("every byte was written".into()),
            },
            StageRecord {
                name: "measure".into(),
                seconds: 75.0,
                ok: 75_000,
                failed: 3,
                bytes: 75_000 * 4096,
                note: None,
            },
        ],
        gates: vec![
            GateResult {
                text: "read.bandwidth >= 3 GB/s".into(),
                measured: 4_096_000.0,
                limit: 3e9,
                passed: false,
            },
            GateResult { text: "write.p99.9 <= 5 ms".into(), measured: 660_000.0, limit: 5e6, passed: true },
        ],
        verdict: Verdict {
            validity,
            reasons: vec!["the busiest worker used 97 % of its core: limited by this client".into()],
        },
        error_samples: vec![ErrorSample {
            kind: ErrorKind::ServerFault,
            detail: "EIO at file 3, offset 4096".into(),
        }],
        cache: "invalidated".into(),
        client: BTreeMap::from([("cpu.busiest".to_owned(), 0.97)]),
        target: BTreeMap::from([("filesystem".to_owned(), "ext4".to_owned())]),
        points: vec![StudyPoint {
            offered_ops_per_s: 1000.0,
            ops_per_s: 999.5,
            bytes_per_s: 4_093_952.0,
            response: latency(120_000),
            deepest_backlog: 3,
            held: true,
        }],
        found_ops_per_s: Some(1000.0),
        hosts: Vec::new(),
        fleet: None,
        paths: Vec::new(),
        limit: None,
        server_calls: Vec::new(),
    }
}

/// The outcome of each cell of [`run`]: every state and every verdict.
pub fn cells() -> Vec<CellRecord> {
    let done = |index, state, result, failure: Option<&str>| CellRecord {
        index,
        state,
        started: Some(moment(i64::from(index) * 100)),
        finished: Some(moment(i64::from(index) * 100 + 90)),
        result,
        failure: failure.map(str::to_owned),
    };
    let bare = |index, state, started| CellRecord {
        index,
        state,
        started,
        finished: None,
        result: None,
        failure: None,
    };
    let mut minimal = CellResult {
        ops: Vec::new(),
        open_loop: None,
        points: Vec::new(),
        found_ops_per_s: None,
        ..result(Validity::Valid)
    };
    (minimal.steady.lost, minimal.steady.pts, minimal.steady.notes) = (None, Vec::new(), Vec::new());
    (minimal.steady.criteria, minimal.steady.series) = (Vec::new(), Vec::new());
    let judged = |validity| CellResult {
        verdict: result(validity).verdict,
        ops: vec![op_result(Some(OpKind::Put))],
        steady: SteadyOutcome { reached: false, ..minimal.steady.clone() },
        ..minimal.clone()
    };
    vec![
        done(0, State::Finished, Some(result(Validity::Valid)), None),
        done(1, State::Finished, Some(judged(Validity::Warn)), None),
        done(2, State::Finished, Some(minimal.clone()), None),
        done(3, State::Interrupted, Some(judged(Validity::Invalid)), None),
        done(4, State::Failed, None, Some("cannot open /mnt/data: no such file or directory")),
        bare(5, State::Running, Some(moment(500))),
        bare(6, State::Pending, None),
    ]
}

pub fn events() -> Vec<Event> {
    vec![
        Event { at: moment(1), cell: Some(0), kind: "stage".into(), text: "measure".into() },
        Event { at: moment(2), cell: None, kind: "signal".into(), text: "SIGINT: the cell ends".into() },
    ]
}

/// An interval derived only from its number.
pub fn interval(index: u32) -> Interval {
    let mut interval = Interval {
        index,
        start_ns: u64::from(index) * 1_000_000_000,
        length_ns: 1_000_000_000,
        ops: Vec::new(),
    };
    let read = interval.op_mut(OpKind::Read);
    read.response = Some(Box::default());
    for n in 0..50 {
        let latency = 100_000 + u64::from(index) * 1000 + n * n * 997;
        read.service.record(latency);
        read.response.as_deref_mut().unwrap().record(latency + 50_000);
    }
    read.ok = 50;
    read.bytes = 50 * 4096;
    read.rpcs = 51;
    read.retries = 1;
    let write = interval.op_mut(OpKind::Write);
    write.ok = 1;
    write.bytes = 65_536;
    write.rpcs = 2;
    write.service.record(5_000_000 + u64::from(index));
    if index.is_multiple_of(3) {
        write.errors[ErrorKind::NoSpace as usize] = 2;
        write.errors[ErrorKind::TimedOut as usize] = u64::from(index);
    }
    interval
}

/// A histogram of the latencies, in nanoseconds.
pub fn histogram(latencies: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    latencies.iter().for_each(|latency| histogram.record(*latency));
    histogram
}

/// A file with two runs in which every table is used.
pub fn sample(path: &std::path::Path) -> store::Store {
    let store = store::Store::open(path).unwrap();
    fill(&store);
    store
}

/// Writes runs with every field and every alternative.
pub fn fill(store: &store::Store) {
    let record = run("aaaabbb2", "every alternative");
    store.begin_run(&record).unwrap();
    events().iter().for_each(|event| store.event(&record.id, event).unwrap());
    let mut writer = store.writer(&record.id).unwrap();
    for cell in [0, 1] {
        writer.interval(cell, "warm-up", 0, &interval(0)).unwrap();
        (0..5).for_each(|index| writer.interval(cell, "measure", 0, &interval(index)).unwrap());
    }
    writer.interval(1, "measure", 1, &Interval { index: 0, length_ns: 1, ..Interval::default() }).unwrap();
    writer.finish().unwrap();
    for cell in cells() {
        store.finish_cell(&record.id, &cell).unwrap();
    }
    store.finish_run(&record.id, State::Interrupted, moment(700)).unwrap();
    fleet::sample_fleet(store);
}
