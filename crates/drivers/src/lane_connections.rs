//! The connections of a worker with one per lane: lent to operations, returned, reopened, and accounted for.

use std::cell::{Cell, RefCell};

use metrics::PathFacts;
use reactor::Stream;

use crate::link::Link;
use crate::{ConnectionFacts, DriverError, ReconnectReason, SessionFacts, connections};

/// Reason for losing a connection that was dropped with its lane's operation.
pub(crate) const TIMED_OUT: &str = "an operation on it timed out";

/// State that a lane keeps between operations.
pub(crate) trait KeptLane: Default {
    /// Its connection, while it is fit for another operation.
    fn link(&mut self) -> &mut Option<Link>;
}

/// One worker's lanes and their connections.
pub(crate) struct LaneConnections<L> {
    /// A lane is taken out while it works; one lost with a dropped operation is created again.
    lanes: Box<[Cell<Option<Box<L>>>]>,
    /// The lanes' connections again, for [`LaneConnections::facts`].
    streams: RefCell<Box<[Option<Stream>]>>,
    /// Which lanes have had a connection.
    opened: Box<[Cell<bool>]>,
    reconnects: Cell<u64>,
    reconnect_reasons: RefCell<Vec<ReconnectReason>>,
    /// Traffic of earlier connections.
    closed: RefCell<Vec<PathFacts>>,
}

impl<L: KeptLane> LaneConnections<L> {
    /// Creates this many lanes, none of them connected.
    pub(crate) fn new(lanes: u32) -> Self {
        let lanes = lanes.max(1) as usize;
        Self {
            lanes: (0..lanes).map(|_| Cell::new(None)).collect(),
            streams: RefCell::new((0..lanes).map(|_| None).collect()),
            opened: (0..lanes).map(|_| Cell::new(false)).collect(),
            reconnects: Cell::new(0),
            reconnect_reasons: RefCell::default(),
            closed: RefCell::default(),
        }
    }

    /// The number of lanes, at least 1.
    pub(crate) fn len(&self) -> usize {
        self.lanes.len()
    }

    /// Connects every lane by `connect`: one first, so that an absent server is contacted only once; then all others
    /// concurrently.
    ///
    /// # Errors
    /// The first lane that could not be connected.
    pub(crate) async fn open(
        &self,
        connect: impl AsyncFn(usize) -> Result<Link, DriverError>,
    ) -> Result<(), DriverError> {
        let connected = |index: usize, link| {
            let mut lane = Box::<L>::default();
            *lane.link() = Some(link);
            self.lanes[index].set(Some(lane));
        };
        connected(0, connect(0).await?);
        let rest = (1..self.lanes.len()).map(|index| connect(index)).collect();
        for (index, link) in (1..).zip(crate::join::all(rest).await) {
            connected(index, link?);
        }
        Ok(())
    }

    /// Takes a lane for an operation; creates one if it was dropped with an earlier operation.
    pub(crate) fn take(&self, index: usize) -> Box<L> {
        match self.lanes[index].take() {
            Some(lane) => lane,
            None => {
                self.gave_up(index);
                Box::default()
            }
        }
    }

    /// Returns a lane.
    pub(crate) fn give_back(&self, index: usize, mut lane: Box<L>) {
        if lane.link().is_none() {
            self.gave_up(index);
        }
        self.lanes[index].set(Some(lane));
    }

    /// Records that a lane is about to connect. `lost` says why the previous connection broke, if one did.
    pub(crate) fn connecting(&self, index: usize, lost: Option<&str>) {
        self.gave_up(index);
        if let (true, Some(why)) = (self.opened[index].replace(true), lost) {
            self.reconnects.set(self.reconnects.get() + 1);
            ReconnectReason::count(&mut self.reconnect_reasons.borrow_mut(), why, 1);
        }
    }

    /// Records a lane's new connection, shown as one of `worker`'s with protocol `protocol`.
    pub(crate) fn connected(&self, index: usize, stream: &Stream, protocol: &'static str, worker: u32) {
        connections::show(stream, protocol, worker, index);
        self.streams.borrow_mut()[index] = Some(stream.clone());
    }

    /// Records the traffic of a lane's connection that is abandoned. A timed-out operation takes its lane with it, so
    /// that a late response cannot be mistaken for another operation's.
    pub(crate) fn gave_up(&self, index: usize) {
        if let Some(stream) = self.streams.borrow_mut()[index].take() {
            connections::note_closed(&mut self.closed.borrow_mut(), &stream);
        }
    }

    /// Facts about the connections, open and closed.
    pub(crate) fn facts(&self) -> SessionFacts {
        let closed = self.closed.borrow();
        SessionFacts {
            connections: self.streams.borrow().iter().flatten().map(ConnectionFacts::of).collect(),
            reconnects: self.reconnects.get(),
            reconnect_reasons: self.reconnect_reasons.borrow().clone(),
            closed_retransmits: closed.iter().map(|path| path.retransmits).sum(),
            closed_paths: closed.clone(),
            ..SessionFacts::default()
        }
    }
}
