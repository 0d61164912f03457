//! The verdict of a whole check: which paths are bad, and what limited the best figure of each protocol and direction.

use std::net::IpAddr;

use stats::limit::{Bottleneck, Bound};
use units::ByteRate;

use super::paths::{self, SlowPath};
use super::row::{CheckRow, PhaseFigures};

/// Share of stolen time above which a measurement is doubtful.
const STEAL_HIGH: f64 = 0.05;

/// The verdict, with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckVerdict {
    /// What limited the fastest figure of all; `None` when nothing was measured.
    pub limit: Option<Bound>,
    /// Which paths work.
    pub working: String,
    /// Paths that work but are far slower than the others.
    pub slow_paths: Vec<SlowPath>,
    /// The best figure of each protocol and direction, with what limited it.
    pub best: Vec<BestFigure>,
    /// What makes the figures doubtful, in sentences.
    pub doubts: Vec<String>,
    /// Share of time of the busiest core over all phases, from 0 to 1.
    pub busiest_core: Option<f64>,
    /// Largest stolen share of a core over all phases, from 0 to 1.
    pub steal: f64,
}

/// The fastest result of one phase over all paths.
#[derive(Clone, Debug, PartialEq)]
pub struct BestFigure {
    /// The scheme of the protocol.
    pub protocol: &'static str,
    /// `write` or `read`.
    pub phase: &'static str,
    /// The address.
    pub address: IpAddr,
    /// Its throughput.
    pub rate: ByteRate,
    /// What limited it.
    pub finding: Bottleneck,
}

impl BestFigure {
    /// Protocol and direction, such as `nfs write`.
    pub fn name(&self) -> String {
        format!("{} {}", self.protocol, self.phase)
    }

    /// Whether both have the same limit.
    fn is_like(&self, other: &BestFigure) -> bool {
        let thing = |one: &BestFigure| (one.finding.bound, one.finding.cause);
        thing(self) == thing(other)
    }
}

impl CheckVerdict {
    /// Sentences about the paths, naming the bad ones.
    pub fn of_paths(&self) -> Vec<String> {
        std::iter::once(self.working.clone()).chain(paths::slow_sentences(&self.slow_paths)).collect()
    }

    /// The whole verdict in sentences.
    pub fn sentences(&self) -> Vec<String> {
        let best = self.best.iter().map(|best| {
            let (name, rate, address) = (best.name(), best.rate, best.address);
            format!("The best {name}, {rate} through {address}: {}.", best.finding.sentence)
        });
        self.of_paths().into_iter().chain(best).chain(self.doubts.iter().cloned()).collect()
    }

    /// The best figures grouped by common limit: the fastest of each group first, and the groups by their fastest.
    pub fn groups(&self) -> Vec<Vec<&BestFigure>> {
        let mut fastest: Vec<&BestFigure> = self.best.iter().collect();
        fastest.sort_by(|a, b| b.rate.0.total_cmp(&a.rate.0));
        let mut groups: Vec<Vec<&BestFigure>> = Vec::new();
        for best in fastest {
            match groups.iter_mut().find(|group| group[0].is_like(best)) {
                Some(group) => group.push(best),
                None => groups.push(vec![best]),
            }
        }
        groups
    }
}

