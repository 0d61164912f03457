//! The file driver against real file systems, on every backend.

#![allow(clippy::unwrap_used)] // a test may fail loudly

mod faults;
mod guard;
mod manage;
mod named;
mod operations;
mod steps;
mod support;
