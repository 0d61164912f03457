//! Thread-per-core I/O: one reactor per worker thread, on io_uring or, if that is refused, on epoll.
//!
//! Lanes and background tasks are polled by index: a completion knows the task that waits for it, and only that task is
//! polled. Nothing here is `Send`; threads share nothing. A third backend replaces the kernel with a virtual clock, so
//! that whole runs are exact and repeatable in tests.
//!
//! Futures of other libraries rely on wakers and would never wake up here; use the reactor's own. Threads of other
//! libraries report through [`Reactor::completions`].

mod blocking;
mod buffer;
mod calls;
mod choice;
pub mod clock;
mod close;
mod completions;
mod core;
mod directory;
mod discard;
mod epoll;
mod file;
mod file_calls;
pub mod live;
mod pool;
mod ring;
mod signal;
mod slots;
mod socket;
mod stream;
mod tcp_info;
mod timers;
mod uring;
mod uring_refusal;

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

pub use crate::blocking::BlockingCall;
pub use crate::buffer::Buffer;
pub use crate::choice::{BackendChoice, Polling, UnknownBackend};
pub use crate::completions::{Completer, Completions};
pub use crate::directory::{DIRECTORY_MODE, Directory, FILE_MODE, NAME_BUFFER, SECOND_NAME_AT};
pub use crate::file::{Durable, File, FileOptions, Space};
pub use crate::signal::Signal;
pub use crate::socket::{Device, SocketOptions, listening};
pub use crate::stream::{Listener, Stream};
pub use crate::tcp_info::{SendLimit, TcpInfo};
pub use crate::uring_refusal::UringRefusal;

use crate::core::{Inner, Kernel, TaskId, Yield};
use crate::timers::TimerId;

/// The backend in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Backend {
    /// io_uring.
    Uring,
    /// epoll.
    Epoll,
    /// Virtual clock, no I/O.
    Simulated,
}

impl std::fmt::Display for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Backend::Uring => "io_uring",
            Backend::Epoll => "epoll",
            Backend::Simulated => "simulated",
        })
    }
}

/// No reactor could be opened.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// io_uring was required and is not available.
    #[error("io_uring is not available: {0}; use --reactor epoll or auto")]
    Uring(UringRefusal),
    /// Not even epoll is available.
    #[error("epoll is not available: {0}")]
    Epoll(String),
}

/// The deadline passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the deadline passed")]
pub struct Elapsed;

/// A thread's reactor. Clones refer to the same reactor.
///
/// The original value owns the background tasks: when it is dropped, so are they.
pub struct Reactor {
    inner: Rc<Inner>,
    owner: bool,
}

impl Clone for Reactor {
    fn clone(&self) -> Self {
        Reactor { inner: Rc::clone(&self.inner), owner: false }
    }
}

impl Drop for Reactor {
    fn drop(&mut self) {
        if self.owner {
            self.inner.close();
        }
    }
}

impl std::fmt::Debug for Reactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reactor({})", self.backend())
    }
}

impl Reactor {
    /// Opens a reactor for this thread.
    ///
    /// # Errors
    /// If the chosen backend is refused, or with [`BackendChoice::Auto`] even epoll is.
    pub fn open(choice: BackendChoice) -> Result<Reactor, OpenError> {
        let refusal = match choice {
            BackendChoice::Epoll => None,
            BackendChoice::Auto
            | BackendChoice::Uring
            | BackendChoice::Batching
            | BackendChoice::Polling(_) => match uring::Uring::open(choice) {
                Ok(uring) => return Ok(Self::over(Kernel::Uring(uring), None)),
                Err(reason) if choice != BackendChoice::Auto => return Err(OpenError::Uring(reason)),
                Err(reason) => Some(reason.to_string()),
            },
        };
        let epoll = epoll::Epoll::open().map_err(|e| OpenError::Epoll(e.to_string()))?;
        Ok(Self::over(Kernel::Epoll(epoll), refusal))
    }

    /// A reactor without I/O whose clock starts at 0 and jumps to the next timer whenever nothing is ready.
    pub fn simulated() -> Reactor {
        Self::over(Kernel::Simulated(Cell::new(0)), None)
    }

    fn over(kernel: Kernel, refusal: Option<String>) -> Reactor {
        Reactor { inner: Inner::new(kernel, refusal), owner: true }
    }

