//! Sets a file's size.

use std::io;
use std::os::fd::AsRawFd;
use std::rc::Rc;

use super::{File, to_result};
use crate::calls::Call;
use crate::slots::Held;

impl File {
    /// Sets the file's size in bytes (ftruncate(2)); what is added reads as zeros. io_uring has had this only since
    /// Linux 6.9, so a thread executes it.
    ///
    /// # Errors
    /// What the kernel reports.
    pub async fn set_len(&self, len: u64) -> io::Result<()> {
        let held = Held { file: Some(Rc::clone(&self.open)), ..Held::default() };
        let call = Call::SetLength { fd: self.open.fd.as_raw_fd(), len };
        to_result(self.call(held, |_| call).await.0).map(drop)
    }
}
