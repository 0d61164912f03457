//! One io_uring ring: its queues, and how it is entered.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

use io_uring::{IoUring, cqueue, squeue, types};

use crate::choice::Polling;

const ENTRIES: u32 = 512;
const COMPLETIONS: u32 = 4096;
/// How long the kernel's submission thread polls for new operations before it sleeps, in milliseconds.
const SUBMITTER_IDLE_MS: u32 = 1000;

/// How often to retry submitting a full queue before an operation is refused, and the pause between two attempts.
const ATTEMPTS_MAX: u32 = 200;
const ATTEMPT_PAUSE: Duration = Duration::from_micros(500);

/// The kernel's report on an operation: `user_data`, result and flags.
pub(crate) type Completion = (u64, i32, u32);

pub(crate) struct Ring {
    pub(crate) ring: RefCell<IoUring>,
    /// Defer-taskrun rings post completions only inside `io_uring_enter` while this thread waits.
    deferred: bool,
    polling: Polling,
    queued: Cell<u32>,
    /// Completions taken out of the queue ahead of time.
    early: RefCell<VecDeque<Completion>>,
    /// Whether there are any.
    has_early: Cell<bool>,
    /// Operations pushed and not yet reaped; only counted if the device is polled, where each operation completes
    /// exactly once.
    in_flight: Cell<u32>,
}

impl Ring {
    /// Opens a ring; one that polls for submissions shares the thread of `beside`.
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
            early: RefCell::default(),
            has_early: Cell::new(false),
            in_flight: Cell::new(0),
        })
    }

    /// Operations on a polled device whose completion has not been reaped.
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight.get()
    }

    /// Operations queued for the next submission.
    #[inline]
    pub(crate) fn queued(&self) -> u32 {
        self.queued.get()
    }

    /// Queues an operation.
    ///
    /// # Errors
    /// If the queue is full and the kernel accepts nothing for a while.
    #[inline]
    pub(crate) fn push(&self, entry: &squeue::Entry) -> io::Result<()> {
        let mut ring = self.ring.borrow_mut();
        // SAFETY: whatever the entry points to is held by its slot until the kernel reports completion.
        if unsafe { ring.submission().push(entry) }.is_err() {
            make_room(&mut FullRing { ring: &mut ring, of: self, entry })?;
        }
        self.queued.set(self.queued.get() + 1);
        if self.polling.completions {
            self.in_flight.set(self.in_flight.get() + 1);
        }
        Ok(())
    }

    /// Submits what is queued before the end of the turn.
    pub(crate) fn submit_now(&self) {
        self.queued.set(0);
        // Errors (EAGAIN, EBUSY) are temporary; the rest goes with the turn's own submission.
        if self.ring.borrow().submitter().submit().is_err() {
            self.queued.set(1);
        }
    }

    /// Submits. `wait`: `None` does not wait; `Some(None)` waits until `enough` have completed; `Some(Some(ns))` waits
    /// at most that long.
    pub(crate) fn turn(&self, wait: Option<Option<u64>>, enough: usize) {
        let mut ring = self.ring.borrow_mut();
        let pending = self.has_early.get() || !ring.completion().is_empty();
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

    /// Submits, and polls the device once for completions. For rings with a polled device.
    pub(crate) fn poll_device(&self) {
        self.queued.set(0);
        // On such a ring every submission also polls for completions; a kernel thread that submits does both by itself
        // and may have to be woken.
        let _ = self.ring.borrow().submitter().submit();
    }

    /// Takes completions out of the queue; returns the number.
    #[inline]
    pub(crate) fn reap(&self, batch: &mut [Completion]) -> usize {
        let mut count = if self.has_early.get() { self.reap_early(batch) } else { 0 };
        for completion in self.ring.borrow_mut().completion().take(batch.len() - count) {
            batch[count] = of(&completion);
            count += 1;
        }
        if self.polling.completions {
            self.in_flight.set(self.in_flight.get() - count as u32);
        }
        count
    }

    #[cold]
    fn reap_early(&self, batch: &mut [Completion]) -> usize {
        let mut early = self.early.borrow_mut();
        let count = early.len().min(batch.len());
        for (place, completion) in batch.iter_mut().zip(early.drain(..count)) {
            *place = completion;
        }
        self.has_early.set(!early.is_empty());
        count
    }

    pub(crate) fn update_file(&self, place: u32, fd: i32) -> bool {
        self.ring.borrow().submitter().register_files_update(place, &[fd]).is_ok()
    }

    pub(crate) fn update_buffer(&self, place: u16, start: *mut u8, len: usize) -> bool {
        let range = libc::iovec { iov_base: start.cast(), iov_len: len };
        // SAFETY: the memory stays mapped until the buffer removes itself from the table.
        unsafe { self.ring.borrow().submitter().register_buffers_update(u32::from(place), &[range], None) }
            .is_ok()
    }
}

fn of(completion: &cqueue::Entry) -> Completion {
    (completion.user_data(), completion.result(), completion.flags())
}

