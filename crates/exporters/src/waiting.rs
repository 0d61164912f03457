//! Connections whose next request has not arrived: a bounded number per client, so that one that sends its requests
//! slowly cannot keep the others out.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::Notify;

/// The waiting connections of all clients.
#[derive(Debug)]
pub(crate) struct Waiting {
    /// Maximum number per client.
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By client, then by order of arrival.
    clients: HashMap<IpAddr, BTreeMap<u64, Arc<Notify>>>,
    last: u64,
}

/// A connection of a client. It waits until a request arrives, and again when the answer has been sent.
#[derive(Debug)]
pub(crate) struct Connection {
    all: Arc<Waiting>,
    client: IpAddr,
    place: Mutex<Place>,
    refused: Arc<Notify>,
}

/// Where a connection is.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// It waits, with this number.
    Waiting(u64),
    /// A request arrived that is not answered completely.
    Busy,
    Closed,
}

/// The address that stands for a client: who has an IPv6 address has its whole network of 64 bits (RFC 6177).
fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64))),
        address => address,
    }
}

impl Waiting {
    /// Up to `most` connections of each client wait.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new connection, which waits. If too many of its client do, the one that waits longest is refused.
    pub(crate) fn connect(self: &Arc<Self>, peer: IpAddr) -> Arc<Connection> {
        let connection = Connection {
            all: Arc::clone(self),
            client: client(peer),
            place: Mutex::new(Place::Busy),
            refused: Arc::default(),
        };
        connection.wait();
        Arc::new(connection)
    }
}

impl Connection {
    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a request.
    fn wait(&self) {
        let mut place = self.place();
        if !matches!(*place, Place::Busy) {
            return;
        }
        let mut state = self.all.state();
        state.last += 1;
        let number = state.last;
        let waiting = state.clients.entry(self.client).or_default();
        if waiting.len() >= self.all.most
            && let Some((_, oldest)) = waiting.pop_first()
        {
            oldest.notify_one();
        }
        waiting.insert(number, Arc::clone(&self.refused));
        *place = Place::Waiting(number);
    }

    fn leave(&self, to: Place) {
        let left = std::mem::replace(&mut *self.place(), to);
        let Place::Waiting(number) = left else { return };
        let mut state = self.all.state();
        if let Some(waiting) = state.clients.get_mut(&self.client) {
            waiting.remove(&number);
            if waiting.is_empty() {
                state.clients.remove(&self.client);
            }
        }
    }

    /// A request arrived.
    pub(crate) fn arrived(&self) {
        self.leave(Place::Busy);
    }

    /// It is closed, or about to be.
    pub(crate) fn close(&self) {
        self.leave(Place::Closed);
    }

    /// Waits until it is refused.
    pub(crate) async fn refused(&self) {
        self.refused.notified().await;
    }
}

/// The body of an answer: when it has been sent, its connection waits again.
#[derive(Debug)]
pub(crate) struct Answer<B> {
    pub(crate) body: B,
    pub(crate) connection: Arc<Connection>,
}

impl<B> Drop for Answer<B> {
    fn drop(&mut self) {
        self.connection.wait();
    }
}

impl<B: Body + Unpin> Body for Answer<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(all: &Waiting) -> usize {
        all.state().clients.values().map(BTreeMap::len).sum()
    }

    async fn is_refused(connection: &Connection) -> bool {
        tokio::select! {
            biased;
            () = connection.refused() => true,
            () = std::future::ready(()) => false,
        }
    }

    #[tokio::test]
    async fn the_one_that_waits_longest_is_refused_and_busy_ones_are_not() {
        let all = Waiting::new(2);
        let peer: IpAddr = "192.0.2.1".parse().unwrap();
        let [first, second] = [all.connect(peer), all.connect(peer)];
        first.arrived();
        let third = all.connect(peer);
        assert!(!is_refused(&second).await && !is_refused(&first).await);
        let fourth = all.connect(peer);
        assert!(is_refused(&second).await && !is_refused(&third).await && !is_refused(&first).await);
        // The first is answered, and waits again as the newest.
        drop(Answer { body: (), connection: Arc::clone(&first) });
        assert!(is_refused(&third).await && !is_refused(&fourth).await && !is_refused(&first).await);
        // A refused one whose request arrives all the same is not counted twice.
        second.arrived();
        for connection in [first, second, third, fourth] {
            connection.close();
            drop(Answer { body: (), connection });
        }
        assert!(all.state().clients.is_empty(), "nothing is kept of closed connections");
    }

    #[tokio::test]
    async fn each_client_has_its_own() {
        let all = Waiting::new(1);
        let one = all.connect("192.0.2.1".parse().unwrap());
        let mapped = all.connect("::ffff:192.0.2.1".parse().unwrap());
        assert!(is_refused(&one).await);
        let network = all.connect("2001:db8:0:1::1".parse().unwrap());
        let same = all.connect("2001:db8:0:1:ffff::2".parse().unwrap());
        let other = all.connect("2001:db8:0:2::1".parse().unwrap());
        assert!(is_refused(&network).await);
        assert!(!is_refused(&mapped).await && !is_refused(&same).await && !is_refused(&other).await);
        assert_eq!(waiting(&all), 3);
    }
}
