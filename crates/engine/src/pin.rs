//! Binding a worker's thread to a core.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Binds the calling thread to one of its allowed cores, chosen round-robin by `worker`. If that is not permitted, the
/// thread stays where it is.
pub(crate) fn to_core(worker: u32) {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    if let Some(core) = cores.get(worker as usize % cores.len().max(1)) {
        let mut one = CpuSet::new();
        one.set(*core);
        // A failure costs uniformity, not correctness.
        let _ = sched_setaffinity(None, &one);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_bound_to_one_allowed_core() {
        let bound = std::thread::spawn(|| {
            let before = sched_getaffinity(None).unwrap();
            to_core(1_000_003);
            let after = sched_getaffinity(None).unwrap();
            (after.count(), (0..CpuSet::MAX_CPU).all(|core| !after.is_set(core) || before.is_set(core)))
        });
        assert_eq!(bound.join().unwrap(), (1, true));
    }
}
