//! The results of a calibration as text for people.

use experiment::TargetKind;
use stats::{Calibration, CalibrationUnit, Ceiling, Spread};
use units::Size;

use crate::results::words;

/// Bytes of a large operation.
const LARGE: u64 = 1 << 20;

/// The whole text.
pub fn text(calibration: &Calibration, width: usize) -> String {
    let mut out = String::new();
    let fact = |name: &str| calibration.facts.get(name).map_or("?", String::as_str);
    let cores = cores(calibration.cores);
    out.push_str(&format!(
        "{}: {cores} ({}), Linux {}, {}, {} memory\n{} repetitions of {} s; shown are the median and, in brackets, min and max\n\n",
        calibration.host,
        fact("cpu.model"),
        calibration.kernel,
        calibration.reactor,
        fact("memory.bytes").parse().map_or_else(|_| "?".to_owned(), |bytes| Size(bytes).rounded()),
        calibration.repetitions,
        calibration.seconds,
    ));
    out.push_str("Limits set by this client's processors\n");
    out.push_str(&ceilings(calibration, width));
    out.push('\n');
    for sentence in sentences(calibration) {
        out.push_str(&format!("{sentence}\n"));
    }
    out.push_str(
        "The server shares the cores on the loopback interface, so these follow from the processor time that the client's\n\
         threads used, not from the clock. A network card's interrupts and its driver cost extra; one core serves one worker.\n\n",
    );
    out.push_str("What was measured\n");
    out.push_str(&measures(calibration, width));
    if !calibration.remarks.is_empty() {
        out.push_str("\nWhat will limit measurements on this host\n");
        calibration.remarks.iter().for_each(|remark| out.push_str(&format!("  {remark}\n")));
    }
    out
}

fn ceilings(calibration: &Calibration, width: usize) -> String {
    let rows = calibration.ceilings.iter().map(|ceiling| {
        // A stream has no blocks.
        let size = if stores(ceiling) { Size(ceiling.block_bytes).to_string() } else { String::new() };
        vec![
            named(ceiling),
            size,
            shown(&ceiling.per_core, ceiling.unit),
            shown(&ceiling.all_cores, ceiling.unit),
        ]
    });
    let all = format!("all {}", cores(calibration.cores));
    let titles = [("", 0), ("", 0), ("one core", 0), (all.as_str(), 0)];
    words::table(&titles, 2, rows.collect(), (width, "  "))
}

/// The main results: large operations of each storage protocol.
fn sentences(calibration: &Calibration) -> Vec<String> {
    let large = calibration.ceilings.iter().filter(|ceiling| ceiling.block_bytes == LARGE && stores(ceiling));
    let sentence = |ceiling: &Ceiling| {
        let all = ceiling.all_cores;
        let range = match (ceiling.unit.text(all.low), ceiling.unit.text(all.high)) {
            (low, high) if low == high => low,
            (low, high) => format!("{low} to {high}"),
        };
        format!(
            "This client can drive at most about {range} of {}s with all {}: {} per core.",
            named(ceiling),
            cores(calibration.cores),
            ceiling.unit.text(ceiling.per_core.median),
        )
    };
    large.map(sentence).collect()
}

fn measures(calibration: &Calibration, width: usize) -> String {
    let rows = calibration.measures.iter().map(|measure| {
        let cpu = measure.per_cpu_second.as_ref().map(|spread| shown(spread, measure.unit));
        vec![measure.title.clone(), shown(&measure.by_clock, measure.unit), cpu.unwrap_or_else(|| "-".into())]
    });
    let titles = [("", 0), ("by the clock", 0), ("per CPU-second", 0)];
    let mut text = words::table(&titles, 1, rows.collect(), (width, "  "));
    let cost = calibration.measure("null-one").and_then(|measure| measure.per_cpu_second);
    if let Some(cost) = cost.filter(|cost| cost.median > 0.0) {
        text.push_str(&format!(
            "  an operation costs this program {:.0} ns besides its protocol\n",
            1e9 / cost.median
        ));
    }
    text
}

