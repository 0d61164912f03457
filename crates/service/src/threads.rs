//! Threads by priority: those that answer requests yield to those of runs.

use std::io;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::Builder;

/// By how much the niceness of threads that answer requests exceeds that of runs. The scheduler gives such a thread
/// about a tenth of the CPU time of a run's (sched(7), "The nice value").
const NICER: i32 = 10;

/// Lowers the priority of the calling thread: clients of the API must not slow down a load that is measured.
pub(crate) fn yield_to_runs() {
    // Niceness belongs to threads on Linux. If this is refused, requests and runs are equals, as without it.
    let _ = rustix::process::nice(NICER);
}

/// Starts threads of runs at the priority of the service itself. A thread inherits its priority from the thread that
/// starts it, and raising it again needs a privilege.
pub(crate) struct RunThreads(Sender<Request>);

struct Request {
    name: String,
    run: Box<dyn FnOnce() + Send>,
    started: SyncSender<io::Result<()>>,
}

impl RunThreads {
    /// Takes the priority of the calling thread for all threads to come.
    ///
    /// # Errors
    /// The system starts no further thread.
    pub(crate) fn new() -> io::Result<Self> {
        let (sender, requests) = channel();
        Builder::new().name("run-threads".into()).spawn(move || start_all(&requests))?;
        Ok(Self(sender))
    }

    /// Starts a thread.
    ///
    /// # Errors
    /// The system starts no further thread.
    pub(crate) fn start(&self, name: String, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let (started, outcome) = sync_channel(1);
        let gone = || io::Error::other("the thread that starts runs has ended");
        self.0.send(Request { name, run: Box::new(run), started }).map_err(|_| gone())?;
        outcome.recv().map_err(|_| gone())?
    }
}

/// Ends when the last sender is gone.
fn start_all(requests: &Receiver<Request>) {
    for Request { name, run, started } in requests {
        // If nobody waits for the outcome, nobody needs it.
        let _ = started.send(Builder::new().name(name).spawn(run).map(drop));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn niceness() -> i32 {
        rustix::process::getpriority_process(None).unwrap()
    }

    #[test]
    fn runs_keep_the_priority_of_the_service_when_requests_start_them() {
        let before = niceness();
        let threads = RunThreads::new().unwrap();
        let (sender, receiver) = channel();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                yield_to_runs();
                assert_eq!(niceness(), (before + NICER).min(19));
                threads.start("run-1".into(), move || sender.send(niceness()).unwrap()).unwrap();
            });
        });
        assert_eq!(receiver.recv().unwrap(), before);
        assert_eq!(niceness(), before);
    }
}
