//! When a job starts operations, and when it ends: worked out by hand, on the virtual clock.
#![allow(clippy::unwrap_used)]

mod support;

use drivers::CommitKind;
use drivers::sim::{SimConfig, SimLatency, Stall};
use engine::{
    JobLoad, Reason, Rendezvous, ReplayOp, Schedule, StageContext, StagePlan, StageWorkload, StopRule, trace,
};
use experiment::{Amount, Job, LatencyTarget, Queue, Rate, Think};
use metrics::{ErrorKind, OpKind};
use support::jobs::{KIB, asked_by, job, job_plan, load, random};
use support::{LogDriver, MS, assert_ns, ms, ok, run, simulate};

const READS: &[(OpKind, f64)] = &[(OpKind::Read, 1.0)];
const WRITES: &[(OpKind, f64)] = &[(OpKind::Write, 1.0)];
const MIX: &[(OpKind, f64)] = &[(OpKind::Read, 0.7), (OpKind::Write, 0.3)];

fn fixed(latency_ms: u64) -> SimConfig {
    SimConfig { latency: SimLatency::Fixed(latency_ms * MS), ..SimConfig::default() }
}

fn timed(job: Job, ops: &[(OpKind, f64)], lanes: u32, window_ms: u64) -> StagePlan {
    let mut job = job;
    job.ending.time_based = true;
    StagePlan { stop: StopRule::Window, window: ms(window_ms), ..job_plan(load(job, ops, &[1 << 30]), lanes) }
}

#[test]
fn an_amount_ends_the_job_and_a_runtime_ends_it_sooner() {
    let result = simulate(fixed(10), &job_plan(load(job(), READS, &[400 * KIB]), 1));
    assert!(result.exhausted);
    assert_eq!((ok(&result, OpKind::Read), result.window_ns), (100, 1000 * MS));
    let plan = StagePlan { window: ms(500), ..job_plan(load(job(), READS, &[400 * KIB]), 1) };
    let result = simulate(fixed(10), &plan);
    assert!(!result.exhausted);
    // The one that ends together with the window is not in it.
    assert_eq!((ok(&result, OpKind::Read), result.window_ns), (49, 500 * MS));
}

#[test]
fn what_is_done_in_the_ramp_counts_to_the_amount() {
    let plan = StagePlan { ramp: ms(300), ..job_plan(load(job(), READS, &[400 * KIB]), 1) };
    let result = simulate(fixed(10), &plan);
    assert_eq!((result.before.ok, ok(&result, OpKind::Read)), (29, 71));
    assert_eq!(result.window_ns, 700 * MS);
}

#[test]
fn one_rate_for_all_operations_is_that_of_any_load() {
    let open = |ops_per_s| StagePlan { schedule: Schedule::rate(ops_per_s), ..timed(random(), MIX, 2, 1000) };
    let kept = simulate(fixed(1), &open(100.0));
    let told = |result: &engine::StageResult| (result.offered, result.late_starts, result.missed_starts);
    assert!(kept.open_loop);
    assert_eq!((kept.total.ok(), told(&kept)), (100, (100, 0, 0)));
    // Two lanes with 10 ms each start 200 in the second; the last one of each is in flight at its end or ends with it.
    let late = simulate(fixed(10), &open(400.0));
    assert_eq!((late.total.ok(), late.offered, late.missed_starts), (198, 400, 200));
    // Latencies count from the intended start: the last operation was intended at 497.5 ms and ended at 992.5 ms.
    let longest = late.total.op(OpKind::Read).unwrap().response().quantile_ns(1.0);
    assert!(longest.abs_diff(495 * MS) < 10 * MS, "{longest}");
}

#[test]
fn a_job_with_a_rate_ends_with_its_amount_and_reads_back_what_it_wrote() {
    let mut checked = job();
    checked.check = Some(experiment::Check::default());
    let plan = StagePlan {
        schedule: Schedule::rate(100.0),
        sink: drivers::Sink::Verify,
        ..job_plan(load(checked.clone(), WRITES, &[400 * KIB]), 4)
    };
    let result = simulate(fixed(1), &plan);
    // 100 writes in the first second, and as many reads in the next.
    assert_eq!((ok(&result, OpKind::Write), ok(&result, OpKind::Read)), (100, 100));
    assert!(result.exhausted && result.job.failures.is_empty());
    assert_eq!((result.window_ns, result.missed_starts), (1991 * MS, 0));
    // The window ends while a lane holds a write that it never started.
    let result = simulate(fixed(1), &StagePlan { window: ms(995), ..plan });
    assert_eq!((ok(&result, OpKind::Write), result.missed_starts, result.checked.wrong), (100, 0, 0));
}

