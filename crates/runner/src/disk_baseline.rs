//! What the disks of a host did when measured alone (`examples/experiments/disk-baseline.yaml` kept with
//! `--save-baseline`), for the verdict on an observed host of a server.

use experiment::{Transport, bare_host, is_same_host};
use jiff::Timestamp;
use metrics::OpKind;
use stats::limit::DiskBaseline;
use store::{Baseline, BaselineContent, CellRecord, WholeRun};

/// The most that each disk of one host did, from the newest baseline that has a figure of the direction.
#[derive(Clone, Debug, Default)]
pub struct DisksOfHost {
    known: Vec<Known>,
}

#[derive(Clone, Debug)]
struct Known {
    baseline: String,
    kept: Timestamp,
    device: String,
    written: bool,
    bytes_per_s: f64,
}

impl DisksOfHost {
    /// For the host with this name in a fleet; the newest baseline comes first.
    pub fn named(newest_first: &[Baseline], host: &str) -> Self {
        let mut known: Vec<Known> = Vec::new();
        for baseline in newest_first {
            let BaselineContent::Run { whole: Some(whole), .. } = &baseline.content else { continue };
            let mut found: Vec<Known> = Vec::new();
            for record in &whole.cells {
                let Some((device, written, bytes_per_s)) = figure(whole, record, host) else { continue };
                let same = |one: &&mut Known| one.device == device && one.written == written;
                match found.iter_mut().find(same) {
                    Some(one) => one.bytes_per_s = one.bytes_per_s.max(bytes_per_s),
                    None => {
                        let (baseline, kept) = (baseline.name.clone(), baseline.kept);
                        found.push(Known { baseline, kept, device, written, bytes_per_s });
                    }
                }
            }
            for one in found {
                if !known.iter().any(|known| known.device == one.device && known.written == one.written) {
                    known.push(one);
                }
            }
        }
        Self { known }
    }

    /// The figures, with their age.
    pub fn figures(&self, now: Timestamp) -> Vec<DiskBaseline> {
        let of = |known: &Known| DiskBaseline {
            name: known.baseline.clone(),
            age_s: now.duration_since(known.kept).as_secs_f64(),
            device: known.device.clone(),
            written: known.written,
            bytes_per_s: known.bytes_per_s,
        };
        self.known.iter().map(of).collect()
    }
}

/// A cell's disk on a host, the direction of its load, and its bytes per second; `None` for loads of both directions,
/// and of targets that are no disk.
fn figure(whole: &WholeRun, record: &CellRecord, host: &str) -> Option<(String, bool, f64)> {
    let cell = whole.record.planned(record.index)?;
    let result = record.result.as_ref()?;
    let kind = targets::kind_of(&cell.target.url)?;
    let device = match kind.transport {
        Transport::Disk => device(result.target.get("device"))?,
        Transport::Network | Transport::None => return None,
    };
    let ops = &cell.workload.ops;
    let written = match (all(ops, OpKind::reads), all(ops, OpKind::writes)) {
        (true, _) => false,
        (_, true) => true,
        _ => return None,
    };
    let total = match result.hosts.is_empty() {
        false => {
            let same = |name: &str| is_same_host(name, host);
            &result.hosts.iter().find(|one| one.lost.is_none() && same(&one.name))?.total
        }
        // A run without a fleet is of the host on which it ran.
        true => {
            let own = whole.record.environment.facts.get("host")?;
            Some(&result.total).filter(|_| own == bare_host(host))?
        }
    };
    let rate = total.bytes_per_s.mean;
    (rate > 0.0).then_some((device, written, rate))
}

fn all(ops: &[experiment::WeightedOp], is: fn(OpKind) -> bool) -> bool {
    !ops.is_empty() && ops.iter().all(|op| is(op.op))
}

/// The kernel's name of the disk or partition; hosts with different ones have none in common.
fn device(found: Option<&String>) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    found.filter(|name| name.chars().all(plain)).cloned()
}
