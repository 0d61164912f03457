//! Drivers: one module per protocol behind one seam.
//!
//! A driver turns an operation into requests of its protocol, on the reactor's sockets, and reports the outcome.
//! Schedules, histograms and stop rules belong to the engine.

mod blocking_open;
pub mod connections;
mod deadlines;
mod failure;
pub mod file;
mod flights;
pub mod gluster;
pub mod interfaces;
pub mod iscsi;
mod join;
mod lane_connections;
mod later;
pub mod library;
mod link;
pub mod memcached;
pub mod net;
pub mod nfs;
pub mod null;
pub mod numbers;
mod open_files;
mod own_directory;
pub mod path_mtu;
pub mod paths;
mod payload;
pub mod rados;
mod reconnecting;
pub mod s3;
mod seam;
mod secret;
mod shared_clients;
pub mod sim;
pub mod tls;
mod tls_link;
pub mod tree;
mod tree_walk;
mod turns;

pub use connections::{ConnectionFacts, ConnectionNow, ReconnectReason};
pub use payload::{Damage, Damaged, Diagnosis, Mismatch, Payload};
pub use seam::{
    Announce, CommitKind, Done, Driver, DriverError, Op, OpError, Session, SessionFacts, Sink, WorkerContext,
};
pub use secret::Secret;
pub use tree_walk::{LeftOut, VisitEntry, WalkError};
