//! Where operations on a file system are executed: on the ring, by a thread of the pool, or at once.

use std::rc::Rc;

use crate::Buffer;
use crate::calls::Call;
use crate::core::{Inner, Kernel};
use crate::slots::Held;
use crate::uring::Uring;

/// The ring to use for a file system; none for one in memory.
#[inline]
pub(crate) fn ring(inner: &Inner, in_memory: bool) -> Option<&Uring> {
    match &inner.kernel {
        Kernel::Uring(uring) if !in_memory => Some(uring),
        _ => None,
    }
}

/// Executes a system call: here, if no device can make it wait, or on a thread.
///
/// io_uring would hand most calls on such a file system to its own threads, because they promise nothing about waiting.
#[inline]
pub(crate) async fn by_call(
    inner: &Rc<Inner>,
    in_memory: bool,
    mut held: Held,
    make: impl FnOnce(&mut Held) -> Call,
) -> (i32, Option<Buffer>) {
    if !in_memory {
        return by_thread(inner, held, make).await;
    }
    let call = make(&mut held);
    inner.give_way(call.weight()).await;
    (call.run(), held.buffer)
}

/// Executes a system call on a thread.
pub(crate) async fn by_thread(
    inner: &Rc<Inner>,
    held: Held,
    make: impl FnOnce(&mut Held) -> Call,
) -> (i32, Option<Buffer>) {
    match inner.pool() {
        Ok(pool) => pool.start_call(inner, held, make).await,
        Err(e) => (-e.raw_os_error().unwrap_or(libc::EIO), held.buffer),
    }
}
