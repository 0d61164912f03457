//! Samples of this host while a phase runs, by a thread of its own: a phase may be short, and is judged by what happened within
//! its measured window.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use fleet::probe::{HostSample, Prober};

use runner::bottleneck::HostEvidence;

/// Between two samples.
const EVERY: Duration = Duration::from_secs(1);
/// The same of phases that are not longer than ten seconds.
const OFTEN: Duration = Duration::from_millis(400);

/// Samples this host from its creation until it is dropped.
pub struct HostSampler {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    witness: HostEvidence,
}

impl HostSampler {
    /// Begins, for a phase of about this length. Where no thread can be had there are no samples.
    pub fn start(phase: Duration) -> Self {
        let every = if phase > EVERY * 10 { EVERY } else { OFTEN };
        let shared = Arc::new(Shared::default());
        // The first look is before the workers are there: threads without a name yet would be taken for others.
        let prober = Prober::new(None);
        let thread = {
            let shared = Arc::clone(&shared);
            std::thread::Builder::new()
                .name("sampler".into())
                .spawn(move || shared.sample(prober, every))
                .ok()
        };
        Self { shared, thread }
    }

    /// What happened between two times of the reactors' clock, in nanoseconds.
    pub fn within(&self, begin_ns: u64, end_ns: u64) -> Vec<HostSample> {
        self.shared.witness.within(0, begin_ns, end_ns)
    }
}

impl Shared {
    fn sample(&self, mut prober: Prober, every: Duration) {
        while !self.stop.load(Ordering::Relaxed) {
            std::thread::park_timeout(every);
            self.witness.add(0, &prober.sample());
        }
    }
}

impl Drop for HostSampler {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread reads files and sleeps; a panic in it has lost nothing that is needed.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_is_sampled() {
        let sampler = HostSampler::start(Duration::from_millis(1));
        let begin_ns = reactor::clock::now_ns();
        loop {
            let end_ns = reactor::clock::now_ns();
            assert!(end_ns - begin_ns < 60_000_000_000, "no sample in a minute");
            if sampler.within(begin_ns, end_ns).iter().any(|sample| !sample.cores.is_empty()) {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
