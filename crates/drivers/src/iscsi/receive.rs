//! What is received: one reused buffer, PDUs parsed in place; and a new login after a loss.

use metrics::ErrorKind;
use reactor::{Buffer, Stream};

use super::caller::Joined;
use super::connection::Connection;
use super::incoming::Incoming;
use super::login::establish;
use crate::Sink;
use crate::reconnecting::{DISCARD_MIN, Loss, awaited};

/// One attempt to log in again.
pub(super) async fn log_in(connection: &Connection) -> Result<Joined, Box<str>> {
    let (settings, reactor) = (&connection.settings, &connection.transport.reactor);
    let limit = settings.connect_timeout.min(settings.op_timeout);
    let end_ns = reactor.now() + limit.as_nanos() as u64;
    match establish(reactor, &settings.config, &connection.way, false, end_ns).await {
        Ok(caller) => Ok(caller.into_parts()),
        Err(error) => Err(format!("the connection was lost and a new login failed: {}", error.detail).into()),
    }
}

/// Receives until the connection is lost. Returns why, and whether whole PDUs had arrived before.
pub(super) async fn converse(
    connection: &Connection,
    stream: &Stream,
    mut buffer: Buffer,
) -> (Loss, bool, Buffer) {
    let settings = &connection.settings;
    let agreed = connection.state.borrow().agreed;
    let mut incoming = Incoming::new(&agreed, settings.payload, settings.sink);
    let loss = loop {
        let large_reads = connection.state.borrow().table.large_reads;
        let due = incoming.due();
        // Behind the payload that is discarded in the kernel, only the next header is received.
        let window = match due {
            _ if !incoming.discards() || large_reads == 0 => buffer.len(),
            due => (due + incoming.head_bytes()).min(buffer.len()),
        };
        let result;
        (result, buffer) = stream.recv_due(buffer, 0..window, awaited(due, large_reads)).await;
        let count = match result {
            Ok(0) => break ended(connection),
            Ok(count) => count,
            Err(error) => break failed(connection, &error),
        };
        let now_ns = connection.transport.reactor.now();
        connection.transport.last_received_ns.set(now_ns);
        if let Err(loss) = incoming.feed(&buffer[..count], connection, now_ns) {
            break loss;
        }
        let discardable = incoming.discardable();
        if settings.sink != Sink::Discard || discardable < DISCARD_MIN {
            continue;
        }
        match stream.recv_discard(discardable).await {
            Ok(count) if count == discardable => {}
            Ok(_) => break ended(connection),
            Err(error) => break failed(connection, &error),
        }
        let now_ns = connection.transport.reactor.now();
        connection.transport.last_received_ns.set(now_ns);
        if let Err(loss) = incoming.discarded(discardable, connection, now_ns) {
            break loss;
        }
    };
    (loss, incoming.pdus() > 0, buffer)
}

fn ended(connection: &Connection) -> Loss {
    let text = connection.doomed().unwrap_or_else(|| "the target closed the connection".into());
    Loss::new(ErrorKind::ConnectionLost, text)
}

fn failed(connection: &Connection, error: &std::io::Error) -> Loss {
    let text = connection.doomed().unwrap_or_else(|| format!("the connection was lost: {error}").into());
    Loss::new(ErrorKind::ConnectionLost, text)
}
