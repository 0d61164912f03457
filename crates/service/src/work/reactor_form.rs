//! How work submits I/O to the kernel, as requests say it.

use serde::Deserialize;
use utoipa::ToSchema;

/// How I/O is submitted to the kernel.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Reactor)]
pub(crate) enum ReactorForm {
    /// io_uring when the kernel allows it, else epoll.
    Auto,
    /// io_uring, or fail.
    Uring,
    /// epoll.
    Epoll,
}

impl ReactorForm {
    /// What a request chose.
    pub(super) fn choice(given: Option<Self>) -> reactor::BackendChoice {
        match given {
            None | Some(Self::Auto) => reactor::BackendChoice::Auto,
            Some(Self::Uring) => reactor::BackendChoice::Uring,
            Some(Self::Epoll) => reactor::BackendChoice::Epoll,
        }
    }
}
