//! Operations that librados has, and the memory it uses for them: an operation that is given up keeps its memory until
//! librados returns it (docs/decisions/0002).

use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use metrics::ErrorKind;
use reactor::{Completer, Reactor, Signal, clock};

use super::api::{CompletionHandle, Librados, PoolHandle};
use super::client::RadosPool;
use super::error::Failure;

/// How long a session that closes waits for librados to return cancelled operations. What it does not return by then
/// stays allocated.
const PATIENCE: Duration = Duration::from_secs(5);

/// Flights of a lane: one for its operation, one that librados may still have of an earlier operation.
const PER_LANE: usize = 2;

/// What librados reads and writes during an operation.
#[derive(Default)]
pub(super) struct FlightMemory {
    pub(super) buffer: Vec<u8>,
    pub(super) size: u64,
    pub(super) modified_s: i64,
}

/// What librados' callback uses.
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
    Landed(c_int),
}

struct Flight {
    landing: Box<Landing>,
    memory: Box<UnsafeCell<FlightMemory>>,
    state: Cell<FlightState>,
    completion: Cell<CompletionHandle>,
    pool: Cell<PoolHandle>,
    /// Operations that librados took.
    submitted: Cell<u64>,
}

/// All flights of a session.
pub(super) struct Flights {
    api: &'static Librados,
    flights: Box<[Flight]>,
    /// One per lane: set when one of its flights lands.
    landed: Box<[Signal]>,
    late: Cell<u64>,
}

/// A lane's flight while its operation uses it; dropping it gives up an operation that librados has.
pub(super) struct TakenFlight<'a> {
    flights: &'a Flights,
    index: usize,
}

/// librados calls this on one of its threads.
unsafe extern "C" fn land(_: CompletionHandle, argument: *mut c_void) {
    // SAFETY: the argument is the flight's landing, which outlives the end of this callback.
    let landing = unsafe { &*argument.cast::<Landing>() };
    landing.completer.complete(landing.index);
    landing.ended.fetch_add(1, Ordering::Release);
}

impl Flights {
    pub(super) fn new(
        reactor: &Reactor,
        api: &'static Librados,
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
            pool: Cell::new(ptr::null_mut()),
            submitted: Cell::new(0),
        };
        Self {
            api,
            flights: (0..lanes * PER_LANE).map(flight).collect(),
            landed: (0..lanes).map(|_| reactor.signal()).collect(),
            late: Cell::new(0),
        }
    }

    /// Operations that librados returned after they had been given up.
    pub(super) fn late(&self) -> u64 {
        self.late.get()
    }

    /// A free flight of the lane; waits while librados still has all of them.
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

    /// Takes an operation back from librados.
    pub(super) fn arrived(&self, index: u32) {
        let flight = &self.flights[index as usize];
        let completion = flight.completion.replace(ptr::null_mut());
        // SAFETY: the operation is complete, and its completion is released here only.
        let code = unsafe {
            let code = (self.api.rados_aio_get_return_value)(completion);
            (self.api.rados_aio_release)(completion);
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

    fn cancel(&self, flight: &Flight) {
        // SAFETY: the completion has not been released; that the operation may be complete by now is no error.
        unsafe { (self.api.rados_aio_cancel)(flight.pool.get(), flight.completion.get()) };
    }
}

impl TakenFlight<'_> {
    fn flight(&self) -> &Flight {
        &self.flights.flights[self.index]
    }

    /// The memory, while librados does not have it.
    pub(super) fn memory(&mut self) -> &mut FlightMemory {
        assert!(self.flight().state.get() != FlightState::Up, "librados has the memory");
        // SAFETY: librados does not have it, and the borrow of the only handle to it is exclusive.
        unsafe { &mut *self.flight().memory.get() }
    }

    /// Room for `len` bytes in the buffer, which grows to the largest operation.
    pub(super) fn room(&mut self, len: usize) -> &mut [u8] {
        let buffer = &mut self.memory().buffer;
        if buffer.len() < len {
            *buffer = vec![0; len];
        }
        &mut buffer[..len]
    }

    /// Starts an operation and waits for its result. `start` passes the completion and the memory to librados.
    pub(super) async fn fly(
        &mut self,
        pool: &RadosPool,
        start: impl FnOnce(&Librados, CompletionHandle, &mut FlightMemory) -> c_int,
    ) -> Result<c_int, Failure> {
        let (api, lane) = (self.flights.api, self.index % self.flights.landed.len());
        let flight = self.flight();
        let mut completion = ptr::null_mut();
        let argument = ptr::from_ref(&*flight.landing).cast_mut().cast();
        // SAFETY: it writes a handle; the argument lives until the callback has ended.
        let code = unsafe { (api.rados_aio_create_completion)(argument, Some(land), None, &mut completion) };
        if code < 0 {
            return Err(Failure::new(ErrorKind::Local, "librados has no memory for an operation"));
        }
        flight.completion.set(completion);
        flight.pool.set(pool.handle);
        // SAFETY: librados does not have the memory yet.
        let code = start(api, completion, unsafe { &mut *flight.memory.get() });
        if code < 0 {
            // librados did not take it, and does not call back.
            flight.completion.set(ptr::null_mut());
            // SAFETY: nobody else refers to it.
            unsafe { (api.rados_aio_release)(completion) };
            return Err(Failure::of(code));
        }
        flight.submitted.set(flight.submitted.get() + 1);
        flight.state.set(FlightState::Up);
        loop {
            if let FlightState::Landed(code) = flight.state.get() {
                return if code < 0 { Err(Failure::of(code)) } else { Ok(code) };
            }
            self.flights.landed[lane].wait().await;
        }
    }
}

impl Drop for TakenFlight<'_> {
    fn drop(&mut self) {
        let flight = self.flight();
        if flight.state.get() == FlightState::Up {
            flight.state.set(FlightState::GivenUp);
            self.flights.cancel(flight);
        } else {
            flight.state.set(FlightState::Free);
        }
    }
}

impl Drop for Flights {
    fn drop(&mut self) {
        let until_ns = clock::now_ns() + PATIENCE.as_nanos() as u64;
        let flights = std::mem::take(&mut self.flights);
        for flight in &flights {
            if !flight.completion.get().is_null() {
                self.cancel(flight);
            }
        }
        for flight in flights {
            let ended = || flight.landing.ended.load(Ordering::Acquire) == flight.submitted.get();
            while !ended() && clock::now_ns() < until_ns {
                std::thread::sleep(Duration::from_millis(1));
            }
            if !ended() {
                // librados may still use it.
                std::mem::forget(flight);
                continue;
            }
            let completion = flight.completion.get();
            if !completion.is_null() {
                // SAFETY: its callback has ended.
                unsafe { (self.api.rados_aio_release)(completion) };
            }
        }
    }
}
