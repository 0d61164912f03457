//! The io_uring backend (`io_uring_setup(2)`, `io_uring_enter(2)`).
//!
//! One ring per thread, with `SINGLE_ISSUER` and `DEFER_TASKRUN` if the kernel supports them: completions are then
//! posted only when this thread asks, in batches. Sockets are registered files while there is space in the table.
//! Everything queued in one turn of the loop is submitted with one system call, which also waits.
//!
//! A ring with a polled device (`IORING_SETUP_IOPOLL`) accepts only direct reads and writes, and no timer can end a
//! wait on it. It is therefore a second ring alongside the first, and while it has operations in flight the loop polls
//! both instead of sleeping.

use std::cell::RefCell;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use io_uring::{IoUring, Probe, cqueue, opcode, squeue};

use crate::choice::{BackendChoice, Polling};
use crate::core::Inner;
use crate::ring::Ring;
use crate::slots::{Held, Slots};
use crate::uring_refusal::UringRefusal;
use crate::{Buffer, clock};

/// Maximum number of registered sockets and files; more also work, slightly slower.
const REGISTERED_FILES: u32 = 4096;
/// Maximum number of buffers registered at once.
const REGISTERED_BUFFERS: u16 = 1024;
/// Marks completions of cancellations, for which nobody waits.
const CANCELLATION: u64 = u64::MAX;
/// How long closing waits for the kernel to release buffers.
const DRAIN_MS_MAX: u32 = 500;

/// With at least this many other operations per submission, a cached read is cheaper on the ring than as a system call of
/// its own (decision 0031).
const SHARED_MIN: usize = 3;

/// Maximum number of completions to wait for at once, and maximum time.
const BATCH_MAX: usize = 32;
const BATCH_WAIT_NS: u64 = 250_000;
/// Number of polls of a device before yielding the CPU.
const POLLS_BEFORE_YIELD: u32 = 64;

pub(crate) struct Uring {
    main: Ring,
    /// For direct reads and writes on a polled device.
    polled: Option<Ring>,
    slots: RefCell<Slots>,
    /// Free indices in the table of registered files; empty if the kernel refused the table.
    free_files: RefCell<Vec<u32>>,
    /// The same for registered buffers.
    free_buffers: RefCell<Vec<u16>>,
    /// Whether the kernel can send from user pages without copying (`IORING_OP_SEND_ZC`, Linux 6.0).
    pub(crate) sends_zero_copy: bool,
    /// Whether the kernel can create directories and links, and rename (Linux 5.15).
    pub(crate) changes_names: bool,
    /// Whether the kernel can set and read extended attributes (Linux 5.19).
    pub(crate) has_xattrs: bool,
    /// Whether to wait for several completions at once.
    batches: bool,
}

impl Uring {
    /// Opens a ring.
    ///
    /// # Errors
    /// [`UringRefusal`].
    pub(crate) fn open(choice: BackendChoice) -> Result<Uring, UringRefusal> {
        let polling = choice.what_polls();
        let submitting = Polling { completions: false, ..polling };
        let main = Ring::open(submitting, None).map_err(|error| UringRefusal::kernel(&error))?;
        let Supported { sends_zero_copy, changes_names, has_xattrs } = probe(&main.ring.borrow())?;
        let polled = polling.completions.then(|| Ring::open(polling, Some(&main)));
        let polled = polled.transpose().map_err(|error| UringRefusal::polled(&error))?;
        let rings = || std::iter::once(&main).chain(&polled);
        let files = rings()
            .all(|ring| ring.ring.borrow().submitter().register_files_sparse(REGISTERED_FILES).is_ok());
        let buffers = rings().all(|ring| {
            ring.ring.borrow().submitter().register_buffers_sparse(u32::from(REGISTERED_BUFFERS)).is_ok()
        });
        let free_files = if files { (0..REGISTERED_FILES).rev().collect() } else { Vec::new() };
        let free_buffers = if buffers { (0..REGISTERED_BUFFERS).rev().collect() } else { Vec::new() };
        Ok(Uring {
            main,
            polled,
            slots: RefCell::default(),
            free_files: RefCell::new(free_files),
            free_buffers: RefCell::new(free_buffers),
            sends_zero_copy,
            changes_names,
            has_xattrs,
            batches: choice == BackendChoice::Batching,
        })
    }

    /// Whether direct reads and writes go to a ring that polls the device.
    pub(crate) fn polls_completions(&self) -> bool {
        self.polled.is_some()
    }

    fn rings(&self) -> impl Iterator<Item = &Ring> {
        std::iter::once(&self.main).chain(&self.polled)
    }

