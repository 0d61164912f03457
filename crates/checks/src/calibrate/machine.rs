//! Microbenchmarks without I/O: memory, payload, the clock and timers.

use std::hint::black_box;
use std::time::Duration;

use drivers::Payload;
use reactor::{Reactor, clock};

use super::microbenchmarks::RepetitionResult;
use crate::error::CheckError;

/// Bytes that each thread copies at once: more than fits into caches.
const COPIED: usize = 64 << 20;
/// Maximum memory of all threads together.
const MAX_MEMORY: usize = 2 << 30;
/// Block size for generating and comparing payload.
const BLOCK: usize = 1 << 20;
/// Requested length of a timer.
const TIMER: Duration = Duration::from_millis(1);

/// Bytes per second that threads copy from memory to memory.
pub fn copy(threads: u32, length: Duration) -> Result<RepetitionResult, CheckError> {
    let bytes = COPIED.min(MAX_MEMORY / 2 / threads.max(1) as usize);
    let rates: Vec<f64> = std::thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(|| copying(bytes, length))).collect();
        started.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    match rates.len() == threads as usize {
        true => Ok(RepetitionResult::plain(rates.iter().sum())),
        false => {
            Err(CheckError::failure("a thread that copies memory panicked; this is a defect of manometer"))
        }
    }
}

fn copying(bytes: usize, length: Duration) -> f64 {
    // Written once, so that the pages are mapped.
    let (from, mut to) = (vec![1u8; bytes], vec![2u8; bytes]);
    repeated(length, || {
        to.copy_from_slice(black_box(&from));
        black_box(&mut to);
        bytes
    })
}

/// Rate of generating payload for writes, or of comparing it for reads.
pub fn payload(compare: bool, length: Duration) -> RepetitionResult {
    let payload = Payload::new(1);
    let mut block = vec![0u8; BLOCK];
    payload.fill(1, 0, &mut block);
    let mut offset = 0;
    RepetitionResult::plain(repeated(length, || {
        if compare {
            // It was just generated: there is no difference to report.
            let _ = black_box(payload.verify(1, 0, black_box(&block)));
        } else {
            payload.fill(1, offset, black_box(&mut block));
            offset = (offset + BLOCK as u64) & 0xffff_ffff;
        }
        BLOCK
    }))
}

/// Bytes per second from repeating one step.
fn repeated(length: Duration, mut once: impl FnMut() -> usize) -> f64 {
    let wanted = length.as_nanos() as u64;
    let begin = clock::now_ns();
    let mut moved = 0u64;
    loop {
        moved += once() as u64;
        let passed = clock::now_ns() - begin;
        if passed >= wanted {
            return moved as f64 * 1e9 / passed as f64;
        }
    }
}

/// Nanoseconds per clock reading.
pub fn clock_cost(length: Duration) -> RepetitionResult {
    let calls_per_s = repeated(length, || {
        (0..1000).for_each(|_| {
            black_box(clock::now_ns());
        });
        1000
    });
    RepetitionResult::plain(1e9 / calls_per_s)
}

/// Lateness of timers, in nanoseconds: the median of those that end in the given time.
pub fn timer(choice: reactor::BackendChoice, length: Duration) -> Result<RepetitionResult, CheckError> {
    let reactor = Reactor::open(choice)?;
    let count = (length.as_nanos() / TIMER.as_nanos()).clamp(10, 1000) as usize;
    let mut late: Vec<u64> = reactor.block_on(async {
        let mut late = Vec::with_capacity(count);
        for _ in 0..count {
            let begin = reactor.now();
            reactor.sleep(TIMER).await;
            late.push((reactor.now() - begin).saturating_sub(TIMER.as_nanos() as u64));
        }
        late
    });
    late.sort_unstable();
    Ok(RepetitionResult::plain(late[count / 2] as f64))
}
