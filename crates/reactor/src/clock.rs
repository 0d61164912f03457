//! The only place where time is read.
//!
//! Monotonic time is nanoseconds since an origin fixed when the process first asks. On x86-64 with an invariant
//! time-stamp counter (CPUID 8000_0007h, EDX bit 8) that the kernel itself trusts as its clock source, the counter is
//! read directly: about 10 ns instead of 23 ns through the vDSO, which matters when a null target executes tens of
//! millions of operations per second. Otherwise `CLOCK_MONOTONIC` is used.

use std::sync::OnceLock;
use std::time::SystemTime;

use rustix::time::{ClockId, clock_gettime};

fn monotonic_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::Monotonic))
}

fn nanoseconds(t: rustix::time::Timespec) -> u64 {
    (t.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(t.tv_nsec as u64)
}

/// Converts ticks of the CPU's counter to nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    /// Counter at the origin.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    origin_ticks: u64,
    /// `CLOCK_MONOTONIC` at the origin.
    origin_ns: u64,
    /// Nanoseconds per tick, as a fixed-point number with 32 fraction bits; 0 means that the counter must not be used.
    ns_per_tick_q32: u64,
}

impl Scale {
    /// The scale for this process; measured once, in about 20 ms.
    pub(crate) fn get() -> Scale {
        static SCALE: OnceLock<Scale> = OnceLock::new();
        *SCALE.get_or_init(Scale::measure)
    }

    fn measure() -> Scale {
        let kernel_only = Scale { origin_ticks: 0, origin_ns: 0, ns_per_tick_q32: 0 };
        if !counter::trusted() {
            return kernel_only;
        }
        let (first_ticks, first_ns) = counter::paired_reading();
        // At least 20 ms apart, with each reading accurate to about 50 ns: at worst 5 parts per million.
        std::thread::sleep(std::time::Duration::from_millis(20));
        let (last_ticks, last_ns) = counter::paired_reading();
        let (ticks, ns) = (last_ticks.wrapping_sub(first_ticks), last_ns - first_ns);
        if ticks == 0 || ticks > u64::from(u32::MAX) {
            return kernel_only;
        }
        let ns_per_tick_q32 = ((u128::from(ns) << 32) / u128::from(ticks)) as u64;
        Scale { origin_ticks: last_ticks, origin_ns: last_ns, ns_per_tick_q32 }
    }

    /// Nanoseconds on the monotonic clock.
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        if self.ns_per_tick_q32 == 0 {
            return monotonic_ns();
        }
        let ticks = counter::ticks().wrapping_sub(self.origin_ticks);
        self.origin_ns + ((u128::from(ticks) * u128::from(self.ns_per_tick_q32)) >> 32) as u64
    }
}

#[cfg(target_arch = "x86_64")]
mod counter {
    use std::arch::x86_64::{__cpuid, _rdtsc};

    /// Whether the counter runs at a constant rate and the kernel keeps time with it.
    pub(super) fn trusted() -> bool {
        let invariant = __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0;
        let source =
            std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
        invariant && source.is_ok_and(|s| matches!(s.trim(), "tsc" | "kvm-clock"))
    }

    #[inline]
    pub(super) fn ticks() -> u64 {
        // SAFETY: the instruction exists on every x86-64 CPU and does not access memory.
        unsafe { _rdtsc() }
    }

    /// Counter and clock read as close together as possible: the tightest of several attempts.
    pub(super) fn paired_reading() -> (u64, u64) {
        let mut best = (u64::MAX, 0, 0);
        for _ in 0..32 {
            let before = ticks();
            let ns = super::monotonic_ns();
            let gap = ticks().wrapping_sub(before);
            if gap < best.0 {
                best = (gap, before + gap / 2, ns);
            }
        }
        (best.1, best.2)
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod counter {
    pub(super) fn trusted() -> bool {
        false
    }

    pub(super) fn ticks() -> u64 {
        0
    }

    pub(super) fn paired_reading() -> (u64, u64) {
        (0, 0)
    }
}

/// Nanoseconds on the monotonic clock; same as [`crate::Reactor::now`] of a real reactor.
#[inline]
pub fn now_ns() -> u64 {
    Scale::get().now_ns()
}

/// Calendar time, for signatures, certificates and records; never for measuring.
#[allow(clippy::disallowed_methods)]
pub fn wall() -> SystemTime {
    SystemTime::now()
}

/// CPU time used by this thread, in nanoseconds.
pub fn cpu_thread_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ThreadCPUTime))
}

/// CPU time used by all threads of this process, in nanoseconds.
pub fn cpu_process_ns() -> u64 {
    nanoseconds(clock_gettime(ClockId::ProcessCPUTime))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_keeps_time_with_the_kernel() {
        let scale = Scale::get();
        let before = monotonic_ns();
        let ours_before = scale.now_ns();
        std::thread::sleep(std::time::Duration::from_millis(100));
        let ours = scale.now_ns() - ours_before;
        let kernel = monotonic_ns() - before;
        // Both spans enclose the same sleep; the time between the readings is far below 5 ms unless the thread was
        // descheduled there, in which case only the outer span grows.
        assert!(ours <= kernel + 100_000, "{ours} ns against the kernel's {kernel} ns");
        assert!(ours >= 99_900_000, "{ours} ns for a sleep of 100 ms");
    }

    #[test]
    fn time_never_runs_backwards() {
        let mut last = now_ns();
        for _ in 0..100_000 {
            let next = now_ns();
            assert!(next >= last);
            last = next;
        }
    }
}
