//! Plain TCP over the loopback interface, without a protocol: this process is both ends.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::time::Duration;

use fleet::StageTask;

use super::load::LoadRunner;
use super::microbenchmarks::{BlockSize, Microbenchmark, RepetitionResult};
use super::plan;
use crate::error::{CheckError, While};

/// Results of the sending and the receiving side of the same streams.
///
/// # Errors
/// One of them could not be measured, or a stop was requested.
pub fn streams(
    runner: &LoadRunner,
    streams: u32,
) -> Result<(RepetitionResult, RepetitionResult), CheckError> {
    let [send, receive] = plan::tcp(free_address()?, streams, runner.clients)?;
    let (sender, receiver) = (runner.open_placeless(&send)?, runner.open_placeless(&receive)?);
    let task = StageTask::Measure { generation: 0 };
    let sending = runner.timed(&sender, task.clone(), runner.window);
    // It ends when the sender has gone.
    let receiving = runner.timed(&receiver, task, runner.window * 2 + Duration::from_secs(10));
    let (sent, received) = std::thread::scope(|scope| {
        let received = scope.spawn(|| {
            runner.measure(&receiver, receiving, Microbenchmark::TcpReceive(streams), BlockSize::Large)
        });
        let sent = runner.measure(&sender, sending, Microbenchmark::TcpSend(streams), BlockSize::Large);
        (sent, received.join())
    });
    let received = received
        .map_err(|_| CheckError::failure("the receiving side panicked; this is a defect of manometer"))?;
    let sent = sent.map_err(|error| error.during("sending"))?;
    let received = received.map_err(|error| error.during("receiving"))?;
    Ok((sent, received))
}

/// An unused address: from a separate network within 127.0.0.0/8, so that its port stays free.
fn free_address() -> Result<SocketAddr, CheckError> {
    let ip = Ipv4Addr::new(127, fastrand::u8(1..=250), fastrand::u8(..), fastrand::u8(1..=250));
    let listener = TcpListener::bind((ip, 0)).during(format_args!("{ip}: cannot be listened on"))?;
    listener.local_addr().during("the loopback address")
}
