//! The comparisons, for any protocol.

use std::time::Duration;

use array::faults::{FaultPlan, LatencyDistribution};
use engine::{Schedule, StageResult, StageWorkload, VisitOrder};

use crate::measure::{Target, WRITE_MAX, fill, measure, quantile, shaped};

/// Tolerance between measured and programmed figures.
const TOLERANCE: f64 = 0.01;
/// Maximum attempts at a measurement.
const ATTEMPTS: usize = 3;
/// The programmed latency.
const LATENCY: Duration = Duration::from_millis(500);
/// Operations per second in latency tests: fewer than the lanes can do.
const EVEN: Schedule = Schedule::rate(80.0);
/// Window of latency measurements: 200 operations.
const LATENCY_WINDOW: Duration = Duration::from_millis(2500);
/// Window of throughput measurements.
const THROUGHPUT_WINDOW: Duration = Duration::from_secs(3);

/// Asserts that named figures match the programmed ones.
fn assert_true(mut measurement: impl FnMut() -> Vec<(&'static str, f64, f64)>) {
    for attempt in 1..=ATTEMPTS {
        let mut wrong = Vec::new();
        for (what, measured, programmed) in measurement() {
            let off = measured / programmed - 1.0;
            println!("{what}: {measured:.6} measured, {programmed:.6} programmed, {:+.3} %", off * 100.0);
            if off.abs() > TOLERANCE {
                wrong.push(format!("{what}: {measured} measured, {programmed} programmed"));
            }
        }
        if wrong.is_empty() {
            return;
        }
        assert!(attempt < ATTEMPTS, "{} times: {}", attempt, wrong.join("; "));
    }
}

/// Writes and reads with a workload, in a new place for each attempt.
struct Run<'a, T> {
    target: &'a T,
    write_bytes: u64,
    runs: usize,
}

impl<T: Target> Run<'_, T> {
    fn write(&mut self, schedule: Schedule, window: Duration) -> StageResult {
        self.runs += 1;
        let shape = self.target.shape(self.write_bytes);
        let driver = self.target.driver(&format!("written-{}", self.runs));
        measure(&driver, StageWorkload::Write { shape, limit_bytes: 1 << 30 }, schedule, window)
    }

    /// Activates faults after writing data to read without them; returns a function that reads it.
    fn reading(&self, faults: FaultPlan) -> impl Fn(Schedule, Duration) -> StageResult + use<T> {
        let driver = self.target.driver("read");
        let data_set = fill(&driver, self.target.shape(self.write_bytes));
        self.target.faults().set(faults);
        let block_bytes = self.target.read_bytes(self.write_bytes);
        move |schedule, window| {
            let data_set = data_set.clone();
            measure(
                &driver,
                StageWorkload::Read { data_set, block_bytes, order: VisitOrder::Sequential },
                schedule,
                window,
            )
        }
    }
}

/// The median is the programmed latency.
pub fn fixed_latency<T: Target>(target: &T) {
    let mut run = Run { target, write_bytes: WRITE_MAX, runs: 0 };
    let read = run.reading(shaped(Some(LatencyDistribution::Fixed(LATENCY)), None));
    let programmed = LATENCY.as_secs_f64();
    assert_true(|| {
        let written = run.write(EVEN, LATENCY_WINDOW);
        vec![("write p50", quantile(&written, T::WRITE, 0.5), programmed)]
    });
    assert_true(|| vec![("read p50", quantile(&read(EVEN, LATENCY_WINDOW), T::READ, 0.5), programmed)]);
}

/// The quantiles match the programmed distribution.
pub fn distribution<T: Target>(target: &T) {
    let run = Run { target, write_bytes: WRITE_MAX, runs: 0 };
    let slow = 2 * LATENCY;
    let read =
        run.reading(shaped(Some(LatencyDistribution::List([LATENCY, LATENCY, LATENCY, slow].into())), None));
    assert_true(|| {
        let result = read(EVEN, LATENCY_WINDOW);
        // Three of four are fast, so the slow quarter starts at p75.
        vec![
            ("read p50 of a list", quantile(&result, T::READ, 0.5), LATENCY.as_secs_f64()),
            ("read p90 of a list", quantile(&result, T::READ, 0.9), slow.as_secs_f64()),
        ]
    });
}

/// The throughput is the programmed bandwidth, in each direction.
pub fn bandwidth<T: Target>(target: &T, write_bytes: u64, bytes_per_s: u64) {
    let mut run = Run { target, write_bytes, runs: 0 };
    let read = run.reading(shaped(None, Some(bytes_per_s)));
    let programmed = bytes_per_s as f64;
    assert_true(|| {
        let written = run.write(Schedule::Closed, THROUGHPUT_WINDOW);
        vec![("write throughput", written.bytes_per_s(), programmed)]
    });
    assert_true(|| {
        let result = read(Schedule::Closed, THROUGHPUT_WINDOW);
        // 64 operations share the pipe: each waits for the others' bytes and its own.
        let wait = 64.0 * write_bytes as f64 / programmed;
        vec![
            ("read throughput", result.bytes_per_s(), programmed),
            ("read p50 in the pipe", quantile(&result, T::READ, 0.5), wait),
        ]
    });
}
