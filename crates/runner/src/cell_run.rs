//! A cell whose load is carried out: what its measurements and what follows them have in common.

use experiment::Cell;

use super::cell_group::{CellGroup, StartSlot};
use super::context::Context;
use super::data_sets::Ready;
use super::site::Site;

/// A cell under way.
pub struct CellRun<'a> {
    /// What all cells share.
    pub context: &'a Context,
    /// The cell.
    pub cell: &'a Cell,
    /// The target, open.
    pub site: &'a Site,
    /// The data set.
    pub ready: &'a Ready,
    /// The cells beside it.
    pub group: &'a CellGroup,
    /// The common start of its group, for its first measurement.
    pub start: StartSlot,
}
