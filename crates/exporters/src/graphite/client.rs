//! The connection to Carbon: a thread of its own behind a bounded queue.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::HostPort;

/// Maximum size of what waits to be sent.
pub(super) const MAX_QUEUED_BYTES: usize = 8 << 20;
/// Deadline of a connection attempt, and of a write.
const DEADLINE: Duration = Duration::from_secs(5);
/// Time between connection attempts.
const RETRY: Duration = Duration::from_secs(1);
/// Time that Carbon has to read the rest at the end.
const FAREWELL: Duration = Duration::from_secs(2);

/// Lines that are sent together.
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    pub lines: String,
    /// Number of lines.
    pub values: u64,
}

/// Sends lines to Carbon. Nobody waits for it: what does not fit into its queue is dropped and counted.
#[derive(Debug)]
pub(super) struct GraphiteClient {
    address: HostPort,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    batches: VecDeque<Batch>,
    bytes: usize,
    /// Values that were to be sent, and those that were.
    offered: u64,
    delivered: u64,
    /// Why the last attempt failed.
    error: Option<String>,
    closed: bool,
    /// The thread has ended.
    ended: bool,
}

/// Values that did not reach Carbon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphiteLosses {
    /// Their number.
    pub values: u64,
    /// Of how many.
    pub of: u64,
    address: HostPort,
    error: Option<String>,
}

impl fmt::Display for GraphiteLosses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { values, of, address, error } = self;
        write!(f, "Graphite at {address}: {values} of {of} values were not delivered")?;
        match error {
            Some(error) => write!(f, ": {error}"),
            None => f.write_str(": it reads more slowly than they arise"),
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next batch; `None` once the queue is closed and empty. It stays in the queue until it is delivered.
    fn next(&self) -> Option<Batch> {
        let waiting = |queue: &mut Queue| queue.batches.is_empty() && !queue.closed;
        let queue = self.changed.wait_while(self.lock(), waiting).unwrap_or_else(PoisonError::into_inner);
        queue.batches.front().cloned()
    }

    fn delivered(&self) {
        let mut queue = self.lock();
        if let Some(batch) = queue.batches.pop_front() {
            queue.bytes -= batch.lines.len();
            queue.delivered += batch.values;
        }
    }

    /// Notes a failure and waits until the next attempt; false if there is none.
    fn failed(&self, error: &io::Error) -> bool {
        let mut queue = self.lock();
        queue.error = Some(error.to_string());
        let waiting = |queue: &mut Queue| !queue.closed;
        let waited = self.changed.wait_timeout_while(queue, RETRY, waiting);
        !waited.unwrap_or_else(PoisonError::into_inner).0.closed
    }
}

impl GraphiteClient {
    /// Starts the thread; it connects when there is something to send.
    ///
    /// # Errors
    /// No thread can be started.
    pub(super) fn start(address: HostPort) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (own, to) = (Arc::clone(&shared), address.clone());
        std::thread::Builder::new().name("graphite".into()).spawn(move || {
            deliver(&own, &to);
            own.lock().ended = true;
            own.changed.notify_all();
        })?;
        Ok(Self { address, shared })
    }

    /// Adds lines to the queue, or drops them if it is full.
    pub(super) fn send(&self, batch: Batch) {
        let mut queue = self.shared.lock();
        queue.offered += batch.values;
        if !queue.closed && queue.bytes + batch.lines.len() <= MAX_QUEUED_BYTES {
            queue.bytes += batch.lines.len();
            queue.batches.push_back(batch);
        }
        drop(queue);
        self.shared.changed.notify_all();
    }

    #[cfg(test)]
    pub(super) fn queued_bytes(&self) -> usize {
        self.shared.lock().bytes
    }

    /// Sends what is queued, within this time, and ends the connection; returns what was not delivered, if anything.
    pub(super) fn finish(&self, within: Duration) -> Option<GraphiteLosses> {
        let mut queue = self.shared.lock();
        queue.closed = true;
        self.shared.changed.notify_all();
        let ending = |queue: &mut Queue| !queue.ended;
        let waited = self.shared.changed.wait_timeout_while(queue, within, ending);
        let queue = waited.unwrap_or_else(PoisonError::into_inner).0;
        let values = queue.offered - queue.delivered;
        let error = queue.error.clone();
        (values > 0).then(|| GraphiteLosses {
            values,
            of: queue.offered,
            address: self.address.clone(),
            error,
        })
    }
}

impl Drop for GraphiteClient {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
    }
}

/// Sends batches until the queue is closed and empty, or closed and the connection broken.
fn deliver(shared: &Shared, address: &HostPort) {
    let mut connection: Option<TcpStream> = None;
    // What was written last may be lost with its connection. Carbon keeps one value per path and time, so it can be
    // sent again.
    let mut last = Batch::default();
    while let Some(batch) = shared.next() {
        let sent = match connection.take().filter(is_open) {
            Some(stream) => write(stream, &batch.lines),
            None => connect(address)
                .and_then(|stream| write(stream, &last.lines))
                .and_then(|stream| write(stream, &batch.lines)),
        };
        match sent {
            Ok(stream) => {
                connection = Some(stream);
                shared.delivered();
                last = batch;
            }
            Err(error) => {
                if !shared.failed(&error) {
                    return;
                }
            }
        }
    }
    if let Some(stream) = connection {
        // Carbon closes its side when it has read everything; closing ours earlier could discard what is under way.
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.set_read_timeout(Some(FAREWELL));
        let _ = (&stream).read(&mut [0; 1]);
    }
}

fn connect(address: &HostPort) -> io::Result<TcpStream> {
    let mut failure = None;
    for candidate in (address.host.as_str(), address.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&candidate, DEADLINE) {
            Ok(stream) => {
                stream.set_write_timeout(Some(DEADLINE))?;
                return Ok(stream);
            }
            Err(error) => failure = Some(error),
        }
    }
    Err(failure.unwrap_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the host has no address")))
}

fn write(mut stream: TcpStream, lines: &str) -> io::Result<TcpStream> {
    stream.write_all(lines.as_bytes())?;
    Ok(stream)
}

/// Whether Carbon has not closed the connection. It never sends anything.
fn is_open(stream: &TcpStream) -> bool {
    matches!(
        recv(stream, &mut [0_u8; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT),
        Err(Errno::WOULDBLOCK | Errno::INTR)
    )
}