    /// Adds a descriptor to the table of registered files, if there is space.
    pub(crate) fn register_file(&self, fd: i32) -> Option<u32> {
        let place = self.free_files.borrow_mut().pop()?;
        if self.rings().all(|ring| ring.update_file(place, fd)) {
            return Some(place);
        }
        self.forget_file(place);
        None
    }

    /// Removes a descriptor from the table.
    pub(crate) fn forget_file(&self, place: u32) {
        // From every ring, even if one of them fails.
        if self.rings().filter(|ring| !ring.update_file(place, -1)).count() == 0 {
            self.free_files.borrow_mut().push(place);
        }
    }

    /// Adds a buffer to the table of registered buffers, if there is space and the memory may be locked.
    pub(crate) fn register_buffer(&self, start: *mut u8, len: usize) -> Option<u16> {
        let place = self.free_buffers.borrow_mut().pop()?;
        if self.rings().all(|ring| ring.update_buffer(place, start, len)) {
            return Some(place);
        }
        self.forget_buffer(place);
        None
    }

    /// Removes a buffer from the table, before its memory is freed.
    pub(crate) fn forget_buffer(&self, place: u16) {
        let none = std::ptr::null_mut();
        if self.rings().filter(|ring| !ring.update_buffer(place, none, 0)).count() == 0 {
            self.free_buffers.borrow_mut().push(place);
        }
    }