#[test]
fn a_job_has_one_schedule() {
    let mut paced = job();
    paced.pace.rates.read = Some(Rate::OpsPerS(100.0));
    let two = StagePlan { schedule: Schedule::rate(50.0), ..timed(paced, READS, 1, 1000) };
    let driver = LogDriver::new(|_, _| None);
    let refusal = engine::run_stage(&driver, &two, &engine::Control::new(), &mut |_| {}).unwrap_err();
    assert!(refusal.to_string().contains("one rate for all its operations"), "{refusal}");
}

#[test]
fn rates_space_the_starts_of_each_direction() {
    let mut paced = job();
    paced.pace.rates.read = Some(Rate::OpsPerS(100.0));
    paced.pace.rates.write = Some(Rate::BytesPerS(20.0 * 4096.0));
    let result = simulate(fixed(1), &timed(paced, MIX, 4, 10_000));
    // Starts at 0, 10, … 9990 ms and 0, 50, … 9950 ms; each takes 1 ms.
    assert_eq!((ok(&result, OpKind::Read), ok(&result, OpKind::Write)), (1000, 200));
    let read = result.total.op(OpKind::Read).unwrap();
    assert_ns(read.response().quantile_ns(1.0), MS);
}

/// Offered, late, missed, shed, and the maximum that waited.
fn kept(result: &engine::StageResult) -> (u64, u64, u64, u64, u64) {
    assert!(result.open_loop);
    let (late, missed) = (result.late_starts, result.missed_starts);
    (result.offered, late, missed, result.shed, result.deepest_backlog)
}

#[test]
fn a_rate_that_is_not_kept_is_told_as_in_an_open_loop() {
    let reads = StageWorkload::Repeat { kind: OpKind::Read, bytes: 4096 };
    for (rate, latency, lanes, ramp) in [(1000.0, 10, 1, 0), (1000.0, 10, 4, 2000), (100.0, 1, 1, 0)] {
        let mut paced = job();
        paced.pace.rates.read = Some(Rate::OpsPerS(rate));
        let plan = StagePlan { ramp: ms(ramp), ..timed(paced, READS, lanes, 20_000) };
        let result = simulate(fixed(latency), &plan);
        let open = StagePlan { schedule: Schedule::rate(rate), workload: reads.clone(), ..plan };
        let open = simulate(fixed(latency), &open);
        assert_eq!(kept(&result), kept(&open), "{rate} {latency} {lanes}");
        assert_eq!(ok(&result, OpKind::Read), ok(&open, OpKind::Read));
    }
    // One lane does 100 per second: 2000 of 20000 start, the last at 19.99 s.
    let mut paced = job();
    paced.pace.rates.read = Some(Rate::OpsPerS(1000.0));
    let result = simulate(fixed(10), &timed(paced, READS, 1, 20_000));
    assert_eq!((result.offered, result.missed_starts, result.shed), (20_000, 18_000, 0));
}

#[test]
fn each_direction_tells_of_its_own_rate() {
    let mut paced = job();
    paced.pace.rates.read = Some(Rate::OpsPerS(100.0));
    paced.pace.rates.write = Some(Rate::BytesPerS(50.0 * 4096.0));
    // Ten lanes keep both rates: 1000 and 500 in ten seconds.
    let result = simulate(fixed(1), &timed(paced.clone(), MIX, 10, 10_000));
    assert_eq!(kept(&result), (1500, 0, 0, 0, 0));
    // One lane with 10 ms per operation does 1000 of the 1500.
    let result = simulate(fixed(10), &timed(paced.clone(), MIX, 1, 10_000));
    assert_eq!((result.offered, result.missed_starts), (1500, 500));
    assert!(result.late_starts > 900, "{}", result.late_starts);
    // A rate for a direction that the job does not use cannot be missed.
    paced.pace.rates.trim = Some(Rate::OpsPerS(100.0));
    let result = simulate(fixed(1), &timed(paced.clone(), MIX, 10, 10_000));
    assert_eq!(kept(&result), (1500, 0, 0, 0, 0));
    // A direction without a rate is not offered.
    paced.pace.rates.write = None;
    let result = simulate(fixed(1), &timed(paced, MIX, 10, 10_000));
    assert_eq!((result.offered, result.missed_starts), (1000, 0));
    let free = simulate(fixed(1), &timed(job(), MIX, 10, 1000));
    assert!(!free.open_loop && free.offered == 0);
}

