//! Truth: what the engine measures of a target whose latency and bandwidth are programmed is what was programmed,
//! within 1 %.
//!
//! Why these tests are not flaky although they time real sockets on machines that do other things as well:
//!
//! * Whatever the machine adds (system calls, loopback, waking a thread) is microseconds, milliseconds on a machine
//!   that is overloaded; the programmed latency is 500 ms, so that 1 % of it is 5 ms.
//! * The latency that is compared is the median of hundreds of operations that are begun at even distances, so that
//!   they do not end in step. A pause of the machine, however long, moves the operations whose end it meets, and
//!   would have to meet half of them to move the median.
//! * An answer is due at its request's arrival plus its latency, by timers of nanoseconds; lateness is not summed up.
//! * The programmed bandwidth is a pipe in virtual time behind which 64 operations wait, more than 250 ms of work: a
//!   pause shorter than that leaves the pipe busy, and the bytes that are through after it are what they would have
//!   been without it.
//! * Throughput is what was acknowledged inside the exact window, divided by the window. Only the two borders of the
//!   window can be off by a pause, in a window of seconds.
//! * What all this does not absorb strikes by chance: a measurement that is off is made again, twice at most. What is
//!   systematically wrong is wrong each time.
//!
//! Side by side the tests take some tenths of one processor: mostly they wait.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::print_stdout, reason = "the figures are worth seeing with --nocapture")]

mod checks;
#[path = "../rest/http.rs"]
mod http;
mod measure;
mod nfs;
mod s3;
