//! What a data address does with each request under the active faults: how long the response is delayed, how the
//! payload flows, and whether there is a response at all.
//!
//! All times are nanoseconds on [`reactor::clock`]. Callers never sleep "for" a time but "until" one: a response is due
//! at its arrival plus its latency, and a timer that fires late does not delay the next, so that a long run measures
//! the programmed latencies and rates.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use crate::faults::{DataProtocol, FaultHandle, LatencySampler, PathFaults, Unreachable};

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is executed and answered.
    Serve,
    /// It is answered as if it had been executed, but it was not, or with old content.
    Lie,
    /// It is not executed, and answered with a temporary error.
    Error,
    /// It is not executed, and its connection is reset in the middle of the response.
    Reset,
    /// It is not executed, and never answered.
    Stall,
}

/// What happens to a request, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestOutcome {
    /// What happens to it.
    pub fate: Fate,
    /// Delay of the response, in nanoseconds.
    pub latency_ns: u64,
}

/// Traffic shaping for one data address and protocol. Shared by all its connections, on all threads.
#[derive(Debug)]
pub struct TrafficShape {
    faults: FaultHandle,
    address: IpAddr,
    protocol: DataProtocol,
    /// The generation of the plan from which `current` and `plain` derive.
    generation: AtomicU64,
    plain: AtomicBool,
    current: RwLock<Arc<PathFaults>>,
    sampler: Mutex<LatencySampler>,
    inbound: Pipe,
    outbound: Pipe,
}

impl TrafficShape {
    /// The shape of an address, whose random draws are determined by `seed`.
    pub fn new(faults: FaultHandle, address: IpAddr, protocol: DataProtocol, seed: u64) -> Arc<Self> {
        let shape = Self {
            generation: AtomicU64::new(u64::MAX),
            faults,
            address,
            protocol,
            plain: AtomicBool::new(true),
            current: RwLock::default(),
            sampler: Mutex::new(LatencySampler::new(seed)),
            inbound: Pipe::default(),
            outbound: Pipe::default(),
        };
        shape.refresh();
        Arc::new(shape)
    }

    /// Reads the plan again if it has changed; otherwise one atomic load.
    #[inline]
    fn refresh(&self) {
        let generation = self.faults.generation();
        if self.generation.load(Ordering::Acquire) != generation {
            let path = self.faults.path(self.address, self.protocol);
            let none = PathFaults { nfs_error: path.nfs_error, ..PathFaults::default() };
            self.plain.store(path == none, Ordering::Release);
            *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(path);
            self.generation.store(generation, Ordering::Release);
        }
    }

    /// The active faults.
    pub fn faults(&self) -> Arc<PathFaults> {
        self.refresh();
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether there are no faults, so that every request is served at once.
    #[inline]
    pub fn is_plain(&self) -> bool {
        self.refresh();
        self.plain.load(Ordering::Acquire)
    }

    /// How the address is unreachable, if it is.
    pub fn unreachable(&self) -> Option<Unreachable> {
        if self.is_plain() { None } else { self.faults().unreachable }
    }

    /// The outcome of the next request.
    pub fn judge(&self) -> RequestOutcome {
        if self.is_plain() {
            return RequestOutcome { fate: Fate::Serve, latency_ns: 0 };
        }
        let faults = self.faults();
        // Connections opened before the address became unreachable get no responses either.
        if faults.unreachable.is_some() {
            return RequestOutcome { fate: Fate::Stall, latency_ns: 0 };
        }
        let mut sampler = self.sampler.lock().unwrap_or_else(PoisonError::into_inner);
        let latency = faults.latency.as_ref().map(|latency| sampler.latency(latency)).unwrap_or_default();
        let fate = if sampler.strikes(faults.reset_share) {
            Fate::Reset
        } else if sampler.strikes(faults.error_share) {
            Fate::Error
        } else {
            Fate::Serve
        };
        RequestOutcome { fate, latency_ns: u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX) }
    }

    /// Whether a share of requests includes the next one.
    pub fn strikes(&self, share: f64) -> bool {
        share > 0.0 && self.sampler.lock().unwrap_or_else(PoisonError::into_inner).strikes(share)
    }

    /// When payload from the client that arrived at `from_ns` has passed the limited path.
    pub fn inbound(&self, from_ns: u64, bytes: u64) -> u64 {
        self.through(&self.inbound, from_ns, bytes)
    }

    /// When payload to the client that is ready at `from_ns` has passed the limited path.
    pub fn outbound(&self, from_ns: u64, bytes: u64) -> u64 {
        self.through(&self.outbound, from_ns, bytes)
    }