#[test]
fn random_starts_that_are_not_kept_are_told_too() {
    let mut paced = job();
    paced.pace.rates.read = Some(Rate::OpsPerS(1000.0));
    paced.pace.poisson = true;
    let result = simulate(fixed(10), &timed(paced, READS, 1, 20_000));
    // 20 000 expected, standard deviation 141; 2000 start.
    assert!(result.offered.abs_diff(20_000) < 700, "{}", result.offered);
    assert_eq!(result.missed_starts, result.offered - 2000);
    assert!(result.deepest_backlog.abs_diff(result.missed_starts) < 700);
}

#[test]
fn pauses_that_stop_the_schedule_make_nothing_late() {
    let paced = |stands_still| {
        let mut job = job();
        job.pace.think = Some(Think { pause_s: 0.5, after: 50, ..Think::default() });
        job.pace.rates.read = Some(Rate::OpsPerS(100.0));
        job.pace.pauses_stop_schedule = stands_still;
        job
    };
    let still = simulate(fixed(1), &timed(paced(true), READS, 1, 10_000));
    assert_eq!((still.late_starts, still.missed_starts), (0, 0));
    let catching_up = simulate(fixed(1), &timed(paced(false), READS, 1, 10_000));
    assert!(catching_up.late_starts > 100, "{}", catching_up.late_starts);
}

#[test]
fn a_replay_that_falls_behind_tells_so() {
    let op = |at: u64| ReplayOp {
        at_ns: at * MS,
        kind: OpKind::Read,
        commit: CommitKind::Usual,
        object: 7,
        offset: at * 4096,
        len: 4096,
    };
    let replay = JobLoad { replay: vec![(0..1000).map(op).collect()], ..load(job(), READS, &[1 << 30]) };
    let plan = StagePlan { stop: StopRule::Window, window: ms(500), ..job_plan(replay, 1) };
    let result = simulate(fixed(10), &plan);
    assert_eq!((result.offered, result.missed_starts), (500, 450));
    assert!(result.open_loop && result.late_starts >= 48, "{}", result.late_starts);
}

#[test]
fn a_direction_without_a_rate_goes_on() {
    let mut paced = job();
    paced.pace.rates.write = Some(Rate::OpsPerS(10.0));
    let result = simulate(fixed(1), &timed(paced, MIX, 1, 10_000));
    assert_eq!(ok(&result, OpKind::Write), 100);
    assert_eq!(ok(&result, OpKind::Read), 9999 - 100);
}

#[test]
fn what_a_stall_held_up_is_caught_up_with_and_its_response_says_so() {
    let mut paced = job();
    paced.pace.rates.read = Some(Rate::OpsPerS(100.0));
    let stalls = vec![Stall { from_ns: 1000 * MS, until_ns: 2000 * MS }];
    let result = simulate(SimConfig { stalls, ..fixed(1) }, &timed(paced, READS, 1, 10_000));
    assert_eq!(ok(&result, OpKind::Read), 1000);
    let read = result.total.op(OpKind::Read).unwrap();
    // Intended at 1000 ms, answered at 2000 ms; the next ones waited.
    assert_ns(read.response().quantile_ns(1.0), 1000 * MS);
    let late = read.response().counts().filter(|(ns, _)| *ns > 2 * MS).map(|(_, count)| count).sum::<u64>();
    // They end at 2000, 2001, … ms; the n-th was intended at 1000 + 10 n: as many as 111 wait longer than a
    // millisecond.
    assert!((109..=112).contains(&late), "{late}");
}

