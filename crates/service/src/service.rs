//! A running service.

use std::fs::{DirBuilder, File, OpenOptions};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use exporters::{CpuBudget, Pushes};
use runner::StopReason;
use runner::bottleneck::own_host;
use rustix::fs::{FlockOperation, flock};
use tokio::runtime::Runtime;

use crate::access::Access;
use crate::api;
use crate::options::{Notes, QueueSettings, ServeOptions, ServiceError};
use crate::queue::RunQueue;
use crate::schedules::Schedules;
use crate::server;
use crate::threads::yield_to_runs;
use crate::tls::Identity;

/// Threads for requests; runs have their own.
const THREADS: usize = 2;
/// Threads for reading results; further requests wait.
const READERS: usize = 8;
/// Time for responses under way when the service ends.
const FAREWELL: Duration = Duration::from_secs(2);

/// A running service. Dropping it ends its connections; [`Service::close`] and [`Service::wait`] end its runs first.
pub struct Service {
    address: SocketAddr,
    fingerprint: Option<String>,
    queue: Arc<RunQueue>,
    schedules: Arc<Schedules>,
    pushes: Arc<Pushes>,
    notes: Notes,
    runtime: Option<Runtime>,
    /// Held so that no other service uses the directory.
    _lock: File,
}

impl Service {
    /// Opens the state, starts what waits in the queue, and listens.
    ///
    /// # Errors
    /// It is set up wrongly, or the system refuses; nothing keeps running then.
    pub fn start(options: ServeOptions) -> Result<Self, ServiceError> {
        if options.token.is_none() && !options.listen.ip().is_loopback() {
            return Err(ServiceError::Usage(format!(
                "--listen {}: other hosts can reach this address, so a token is required; next: give --token-file FILE, or \
                 listen on 127.0.0.1",
                options.listen
            )));
        }
        let lock = take(&options.directory)?;
        let directory =
            options.directory.canonicalize().map_err(|error| failure(&options.directory, &error))?;
        let tls =
            Identity::open(&options.tls, &directory, options.listen, &options.host_names, &options.notes)?;
        let listener = TcpListener::bind(options.listen).and_then(|listener| {
            listener.set_nonblocking(true)?;
            Ok((listener.local_addr()?, listener))
        });
        let (address, listener) = listener.map_err(|error| {
            ServiceError::Failure(format!(
                "cannot listen on {}: {error}; next: --listen ADDRESS:PORT",
                options.listen
            ))
        })?;
        let budget = CpuBudget::of_host(options.request_cpu_percent);
        let payer = Arc::clone(&budget);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .max_blocking_threads(READERS)
            .thread_name("service")
            .on_thread_start(move || {
                yield_to_runs();
                payer.pays_for_thread();
            })
            .on_thread_park(CpuBudget::count_thread)
            .enable_all()
            .build()
            .map_err(|error| ServiceError::Failure(format!("no threads could be started: {error}")))?;
        let listener = {
            let _inside = runtime.enter();
            tokio::net::TcpListener::from_std(listener)
                .map_err(|error| ServiceError::Failure(error.to_string()))?
        };
        let pushes = Pushes::start(options.pushes, own_host());
        let pushes =
            pushes.map_err(|error| ServiceError::Failure(format!("no thread could be started: {error}")))?;
        let pushes = Arc::new(pushes);
        let notes = Arc::clone(&options.notes);
        let settings = QueueSettings {
            database: options.database,
            policy: options.policy,
            program: options.program,
            ssh_options: options.ssh_options,
            storperf_sample: options.storperf_sample,
            pushes: Arc::clone(&pushes),
            budget: Arc::clone(&budget),
            notes: options.notes,
        };
        let queue =
            RunQueue::open(&directory, settings).map_err(|error| ServiceError::Failure(error.to_string()))?;
        let host_names = options.host_names.iter().map(|name| name.to_ascii_lowercase()).collect();
        let access = Access { token: options.token, host_names };
        let schedules = Schedules::start(Arc::clone(&queue), options.clock, options.webhooks)
            .map_err(|error| ServiceError::Failure(format!("no thread could be started: {error}")))?;
        let router = api::router(Arc::clone(&queue), Arc::clone(&schedules), Arc::new(access));
        let acceptor = tls.as_ref().map(|identity| identity.acceptor.clone());
        let fingerprint = tls.as_ref().map(|identity| identity.fingerprint.clone());
        runtime.spawn(server::attend(listener, router, budget, acceptor));
        if let Some(identity) = tls {
            runtime.spawn(identity.renew());
        }
        queue.start_ready();
        let runtime = Some(runtime);
        Ok(Self { address, fingerprint, queue, schedules, pushes, notes, runtime, _lock: lock })
    }

    /// The listening address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// SHA-256 of the certificate with which it listens; `None` without TLS.
    pub fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }

    /// Starts no further runs and ends those under way: with their current interval, or at once. What waits in the queue
    /// stays there for the next service.
    pub fn close(&self, reason: StopReason, at_once: bool) {
        self.schedules.close();
        self.queue.close(reason, at_once);
    }

    /// Waits until no run is under way and their measurements are exported, and reports what was not.
    pub fn wait(&self) {
        self.queue.wait();
        for losses in self.pushes.finish() {
            (self.notes)(&losses);
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.schedules.close();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(FAREWELL);
        }
    }
}

fn failure(directory: &Path, error: &dyn std::fmt::Display) -> ServiceError {
    ServiceError::Failure(format!("--directory {}: {error}", directory.display()))
}

/// Creates the directory if absent, and makes sure that nobody else reads or uses it.
fn take(directory: &Path) -> Result<File, ServiceError> {
    let wrong = |error: std::io::Error| failure(directory, &error);
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(wrong)?;
    let mode = directory.metadata().map_err(wrong)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(ServiceError::Usage(format!(
            "--directory {0}: others can use it (mode {1:o}); next: chmod 700 {0}",
            directory.display(),
            mode & 0o777
        )));
    }
    let lock =
        OpenOptions::new().create(true).write(true).truncate(false).mode(0o600).open(directory.join("lock"));
    let lock = lock.map_err(wrong)?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|_| {
        ServiceError::Usage(format!("--directory {}: another service uses it", directory.display()))
    })?;
    Ok(lock)
}
