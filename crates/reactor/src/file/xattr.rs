//! Extended attributes of files (xattr(7)).
//!
//! io_uring has them since Linux 5.19, and not on registered files; on older kernels a thread executes them.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsRawFd;

use io_uring::{opcode, types};

use super::{File, given_back, of};
use crate::Buffer;
use crate::calls::Call;
use crate::slots::Held;

impl File {
    /// Sets an attribute to the first `len` bytes of the buffer (fsetxattr(2)).
    ///
    /// # Panics
    /// If the buffer is shorter.
    pub async fn set_xattr(
        &self,
        name: &'static CStr,
        value: Buffer,
        len: usize,
    ) -> (io::Result<()>, Buffer) {
        assert!(len <= value.len(), "the value lies in the buffer");
        let (fd, name) = (self.open.fd.as_raw_fd(), name.as_ptr());
        let held = Held { rare: true, ..self.held(value) };
        let done = match self.ring() {
            Some(uring) if uring.has_xattrs => {
                let set = |held: &mut Held| {
                    let value = of(held).address(0).cast_const().cast();
                    opcode::FSetXattr::new(types::Fd(fd), name, value, len as u32).build()
                };
                uring.start(&self.inner, held, set).await
            }
            _ => {
                let set = |held: &mut Held| Call::SetXattr {
                    fd,
                    name,
                    value: of(held).address(0).cast_const(),
                    len,
                };
                self.call(held, set).await
            }
        };
        let (result, value) = given_back(done);
        (result.map(drop), value)
    }

    /// Reads an attribute into the buffer (fgetxattr(2)); returns its length.
    pub async fn xattr(&self, name: &'static CStr, into: Buffer) -> (io::Result<usize>, Buffer) {
        let (fd, name) = (self.open.fd.as_raw_fd(), name.as_ptr());
        let held = Held { rare: true, ..self.held(into) };
        let done = match self.ring() {
            Some(uring) if uring.has_xattrs => {
                let get = |held: &mut Held| {
                    let buffer = of(held);
                    let (len, into) = (buffer.len() as u32, buffer.address(0).cast());
                    opcode::FGetXattr::new(types::Fd(fd), name, into, len).build()
                };
                uring.start(&self.inner, held, get).await
            }
            _ => {
                let get = |held: &mut Held| {
                    let buffer = of(held);
                    Call::GetXattr { fd, name, len: buffer.len(), into: buffer.address(0) }
                };
                self.call(held, get).await
            }
        };
        given_back(done)
    }
}
