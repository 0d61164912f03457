//! Operations that librbd has. It cannot cancel one.

use std::ffi::{c_int, c_void};
use std::ptr;

use metrics::ErrorKind;

use super::super::error::failure;
use super::api::{CompletionHandle, Librbd};
use crate::failure::Failure;
use crate::flights::{self, AsyncLibrary, FlightMemory, TakenFlight};

/// librbd.
pub(super) struct RbdCalls(pub(super) &'static Librbd);

/// An operation that librbd has.
pub(super) struct RbdCall {
    api: &'static Librbd,
    completion: CompletionHandle,
}

impl Drop for RbdCall {
    fn drop(&mut self) {
        // SAFETY: the operation is complete, or librbd did not take it; nobody else refers to the completion.
        unsafe { (self.api.rbd_aio_release)(self.completion) };
    }
}

impl AsyncLibrary for RbdCalls {
    const NAME: &'static str = "librbd";

    type Call = RbdCall;
    type Extra = ();

    fn result(&self, call: &RbdCall, _: i64) -> Result<i64, Failure> {
        // SAFETY: the operation is complete.
        let code = unsafe { (self.0.rbd_aio_get_return_value)(call.completion) };
        if code < 0 { Err(failure(code as c_int)) } else { Ok(code as i64) }
    }

    fn cancel(&self, _: &RbdCall) {
        // There is no call for that.
    }
}

/// librbd calls this on one of its threads.
unsafe extern "C" fn land(_: CompletionHandle, argument: *mut c_void) {
    // SAFETY: it is the argument of the flight whose operation is complete.
    unsafe { flights::land(argument, 0) };
}

impl TakenFlight<'_, RbdCalls> {
    /// Starts an operation and waits for its result. `start` passes the completion and the memory to librbd.
    pub(super) async fn fly(
        &mut self,
        start: impl FnOnce(&Librbd, CompletionHandle, &mut FlightMemory<()>) -> c_int,
    ) -> Result<i64, Failure> {
        self.start(|calls, argument, memory| {
            let api = calls.0;
            let mut completion = ptr::null_mut();
            // SAFETY: it writes a handle; the argument lives until the callback has ended.
            let code = unsafe { (api.rbd_aio_create_completion)(argument, Some(land), &mut completion) };
            if code < 0 {
                return Err(Failure::new(ErrorKind::Local, "librbd has no memory for an operation"));
            }
            let call = RbdCall { api, completion };
            match start(api, completion, memory) {
                code if code < 0 => Err(failure(code)),
                _ => Ok(call),
            }
        })
        .await
    }
}
