//! Byte streams over TCP on the reactor, as with iperf3: the same bytes from one buffer, repeatedly.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use drivers::Sink;
use drivers::net::{NetConfig, NetDriver};
use engine::StageWorkload;
use metrics::OpKind;
use reactor::{Buffer, Reactor, Stream};

use crate::load::{Load, Measured, measure};

/// Flags of `bench tcp-send`.
#[derive(clap::Args)]
pub struct SendArgs {
    #[command(flatten)]
    load: Load,
    /// Where a receiver listens; one stream a lane goes there.
    #[arg(long)]
    to: SocketAddr,
    /// Bytes that one send hands to the kernel.
    #[arg(long, default_value_t = 256 << 10)]
    block: u64,
}

/// Flags of `bench tcp-receive`.
#[derive(clap::Args)]
pub struct ReceiveArgs {
    /// Where to listen.
    #[arg(long)]
    on: SocketAddr,
    /// uring, epoll or auto.
    #[arg(long, default_value = "auto")]
    reactor: reactor::BackendChoice,
    /// Bytes that one receive asks for.
    #[arg(long, default_value_t = 256 << 10)]
    block: usize,
    /// Drop in the kernel what arrives.
    #[arg(long)]
    discard: bool,
}

/// Sends as much as the receiver takes; counts what the kernel has accepted, as iperf3 does.
pub fn send(args: &SendArgs) -> Result<Measured> {
    let workload = StageWorkload::Repeat { kind: OpKind::Write, bytes: args.block };
    // One stream per lane.
    let config = NetConfig { connections_per_worker: u32::MAX, repeat: true, ..NetConfig::new(args.to) };
    let sender = NetDriver::new(config).map_err(|error| anyhow::anyhow!("{error}"))?;
    Ok(measure(&sender, &args.load.plan(workload, Sink::Buffer))?.0)
}

/// Receives everything from anyone who connects, until it is killed.
pub fn receive(args: &ReceiveArgs) -> Result<()> {
    let reactor = Reactor::open(args.reactor)?;
    let listener = reactor.listen(args.on, 128).with_context(|| args.on.to_string())?;
    let (block, discard) = (args.block, args.discard);
    reactor.block_on(async {
        loop {
            let (stream, _) = listener.accept().await?;
            let drained = drain(stream, reactor.buffer(block), discard);
            reactor.spawn(drained);
        }
    })
}

/// Receives to the end of the stream, however it ends.
async fn drain(stream: Stream, mut buffer: Buffer, discard: bool) {
    let block = buffer.len();
    loop {
        let received = if discard {
            stream.recv_discard(block).await
        } else {
            let result;
            // Either more data arrives, or the end.
            (result, buffer) = stream.recv_due(buffer, 0..block, block).await;
            result
        };
        if !matches!(received, Ok(count) if count > 0) {
            return;
        }
    }
}