#[test]
fn poisson_starts_have_the_rate_and_its_variance() {
    let mut paced = job();
    paced.pace.rates.read = Some(Rate::OpsPerS(1000.0));
    paced.pace.poisson = true;
    let (result, intervals) = support::simulate_intervals(
        SimConfig { latency: SimLatency::Fixed(1), ..SimConfig::default() },
        &StagePlan { interval: ms(100), ..timed(paced, READS, 1, 100_000) },
    );
    let count = ok(&result, OpKind::Read) as f64;
    // 100 000, standard deviation 316.
    assert!((count - 100_000.0).abs() < 1600.0, "{count}");
    let mean = count / intervals.len() as f64;
    let squares = intervals.iter().map(|interval| (interval.ok() as f64 - mean).powi(2));
    let ratio = squares.sum::<f64>() / (intervals.len() - 1) as f64 / mean;
    // Variance and mean are equal; standard deviation of the ratio sqrt(2 / 1000) = 0.045.
    assert!((ratio - 1.0).abs() < 0.23, "{ratio}");
}

#[test]
fn a_pause_holds_the_whole_worker() {
    let think = |after, pause_s| {
        let mut job = job();
        job.pace.think = Some(Think { pause_s, after, ..Think::default() });
        job
    };
    // 1 ms of work, 9 ms of pause.
    let result = simulate(fixed(1), &timed(think(1, 0.009), READS, 1, 10_000));
    assert_eq!(ok(&result, OpKind::Read), 1000);
    // Four at once, then a pause: 1 ms and 9 ms again.
    let mut begun = think(4, 0.009);
    begun.pace.think.as_mut().unwrap().count_begun = true;
    let result = simulate(fixed(1), &timed(begun, READS, 4, 10_000));
    assert_eq!(ok(&result, OpKind::Read), 4000);
    // By time: 100 ms of work, then 100 ms of pause.
    let mut by_time = think(0, 0.1);
    by_time.pace.think.as_mut().unwrap().after_s = 0.1;
    let result = simulate(fixed(1), &timed(by_time, READS, 1, 10_000));
    assert_eq!(ok(&result, OpKind::Read), 5000);
}

#[test]
fn a_schedule_catches_up_after_pauses_or_stands_still() {
    let paced = |stands_still| {
        let mut job = job();
        job.pace.think = Some(Think { pause_s: 0.5, after: 50, ..Think::default() });
        job.pace.rates.read = Some(Rate::OpsPerS(100.0));
        job.pace.pauses_stop_schedule = stands_still;
        job
    };
    // 50 take 491 ms, then 500 ms of pause.
    let result = simulate(fixed(1), &timed(paced(true), READS, 1, 10_000));
    assert!((500..=510).contains(&ok(&result, OpKind::Read)), "{}", ok(&result, OpKind::Read));
    let result = simulate(fixed(1), &timed(paced(false), READS, 1, 10_000));
    assert!((900..=1000).contains(&ok(&result, OpKind::Read)), "{}", ok(&result, OpKind::Read));
}

#[test]
fn a_queue_drains_before_it_is_filled_again() {
    let queue = |queue| {
        let mut job = job();
        job.queue = queue;
        let driver = LogDriver::new(|_, _| None);
        run(&driver, &job_plan(load(job, READS, &[256 * KIB]), 8))
    };
    // Eight start and end together: 64 blocks in 8 ms with any batch size.
    for queues in
        [Queue { batch: 4, ..Queue::default() }, Queue { complete_least: 8, low: 2, ..Queue::default() }]
    {
        let result = queue(queues);
        assert_eq!((result.total.ok(), result.window_ns), (64, 8 * MS));
    }
    // One in eight takes 8 ms, the others 1 ms: waiting for all eight, 8 operations take 8 ms.
    let latencies = SimLatency::List([8, 1, 1, 1, 1, 1, 1, 1].map(|latency| latency * MS).to_vec());
    let mut all = job();
    all.queue.complete_least = 8;
    let config = SimConfig { latency: latencies, ..SimConfig::default() };
    let result = simulate(config, &job_plan(load(all, READS, &[256 * KIB]), 8));
    assert_eq!((result.total.ok(), result.window_ns), (64, 64 * MS));
}

