//! What is received: one reused buffer, replies parsed in place; and reconnection after a loss.

use metrics::ErrorKind;
use reactor::{Buffer, Stream};

use super::caller::Caller;
use super::connection::Connection;
use super::incoming::{Garbage, Incoming};
use crate::Sink;
use crate::reconnecting::{DISCARD_MIN, Loss, awaited};

/// Bytes received at a time when the payload that follows will be discarded in the kernel: enough for the head of a
/// READ reply with the usual empty verifier (136 bytes).
const HEAD_WINDOW: usize = 192;

/// One attempt to reconnect.
pub(super) async fn rejoin(connection: &Connection) -> Result<Stream, Box<str>> {
    let (settings, reactor) = (&connection.settings, &connection.transport.reactor);
    let limit = settings.connect_timeout.min(settings.op_timeout);
    let end = reactor.now() + limit.as_nanos() as u64;
    let attempt = reactor.connect(connection.way.remote, &connection.way.options);
    match reactor.timeout_at(end, attempt).await {
        Ok(Ok(stream)) => bind(connection, stream, end).await,
        Ok(Err(e)) => Err(format!("the connection was lost and reconnecting failed: {e}").into()),
        Err(_) => {
            let seconds = limit.as_secs_f64();
            Err(format!("the connection was lost and reconnecting timed out after {seconds} s").into())
        }
    }
}

/// Binds a new connection to the session, with version 4.1.
async fn bind(connection: &Connection, stream: Stream, end_ns: u64) -> Result<Stream, Box<str>> {
    let Some(session) = &connection.settings.session else { return Ok(stream) };
    let (reactor, way) = (&connection.transport.reactor, connection.way);
    let peer = format!("NFS server at {}", way.remote);
    let mut caller = Caller::over(reactor, stream, way, peer, &connection.settings.credential, end_ns);
    match reactor.timeout_at(end_ns, session.rejoin(&mut caller, &way)).await {
        Ok(Ok(())) => Ok(caller.into_stream()),
        Ok(Err(error)) => Err(format!("the session could not be continued: {}", error.detail).into()),
        Err(_) => {
            Err("the session could not be continued: another connection did not replace it in time".into())
        }
    }
}

/// Receives until the connection is lost. Returns why, and whether complete replies had arrived before.
pub(super) async fn converse(
    connection: &Connection,
    stream: &Stream,
    mut buffer: Buffer,
) -> (Loss, bool, Buffer) {
    let settings = &connection.settings;
    let incoming = Incoming::new(settings.record_limit(), settings.payload, settings.sink);
    let mut incoming = incoming.within(settings.session.clone());
    let loss = loop {
        let large_reads = connection.table.borrow().large_reads;
        let due = incoming.due();
        let window = match due {
            _ if settings.sink != Sink::Discard || large_reads == 0 => buffer.len(),
            0 => HEAD_WINDOW,
            // The end of a fragment, or a payload in many small fragments.
            due => (due + HEAD_WINDOW).min(buffer.len()),
        };
        let result;
        (result, buffer) = stream.recv_due(buffer, 0..window, awaited(due, large_reads)).await;
        let count = match result {
            Ok(0) => break ended(connection),
            Ok(count) => count,
            Err(e) => break failed(&e),
        };
        let now_ns = connection.transport.reactor.now();
        connection.transport.last_received_ns.set(now_ns);
        let fed = incoming.feed(&buffer[..count], &mut connection.table.borrow_mut(), now_ns);
        if let Err(Garbage(text)) = fed {
            break Loss::new(kind_of(&incoming), text);
        }
        let discardable = incoming.discardable();
        if discardable < DISCARD_MIN {
            continue;
        }
        match stream.recv_discard(discardable).await {
            Ok(count) if count == discardable => incoming.discarded(count),
            Ok(_) => break ended(connection),
            Err(e) => break failed(&e),
        }
        let now_ns = connection.transport.reactor.now();
        connection.transport.last_received_ns.set(now_ns);
        // The record may have ended with the discarded bytes.
        if let Err(Garbage(text)) = incoming.feed(&[], &mut connection.table.borrow_mut(), now_ns) {
            break Loss::new(ErrorKind::Protocol, text);
        }
    };
    (loss, incoming.records() > 0, buffer)
}

/// The kind of error for a stream that cannot be continued.
fn kind_of(incoming: &Incoming) -> ErrorKind {
    if incoming.session_lost() { ErrorKind::ConnectionLost } else { ErrorKind::Protocol }
}

fn ended(connection: &Connection) -> Loss {
    if connection.silent.replace(false) {
        return Loss { kind: None, text: "the connection was silent and was given up".into() };
    }
    Loss::new(ErrorKind::ConnectionLost, "the server closed the connection")
}

fn failed(error: &std::io::Error) -> Loss {
    Loss::new(ErrorKind::ConnectionLost, format!("the connection was lost: {error}"))
}
