//! The service behind `manometer serve`: an HTTP API that accepts experiments, queues them per host, executes them with
//! the same library as the command line, and serves their events, intervals and reports.
//!
//! [`Service::start`] takes values and keeps nothing in the process; several services can share one.

mod access;
mod api;
mod body;
mod carry_out;
mod database;
mod event_log;
mod exposition;
mod observer;
mod options;
mod policy;
mod problem;
mod queue;
mod server;
mod service;
mod token;

pub use options::{Notes, RequestPolicy, ServeOptions, ServiceError};
pub use service::Service;
pub use token::TokenDigest;