/// A full queue, and an entry that waits for space in it.
trait Full {
    /// Queues the waiting entry; false while there is no space.
    fn push(&mut self) -> bool;
    /// Submits the queue to the kernel.
    fn submit(&mut self) -> io::Result<usize>;
    /// Takes completions out of the queue; returns the number.
    fn reap(&mut self) -> usize;
}

/// Submits a full queue until there is space in it.
///
/// Memory may be short for a moment (EAGAIN), and up to Linux 5.18 the kernel accepts nothing while completions wait
/// for space in their queue (EBUSY), so they are taken out of it.
#[cold]
fn make_room(queue: &mut impl Full) -> io::Result<()> {
    let mut refusal = io::Error::from_raw_os_error(libc::EBUSY);
    for attempt in 0..ATTEMPTS_MAX {
        if let Err(error) = queue.submit() {
            refusal = error;
        }
        let reaped = queue.reap();
        if queue.push() {
            return Ok(());
        }
        if reaped == 0 && attempt > 0 {
            std::thread::sleep(ATTEMPT_PAUSE);
        }
    }
    Err(refusal)
}

struct FullRing<'a> {
    ring: &'a mut IoUring,
    of: &'a Ring,
    entry: &'a squeue::Entry,
}

impl Full for FullRing<'_> {
    fn push(&mut self) -> bool {
        // SAFETY: as in `Ring::push`.
        unsafe { self.ring.submission().push(self.entry) }.is_ok()
    }

    fn submit(&mut self) -> io::Result<usize> {
        let submitted = self.ring.submit()?;
        if self.of.polling.submissions {
            self.ring.submitter().squeue_wait()?;
        }
        Ok(submitted)
    }

    fn reap(&mut self) -> usize {
        let mut early = self.of.early.borrow_mut();
        let before = early.len();
        early.extend(self.ring.completion().map(|completion| of(&completion)));
        self.of.has_early.set(!early.is_empty());
        early.len() - before
    }
}

/// `io_uring_enter`: submits everything, and waits for `want` completions.
fn enter(ring: &IoUring, want: usize, limit_ns: Option<u64>, deferred: bool) {
    let submitter = ring.submitter();
    // Interruptions, timeouts and a busy completion queue are no errors here: the loop will run again.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A kernel that accepts nothing while more completions than this are waiting.
    struct Kernel {
        queued: u32,
        completed: u32,
        attempts: u32,
        refusal: i32,
        completions_max: u32,
    }

    impl Full for Kernel {
        fn push(&mut self) -> bool {
            let room = self.queued < 4;
            self.queued += u32::from(room);
            room
        }

        fn submit(&mut self) -> io::Result<usize> {
            self.attempts += 1;
            if self.completed > self.completions_max {
                return Err(io::Error::from_raw_os_error(self.refusal));
            }
            Ok(std::mem::take(&mut self.queued) as usize)
        }

        fn reap(&mut self) -> usize {
            // Completions beyond the queue's capacity enter it once there is space.
            let reaped = self.completed.min(8);
            self.completed -= reaped;
            reaped as usize
        }
    }

    #[test]
    fn completions_that_are_in_the_way_are_taken() {
        let mut kernel =
            Kernel { queued: 4, completed: 30, attempts: 0, refusal: libc::EBUSY, completions_max: 7 };
        assert!(make_room(&mut kernel).is_ok());
        assert_eq!((kernel.queued, kernel.attempts), (1, 4));
    }

    #[test]
    fn a_kernel_that_takes_nothing_is_not_asked_for_ever() {
        struct Deaf(u32);
        impl Full for Deaf {
            fn push(&mut self) -> bool {
                false
            }
            fn submit(&mut self) -> io::Result<usize> {
                self.0 += 1;
                Err(io::Error::from_raw_os_error(libc::EAGAIN))
            }
            fn reap(&mut self) -> usize {
                0
            }
        }
        let mut deaf = Deaf(0);
        assert_eq!(make_room(&mut deaf).unwrap_err().raw_os_error(), Some(libc::EAGAIN));
        assert_eq!(deaf.0, ATTEMPTS_MAX);
    }

    /// More operations than both queues hold: none is lost, and each completes once.
    #[test]
    fn more_operations_than_the_queues_hold_all_complete() {
        const COUNT: u64 = 20_000;
        let polling = Polling { completions: false, submissions: false };
        let Ok(ring) = Ring::open(polling, None) else { return };
        for number in 0..COUNT {
            let nop = io_uring::opcode::Nop::new().build().user_data(number);
            ring.push(&nop).expect("the kernel takes it");
        }
        let mut seen = vec![false; COUNT as usize];
        let mut batch = [(0, 0, 0); 64];
        let mut count = 0;
        while count < COUNT {
            ring.turn(Some(None), 1);
            let reaped = ring.reap(&mut batch);
            for (number, ..) in &batch[..reaped] {
                assert!(!std::mem::replace(&mut seen[*number as usize], true));
                count += 1;
            }
        }
        assert_eq!(ring.reap(&mut batch), 0);
    }
}
