//! Shared by the S3 tests: a scripted server on plain threads, and sessions on both backends.

#![allow(dead_code, reason = "each test program uses its own part of this")]

pub mod store;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use drivers::s3::{Credentials, S3Config, S3Driver, S3Session};
use drivers::{Done, Driver, Op, OpError, Payload, Session, Sink, WorkerContext};
use metrics::OpKind;
use reactor::{BackendChoice, Reactor};

/// Bytes over a socket, plain or TLS.
pub trait Pipe: Read + Write + Send {}
impl<T: Read + Write + Send> Pipe for T {}

/// One connection, as seen by scripts.
pub struct Conn {
    /// The bytes.
    pub pipe: Box<dyn Pipe>,
    /// The socket, for resets and the like.
    pub socket: TcpStream,
    /// Number of the connection, from 0.
    pub number: usize,
}

/// A received request.
#[derive(Debug, Default)]
pub struct Received {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn content_length(&self) -> usize {
        self.header("content-length").map_or(0, |text| text.parse().expect("a number"))
    }
}

impl Conn {
    /// Reads a request's head; `None` if the client has closed.
    pub fn head(&mut self) -> Option<Received> {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            match self.pipe.read(&mut byte) {
                Ok(1) => head.push(byte[0]),
                _ => return None,
            }
        }
        let text = String::from_utf8(head).expect("heads are ASCII");
        let mut lines = text.split("\r\n");
        let mut words = lines.next().expect("a request line").split(' ');
        let mut request = Received {
            method: words.next().expect("a method").to_owned(),
            target: words.next().expect("a target").to_owned(),
            ..Received::default()
        };
        for line in lines.take_while(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ").expect("a header");
            request.headers.push((name.to_owned(), value.to_owned()));
        }
        Some(request)
    }

    /// Reads a request with its body.
    pub fn request(&mut self) -> Option<Received> {
        let mut request = self.head()?;
        request.body = vec![0; request.content_length()];
        self.pipe.read_exact(&mut request.body).ok()?;
        Some(request)
    }

    /// Writes; ignores a disconnected client.
    pub fn write(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.pipe.write_all(bytes.as_ref()).and_then(|()| self.pipe.flush());
    }

    /// Answers with a body and its correct length.
    pub fn answer(&mut self, status: &str, headers: &str, body: &[u8]) {
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
        self.write([head.as_bytes(), body].concat());
    }

    /// Closes with a reset.
    pub fn reset(self) {
        rustix::net::sockopt::set_socket_linger(&self.socket, Some(Duration::ZERO)).expect("an open socket");
    }

    /// Holds the connection open until the client closes it, discarding everything received.
    pub fn stall(&mut self) {
        let mut sink = [0; 4096];
        while matches!(self.pipe.read(&mut sink), Ok(count) if count > 0) {}
    }
}

/// A server whose every connection runs a script on a thread of its own.
pub struct Server {
    pub address: SocketAddr,
    pub connections: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
}

impl Server {
    pub fn start(script: impl Fn(Conn) + Send + Sync + 'static) -> Self {
        Self::wrapped(|socket| Some(Box::new(socket)), script)
    }

    /// A server whose sockets are wrapped, for example in TLS.
    pub fn wrapped(
        wrap: impl Fn(TcpStream) -> Option<Box<dyn Pipe>> + Send + Sync + 'static,
        script: impl Fn(Conn) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let (connections, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (count, end) = (Arc::clone(&connections), Arc::clone(&over));
        let (script, wrap) = (Arc::new(script), Arc::new(wrap));
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                if end.load(Ordering::SeqCst) {
                    return;
                }
                let number = count.fetch_add(1, Ordering::SeqCst);
                let (script, wrap) = (Arc::clone(&script), Arc::clone(&wrap));
                std::thread::spawn(move || {
                    // Guards against threads that outlive their test.
                    let _ = socket.set_read_timeout(Some(Duration::from_secs(60)));
                    let _ = socket.set_nodelay(true);
                    let handle = socket.try_clone().expect("a second handle");
                    if let Some(pipe) = wrap(socket) {
                        script(Conn { pipe, socket: handle, number });
                    }
                });
            }
        });
        Self { address, connections, over }
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    pub fn config(&self) -> S3Config {
        let endpoint = format!("http://{}", self.address).parse().expect("an endpoint");
        S3Config::new(endpoint, "bucket", "manometer-test", Credentials::new("AK", "SK"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes the listener, which then notices the end.
        let _ = TcpStream::connect(self.address);
    }
}

pub const PAYLOAD_SEED: u64 = 7;

pub fn context(sink: Sink) -> WorkerContext {
    WorkerContext {
        worker: 0,
        lanes: 1,
        payload: Payload::new(PAYLOAD_SEED),
        sink,
        op_timeout: Duration::from_secs(30),
        connect_timeout: Duration::from_secs(10),
    }
}

pub fn content(object: u64, offset: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    Payload::new(PAYLOAD_SEED).fill(object, offset, &mut bytes);
    bytes
}

pub fn op(kind: OpKind, object: u64, len: u64) -> Op {
    Op::new(kind, 0, object).range(0, len)
}

/// The backends that this machine has; epoll is always there.
pub fn backends() -> Vec<BackendChoice> {
    let mut all = vec![BackendChoice::Epoll];
    if Reactor::open(BackendChoice::Uring).is_ok() {
        all.push(BackendChoice::Uring);
    }
    all
}

/// Runs a test with a session on one backend.
pub fn with_session<T>(
    choice: BackendChoice,
    config: S3Config,
    context: &WorkerContext,
    test: impl AsyncFnOnce(&S3Session) -> T,
) -> T {
    let driver = S3Driver::new(config).expect("a good configuration");
    let reactor = Reactor::open(choice).expect("the backend is there");
    reactor.block_on(async {
        let session = driver.connect(&reactor, context).await.expect("the server is there");
        test(&session).await
    })
}

/// A deadline that is never reached in a successful test.
pub const LONG: Duration = Duration::from_secs(30);

/// Performs one operation against a script, with a short deadline where the script stalls.
pub fn perform(
    choice: reactor::BackendChoice,
    server: &Server,
    sink: Sink,
    op: Op,
    deadline: Duration,
) -> Result<Done, OpError> {
    let mut context = context(sink);
    context.op_timeout = deadline;
    with_session(choice, server.config(), &context, async |session| session.perform(&op).await)
}

/// Head and body of a response, as bytes.
pub fn whole(head: &str, body: &[u8]) -> Vec<u8> {
    [head.as_bytes(), body].concat()
}
