//! The epoll backend (`epoll(7)`), for kernels and containers that refuse io_uring.
//!
//! Each socket is watched once, edge-triggered, in both directions. An operation tries its system call first and waits
//! only if that would block.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::task::Poll;

use rustix::event::{Timespec, epoll};

use crate::core::{Inner, NO_TASK};

/// The direction in which a task waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

#[derive(Clone, Copy)]
struct Watch {
    reader: u32,
    writer: u32,
    /// Something happened since the last attempt; the next wait must not sleep.
    read_ready: bool,
    write_ready: bool,
}

const IDLE: Watch = Watch { reader: NO_TASK, writer: NO_TASK, read_ready: false, write_ready: false };

pub(crate) struct Epoll {
    fd: OwnedFd,
    watches: RefCell<Vec<Watch>>,
    free: RefCell<Vec<u32>>,
    events: RefCell<Vec<epoll::Event>>,
    turns: Cell<u64>,
}

impl Epoll {
    pub(crate) fn open() -> io::Result<Epoll> {
        Ok(Epoll {
            fd: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            watches: RefCell::default(),
            free: RefCell::default(),
            events: RefCell::new(Vec::with_capacity(256)),
            turns: Cell::new(0),
        })
    }

    /// Watches a descriptor; returns its index here.
    pub(crate) fn watch(&self, fd: impl AsFd) -> io::Result<u32> {
        let index = self.free.borrow_mut().pop().unwrap_or_else(|| {
            self.watches.borrow_mut().push(IDLE);
            (self.watches.borrow().len() - 1) as u32
        });
        self.watches.borrow_mut()[index as usize] = IDLE;
        let flags =
            epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        match epoll::add(&self.fd, fd, epoll::EventData::new_u64(u64::from(index)), flags) {
            Ok(()) => Ok(index),
            Err(e) => {
                self.free.borrow_mut().push(index);
                Err(e.into())
            }
        }
    }

    /// Stops watching, before the descriptor is closed.
    pub(crate) fn forget(&self, index: u32, fd: impl AsFd) {
        let _ = epoll::delete(&self.fd, fd);
        self.watches.borrow_mut()[index as usize] = IDLE;
        self.free.borrow_mut().push(index);
    }

    /// Repeats `attempt` until it does not block.
    pub(crate) async fn retry<T>(
        &self,
        inner: &Inner,
        index: u32,
        direction: Direction,
        mut attempt: impl FnMut() -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            match attempt() {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => self.wait(inner, index, direction).await,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => return other,
            }
        }
    }

    /// Waits until the descriptor is ready in one direction.
    pub(crate) async fn wait(&self, inner: &Inner, index: u32, direction: Direction) {
        poll_fn(|_| {
            let mut watches = self.watches.borrow_mut();
            let watch = &mut watches[index as usize];
            let (ready, waiter) = match direction {
                Direction::Read => (&mut watch.read_ready, &mut watch.reader),
                Direction::Write => (&mut watch.write_ready, &mut watch.writer),
            };
            if std::mem::take(ready) {
                *waiter = NO_TASK;
                return Poll::Ready(());
            }
            *waiter = inner.current();
            Poll::Pending
        })
        .await;
    }

    /// Collects events, waiting at most `limit_ns` (`None` for no limit) for the first.
    pub(crate) fn turn(&self, limit_ns: Option<u64>, mut ready: impl FnMut(u32)) {
        // With work pending, a check on every turn would cost a system call each; one turn in eight is soon enough.
        let turns = self.turns.get() + 1;
        self.turns.set(turns);
        if limit_ns == Some(0) && !turns.is_multiple_of(8) {
            return;
        }
        let span = limit_ns
            .map(|ns| Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 });
        let mut events = self.events.borrow_mut();
        events.clear();
        // An interruption is no error here: the loop will run again.
        let _ = epoll::wait(&self.fd, rustix::buffer::spare_capacity(&mut events), span.as_ref());
        let mut watches = self.watches.borrow_mut();
        for event in events.iter() {
            let data = event.data;
            let flags = event.flags;
            let Some(watch) = watches.get_mut(data.u64() as usize) else { continue };
            let ended = epoll::EventFlags::HUP | epoll::EventFlags::ERR | epoll::EventFlags::RDHUP;
            if flags.intersects(epoll::EventFlags::IN | ended) {
                watch.read_ready = true;
                let task = std::mem::replace(&mut watch.reader, NO_TASK);
                if task != NO_TASK {
                    ready(task);
                }
            }
            if flags.intersects(epoll::EventFlags::OUT | ended) {
                watch.write_ready = true;
                let task = std::mem::replace(&mut watch.writer, NO_TASK);
                if task != NO_TASK {
                    ready(task);
                }
            }
        }
    }
}
