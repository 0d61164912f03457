//! Plain TCP over the loopback interface, without a protocol: both ends are threads of this process.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use drivers::net::{NetConfig, NetDriver};
use engine::{StagePlan, StageResult, Workload};
use metrics::OpKind;

use super::load::Bench;
use super::pieces::Found;

/// Bytes of one block.
const BLOCK: u64 = 256 << 10;

/// What the sending and the receiving side found of the same streams.
pub fn streams(bench: &Bench, streams: u32) -> Result<(Found, Found)> {
    let workers = bench.clients.min(streams);
    let config = NetConfig {
        connections_per_worker: streams / workers,
        repeat: true,
        ..NetConfig::new(free_address()?)
    };
    let receiver = driver(NetConfig { listen: true, ..config.clone() })?;
    let sender = driver(config)?;
    let plan = |kind| bench.plan(workers, streams / workers, Workload::Repeat { kind, bytes: BLOCK });
    // It ends when the sender has gone.
    let receiving = StagePlan { window: bench.window * 2 + Duration::from_secs(10), ..plan(OpKind::Read) };
    let (sent, received) = std::thread::scope(|scope| {
        let received = scope.spawn(|| bench.run(&receiver, &receiving));
        let sent = bench.run(&sender, &plan(OpKind::Write));
        (sent, received.join())
    });
    let received =
        received.map_err(|_| anyhow!("the receiving side panicked; this is a defect of manometer"))?;
    let (sent, received) = (sent.context("sending")?, received.context("receiving")?);
    Ok((found(&sent), found(&received)))
}

fn driver(config: NetConfig) -> Result<NetDriver> {
    NetDriver::new(config).map_err(|error| anyhow!("{error}"))
}

/// An address that nobody has: of a network of its own within 127.0.0.0/8, so that its port stays free.
fn free_address() -> Result<SocketAddr> {
    let ip = Ipv4Addr::new(127, fastrand::u8(1..=250), fastrand::u8(..), fastrand::u8(1..=250));
    let listener = TcpListener::bind((ip, 0)).with_context(|| format!("{ip}: cannot be listened on"))?;
    listener.local_addr().context("the loopback address")
}

fn found(result: &StageResult) -> Found {
    let cpu: u64 = result.worker_cpu_ns.iter().sum();
    Found::rate(result.total.bytes() as f64, result.window_ns as f64 / 1e9, cpu as f64 / 1e9)
}
