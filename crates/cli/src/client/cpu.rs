//! How busy each core was over a window: samples of /proc/stat (proc(5)), taken by a small thread.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How one core spent a window, as shares of its time.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct CoreLoad {
    /// The kernel's number of the core.
    pub core: u32,
    /// Share of time that was not idle, from 0 to 1, stolen time included.
    pub busy: f64,
    /// Share of time that the hypervisor gave to others, from 0 to 1.
    pub steal: f64,
}

/// A core's clock ticks since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ticks {
    idle: u64,
    steal: u64,
    total: u64,
}

type Sample = BTreeMap<u32, Ticks>;

fn parse(stat: &str) -> Sample {
    let mut cores = Sample::new();
    for line in stat.lines() {
        let mut fields = line.split_ascii_whitespace();
        // The line "cpu" without a number is the sum of the others.
        let core = fields.next().and_then(|name| name.strip_prefix("cpu"));
        let Some(Ok(core)) = core.map(str::parse) else {
            continue;
        };
        let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guest time is part of user already.
        let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
        let sample = Ticks { idle: at(3) + at(4), steal: at(7), total: ticks.iter().take(8).sum() };
        cores.insert(core, sample);
    }
    cores
}

fn load(begin: &Sample, end: &Sample) -> Vec<CoreLoad> {
    end.iter()
        .filter_map(|(core, after)| {
            let before = begin.get(core)?;
            let total = after.total.saturating_sub(before.total);
            let share = |ticks: u64| (ticks as f64 / total as f64).clamp(0.0, 1.0);
            (total > 0).then(|| CoreLoad {
                core: *core,
                busy: 1.0 - share(after.idle.saturating_sub(before.idle)),
                steal: share(after.steal.saturating_sub(before.steal)),
            })
        })
        .collect()
}

/// Samples with their times. Memory stays bounded: when full, every second sample goes and the
/// period doubles.
#[derive(Debug)]
struct Samples {
    taken: Vec<(u64, Sample)>,
    period: Duration,
}

const MAX_SAMPLES: usize = 512;

impl Samples {
    fn add(&mut self, at_ns: u64, sample: Sample) {
        if self.taken.len() == MAX_SAMPLES {
            let mut keep = false;
            self.taken.retain(|_| {
                keep = !keep;
                keep
            });
            self.period *= 2;
        }
        self.taken.push((at_ns, sample));
    }

    fn nearest(&self, at_ns: u64) -> Option<&Sample> {
        self.taken.iter().min_by_key(|(taken, _)| taken.abs_diff(at_ns)).map(|(_, sample)| sample)
    }
}

/// Watches all cores from its creation until it is dropped.
pub struct CpuWatch {
    samples: Arc<Mutex<Samples>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl CpuWatch {
    /// Begins to watch. Where the kernel shows nothing, the result will be empty.
    pub fn start() -> Self {
        let samples = Arc::new(Mutex::new(Samples { taken: Vec::new(), period: Duration::from_millis(100) }));
        let stop = Arc::new(AtomicBool::new(false));
        let thread = {
            let (samples, stop) = (Arc::clone(&samples), Arc::clone(&stop));
            std::thread::Builder::new().name("cpu-watch".into()).spawn(move || watch(&samples, &stop)).ok()
        };
        Self { samples, stop, thread }
    }

    /// How busy the cores were between two times of the reactors' clock, in nanoseconds.
    pub fn between(&self, begin_ns: u64, end_ns: u64) -> Vec<CoreLoad> {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        match (samples.nearest(begin_ns), samples.nearest(end_ns)) {
            (Some(begin), Some(end)) => load(begin, end),
            _ => Vec::new(),
        }
    }
}

fn watch(samples: &Mutex<Samples>, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let Ok(stat) = std::fs::read_to_string("/proc/stat") else {
            return;
        };
        let period = {
            let mut samples = samples.lock().unwrap_or_else(PoisonError::into_inner);
            samples.add(reactor::clock::now_ns(), parse(&stat));
            samples.period
        };
        std::thread::park_timeout(period);
    }
}

impl Drop for CpuWatch {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread reads a file and sleeps; a panic in it has lost nothing that is needed.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "cpu  200 0 0 200 0 0 0 0 0 0\n\
        cpu0 100 0 0 100 0 0 0 0 0 0\ncpu1 100 0 0 100 0 0 0 0 0 0\nintr 5 6\n";
    const AFTER: &str = "cpu  375 0 0 225 0 0 0 0 0 0\n\
        cpu0 150 10 20 110 5 0 0 5 0 0\ncpu1 100 0 0 200 0 0 0 0 0 0\nintr 5 6\n";

    #[test]
    fn shares_come_from_the_difference_of_two_samples() {
        let cores = load(&parse(BEFORE), &parse(AFTER));
        assert_eq!(cores.len(), 2);
        // Core 0: 100 ticks passed, of which 15 idle (5 waiting for disks) and 5 stolen.
        assert!((cores[0].busy - 0.85).abs() < 1e-9, "{cores:?}");
        assert!((cores[0].steal - 0.05).abs() < 1e-9, "{cores:?}");
        assert_eq!(cores[1].busy, 0.0);
    }

    #[test]
    fn a_core_that_came_or_went_is_left_out() {
        let one = parse("cpu0 1 0 0 1 0 0 0 0\n");
        assert_eq!(load(&one, &parse(AFTER)).len(), 1);
        assert!(load(&parse(AFTER), &Sample::new()).is_empty());
        assert!(load(&one, &one).is_empty(), "no tick passed");
    }

    #[test]
    fn samples_stay_bounded_and_the_nearest_is_found() {
        let mut samples = Samples { taken: Vec::new(), period: Duration::from_millis(1) };
        let mut at = Duration::ZERO;
        while at < Duration::from_secs(100) {
            let ticks = Ticks { total: at.as_millis() as u64, ..Ticks::default() };
            samples.add(at.as_nanos() as u64, Sample::from([(0, ticks)]));
            at += samples.period;
        }
        assert!(samples.taken.len() <= MAX_SAMPLES);
        for second in [0, 1, 50, 99] {
            let found = samples.nearest(second * 1_000_000_000).unwrap()[&0].total;
            assert!(found.abs_diff(second * 1000) <= 256, "{found}");
        }
    }

    #[test]
    fn this_machine_is_watched() {
        let watch = CpuWatch::start();
        let begin = reactor::clock::now_ns();
        while watch.between(begin, reactor::clock::now_ns()).is_empty() {
            std::thread::sleep(Duration::from_millis(20));
        }
        for core in watch.between(begin, reactor::clock::now_ns()) {
            assert!((0.0..=1.0).contains(&core.busy), "{core:?}");
        }
    }
}
