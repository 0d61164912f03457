//! Which interface of the kernel makes the load.

use reactor::{Backend, Reactor};

use crate::error::{CheckError, While};

/// How the kernel was asked for I/O.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct ReactorFacts {
    /// io_uring or epoll.
    pub backend: &'static str,
    /// Why io_uring was not used, when it was refused.
    pub refusal: Option<String>,
}

impl ReactorFacts {
    /// Tries the reactor.
    ///
    /// # Errors
    /// What is asked for is not to be had on this host.
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
