//! Serves HTTP/1 connections: a bounded number of them, with deadlines.

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// Maximum size of a request's head.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// What clients may take.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Maximum number of connections; further ones wait to be accepted.
    pub connections: usize,
    /// Maximum time for the head of a request to arrive, also on an idle connection.
    pub head: Duration,
    /// Maximum time that a client may leave sent data unread.
    pub unread: Duration,
}

/// Accepts connections for as long as the runtime lives; `service` answers those that reached this local address.
pub async fn attend<S, B>(
    listener: TcpListener,
    limits: ConnectionLimits,
    service: impl Fn(SocketAddr) -> S + Send + 'static,
) where
    S: Service<Request<Incoming>, Response = Response<B>> + Send + 'static,
    S::Future: Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let free = Arc::new(Semaphore::new(limits.connections));
    loop {
        let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Most likely out of descriptors.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let Ok(local) = stream.local_addr() else { continue };
        let conversation = converse(stream, limits, service(local));
        tokio::spawn(async move {
            conversation.await;
            drop(permit);
        });
    }
}

async fn converse<S, B>(stream: TcpStream, limits: ConnectionLimits, service: S)
where
    S: Service<Request<Incoming>, Response = Response<B>> + Send,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    B: Body + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let _ = stream.set_nodelay(true);
    // Without it, a reader that stops reading would keep its connection for ever.
    let unread_ms = u32::try_from(limits.unread.as_millis()).unwrap_or(u32::MAX);
    let _ = sockopt::set_tcp_user_timeout(&stream, unread_ms);
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
