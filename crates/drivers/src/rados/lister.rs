//! Threads that list for the lanes of a session, one page at a time.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use metrics::ErrorKind;
use reactor::{Completer, Reactor, Signal, Task};

use super::client::{RadosClient, RadosPool};
use super::config::RadosConfig;
use super::listing::Listing;
use crate::DriverError;
use crate::failure::Failure;

/// Max threads of a session.
const THREADS_MAX: usize = 16;

/// A lane's place in its slice of the list, on its way between a lane and a thread.
struct Page {
    lane: usize,
    /// `None` before the first page.
    listing: Option<Box<Listing>>,
    outcome: Result<(), Failure>,
}

#[derive(Default)]
struct Queue {
    pages: VecDeque<Page>,
    idle: usize,
    threads: usize,
    closed: bool,
}

/// What the threads need. They end by themselves when the session has ended; librados gives up a call of theirs after
/// the time limit of an operation.
struct Shared {
    queue: Mutex<Queue>,
    work: Condvar,
    done: Completer<Page>,
    config: Arc<RadosConfig>,
    /// Slices of the list: one for each lane.
    lanes: usize,
    connect_timeout: Duration,
    op_timeout: Duration,
    client: OnceLock<Arc<RadosClient>>,
}

/// A lane's side.
struct ListLane {
    /// `None` while a thread has it.
    page: RefCell<Option<Page>>,
    returned: Signal,
}

/// Lists for the lanes of a session.
pub(super) struct Lister {
    shared: Arc<Shared>,
    lanes: Rc<[ListLane]>,
    arrivals: Cell<Option<Task>>,
}

impl Lister {
    pub(super) fn open(
        reactor: &Reactor,
        config: &Arc<RadosConfig>,
        lanes: usize,
        connect_timeout: Duration,
        op_timeout: Duration,
    ) -> Result<Self, DriverError> {
        let (completions, done) = reactor.completions::<Page>().map_err(|error| {
            DriverError::new(ErrorKind::Local, format!("no connection to librados: {error}"))
        })?;
        let lane = |lane| ListLane {
            page: RefCell::new(Some(Page { lane, listing: None, outcome: Ok(()) })),
            returned: reactor.signal(),
        };
        let own: Rc<[ListLane]> = (0..lanes).map(lane).collect();
        let arriving = Rc::clone(&own);
        let arrivals = reactor.spawn(async move {
            loop {
                completions
                    .wait(|page| {
                        let lane = &arriving[page.lane];
                        lane.page.replace(Some(page));
                        lane.returned.set();
                    })
                    .await;
            }
        });
        let shared = Shared {
            queue: Mutex::default(),
            work: Condvar::new(),
            done,
            config: Arc::clone(config),
            lanes,
            connect_timeout,
            op_timeout,
            client: OnceLock::new(),
        };
        Ok(Self { shared: Arc::new(shared), lanes: own, arrivals: Cell::new(Some(arrivals)) })
    }

    /// Lists the next page of the lane's slice; after the last one, the first again.
    pub(super) async fn next(&self, lane: usize) -> Result<(), Failure> {
        let own = &self.lanes[lane];
        // A page that was given up may still be with its thread.
        let page = Self::taken(own).await;
        self.shared.start(page)?;
        let mut page = Self::taken(own).await;
        let outcome = std::mem::replace(&mut page.outcome, Ok(()));
        own.page.replace(Some(page));
        outcome
    }

    async fn taken(own: &ListLane) -> Page {
        loop {
            let page = own.page.borrow_mut().take();
            match page {
                Some(page) => return page,
                None => own.returned.wait().await,
            }
        }
    }
}

impl Shared {
    /// Passes a page to a thread, and starts one if all are busy.
    fn start(self: &Arc<Self>, page: Page) -> Result<(), Failure> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.pages.push_back(page);
        if queue.idle < queue.pages.len() && queue.threads < THREADS_MAX {
            let shared = Arc::clone(self);
            let started =
                std::thread::Builder::new().name("rados-list".to_owned()).spawn(move || shared.work());
            match started {
                Ok(_) => queue.threads += 1,
                Err(error) if queue.threads == 0 => {
                    let page = queue.pages.pop_back();
                    drop(queue);
                    page.into_iter().for_each(|page| self.done.complete(page));
                    return Err(Failure::new(ErrorKind::Local, format!("no thread can be started: {error}")));
                }
                Err(_) => {}
            }
        }
        drop(queue);
        self.work.notify_one();
        Ok(())
    }

    fn work(&self) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        while !queue.closed {
            let Some(mut page) = queue.pages.pop_front() else {
                queue.idle += 1;
                queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
                queue.idle -= 1;
                continue;
            };
            drop(queue);
            page.outcome = self.list(&mut page);
            self.done.complete(page);
            queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn list(&self, page: &mut Page) -> Result<(), Failure> {
        let listing = match &mut page.listing {
            Some(listing) => listing,
            None => page.listing.insert(Box::new(self.begin(page.lane)?)),
        };
        match listing.next(|_| {}) {
            Ok(true) => Ok(()),
            Ok(false) => {
                page.listing = None;
                Ok(())
            }
            Err(failure) => Err(failure),
        }
    }

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

impl Drop for Lister {
    fn drop(&mut self) {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.shared.work.notify_all();
        if let Some(task) = self.arrivals.take() {
            task.abort();
        }
    }
}
