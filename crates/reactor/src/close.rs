//! Closes descriptors without blocking the thread.

use std::io;
use std::os::fd::{IntoRawFd, OwnedFd};
use std::rc::Rc;

use io_uring::{opcode, types};

use crate::Reactor;
use crate::calls::Call;
use crate::core::Inner;
use crate::file::File;
use crate::file_calls::{by_thread, ring};
use crate::slots::Held;
use crate::uring::to_result;

impl Reactor {
    /// Closes a descriptor (close(2)), which may take time: network file systems write back what is not written yet. The
    /// descriptor is gone afterwards, whatever the result.
    ///
    /// # Errors
    /// What the kernel reports, such as data that could not be written back.
    pub async fn close(&self, descriptor: OwnedFd) -> io::Result<()> {
        close(&self.inner, descriptor, false).await
    }
}

impl File {
    /// Closes the file like [`Reactor::close`], if this is the last handle to it; otherwise the last one closes it.
    ///
    /// # Errors
    /// What the kernel reports.
    pub async fn close(self) -> io::Result<()> {
        let in_memory = self.is_in_memory();
        let (inner, descriptor) = self.into_parts();
        match descriptor {
            Some(descriptor) => close(&inner, descriptor, in_memory).await,
            None => Ok(()),
        }
    }
}

async fn close(inner: &Rc<Inner>, descriptor: OwnedFd, in_memory: bool) -> io::Result<()> {
    let fd = descriptor.into_raw_fd();
    let result = match ring(inner, in_memory) {
        Some(uring) => {
            let close = |_: &mut Held| opcode::Close::new(types::Fd(fd)).build();
            uring.start(inner, Held::default(), close).uncancelled().await.0
        }
        // Not to be given up before it is done.
        None if in_memory => Call::Close { fd }.run(),
        None => by_thread(inner, Held::default(), |_| Call::Close { fd }).await.0,
    };
    to_result(result).map(drop)
}
