//! Synthetic series for the unit tests, seeded so that every run of a test sees the same data.

use fastrand::Rng;

/// First-order autoregressive noise with mean 0 and standard deviation 1.
pub(crate) struct Noise {
    rng: Rng,
    rho: f64,
    state: f64,
}

impl Noise {
    /// Noise in which neighbours have correlation `rho`.
    pub(crate) fn new(seed: u64, rho: f64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let state = normal(&mut rng);
        Self { rng, rho, state }
    }

    /// The next value.
    pub(crate) fn next(&mut self) -> f64 {
        self.state = self.rho * self.state + (1.0 - self.rho * self.rho).sqrt() * normal(&mut self.rng);
        self.state
    }
}

/// A normally distributed value (Box and Muller).
fn normal(rng: &mut Rng) -> f64 {
    let (a, b) = (1.0 - rng.f64(), rng.f64());
    (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()
}