#[test]
fn a_depth_is_found_for_a_latency() {
    // A pipe of 4096 bytes per millisecond: at depth d an operation takes slightly more than d ms.
    let config =
        SimConfig { bytes_per_s: Some(4_096_000), latency: SimLatency::Fixed(1000), ..SimConfig::default() };
    let mut search = random();
    search.ending.latency_target =
        Some(LatencyTarget { target_s: 0.0105, window_s: 0.5, percentile: 99.0, run_on: false });
    let result = simulate(config, &timed(search, READS, 64, 60_000));
    assert_eq!(result.job.found_depth, Some(10));
    assert!(result.exhausted && result.job.failures.is_empty());
    assert!(result.window_ns < 10_000 * MS, "{}", result.window_ns);
}

#[test]
fn seventy_seconds_are_seventy_seconds() {
    // 999 operations of 1 ms and one of 70 s.
    let mut list = vec![MS; 1000];
    list[500] = 70_000 * MS;
    let config = SimConfig { latency: SimLatency::List(list), ..SimConfig::default() };
    let plan = StagePlan { op_timeout: ms(200_000), ..job_plan(load(job(), READS, &[4000 * KIB]), 1) };
    let result = simulate(config, &plan);
    let read = result.total.op(OpKind::Read).unwrap();
    assert_eq!(read.ok, 1000);
    assert_ns(read.service.quantile_ns(1.0), 70_000 * MS);
    assert_ns(read.service.quantile_ns(0.9991), 70_000 * MS);
    assert_ns(read.service.quantile_ns(0.999), MS);
    assert_ns(read.service.max_ns(), 70_000 * MS);
}

#[test]
fn an_operation_that_is_too_slow_ends_the_job() {
    let mut strict = job();
    strict.ending.max_latency_s = 0.005;
    let list = SimLatency::List(vec![MS, MS, MS, 9 * MS]);
    let config = SimConfig { latency: list, ..SimConfig::default() };
    let result = simulate(config, &job_plan(load(strict, READS, &[4000 * KIB]), 1));
    assert_eq!(result.total.ok(), 4);
    let failure = &result.job.failures[0];
    assert_eq!(failure.reason, Reason::TooSlow);
    assert_eq!(failure.detail, "read of 4096 bytes at 12288 took 9 ms, more than 5 ms");
}

#[test]
fn a_rate_that_is_too_low_ends_the_job() {
    let mut strict = job();
    strict.pace.least.read = Some(Rate::OpsPerS(150.0));
    let result = simulate(fixed(10), &timed(strict.clone(), READS, 1, 10_000));
    // Judged from 2 s on.
    assert_eq!((result.total.ok(), result.job.failures[0].reason), (200, Reason::BelowRate));
    let result = simulate(fixed(5), &timed(strict, READS, 1, 10_000));
    assert!(result.job.failures.is_empty());
}

#[test]
fn the_first_error_ends_the_job_unless_its_kind_is_named() {
    let failing = || SimConfig { errors: vec![(10, ErrorKind::ServerFault)], ..fixed(1) };
    let result = simulate(failing(), &job_plan(load(job(), READS, &[400 * KIB]), 1));
    assert_eq!((result.total.ok(), result.total.failed()), (9, 1));
    assert_eq!(result.job.failures[0].reason, Reason::Failed(OpKind::Read, ErrorKind::ServerFault));
    let mut on = job();
    on.ending.errors.go_on_read = true;
    let result = simulate(failing(), &job_plan(load(on, READS, &[400 * KIB]), 1));
    assert_eq!((result.total.ok(), result.total.failed(), result.job.failures.len()), (90, 10, 0));
    let mut ignoring = job();
    ignoring.ending.errors.ignore[0] = vec!["EIO".to_owned()];
    let result = simulate(failing(), &job_plan(load(ignoring, READS, &[400 * KIB]), 1));
    assert_eq!((result.total.ok(), result.job.overlooked), (90, 10));
    // Filling is meant to end with a full file system.
    let full = SimConfig { errors: vec![(10, ErrorKind::NoSpace)], ..fixed(1) };
    let mut filling = job();
    filling.region.fill_device = true;
    let result = simulate(full, &job_plan(load(filling, WRITES, &[400 * KIB]), 1));
    assert_eq!((result.total.ok(), result.exhausted, result.job.failures.len()), (9, true, 0));
}

