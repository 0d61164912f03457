//! The choice of a reactor's backend.

use std::str::FromStr;

/// The backend to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// io_uring, or epoll together with the reason if io_uring is refused.
    #[default]
    Auto,
    /// io_uring or an error.
    Uring,
    /// epoll; files use a thread pool.
    Epoll,
    /// io_uring that, with several operations in flight, waits for three quarters of them (at most 32, and at most 250
    /// microseconds) instead of for the first; or an error. Fewer wake-ups and larger batches use less CPU time but add
    /// up to that wait to latencies: for maximum rates, not for accurate latencies.
    Batching,
    /// io_uring with polling instead of interrupts, or an error.
    Polling(Polling),
}

/// What io_uring polls for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Polling {
    /// `IORING_SETUP_IOPOLL`: this thread polls the device for completed reads and writes instead of being interrupted.
    /// Only for files opened with `O_DIRECT`, on devices with poll queues.
    pub completions: bool,
    /// `IORING_SETUP_SQPOLL`: a kernel thread polls for new operations, so that they cost no system call. That thread
    /// keeps a core busy.
    pub submissions: bool,
}

impl BackendChoice {
    /// io_uring with the given kinds of polling; with none it is plain [`BackendChoice::Uring`].
    pub fn polling(completions: bool, submissions: bool) -> BackendChoice {
        match (completions, submissions) {
            (false, false) => BackendChoice::Uring,
            _ => BackendChoice::Polling(Polling { completions, submissions }),
        }
    }

    /// The kinds of polling to use.
    pub(crate) fn what_polls(self) -> Polling {
        match self {
            BackendChoice::Polling(polling) => polling,
            BackendChoice::Auto | BackendChoice::Uring | BackendChoice::Epoll | BackendChoice::Batching => {
                Polling::default()
            }
        }
    }
}

/// Every choice with its name.
const NAMES: [(&str, BackendChoice); 7] = [
    ("auto", BackendChoice::Auto),
    ("uring", BackendChoice::Uring),
    ("epoll", BackendChoice::Epoll),
    ("uring+batch", BackendChoice::Batching),
    ("uring+iopoll", BackendChoice::Polling(Polling { completions: true, submissions: false })),
    ("uring+sqpoll", BackendChoice::Polling(Polling { completions: false, submissions: true })),
    ("uring+iopoll+sqpoll", BackendChoice::Polling(Polling { completions: true, submissions: true })),
];

/// The name that is none of a [`BackendChoice`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is no reactor: write auto, uring, epoll, uring+batch, uring+iopoll, uring+sqpoll or uring+iopoll+sqpoll"
)]
pub struct UnknownBackend(pub String);

impl FromStr for BackendChoice {
    type Err = UnknownBackend;

    fn from_str(text: &str) -> Result<Self, UnknownBackend> {
        let found = NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, choice)| *choice).ok_or_else(|| UnknownBackend(text.to_owned()))
    }
}

impl std::fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let named = NAMES.iter().find(|(_, choice)| choice == self);
        // A polling choice without any polling is plain io_uring.
        f.write_str(named.map_or("uring", |(name, _)| name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_as_the_same_choice() {
        for (name, choice) in NAMES {
            assert_eq!(name.parse::<BackendChoice>().unwrap(), choice);
            assert_eq!(choice.to_string(), name);
        }
        assert!(
            "kqueue".parse::<BackendChoice>().unwrap_err().to_string().contains("write auto, uring, epoll")
        );
    }

    #[test]
    fn polling_for_nothing_is_plain_io_uring() {
        assert_eq!(BackendChoice::polling(false, false), BackendChoice::Uring);
        assert_eq!(BackendChoice::polling(true, false).to_string(), "uring+iopoll");
    }
}
