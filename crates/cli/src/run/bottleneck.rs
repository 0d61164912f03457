//! What held a cell back: the evidence of its hosts, and what is made of it.

use engine::StageResult;
use experiment::{Arrivals, Cell};
use fleet::probe;
use metrics::OpKind;
use stats::Calibration;
use stats::limit::{Evidence, Finding, Host, Kind, Load, judge};

use super::context::Context;
use super::figures::together;
use super::measure::Measured;
use super::site::Site;
use crate::moment;

/// The finding; `None` where no time passed, as on a virtual clock.
pub fn find(
    context: &Context,
    cell: &Cell,
    site: &Site,
    measured: &Measured,
    arrivals: &Arrivals,
) -> Option<Finding> {
    if site.virtual_clock() || measured.result.window_ns == 0 {
        return None;
    }
    let open = *arrivals != Arrivals::Closed;
    let part = |result: &StageResult| load(cell, result, open);
    let hosts: Vec<_> = measured
        .parts
        .iter()
        .map(|one| {
            let samples = measured.witness.of(one.member);
            let name = context.hosts.get(one.member).map_or("", String::as_str);
            let ceiling_bytes_per_s = ceiling(context, cell, one.member);
            let own = context.networks.get(one.member);
            let baseline = own.and_then(|own| own.of(&one.result.total, moment::now()));
            Host { ceiling_bytes_per_s, baseline, ..probe::host(name, &samples, part(&one.result)) }
        })
        .collect();
    let mut whole = part(&measured.result);
    whole.lanes *= hosts.len().max(1) as f64;
    Some(judge(&Evidence { load: whole, hosts }))
}

/// What a host's processors would allow of this load at most, in bytes a second, if `manometer calibrate` was run there.
fn ceiling(context: &Context, cell: &Cell, member: usize) -> Option<f64> {
    let host = match context.crew.is_local() {
        true => rustix::system::uname().nodename().to_string_lossy().into_owned(),
        false => context.crew.host_facts(member).remove("host")?,
    };
    let results = context.recorder().path();
    // One that cannot be read is as none: `calibrate` says so when it is asked.
    let calibration = store::load_calibration(&results, &host).ok()??;
    ceiling_of(&calibration, cell)
}

/// The ceiling of a cell that does one operation on blocks of one size.
fn ceiling_of(calibration: &Calibration, cell: &Cell) -> Option<f64> {
    let scheme = cell.target.url.split_once(':')?.0;
    let ([one], [block]) = (&*cell.workload.ops, &*cell.workload.block_sizes) else { return None };
    let (operation, bytes) = match (scheme, one.op) {
        ("nfs", OpKind::Read) => ("read", block.bytes),
        ("nfs", OpKind::Write) => ("write", block.bytes),
        ("s3", OpKind::Get) => ("get", cell.workload.file_bytes),
        ("s3", OpKind::Put) => ("put", cell.workload.file_bytes),
        ("tcp", OpKind::Write) => ("send", block.bytes),
        ("tcp", OpKind::Read) => ("receive", block.bytes),
        _ => return None,
    };
    let nearest = calibration.ceiling(scheme, operation, bytes)?;
    // Between small operations and large ones lies another ceiling, which nobody measured.
    let alike = (0.5..=2.0).contains(&(bytes as f64 / nearest.block_bytes.max(1) as f64));
    alike.then(|| nearest.bytes_per_s().high)
}

/// What a load did, as one host or all together measured it; lanes are those of one host.
fn load(cell: &Cell, result: &StageResult, open: bool) -> Load {
    let seconds = result.window_ns as f64 / 1e9;
    let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let all = together(&result.total).unwrap_or_default();
    let ended = (all.ok + all.failed()).max(1) as f64;
    let time = |nanos: u64| nanos as f64 / 1e9;
    let missed = (result.shed + result.missed_starts) as f64;
    Load {
        kind: kind(&cell.target.url),
        seconds,
        lanes: f64::from(cell.workload.jobs) * f64::from(cell.workload.queue_depth),
        ops_per_s: per_second(all.ok),
        bytes_per_s: per_second(result.total.bytes()),
        latency_s: all.service.mean_ns() / 1e9,
        median_s: time(all.service.quantile_ns(0.5)),
        p99_s: time(all.service.quantile_ns(0.99)),
        failed: all.failed() as f64 / ended,
        unanswered: result.abandoned,
        offered_ops_per_s: open.then(|| per_second(result.offered)),
        not_started: if open { missed / (result.offered.max(1) as f64) } else { 0.0 },
        // A job may have rates, pauses and batches of its own, and ends each file with calls that are no lanes' work.
        paced: cell.workload.job.is_some(),
    }
}

/// What stands behind a URL.
pub fn kind(url: &str) -> Kind {
    match url.split_once(':').map_or(url, |(scheme, _)| scheme) {
        "null" | "sim" => Kind::Nothing,
        "file" | "block" => Kind::Local,
        _ => Kind::Network,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use experiment::{Settings, Source};
    use stats::{CalibrationUnit, Ceiling, Spread};

    use super::*;

    fn cell(text: &str) -> Cell {
        let text = format!("targets: {{t: 'nfs://filer/export'}}\nworkloads: {{w: {{{text}}}}}\n");
        let plan = experiment::parse(&Source { file: "t.yaml", text: &text }, &Settings::none()).unwrap();
        plan.cells[0].clone()
    }

    #[test]
    fn the_ceiling_is_that_of_the_same_operation_of_about_the_same_size() {
        let ceiling = |operation: &str, block_bytes: u64, unit, most: f64| Ceiling {
            protocol: "nfs".into(),
            operation: operation.into(),
            block_bytes,
            unit,
            per_core: Spread::of(&[1.0]).unwrap(),
            all_cores: Spread::of(&[most / 2.0, most]).unwrap(),
        };
        let calibration = Calibration {
            schema: String::new(),
            schema_version: stats::CALIBRATION_VERSION,
            manometer_version: String::new(),
            host: "h".into(),
            kernel: String::new(),
            taken: String::new(),
            cores: 2,
            reactor: String::new(),
            seconds: 1.0,
            repetitions: 2,
            measures: Vec::new(),
            ceilings: vec![
                ceiling("read", 4096, CalibrationUnit::OpsPerS, 1000.0),
                ceiling("read", 1 << 20, CalibrationUnit::BytesPerS, 5e9),
                ceiling("write", 1 << 20, CalibrationUnit::BytesPerS, 3e9),
            ],
            facts: BTreeMap::new(),
            remarks: Vec::new(),
        };
        for (text, expected) in [
            ("ops: read, block_size: 1MiB", Some(5e9)),
            ("ops: write, block_size: 512KiB", Some(3e9)),
            ("ops: read, block_size: 4KiB", Some(4096.0 * 1000.0)),
            ("ops: read, block_size: 64KiB", None),
            ("ops: {read: 50%, write: 50%}, block_size: 1MiB", None),
        ] {
            assert_eq!(ceiling_of(&calibration, &cell(text)), expected, "{text}");
        }
    }
}
