//! Which kernel interface generates the load.

use reactor::{Backend, Reactor};

use crate::error::{CheckError, While};

/// How I/O is submitted to the kernel.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ReactorFacts {
    /// io_uring or epoll.
    pub backend: &'static str,
    /// Why io_uring was refused, if it was.
    pub refusal: Option<String>,
}

impl ReactorFacts {
    /// Tests the reactor.
    ///
    /// # Errors
    /// The requested interface is not available on this host.
    pub fn of(choice: reactor::BackendChoice) -> Result<Self, CheckError> {
        let reactor = Reactor::open(choice).during(format_args!("--reactor {choice}"))?;
        let backend = match reactor.backend() {
            Backend::Epoll => "epoll",
            Backend::Uring | Backend::Simulated => "io_uring",
        };
        Ok(Self { backend, refusal: reactor.refusal() })
    }

    /// As facts of a run's environment.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        let refusal = self.refusal.iter().map(|refusal| ("reactor.refusal", refusal.clone()));
        std::iter::once(("reactor", self.backend.to_owned())).chain(refusal).collect()
    }
}
