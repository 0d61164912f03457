//! The array's NFS side, tested with a client that sends exactly what it is told.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod client;
mod faults;
mod hostile;
mod mounting;
mod names;
mod reading;
mod records;
mod v41;
mod v41_client;
mod v41_hostile;
mod v41_replies;
