//! The simulated array: an in-memory stand-in for a file and object array, on loopback addresses.
//!
//! It offers the management REST API of a FlashBlade (both generations), S3, NFSv3 and NFSv4.1 on several data addresses in
//! several subnets, and simulates faults on request (see [`faults`]). It is for tests, for demonstrations and for
//! trying the tool without an array; nothing is kept after it stops.
//!
//! ```no_run
//! let mut array = array::Array::start(array::Config::loopback())?;
//! println!("{} {}", array.management_url(), array.fingerprint().unwrap_or("no TLS"));
//! array.stop();
//! # Ok::<(), array::StartError>(())
//! ```

pub mod alarm;
pub mod capacity;
pub mod config;
pub mod faults;
pub mod files;
pub mod nfs;
pub mod shape;
pub mod unreachable;

mod objects;
mod rest;
mod s3;
mod start;
mod state;
mod tls;

pub use capacity::Capacity;
pub use config::{AddressConfig, Config, ManagementTls, Token};
pub use faults::FaultHandle;
pub use objects::S3Key;
pub use start::{Array, DataEndpoint, StartError};
