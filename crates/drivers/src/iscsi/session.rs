//! A worker's sessions with the target, its lanes, and what it knows about the unit.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use metrics::ErrorKind;
use reactor::Reactor;
use wire::iscsi::Lun;

use super::config::IscsiConfig;
use super::connection::{Connection, Settings, serve};
use super::control::UnitFacts;
use super::login::{Way, establish};
use super::operation::Operation;
use crate::deadlines::{Deadlines, Watching};
use crate::reconnecting::Served;
use crate::{Done, DriverError, Op, OpError, Session, SessionFacts, WorkerContext};

/// Total bytes of send and of receive buffers, divided among a worker's connections.
const SEND_BYTES: usize = 1 << 20;
const RECEIVE_BYTES: usize = 2 << 20;

/// One worker's sessions with a target.
pub struct IscsiSession {
    pub(super) reactor: Reactor,
    connections: Vec<Served<Connection>>,
    /// A lane's block that arrives by several commands and is verified as a whole.
    pub(super) blocks: Vec<RefCell<Vec<u8>>>,
    pub(super) unit: UnitFacts,
    pub(super) stable: bool,
    /// The unit has WRITE SAME only with 10 bytes.
    pub(super) same_by_ten: Cell<bool>,
    /// Bytes of a slice; 0: the unit is not divided.
    pub(super) slice_bytes: u64,
    /// The unit's content was checked.
    pub(super) writable: bool,
    pub(super) deadlines: Rc<Deadlines>,
    _watching: Watching,
    /// Target and unit as shown in messages.
    pub(super) label: String,
}

impl IscsiSession {
    pub(super) async fn open(
        reactor: &Reactor,
        config: &Arc<IscsiConfig>,
        context: &WorkerContext,
        writable: bool,
    ) -> Result<Self, DriverError> {
        let span = u64::try_from(context.connect_timeout.as_nanos()).unwrap_or(u64::MAX);
        let deadline_ns = reactor.now().saturating_add(span);
        let lanes = context.lanes.max(1);
        let count = config.sessions.min(lanes);
        let parts = count as usize;
        let settings = Rc::new(Settings {
            config: Arc::clone(config),
            worker: context.worker,
            payload: context.payload,
            sink: context.sink,
            op_timeout: context.op_timeout,
            connect_timeout: context.connect_timeout,
            lun: Lun::of(config.lun).unwrap_or_default(),
            send_bytes: (SEND_BYTES / parts).clamp(SEND_BYTES / 16, SEND_BYTES / 4),
            receive_bytes: (RECEIVE_BYTES / parts).clamp(RECEIVE_BYTES / 8, RECEIVE_BYTES / 2),
        });
        let mut connections = Vec::with_capacity(parts);
        let mut unit = None;
        for number in 0..count {
            let over_all = u64::from(context.worker) * u64::from(count) + u64::from(number);
            let way = Way::of(config, over_all);
            let mut caller = establish(reactor, config, &way, false, deadline_ns).await?;
            if unit.is_none() {
                unit = Some(UnitFacts::ask(&mut caller, config).await?);
            }
            let place = (number as usize, way);
            let lanes_each = lanes.div_ceil(count);
            connections.push(serve(reactor, &settings, place, caller.into_parts(), lanes_each));
        }
        let unit = unit.expect("there is at least one session");
        let deadlines = Deadlines::new(reactor, lanes as usize, context.op_timeout);
        let watched: Vec<_> = connections.iter().map(|served| Rc::clone(&served.connection)).collect();
        let watching = deadlines
            .watch(move |now_ns| watched.iter().for_each(|connection| connection.end_overdue(now_ns)));
        Ok(Self {
            reactor: reactor.clone(),
            connections,
            blocks: (0..lanes).map(|_| RefCell::default()).collect(),
            unit,
            stable: config.stable,
            same_by_ten: Cell::new(false),
            slice_bytes: config.slice_bytes,
            writable,
            deadlines,
            _watching: watching,
            label: config.label(),
        })
    }

    /// A lane's connection and its slot on it.
    #[inline]
    pub(super) fn place_of(&self, lane: u32) -> (&Connection, u32) {
        let count = self.connections.len() as u32;
        (&self.connections[(lane % count) as usize].connection, lane / count)
    }

    /// What the unit says about itself.
    pub fn unit(&self) -> &UnitFacts {
        &self.unit
    }
}

impl Session for IscsiSession {
    async fn perform(&self, op: &Op) -> Result<Done, OpError> {
        if op.lane as usize >= self.blocks.len() {
            let text = format!("lane {} of a session with {} lanes", op.lane, self.blocks.len());
            return Err(OpError::new(ErrorKind::Local, text));
        }
        Operation::new(self, op).run().await
    }

    fn facts(&self) -> SessionFacts {
        let mut facts = SessionFacts::default();
        for served in &self.connections {
            let connection = &served.connection;
            connection.transport.add_to(&mut facts);
            facts.late_replies += connection.state.borrow().table.late_replies;
        }
        facts
    }
}
