//! Which backend a reactor is to use.

use std::str::FromStr;

/// Which backend to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackendChoice {
    /// io_uring, or epoll with the reason when io_uring is refused.
    #[default]
    Auto,
    /// io_uring or an error.
    Uring,
    /// epoll; files by a pool of threads.
    Epoll,
    /// io_uring that, with several operations in flight, waits for three quarters of them (32 at most, and for 250
    /// microseconds at most) instead of for the first, or an error. Fewer wake-ups and larger batches cost less processor time, and
    /// add up to that wait to latencies: for the highest rates, not for the truest latencies.
    Batching,
    /// io_uring that polls instead of being interrupted, or an error.
    Polling(Polling),
}

/// What io_uring polls for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Polling {
    /// `IORING_SETUP_IOPOLL`: this thread asks the device again and again whether reads and writes are done, instead of
    /// being interrupted. Only for files that are opened with `O_DIRECT`, on devices that have queues to poll.
    pub completions: bool,
    /// `IORING_SETUP_SQPOLL`: a thread of the kernel looks for new operations, so that none costs a system call. That
    /// thread keeps a core busy.
    pub submissions: bool,
}

impl BackendChoice {
    /// io_uring with the given kinds of polling; without any it is plain [`BackendChoice::Uring`].
    pub fn polling(completions: bool, submissions: bool) -> BackendChoice {
        match (completions, submissions) {
            (false, false) => BackendChoice::Uring,
            _ => BackendChoice::Polling(Polling { completions, submissions }),
        }
    }

    /// What is to be polled for.
    pub(crate) fn what_polls(self) -> Polling {
        match self {
            BackendChoice::Polling(polling) => polling,
            BackendChoice::Auto | BackendChoice::Uring | BackendChoice::Epoll | BackendChoice::Batching => {
                Polling::default()
            }
        }
    }
}

/// Every choice and its name.
const NAMES: [(&str, BackendChoice); 7] = [
    ("auto", BackendChoice::Auto),
    ("uring", BackendChoice::Uring),
    ("epoll", BackendChoice::Epoll),
    ("uring+batch", BackendChoice::Batching),
    ("uring+iopoll", BackendChoice::Polling(Polling { completions: true, submissions: false })),
    ("uring+sqpoll", BackendChoice::Polling(Polling { completions: false, submissions: true })),
    ("uring+iopoll+sqpoll", BackendChoice::Polling(Polling { completions: true, submissions: true })),
];

impl FromStr for BackendChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, choice)| *choice).ok_or_else(|| {
            format!(
                "\"{text}\" is no reactor: write auto, uring, epoll, uring+batch, uring+iopoll, uring+sqpoll or \
                 uring+iopoll+sqpoll"
            )
        })
    }
}

impl std::fmt::Display for BackendChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let named = NAMES.iter().find(|(_, choice)| choice == self);
        // A polling choice that polls for nothing is plain io_uring.
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
        assert!("kqueue".parse::<BackendChoice>().unwrap_err().contains("write auto, uring, epoll"));
    }

    #[test]
    fn polling_for_nothing_is_plain_io_uring() {
        assert_eq!(BackendChoice::polling(false, false), BackendChoice::Uring);
        assert_eq!(BackendChoice::polling(true, false).to_string(), "uring+iopoll");
    }
}