    /// Assigns sockets created from now on to a run ([`live::connections`]).
    pub fn set_scope(&self, scope: Option<live::Scope>) {
        self.inner.scope.set(scope);
    }

    /// The backend in use.
    pub fn backend(&self) -> Backend {
        match self.inner.kernel {
            Kernel::Uring(_) => Backend::Uring,
            Kernel::Epoll(_) => Backend::Epoll,
            Kernel::Simulated(_) => Backend::Simulated,
        }
    }

    /// Why io_uring is not in use although [`BackendChoice::Auto`] prefers it.
    pub fn refusal(&self) -> Option<String> {
        self.inner.refusal.clone()
    }

    /// Nanoseconds on the monotonic clock ([`clock::now_ns`]), or on the virtual one.
    #[inline]
    pub fn now(&self) -> u64 {
        self.inner.now()
    }

    /// The same clock, read at most once per turn of the loop: for uses that tolerate an error of one turn, such as
    /// deadlines. Never later than [`Reactor::now`].
    #[inline]
    pub fn turn_ns(&self) -> u64 {
        self.inner.turn_ns()
    }

    /// A channel for other threads, such as a library's callbacks, to complete what tasks of this reactor wait for:
    /// returns the receiver and the threads' end, which can be cloned and sent.
    ///
    /// # Errors
    /// What eventfd(2) and epoll_ctl(2) report; `Unsupported` on a virtual clock, which excludes other threads.
    pub fn completions<T: Send>(&self) -> io::Result<(Completions<T>, Completer<T>)> {
        let completions = Completions::open(&self.inner)?;
        let completer = completions.completer();
        Ok((completions, completer))
    }

    /// Starts a background task. It runs whenever the reactor does.
    pub fn spawn(&self, future: impl Future<Output = ()> + 'static) -> Task {
        Task { inner: Rc::clone(&self.inner), id: self.inner.spawn(Box::pin(future)) }
    }

