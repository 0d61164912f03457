//! The array's NFS side: NFSv3, NFSv4.1, MOUNT and a portmapper on every data address, on our own reactor and codecs.
//!
//! Each server thread has a reactor of its own and serves whole addresses: address number `i` belongs to thread `i`
//! modulo the number of threads. All share the file systems ([`crate::files`]).

mod call;
mod connection;
mod delay;
mod input;
mod listeners;
mod listing;
mod mountd;
mod mounts;
mod out;
mod parts;
mod portmapper;
mod procedures;
mod service;
mod thread;
mod v41;

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::faults::FaultHandle;
use crate::files::Files;

/// A data address and the ports to serve on it; 0 chooses a free one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NfsEndpoint {
    /// The address.
    pub ip: IpAddr,
    /// Port of NFS; also answers MOUNT.
    pub nfs_port: u16,
    /// Port of MOUNT; may be the same as NFS.
    pub mount_port: u16,
    /// Port of the portmapper.
    pub portmap_port: u16,
}

/// How the servers run.
#[derive(Clone, Copy, Debug)]
pub struct NfsServerSettings {
    /// Server threads; more than addresses would be idle.
    pub threads: usize,
    /// The reactor of each.
    pub reactor: reactor::BackendChoice,
    /// Seed of the random draws of faults.
    pub seed: u64,
    /// How long a silent client of version 4.1 is remembered.
    pub lease: Duration,
}

/// How long a silent client of NFSv4.1 is remembered, unless something else is configured.
pub const LEASE: Duration = Duration::from_secs(90);

impl Default for NfsServerSettings {
    fn default() -> Self {
        Self { threads: 1, reactor: reactor::BackendChoice::Auto, seed: 1, lease: LEASE }
    }
}

/// The servers could not be started.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// A port is not available.
    #[error("cannot listen on {address} for {purpose}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The program.
        purpose: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A thread or its reactor could not be started.
    #[error("cannot start a server thread: {0}")]
    Thread(String),
}

/// The running servers. Dropping this stops them and closes all connections.
#[derive(Debug)]
pub struct NfsServer {
    endpoints: Vec<NfsEndpoint>,
    stop: Arc<AtomicBool>,
    threads: Vec<(JoinHandle<()>, Arc<AtomicU64>)>,
}

impl NfsServer {
    /// Starts serving; when it returns, all ports answer.
    ///
    /// # Errors
    /// [`ServerError`]; nothing keeps running then.
    pub fn start(
        files: &Arc<Files>,
        faults: &FaultHandle,
        endpoints: &[NfsEndpoint],
        settings: NfsServerSettings,
    ) -> Result<Self, ServerError> {
        let mounts = Arc::default();
        let clients = Arc::new(v41::State::new(files.instance(), settings.lease));
        let mut server = Self {
            endpoints: endpoints.to_vec(),
            stop: Arc::new(AtomicBool::new(false)),
            threads: Vec::new(),
        };
        let threads = settings.threads.clamp(1, endpoints.len().max(1));
        let mut starting = Vec::new();
        for number in 0..threads {
            let cpu_ns = Arc::new(AtomicU64::new(0));
            let duty = thread::Duty {
                files: Arc::clone(files),
                faults: faults.clone(),
                mounts: Arc::clone(&mounts),
                clients: Arc::clone(&clients),
                endpoints: endpoints.iter().copied().skip(number).step_by(threads).collect(),
                settings,
                first: number == 0,
                stop: Arc::clone(&server.stop),
                cpu_ns: Arc::clone(&cpu_ns),
            };
            let (started, outcome) = mpsc::channel();
            let thread = std::thread::Builder::new()
                .name(format!("array-nfs-{number}"))
                .spawn(move || thread::run(duty, &started))
                .map_err(|error| ServerError::Thread(error.to_string()))?;
            server.threads.push((thread, cpu_ns));
            starting.push(outcome);
        }
        for (number, outcome) in starting.into_iter().enumerate() {
            let bound = outcome.recv().map_err(|_| ServerError::Thread("it ended at once".into()))??;
            for (slot, endpoint) in server.endpoints.iter_mut().skip(number).step_by(threads).zip(bound) {
                *slot = endpoint;
            }
        }
        Ok(server)
    }

    /// The addresses with their actual ports.
    pub fn endpoints(&self) -> &[NfsEndpoint] {
        &self.endpoints
    }

    /// CPU time of each server thread, in nanoseconds, at most about 10 ms old.
    pub fn cpu_ns(&self) -> Vec<u64> {
        self.threads.iter().map(|(_, cpu_ns)| cpu_ns.load(Ordering::Relaxed)).collect()
    }
}

impl Drop for NfsServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        for (thread, _) in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
