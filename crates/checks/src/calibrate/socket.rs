//! Plain TCP over the loopback interface, without a protocol: both ends are threads of this process.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use drivers::net::{NetConfig, NetDriver};
use engine::{StagePlan, StageResult, StageWorkload};
use metrics::OpKind;

use super::load::BenchmarkRunner;
use super::microbenchmarks::RepetitionResult;
use crate::error::{CheckError, While};

/// Bytes of one block.
const BLOCK: u64 = 256 << 10;

/// What the sending and the receiving side found of the same streams.
pub fn streams(
    runner: &BenchmarkRunner,
    streams: u32,
) -> Result<(RepetitionResult, RepetitionResult), CheckError> {
    let workers = runner.clients.min(streams);
    let config = NetConfig {
        connections_per_worker: streams / workers,
        repeat: true,
        ..NetConfig::new(free_address()?)
    };
    let receiver = driver(NetConfig { listen: true, ..config.clone() })?;
    let sender = driver(config)?;
    let plan = |kind| runner.plan(workers, streams / workers, StageWorkload::Repeat { kind, bytes: BLOCK });
    // It ends when the sender has gone.
    let receiving = StagePlan { window: runner.window * 2 + Duration::from_secs(10), ..plan(OpKind::Read) };
    let (sent, received) = std::thread::scope(|scope| {
        let received = scope.spawn(|| runner.run(&receiver, &receiving));
        let sent = runner.run(&sender, &plan(OpKind::Write));
        (sent, received.join())
    });
    let received = received
        .map_err(|_| CheckError::failure("the receiving side panicked; this is a defect of manometer"))?;
    let (sent, received) = (sent.during("sending")?, received.during("receiving")?);
    Ok((found(&sent), found(&received)))
}

fn driver(config: NetConfig) -> Result<NetDriver, CheckError> {
    NetDriver::new(config).map_err(CheckError::failure)
}

/// An address that nobody has: of a network of its own within 127.0.0.0/8, so that its port stays free.
fn free_address() -> Result<SocketAddr, CheckError> {
    let ip = Ipv4Addr::new(127, fastrand::u8(1..=250), fastrand::u8(..), fastrand::u8(1..=250));
    let listener = TcpListener::bind((ip, 0)).during(format_args!("{ip}: cannot be listened on"))?;
    listener.local_addr().during("the loopback address")
}

fn found(result: &StageResult) -> RepetitionResult {
    let cpu: u64 = result.worker_cpu_ns.iter().sum();
    RepetitionResult::rate(result.total.bytes() as f64, result.window_ns as f64 / 1e9, cpu as f64 / 1e9)
}
