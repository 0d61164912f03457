//! Listens and serves connections: a bounded number of them, with deadlines.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rustix::net::sockopt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::access::LocalAddress;

/// Maximum number of connections; further ones wait to be accepted.
const MAX_CONNECTIONS: usize = 512;
/// Maximum time for the head of a request to arrive, also on an idle connection.
const HEAD_DEADLINE: Duration = Duration::from_secs(15);
/// Maximum time that a client may leave sent data unread.
const UNREAD_MS: u32 = 60_000;
/// Maximum size of a request's head.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// Accepts connections for as long as the runtime lives.
pub(crate) async fn attend(listener: TcpListener, router: Router) {
    let free = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    loop {
        let Ok(permit) = Arc::clone(&free).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Most likely out of descriptors.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let router = router.clone();
        tokio::spawn(async move {
            converse(stream, router).await;
            drop(permit);
        });
    }
}

async fn converse(stream: TcpStream, router: Router) {
    let Ok(local) = stream.local_addr() else { return };
    let _ = stream.set_nodelay(true);
    // Without it, a reader that stops reading would keep its connection for ever.
    let _ = sockopt::set_tcp_user_timeout(&stream, UNREAD_MS);
    let service = service_fn(move |mut request: Request<hyper::body::Incoming>| {
        request.extensions_mut().insert(LocalAddress(local));
        TowerToHyperService::new(router.clone()).call(request.map(Body::new))
    });
    let _ = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_DEADLINE)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