#[test]
fn a_replay_keeps_its_times() {
    let op = |at_ms: u64, kind, offset| ReplayOp {
        at_ns: at_ms * MS,
        kind,
        commit: CommitKind::Usual,
        object: 7,
        offset,
        len: 4096,
    };
    let ops = [op(0, OpKind::Write, 0), op(20, OpKind::Read, 8192), op(25, OpKind::Trim, 4096)];
    let replay = JobLoad { replay: vec![ops.into()], ..load(job(), READS, &[64 * KIB]) };
    let (asked, result) = asked_by(&job_plan(replay.clone(), 1));
    let seen: Vec<_> = asked.iter().map(|op| (op.kind, op.object, op.offset, op.len)).collect();
    assert_eq!(
        seen,
        [(OpKind::Write, 7, 0, 4096), (OpKind::Read, 7, 8192, 4096), (OpKind::Trim, 7, 4096, 4096)]
    );
    // The last one is intended at 25 ms and takes 1 ms.
    assert_eq!(result.window_ns, 26 * MS);
    let mut twice = job();
    twice.ending.loops = 2;
    let replay = JobLoad { job: twice.into(), ..replay };
    assert_eq!(asked_by(&job_plan(replay, 1)).1.window_ns, 52 * MS);
}

#[test]
fn overlapping_ranges_are_not_in_flight_at_once() {
    let mut one_block = random();
    one_block.pattern.with_repeats = true;
    one_block.region.io_bytes = Amount::Bytes(80 * KIB);
    let result = simulate(fixed(1), &job_plan(load(one_block.clone(), WRITES, &[4096]), 4));
    assert_eq!((result.total.ok(), result.window_ns), (20, 5 * MS));
    one_block.pattern.no_overlap = true;
    let result = simulate(fixed(1), &job_plan(load(one_block, WRITES, &[4096]), 4));
    assert_eq!((result.total.ok(), result.window_ns), (20, 20 * MS));
}

#[test]
fn a_stage_may_begin_later_and_says_what_each_operation_did() {
    let (way, reader) = trace();
    let beside = StageContext { start_delay: ms(500), trace: Some(way), ..StageContext::default() };
    let plan = StagePlan { beside, ramp: ms(2), ..job_plan(load(job(), READS, &[16 * KIB]), 1) };
    let result = simulate(fixed(1), &plan);
    drop(plan);
    assert_eq!((result.before.ok, result.total.ok()), (1, 3));
    let mut records = Vec::new();
    while let Some(buffer) = reader.next() {
        records.extend_from_slice(buffer.records());
    }
    let seen: Vec<_> =
        records.iter().map(|r| (r.number, r.offset, r.start_ns / MS, r.end_ns / MS, r.measured)).collect();
    assert_eq!(
        seen,
        [(0, 0, 0, 1, false), (1, 4096, 1, 2, true), (2, 8192, 2, 3, true), (3, 12288, 3, 4, true)]
    );
}

#[test]
fn stages_of_different_targets_start_together_and_a_faulty_one_holds_nobody_up() {
    let meet = Rendezvous::new(3);
    let beside = || StageContext { rendezvous: Some(meet.clone()), ..StageContext::default() };
    let good = StagePlan { beside: beside(), ..job_plan(load(job(), READS, &[16 * KIB]), 1) };
    let faulty = StagePlan { workers: 0, beside: beside(), ..good.clone() };
    std::thread::scope(|scope| {
        let one = scope.spawn(|| simulate(fixed(1), &good).total.ok());
        let two = scope.spawn(|| run(&LogDriver::new(|_, _| None), &good).total.ok());
        let fails = scope.spawn(|| {
            let driver = LogDriver::new(|_, _| None);
            engine::run_stage(&driver, &faulty, &engine::Control::new(), &mut |_| {}).is_err()
        });
        assert_eq!((one.join().unwrap(), two.join().unwrap(), fails.join().unwrap()), (4, 4, true));
    });
}
