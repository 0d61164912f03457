//! Lists for the lanes of a session, one page at a time. librados has blocking calls for it only.

use std::cell::Cell;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use metrics::ErrorKind;
use reactor::{BlockingCall, Reactor};

use super::client::{RadosClient, RadosPool};
use super::config::RadosConfig;
use super::listing::Listing;
use crate::failure::Failure;

/// What all lanes need.
struct Shared {
    config: Arc<RadosConfig>,
    /// Slices of the list: one for each lane.
    lanes: usize,
    connect_timeout: Duration,
    /// librados gives up a call after it.
    op_timeout: Duration,
    client: OnceLock<Arc<RadosClient>>,
}

/// A lane's place in its slice of the list, on its way between the lane and a thread.
struct Page {
    shared: Arc<Shared>,
    lane: usize,
    /// `None` before the first page.
    listing: Option<Listing>,
    outcome: Result<(), Failure>,
}

impl BlockingCall for Page {
    fn run(&mut self) {
        self.outcome = self.list();
    }
}

/// Lists for the lanes of a session.
pub(super) struct Lister {
    reactor: Reactor,
    shared: Arc<Shared>,
    /// Of each lane; `None` while a thread has it.
    pages: Box<[Cell<Option<Box<Page>>>]>,
}

impl Lister {
    pub(super) fn new(
        reactor: &Reactor,
        config: &Arc<RadosConfig>,
        lanes: usize,
        connect_timeout: Duration,
        op_timeout: Duration,
    ) -> Self {
        let (config, client) = (Arc::clone(config), OnceLock::new());
        let shared = Shared { config, lanes, connect_timeout, op_timeout, client };
        Self {
            reactor: reactor.clone(),
            shared: Arc::new(shared),
            pages: (0..lanes).map(|_| Cell::default()).collect(),
        }
    }

    /// Lists the next page of the lane's slice; after the last one, the first again.
    pub(super) async fn next(&self, lane: usize) -> Result<(), Failure> {
        // One that was given up stays with its thread, and the lane begins again.
        let page = self.pages[lane].take().unwrap_or_else(|| {
            Box::new(Page { shared: Arc::clone(&self.shared), lane, listing: None, outcome: Ok(()) })
        });
        let listed = self.reactor.call_blocking(page).await;
        let mut page = listed.map_err(|error| {
            Failure::new(ErrorKind::Local, format!("no thread makes the calls of librados: {error}"))
        })?;
        let outcome = std::mem::replace(&mut page.outcome, Ok(()));
        self.pages[lane].set(Some(page));
        outcome
    }
}

impl Page {
    fn list(&mut self) -> Result<(), Failure> {
        let listing = match &mut self.listing {
            Some(listing) => listing,
            None => self.listing.insert(self.shared.begin(self.lane)?),
        };
        if !listing.next(|_, _| {})? {
            self.listing = None;
        }
        Ok(())
    }
}

impl Shared {
    fn begin(&self, lane: usize) -> Result<Listing, Failure> {
        let client = match self.client.get() {
            Some(client) => client,
            None => {
                let made = RadosClient::connect(&self.config, self.connect_timeout, Some(self.op_timeout))?;
                self.client.get_or_init(|| Arc::new(made))
            }
        };
        Ok(Listing::of(RadosPool::open(client, &self.config)?, lane, self.lanes))
    }
}
