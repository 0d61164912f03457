//! Slow clients beside others, over real sockets and without limits of time.

use std::convert::Infallible;
use std::net::Ipv4Addr;

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Frame};
use hyper::service::service_fn;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use super::*;

/// Waiting connections of a client.
const WAITING: usize = 4;
/// Nothing here may end by itself.
const NEVER: Duration = Duration::from_secs(3600);
/// A guard against hangs.
const HANG: Duration = Duration::from_secs(120);
const START: &[u8] = b"GET / HTTP/1.1\r\nhost: x\r\n";

/// A body that never ends.
struct Endless {
    begun: bool,
}

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match std::mem::replace(&mut self.begun, true) {
            false => std::task::Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"begun"))))),
            true => std::task::Poll::Pending,
        }
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<BoxBody<Bytes, Infallible>>, Infallible> {
    Ok(Response::new(match request.uri().path() {
        "/endless" => Endless { begun: false }.boxed(),
        _ => Full::from("done").boxed(),
    }))
}

async fn serve() -> SocketAddr {
    serve_within(&CpuBudget::new(1.0)).await
}

async fn serve_within(budget: &Arc<CpuBudget>) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let limits = ConnectionLimits { connections: 100, waiting: WAITING, head: NEVER, unread: NEVER };
    tokio::spawn(attend(listener, limits, Arc::clone(budget), None, |_| service_fn(answer)));
    address
}

/// Connects from an address of the loopback network, and sends something.
async fn send(to: SocketAddr, from: [u8; 4], text: &[u8]) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((Ipv4Addr::from(from), 0).into()).unwrap();
    let mut stream = socket.connect(to).await.unwrap();
    stream.write_all(text).await.unwrap();
    stream
}

/// Reads until the text ends with `end`.
async fn read_to(stream: &mut TcpStream, end: &str) {
    let mut text = String::new();
    while !text.contains(end) {
        let mut piece = [0; 1000];
        let length = stream.read(&mut piece).await.unwrap();
        assert!(length > 0, "closed after {text:?}");
        text.push_str(&String::from_utf8_lossy(&piece[..length]));
    }
}

#[tokio::test]
async fn slow_clients_lose_their_oldest_connections_and_readers_none() {
    const ONE: [u8; 4] = [127, 0, 0, 1];
    let address = serve().await;
    let mut readers = Vec::new();
    for _ in 0..3 * WAITING {
        let mut reader = send(address, ONE, b"GET /endless HTTP/1.1\r\nhost: x\r\n\r\n").await;
        read_to(&mut reader, "begun").await;
        readers.push(reader);
    }
    let mut other = send(address, [127, 0, 0, 2], START).await;
    let mut slow = Vec::new();
    for _ in 0..2 * WAITING {
        slow.push(send(address, ONE, START).await);
    }
    // The first half was closed for the second one; an unread head may make that a reset.
    for closed in &mut slow[..WAITING] {
        let mut piece = [0; 100];
        let end = tokio::time::timeout(HANG, closed.read(&mut piece)).await.expect("it stays open");
        assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
    }
    for open in slow[WAITING..].iter_mut().chain([&mut other]) {
        open.write_all(b"\r\n").await.unwrap();
        read_to(open, "done").await;
    }
    for reader in &mut readers {
        let mut byte = [0; 1];
        let open = tokio::select! {
            biased;
            end = reader.read(&mut byte) => matches!(end, Ok(1..)),
            () = tokio::task::yield_now() => true,
        };
        assert!(open, "a reader was closed");
    }
    let mut late = send(address, ONE, b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
    read_to(&mut late, "done").await;
}

/// Uses this much CPU time of the calling thread.
fn work(seconds: f64) {
    let used = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let begun = used();
    while used() < begun + seconds {}
}

#[tokio::test]
async fn requests_beside_a_load_wait_while_the_budget_is_used_up() {
    // So little that no test is long enough to earn it.
    let budget = CpuBudget::new(1e-9);
    budget.pays_for_thread();
    let within = serve_within(&budget).await;
    let free = serve().await;
    let request = [START, b"\r\n"].concat();
    // Without a load, what was used does not matter.
    work(0.01);
    CpuBudget::count_thread();
    read_to(&mut send(within, [127, 0, 0, 1], &request).await, "done").await;

    let mut early = send(within, [127, 0, 0, 1], START).await;
    let beside = budget.beside_load();
    CpuBudget::count_thread();
    work(0.01);
    CpuBudget::count_thread();
    early.write_all(b"\r\n").await.unwrap();
    let mut late = send(within, [127, 0, 0, 1], &request).await;
    // Long enough for answers to both, on the same thread.
    for _ in 0..100 {
        read_to(&mut send(free, [127, 0, 0, 1], &request).await, "done").await;
    }
    for waiting in [&mut early, &mut late] {
        let read = waiting.try_read(&mut [0; 1]);
        assert_eq!(read.unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    }
    drop(beside);
    for waiting in [&mut early, &mut late] {
        tokio::time::timeout(HANG, read_to(waiting, "done")).await.unwrap();
    }
}
