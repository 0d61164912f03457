//! One ring of io_uring: its queues, and how they are entered.

use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, squeue, types};

use crate::choice::Polling;

const ENTRIES: u32 = 512;
const COMPLETIONS: u32 = 4096;
/// How long the kernel's submitting thread looks for new operations before it sleeps, in milliseconds.
const SUBMITTER_IDLE_MS: u32 = 1000;

/// What the kernel says of an operation: `user_data`, result and flags.
pub(crate) type Completion = (u64, i32, u32);

pub(crate) struct Ring {
    pub(crate) ring: RefCell<IoUring>,
    /// Defer-taskrun rings make completions only inside `io_uring_enter` with this thread waiting.
    deferred: bool,
    polling: Polling,
    queued: Cell<u32>,
    /// Pushed and not yet reaped; counted where the device is polled, and there each operation completes once.
    in_flight: Cell<u32>,
}

impl Ring {
    /// A ring; one that polls for submissions shares the thread of `beside`.
    pub(crate) fn open(polling: Polling, beside: Option<&Ring>) -> io::Result<Ring> {
        let build = |deferred: bool| {
            let mut builder = IoUring::builder();
            builder.setup_cqsize(COMPLETIONS).setup_clamp();
            if deferred {
                builder.setup_single_issuer().setup_defer_taskrun().setup_taskrun_flag();
            }
            if polling.completions {
                builder.setup_iopoll();
            }
            if polling.submissions {
                builder.setup_sqpoll(SUBMITTER_IDLE_MS);
                if let Some(other) = beside {
                    builder.setup_attach_wq(other.ring.borrow().as_raw_fd());
                }
            }
            builder.build(ENTRIES)
        };
        let (ring, deferred) = match if polling.submissions { build(false) } else { build(true) } {
            Ok(ring) => (ring, !polling.submissions),
            // Kernels before 6.1 do not know the flags.
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) && !polling.submissions => {
                (build(false)?, false)
            }
            Err(e) => return Err(e),
        };
        Ok(Ring {
            ring: RefCell::new(ring),
            deferred,
            polling,
            queued: Cell::new(0),
            in_flight: Cell::new(0),
        })
    }

    /// Operations on a polled device whose completion was not seen yet.
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight.get()
    }

    #[inline]
    pub(crate) fn push(&self, entry: &squeue::Entry) {
        let mut ring = self.ring.borrow_mut();
        loop {
            // SAFETY: whatever the entry points at is held by its slot until the kernel reports its end.
            if unsafe { ring.submission().push(entry) }.is_ok() {
                break;
            }
            // The queue is full: hand over what is there. Errors (EAGAIN, EBUSY) pass; try again.
            let _ = ring.submit();
            if self.polling.submissions {
                let _ = ring.submitter().squeue_wait();
            }
        }
        self.queued.set(self.queued.get() + 1);
        if self.polling.completions {
            self.in_flight.set(self.in_flight.get() + 1);
        }
    }

    /// Hands over what is queued before the turn is over.
    pub(crate) fn submit_now(&self) {
        self.queued.set(0);
        // Errors (EAGAIN, EBUSY) pass; what is left goes with the turn's own submission.
        if self.ring.borrow().submitter().submit().is_err() {
            self.queued.set(1);
        }
    }

    /// Submits. `wait`: `None` = do not wait; `Some(None)` = until `enough` have completed; `Some(Some(ns))` = at most so
    /// long.
    pub(crate) fn turn(&self, wait: Option<Option<u64>>, enough: usize) {
        let mut ring = self.ring.borrow_mut();
        let pending = !ring.completion().is_empty();
        let (want, wait) = match wait {
            Some(limit) if !pending => (enough, limit),
            _ => (0, None),
        };
        let taskrun = self.deferred && ring.submission().taskrun();
        if want > 0 || self.queued.get() > 0 || taskrun {
            self.queued.set(0);
            enter(&ring, want, wait, self.deferred);
        }
    }

    /// Submits, and asks the device once what is done. For rings whose device is polled.
    pub(crate) fn poll_device(&self) {
        self.queued.set(0);
        // On such a ring every submission also asks for completions; a kernel thread that submits does both by itself
        // and may have to be woken.
        let _ = self.ring.borrow().submitter().submit();
    }

    /// Takes completions out of the queue; says how many.
    #[inline]
    pub(crate) fn reap(&self, batch: &mut [Completion]) -> usize {
        let mut count = 0;
        for completion in self.ring.borrow_mut().completion().take(batch.len()) {
            batch[count] = (completion.user_data(), completion.result(), completion.flags());
            count += 1;
        }
        if self.polling.completions {
            self.in_flight.set(self.in_flight.get() - count as u32);
        }
        count
    }

    pub(crate) fn update_file(&self, place: u32, fd: i32) -> bool {
        self.ring.borrow().submitter().register_files_update(place, &[fd]).is_ok()
    }

    pub(crate) fn update_buffer(&self, place: u16, start: *mut u8, len: usize) -> bool {
        let range = libc::iovec { iov_base: start.cast(), iov_len: len };
        // SAFETY: the memory stays mapped until the buffer takes itself out of the table.
        unsafe { self.ring.borrow().submitter().register_buffers_update(u32::from(place), &[range], None) }
            .is_ok()
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
