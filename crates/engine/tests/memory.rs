//! A longer run uses no more memory than a short one: the load loop does not allocate.

mod support;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use drivers::sim::{SimConfig, SimLatency};
use drivers::{Driver, Sink};
use engine::{DataSet, DataShape, Mix, Schedule, StagePlan, StageWorkload};
use experiment::{Access, Arrivals, Rate, SizeChoice, WeightedOp, WeightedSize};
use metrics::OpKind;
use support::{MS, ms, plan, run};

/// Counts allocations in this process; this file contains a single test, so that nothing else runs meanwhile.
struct Counting;

static COUNT: AtomicU64 = AtomicU64::new(0);

// SAFETY: all calls are passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as guaranteed by the caller.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: as guaranteed by the caller.
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Allocations and operations of a run of this many simulated seconds.
fn cost(driver: &impl Driver, plan: &StagePlan, seconds: u64) -> (u64, u64) {
    let before = COUNT.load(Ordering::Relaxed);
    let result = run(driver, &StagePlan { window: ms(1000 * seconds), ..plan.clone() });
    assert_eq!(result.total.failed(), 0);
    (COUNT.load(Ordering::Relaxed) - before, result.total.ok())
}

fn split() -> SizeChoice {
    let size = |bytes, weight| WeightedSize { bytes, weight };
    SizeChoice::Split(vec![size(4096, 60.0), size(65536, 40.0)])
}

#[test]
fn operations_cost_no_allocations() {
    let mix = |ops: &[(OpKind, f64)], access, verify| {
        StageWorkload::Mix(Mix {
            data_set: DataSet::laid_out(
                DataShape::Files { file_bytes: 1 << 20, block_bytes: 4096 },
                1_000_000_000,
            ),
            ops: ops.iter().map(|(op, weight)| WeightedOp { op: *op, weight: *weight }).collect(),
            access,
            block_sizes: vec![WeightedSize { bytes: 4096, weight: 1.0 }],
            fsync_every: 16,
            batch_size: 10,
            think: None,
            on_own: false,
            verify,
            generation: 0,
            seed: 1,
        })
    };
    let readwrite = [(OpKind::Read, 0.7), (OpKind::Write, 0.3)];
    let churn = [(OpKind::Create, 0.4), (OpKind::Stat, 0.2), (OpKind::Remove, 0.4)];
    let own = [
        (OpKind::Append, 0.4),
        (OpKind::Rename, 0.2),
        (OpKind::Link, 0.1),
        (OpKind::Remove, 0.2),
        (OpKind::Open, 0.05),
        (OpKind::WriteFile, 0.05),
    ];
    let whole = [(OpKind::ReadFile, 0.6), (OpKind::Overwrite, 0.3), (OpKind::TruncateOverwrite, 0.1)];
    let loads = [
        mix(&whole, Access::Random, false),
        mix(&own, Access::Random, false),
        mix(&readwrite, Access::Shuffled, false),
        mix(&readwrite, Access::Random, true),
        mix(&[(OpKind::Read, 1.0)], Access::Zipf { theta: 0.99 }, false),
        mix(&churn, Access::Pareto { h: 0.2 }, false),
    ];
    let job = |change: fn(&mut experiment::Job), weights: &[(OpKind, f64)]| {
        let mut one = support::jobs::random();
        one.ending.time_based = true;
        change(&mut one);
        StageWorkload::Job(support::jobs::load(one, weights, &[1 << 40, 1 << 36]))
    };
    let jobs = [
        job(|_| {}, &[(OpKind::Read, 1.0)]),
        job(|job| job.pattern.with_repeats = true, &readwrite),
        job(|job| job.block_sizes = support::jobs::sizes(split()), &readwrite),
        job(|job| job.pace.rates.read = Some(Rate::OpsPerS(20_000.0)), &[(OpKind::Read, 1.0)]),
        job(|job| job.queue.batch = 8, &[(OpKind::Read, 1.0)]),
        job(|job| job.pattern.no_overlap = true, &[(OpKind::Write, 1.0)]),
        job(|job| (job.pattern.random, job.commits.fsync_every) = (false, 16), &[(OpKind::Write, 1.0)]),
    ];
    let poisson = Arrivals::Poisson { ops_per_s: 20_000.0 };
    let open = Schedule::Open { arrivals: poisson, backlog_limit: 1000, seed: 1 };
    let driver =
        drivers::sim::SimDriver::new(SimConfig { latency: SimLatency::Fixed(MS), ..SimConfig::default() });
    let loads = loads.into_iter().flat_map(|load| [(load.clone(), Schedule::Closed), (load, open.clone())]);
    let jobs = jobs.into_iter().map(|job| {
        let StageWorkload::Job(load) = &job else { unreachable!("all are jobs") };
        let schedule = Schedule::of_job(&load.job);
        (job, schedule)
    });
    for (workload, schedule) in loads.chain(jobs) {
        let plan = StagePlan {
            lanes_per_worker: 32,
            sink: Sink::Buffer,
            schedule,
            workload: workload.clone(),
            ..plan()
        };
        let (short, few) = cost(&driver, &plan, 2);
        let (long, many) = cost(&driver, &plan, 6);
        assert!(many > few + 60_000);
        // A few messages between threads; one allocation per operation would be tens of thousands.
        assert!(long < short + 100, "{} operations more took {} allocations more", many - few, long - short);
    }
}
