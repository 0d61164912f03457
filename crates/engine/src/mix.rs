//! The load of an experiment: which operations, on what, in which order.

use experiment::{Access, WeightedOp, WeightedSize};

use crate::DataSet;

/// Operations drawn by weight, each on a place drawn by the access pattern. `docs/load.md` says which operation
/// goes where.
#[derive(Clone, Debug, PartialEq)]
pub struct Mix {
    /// What is read, written, looked at.
    pub data_set: DataSet,
    /// Operations and how often each is drawn.
    pub ops: Vec<WeightedOp>,
    /// Which block, file or object comes next.
    pub access: Access,
    /// Sizes of reads and writes and how often each is drawn.
    pub block_sizes: Vec<WeightedSize>,
    /// After so many writes of a lane, one commit; 0 never.
    pub fsync_every: u32,
    /// The content is kept track of, so that reads are compared with what was written: use it with
    /// [`drivers::Sink::Verify`]. Each lane then keeps to an even share of the blocks, and writes go through that share
    /// so that each block is written once before any is written again.
    pub verify: bool,
    /// The generation of the content before.
    pub generation: u32,
    /// Of all draws.
    pub seed: u64,
}
