//! Truth: against a target with programmed latency and bandwidth, the engine measures the programmed values within 1 %.
//!
//! Why these tests are not flaky, although they time real sockets on machines with other load:
//!
//! * What the machine adds (system calls, loopback, thread wake-ups) is microseconds, or milliseconds on an overloaded
//!   machine; the programmed latency is 500 ms, so 1 % of it is 5 ms.
//! * The latency compared is the median of hundreds of operations that start at even intervals, so that they do not
//!   complete in lockstep. A pause of the machine, however long, delays only the operations that would complete during
//!   it, and would have to hit half of them to move the median.
//! * A response is due at its request's arrival plus its latency, by timers with nanosecond resolution; delays do not
//!   add up.
//! * The programmed bandwidth is a pipe in virtual time with 64 operations queued, more than 250 ms of work: a shorter
//!   pause leaves the pipe busy, and the bytes that have passed after it are the same as without it.
//! * Throughput is what was acknowledged inside the exact window, divided by the window. A pause can only affect the
//!   two boundaries of the window, which is seconds long.
//! * What all this does not absorb is random: a measurement that is off is repeated, at most twice. A systematic error
//!   is there each time.
//!
//! Run in parallel, the tests use a few tenths of one CPU: mostly they wait.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::print_stdout, reason = "the figures are worth seeing with --nocapture")]

mod checks;
#[path = "../rest/http.rs"]
mod http;
mod measure;
mod nfs;
mod s3;