    fn through(&self, pipe: &Pipe, from_ns: u64, bytes: u64) -> u64 {
        if bytes == 0 || self.is_plain() {
            return from_ns;
        }
        match self.faults().bandwidth_bytes_per_s {
            Some(rate) if rate > 0 => pipe.through(from_ns, bytes, rate),
            _ => from_ns,
        }
    }
}

/// A pipe of limited bandwidth in virtual time: each sender occupies it from the time it is free.
#[derive(Debug, Default)]
struct Pipe {
    /// When the pipe is free, in 1/64 ns: rounding errors stay far below what can be measured, and the number lasts for
    /// nine years after boot.
    free_at: AtomicU64,
}

/// Fractional bits of a nanosecond in the pipe's clock.
const FRACTION_BITS: u32 = 6;

impl Pipe {
    fn through(&self, from_ns: u64, bytes: u64, bytes_per_s: u64) -> u64 {
        let occupied = ((u128::from(bytes) * 1_000_000_000) << FRACTION_BITS) / u128::from(bytes_per_s);
        let occupied = u64::try_from(occupied).unwrap_or(u64::MAX >> 1);
        let from = from_ns << FRACTION_BITS;
        let mut due = 0;
        let _ = self.free_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free_at| {
            due = free_at.max(from).saturating_add(occupied);
            Some(due)
        });
        due >> FRACTION_BITS
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::faults::{FaultPlan, LatencyDistribution, PathRule};

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(127, 0, 1, 1));

    fn plan(rule: PathRule) -> FaultPlan {
        FaultPlan { paths: vec![rule], ..FaultPlan::default() }
    }

    fn shaped(rule: PathRule) -> Arc<TrafficShape> {
        TrafficShape::new(FaultHandle::new(plan(rule)), ADDRESS, DataProtocol::Nfs, 1)
    }

    #[test]
    fn without_faults_everything_is_served_at_once() {
        let shape = shaped(PathRule::default());
        assert!(shape.is_plain());
        assert_eq!(shape.judge(), RequestOutcome { fate: Fate::Serve, latency_ns: 0 });
        assert_eq!(shape.outbound(7, 1 << 40), 7);
    }

    #[test]
    fn faults_take_effect_while_it_runs() {
        let faults = FaultHandle::default();
        let shape = TrafficShape::new(faults.clone(), ADDRESS, DataProtocol::Nfs, 1);
        assert!(shape.is_plain());
        let latency = Some(LatencyDistribution::Fixed(Duration::from_millis(20)));
        faults.set(plan(PathRule { latency, ..PathRule::default() }));
        assert_eq!(shape.judge().latency_ns, 20_000_000);
        let other = Some("127.0.9.9".parse().unwrap());
        faults.set(plan(PathRule { address: other, error_share: Some(1.0), ..PathRule::default() }));
        assert!(shape.is_plain(), "the fault is of another address");
        faults.set(plan(PathRule { unreachable: Some(Unreachable::Drop), ..PathRule::default() }));
        assert_eq!(shape.judge().fate, Fate::Stall);
    }

    #[test]
    fn a_full_pipe_has_exactly_its_bandwidth() {
        let shape = shaped(PathRule { bandwidth_bytes_per_s: Some(123_456_789), ..PathRule::default() });
        let mut due = 0;
        for _ in 0..100_000 {
            // All arrive at once; the last is due when all bytes have passed.
            due = shape.outbound(1000, 4096);
        }
        let exact = 100_000.0 * 4096.0 / 123_456_789.0 * 1e9 + 1000.0;
        assert!((due as f64 / exact - 1.0).abs() < 1e-6, "{due} ns instead of {exact} ns");
        assert_eq!(shape.inbound(1000, 123_456_789), 1_000_001_000, "the other direction is free");
    }

    #[test]
    fn an_idle_pipe_saves_nothing_up() {
        let shape = shaped(PathRule { bandwidth_bytes_per_s: Some(1_000_000), ..PathRule::default() });
        assert_eq!(shape.inbound(0, 1000), 1_000_000);
        assert_eq!(shape.inbound(500_000, 1000), 2_000_000);
        assert_eq!(shape.inbound(9_000_000, 1000), 10_000_000);
    }

    #[test]
    fn shares_strike_as_often_as_they_say() {
        let rule = PathRule { reset_share: Some(0.1), error_share: Some(0.5), ..PathRule::default() };
        let shape = shaped(rule);
        let (mut resets, mut errors) = (0, 0);
        for _ in 0..20_000 {
            match shape.judge().fate {
                Fate::Reset => resets += 1,
                Fate::Error => errors += 1,
                Fate::Serve | Fate::Lie | Fate::Stall => {}
            }
        }
        assert!((1_800..2_200).contains(&resets), "{resets}");
        assert!((8_600..9_400).contains(&errors), "{errors} of the 18000 that are not reset");
    }
}
