//! Outgoing frames: a pipe that is never waited for, behind a bounded queue.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use crate::frame::{LONGEST, Tally};

/// Maximum queued bytes; a frame of maximum length fits when nothing else is queued.
const MAX_WAITING: usize = LONGEST + (1 << 20);
/// Optional frames are dropped when this much is queued.
const SPARING: usize = 2 << 20;

/// Whether a frame may be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// The other side cannot do without it.
    Must,
    /// Dropped when the other side is slow.
    May,
}

/// What happened to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// It was sent or queued.
    Queued,
    /// It was dropped.
    LeftOut,
    /// Nothing can be sent any more.
    Broken,
}

/// One direction of a pipe. Any thread may send; some thread must call [`Outlet::flush`] while data is queued.
#[derive(Debug)]
pub(crate) struct Outlet {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// `None` when it is closed.
    file: Option<OwnedFd>,
    flags: OFlags,
    waiting: VecDeque<u8>,
    tally: Tally,
    /// When bytes were last sent, or the queue was empty, on this process's clock.
    moved_ns: u64,
    /// Why nothing can be sent any more, and since when.
    broken: Option<(String, u64)>,
}

impl Outlet {
    /// Takes the write end of a pipe or a socket.
    pub(crate) fn new(file: OwnedFd) -> std::io::Result<Self> {
        let flags = fcntl_getfl(&file)?;
        fcntl_setfl(&file, flags | OFlags::NONBLOCK)?;
        let state = State {
            file: Some(file),
            flags,
            waiting: VecDeque::new(),
            tally: Tally::default(),
            moved_ns: reactor::clock::now_ns(),
            broken: None,
        };
        Ok(Outlet { state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends as much of a body as the pipe accepts, and queues the rest.
    pub(crate) fn send(&self, body: &[u8], need: Need) -> Sent {
        self.send_with(need, |_| body.to_vec())
    }

    /// Sends a body that states how many frames preceded it.
    pub(crate) fn send_with(&self, need: Need, body: impl FnOnce(Tally) -> Vec<u8>) -> Sent {
        let mut state = self.state();
        if state.file.is_none() {
            return Sent::Broken;
        }
        if need == Need::May && state.waiting.len() > SPARING {
            return Sent::LeftOut;
        }
        let body = body(state.tally);
        if body.len() > LONGEST {
            state.close(format!("a message of {} bytes is longer than a frame may be", body.len()));
            return Sent::Broken;
        }
        if state.waiting.len() + body.len() > MAX_WAITING {
            state.close("it does not read what it is sent".to_owned());
            return Sent::Broken;
        }
        let frame = state.tally.frame(&body);
        state.waiting.extend(frame);
        state.push();
        if state.file.is_some() { Sent::Queued } else { Sent::Broken }
    }

    /// Sends queued data; true when some is left.
    pub(crate) fn flush(&self) -> bool {
        let mut state = self.state();
        state.push();
        !state.waiting.is_empty()
    }

    /// How long queued data has waited without a byte being sent, in nanoseconds.
    pub(crate) fn stuck_ns(&self, now_ns: u64) -> u64 {
        let state = self.state();
        if state.waiting.is_empty() { 0 } else { now_ns.saturating_sub(state.moved_ns) }
    }

    /// Why nothing can be sent any more, and since when on this process's clock.
    pub(crate) fn broken(&self) -> Option<(String, u64)> {
        self.state().broken.clone()
    }

    /// Closes the pipe: the other side sees its end.
    pub(crate) fn close(&self) {
        self.state().close("it was closed".to_owned());
    }
}

impl State {
    fn push(&mut self) {
        while let Some(file) = self.file.as_ref().filter(|_| !self.waiting.is_empty()) {
            match rustix::io::write(file.as_fd(), self.waiting.as_slices().0) {
                Ok(count) => {
                    self.waiting.drain(..count);
                    self.moved_ns = reactor::clock::now_ns();
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(Errno::PIPE) => self.close("it reads no more".to_owned()),
                Err(error) => self.close(format!("it cannot be written to: {error}")),
            }
        }
        if self.waiting.is_empty() {
            self.moved_ns = reactor::clock::now_ns();
            if self.waiting.capacity() > 1 << 18 {
                self.waiting = VecDeque::new();
            }
        }
    }

    fn close(&mut self, why: String) {
        if let Some(file) = self.file.take() {
            // Restores the flags for other holders of this end.
            let _ = fcntl_setfl(&file, self.flags);
        }
        self.waiting = VecDeque::new();
        self.broken.get_or_insert((why, reactor::clock::now_ns()));
    }
}
