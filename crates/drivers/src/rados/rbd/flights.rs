//! Operations that librbd has, and the memory it uses for them. librbd cannot cancel an operation: one that is given up
//! keeps its memory until librbd returns it (docs/decisions/0002).

use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use metrics::ErrorKind;
use reactor::{Completer, Reactor, Signal, clock};

use super::super::error::failure;
use super::api::{CompletionHandle, Librbd};
use crate::failure::Failure;

/// How long a session that closes waits for librbd to return operations that were given up. What it does not return by
/// then stays allocated.
const PATIENCE: Duration = Duration::from_secs(5);

/// Flights of a lane: one for its operation, one that librbd may still have of an earlier operation.
const PER_LANE: usize = 2;

/// What librbd's callback uses.
struct Landing {
    index: u32,
    completer: Completer<u32>,
    /// Callbacks that have ended.
    ended: AtomicU64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FlightState {
    Free,
    Taken,
    Up,
    GivenUp,
    Landed(isize),
}

struct Flight {
    landing: Box<Landing>,
    memory: Box<UnsafeCell<Vec<u8>>>,
    state: Cell<FlightState>,
    completion: Cell<CompletionHandle>,
    /// Operations that librbd took.
    submitted: Cell<u64>,
}

/// All flights of a session.
pub(super) struct Flights {
    api: &'static Librbd,
    flights: Box<[Flight]>,
    /// One per lane: set when one of its flights lands.
    landed: Box<[Signal]>,
    late: Cell<u64>,
}

/// A lane's flight while its operation uses it; dropping it gives up an operation that librbd has.
pub(super) struct TakenFlight<'a> {
    flights: &'a Flights,
    index: usize,
}

/// librbd calls this on one of its threads.
unsafe extern "C" fn land(_: CompletionHandle, argument: *mut c_void) {
    // SAFETY: the argument is the flight's landing, which outlives the end of this callback.
    let landing = unsafe { &*argument.cast::<Landing>() };
    landing.completer.complete(landing.index);
    landing.ended.fetch_add(1, Ordering::Release);
}

impl Flights {
    pub(super) fn new(
        reactor: &Reactor,
        api: &'static Librbd,
        lanes: usize,
        completer: &Completer<u32>,
    ) -> Self {
        let flight = |index: usize| Flight {
            landing: Box::new(Landing {
                index: index as u32,
                completer: completer.clone(),
                ended: AtomicU64::new(0),
            }),
            memory: Box::default(),
            state: Cell::new(FlightState::Free),
            completion: Cell::new(ptr::null_mut()),
            submitted: Cell::new(0),
        };
        Self {
            api,
            flights: (0..lanes * PER_LANE).map(flight).collect(),
            landed: (0..lanes).map(|_| reactor.signal()).collect(),
            late: Cell::new(0),
        }
    }

    /// Operations that librbd returned after they had been given up.
    pub(super) fn late(&self) -> u64 {
        self.late.get()
    }

    /// A free flight of the lane; waits while librbd still has all of them.
    pub(super) async fn take(&self, lane: usize) -> TakenFlight<'_> {
        loop {
            let mut own = (lane..self.flights.len()).step_by(self.landed.len());
            if let Some(index) = own.find(|index| self.flights[*index].state.get() == FlightState::Free) {
                self.flights[index].state.set(FlightState::Taken);
                return TakenFlight { flights: self, index };
            }
            self.landed[lane].wait().await;
        }
    }

    /// Takes an operation back from librbd.
    pub(super) fn arrived(&self, index: u32) {
        let flight = &self.flights[index as usize];
        let completion = flight.completion.replace(ptr::null_mut());
        // SAFETY: the operation is complete, and its completion is released here only.
        let code = unsafe {
            let code = (self.api.rbd_aio_get_return_value)(completion);
            (self.api.rbd_aio_release)(completion);
            code
        };
        if flight.state.get() == FlightState::GivenUp {
            self.late.set(self.late.get() + 1);
            flight.state.set(FlightState::Free);
        } else {
            flight.state.set(FlightState::Landed(code));
        }
        self.landed[index as usize % self.landed.len()].set();
    }
}

impl TakenFlight<'_> {
    fn flight(&self) -> &Flight {
        &self.flights.flights[self.index]
    }

    /// The first `len` bytes of the memory, while librbd does not have it; it grows to the largest operation.
    pub(super) fn room(&mut self, len: usize) -> &mut [u8] {
        assert!(self.flight().state.get() != FlightState::Up, "librbd has the memory");
        // SAFETY: librbd does not have it, and the borrow of the only handle to it is exclusive.
        let memory = unsafe { &mut *self.flight().memory.get() };
        if memory.len() < len {
            *memory = vec![0; len];
        }
        &mut memory[..len]
    }

    /// Starts an operation and waits for its result. `start` passes the completion and the memory to librbd.
    pub(super) async fn fly(
        &mut self,
        start: impl FnOnce(&Librbd, CompletionHandle, *mut u8) -> c_int,
    ) -> Result<isize, Failure> {
        let (api, lane) = (self.flights.api, self.index % self.flights.landed.len());
        let flight = self.flight();
        let mut completion = ptr::null_mut();
        let argument = ptr::from_ref(&*flight.landing).cast_mut().cast();
        // SAFETY: it writes a handle; the argument lives until the callback has ended.
        let code = unsafe { (api.rbd_aio_create_completion)(argument, Some(land), &mut completion) };
        if code < 0 {
            return Err(Failure::new(ErrorKind::Local, "librbd has no memory for an operation"));
        }
        flight.completion.set(completion);
        // SAFETY: librbd does not have the memory yet.
        let memory = unsafe { (*flight.memory.get()).as_mut_ptr() };
        let code = start(api, completion, memory);
        if code < 0 {
            // librbd did not take it, and does not call back.
            flight.completion.set(ptr::null_mut());
            // SAFETY: nobody else refers to it.
            unsafe { (api.rbd_aio_release)(completion) };
            return Err(failure(code));
        }
        flight.submitted.set(flight.submitted.get() + 1);
        flight.state.set(FlightState::Up);
        loop {
            if let FlightState::Landed(code) = flight.state.get() {
                return if code < 0 { Err(failure(code as c_int)) } else { Ok(code) };
            }
            self.flights.landed[lane].wait().await;
        }
    }
}

impl Drop for TakenFlight<'_> {
    fn drop(&mut self) {
        let state = &self.flight().state;
        let given_up = state.get() == FlightState::Up;
        state.set(if given_up { FlightState::GivenUp } else { FlightState::Free });
    }
}

impl Drop for Flights {
    fn drop(&mut self) {
        let until_ns = clock::now_ns() + PATIENCE.as_nanos() as u64;
        for flight in std::mem::take(&mut self.flights) {
            let ended = || flight.landing.ended.load(Ordering::Acquire) == flight.submitted.get();
            while !ended() && clock::now_ns() < until_ns {
                std::thread::sleep(Duration::from_millis(1));
            }
            if !ended() {
                // librbd may still use it.
                std::mem::forget(flight);
                continue;
            }
            let completion = flight.completion.get();
            if !completion.is_null() {
                // SAFETY: its callback has ended.
                unsafe { (self.api.rbd_aio_release)(completion) };
            }
        }
    }
}
