//! Serves HTTP/1 connections, plain or over TLS: a bounded number of them, with deadlines.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

use crate::cpu_budget::CpuBudget;
use crate::paced::PacedStream;
use crate::waiting::{Answer, Connection, Waiting};

/// Maximum size of a request's head.
const MAX_HEAD_BYTES: usize = 32 << 10;
/// The first byte of a TLS connection: a handshake record (RFC 8446, section 5.1).
const TLS_HANDSHAKE: u8 = 22;
/// The answer to a client that speaks plain HTTP where TLS is expected.
const USE_HTTPS: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n\
    This address speaks TLS; next: use https:// instead of http://\n";

/// What clients may take.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Maximum number of connections; further ones wait to be accepted.
    pub connections: usize,
    /// Maximum number of connections of one client whose next request has not arrived; for a further one, the one that waits
    /// longest is closed.
    pub waiting: usize,
    /// Maximum time for the head of a request to arrive, also on an idle connection.
    pub head: Duration,
    /// Maximum time that a client may leave sent data unread.
    pub unread: Duration,
}

/// Accepts connections for as long as the runtime lives, within the budget; `service` answers those that reached this local
/// address.
pub async fn attend<S, B>(
    listener: TcpListener,
    limits: ConnectionLimits,
    budget: Arc<CpuBudget>,
    tls: Option<TlsAcceptor>,
    service: impl Fn(SocketAddr) -> S + Send + 'static,
) where
    S: Service<Request<Incoming>, Response = Response<B>> + Send + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let waiting = Waiting::new(limits.waiting);
    let free = Arc::new(Semaphore::new(limits.connections));
    loop {
        let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return };
        budget.solvent().await;
        let Ok((stream, peer)) = listener.accept().await else {
            // Most likely out of descriptors.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Ok(local) = stream.local_addr() else { continue };
        prepare(&stream, limits);
        let (tls, service) = (tls.clone(), service(local));
        let stream = PacedStream::new(stream, Arc::clone(&budget));
        let connection = waiting.connect(peer.ip());
        tokio::spawn(async move {
            tokio::select! {
                () = converse(stream, limits, tls, service, &connection) => {}
                () = connection.refused() => {}
            }
            connection.close();
            drop(permit);
        });
    }
}

fn prepare(stream: &TcpStream, limits: ConnectionLimits) {
    let _ = stream.set_nodelay(true);
    // Without it, a reader that stops reading would keep its connection for ever.
    let unread_ms = u32::try_from(limits.unread.as_millis()).unwrap_or(u32::MAX);
    let _ = sockopt::set_tcp_user_timeout(stream, unread_ms);
}

/// The encrypted connection; `None` if the client does not speak TLS or does not accept the certificate.
async fn handshake(
    tls: &TlsAcceptor,
    mut stream: PacedStream,
) -> Option<tokio_rustls::server::TlsStream<PacedStream>> {
    let mut first = [0];
    if stream.stream().peek(&mut first).await.ok()? == 1 && first[0] != TLS_HANDSHAKE {
        let _ = stream.write_all(USE_HTTPS).await;
        let _ = stream.shutdown().await;
        return None;
    }
    tls.accept(stream).await.ok()
}

/// Answers the requests of a connection until it ends.
async fn converse<S, B>(
    stream: PacedStream,
    limits: ConnectionLimits,
    tls: Option<TlsAcceptor>,
    service: S,
    connection: &Arc<Connection>,
) where
    S: Service<Request<Incoming>, Response = Response<B>> + Send,
    S::Future: Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body + Send + Unpin + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let counted = service_fn(move |request| {
        connection.arrived();
        let answer = service.call(request);
        async move {
            let answer = answer.await?;
            Ok::<_, S::Error>(answer.map(|body| Answer { body, connection: Arc::clone(connection) }))
        }
    });
    match tls {
        None => answer_all(stream, limits, counted).await,
        Some(tls) => {
            // What fails here is the client's: it has no request that could be answered.
            if let Ok(Some(stream)) = tokio::time::timeout(limits.head, handshake(&tls, stream)).await {
                answer_all(stream, limits, counted).await;
            }
        }
    }
}

async fn answer_all<S, B>(stream: impl AsyncRead + AsyncWrite + Unpin, limits: ConnectionLimits, service: S)
where
    S: Service<Request<Incoming>, Response = Response<B>> + Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
