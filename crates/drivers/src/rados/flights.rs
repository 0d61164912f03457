//! Operations that librados has.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use metrics::ErrorKind;

use super::api::{CompletionHandle, Librados, PoolHandle, ReadHandle, WriteHandle};
use super::client::RadosPool;
use super::error::failure;
use super::omap::OmapAnswer;
use crate::failure::Failure;
use crate::flights::{self, AsyncLibrary, FlightMemory, TakenFlight};

/// What librados writes to besides the buffer.
#[derive(Default)]
pub(super) struct Answer {
    /// Size of an object in bytes.
    pub(super) size_bytes: u64,
    /// Time of an object's last change in seconds since 1970.
    pub(super) modified_s: i64,
    /// The result of what a read operation asks for; negative if it failed.
    pub(super) result: c_int,
    /// Bytes of a method's output.
    pub(super) output_bytes: usize,
    /// Keys and values of an object's map.
    pub(super) omap: Option<OmapAnswer>,
}

/// librados.
pub(super) struct RadosCalls(pub(super) &'static Librados);

/// Where an operation's object is.
pub(super) struct Located<'a> {
    /// The pool.
    pub(super) pool: &'a RadosPool,
    /// What the pool hashes in place of the name; either all operations of a session have one, or none.
    pub(super) locator: Option<&'a CStr>,
}

/// An operation that librados has.
pub(super) struct RadosCall {
    api: &'static Librados,
    completion: CompletionHandle,
    pool: PoolHandle,
    /// What it consists of, if it is a write operation; otherwise null. librados.h forbids to perform one twice.
    write: WriteHandle,
    /// The same for a read operation.
    read: ReadHandle,
}

impl Drop for RadosCall {
    fn drop(&mut self) {
        // SAFETY: the operation is complete, or librados did not take it; nobody else refers to the handles.
        unsafe {
            if !self.write.is_null() {
                (self.api.rados_release_write_op)(self.write);
            }
            if !self.read.is_null() {
                (self.api.rados_release_read_op)(self.read);
            }
            (self.api.rados_aio_release)(self.completion);
        }
    }
}

impl AsyncLibrary for RadosCalls {
    const NAME: &'static str = "librados";

    type Call = RadosCall;
    type Extra = Answer;

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
        at: &Located<'_>,
        start: impl FnOnce(&Librados, CompletionHandle, &mut FlightMemory<Answer>) -> c_int,
    ) -> Result<i64, Failure> {
        self.launch(at, |call, memory| start(call.api, call.completion, memory)).await
    }

    /// Performs a write operation on the object of this name, which `add` says the content of.
    pub(super) async fn fly_write(
        &mut self,
        at: &Located<'_>,
        oid: *const c_char,
        add: impl FnOnce(&Librados, WriteHandle),
    ) -> Result<i64, Failure> {
        self.launch(at, |call, _| {
            // SAFETY: the handle is the call's, and released with it; librados copies the name.
            unsafe {
                call.write = (call.api.rados_create_write_op)();
                if call.write.is_null() {
                    return -libc::ENOMEM;
                }
                add(call.api, call.write);
                let at_s = ptr::null_mut();
                (call.api.rados_aio_write_op_operate)(call.write, call.pool, call.completion, oid, at_s, 0)
            }
        })
        .await
    }

    /// Performs a read operation on the object of this name, which `add` says the content of; what it is answered is the
    /// flight's.
    pub(super) async fn fly_read(
        &mut self,
        at: &Located<'_>,
        oid: *const c_char,
        add: impl FnOnce(&'static Librados, ReadHandle, &mut FlightMemory<Answer>),
    ) -> Result<i64, Failure> {
        self.launch(at, |call, memory| {
            // SAFETY: as above.
            unsafe {
                call.read = (call.api.rados_create_read_op)();
                if call.read.is_null() {
                    return -libc::ENOMEM;
                }
                memory.extra.result = 0;
                add(call.api, call.read, memory);
                (call.api.rados_aio_read_op_operate)(call.read, call.pool, call.completion, oid, 0)
            }
        })
        .await
    }

    async fn launch(
        &mut self,
        at: &Located<'_>,
        start: impl FnOnce(&mut RadosCall, &mut FlightMemory<Answer>) -> c_int,
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
            let (write, read) = (ptr::null_mut(), ptr::null_mut());
            let mut call = RadosCall { api, completion, pool: at.pool.handle, write, read };
            if at.locator.is_some() {
                at.pool.locate(at.locator);
            }
            match start(&mut call, memory) {
                code if code < 0 => Err(failure(code)),
                _ => Ok(call),
            }
        })
        .await
    }
}
