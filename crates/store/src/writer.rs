//! The thread that writes intervals: a slow disk holds up this thread, not the measurement.
//!
//! The caller encodes an interval (some hundred microseconds per second) and hands it over. There is no queue: an
//! interval is accepted when the previous one is in the file, so that a crash loses one at most. A disk that stalls for
//! longer than an interval makes [`Writer::interval`] wait.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use database::{Connection, DatabaseError, params};
use metrics::{Interval, OpKind};
use serde::Serialize;

use crate::encode::{StoredInterval, signed};
use crate::error::StoreError;
use crate::read::WHOLE;
use crate::record::Event;
use crate::samples::Thinned;
use crate::store::{Store, insert_event};

/// The file is forced to disk (`fsync`) after this many intervals: a power cut loses no more than these.
///
/// A crash of the process loses none of them. Forcing each would add an `fsync` per second to a measurement, which is a
/// load of its own on the file system under test: ext4 writes out other files' data for it.
pub const SYNC_EVERY: u32 = 5;

/// Writes a run's intervals and events. Dropping it writes everything handed over.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    orders: Option<SyncSender<Order>>,
    thread: Option<JoinHandle<Result<(), StoreError>>>,
}

enum Order {
    Interval { cell: u32, stage: String, trial: u32, host: String, interval: StoredInterval },
    Sample { cell: u32, host: String, at_ns: u64, text: String },
    Event(Event),
    Flush(SyncSender<()>),
}

impl Writer {
    pub(crate) fn start(results: &Store, run: &str) -> Result<Self, StoreError> {
        let store = results.open_again()?;
        let path = results.path();
        let mut scribe = Scribe {
            run: store.number_of(run)?,
            run_id: run.to_owned(),
            store,
            unsynced: 0,
            thinned: Thinned::default(),
        };
        let (orders, inbox) = sync_channel(0);
        let thread = std::thread::Builder::new()
            .name("results".into())
            .spawn(move || scribe.work(&inbox))
            .map_err(|error| StoreError::Other {
                path: path.to_path_buf(),
                why: format!(
                    "no thread for writing results: {error}; next: raise the limit of processes (ulimit -u)"
                ),
            })?;
        Ok(Self { path: path.to_path_buf(), orders: Some(orders), thread: Some(thread) })
    }

    /// Writes one interval of a stage; `trial` distinguishes the measurements of a study, 0 otherwise.
    ///
    /// When it returns, every earlier interval is in the file, and this one is on its way.
    ///
    /// # Errors
    /// An earlier interval could not be written. This writer cannot write anything afterwards.
    pub fn interval(
        &mut self,
        cell: u32,
        stage: &str,
        trial: u32,
        interval: &Interval,
    ) -> Result<(), StoreError> {
        self.host_interval(cell, stage, trial, WHOLE, interval)
    }

    /// Writes one interval of one host of a fleet, beside the combined one.
    ///
    /// # Errors
    /// As [`Writer::interval`].
    pub fn host_interval(
        &mut self,
        cell: u32,
        stage: &str,
        trial: u32,
        host: &str,
        interval: &Interval,
    ) -> Result<(), StoreError> {
        let interval = StoredInterval::new(interval);
        let (stage, host) = (stage.to_owned(), host.to_owned());
        self.order(Order::Interval { cell, stage, trial, host, interval })
    }

    /// Writes a host's sample of itself; its time is in nanoseconds since the measured window began. Expects at most
    /// one per second. Many samples are thinned out ([`crate::SAMPLES_KEPT`]).
    ///
    /// # Errors
    /// As [`Writer::interval`].
    pub fn sample(
        &mut self,
        cell: u32,
        host: &str,
        at_ns: u64,
        sample: &impl Serialize,
    ) -> Result<(), StoreError> {
        let text = serde_json::to_string(sample).map_err(|error| StoreError::Other {
            path: self.path.clone(),
            why: format!("a sample of {host} cannot be written as JSON: {error}"),
        })?;
        self.order(Order::Sample { cell, host: host.to_owned(), at_ns, text })
    }

    /// Writes an event, in order with the intervals.
    ///
    /// # Errors
    /// As [`Writer::interval`].
    pub fn event(&mut self, event: &Event) -> Result<(), StoreError> {
        self.order(Order::Event(event.clone()))
    }

    /// Waits until everything handed over is on disk.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn flush(&mut self) -> Result<(), StoreError> {
        let (done, wait) = sync_channel(1);
        self.order(Order::Flush(done))?;
        match wait.recv() {
            Ok(()) => Ok(()),
            Err(_) => Err(self.what_happened()),
        }
    }

    /// Writes everything handed over and ends the thread.
    ///
    /// # Errors
    /// Something could not be written.
    pub fn finish(mut self) -> Result<(), StoreError> {
        self.flush()
    }

    fn order(&mut self, order: Order) -> Result<(), StoreError> {
        let sent = self.orders.as_ref().is_some_and(|orders| orders.send(order).is_ok());
        if sent { Ok(()) } else { Err(self.what_happened()) }
    }

    /// The error that ended the thread, which by itself ends only when it cannot write.
    fn what_happened(&mut self) -> StoreError {
        self.orders = None;
        let other = |why: &str| StoreError::Other { path: self.path.clone(), why: why.to_owned() };
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(Err(error))) => error,
            Some(Ok(Ok(())) | Err(_)) => other("writing results ended unexpectedly"),
            None => other("no more results are written after the error that was reported"),
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // Reporting an error was up to `finish`; drop cannot.
            let _ = thread.join();
        }
    }
}

