//! How a simulated target changes over time: drift, slow noise, a cliff, a warm-up.

use std::cell::{Cell, RefCell};

use super::{Noise, SimConfig};

/// Bounds of the factor that a script can apply to a target's latency.
const BOUNDS: (f64, f64) = (1e-3, 1e6);

/// The latency factor of one worker's session.
#[derive(Debug)]
pub(super) struct Wear {
    /// False when the script changes nothing, so that latencies remain exact integers.
    active: bool,
    moved_bytes: Cell<u64>,
    wander: Option<RefCell<Wander>>,
}

impl Wear {
    pub(super) fn new(config: &SimConfig) -> Self {
        let wander = config.noise.map(|noise| RefCell::new(Wander::new(noise, config.seed)));
        let active = config.drift_per_s != 0.0
            || config.cliff.is_some()
            || config.warm_up.is_some()
            || wander.is_some();
        Wear { active, moved_bytes: Cell::new(0), wander }
    }

    /// The factor for an operation of this many bytes that starts `age_ns` after the session was opened.
    #[inline]
    pub(super) fn factor(&self, config: &SimConfig, age_ns: u64, bytes: u64) -> Option<f64> {
        self.active.then(|| self.compute(config, age_ns, bytes))
    }

    fn compute(&self, config: &SimConfig, age_ns: u64, bytes: u64) -> f64 {
        let moved = self.moved_bytes.replace(self.moved_bytes.get().saturating_add(bytes));
        let mut factor = 1.0 + config.drift_per_s * age_ns as f64 / 1e9;
        if let Some(warm_up) = config.warm_up {
            factor *= 1.0 + warm_up.extra * (-(age_ns as f64) / warm_up.decay_ns.max(1) as f64).exp();
        }
        if let Some(cliff) = config.cliff.filter(|cliff| moved >= cliff.after_bytes) {
            factor *= cliff.factor;
        }
        if let Some(wander) = &self.wander {
            factor *= wander.borrow_mut().at(age_ns);
        }
        factor.clamp(BOUNDS.0, BOUNDS.1)
    }
}

/// A first-order autoregressive process, one value per step.
#[derive(Debug)]
struct Wander {
    noise: Noise,
    random: fastrand::Rng,
    step: u64,
    value: f64,
}

impl Wander {
    fn new(noise: Noise, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed ^ 0x006e_6f69_7365);
        // Drawn from the stationary distribution, so that the start does not differ from the rest.
        let value = noise.deviation * normal(&mut random);
        Wander { noise, random, step: 0, value }
    }

    fn at(&mut self, age_ns: u64) -> f64 {
        let step = age_ns / self.noise.step_ns.max(1);
        let correlation = self.noise.correlation.clamp(0.0, 0.999_999);
        let fresh = self.noise.deviation * (1.0 - correlation * correlation).sqrt();
        while self.step < step {
            self.step += 1;
            self.value = correlation * self.value + fresh * normal(&mut self.random);
        }
        self.value.exp()
    }
}

/// A standard normal variate (Box and Muller, 1958).
fn normal(random: &mut fastrand::Rng) -> f64 {
    // 1 - u is above 0, so the logarithm is finite.
    let radius = (-2.0 * (1.0 - random.f64()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.f64()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_has_the_deviation_and_the_memory_it_was_given() {
        let mut wander = Wander::new(Noise { deviation: 0.2, correlation: 0.7, step_ns: 10 }, 3);
        let logs: Vec<f64> = (0..200_000).map(|step| wander.at(step * 10 + 3).ln()).collect();
        let count = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / count;
        let deviation = (logs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count).sqrt();
        // With a correlation of 0.7 there are 200 000 (1 - 0.7) / (1 + 0.7) = 35 000 independent samples.
        assert!(mean.abs() < 5.0 * 0.2 / 35_000f64.sqrt(), "{mean}");
        assert!((deviation / 0.2 - 1.0).abs() < 0.02, "{deviation}");
        for (lag, expected) in [(1, 0.7f64), (2, 0.49), (5, 0.168)] {
            let products = logs.iter().zip(&logs[lag..]).map(|(a, b)| (a - mean) * (b - mean));
            let correlation = products.sum::<f64>() / count / deviation.powi(2);
            assert!((correlation - expected).abs() < 0.02, "{lag}: {correlation}");
        }
        assert_eq!(wander.at(2_000_005), wander.at(2_000_009), "within a step nothing changes");
    }
}
