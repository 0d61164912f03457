//! Why io_uring cannot be used.

use std::io;

/// Why io_uring cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UringRefusal {
    /// The kernel refuses a ring.
    #[error("{cause} ({error})")]
    Kernel {
        /// The most likely cause.
        cause: &'static str,
        /// What the kernel says.
        error: String,
    },
    /// The kernel refuses a ring that polls the device.
    #[error("no ring that polls: {cause} ({error})")]
    Polled {
        /// The most likely cause.
        cause: &'static str,
        /// What the kernel says.
        error: String,
    },
    /// The kernel's io_uring lacks this operation.
    #[error("this kernel's io_uring lacks {0} (Linux 5.11 or later is needed)")]
    Lacks(&'static str),
    /// The kernel's io_uring cannot wait with a timeout.
    #[error("this kernel's io_uring cannot wait with a timeout (Linux 5.11 or later is needed)")]
    NoTimeout,
}

impl UringRefusal {
    pub(crate) fn kernel(error: &io::Error) -> Self {
        Self::Kernel { cause: cause(error), error: error.to_string() }
    }

    pub(crate) fn polled(error: &io::Error) -> Self {
        Self::Polled { cause: cause(error), error: error.to_string() }
    }
}

fn cause(error: &io::Error) -> &'static str {
    match error.raw_os_error() {
        Some(libc::ENOSYS) => "not in this kernel, or hidden by a container's seccomp profile",
        Some(libc::EPERM | libc::EACCES) => {
            match std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").as_deref().map(str::trim) {
                Ok("1" | "2") => "switched off by the sysctl kernel.io_uring_disabled",
                _ => "blocked, most likely by a container's seccomp profile",
            }
        }
        Some(libc::ENOMEM) => "the limit on locked memory is too low (ulimit -l)",
        Some(libc::EMFILE | libc::ENFILE) => "too many open files",
        _ => "refused by the kernel",
    }
}
