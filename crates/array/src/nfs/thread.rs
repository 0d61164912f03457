//! A server thread: its listeners, and regular checks for changes.

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use reactor::{Listener, Reactor, clock};

use super::call::Programs;
use super::connection::Port;
use super::listeners::Doorway;
use super::mounts::MountList;
use super::service::{Ports, Service};
use super::{NfsEndpoint, NfsServerSettings, ServerError, v41};
use crate::faults::{DataProtocol, FaultHandle};
use crate::files::Files;
use crate::shape::TrafficShape;

/// How often a thread checks whether to stop or the faults have changed.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How often the clients of version 4.1 whose lease has ended are forgotten.
const EXPIRE_EVERY: Duration = Duration::from_secs(1);

/// How many times, a millisecond apart, a thread checks its doorways before it reports that it has started.
const FIRST_LOOKS: u32 = 1000;

/// The work of a thread.
pub(super) struct Duty {
    pub(super) files: Arc<Files>,
    pub(super) faults: FaultHandle,
    pub(super) mounts: Arc<Mutex<MountList>>,
    pub(super) clients: Arc<v41::State>,
    pub(super) endpoints: Vec<NfsEndpoint>,
    pub(super) settings: NfsServerSettings,
    /// The one thread that does the work needed only once.
    pub(super) first: bool,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) cpu_ns: Arc<AtomicU64>,
}

type Started = mpsc::Sender<Result<Vec<NfsEndpoint>, ServerError>>;

/// Runs until told to stop.
pub(super) fn run(duty: Duty, started: &Started) {
    // Replies are due to the microsecond; the kernel would coalesce timers within 50 us.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let reactor = match Reactor::open(duty.settings.reactor) {
        Ok(reactor) => reactor,
        Err(error) => {
            let _ = started.send(Err(ServerError::Thread(error.to_string())));
            return;
        }
    };
    let mut doorways = Vec::new();
    let mut bound = Vec::new();
    for endpoint in &duty.endpoints {
        match open(&reactor, &duty, *endpoint, &mut doorways) {
            Ok(endpoint) => bound.push(endpoint),
            Err(error) => {
                let _ = started.send(Err(error));
                return;
            }
        }
    }
    let generation = duty.faults.generation();
    let mut settled = reactor.block_on(settle_at_first(&reactor, &mut doorways));
    if started.send(Ok(bound)).is_ok() {
        reactor.block_on(watch(&reactor, &duty, &mut doorways, generation, &mut settled));
    }
}

async fn watch(
    reactor: &Reactor,
    duty: &Duty,
    doorways: &mut [Doorway],
    mut generation: u64,
    settled: &mut bool,
) {
    let mut before = Counted::of(duty);
    let mut expired_ns = clock::now_ns();
    while !duty.stop.load(Ordering::Acquire) {
        duty.cpu_ns.store(clock::cpu_thread_ns(), Ordering::Relaxed);
        let now = duty.faults.generation();
        if now != generation || !*settled {
            generation = now;
            *settled = settle_all(reactor, doorways);
            let wanted = Counted::of(duty);
            if duty.first {
                wanted.apply(before, duty);
            }
            before = wanted;
        }
        let now_ns = clock::now_ns();
        if duty.first && now_ns - expired_ns > EXPIRE_EVERY.as_nanos() as u64 {
            expired_ns = now_ns;
            duty.clients.expire(now_ns);
        }
        reactor.sleep(LOOK_EVERY).await;
    }
}

/// The faults that happen whenever their number changes.
#[derive(Clone, Copy)]
struct Counted {
    restarts: u64,
    lease_expiries: u64,
    session_losses: u64,
}

impl Counted {
    fn of(duty: &Duty) -> Self {
        let plan = duty.faults.plan();
        let (restarts, session_losses) = (plan.nfs_restarts, plan.nfs_session_losses);
        Self { restarts, lease_expiries: plan.nfs_lease_expiries, session_losses }
    }

    fn apply(self, before: Self, duty: &Duty) {
        if self.restarts != before.restarts {
            duty.files.restart();
        }
        if self.restarts != before.restarts || self.lease_expiries != before.lease_expiries {
            duty.clients.forget_all();
        }
        if self.session_losses != before.session_losses {
            duty.clients.end_sessions();
        }
    }
}

/// Makes an address that is unreachable from the start so before the first client arrives.
async fn settle_at_first(reactor: &Reactor, doorways: &mut [Doorway]) -> bool {
    for _ in 0..FIRST_LOOKS {
        if settle_all(reactor, doorways) {
            return true;
        }
        reactor.sleep(Duration::from_millis(1)).await;
    }
    false
}

fn settle_all(reactor: &Reactor, doorways: &mut [Doorway]) -> bool {
    // Every doorway gets its turn, even after one that must wait.
    let waiting = doorways.iter_mut().filter_map(|doorway| (!doorway.settle(reactor)).then_some(())).count();
    waiting == 0
}

/// Opens the ports of one address.
fn open(
    reactor: &Reactor,
    duty: &Duty,
    mut endpoint: NfsEndpoint,
    doorways: &mut Vec<Doorway>,
) -> Result<NfsEndpoint, ServerError> {
    let seed = duty.settings.seed ^ address_seed(endpoint);
    let shape = TrafficShape::new(duty.faults.clone(), endpoint.ip, DataProtocol::Nfs, seed);
    // The ports are known only when all are open, and the portmapper must know them.
    let listen = |port: u16, purpose| {
        let address = SocketAddr::new(endpoint.ip, port);
        let error = |source| ServerError::Listen { address, purpose, source };
        reactor.listen(address, super::listeners::BACKLOG).map_err(error)
    };
    let nfs = listen(endpoint.nfs_port, "NFS")?;
    let shared = endpoint.mount_port != 0 && endpoint.mount_port == endpoint.nfs_port;
    let mount = if shared { None } else { Some(listen(endpoint.mount_port, "MOUNT")?) };
    let portmap = listen(endpoint.portmap_port, "the portmapper")?;
    endpoint.nfs_port = nfs.local_addr().port();
    endpoint.mount_port = mount.as_ref().unwrap_or(&nfs).local_addr().port();
    endpoint.portmap_port = portmap.local_addr().port();
    let ports = Ports { nfs: endpoint.nfs_port, mount: endpoint.mount_port, portmap: endpoint.portmap_port };
    let service = Arc::new(Service {
        files: Arc::clone(&duty.files),
        ports,
        mounts: Arc::clone(&duty.mounts),
        clients: Arc::clone(&duty.clients),
    });
    let mut add = |listener: Listener, programs| {
        let port = Rc::new(Port { service: Arc::clone(&service), shape: Arc::clone(&shape), programs });
        doorways.push(Doorway::new(reactor, listener, port));
    };
    add(nfs, Programs { nfs: true, mount: true, portmap: false });
    if let Some(mount) = mount {
        add(mount, Programs { mount: true, ..Programs::default() });
    }
    add(portmap, Programs { portmap: true, ..Programs::default() });
    Ok(endpoint)
}

/// Different for each address, but the same in every run.
fn address_seed(endpoint: NfsEndpoint) -> u64 {
    match endpoint.ip {
        std::net::IpAddr::V4(ip) => u64::from(u32::from(ip)),
        std::net::IpAddr::V6(ip) => u128::from(ip) as u64,
    }
}
