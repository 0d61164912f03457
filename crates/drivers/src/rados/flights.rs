//! Operations that librados has.

use std::ffi::{c_int, c_void};
use std::ptr;

use metrics::ErrorKind;

use super::api::{CompletionHandle, Librados, PoolHandle};
use super::client::RadosPool;
use super::error::failure;
use crate::failure::Failure;
use crate::flights::{self, AsyncLibrary, FlightMemory, TakenFlight};

/// What `rados_aio_stat` writes: size in bytes, and time of the last change in seconds since 1970.
pub(super) type ObjectStat = (u64, i64);

/// librados.
pub(super) struct RadosCalls(pub(super) &'static Librados);

/// An operation that librados has.
pub(super) struct RadosCall {
    api: &'static Librados,
    completion: CompletionHandle,
    pool: PoolHandle,
}

impl Drop for RadosCall {
    fn drop(&mut self) {
        // SAFETY: the operation is complete, or librados did not take it; nobody else refers to the completion.
        unsafe { (self.api.rados_aio_release)(self.completion) };
    }
}

impl AsyncLibrary for RadosCalls {
    const NAME: &'static str = "librados";

    type Call = RadosCall;
    type Extra = ObjectStat;

    fn result(&self, call: &RadosCall, _: i64) -> Result<i64, Failure> {
        // SAFETY: the operation is complete.
        let code = unsafe { (self.0.rados_aio_get_return_value)(call.completion) };
        if code < 0 { Err(failure(code)) } else { Ok(code.into()) }
    }

    fn cancel(&self, call: &RadosCall) {
        // SAFETY: the completion has not been released; that the operation may be complete by now is no error.
        unsafe { (self.0.rados_aio_cancel)(call.pool, call.completion) };
    }
}

/// librados calls this on one of its threads.
unsafe extern "C" fn land(_: CompletionHandle, argument: *mut c_void) {
    // SAFETY: it is the argument of the flight whose operation is complete.
    unsafe { flights::land(argument, 0) };
}

impl TakenFlight<'_, RadosCalls> {
    /// Starts an operation and waits for its result. `start` passes the completion and the memory to librados.
    pub(super) async fn fly(
        &mut self,
        pool: &RadosPool,
        start: impl FnOnce(&Librados, CompletionHandle, &mut FlightMemory<ObjectStat>) -> c_int,
    ) -> Result<i64, Failure> {
        self.start(|calls, argument, memory| {
            let api = calls.0;
            let mut completion = ptr::null_mut();
            // SAFETY: it writes a handle; the argument lives until the callback has ended.
            let code =
                unsafe { (api.rados_aio_create_completion)(argument, Some(land), None, &mut completion) };
            if code < 0 {
                return Err(Failure::new(ErrorKind::Local, "librados has no memory for an operation"));
            }
            let call = RadosCall { api, completion, pool: pool.handle };
            match start(api, completion, memory) {
                code if code < 0 => Err(failure(code)),
                _ => Ok(call),
            }
        })
        .await
    }
}
