//! One worker's operations on a pool.

use std::pin::pin;
use std::sync::Arc;

use metrics::{ErrorKind, OpKind};
use reactor::Reactor;

use super::RadosDriver;
use super::client::{self, RadosPool};
use super::config::RadosConfig;
use super::exec::Exec;
use super::flights::{Located, RadosCalls};
use super::lister::Lister;
use super::locators::Locators;
use super::omap::Omap;
use crate::blocking_open::on_thread;
use crate::deadlines::TimeLimits;
use crate::failure::{Failure, compared};
use crate::flights::{AsyncLibrary, FlightDeck};
use crate::{Done, DriverError, Op, OpError, Session, SessionFacts, Sink, WorkerContext};

/// One worker's side of a pool.
pub struct RadosSession {
    config: Arc<RadosConfig>,
    context: WorkerContext,
    limits: TimeLimits,
    lanes: usize,
    // The flights are dropped before the pools they use.
    flights: FlightDeck<RadosCalls>,
    lister: Lister,
    omap: Option<Omap>,
    exec: Option<Exec>,
    /// Where objects are, unless on all OSDs.
    locators: Option<Arc<Locators>>,
    /// Lanes use them in turn.
    pools: Vec<RadosPool>,
}

impl RadosSession {
    /// Opens the pool as each client sees it that a lane uses.
    pub(super) async fn open(
        reactor: &Reactor,
        driver: RadosDriver,
        context: &WorkerContext,
    ) -> Result<Self, DriverError> {
        let lanes = context.lanes.max(1) as usize;
        let config = Arc::clone(&driver.config);
        let (first, limit) = (context.worker as usize * lanes, context.connect_timeout);
        let connect = move || {
            let RadosDriver { config, clients, locators } = driver;
            let numbers = first..first + lanes.min(clients.count());
            let pools = numbers.map(|number| client::pool(&clients, number, &config, limit));
            let pools: Vec<RadosPool> = pools.collect::<Result<_, _>>()?;
            Ok((pools, locators.get(&config, limit)?))
        };
        let opened: Result<(Vec<RadosPool>, Option<Arc<Locators>>), Failure> =
            on_thread(reactor, ("rados-connect", RadosCalls::NAME), connect).await?;
        let unopened = |failure: Failure| {
            let detail = format!("Ceph, {}: {}", config.location(), failure.detail);
            DriverError::new(failure.kind, detail)
        };
        let (pools, locators) = opened.map_err(unopened)?;
        let exec = config.exec.as_ref().map(Exec::new).transpose().map_err(unopened)?;
        let flights = FlightDeck::open(reactor, RadosCalls(pools[0].api), lanes)?;
        let lister = Lister::new(reactor, &config, lanes, context.connect_timeout, context.op_timeout);
        Ok(Self {
            omap: config.omap.map(Omap::new),
            exec,
            config,
            lister,
            limits: TimeLimits::start(reactor, lanes, context.op_timeout),
            context: context.clone(),
            lanes,
            flights,
            locators,
            pools,
        })
    }

