//! A connection with many requests in flight that outlives its streams: what is known about it, whatever its protocol,
//! and the tasks that send and receive while it is served.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use metrics::{ErrorKind, PathFacts};
use reactor::{Buffer, Reactor, Signal, Stream, Task};

use crate::{ConnectionFacts, ReconnectReason, SessionFacts, connections};

/// Maximum retransmits of a request after connection losses.
const LOSSES_MAX: u32 = 8;
/// Maximum retransmits of a request after answers that cannot be understood.
const GARBAGE_MAX: u32 = 3;
/// From this length on, discarding a read's payload in the kernel is worth a system call of its own.
pub(crate) const LARGE_READ: u32 = 32 * 1024;
/// A shorter payload is not worth a system call of its own to discard it.
pub(crate) const DISCARD_MIN: usize = 8 * 1024;
/// With this many large reads in flight it pays to wait for more data per receive: the connection is busy anyway. With
/// fewer, copying a payload only once all of it is there would add to its latency.
const MANY_READS: u32 = 4;
/// Bytes to wait for with fewer.
const PIECE: usize = 128 * 1024;
/// First wait before reconnecting; each one doubles, up to the last.
const BACKOFF_FIRST: Duration = Duration::from_millis(50);
const BACKOFF_LAST: Duration = Duration::from_secs(1);

/// Bytes to wait for in a receive, of those that are due.
#[inline]
pub(crate) fn awaited(due: usize, large_reads: u32) -> usize {
    if large_reads < MANY_READS { due.min(PIECE) } else { due }
}

/// Why a stream was given up.
pub(crate) struct Loss {
    /// Kind of error charged to the requests in flight; `None` if they only time out.
    pub(crate) kind: Option<ErrorKind>,
    pub(crate) text: Box<str>,
}

impl Loss {
    pub(crate) fn new(kind: ErrorKind, text: impl Into<Box<str>>) -> Self {
        Self { kind: Some(kind), text: text.into() }
    }

    /// Charges it to a request that was on the wire, with its earlier losses; returns how the request fails, if it was
    /// lost too often.
    pub(crate) fn charge(
        &self,
        losses: &mut u32,
        latest: &mut Option<ErrorKind>,
    ) -> Option<(ErrorKind, Box<str>)> {
        let kind = self.kind?;
        *losses += 1;
        *latest = Some(kind);
        let limit = if kind == ErrorKind::Protocol { GARBAGE_MAX } else { LOSSES_MAX };
        let text = || format!("{}; given up after {losses} attempts", self.text).into();
        (*losses > limit).then(|| (kind, text()))
    }
}

/// The stream of such a connection, and what is known about all that it had.
pub(crate) struct Reconnecting {
    pub(crate) reactor: Reactor,
    protocol: &'static str,
    /// Number of its worker, and its own within that.
    worker: u32,
    number: usize,
    /// Wakes the sending task.
    pub(crate) wake: Signal,
    /// Absent while the connection is lost.
    pub(crate) stream: RefCell<Option<Stream>>,
    /// Counts streams, so that the sending task notices a new one.
    epoch: Cell<u32>,
    pub(crate) last_received_ns: Cell<u64>,
    last_loss: RefCell<Box<str>>,
    reconnects: Cell<u64>,
    /// Why streams were given up, and how often.
    losses: RefCell<Vec<ReconnectReason>>,
    /// Requests sent more than once.
    retries: Cell<u64>,
    /// Traffic of earlier streams.
    closed: RefCell<Vec<PathFacts>>,
}

impl Reconnecting {
    /// A connection without a stream.
    pub(crate) fn new(reactor: &Reactor, protocol: &'static str, (worker, number): (u32, usize)) -> Self {
        Self {
            reactor: reactor.clone(),
            protocol,
            worker,
            number,
            wake: reactor.signal(),
            stream: RefCell::default(),
            epoch: Cell::default(),
            last_received_ns: Cell::new(reactor.now()),
            last_loss: RefCell::default(),
            reconnects: Cell::default(),
            losses: RefCell::default(),
            retries: Cell::default(),
            closed: RefCell::default(),
        }
    }

    /// Puts its first stream in place.
    pub(crate) fn open(&self, stream: Stream) {
        connections::show(&stream, self.protocol, self.worker, self.number);
        *self.stream.borrow_mut() = Some(stream);
    }

    /// Puts a new stream in place of a lost one.
    pub(crate) fn reopen(&self, stream: Stream) {
        self.open(stream);
        self.reconnects.set(self.reconnects.get() + 1);
        self.last_received_ns.set(self.reactor.now());
    }

    /// Closes the stream and counts the loss.
    pub(crate) fn close(&self, loss: &Loss) {
        if let Some(stream) = self.stream.borrow_mut().take() {
            stream.shutdown();
            connections::note_closed(&mut self.closed.borrow_mut(), &stream);
        }
        self.epoch.set(self.epoch.get() + 1);
        self.wake.set();
        ReconnectReason::count(&mut self.losses.borrow_mut(), &loss.text, 1);
        self.last_loss.borrow_mut().clone_from(&loss.text);
    }

    /// Ends the stream, if there is one: the receiving task sees it and opens the next.
    pub(crate) fn shut_down(&self) {
        if let Some(stream) = &*self.stream.borrow() {
            stream.shutdown();
        }
    }

    pub(crate) fn is_open(&self) -> bool {
        self.stream.borrow().is_some()
    }

    /// Counts requests sent more than once, or operations started again.
    pub(crate) fn count_retries(&self, count: u64) {
        self.retries.set(self.retries.get() + count);
    }

