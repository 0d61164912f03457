//! Incoming frames: a pipe that is read with timeouts.

use std::io::{Error, Read};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// The read end of a pipe; its reader wakes up regularly and can be told to give up.
pub(crate) struct Inlet {
    file: OwnedFd,
    every: Duration,
    /// Returns why reading is over.
    given_up: Arc<dyn Fn() -> Option<String> + Send + Sync>,
}

impl Inlet {
    /// Wakes up at least this often.
    pub(crate) fn new(
        file: OwnedFd,
        every: Duration,
        given_up: Arc<dyn Fn() -> Option<String> + Send + Sync>,
    ) -> Self {
        Inlet { file, every, given_up }
    }

    fn wait(&self) -> Result<(), Error> {
        let span =
            Timespec { tv_sec: self.every.as_secs() as i64, tv_nsec: i64::from(self.every.subsec_nanos()) };
        loop {
            if let Some(why) = (self.given_up)() {
                return Err(Error::other(why));
            }
            let mut files = [PollFd::new(&self.file, PollFlags::IN)];
            match poll(&mut files, Some(&span)) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Read for Inlet {
    fn read(&mut self, into: &mut [u8]) -> Result<usize, Error> {
        loop {
            self.wait()?;
            match rustix::io::read(&self.file, &mut *into) {
                // The two directions of a socket share the non-blocking flag.
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::CONNRESET) => return Ok(0),
                Err(error) => return Err(error.into()),
                Ok(count) => return Ok(count),
            }
        }
    }
}
