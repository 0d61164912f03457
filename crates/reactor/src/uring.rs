//! The io_uring backend (`io_uring_setup(2)`, `io_uring_enter(2)`).
//!
//! One ring a thread, with `SINGLE_ISSUER` and `DEFER_TASKRUN` where the kernel has them: completions are
//! then made only when this thread asks, in batches. Sockets are registered files while there is room
//! in the table. What is queued in one turn of the loop is submitted by one system call, which also waits.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use io_uring::{IoUring, Probe, cqueue, opcode, squeue, types};

use crate::Buffer;
use crate::core::Inner;
use crate::slots::{Held, Slots};

const ENTRIES: u32 = 512;
const COMPLETIONS: u32 = 4096;
/// Sockets that are registered; more work too, a little slower.
const REGISTERED_FILES: u32 = 4096;
/// Buffers that can be registered at once.
const REGISTERED_BUFFERS: u16 = 1024;
/// Marks completions of cancellations, which nobody waits for.
const CANCELLATION: u64 = u64::MAX;
/// How long closing waits for the kernel to let go of buffers.
const DRAIN_MS_MAX: u32 = 500;

pub(crate) struct Uring {
    ring: RefCell<IoUring>,
    slots: RefCell<Slots>,
    /// Free places in the table of registered files; empty when the kernel refused the table.
    free_files: RefCell<Vec<u32>>,
    /// The same for registered buffers.
    free_buffers: RefCell<Vec<u16>>,
    /// The kernel can send from user pages without a copy (`IORING_OP_SEND_ZC`, Linux 6.0).
    pub(crate) sends_zero_copy: bool,
    /// Defer-taskrun rings make completions only inside `io_uring_enter` with this thread waiting.
    deferred: bool,
    queued: Cell<u32>,
}

