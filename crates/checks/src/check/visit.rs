//! One row from first contact to removal: prepare, write, read, remove.

use experiment::Cell;
use fleet::HostRefusal;
use metrics::ErrorKind;
use targets::CheckTraits;

use super::paths;
use super::row::{CheckPhase, CheckRow, PhaseFigures, RowOutcome, WrittenData};
use super::row_targets::RowTarget;
use super::stage::{PhaseRun, PhaseRunner};
use crate::site::{OpenSite, SiteOpening};

/// Checks one target through its two cells. Any failure becomes the row's outcome and a line for the user.
pub fn visit(
    phases: &mut PhaseRunner<'_>,
    target: &RowTarget,
    cells: [&Cell; 2],
    opening: SiteOpening<'_>,
) -> CheckRow {
    let row = CheckRow::new(target.path.clone(), target.protocol.kind.scheme);
    if phases.stop.is_requested() {
        return row;
    }
    phases.label = row.label();
    let row = match OpenSite::open(phases.host_group, cells[0], opening) {
        Ok(site) => use_place(phases, row, site, cells, target.protocol),
        Err(refusal) => row.failed(RowOutcome::Unreachable(target.protocol.unreachable), refusal.text),
    };
    if let Some(cause) = &row.cause {
        phases.events.error(&format!("{}: {}: {cause}", row.label(), row.outcome.words()));
    }
    for warning in &row.warnings {
        phases.events.warn(&format!("{}: {warning}", row.label()));
    }
    row
}

fn use_place(
    phases: &mut PhaseRunner<'_>,
    row: CheckRow,
    site: OpenSite<'_>,
    cells: [&Cell; 2],
    protocol: &CheckTraits,
) -> CheckRow {
    if let Err(refusal) = site.prepare() {
        let next = if refusal.error == Some(ErrorKind::Tls) { protocol.trust } else { "" };
        return row.failed(RowOutcome::Unreachable(protocol.unreachable), format!("{refusal}{next}"));
    }
    let mut row = load(phases, row, &site, cells, protocol);
    if let Err(refusal) = site.leave() {
        phases.events.warn(&format!("{}: not removed yet: {refusal}", row.label()));
    }
    row.warnings = paths::warnings(&row);
    row
}

/// Runs the two phases.
fn load(
    phases: &mut PhaseRunner<'_>,
    mut row: CheckRow,
    site: &OpenSite<'_>,
    [write, read]: [&Cell; 2],
    protocol: &CheckTraits,
) -> CheckRow {
    let wrote = match phases.run(site, write, CheckPhase::Write) {
        Ok(ran) => ran,
        Err(refusal) => return refused(row, refusal, RowOutcome::WriteFailed, protocol),
    };
    let write_fault = fault(&wrote, RowOutcome::WriteFailed, protocol);
    match &write_fault {
        Some((_, cause)) => phases.stored.fault(CheckPhase::Write, cause),
        None if !wrote.stopped => phases.stored.target_facts(&site.facts()),
        None => {}
    }
    row.written = Some(WrittenData { objects: wrote.data_set.objects(), bytes: wrote.data_set.bytes() });
    row.write = Some(wrote.phase);
    if wrote.stopped {
        return row;
    }
    let mut read_fault = None;
    if wrote.data_set.bytes() > 0 {
        match phases.run(site, read, CheckPhase::Read) {
            Ok(ran) => {
                read_fault = fault(&ran, RowOutcome::ReadFailed, protocol);
                if let Some((_, cause)) = &read_fault {
                    phases.stored.fault(CheckPhase::Read, cause);
                }
                row.read = Some(ran.phase);
                if ran.stopped {
                    return row;
                }
            }
            Err(refusal) if write_fault.is_none() => {
                return refused(row, refusal, RowOutcome::ReadFailed, protocol);
            }
            Err(_) => {}
        }
    }
    if write_fault.is_none() && read_fault.is_none() {
        // Reads first: the write probe overwrites the data that was read.
        for (phase, cell, figures) in
            [(CheckPhase::Read, read, &mut row.read), (CheckPhase::Write, write, &mut row.write)]
        {
            if let Some(figures) = figures.as_mut().filter(|_| !phases.stop.is_requested()) {
                phases.probe(site, cell, phase, figures);
            }
        }
    }
    // Corrupt data is worse than failed writes, and those are worse than failed reads.
    let corrupt = read_fault.take_if(|(outcome, _)| *outcome == RowOutcome::DataCorrupt);
    match corrupt.or(write_fault).or(read_fault) {
        Some((outcome, cause)) => row.failed(outcome, cause),
        None => {
            row.outcome = RowOutcome::Success;
            row
        }
    }
}

