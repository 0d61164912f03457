//! The array's NFS side, driven by a client that says exactly what it is told to.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod client;
mod faults;
mod hostile;
mod mounting;
mod names;
mod reading;
mod records;
