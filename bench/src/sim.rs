//! A simulated hour: shows how fast the virtual clock runs, and that memory does not grow with the number of
//! operations.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, Result};
use drivers::sim::{SimConfig, SimDriver, SimLatency};
use drivers::{Payload, Sink};
use engine::{Control, Schedule, StageContext, StagePlan, StageWorkload, StopRule, run_stage};
use experiment::Arrivals;

use crate::null::{access, mix};

/// Flags of `bench sim`.
#[derive(clap::Args)]
pub struct Args {
    /// Simulated seconds.
    #[arg(long, default_value_t = 3600.0)]
    seconds: f64,
    /// Operations in flight.
    #[arg(long, default_value_t = 32)]
    lanes: u32,
    /// Threads, each with this many.
    #[arg(long, default_value_t = 1)]
    workers: u32,
    /// Latency of the target in microseconds; 115 with 32 lanes make a billion operations an hour.
    #[arg(long, default_value_t = 115)]
    latency_us: u64,
    /// Exponentially distributed latency, instead of always the same.
    #[arg(long)]
    random: bool,
    /// Operations a second (Poisson), instead of as soon as a lane is free.
    #[arg(long)]
    rate: Option<f64>,
    /// As with `bench null`.
    #[arg(long, default_value = "random")]
    access: String,
    /// Percent of writes.
    #[arg(long, default_value_t = 30)]
    writes: u8,
}

/// Runs it and prints a line of JSON.
pub fn run(args: &Args) -> Result<()> {
    let latency_ns = args.latency_us * 1000;
    let latency =
        if args.random { SimLatency::Exponential(latency_ns) } else { SimLatency::Fixed(latency_ns) };
    let driver = SimDriver::new(SimConfig { latency, ..SimConfig::default() });
    let schedule = match args.rate {
        None => Schedule::Closed,
        Some(ops_per_s) => {
            let arrivals = Arrivals::Poisson { ops_per_s };
            Schedule::Open { arrivals, backlog_limit: 1 << 16, seed: 1 }
        }
    };
    let plan = StagePlan {
        workers: args.workers,
        lanes_per_worker: args.lanes,
        reactor: reactor::BackendChoice::Auto,
        pin: false,
        ramp: Duration::ZERO,
        window: Duration::from_secs_f64(args.seconds),
        drain: Duration::from_secs(10),
        interval: Duration::from_secs(1),
        schedule,
        stop: StopRule::Window,
        workload: StageWorkload::Mix(mix(access(&args.access)?, 4096, args.writes)),
        payload: Payload::new(1),
        sink: Sink::Buffer,
        op_timeout: Duration::from_secs(30),
        connect_timeout: Duration::from_secs(5),
        error_limit: None,
        beside: StageContext::default(),
    };
    // Memory once everything is in use, and at the end.
    let (mut early, mut late) = (None, 0);
    let begin = reactor::clock::now_ns();
    let result = run_stage(&driver, &plan, &Control::new(), &mut |interval| {
        late = resident_bytes().unwrap_or(0);
        if interval.index >= 10 && early.is_none() {
            early = Some(late);
        }
    })?;
    let line = serde_json::json!({
        "ops": result.total.ok(),
        "simulated_seconds": result.window_ns as f64 / 1e9,
        "seconds": (reactor::clock::now_ns() - begin) as f64 / 1e9,
        "cpu_seconds": result.worker_cpu_ns.iter().sum::<u64>() as f64 / 1e9,
        "resident_bytes_early": early.unwrap_or(late),
        "resident_bytes_late": late,
    });
    writeln!(std::io::stdout(), "{line}").context("standard output")
}

/// Resident memory of this process (proc(5), statm: pages).
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * 4096)
}
