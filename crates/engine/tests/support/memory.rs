//! A target that stores bytes in memory, on a virtual clock, and can be told to store or return wrong ones.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use drivers::{Done, Driver, DriverError, Op, OpError, Payload, Session, SessionFacts, Sink, WorkerContext};
use metrics::{ErrorKind, OpKind};
use reactor::Reactor;

use super::ms;

/// A file or object, and the offset in it.
pub type Place = (u64, u64);

/// A defect of one place, whenever it is written or read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Defect {
    /// One bit of the written data is stored inverted.
    FlippedBit,
    /// A write is acknowledged but not stored.
    LostWrite,
    /// A write is stored elsewhere.
    Misplaced(Place),
    /// The first read after each write returns the previous content.
    StaleRead,
    /// A write is not acknowledged, whether stored or not.
    Refused { stored: bool },
}

/// Defects of some writes to places that already have content. All are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Overwrites {
    /// Every n-th is not stored.
    Lost { every: u64 },
    /// Every n-th is stored in a different place that has content too.
    Misplaced { every: u64 },
}

#[derive(Default)]
struct State {
    overwrites: Option<Overwrites>,
    overwritten: u64,
    blocks: HashMap<Place, Vec<u8>>,
    before: HashMap<Place, Vec<u8>>,
    defects: BTreeMap<Place, Defect>,
    writes: u64,
}

/// Stores blocks, each at the place where it was written.
#[derive(Clone, Default)]
pub struct MemoryDriver {
    state: Arc<Mutex<State>>,
}

pub struct MemorySession {
    driver: MemoryDriver,
    reactor: Reactor,
    payload: Payload,
    verify: bool,
}

impl MemoryDriver {
    pub fn defect(&self, place: Place, defect: Defect) {
        self.state.lock().unwrap().defects.insert(place, defect);
    }

    pub fn overwrites(&self, overwrites: Overwrites) {
        self.state.lock().unwrap().overwrites = Some(overwrites);
    }

    /// Every place with content, and its size.
    pub fn sizes(&self) -> BTreeMap<Place, usize> {
        self.state.lock().unwrap().blocks.iter().map(|(place, bytes)| (*place, bytes.len())).collect()
    }

    /// The content of a place.
    pub fn content(&self, place: Place) -> Option<Vec<u8>> {
        self.state.lock().unwrap().blocks.get(&place).cloned()
    }

    /// Number of writes so far.
    pub fn writes(&self) -> u64 {
        self.state.lock().unwrap().writes
    }
}

impl Driver for MemoryDriver {
    type Session = MemorySession;

    fn virtual_clock(&self) -> bool {
        true
    }

    async fn connect(
        &self,
        reactor: &Reactor,
        context: &WorkerContext,
    ) -> Result<MemorySession, DriverError> {
        Ok(MemorySession {
            driver: self.clone(),
            reactor: reactor.clone(),
            payload: context.payload,
            verify: context.sink == Sink::Verify,
        })
    }
}

impl Session for MemorySession {
    async fn perform(&self, op: &Op) -> Result<Done, OpError> {
        self.reactor.sleep(ms(1)).await;
        let done = Done { bytes: op.payload_bytes(), rpcs: 1, ..Done::default() };
        match op.kind {
            OpKind::Write | OpKind::WriteZeroes | OpKind::Put => self.write(op).map(|()| done),
            OpKind::Read | OpKind::Get | OpKind::ReadFile => self.read(op).map(|()| done),
            _ => Ok(done),
        }
    }

    fn facts(&self) -> SessionFacts {
        SessionFacts::default()
    }
}

impl MemorySession {
    fn write(&self, op: &Op) -> Result<(), OpError> {
        let mut bytes = vec![0; op.len as usize];
        if op.kind != OpKind::WriteZeroes {
            self.payload.fill(op.object, op.stream_offset(), &mut bytes);
        }
        let mut state = self.driver.state.lock().unwrap();
        state.writes += 1;
        let mut place = (op.object, op.offset);
        match state.defects.get(&place) {
            None | Some(Defect::StaleRead) => {}
            Some(Defect::FlippedBit) => bytes[op.len as usize / 2] ^= 4,
            Some(Defect::LostWrite) => return Ok(()),
            Some(Defect::Misplaced(other)) => place = *other,
            Some(Defect::Refused { stored: true }) => {
                state.blocks.insert(place, bytes);
                return Err(OpError::new(ErrorKind::TimedOut, "no answer"));
            }
            Some(Defect::Refused { stored: false }) => {
                return Err(OpError::new(ErrorKind::TimedOut, "no answer"));
            }
        }
        if state.blocks.contains_key(&place) {
            state.overwritten += 1;
            let number = state.overwritten;
            match state.overwrites {
                Some(Overwrites::Lost { every }) if number.is_multiple_of(every) => return Ok(()),
                Some(Overwrites::Misplaced { every }) if number.is_multiple_of(every) => {
                    let other = state.blocks.keys().find(|other| **other != place);
                    place = *other.unwrap();
                }
                _ => {}
            }
        }
        if let Some(before) = state.blocks.insert(place, bytes) {
            state.before.insert(place, before);
        }
        Ok(())
    }

    fn read(&self, op: &Op) -> Result<(), OpError> {
        let mut state = self.driver.state.lock().unwrap();
        let place = (op.object, op.offset);
        let stale = state.defects.get(&place) == Some(&Defect::StaleRead);
        let stale = if stale { state.before.remove(&place) } else { None };
        let bytes = match &stale {
            Some(before) => before,
            None => {
                state.blocks.get(&place).ok_or_else(|| OpError::new(ErrorKind::NotFound, "nothing there"))?
            }
        };
        if bytes.len() as u64 != op.len {
            return Err(OpError::new(ErrorKind::Length, format!("{} bytes", bytes.len())));
        }
        if self.verify && self.payload.verify_op(op, 0, bytes).is_err() {
            return Err(OpError::new(ErrorKind::Corrupt, "not what was written"));
        }
        Ok(())
    }
}
