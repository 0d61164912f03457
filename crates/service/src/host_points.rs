//! The points of single hosts, which wait for the interval that combines them.

use std::collections::{BTreeMap, VecDeque};

use metrics::Interval;
use serde::Serialize;
use utoipa::ToSchema;

use crate::event::{PointView, points};

/// Maximum number of hosts whose points are attached to an interval.
pub(crate) const MAX_HOSTS: usize = 16;
/// Intervals of a stage that wait to be combined; a fast host may be ahead of the others.
const MAX_WAITING: usize = 64;
/// Cells under way at the same time whose hosts are kept.
const MAX_CELLS: usize = 32;

/// One host's part of an interval.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct HostPoints {
    /// Its name in the fleet.
    pub host: String,
    /// One point per operation.
    pub ops: Vec<PointView>,
}

/// What hosts reported before the combined interval.
#[derive(Debug, Default)]
pub(crate) struct WaitingPoints {
    /// The hosts whose points are kept, in the order of the fleet.
    shown: Vec<String>,
    /// By cell.
    cells: BTreeMap<u32, WaitingCell>,
}

#[derive(Debug, Default)]
struct WaitingCell {
    stage: String,
    trial: u32,
    /// By number of the interval, oldest first; each host with its place in the fleet.
    intervals: VecDeque<(u32, Vec<(usize, HostPoints)>)>,
}

impl WaitingPoints {
    /// For a fleet of these hosts; hosts that nobody knows before the start are added as they report.
    pub(crate) fn new(names: Vec<String>) -> Self {
        let shown = names.into_iter().take(MAX_HOSTS).collect();
        Self { shown, cells: BTreeMap::new() }
    }

    /// Keeps one host's part.
    pub(crate) fn add(&mut self, cell: u32, (stage, trial): (&str, u32), host: &str, interval: &Interval) {
        let place = match self.shown.iter().position(|name| name == host) {
            Some(place) => place,
            None if self.shown.len() < MAX_HOSTS => {
                self.shown.push(host.to_owned());
                self.shown.len() - 1
            }
            None => return,
        };
        if self.cells.len() >= MAX_CELLS && !self.cells.contains_key(&cell) {
            return;
        }
        let waiting = self.cells.entry(cell).or_default();
        if (waiting.stage.as_str(), waiting.trial) != (stage, trial) {
            *waiting = WaitingCell { stage: stage.to_owned(), trial, intervals: VecDeque::new() };
        }
        let points = HostPoints { host: host.to_owned(), ops: points(interval) };
        match waiting.intervals.iter_mut().find(|(number, _)| *number == interval.index) {
            Some((_, hosts)) => hosts.push((place, points)),
            None => {
                if waiting.intervals.len() == MAX_WAITING {
                    waiting.intervals.pop_front();
                }
                waiting.intervals.push_back((interval.index, vec![(place, points)]));
            }
        }
    }

    /// The parts of an interval that is combined now, in the order of the fleet; earlier ones no longer wait.
    pub(crate) fn take(&mut self, cell: u32, (stage, trial): (&str, u32), interval: u32) -> Vec<HostPoints> {
        let Some(waiting) = self.cells.get_mut(&cell) else { return Vec::new() };
        if (waiting.stage.as_str(), waiting.trial) != (stage, trial) {
            return Vec::new();
        }
        let found = waiting.intervals.iter().position(|(number, _)| *number == interval);
        let mut hosts = found.and_then(|at| waiting.intervals.remove(at)).unwrap_or_default().1;
        waiting.intervals.retain(|(number, _)| *number > interval);
        hosts.sort_by_key(|(place, _)| *place);
        hosts.into_iter().map(|(_, points)| points).collect()
    }

    /// Forgets a cell that has ended.
    pub(crate) fn end(&mut self, cell: u32) {
        self.cells.remove(&cell);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use metrics::{OpKind, OpStats};

    fn interval(index: u32) -> Interval {
        let stats = OpStats { bytes: u64::from(index) + 1, ..OpStats::default() };
        Interval { index, start_ns: 0, length_ns: 1_000_000_000, ops: vec![(OpKind::Read, stats)] }
    }

    fn names(hosts: &[HostPoints]) -> Vec<&str> {
        hosts.iter().map(|points| &*points.host).collect()
    }

    #[test]
    fn parts_wait_for_their_interval_and_keep_the_order_of_the_fleet() {
        let mut waiting = WaitingPoints::new(vec!["b".to_owned(), "a".to_owned()]);
        let measure = ("measure", 0);
        waiting.add(3, measure, "a", &interval(0));
        waiting.add(3, measure, "a", &interval(1));
        waiting.add(3, measure, "b", &interval(0));
        assert_eq!(names(&waiting.take(3, measure, 0)), ["b", "a"]);
        assert_eq!(names(&waiting.take(3, measure, 1)), ["a"], "b is lost");
        assert!(waiting.take(3, measure, 1).is_empty());
        waiting.add(3, ("verify", 0), "a", &interval(2));
        assert!(waiting.take(3, measure, 2).is_empty(), "another stage");
        waiting.end(3);
        assert!(waiting.cells.is_empty());
    }

    #[test]
    fn hosts_intervals_and_cells_are_bounded() {
        let mut waiting = WaitingPoints::new(Vec::new());
        for host in 0..100 {
            waiting.add(0, ("measure", 0), &format!("host{host}"), &interval(0));
        }
        let hosts = waiting.take(0, ("measure", 0), 0);
        assert_eq!((hosts.len(), &*hosts[15].host), (MAX_HOSTS, "host15"));
        (0..1000).for_each(|number| waiting.add(0, ("measure", 0), "host0", &interval(number)));
        assert_eq!(waiting.cells[&0].intervals.len(), MAX_WAITING);
        (0..1000).for_each(|cell| waiting.add(cell, ("measure", 0), "host0", &interval(0)));
        assert_eq!(waiting.cells.len(), MAX_CELLS);
    }
}
