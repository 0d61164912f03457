//! The receiving task: one reused buffer, PDUs parsed in place, and a new login after a loss.

use std::rc::Rc;
use std::time::Duration;

use metrics::ErrorKind;
use reactor::{Buffer, Stream};

use super::caller::Joined;
use super::connection::Connection;
use super::incoming::Incoming;
use super::login::establish;
use super::state::Loss;
use crate::Sink;

/// With this many large reads in flight it pays to wait for more data per receive: the connection is busy anyway. With
/// fewer, copying a payload only once all of it is there would add to its latency.
const MANY_READS: u32 = 4;
/// Bytes to wait for with fewer.
const PIECE: usize = 128 * 1024;
/// A shorter payload is not worth a system call of its own to discard it.
const DISCARD_MIN: usize = 8 * 1024;
/// First wait before reconnecting; each one doubles, up to the last.
const BACKOFF_FIRST: Duration = Duration::from_millis(50);
const BACKOFF_LAST: Duration = Duration::from_secs(1);

/// Receives while the connection is served.
pub(super) async fn run(connection: Rc<Connection>) {
    let mut buffer = connection.reactor.registered_buffer(connection.settings.receive_bytes);
    // Consecutive attempts that brought nothing.
    let mut fruitless = 0;
    loop {
        let stream = connection.stream.borrow().clone();
        if let Some(stream) = stream {
            let (loss, progress);
            (loss, progress, buffer) = converse(&connection, &stream, buffer).await;
            fruitless = if progress { 0 } else { fruitless + 1 };
            connection.lose(loss);
        }
        if fruitless > 0 {
            let wait = BACKOFF_FIRST.saturating_mul(1 << (fruitless - 1).min(16)).min(BACKOFF_LAST);
            connection.reactor.sleep(wait).await;
        }
        match log_in(&connection).await {
            Ok(joined) => connection.restore(joined),
            Err(text) => {
                fruitless += 1;
                *connection.last_loss.borrow_mut() = text;
            }
        }
    }
}

/// One attempt to log in again.
async fn log_in(connection: &Connection) -> Result<Joined, Box<str>> {
    let settings = &connection.settings;
    let limit = settings.connect_timeout.min(settings.op_timeout);
    let end_ns = connection.reactor.now() + limit.as_nanos() as u64;
    match establish(&connection.reactor, &settings.config, &connection.way, false, end_ns).await {
        Ok(caller) => Ok(caller.into_parts()),
        Err(error) => Err(format!("the connection was lost and a new login failed: {}", error.detail).into()),
    }
}

/// Receives until the connection is lost. Returns why, and whether whole PDUs had arrived before.
async fn converse(connection: &Connection, stream: &Stream, mut buffer: Buffer) -> (Loss, bool, Buffer) {
    let settings = &connection.settings;
    let agreed = connection.state.borrow().agreed;
    let mut incoming = Incoming::new(&agreed, settings.payload, settings.sink);
    let loss = loop {
        let large_reads = connection.state.borrow().table.large_reads;
        let mut due = incoming.due();
        // Behind the payload that is discarded in the kernel, only the next header is received.
        let window = match due {
            _ if !incoming.discards() || large_reads == 0 => buffer.len(),
            due => (due + incoming.head_bytes()).min(buffer.len()),
        };
        if large_reads < MANY_READS {
            due = due.min(PIECE);
        }
        let result;
        (result, buffer) = stream.recv_due(buffer, 0..window, due).await;
        let count = match result {
            Ok(0) => break ended(connection),
            Ok(count) => count,
            Err(error) => break failed(connection, &error),
        };
        let now_ns = connection.reactor.now();
        connection.last_received_ns.set(now_ns);
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
        let now_ns = connection.reactor.now();
        connection.last_received_ns.set(now_ns);
        if let Err(loss) = incoming.discarded(discardable, connection, now_ns) {
            break loss;
        }
    };
    (loss, incoming.pdus() > 0, buffer)
}

fn ended(connection: &Connection) -> Loss {
    let text = connection.doomed().unwrap_or_else(|| "the target closed the connection".into());
    Loss { kind: ErrorKind::ConnectionLost, text }
}

fn failed(connection: &Connection, error: &std::io::Error) -> Loss {
    let text = connection.doomed().unwrap_or_else(|| format!("the connection was lost: {error}").into());
    Loss { kind: ErrorKind::ConnectionLost, text }
}