/// The thread's state.
struct Scribe {
    store: Store,
    run: i64,
    run_id: String,
    unsynced: u32,
    thinned: Thinned,
}

impl Scribe {
    fn work(&mut self, inbox: &Receiver<Order>) -> Result<(), StoreError> {
        for order in inbox {
            match order {
                Order::Interval { cell, stage, trial, host, interval } => {
                    if host == WHOLE {
                        self.sync(self.unsynced + 1 >= SYNC_EVERY)?;
                    } else {
                        self.unforced()?;
                    }
                    let cell_number = self.store.cell_number(&self.run_id, cell)?;
                    self.store.write(|transaction| {
                        let number = stage_number(transaction, cell_number, &stage, trial, &host)?;
                        insert_interval(transaction, number, &interval)
                    })?;
                }
                Order::Sample { cell, host, at_ns, text } => {
                    self.unforced()?;
                    let cell_number = self.store.cell_number(&self.run_id, cell)?;
                    let thinning = self.thinned.next(cell_number, &host);
                    self.store
                        .write(|transaction| thinning.write(transaction, cell_number, &host, at_ns, &text))?;
                }
                Order::Event(event) => {
                    self.sync(self.unsynced + 1 >= SYNC_EVERY)?;
                    let run = self.run;
                    self.store.write(|transaction| insert_event(transaction, run, &event))?;
                }
                Order::Flush(done) => {
                    // A forced transaction takes all earlier ones to disk with it.
                    self.sync(true)?;
                    let run = self.run;
                    self.store.write(|transaction| {
                        transaction.execute("UPDATE runs SET id = id WHERE number = ?1", params![run])
                    })?;
                    let _ = done.send(());
                }
            }
        }
        Ok(())
    }

    /// Sets whether the next transaction is forced to disk.
    fn sync(&mut self, force: bool) -> Result<(), StoreError> {
        self.unsynced = if force { 0 } else { self.unsynced + 1 };
        self.level(force)
    }

    /// Host data beside the combined series reaches the disk with the next forced transaction.
    fn unforced(&mut self) -> Result<(), StoreError> {
        self.level(false)
    }

    /// A server forces every transaction.
    fn level(&self, force: bool) -> Result<(), StoreError> {
        let Some(connection) = self.store.connection.sqlite() else { return Ok(()) };
        let level = if force { "FULL" } else { "NORMAL" };
        let set = connection.pragma_update(None, "synchronous", level);
        set.map_err(|error| StoreError::from_sqlite(self.store.path(), error))
    }
}

fn stage_number(
    connection: &Connection,
    cell: i64,
    stage: &str,
    trial: u32,
    host: &str,
) -> Result<i64, DatabaseError> {
    // Looked up each time: the cell may have restarted, and row numbers are reused.
    let found = connection.optional_row(
        "SELECT number FROM stages WHERE cell = ?1 AND stage = ?2 AND trial = ?3 AND host = ?4",
        params![cell, stage, trial, host],
        |row| row.get(0),
    )?;
    if let Some(number) = found {
        return Ok(number);
    }
    connection.row(
        "INSERT INTO stages (cell, stage, trial, host) VALUES (?1, ?2, ?3, ?4) RETURNING number",
        params![cell, stage, trial, host],
        |row| row.get(0),
    )
}

fn insert_interval(
    connection: &Connection,
    stage: i64,
    interval: &StoredInterval,
) -> Result<(), DatabaseError> {
    let number: i64 = connection.row(
        "INSERT INTO intervals (stage, interval, start_ns, length_ns) VALUES (?1, ?2, ?3, ?4) RETURNING number",
        params![stage, interval.index, signed(interval.start_ns), signed(interval.length_ns)],
        |row| row.get(0),
    )?;
    for op in &interval.ops {
        let point = &op.point;
        connection.execute(
            "INSERT INTO interval_ops (interval, op, ok, failed, bytes, rpcs, retries, mean_ns, p50_ns, p99_ns, p999_ns,
             max_ns, errors, service, response, procedures)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
            params![
                number,
                point.op.map(OpKind::name),
                signed(point.ok),
                signed(point.failed),
                signed(point.bytes),
                signed(point.rpcs),
                signed(point.retries),
                point.mean_ns,
                signed(point.p50_ns),
                signed(point.p99_ns),
                signed(point.p999_ns),
                signed(point.max_ns),
                op.errors,
                op.service,
                op.response,
                op.procedures,
            ],
        )?;
    }
    Ok(())
}
