//! Clients of a driver: instances of a library, with connections and threads of their own, that its sessions share.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::failure::Failure;

/// A client, if there is one.
struct Place<C> {
    used: Weak<C>,
    kept: Option<Arc<C>>,
}

/// The clients. Each lives as long as a session uses it, or as its driver.
pub(crate) struct SharedClients<C> {
    places: Box<[Mutex<Place<C>>]>,
    keep: bool,
}

impl<C> SharedClients<C> {
    /// So many, at least one; none is connected yet.
    pub(crate) fn new(count: u32) -> Self {
        let place = |_| Mutex::new(Place { used: Weak::new(), kept: None });
        Self { places: (0..count.max(1)).map(place).collect(), keep: false }
    }

    /// The same, of a library whose clients end slowly: they are kept for later sessions, until their driver ends.
    pub(crate) fn kept(count: u32) -> Self {
        Self { keep: true, ..Self::new(count) }
    }

    pub(crate) fn count(&self) -> usize {
        self.places.len()
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
        let place = &self.places[number % self.count()];
        let mut place = place.lock().unwrap_or_else(PoisonError::into_inner);
        let client = match place.used.upgrade() {
            Some(client) => client,
            None => connect()?,
        };
        place.used = Arc::downgrade(&client);
        place.kept = self.keep.then(|| Arc::clone(&client));
        Ok(client)
    }
}

impl<C> std::fmt::Debug for SharedClients<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SharedClients({})", self.count())
    }
}
