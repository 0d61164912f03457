//! `StorPerf`'s jobs, as its clients post them, and what they get back.
//!
//! A job becomes an experiment: a workload of fio options for each of its workloads, crossed with block sizes and queue
//! depths, on a fleet of its hosts by ssh. From there on it is a run like any other. docs/storperf.md lists where
//! `StorPerf` answered differently, and why.

mod answers;
mod fields;
mod groups;
mod job;
mod plan;
mod request;
mod workloads;

pub(crate) use answers::{finished_report, metadata, metrics, status};
pub(crate) use groups::{GroupBook, HostGroupBody, HostGroupView};
pub(crate) use job::StorperfJob;
pub(crate) use plan::experiment;
pub(crate) use request::{JobRequest, initialization, job};