    async fn run(&self, op: &Op, lane: usize) -> Result<Done, Failure> {
        let name = self.config.name(op.object);
        let oid = name.as_c().as_ptr();
        match op.kind {
            OpKind::List => {
                self.lister.next(lane).await?;
                return Ok(Done { rpcs: 1, ..Done::default() });
            }
            // What an OSD has acknowledged is durable.
            OpKind::Commit => return Ok(Done::default()),
            _ => {}
        }
        let at = Located {
            pool: &self.pools[lane % self.pools.len()],
            locator: self.locators.as_ref().map(|locators| locators.of(op.object)),
        };
        let io = at.pool.handle;
        let mut flight = self.flights.take(lane).await;
        let len = usize::try_from(op.len).unwrap_or(usize::MAX);
        let done = Done { rpcs: 1, bytes: op.payload_bytes(), ..Done::default() };
        // SAFETY (of all calls): the name is copied by librados before the call returns, as is data that is written. What
        // it writes to is the flight's, which keeps it until librados is done.
        match op.kind {
            OpKind::Put | OpKind::Write | OpKind::Append | OpKind::Create => {
                self.context.payload.fill_op(op, 0, flight.room(len));
                flight
                    .fly(&at, |api, completion, memory| unsafe {
                        let data = memory.buffer.as_ptr().cast();
                        match op.kind {
                            OpKind::Put | OpKind::Create => {
                                (api.rados_aio_write_full)(io, oid, completion, data, len)
                            }
                            OpKind::Write => (api.rados_aio_write)(io, oid, completion, data, len, op.offset),
                            _ => (api.rados_aio_append)(io, oid, completion, data, len),
                        }
                    })
                    .await?;
                Ok(done)
            }
            OpKind::Get | OpKind::Read => {
                // A byte more than the object should have shows that it is longer.
                let room = if op.kind == OpKind::Get { len + 1 } else { len };
                flight.room(room);
                let came = flight
                    .fly(&at, |api, completion, memory| unsafe {
                        let out = memory.buffer.as_mut_ptr().cast();
                        (api.rados_aio_read)(io, oid, completion, out, room, op.offset)
                    })
                    .await?;
                self.check(op, came, &flight.memory().buffer)?;
                Ok(done)
            }
            OpKind::Truncate => {
                flight
                    .fly_write(&at, oid, |api, write| unsafe {
                        (api.rados_write_op_truncate)(write, op.len);
                    })
                    .await?;
                Ok(done)
            }
            OpKind::Stat => {
                flight
                    .fly(&at, |api, completion, memory| unsafe {
                        let answer = &mut memory.extra;
                        let (size, modified_s) = (&raw mut answer.size_bytes, &raw mut answer.modified_s);
                        (api.rados_aio_stat)(io, oid, completion, size, modified_s)
                    })
                    .await?;
                Ok(done)
            }
            OpKind::Delete | OpKind::Remove => {
                flight
                    .fly(&at, |api, completion, _| unsafe { (api.rados_aio_remove)(io, oid, completion) })
                    .await?;
                Ok(done)
            }
            OpKind::OmapSet if let Some(omap) = &self.omap => {
                omap.set(&mut flight, &at, oid, (&self.context.payload, op)).await?;
                Ok(done)
            }
            OpKind::OmapGet if let Some(omap) = &self.omap => {
                let verify = self.context.sink == Sink::Verify;
                omap.get(&mut flight, &at, oid, (&self.context.payload, op, verify)).await?;
                Ok(done)
            }
            OpKind::Exec if let Some(exec) = &self.exec => {
                exec.call(&mut flight, &at, oid).await?;
                Ok(done)
            }
            other => Err(Failure::new(ErrorKind::Rejected, format!("RADOS has no operation {other}"))),
        }
    }

    /// Checks the length of what was read and, if wanted, its content.
    fn check(&self, op: &Op, came: i64, buffer: &[u8]) -> Result<(), Failure> {
        if came as u64 != op.len {
            let detail = match came as u64 > op.len {
                true => format!("the object is longer than the {} bytes that were asked for", op.len),
                false => format!("{came} bytes came where {} were asked for", op.len),
            };
            return Err(Failure::new(ErrorKind::Length, detail));
        }
        if self.context.sink == Sink::Verify {
            compared(&self.context.payload, op, 0, &buffer[..came as usize])?;
        }
        Ok(())
    }

    #[cold]
    fn describe(&self, op: &Op, Failure { kind, detail }: &Failure) -> OpError {
        let name = self.config.name(op.object);
        let text = format!("{} {} in {}: {detail}", op.kind, name.text(), self.config.location());
        OpError { rpcs: 1, ..OpError::new(*kind, text) }
    }
}

impl Session for RadosSession {
    async fn perform(&self, op: &Op) -> Result<Done, OpError> {
        let lane = op.lane as usize % self.lanes;
        let running = pin!(self.run(op, lane));
        self.limits.run(lane as u32, running).await.map_err(|failure| self.describe(op, &failure))
    }

    fn facts(&self) -> SessionFacts {
        SessionFacts { late_replies: self.flights.late(), ..SessionFacts::default() }
    }
}
