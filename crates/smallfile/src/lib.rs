//! smallfile compatibility: turns its command lines and YAML files into a plan, and shows a run's results as it does.
//!
//! A command line becomes a [`Request`], a request becomes a [`Plan`](experiment::Plan) with one cell, whose load is a
//! [`Pass`](experiment::Pass); a run of it becomes summary lines and JSON ([`output`]). Parameters, the layout of the tree and the
//! figures follow smallfile 3 and its README; nothing is taken from its source. No I/O: the caller reads the YAML file.

mod operation;
pub mod output;
mod parameter;
mod parameters_shown;
mod plan;
mod request;

pub use operation::Operation;
pub use parameter::{ParameterError, Parameters, split_arguments};
pub use plan::{SmallfileContext, plan};
pub use request::Request;
