//! Round-trip time to the other end under load, measured by ICMP echoes (RFC 792, RFC 4443), ten per second and path.
//! With small requests, a connection's own round-trip time cannot show it, because the acknowledgement arrives with the
//! response. Where this user may not send echoes (ip-sysctl, `ping_group_range`), one datagram per second goes to a
//! closed port, as in traceroute(8): the other end's kernel reports that at once (RFC 1122, 3.2.2.1).

mod line;

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use line::Line;

/// Interval of echoes.
const EVERY: Duration = Duration::from_millis(100);
/// Maximum paths measured.
const MAX_PATHS: usize = 16;

/// Echo results of one path since the last sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Echoed {
    pub(super) sent: u32,
    pub(super) answered: u32,
    pub(super) lost: u32,
    /// Minimum round-trip time, in microseconds.
    pub(super) least_us: u64,
}

impl Echoed {
    /// Adds replies, the fastest of which took `least_us`.
    fn fastest(&mut self, answered: u32, least_us: u64) {
        if answered > 0 {
            self.least_us = if self.answered == 0 { least_us } else { self.least_us.min(least_us) };
            self.answered += answered;
        }
    }
}

/// Sends echoes from a thread of its own until it is dropped.
#[derive(Debug, Default)]
pub(super) struct Echoes {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    paths: Vec<(IpAddr, IpAddr)>,
    echoed: Vec<Echoed>,
    /// Maximum wake-up delay of the thread.
    late_ns: u64,
}

impl Echoes {
    /// Results since the last sample, for these paths, which are measured from now on; and the maximum wake-up delay of
    /// the thread, in nanoseconds.
    pub(super) fn look(&mut self, paths: &[(IpAddr, IpAddr)]) -> (Vec<Option<Echoed>>, u64) {
        let mut state = self.shared.lock();
        let seen = paths.iter().map(|path| {
            let place = state.paths.iter().position(|known| known == path)?;
            state.echoed.get(place).copied()
        });
        let seen: Vec<Option<Echoed>> = seen.collect();
        state.echoed.fill(Echoed::default());
        for path in paths {
            if !state.paths.contains(path) && state.paths.len() < MAX_PATHS {
                state.paths.push(*path);
                state.echoed.push(Echoed::default());
            }
        }
        let late_ns = std::mem::take(&mut state.late_ns);
        drop(state);
        if self.thread.is_none() {
            let shared = Arc::clone(&self.shared);
            self.thread = std::thread::Builder::new().name("probe".into()).spawn(move || shared.send()).ok();
        }
        (seen, late_ns)
    }
}

impl Drop for Echoes {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread only sends and sleeps; a panic in it loses nothing that is needed.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn send(&self) {
        let mut lines: Vec<Option<Line>> = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            let meant_ns = reactor::clock::now_ns() + EVERY.as_nanos() as u64;
            let paths = self.lock().paths.clone();
            for (local, remote) in paths.iter().skip(lines.len()) {
                lines.push(Line::open(*local, *remote, lines.len() as u16));
            }
            for (place, line) in lines.iter_mut().enumerate() {
                let Some(line) = line else { continue };
                let seen = line.turn();
                if let Some(sum) = self.lock().echoed.get_mut(place) {
                    sum.sent += seen.sent;
                    sum.lost += seen.lost;
                    sum.fastest(seen.answered, seen.least_us);
                }
            }
            std::thread::park_timeout(EVERY);
            let late_ns = reactor::clock::now_ns().saturating_sub(meant_ns);
            let mut state = self.lock();
            state.late_ns = state.late_ns.max(late_ns);
        }
    }
}