/// The kind of target that a ceiling applies to; `None` for one measured by another version.
fn kind(ceiling: &Ceiling) -> Option<&'static TargetKind> {
    targets::kinds().iter().copied().find(|kind| kind.scheme == ceiling.protocol)
}

/// Whether it concerns a storage protocol.
fn stores(ceiling: &Ceiling) -> bool {
    kind(ceiling).is_some_and(|kind| !kind.imaginary)
}

/// Protocol and operation, such as `NFS read`.
fn named(ceiling: &Ceiling) -> String {
    let mut calibrated = kind(ceiling).into_iter().flat_map(|kind| kind.calibrated);
    let own = calibrated.find(|calibrated| calibrated.name == ceiling.operation);
    own.map_or_else(
        || format!("{} {}", ceiling.protocol, ceiling.operation),
        |calibrated| calibrated.title.to_owned(),
    )
}

/// `16.0 GB/s (15.2 GB/s to 16.4 GB/s)`
fn shown(spread: &Spread, unit: CalibrationUnit) -> String {
    let one = |value| unit.text(value);
    match spread.low == spread.high {
        true => one(spread.median),
        false => format!("{} ({} to {})", one(spread.median), one(spread.low), one(spread.high)),
    }
}

fn cores(count: u32) -> String {
    if count == 1 { "1 core".into() } else { format!("{count} cores") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use checks::{BlockSize, Microbenchmark, RepetitionResult, gather};

    fn nfs_read(block: BlockSize) -> Microbenchmark {
        let nfs = targets::kind_of("nfs://host/export").unwrap();
        let read = nfs.calibrated.iter().find(|calibrated| calibrated.name == "read").unwrap();
        Microbenchmark::Served(nfs.scheme, *read, block)
    }

    #[test]
    fn the_ceiling_is_stated_as_a_range() {
        let mut calibration = Calibration {
            schema: "manometer.calibration".into(),
            schema_version: stats::CALIBRATION_VERSION,
            manometer_version: "0".into(),
            host: "client1".into(),
            kernel: "6.18".into(),
            taken: "2026-11-22T08:00:00Z".into(),
            cores: 4,
            reactor: "io_uring".into(),
            seconds: 1.0,
            repetitions: 3,
            measures: Vec::new(),
            ceilings: Vec::new(),
            facts: Default::default(),
            remarks: vec!["the cores' governor is powersave".into()],
        };
        let reads = [15e9, 16e9, 16.5e9].map(|bytes| RepetitionResult::rate(bytes, 2.0, 1.0)).to_vec();
        let small = [1e6, 1e6, 1.1e6].map(|ops| RepetitionResult::rate(ops, 1.0, 1.0)).to_vec();
        let null = [RepetitionResult::rate(40e6, 1.0, 1.0)].to_vec();
        gather(
            &mut calibration,
            &[
                (Microbenchmark::NullOne, null),
                (nfs_read(BlockSize::Large), reads),
                (nfs_read(BlockSize::Small), small),
                (Microbenchmark::Clock, vec![RepetitionResult::plain(17.26)]),
            ],
        );
        let text = text(&calibration, 120);
        for expected in [
            "This client can drive at most about 60.0 GB/s to 66.0 GB/s of NFS reads with all 4 cores: 16.0 GB/s per core.",
            "16.0 GB/s (15.0 GB/s to 16.5 GB/s)",
            "1.0M/s (1.0M/s to 1.1M/s)",
            "all 4 cores",
            "an operation costs this program 25 ns",
            "17.3 ns",
            "  the cores' governor is powersave\n",
        ] {
            assert!(text.contains(expected), "{expected:?} is missing in\n{text}");
        }
        assert_eq!(calibration.ceilings.len(), 2, "the null target is no protocol");
        assert_eq!(calibration.measure("nfs-read-1m").unwrap().by_clock.median, 8e9);
    }
}
