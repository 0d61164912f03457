//! The service behind `manometer serve`: an HTTP API that accepts experiments, checks, network tests and calibrations, queues them per host, executes them with
//! the same library as the command line, and serves their events, intervals and reports.
//!
//! [`Service::start`] takes values and keeps nothing in the process; several services can share one.

mod access;
mod agents;
mod api;
mod body;
mod carry_out;
mod database;
mod event;
mod event_log;
mod exposition;
mod fio_jobs;
mod host_points;
mod login;
mod message_log;
mod new_work;
mod observer;
mod options;
mod policy;
mod problem;
mod queue;
mod schedules;
mod server;
mod server_id;
mod service;
mod stored_results;
mod storperf;
mod threads;
mod tls;
mod token;
mod work;

pub use api::{openapi_json, storperf_openapi_json};
pub use options::{Notes, RequestPolicy, ServeOptions, ServiceError, ServiceTls};
pub use schedules::{Clock, WebhookHost, WebhookHostError, WebhookPolicy, wall_clock};
pub use service::Service;
pub use token::TokenDigest;