    /// Runs until the future is done.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        let mut output = None;
        self.inner.make_ready(0);
        self.inner.run(|_, context| match future.as_mut().poll(context) {
            Poll::Ready(value) => {
                output = Some(value);
                true
            }
            Poll::Pending => false,
        });
        output.expect("the loop ends when the future is done")
    }

    /// Runs all lanes until each is done, or until `until` is done: then the remaining lanes are dropped, and their
    /// number is returned.
    pub fn run_lanes<L, U>(&self, lanes: Vec<L>, until: U) -> usize
    where
        L: Future<Output = ()>,
        U: Future<Output = ()>,
    {
        let count = lanes.len();
        let mut lanes: Box<[Option<L>]> = lanes.into_iter().map(Some).collect();
        let mut until = pin!(until);
        let mut left = count;
        if left == 0 {
            return 0;
        }
        for lane in 0..=count {
            self.inner.make_ready(lane as u32);
        }
        self.inner.run(|task, context| {
            let index = task as usize;
            if index < count {
                let Some(lane) = &mut lanes[index] else { return false };
                // SAFETY: the slice is never moved, and a lane is only dropped in place.
                if unsafe { Pin::new_unchecked(lane) }.poll(context).is_ready() {
                    lanes[index] = None;
                    left -= 1;
                }
                left == 0
            } else {
                index == count && until.as_mut().poll(context).is_ready()
            }
        });
        left
    }

    /// Waits until a time on [`Reactor::now`]'s clock; returns at once if it has passed.
    pub async fn sleep_until(&self, at_ns: u64) {
        let mut sleep = Sleep { inner: &self.inner, at_ns, timer: None };
        poll_fn(|_| sleep.poll()).await;
    }

    /// Waits for a duration.
    pub async fn sleep(&self, span: Duration) {
        self.sleep_until(self.now().saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))).await;
    }

    /// Lets every other ready task run first.
    #[inline]
    pub async fn yield_now(&self) {
        Yield { inner: &self.inner, yielded: false }.await;
    }

    /// Waits for a future until a deadline; after that the future is dropped and its operations are cancelled.
    ///
    /// # Errors
    /// [`Elapsed`] if the deadline passed first.
    pub async fn timeout_at<F: Future>(&self, at_ns: u64, future: F) -> Result<F::Output, Elapsed> {
        let mut future = pin!(future);
        let mut sleep = Sleep { inner: &self.inner, at_ns, timer: None };
        poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(value) => Poll::Ready(Ok(value)),
            Poll::Pending => sleep.poll().map(|()| Err(Elapsed)),
        })
        .await
    }

    /// A new signal between tasks of this reactor.
    pub fn signal(&self) -> Signal {
        Signal::new(Rc::clone(&self.inner))
    }

    /// Has a thread of the pool that file operations use make a blocking call of a library, and returns the call with its
    /// results. If this future is dropped, the call is still made; what it holds is dropped after it.
    ///
    /// # Errors
    /// No pool can be started; `Unsupported` on a virtual clock. The call is dropped then.
    pub async fn call_blocking<C: BlockingCall>(&self, call: Box<C>) -> io::Result<Box<C>> {
        blocking::call(&self.inner, call).await
    }

    /// Zeroed, page-aligned memory for operations.
    pub fn buffer(&self, len: usize) -> Buffer {
        Buffer::new(len)
    }

    /// The same, and registered with the kernel where possible ([`Buffer::is_registered`]), which saves looking up the
    /// pages for every zero-copy send.
    pub fn registered_buffer(&self, len: usize) -> Buffer {
        Buffer::registered(&self.inner, len)
    }

    /// Connects to a TCP address.
    ///
    /// # Errors
    /// What connect(2) reports. There is no timeout of its own: use [`Reactor::timeout_at`].
    pub async fn connect(&self, to: SocketAddr, options: &SocketOptions) -> io::Result<Stream> {
        Stream::connect(&self.inner, to, options).await
    }

    /// A file or device that is already open, with the options used to open it.
    pub fn file(&self, fd: OwnedFd, options: FileOptions) -> File {
        File::new(&self.inner, fd, options, false)
    }

    /// A directory for opening files by name. Blocks while the path is looked up.
    ///
    /// # Errors
    /// What open(2) reports.
    pub fn directory(&self, path: &Path) -> io::Result<Directory> {
        Directory::open(&self.inner, path, false)
    }

    /// The same for a directory below which are only files and directories of its own file system: no devices, pipes,
    /// links or mounts. If that file system is in memory (tmpfs(5)), operations are plain system calls of this thread.
    ///
    /// # Errors
    /// What open(2) reports.
    pub fn plain_directory(&self, path: &Path) -> io::Result<Directory> {
        Directory::open(&self.inner, path, true)
    }

    /// Whether direct reads and writes poll the device for completions ([`Polling::completions`](crate::Polling)).
    pub fn polls_completions(&self) -> bool {
        matches!(&self.inner.kernel, Kernel::Uring(uring) if uring.polls_completions())
    }

    /// Listens on a TCP address; port 0 chooses a free one. Accepted connections have `TCP_NODELAY` set.
    ///
    /// # Errors
    /// What socket(2), bind(2) and listen(2) report.
    pub fn listen(&self, on: SocketAddr, backlog: u32) -> io::Result<Listener> {
        self.accept_on(listening(&on, backlog, &SocketOptions::default())?, true)
    }

    /// Accepts connections on a socket that is already listening ([`listening`]), with or without `TCP_NODELAY`.
    ///
    /// # Errors
    /// If there is no I/O here, or no descriptor left.
    pub fn accept_on(&self, socket: OwnedFd, nodelay: bool) -> io::Result<Listener> {
        Listener::open(&self.inner, socket, nodelay)
    }
}

/// A background task. Dropping the handle detaches the task, which continues.
pub struct Task {
    inner: Rc<Inner>,
    id: TaskId,
}

impl Task {
    /// Drops the task at its current point; its operations are cancelled.
    pub fn abort(self) {
        self.inner.abort(self.id);
    }
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Task({:?})", self.id)
    }
}

struct Sleep<'a> {
    inner: &'a Inner,
    at_ns: u64,
    timer: Option<TimerId>,
}

impl Sleep<'_> {
    fn poll(&mut self) -> Poll<()> {
        if self.inner.now() >= self.at_ns {
            return Poll::Ready(());
        }
        if self.timer.is_none() {
            self.timer = Some(self.inner.timers.borrow_mut().insert(self.at_ns, self.inner.current()));
        }
        Poll::Pending
    }
}

impl Drop for Sleep<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(timer) = self.timer.take() {
            self.inner.timers.borrow_mut().remove(timer);
        }
    }
}