/// Judges a whole report.
pub fn judge_check(rows: &[CheckRow]) -> CheckVerdict {
    let phases = || rows.iter().flat_map(CheckRow::phases).filter(|(_, phase)| phase.total.bytes() > 0);
    let steal = phases().map(|(_, phase)| phase.client.steal()).fold(0.0, f64::max);
    let busiest = phases().filter_map(|(_, phase)| Some(phase.client.busiest()?.busy));
    let mut doubts = Vec::new();
    if steal >= STEAL_HIGH {
        doubts.push(format!(
            "The hypervisor took up to {:.0} % of a core's time: the figures may be too low.",
            steal * 100.0
        ));
    }
    if phases().any(|(_, phase)| phase.client.nic.as_ref().is_some_and(|nic| nic.loopback)) {
        doubts.push(
            "The target is on this machine: it and the client share the cores, so the figures say \
             nothing of a real array."
                .into(),
        );
    }
    doubts.extend(paths::not_compared(rows));
    for (_, phase) in phases() {
        for doubt in phase.limit.iter().flat_map(|limit| &limit.doubts) {
            let sentence = format!("{}.", capitalized(doubt));
            // Other phases report the same about the same NIC, with other figures.
            let same = |known: &String| known.split(':').next() == sentence.split(':').next();
            if !doubts.iter().any(same) {
                doubts.push(sentence);
            }
        }
    }
    let best: Vec<BestFigure> = targets::checked()
        .map(|protocol| protocol.kind.scheme)
        .flat_map(|protocol| ["write", "read"].map(|phase| best(rows, protocol, phase)))
        .flatten()
        .collect();
    let fastest = best.iter().max_by(|a, b| a.rate.0.total_cmp(&b.rate.0));
    CheckVerdict {
        limit: fastest.map(|best| best.finding.bound),
        working: paths::working(rows),
        slow_paths: paths::slow(rows),
        busiest_core: busiest.reduce(f64::max),
        best,
        doubts,
        steal,
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The fastest result of one phase: among those without errors, if there are any.
fn best(rows: &[CheckRow], protocol: &'static str, wanted: &'static str) -> Option<BestFigure> {
    let key = |phase: &PhaseFigures| (phase.failed() == 0, phase.rate().0);
    rows.iter()
        .filter(|row| row.protocol == protocol)
        .filter_map(|row| row.phases().find(|(name, _)| *name == wanted).map(|(_, phase)| (row, phase)))
        .filter(|(_, phase)| phase.total.bytes() > 0)
        .filter_map(|(row, phase)| Some((row, phase, phase.limit.clone()?)))
        .max_by(|(_, a, _), (_, b, _)| key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal))
        .map(|(row, phase, finding)| BestFigure {
            protocol,
            phase: wanted,
            address: row.path.address,
            rate: phase.rate(),
            finding,
        })
}

#[cfg(test)]
mod tests {
    use metrics::{ErrorKind, OpKind};

    use super::*;
    use crate::check::row::RowOutcome;
    use crate::test_support::{finding, path, phase};

    fn row(last: u8, bytes: u64, bound: Bound, change: impl Fn(&mut PhaseFigures)) -> CheckRow {
        let mut row = CheckRow::new(path(last), "nfs");
        let mut write = phase(OpKind::Write, bytes);
        write.limit = Some(finding(bound, &format!("{} by it", bound.words())));
        change(&mut write);
        row.write = Some(write);
        row.outcome = RowOutcome::Success;
        row
    }

    #[test]
    fn the_limit_is_that_of_the_best_figure() {
        let rows = [
            row(11, 20_000_000_000, Bound::Client, |_| {}),
            row(12, 31_000_000_000, Bound::Network, |_| {}),
            row(13, 30_000_000_000, Bound::Target, |_| {}),
        ];
        let verdict = judge_check(&rows);
        assert_eq!(verdict.limit, Some(Bound::Network));
        assert_eq!(verdict.best.len(), 1);
        assert_eq!(verdict.best[0].address, rows[1].path.address);
        let text = verdict.sentences().join(" ");
        let expected =
            "All 3 paths work. The best nfs write, 3.1 GB/s through 192.168.170.12: network-bound by it.";
        assert_eq!(text, expected);
        assert_eq!(verdict.busiest_core, Some(0.5));
    }

    #[test]
    fn a_figure_with_errors_is_the_best_only_without_another() {
        let failing = row(11, 31_000_000_000, Bound::Unclear, |phase| {
            phase.total.op_mut(OpKind::Write).errors[ErrorKind::NoSpace as usize] = 7;
        });
        assert_eq!(judge_check(std::slice::from_ref(&failing)).limit, Some(Bound::Unclear));
        let good = row(12, 1_000_000_000, Bound::Target, |_| {});
        assert_eq!(judge_check(&[failing, good]).limit, Some(Bound::Target));
    }

    #[test]
    fn what_the_same_thing_held_back_is_said_once() {
        let mut rows = [row(11, 20_000_000_000, Bound::Client, |_| {}), row(11, 1, Bound::Client, |_| {})];
        let read = |bytes, bound| {
            let mut read = phase(OpKind::Read, bytes);
            read.limit = Some(finding(bound, "it"));
            Some(read)
        };
        rows[0].read = read(40_000_000_000, Bound::Client);
        rows[1].protocol = "s3";
        rows[1].write = None;
        rows[1].read = read(30_000_000_000, Bound::Target);
        let verdict = judge_check(&rows);
        let groups: Vec<Vec<String>> =
            verdict.groups().iter().map(|group| group.iter().map(|best| best.name()).collect()).collect();
        assert_eq!(groups, [vec!["nfs read", "nfs write"], vec!["s3 read"]]);
    }

    #[test]
    fn stolen_time_and_a_target_on_this_machine_are_told() {
        let stolen = |phase: &mut PhaseFigures| phase.client.cores[1].steal = 0.07;
        let doubts = judge_check(&[row(11, 1 << 30, Bound::Target, stolen)]).doubts;
        assert!(doubts[0].contains("took up to 7 %"), "{doubts:?}");
        let near = |phase: &mut PhaseFigures| phase.client.nic.as_mut().unwrap().loopback = true;
        let doubts = judge_check(&[row(11, 1 << 30, Bound::Target, near)]).doubts;
        assert!(doubts[0].starts_with("The target is on this machine"), "{doubts:?}");
        // Each phase that used the NIC reports the same with its own figures: say it once.
        let shared = |last: u8, rate: &'static str| {
            row(last, 1 << 30, Bound::Target, move |phase| {
                let words = format!("other programs use eth0: {rate} of 1.1 GB/s are not this load's");
                phase.limit.as_mut().unwrap().doubts = vec![words];
            })
        };
        let doubts = judge_check(&[shared(11, "0.8"), shared(12, "0.7")]).doubts;
        assert_eq!(doubts, ["Other programs use eth0: 0.8 of 1.1 GB/s are not this load's."]);
    }

    #[test]
    fn without_a_measurement_there_is_no_limit() {
        let failed =
            CheckRow::new(path(12), "s3").failed(RowOutcome::Unreachable("FAILED TO CONNECT"), "no answer");
        let verdict = judge_check(&[failed]);
        assert_eq!(verdict.limit, None);
        assert_eq!(verdict.sentences(), ["The path is broken: s3 192.168.170.12 (FAILED TO CONNECT)."]);
    }
}
