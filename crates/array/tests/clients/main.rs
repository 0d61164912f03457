//! Our own client of NFS against the simulated array: every operation, every fault, in both versions of the protocol.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod fixture;
mod operations;
mod recovery;
mod refusals;
