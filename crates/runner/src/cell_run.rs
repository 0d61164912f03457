//! A cell whose load is running: state shared by its measurements and the steps after them.

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
    /// The other cells of its group.
    pub group: &'a CellGroup,
    /// The common start of its group, for its first measurement.
    pub start: StartSlot,
}
