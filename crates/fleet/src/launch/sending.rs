//! Sends many bytes to an agent's input, never beyond a deadline, reporting progress when it takes long.

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;

use reactor::clock;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::deadline::Deadline;
use super::process::Launched;
use super::start_error::CopyError;

/// Bytes read and written at a time.
const PART_BYTES: usize = 1 << 18;

/// Interval of progress reports for a copy that takes longer.
const TOLD_EVERY: Duration = Duration::from_secs(5);

/// A program being sent.
pub(super) struct Sending<'a> {
    launched: &'a mut Launched,
    bytes: u64,
    sent_bytes: u64,
    deadline: &'a Deadline<'a>,
    say: &'a dyn Fn(&str),
    told_ns: u64,
}

/// Result of sending some bytes.
enum Sent {
    All,
    /// The host said something, or closed its input: it wants no more.
    Unwanted,
}

impl<'a> Sending<'a> {
    /// Sends this many bytes; `say` receives the progress when it takes long.
    pub(super) fn new(
        launched: &'a mut Launched,
        bytes: u64,
        deadline: &'a Deadline<'a>,
        say: &'a dyn Fn(&str),
    ) -> Sending<'a> {
        Sending { launched, bytes, sent_bytes: 0, deadline, say, told_ns: clock::now_ns() }
    }

    /// Writes a line with the length, and then everything read. Ends early when the host says something, which is read
    /// next.
    ///
    /// # Errors
    /// The time is over, or reading or writing fails.
    pub(super) fn all(mut self, mut from: impl Read) -> Result<(), CopyError> {
        rustix::io::ioctl_fionbio(&self.launched.input, true).map_err(failed)?;
        let mut part = vec![0; PART_BYTES];
        let mut sent = self.part(format!("{}\n", self.bytes).as_bytes())?;
        while let Sent::All = sent {
            let n = from.read(&mut part).map_err(failed)?;
            if n == 0 {
                let blocking = rustix::io::ioctl_fionbio(&self.launched.input, false);
                return blocking.map_err(failed);
            }
            sent = self.part(&part[..n])?;
        }
        Ok(())
    }

    fn part(&mut self, mut rest: &[u8]) -> Result<Sent, CopyError> {
        while !rest.is_empty() {
            match self.launched.input.write(rest) {
                Ok(written) => {
                    rest = &rest[written..];
                    self.sent_bytes += written as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if heard(self.launched) {
                        return Ok(Sent::Unwanted);
                    }
                    if let Some(waited) = self.deadline.over() {
                        return Err(CopyError::NotInTime(waited));
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // The script has ended.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(Sent::Unwanted),
                Err(error) => return Err(failed(error)),
            }
            self.tell();
        }
        Ok(Sent::All)
    }

    fn tell(&mut self) {
        let now_ns = clock::now_ns();
        if Duration::from_nanos(now_ns.saturating_sub(self.told_ns)) >= TOLD_EVERY {
            self.told_ns = now_ns;
            let mb = |bytes: u64| bytes as f64 / 1e6;
            (self.say)(&format!(
                "copying this program there: {:.1} of {:.1} MB sent",
                mb(self.sent_bytes),
                mb(self.bytes)
            ));
        }
    }
}

fn failed(error: impl Into<std::io::Error>) -> CopyError {
    CopyError::NotSent(Arc::new(error.into()))
}

/// Waits until more can be written, or until the host has said something: `true` then.
fn heard(launched: &Launched) -> bool {
    let mut fds =
        [PollFd::new(&launched.input, PollFlags::OUT), PollFd::new(&launched.output, PollFlags::IN)];
    let wait = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    poll(&mut fds, Some(&wait)).is_ok() && !fds[1].revents().is_empty()
}