    /// Why an overdue request failed, if that was for a loss: of its connection, which was not restored, or earlier ones,
    /// after which no answer came. `answer` is the protocol's word for one.
    pub(crate) fn overdue(
        &self,
        lost: Option<ErrorKind>,
        answer: &str,
        timeout: Duration,
    ) -> Option<(ErrorKind, String)> {
        let (seconds, loss) = (timeout.as_secs_f64(), self.last_loss.borrow());
        if !self.is_open() {
            let text = format!("{loss}, and it was not restored within {seconds} s");
            return Some((lost.unwrap_or(ErrorKind::ConnectionLost), text));
        }
        Some((lost?, format!("{loss}, and no {answer} on new connections within {seconds} s")))
    }

    /// Adds what is known about it to the facts of its session.
    pub(crate) fn add_to(&self, facts: &mut SessionFacts) {
        facts.connections.extend(self.stream.borrow().as_ref().map(ConnectionFacts::of));
        facts.reconnects += self.reconnects.get();
        for reason in self.losses.borrow().iter() {
            ReconnectReason::count(&mut facts.reconnect_reasons, &reason.text, reason.count);
        }
        facts.retries += self.retries.get();
        let closed = self.closed.borrow();
        facts.closed_retransmits += closed.iter().map(|path| path.retransmits).sum::<u64>();
        facts.closed_paths.extend(closed.iter().cloned());
    }
}

/// What a protocol does on such a connection.
pub(crate) trait Multiplexed {
    /// What was begun in a send buffer and is not complete.
    type Unfinished: Default;
    /// What a connection is continued with.
    type Joined;

    fn transport(&self) -> &Reconnecting;

    /// Fills the buffer with what is to be sent; returns the number of bytes.
    fn gather(&self, buffer: &mut [u8], unfinished: &mut Self::Unfinished) -> usize;

    /// Receives until the stream is lost. Returns why, and whether anything complete had arrived before.
    async fn converse(&self, stream: &Stream, buffer: Buffer) -> (Loss, bool, Buffer);

    /// Gives the stream up: its requests wait for the next one, or end when they were lost too often.
    fn lose(&self, loss: Loss);

    /// One attempt to open the next stream; or why it failed.
    async fn rejoin(&self) -> Result<Self::Joined, Box<str>>;

    /// Continues with it: everything that waits is sent again.
    fn restore(&self, joined: Self::Joined);
}

/// A connection and the tasks that serve it, which end when this is dropped.
pub(crate) struct Served<C> {
    pub(crate) connection: Rc<C>,
    tasks: Vec<Task>,
}

impl<C> Drop for Served<C> {
    fn drop(&mut self) {
        for task in self.tasks.drain(..) {
            task.abort();
        }
    }
}

impl<C: Multiplexed + 'static> Served<C> {
    /// Sends and receives with buffers of these sizes.
    pub(crate) fn start(connection: &Rc<C>, send_bytes: usize, receive_bytes: usize) -> Self {
        let reactor = &connection.transport().reactor;
        let tasks = vec![
            reactor.spawn(transmit(Rc::clone(connection), send_bytes)),
            reactor.spawn(receive(Rc::clone(connection), receive_bytes)),
        ];
        Self { connection: Rc::clone(connection), tasks }
    }

    /// Adds a task.
    pub(crate) fn with(mut self, task: Task) -> Self {
        self.tasks.push(task);
        self
    }
}

/// Sends whatever is queued.
async fn transmit<C: Multiplexed>(connection: Rc<C>, bytes: usize) {
    let transport = connection.transport();
    let mut buffer = transport.reactor.registered_buffer(bytes);
    let mut unfinished = C::Unfinished::default();
    let mut epoch = transport.epoch.get();
    loop {
        if epoch != transport.epoch.get() {
            // What was partly sent is sent again from its start.
            epoch = transport.epoch.get();
            unfinished = C::Unfinished::default();
        }
        let stream = transport.stream.borrow().clone();
        let Some(stream) = stream else {
            transport.wake.wait().await;
            continue;
        };
        let filled = connection.gather(&mut buffer, &mut unfinished);
        if filled == 0 {
            transport.wake.wait().await;
            continue;
        }
        let result;
        (result, buffer) = stream.send_all(buffer, 0..filled).await;
        if result.is_err() {
            // The receiving task sees the end of the stream and reconnects.
            stream.shutdown();
            drop(stream);
            while epoch == transport.epoch.get() {
                transport.wake.wait().await;
            }
        }
    }
}

/// Receives, and reconnects after a loss.
async fn receive<C: Multiplexed>(connection: Rc<C>, bytes: usize) {
    let transport = connection.transport();
    let mut buffer = transport.reactor.registered_buffer(bytes);
    // Consecutive attempts that brought nothing.
    let mut fruitless = 0;
    loop {
        let stream = transport.stream.borrow().clone();
        if let Some(stream) = stream {
            let (loss, progress);
            (loss, progress, buffer) = connection.converse(&stream, buffer).await;
            fruitless = if progress { 0 } else { fruitless + 1 };
            connection.lose(loss);
        }
        if fruitless > 0 {
            let wait = BACKOFF_FIRST.saturating_mul(1 << (fruitless - 1).min(16)).min(BACKOFF_LAST);
            transport.reactor.sleep(wait).await;
        }
        match connection.rejoin().await {
            Ok(joined) => connection.restore(joined),
            Err(text) => {
                fruitless += 1;
                *transport.last_loss.borrow_mut() = text;
            }
        }
    }
}