/// The row for a phase that did not start.
fn refused(row: CheckRow, refusal: HostRefusal, phase: RowOutcome, protocol: &CheckTraits) -> CheckRow {
    match refusal {
        HostRefusal { stopped: true, .. } => row,
        HostRefusal { error: Some(_), text, .. } if row.write.is_none() => {
            row.failed(RowOutcome::Unreachable(protocol.unreachable), text)
        }
        HostRefusal { text, .. } => row.failed(phase, text),
    }
}

/// The fault of a phase that ran, if any.
fn fault(ran: &PhaseRun, outcome: RowOutcome, protocol: &CheckTraits) -> Option<(RowOutcome, String)> {
    let phase = &ran.phase;
    let counted =
        phase.errors().into_iter().max_by_key(|(kind, count)| (*kind == ErrorKind::Corrupt, *count));
    let sampled = || phase.error_samples.first().filter(|_| ran.failed_outside > 0).map(|(kind, _)| *kind);
    let kind = counted.map(|(kind, _)| kind).or_else(sampled);
    if let Some(kind) = kind {
        let outcome = if kind == ErrorKind::Corrupt { RowOutcome::DataCorrupt } else { outcome };
        return Some((outcome, describe(ran, kind, protocol)));
    }
    (phase.total.bytes() == 0 && !ran.stopped).then(|| nothing_moved(phase, outcome))
}

/// No bytes were acknowledged in the window, and nothing failed.
fn nothing_moved(phase: &PhaseFigures, outcome: RowOutcome) -> (RowOutcome, String) {
    let waiting = phase.in_flight_at_end;
    if waiting == 0 || phase.unanswered > 0 {
        let unanswered = phase.unanswered;
        let text = format!(
            "nothing was acknowledged in the measured window; {waiting} operations were still waiting, {unanswered} of \
             them to the end: look at the server's health, or measure longer with --duration"
        );
        return (outcome, text);
    }
    let busy = if phase.client.is_full() { " (all cores of this host were full)" } else { "" };
    let window = units::Span(std::time::Duration::from_nanos(phase.window_ns));
    let text = format!(
        "the {waiting} operations that began were all answered, but none within the {window} that were measured{busy}: \
         too short to judge the path; next: measure longer with --duration"
    );
    (RowOutcome::NotMeasured, text)
}

/// A kind of error in a line: how often operations failed, an example, and what to do next.
fn describe(ran: &PhaseRun, kind: ErrorKind, protocol: &CheckTraits) -> String {
    let phase = &ran.phase;
    let how_often = match phase.failed() {
        0 => format!("{} operations before or after the measured window failed", ran.failed_outside),
        failed => format!("{failed} of {} operations failed", failed + phase.ok()),
    };
    let example = phase.error_samples.iter().find(|(other, _)| *other == kind);
    let detail = example.map_or("", |(_, detail)| detail);
    let next = (protocol.next)(kind, detail).unwrap_or_else(|| next_step(kind));
    let example = example.map_or_else(|| kind.to_string(), |(kind, detail)| format!("{kind}: {detail}"));
    format!("{how_often}, such as {example}; next: {next}")
}

fn next_step(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NoSpace => "free space there or raise the quota, or write less with --dataset",
        ErrorKind::ReadOnly => "export it read-write to this client, or name another export",
        ErrorKind::Corrupt => "do not trust this path with data until the cause is found",
        ErrorKind::TimedOut => "look for a lossy or stalled path, or allow more time with --op-timeout",
        ErrorKind::ConnectFailed | ErrorKind::ConnectionLost => {
            "look for a firewall, a failing link or a restarting server on this path"
        }
        ErrorKind::Busy => "the server asks for less load: try fewer --workers or --lanes",
        ErrorKind::VerifierChanged => {
            "the server restarted while data was not yet durable: check it, run again"
        }
        _ => "look at the server's log for this time, then run again",
    }
}
