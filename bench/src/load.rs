//! Shared by all workloads: flags, the plan of a stage, and the printed line.

use std::io::Write;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use drivers::{Driver, Payload, Sink};
use engine::{Control, Schedule, StageContext, StagePlan, StageResult, StageWorkload, StopRule, run_stage};

/// How hard and how long.
#[derive(Args, Clone)]
pub struct Load {
    /// Threads.
    #[arg(long, default_value_t = 1)]
    pub workers: u32,
    /// Operations in flight, over all workers.
    #[arg(long, default_value_t = 32)]
    pub lanes: u32,
    /// Measured seconds.
    #[arg(long, default_value_t = 3.0)]
    pub seconds: f64,
    /// Seconds of load before that.
    #[arg(long, default_value_t = 0.5)]
    pub ramp: f64,
    /// uring, epoll or auto.
    #[arg(long, default_value = "auto")]
    pub reactor: reactor::BackendChoice,
    /// Operations a second, started on time whatever the target does; without it, as soon as a lane is free.
    #[arg(long)]
    pub rate: Option<f64>,
    /// Bind each worker to a core.
    #[arg(long)]
    pub pin: bool,
}

impl Load {
    /// The plan of a stage under this load.
    pub fn plan(&self, workload: StageWorkload, sink: Sink) -> StagePlan {
        StagePlan {
            workers: self.workers,
            lanes_per_worker: self.lanes.div_ceil(self.workers.max(1)),
            reactor: self.reactor,
            pin: self.pin,
            ramp: Duration::from_secs_f64(self.ramp),
            window: Duration::from_secs_f64(self.seconds),
            drain: Duration::from_secs(10),
            interval: Duration::from_secs(1),
            schedule: self.rate.map_or(Schedule::Closed, Schedule::rate),
            stop: StopRule::Window,
            workload,
            payload: Payload::new(1),
            sink,
            op_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(5),
            error_limit: None,
            beside: StageContext::default(),
        }
    }
}

/// The printed results.
pub struct Measured {
    /// Operations, or sends and receives, inside the window.
    pub ops: u64,
    /// Payload bytes.
    pub bytes: u64,
    /// Length of the window.
    pub seconds: f64,
    /// User and system time of this process inside the window.
    pub cpu_seconds: f64,
    /// Median latency; 0 where there is none.
    pub p50_ns: u64,
}

impl Measured {
    /// Prints the line.
    pub fn print(&self) -> Result<()> {
        let line = serde_json::json!({
            "ops": self.ops,
            "bytes": self.bytes,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "p50_ns": self.p50_ns,
        });
        writeln!(std::io::stdout(), "{line}").context("standard output")
    }
}

/// Runs a stage; any failed operation makes the measurement worthless.
pub fn stage<D: Driver>(driver: &D, plan: &StagePlan) -> Result<StageResult> {
    let result = run_stage(driver, plan, &Control::new(), &mut |_| {})?;
    if let Some((kind, detail)) = result.error_samples.first() {
        anyhow::bail!("{} operations failed, for example {kind}: {detail}", result.total.failed());
    }
    Ok(result)
}

/// Runs a stage and measures it.
pub fn measure<D: Driver>(driver: &D, plan: &StagePlan) -> Result<(Measured, StageResult)> {
    let result = stage(driver, plan)?;
    let (_, busiest) =
        result.total.ops.iter().max_by_key(|(_, stats)| stats.ok).context("nothing ended in time")?;
    let measured = Measured {
        ops: busiest.ok,
        bytes: result.total.bytes(),
        seconds: result.window_ns as f64 / 1e9,
        cpu_seconds: result.process_cpu_ns as f64 / 1e9,
        p50_ns: busiest.service.quantile_ns(0.5),
    };
    Ok((measured, result))
}

/// Parses the name of a sink.
pub fn sink(text: &str) -> Result<Sink, String> {
    match text {
        "buffer" => Ok(Sink::Buffer),
        "verify" => Ok(Sink::Verify),
        "discard" => Ok(Sink::Discard),
        other => Err(format!("\"{other}\" is no sink: write buffer, verify or discard")),
    }
}

/// A name that no other run uses.
pub fn unique_name() -> String {
    format!("manometer-bench-{}-{}", std::process::id(), reactor::clock::now_ns())
}