impl Uring {
    /// Opens a ring, or says in words why the kernel refuses.
    pub(crate) fn open() -> Result<Uring, String> {
        let build = |deferred: bool| {
            let mut builder = IoUring::builder();
            builder.setup_cqsize(COMPLETIONS).setup_clamp();
            if deferred {
                builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
            }
            builder.build(ENTRIES)
        };
        let (ring, deferred) = match build(true) {
            Ok(ring) => (ring, true),
            // Kernels before 6.1 do not know the flags.
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
                (build(false).map_err(|e| refusal(&e))?, false)
            }
            Err(e) => return Err(refusal(&e)),
        };
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe).map_err(|e| refusal(&e))?;
        let needed = [
            (opcode::Recv::CODE, "RECV"),
            (opcode::Send::CODE, "SEND"),
            (opcode::Accept::CODE, "ACCEPT"),
            (opcode::Connect::CODE, "CONNECT"),
            (opcode::AsyncCancel::CODE, "ASYNC_CANCEL"),
        ];
        if let Some((_, name)) = needed.iter().find(|(code, _)| !probe.is_supported(*code)) {
            return Err(format!("this kernel's io_uring lacks {name} (Linux 5.11 or later is needed)"));
        }
        if !ring.params().is_feature_ext_arg() {
            return Err(
                "this kernel's io_uring cannot wait with a timeout (Linux 5.11 or later is needed)".into()
            );
        }
        let free_files = match ring.submitter().register_files_sparse(REGISTERED_FILES) {
            Ok(()) => (0..REGISTERED_FILES).rev().collect(),
            Err(_) => Vec::new(),
        };
        let free_buffers = match ring.submitter().register_buffers_sparse(u32::from(REGISTERED_BUFFERS)) {
            Ok(()) => (0..REGISTERED_BUFFERS).rev().collect(),
            Err(_) => Vec::new(),
        };
        Ok(Uring {
            sends_zero_copy: probe.is_supported(opcode::SendZc::CODE),
            free_buffers: RefCell::new(free_buffers),
            ring: RefCell::new(ring),
            slots: RefCell::default(),
            free_files: RefCell::new(free_files),
            deferred,
            queued: Cell::new(0),
        })
    }

    /// Puts a descriptor into the table of registered files, if there is room.
    pub(crate) fn register_file(&self, fd: i32) -> Option<u32> {
        let place = self.free_files.borrow_mut().pop()?;
        match self.ring.borrow().submitter().register_files_update(place, &[fd]) {
            Ok(_) => Some(place),
            Err(_) => {
                self.free_files.borrow_mut().push(place);
                None
            }
        }
    }

    /// Takes a descriptor out of the table.
    pub(crate) fn forget_file(&self, place: u32) {
        if self.ring.borrow().submitter().register_files_update(place, &[-1]).is_ok() {
            self.free_files.borrow_mut().push(place);
        }
    }

    /// Puts a buffer into the table of registered buffers, if there is room and the memory may be locked.
    pub(crate) fn register_buffer(&self, start: *mut u8, len: usize) -> Option<u16> {
        let place = self.free_buffers.borrow_mut().pop()?;
        if self.update_buffer(place, start, len) {
            return Some(place);
        }
        self.free_buffers.borrow_mut().push(place);
        None
    }

    /// Takes a buffer out of the table, before its memory goes.
    pub(crate) fn forget_buffer(&self, place: u16) {
        if self.update_buffer(place, std::ptr::null_mut(), 0) {
            self.free_buffers.borrow_mut().push(place);
        }
    }

    fn update_buffer(&self, place: u16, start: *mut u8, len: usize) -> bool {
        let range = libc::iovec { iov_base: start.cast(), iov_len: len };
        // SAFETY: the memory stays mapped until the buffer takes itself out of the table.
        unsafe { self.ring.borrow().submitter().register_buffers_update(u32::from(place), &[range], None) }
            .is_ok()
    }

    /// Queues an operation. `make` gets what is held, to take addresses from.
    pub(crate) fn start<'a>(
        &'a self,
        inner: &'a Inner,
        held: Held,
        make: impl FnOnce(&mut Held) -> squeue::Entry,
    ) -> Operation<'a> {
        let slot = self.slots.borrow_mut().insert(inner.current(), held);
        let entry = make(self.slots.borrow_mut().held(slot)).user_data(u64::from(slot));
        self.push(&entry);
        Operation { uring: self, inner, slot: Some(slot) }
    }

    fn push(&self, entry: &squeue::Entry) {
        let mut ring = self.ring.borrow_mut();
        loop {
            // SAFETY: whatever the entry points at is held by its slot until the kernel reports its end.
            if unsafe { ring.submission().push(entry) }.is_ok() {
                break;
            }
            // The queue is full: hand over what is there. Errors (EAGAIN, EBUSY) pass; try again.
            let _ = ring.submit();
        }
        self.queued.set(self.queued.get() + 1);
    }

    /// Hands over what is queued before the turn is over.
    pub(crate) fn submit_now(&self) {
        self.queued.set(0);
        // Errors (EAGAIN, EBUSY) pass; what is left goes with the turn's own submission.
        if self.ring.borrow().submitter().submit().is_err() {
            self.queued.set(1);
        }
    }

    /// Submits and collects. `wait`: `None` = do not wait; `Some(None)` = until something completes;
    /// `Some(Some(ns))` = at most so long.
    pub(crate) fn turn(&self, wait: Option<Option<u64>>, mut ready: impl FnMut(u32)) {
        {
            let mut ring = self.ring.borrow_mut();
            let pending = !ring.completion().is_empty();
            let (want, wait) = match wait {
                Some(limit) if !pending => (1, limit),
                _ => (0, None),
            };
            let taskrun = self.deferred && ring.submission().taskrun();
            if want > 0 || self.queued.get() > 0 || taskrun {
                self.queued.set(0);
                enter(&ring, want, wait, self.deferred);
            }
        }
        let mut batch = [(0_u64, 0_i32, 0_u32); 64];
        loop {
            let mut count = 0;
            for completion in self.ring.borrow_mut().completion().take(batch.len()) {
                batch[count] = (completion.user_data(), completion.result(), completion.flags());
                count += 1;
            }
            for &(user_data, result, flags) in &batch[..count] {
                if user_data == CANCELLATION {
                    continue;
                }
                let slot = user_data as u32;
                let mut slots = self.slots.borrow_mut();
                // A zero-copy send reports twice: its result, and later that the buffer is free again.
                if cqueue::more(flags) {
                    slots.held(slot).early_result = Some(result);
                    continue;
                }
                let result = slots.held(slot).early_result.take().unwrap_or(result);
                let waiting = slots.complete(slot, result);
                drop(slots);
                if let Some(task) = waiting {
                    ready(task);
                }
            }
            if count < batch.len() {
                break;
            }
        }
    }

    /// Waits until no operation is in flight, or gives up after a while.
    pub(crate) fn drain(&self) {
        for _ in 0..DRAIN_MS_MAX / 10 {
            if self.slots.borrow().in_flight() == 0 {
                return;
            }
            self.turn(Some(Some(10_000_000)), |_| {});
        }
    }
}

