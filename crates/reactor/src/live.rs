//! Lets other threads inspect this process's connections and worker threads without involving or delaying a worker.
//!
//! A process may execute several runs at once. Each has a [`Scope`] that separates its connections and workers from
//! others.
//!
//! A named connection ([`Stream::name`](crate::Stream::name)) is in a global list until it is closed. The list is
//! locked when connections come and go and when somebody inspects it, never when data moves. A descriptor is borrowed
//! for a single system call and never duplicated, which would keep the connection open.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::TcpInfo;
use crate::tcp_info;

/// A run within the process, which owns connections and workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scope(u64);

impl Scope {
    /// A new, unique scope.
    pub fn unique() -> Self {
        static NEXT_SCOPE: AtomicU64 = AtomicU64::new(0);
        Scope(NEXT_SCOPE.fetch_add(1, Ordering::Relaxed))
    }
}

/// The owner of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionName {
    /// Its protocol: `nfs`, `s3`, `tcp`.
    pub protocol: &'static str,
    /// Number of the worker, from 0.
    pub worker: u32,
    /// Number of the connection within its worker, from 0.
    pub number: u32,
}

/// Snapshot of a connection.
#[derive(Clone, Debug)]
pub struct LiveConnection {
    /// Unique within the process: a new connection gets a new id, even between the same addresses.
    pub id: u64,
    /// Its owner.
    pub name: ConnectionName,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Congestion control in use, such as `cubic`; empty when unknown.
    pub congestion_control: Arc<str>,
    /// Time of the snapshot ([`crate::clock::now_ns`]).
    pub at_ns: u64,
    /// The kernel's data.
    pub info: TcpInfo,
    /// Bytes that have arrived but were not read.
    pub unread_bytes: u32,
}

struct Entry {
    scope: Option<Scope>,
    name: ConnectionName,
    local: SocketAddr,
    remote: SocketAddr,
    congestion_control: Arc<str>,
    /// Set, and open, while the connection is listed.
    fd: Mutex<Option<RawFd>>,
}

static NEXT: AtomicU64 = AtomicU64::new(0);
static LIVE: Mutex<BTreeMap<u64, Arc<Entry>>> = Mutex::new(BTreeMap::new());

/// A connection's entry in the list. Dropping it removes the entry, before the descriptor is closed.
pub(crate) struct Shown {
    id: u64,
    entry: Arc<Entry>,
}

impl Shown {
    /// Adds an open descriptor to the list.
    pub(crate) fn new(
        fd: RawFd,
        scope: Option<Scope>,
        name: ConnectionName,
        local: SocketAddr,
        remote: SocketAddr,
    ) -> Shown {
        let congestion_control = tcp_info::congestion_control(fd).unwrap_or_default().into();
        let fd = Mutex::new(Some(fd));
        let entry = Arc::new(Entry { scope, name, local, remote, congestion_control, fd });
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        lock(&LIVE).insert(id, Arc::clone(&entry));
        Shown { id, entry }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        // Waits for a concurrent inspection, which takes one system call.
        *lock(&self.entry.fd) = None;
        lock(&LIVE).remove(&self.id);
    }
}

/// All open, named connections of a scope, or of the process, in order of creation; takes about a microsecond each.
pub fn connections(scope: Option<Scope>) -> Vec<LiveConnection> {
    let entries: Vec<(u64, Arc<Entry>)> = lock(&LIVE)
        .iter()
        .filter(|(_, entry)| scope.is_none() || entry.scope == scope)
        .map(|(id, entry)| (*id, Arc::clone(entry)))
        .collect();
    let seen = entries.into_iter().filter_map(|(id, entry)| {
        let (info, unread_bytes) = {
            let held = lock(&entry.fd);
            let fd = (*held)?;
            (tcp_info::of(fd)?, tcp_info::unread_bytes(fd))
        };
        Some(LiveConnection {
            id,
            name: entry.name,
            local: entry.local,
            remote: entry.remote,
            congestion_control: Arc::clone(&entry.congestion_control),
            at_ns: crate::clock::now_ns(),
            info,
            unread_bytes,
        })
    });
    seen.collect()
}

/// A thread that runs load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerThread {
    /// The kernel's thread id (gettid(2)).
    pub thread: u32,
    /// Number of the worker, from 0.
    pub worker: u32,
}

static WORKERS: Mutex<BTreeMap<u32, (Option<Scope>, u32)>> = Mutex::new(BTreeMap::new());

/// This thread's entry in the list of workers, removed when this is dropped.
pub struct WorkerEntry {
    thread: u32,
}

impl WorkerEntry {
    /// Registers the calling thread as worker number `worker` of a scope.
    pub fn of_this_thread(scope: Option<Scope>, worker: u32) -> Self {
        // The kernel's thread ids are positive.
        let thread = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        lock(&WORKERS).insert(thread, (scope, worker));
        WorkerEntry { thread }
    }
}

impl Drop for WorkerEntry {
    fn drop(&mut self) {
        lock(&WORKERS).remove(&self.thread);
    }
}

/// The worker threads of a scope, or of the process, sorted by thread id.
pub fn workers(scope: Option<Scope>) -> Vec<WorkerThread> {
    lock(&WORKERS)
        .iter()
        .filter(|(_, (own, _))| scope.is_none() || *own == scope)
        .map(|(thread, (_, worker))| WorkerThread { thread: *thread, worker: *worker })
        .collect()
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
