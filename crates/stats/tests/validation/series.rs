//! Synthetic measurements: throughput with known truth and autocorrelated noise.

use fastrand::Rng;
use metrics::{Interval, OpKind};

/// A normally distributed value (Box and Muller).
pub fn normal(rng: &mut Rng) -> f64 {
    let (a, b) = (1.0 - rng.f64(), rng.f64());
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}

/// First-order autoregressive noise with mean 0 and standard deviation 1.
pub struct Noise {
    pub rng: Rng,
    rho: f64,
    state: f64,
}

impl Noise {
    pub fn new(seed: u64, rho: f64) -> Self {
        let mut rng = Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x51_7cc1_b727_220a);
        let state = normal(&mut rng);
        Self { rng, rho, state }
    }

    pub fn next(&mut self) -> f64 {
        self.state = self.rho * self.state + (1.0 - self.rho * self.rho).sqrt() * normal(&mut self.rng);
        self.state
    }
}

/// A simulated measurement: a level over time, where 1 is usually the final truth, and noise around it.
pub struct Case {
    pub name: &'static str,
    pub level: fn(f64) -> f64,
    pub deviation: f64,
    pub rho: f64,
    /// The right answer.
    pub truth: f64,
    /// A floor in bytes, given as the seconds it takes at level 1.
    pub floor_s: f64,
}

/// Operations per second at level 1.
pub const RATE: f64 = 100_000.0;

impl Case {
    /// The value of second `i`, relative.
    pub fn value(&self, i: u32, noise: &mut Noise) -> f64 {
        ((self.level)(f64::from(i)) + self.deviation * noise.next()).max(1e-6)
    }
}

/// Writes one second of throughput into an interval: 4 KiB reads at `value` times the rate.
pub fn fill(interval: &mut Interval, index: u32, value: f64) {
    interval.index = index;
    interval.start_ns = u64::from(index) * 1_000_000_000;
    interval.length_ns = 1_000_000_000;
    let stats = interval.op_mut(OpKind::Read);
    stats.ok = (value * RATE).round() as u64;
    stats.bytes = stats.ok * 4096;
}

/// The p99 that [`fill_latency`] produces at value 1.
pub const P99_NS: f64 = 2_000_000.0;

/// Writes latencies into an interval so that their 99th percentile is `value` times [`P99_NS`].
pub fn fill_latency(interval: &mut Interval, value: f64) {
    let service = &mut interval.op_mut(OpKind::Read).service;
    service.clear();
    let tail = (value * P99_NS).max(1.0) as u64;
    for i in 0..200 {
        service.record(if i < 190 { tail / 4 } else { tail });
    }
}
