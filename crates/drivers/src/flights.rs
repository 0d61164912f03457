//! Operations that a client library has, and the memory it uses for them: an operation that is given up keeps its memory
//! until the library returns it (docs/decisions/0002).

use std::cell::{Cell, UnsafeCell};
use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use reactor::{Completer, Reactor, Signal, Task, clock};

use crate::DriverError;
use crate::blocking_open::unconnected;
use crate::failure::Failure;

/// How long a session that closes waits for the library to return its operations. What it does not return by then
/// stays allocated.
const PATIENCE: Duration = Duration::from_secs(5);

/// Flights of a lane: one for its operation, one that the library may still have of an earlier operation.
const PER_LANE: usize = 2;

/// A library that carries out operations on its own threads, and calls back when one is complete.
pub(crate) trait AsyncLibrary {
    /// Its name, for messages.
    const NAME: &'static str;
    /// What an operation that the library has keeps alive, such as handles. Dropping it releases them.
    type Call;
    /// What the library writes to besides the buffer.
    type Extra: Default;

    /// The result of a complete operation, from what its callback passed to [`land`].
    ///
    /// # Errors
    /// It failed.
    fn result(&self, call: &Self::Call, code: i64) -> Result<i64, Failure>;

    /// Asks the library to return an operation early, if it can.
    fn cancel(&self, call: &Self::Call);
}

/// What the library reads and writes during an operation.
#[derive(Default)]
pub(crate) struct FlightMemory<E> {
    pub(crate) buffer: Vec<u8>,
    pub(crate) extra: E,
}

/// A completed operation, on its way to the reactor.
struct Arrival {
    index: u32,
    code: i64,
}

/// What the library's callback uses.
struct Landing {
    index: u32,
    completer: Completer<Arrival>,
    /// Callbacks that have ended.
    ended: AtomicU64,
}

enum FlightState {
    Free,
    Taken,
    Up,
    GivenUp,
    Landed(Result<i64, Failure>),
}

struct Flight<L: AsyncLibrary> {
    landing: Box<Landing>,
    memory: Box<UnsafeCell<FlightMemory<L::Extra>>>,
    state: Cell<FlightState>,
    call: Cell<Option<L::Call>>,
    /// Operations that the library took.
    submitted: Cell<u64>,
}

/// All flights of a session.
pub(crate) struct Flights<L: AsyncLibrary> {
    library: L,
    flights: Box<[Flight<L>]>,
    /// One per lane: set when one of its flights lands.
    landed: Box<[Signal]>,
    late: Cell<u64>,
}

/// The flights of a session, and the task that takes operations back.
pub(crate) struct FlightDeck<L: AsyncLibrary + 'static> {
    flights: Rc<Flights<L>>,
    arrivals: Option<Task>,
}

/// A lane's flight while its operation uses it; dropping it gives up an operation that the library has.
pub(crate) struct TakenFlight<'a, L: AsyncLibrary> {
    flights: &'a Flights<L>,
    index: usize,
}

/// The library's callback calls this, on one of the library's threads.
///
/// # Safety
/// The argument is the one that [`TakenFlight::start`] passed to the library, and this is the only call for the operation.
pub(crate) unsafe fn land(argument: *mut c_void, code: i64) {
    // SAFETY: the argument is the flight's landing, which outlives the end of this function.
    let landing = unsafe { &*argument.cast::<Landing>() };
    landing.completer.complete(Arrival { index: landing.index, code });
    landing.ended.fetch_add(1, Ordering::Release);
}

impl<L: AsyncLibrary + 'static> FlightDeck<L> {
    /// Flights for so many lanes.
    ///
    /// # Errors
    /// What eventfd(2) and epoll_ctl(2) report.
    pub(crate) fn open(reactor: &Reactor, library: L, lanes: usize) -> Result<Self, DriverError> {
        let (completions, completer) = reactor.completions().map_err(|error| unconnected(L::NAME, &error))?;
        let flights = Rc::new(Flights::new(reactor, library, lanes, &completer));
        let arriving = Rc::clone(&flights);
        let arrivals = reactor.spawn(async move {
            loop {
                completions.wait(|arrival| arriving.arrived(&arrival)).await;
            }
        });
        Ok(Self { flights, arrivals: Some(arrivals) })
    }
}

impl<L: AsyncLibrary> std::ops::Deref for FlightDeck<L> {
    type Target = Flights<L>;

    fn deref(&self) -> &Flights<L> {
        &self.flights
    }
}

impl<L: AsyncLibrary> Drop for FlightDeck<L> {
    fn drop(&mut self) {
        if let Some(task) = self.arrivals.take() {
            task.abort();
        }
    }
}

impl<L: AsyncLibrary> Flights<L> {
    fn new(reactor: &Reactor, library: L, lanes: usize, completer: &Completer<Arrival>) -> Self {
        let flight = |index: usize| Flight {
            landing: Box::new(Landing {
                index: index as u32,
                completer: completer.clone(),
                ended: AtomicU64::new(0),
            }),
            memory: Box::default(),
            state: Cell::new(FlightState::Free),
            call: Cell::new(None),
            submitted: Cell::new(0),
        };
        Self {
            library,
            flights: (0..lanes * PER_LANE).map(flight).collect(),
            landed: (0..lanes).map(|_| reactor.signal()).collect(),
            late: Cell::new(0),
        }
    }

