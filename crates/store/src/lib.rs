//! The results database: runs, cells, intervals, events, environment.

mod record;

pub use record::*;
