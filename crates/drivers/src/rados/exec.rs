//! Methods of object classes, which OSDs run beside an object's data.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::time::Duration;

use metrics::ErrorKind;

use super::RadosDriver;
use super::api::{Librados, ReadHandle};
use super::client::c_text;
use super::config::ObjectMethod;
use super::error::{failure, text};
use super::flights::{Located, RadosCalls};
use crate::DriverError;
use crate::failure::Failure;
use crate::flights::TakenFlight;

/// The number of an object that never exists.
const NOBODY: u64 = u64::MAX;

/// A method, ready to be called.
pub(super) struct Exec {
    class: CString,
    method: CString,
    input: Vec<u8>,
    output_bytes: usize,
}

/// A read operation outside of a load.
struct ReadOp {
    api: &'static Librados,
    handle: ReadHandle,
}

impl Drop for ReadOp {
    fn drop(&mut self) {
        // SAFETY: it is complete, or was not performed.
        unsafe { (self.api.rados_release_read_op)(self.handle) };
    }
}

impl Exec {
    pub(super) fn new(method: &ObjectMethod) -> Result<Self, Failure> {
        Ok(Self {
            class: c_text(&method.class)?,
            method: c_text(&method.method)?,
            input: method.input.clone(),
            output_bytes: method.output_bytes as usize,
        })
    }

    /// Adds the call to a read operation. `output` has room for the longest output; librados writes its length to `used`,
    /// and what became of the call to `result`.
    ///
    /// # Safety
    /// All three live until the operation is complete.
    unsafe fn add(
        &self,
        api: &Librados,
        read: ReadHandle,
        output: *mut u8,
        (used, result): (*mut usize, *mut c_int),
    ) {
        let (class, method) = (self.class.as_ptr(), self.method.as_ptr());
        let (input, input_len) = (self.input.as_ptr().cast::<c_char>(), self.input.len());
        // SAFETY: names and input are copied; the caller vouches for the rest.
        unsafe {
            (api.rados_read_op_exec_user_buf)(
                read,
                class,
                method,
                input,
                input_len,
                output.cast(),
                self.output_bytes,
                used,
                result,
            );
        }
    }

    /// Calls the method on the object of this name.
    pub(super) async fn call(
        &self,
        flight: &mut TakenFlight<'_, RadosCalls>,
        at: &Located<'_>,
        oid: *const c_char,
    ) -> Result<(), Failure> {
        flight.room(self.output_bytes);
        let called = flight
            .fly_read(at, oid, |api, read, memory| {
                let answer = &mut memory.extra;
                let places = (&raw mut answer.output_bytes, &raw mut answer.result);
                // SAFETY: all of it is the flight's.
                unsafe { self.add(api, read, memory.buffer.as_mut_ptr(), places) };
            })
            .await;
        called.and_then(|_| self.ended(flight.memory().extra.result)).map_err(|wrong| self.named(&wrong))
    }

    /// What became of a call, from what librados wrote.
    fn ended(&self, result: c_int) -> Result<(), Failure> {
        match result {
            code if code == -libc::ERANGE => {
                let text = format!(
                    "the output exceeds exec_output_size ({} bytes); next: give it more",
                    self.output_bytes
                );
                Err(Failure::new(ErrorKind::Length, text))
            }
            code if code < 0 => Err(failure(code)),
            _ => Ok(()),
        }
    }

    #[cold]
    fn named(&self, wrong: &Failure) -> Failure {
        let detail = format!("{}: {}", self.name(), wrong.detail);
        Failure { kind: wrong.kind, detail }
    }

    fn name(&self) -> String {
        format!("{}.{}", self.class.to_string_lossy(), self.method.to_string_lossy())
    }

    /// Why the OSDs refuse to call it at all, if they do.
    fn refusal(&self, code: c_int) -> Result<(), Failure> {
        match -code {
            // The object does not exist, so that the method was not called.
            libc::ENOENT => Ok(()),
            libc::EOPNOTSUPP => {
                let (class, method) = (self.class.to_string_lossy(), self.method.to_string_lossy());
                let detail = format!(
                    "the OSDs have no object class {class} with a method {method}; next: compare exec_class and \
                     exec_method with the classes in their directory rados-classes (libcls_{class}.so)"
                );
                Err(Failure::new(ErrorKind::Rejected, detail))
            }
            libc::EPERM | libc::EACCES => {
                let detail = format!(
                    "{}: {}; next: osd_class_load_list must name the class, and the user's caps need x, as in \
                     osd 'allow rwx pool=…'",
                    self.name(),
                    text(code)
                );
                Err(Failure::new(ErrorKind::AccessDenied, detail))
            }
            _ if code < 0 => Err(self.named(&failure(code))),
            _ => Ok(()),
        }
    }
}

impl RadosDriver {
    /// Checks that the OSDs would call the method of `exec`, without calling it. No single answer may take longer than
    /// `limit`. Blocks.
    ///
    /// # Errors
    /// They know no such class or method, or the user may not call it.
    pub fn check_method(&self, limit: Duration) -> Result<(), DriverError> {
        let Some(method) = &self.config().exec else { return Ok(()) };
        self.control(limit, |control| {
            let (exec, api) = (Exec::new(method)?, control.pool.api);
            // SAFETY: it makes a handle.
            let handle = unsafe { (api.rados_create_read_op)() };
            if handle.is_null() {
                return Err(failure(-libc::ENOMEM));
            }
            let output = RefCell::new((vec![0_u8; exec.output_bytes], 0_usize, 0_i32));
            let read = ReadOp { api, handle };
            control.all(
                &[(NOBODY, None)],
                |oid, completion, _| {
                    let (output, used, result) = &mut *output.borrow_mut();
                    let places = (&raw mut *used, &raw mut *result);
                    // OSDs look for class and method before they perform anything, and stop at what fails: that there
                    // is no such object.
                    // SAFETY: the handle is open; what librados writes to lives until the operation is complete.
                    unsafe {
                        (api.rados_read_op_assert_exists)(read.handle);
                        exec.add(api, read.handle, output.as_mut_ptr(), places);
                        (api.rados_aio_read_op_operate)(read.handle, control.pool.handle, completion, oid, 0)
                    }
                },
                |_, code, _| exec.refusal(code),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_osds_refuse_is_said_in_one_line() {
        let method = ObjectMethod {
            class: "hello".to_owned(),
            method: "say_goodbye".to_owned(),
            input: Vec::new(),
            output_bytes: 1 << 16,
        };
        let exec = Exec::new(&method).unwrap();
        assert!(exec.refusal(-libc::ENOENT).is_ok() && exec.refusal(0).is_ok() && exec.ended(3).is_ok());
        for (found, kind, part) in [
            (
                exec.refusal(-libc::EOPNOTSUPP),
                ErrorKind::Rejected,
                "no object class hello with a method say_goodbye",
            ),
            (exec.refusal(-libc::EPERM), ErrorKind::AccessDenied, "osd_class_load_list"),
            (exec.refusal(-libc::EIO), ErrorKind::ServerFault, "hello.say_goodbye: Input/output error"),
            (exec.ended(-libc::ERANGE), ErrorKind::Length, "exec_output_size (65536 bytes)"),
        ] {
            let wrong = found.unwrap_err();
            assert!(wrong.kind == kind && wrong.detail.contains(part), "{}", wrong.detail);
            assert!(!wrong.detail.contains('\n'), "{}", wrong.detail);
        }
        assert!(Exec::new(&ObjectMethod { class: "a\0b".to_owned(), ..method }).is_err());
    }
}
