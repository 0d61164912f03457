//! Clients of a driver: instances of a library, with connections and threads of their own, that its sessions share.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::failure::Failure;

/// The clients. Each lives as long as a session uses it.
pub(crate) struct SharedClients<C>(Box<[Mutex<Weak<C>>]>);

impl<C> SharedClients<C> {
    /// So many, at least one; none is connected yet.
    pub(crate) fn new(count: u32) -> Self {
        Self((0..count.max(1)).map(|_| Mutex::new(Weak::new())).collect())
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The client with this number, modulo their count. One that nobody uses is connected by `connect`, which blocks; others
    /// that want it wait for that.
    ///
    /// # Errors
    /// That of `connect`.
    pub(crate) fn get(
        &self,
        number: usize,
        connect: impl FnOnce() -> Result<Arc<C>, Failure>,
    ) -> Result<Arc<C>, Failure> {
        let mut held = self.0[number % self.0.len()].lock().unwrap_or_else(PoisonError::into_inner);
        let client = match held.upgrade() {
            Some(client) => client,
            None => connect()?,
        };
        *held = Arc::downgrade(&client);
        Ok(client)
    }
}

impl<C> std::fmt::Debug for SharedClients<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SharedClients({})", self.count())
    }
}
