//! Streams of bytes over TCP on the reactor, as iperf3 does them: the same bytes from one buffer again and again.

use std::cell::RefCell;
use std::net::SocketAddr;

use anyhow::{Context, Result};
use drivers::{Done, Driver, DriverError, Op, OpError, Session, SessionFacts, Sink, WorkerContext};
use engine::Workload;
use metrics::{ErrorKind, OpKind};
use reactor::{Buffer, Reactor, SocketOptions, Stream};

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
    reactor: reactor::Choice,
    /// Bytes that one receive asks for.
    #[arg(long, default_value_t = 256 << 10)]
    block: usize,
    /// Drop in the kernel what arrives.
    #[arg(long)]
    discard: bool,
}

struct Sender {
    to: SocketAddr,
    block: usize,
}

struct Streams(Vec<(Stream, RefCell<Option<Buffer>>)>);

impl Driver for Sender {
    type Session = Streams;

    async fn connect(&self, reactor: &Reactor, context: &WorkerContext) -> Result<Streams, DriverError> {
        let failed = |e| DriverError::new(ErrorKind::ConnectFailed, format!("{}: {e}", self.to));
        let mut streams = Vec::new();
        for lane in 0..context.lanes {
            let stream = reactor.connect(self.to, &SocketOptions::default()).await.map_err(failed)?;
            let mut buffer = reactor.buffer(self.block);
            context.payload.fill(u64::from(lane), 0, &mut buffer);
            streams.push((stream, RefCell::new(Some(buffer))));
        }
        Ok(Streams(streams))
    }
}

impl Session for Streams {
    async fn perform(&self, op: &Op) -> Result<Done, OpError> {
        let (stream, buffer) = &self.0[op.lane as usize];
        let taken = buffer.borrow_mut().take().expect("a lane does one thing at a time");
        let (sent, back) = stream.send_all(taken, 0..op.len as usize).await;
        *buffer.borrow_mut() = Some(back);
        match sent {
            Ok(()) => Ok(Done { bytes: op.len, rpcs: 1, ..Done::default() }),
            Err(e) => Err(OpError::new(ErrorKind::ConnectionLost, e.to_string())),
        }
    }

    fn facts(&self) -> SessionFacts {
        SessionFacts::default()
    }
}

/// Sends as much as the receiver takes; what counts is what the kernel has accepted, as with iperf3.
pub fn send(args: &SendArgs) -> Result<Measured> {
    let workload = Workload::Repeat { kind: OpKind::Write, bytes: args.block };
    let sender = Sender { to: args.to, block: usize::try_from(args.block)? };
    Ok(measure(&sender, &args.load.plan(workload, Sink::Buffer))?.0)
}

/// Receives whatever comes from whoever connects, until it is killed.
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
            // There is always more to come, or the end.
            (result, buffer) = stream.recv_due(buffer, 0..block, block).await;
            result
        };
        if !matches!(received, Ok(count) if count > 0) {
            return;
        }
    }
}