    /// Operations that the library returned after they had been given up.
    pub(crate) fn late(&self) -> u64 {
        self.late.get()
    }

    /// A free flight of the lane; waits while the library still has all of them.
    pub(crate) async fn take(&self, lane: usize) -> TakenFlight<'_, L> {
        loop {
            let mut own = (lane..self.flights.len()).step_by(self.landed.len());
            if let Some(index) = own.find(|index| self.flights[*index].is_free()) {
                self.flights[index].state.set(FlightState::Taken);
                return TakenFlight { flights: self, index };
            }
            self.landed[lane].wait().await;
        }
    }

    /// Takes an operation back from the library.
    fn arrived(&self, arrival: &Arrival) {
        let index = arrival.index as usize;
        let flight = &self.flights[index];
        let Some(call) = flight.call.take() else { return };
        let result = self.library.result(&call, arrival.code);
        if matches!(flight.state.replace(FlightState::Free), FlightState::GivenUp) {
            self.late.set(self.late.get() + 1);
        } else {
            flight.state.set(FlightState::Landed(result));
        }
        self.landed[index % self.landed.len()].set();
    }
}

impl<L: AsyncLibrary> Flight<L> {
    fn is(&self, what: impl FnOnce(&FlightState) -> bool) -> bool {
        let state = self.state.replace(FlightState::Taken);
        let is = what(&state);
        self.state.set(state);
        is
    }

    fn is_free(&self) -> bool {
        self.is(|state| matches!(state, FlightState::Free))
    }

    /// Asks the library to return the operation early.
    fn cancel(&self, library: &L) {
        let call = self.call.take();
        if let Some(call) = &call {
            library.cancel(call);
        }
        self.call.set(call);
    }
}

impl<L: AsyncLibrary> TakenFlight<'_, L> {
    fn flight(&self) -> &Flight<L> {
        &self.flights.flights[self.index]
    }

    /// The memory, while the library does not have it.
    pub(crate) fn memory(&mut self) -> &mut FlightMemory<L::Extra> {
        let up = self.flight().is(|state| matches!(state, FlightState::Up));
        assert!(!up, "the library has the memory");
        // SAFETY: the library does not have it, and the borrow of the only handle to it is exclusive.
        unsafe { &mut *self.flight().memory.get() }
    }

    /// Room for `len` bytes in the buffer, which grows to the largest operation.
    pub(crate) fn room(&mut self, len: usize) -> &mut [u8] {
        let buffer = &mut self.memory().buffer;
        if buffer.len() < len {
            *buffer = vec![0; len];
        }
        &mut buffer[..len]
    }

    /// Starts an operation and waits for its result. `begin` passes the callback's argument and the memory to the library.
    ///
    /// # Errors
    /// The operation failed, or the library did not take it: then it does not call back.
    pub(crate) async fn start(
        &mut self,
        begin: impl FnOnce(&L, *mut c_void, &mut FlightMemory<L::Extra>) -> Result<L::Call, Failure>,
    ) -> Result<i64, Failure> {
        let lane = self.index % self.flights.landed.len();
        let flight = self.flight();
        let argument = ptr::from_ref(&*flight.landing).cast_mut().cast();
        // SAFETY: the library does not have the memory yet.
        let call = begin(&self.flights.library, argument, unsafe { &mut *flight.memory.get() })?;
        flight.call.set(Some(call));
        flight.submitted.set(flight.submitted.get() + 1);
        flight.state.set(FlightState::Up);
        loop {
            match flight.state.replace(FlightState::Taken) {
                FlightState::Landed(result) => return result,
                state => flight.state.set(state),
            }
            self.flights.landed[lane].wait().await;
        }
    }
}

impl<L: AsyncLibrary> Drop for TakenFlight<'_, L> {
    fn drop(&mut self) {
        let flight = self.flight();
        if flight.is(|state| matches!(state, FlightState::Up)) {
            flight.state.set(FlightState::GivenUp);
            flight.cancel(&self.flights.library);
        } else {
            flight.state.set(FlightState::Free);
        }
    }
}

impl<L: AsyncLibrary> Drop for Flights<L> {
    fn drop(&mut self) {
        let until_ns = clock::now_ns() + PATIENCE.as_nanos() as u64;
        let flights = std::mem::take(&mut self.flights);
        for flight in &flights {
            flight.cancel(&self.library);
        }
        for flight in flights {
            let ended = || flight.landing.ended.load(Ordering::Acquire) == flight.submitted.get();
            while !ended() && clock::now_ns() < until_ns {
                std::thread::sleep(Duration::from_millis(1));
            }
            if !ended() {
                // The library may still use it.
                std::mem::forget(flight);
            }
        }
    }
}
