//! CPU usage of threads.

/// CPU usage of the workers' threads (getrusage(2)) over their whole life, including connecting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Usage {
    /// User time, in nanoseconds.
    pub user_ns: u64,
    /// System time, in nanoseconds.
    pub system_ns: u64,
    /// Voluntary context switches: a thread waited.
    pub voluntary_switches: u64,
    /// Involuntary context switches: a thread was preempted.
    pub involuntary_switches: u64,
    /// Major page faults: pages read from a disk.
    pub major_faults: u64,
    /// Minor page faults.
    pub minor_faults: u64,
}

impl Usage {
    /// Usage of the calling thread so far; zeros if the system does not report it.
    pub(crate) fn of_thread() -> Usage {
        let mut raw = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer refers to a whole, writable `rusage`; zeros are a valid one if the call fails.
        let raw = unsafe {
            libc::getrusage(libc::RUSAGE_THREAD, raw.as_mut_ptr());
            raw.assume_init()
        };
        let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
        let time = |at: libc::timeval| count(at.tv_sec) * 1_000_000_000 + count(at.tv_usec) * 1000;
        Usage {
            user_ns: time(raw.ru_utime),
            system_ns: time(raw.ru_stime),
            voluntary_switches: count(raw.ru_nvcsw),
            involuntary_switches: count(raw.ru_nivcsw),
            major_faults: count(raw.ru_majflt),
            minor_faults: count(raw.ru_minflt),
        }
    }

    /// Adds the usage of other threads.
    pub fn add(&mut self, other: Usage) {
        self.user_ns = self.user_ns.saturating_add(other.user_ns);
        self.system_ns = self.system_ns.saturating_add(other.system_ns);
        self.voluntary_switches = self.voluntary_switches.saturating_add(other.voluntary_switches);
        self.involuntary_switches = self.involuntary_switches.saturating_add(other.involuntary_switches);
        self.major_faults = self.major_faults.saturating_add(other.major_faults);
        self.minor_faults = self.minor_faults.saturating_add(other.minor_faults);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_takes_processor_time() {
        let before = Usage::of_thread();
        let mut sum = 0u64;
        while Usage::of_thread().user_ns + Usage::of_thread().system_ns
            < before.user_ns + before.system_ns + 1_000_000
        {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let mut twice = before;
        twice.add(before);
        assert_eq!(twice.user_ns, 2 * before.user_ns);
    }
}