    /// Queues an operation. `make` receives the held values, to take addresses from.
    pub(crate) fn start<'a>(
        &'a self,
        inner: &'a Inner,
        held: Held,
        make: impl FnOnce(&mut Held) -> squeue::Entry,
    ) -> Operation<'a> {
        let mut slots = self.slots.borrow_mut();
        let slot = slots.insert(inner.current(), held);
        let entry = make(slots.held(slot)).user_data(u64::from(slot));
        drop(slots);
        if let Err(error) = self.main.push(&entry) {
            self.refuse(slot, &error);
        }
        Operation { uring: self, inner, slot: Some(slot), cancellable: true }
    }

    /// Queues a file transfer: `fill` stores the held values in the slot and builds the entry. Direct transfers go to
    /// the polling ring, if there is one.
    #[inline]
    pub(crate) fn start_transfer<'a>(
        &'a self,
        inner: &'a Inner,
        direct: bool,
        fill: impl FnOnce(&mut Held) -> squeue::Entry,
    ) -> Operation<'a> {
        let ring = if direct { self.polled.as_ref().unwrap_or(&self.main) } else { &self.main };
        let mut slots = self.slots.borrow_mut();
        let slot = slots.reserve(inner.current());
        let entry = fill(slots.held(slot)).user_data(u64::from(slot));
        drop(slots);
        if let Err(error) = ring.push(&entry) {
            self.refuse(slot, &error);
        }
        Operation { uring: self, inner, slot: Some(slot), cancellable: std::ptr::eq(ring, &self.main) }
    }

    /// Ends an operation that the kernel did not accept; its caller sees the error at the first poll.
    #[cold]
    fn refuse(&self, slot: u32, error: &io::Error) {
        self.slots.borrow_mut().complete(slot, -error.raw_os_error().unwrap_or(libc::EBUSY));
    }

    /// Whether an operation started now shares its submission with several others: those already queued, and those that
    /// the tasks that are ready may queue before the end of the turn.
    #[inline]
    pub(crate) fn shares_submission(&self, inner: &Inner) -> bool {
        self.main.queued() as usize + inner.others_ready() >= SHARED_MIN
    }

    /// Submits what is queued before the end of the turn.
    pub(crate) fn submit_now(&self) {
        self.main.submit_now();
    }

    /// Submits and collects. `wait`: `None` does not wait; `Some(None)` waits until something completes;
    /// `Some(Some(ns))` waits at most that long.
    pub(crate) fn turn(&self, wait: Option<Option<u64>>, mut ready: impl FnMut(u32)) {
        let Some(polled) = self.polled.as_ref().filter(|polled| polled.in_flight() > 0) else {
            if let Some(limit) = wait
                && self.batches
                && self.wait_for_batch(limit, &mut ready)
            {
                return;
            }
            self.main.turn(wait, 1);
            self.collect(&self.main, &mut ready);
            return;
        };
        let until = wait.map(|limit| limit.map(|ns| clock::now_ns().saturating_add(ns)));
        for looks in 1_u32.. {
            polled.poll_device();
            self.main.turn(None, 0);
            let ended = self.collect(polled, &mut ready) + self.collect(&self.main, &mut ready);
            let in_time = match until {
                None => false,
                Some(None) => true,
                Some(Some(at)) => clock::now_ns() < at,
            };
            if ended > 0 || !in_time {
                return;
            }
            if looks.is_multiple_of(POLLS_BEFORE_YIELD) {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
    }

    /// Waits briefly until three quarters of the operations in flight have completed; returns true if any has.
    fn wait_for_batch(&self, limit: Option<u64>, ready: &mut impl FnMut(u32)) -> bool {
        let want = (self.slots.borrow().in_flight() * 3 / 4).min(BATCH_MAX);
        if want < 2 {
            return false;
        }
        let limit = limit.map_or(BATCH_WAIT_NS, |limit| limit.min(BATCH_WAIT_NS));
        self.main.turn(Some(Some(limit)), want);
        self.collect(&self.main, ready) > 0
    }

    /// Collects completions from a ring; returns the number.
    fn collect(&self, ring: &Ring, ready: &mut impl FnMut(u32)) -> usize {
        let mut ended = 0;
        let mut batch = [(0_u64, 0_i32, 0_u32); 64];
        loop {
            let count = ring.reap(&mut batch);
            ended += count;
            for &(user_data, result, flags) in &batch[..count] {
                if user_data == CANCELLATION {
                    continue;
                }
                let slot = user_data as u32;
                let mut slots = self.slots.borrow_mut();
                // A zero-copy send reports twice: first its result, later that the buffer is free again.
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
                return ended;
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

/// What only newer kernels support.
struct Supported {
    sends_zero_copy: bool,
    changes_names: bool,
    has_xattrs: bool,
}

/// Checks that the kernel supports the required operations; returns what else it supports.
fn probe(ring: &IoUring) -> Result<Supported, UringRefusal> {
    let mut probe = Probe::new();
    ring.submitter().register_probe(&mut probe).map_err(|error| UringRefusal::kernel(&error))?;
    let needed = [
        (opcode::Recv::CODE, "RECV"),
        (opcode::Send::CODE, "SEND"),
        (opcode::Accept::CODE, "ACCEPT"),
        (opcode::Connect::CODE, "CONNECT"),
        (opcode::AsyncCancel::CODE, "ASYNC_CANCEL"),
        (opcode::Read::CODE, "READ"),
        (opcode::OpenAt::CODE, "OPENAT"),
        (opcode::Close::CODE, "CLOSE"),
        (opcode::UnlinkAt::CODE, "UNLINKAT"),
    ];
    if let Some((_, name)) = needed.iter().find(|(code, _)| !probe.is_supported(*code)) {
        return Err(UringRefusal::Lacks(name));
    }
    if !ring.params().is_feature_ext_arg() {
        return Err(UringRefusal::NoTimeout);
    }
    let changing =
        [opcode::MkDirAt::CODE, opcode::RenameAt::CODE, opcode::LinkAt::CODE, opcode::SymlinkAt::CODE];
    Ok(Supported {
        sends_zero_copy: probe.is_supported(opcode::SendZc::CODE),
        changes_names: changing.iter().all(|code| probe.is_supported(*code)),
        has_xattrs: [opcode::FSetXattr::CODE, opcode::FGetXattr::CODE]
            .iter()
            .all(|code| probe.is_supported(*code)),
    })
}

impl Drop for Uring {
    fn drop(&mut self) {
        self.drain();
        let slots = std::mem::take(&mut *self.slots.borrow_mut());
        if slots.in_flight() > 0 {
            // The kernel may still write to this memory; a leak is better than stray writes.
            std::mem::forget(slots);
        }
    }
}

/// An operation in flight; resolves to the kernel's result and the buffer.
pub(crate) struct Operation<'a> {
    uring: &'a Uring,
    inner: &'a Inner,
    slot: Option<u32>,
    /// A ring that polls the device does not support cancellation: its operations end when the device completes them.
    /// A close that is cancelled would leave its descriptor open.
    cancellable: bool,
}

impl Operation<'_> {
    /// The operation is not cancelled when nobody waits for it any more.
    pub(crate) fn uncancelled(mut self) -> Self {
        self.cancellable = false;
        self
    }
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
            && self.cancellable
        {
            let cancel = opcode::AsyncCancel::new(u64::from(slot)).build().user_data(CANCELLATION);
            // If the cancellation is not accepted, the operation ends by itself.
            let _ = self.uring.main.push(&cancel);
        }
    }
}

/// Converts the kernel's result to an `io::Result`.
pub(crate) fn to_result(result: i32) -> io::Result<usize> {
    if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(result as usize) }
}
