//! The array's NFS side, driven by a client that says exactly what it is told to.

mod client;
mod faults;
mod mounting;
mod names;
mod reading;
mod records;