/// `io_uring_enter`: submit everything, and wait for `want` completions.
fn enter(ring: &IoUring, want: usize, limit_ns: Option<u64>, deferred: bool) {
    let submitter = ring.submitter();
    // Interruptions, time-outs and a busy completion queue are no errors here: the loop comes round again.
    let _ = match limit_ns {
        Some(ns) if want > 0 => {
            let span = types::Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32);
            submitter.submit_with_args(want, &types::SubmitArgs::new().timespec(&span))
        }
        // Asking for events without waiting runs the deferred work.
        None if want == 0 && deferred => {
            let now = types::Timespec::new();
            submitter.submit_with_args(1, &types::SubmitArgs::new().timespec(&now))
        }
        _ => submitter.submit_and_wait(want),
    };
}

impl Drop for Uring {
    fn drop(&mut self) {
        self.drain();
        let slots = std::mem::take(&mut *self.slots.borrow_mut());
        if slots.in_flight() > 0 {
            // The kernel may still write there; lost memory is better than foreign writes.
            std::mem::forget(slots);
        }
    }
}

fn refusal(error: &io::Error) -> String {
    let cause = match error.raw_os_error() {
        Some(libc::ENOSYS) => "not in this kernel, or hidden by a container's seccomp profile",
        Some(libc::EPERM | libc::EACCES) => {
            match std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").as_deref().map(str::trim) {
                Ok("1" | "2") => "switched off by the sysctl kernel.io_uring_disabled",
                _ => "blocked, most likely by a container's seccomp profile",
            }
        }
        Some(libc::ENOMEM) => "the limit on locked memory is too low (ulimit -l)",
        Some(libc::EMFILE | libc::ENFILE) => "too many open files",
        _ => "refused by the kernel",
    };
    format!("{cause} ({error})")
}

/// An operation in flight; resolves to the kernel's result and the buffer.
pub(crate) struct Operation<'a> {
    uring: &'a Uring,
    inner: &'a Inner,
    slot: Option<u32>,
}

impl Future for Operation<'_> {
    type Output = (i32, Option<Buffer>);

    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let slot = self.slot.expect("a future is not polled after its end");
        match self.uring.slots.borrow_mut().take_if_done(slot, self.inner.current()) {
            Some(done) => {
                self.slot = None;
                Poll::Ready(done)
            }
            None => Poll::Pending,
        }
    }
}

impl Drop for Operation<'_> {
    fn drop(&mut self) {
        if let Some(slot) = self.slot.take()
            && self.uring.slots.borrow_mut().abandon(slot)
        {
            let cancel = opcode::AsyncCancel::new(u64::from(slot)).build().user_data(CANCELLATION);
            self.uring.push(&cancel);
        }
    }
}

/// The kernel's result as the rest of the world expects it.
pub(crate) fn to_result(result: i32) -> io::Result<usize> {
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(result as usize) }
}
