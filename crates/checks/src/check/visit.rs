//! One row from its first contact to its removal: prepare, write, read, remove.

use drivers::Driver;
use drivers::nfs::NfsDriver;
use drivers::s3::S3Driver;
use engine::{DataShape, StageError};
use metrics::ErrorKind;
use provision::Run;
use targets::{NfsPlace, PlaceEntry, S3Place};
use wire::nfs3::Status;

use super::paths;
use super::place::{EnterError, Occupied, PlaceTimeouts, TestPlace};
use super::row::{CheckPhase, CheckRow, CheckedProtocol, RowOutcome, WrittenData};
use super::row_targets::{RowTarget, TargetAccess};
use super::stage::{PhaseRun, PhaseRunner};

/// How a certificate that is not trusted can be.
const TRUST_NEXT: &str = " (--s3-tls-fingerprint, --s3-tls-ca or --s3-tls-insecure)";

/// A file reached the largest size that the server allows (RFC 1813, NFS3ERR_FBIG): there may be any amount of free space.
const TOO_LARGE_NEXT: &str = "this file would be larger than the server lets one be: its file system's maximum (maxfilesize \
                              in FSINFO) or the server process's limit (ulimit -f); raise that, or write less with \
                              --dataset";

/// Checks one target. Whatever fails becomes the row's outcome and a line for people.
pub fn visit(phases: &mut PhaseRunner<'_>, target: &RowTarget, run: &Run) -> CheckRow {
    let row = CheckRow::new(target.path.clone(), target.protocol());
    if phases.stop.is_requested() {
        return row;
    }
    let row = match &target.access {
        TargetAccess::Nfs(config) => match NfsDriver::new(config.clone()) {
            Ok(driver) => {
                use_place(phases, row, &driver, run, nfs_entry(target).as_ref(), phases.load.files())
            }
            Err(error) => row.failed(RowOutcome::MountFailed, error.to_string()),
        },
        TargetAccess::S3(config) => match S3Driver::new((**config).clone()) {
            Ok(driver) => {
                use_place(phases, row, &driver, run, s3_entry(target).as_ref(), phases.load.objects())
            }
            Err(error) => row.failed(RowOutcome::FailedToConnect, error.to_string()),
        },
    };
    if let Some(cause) = &row.cause {
        phases.events.error(&format!("{}: {}: {cause}", row.label(), row.outcome.words()));
    }
    for warning in &row.warnings {
        phases.events.warn(&format!("{}: {warning}", row.label()));
    }
    row
}

fn use_place<D: Driver + TestPlace>(
    phases: &mut PhaseRunner<'_>,
    row: CheckRow,
    driver: &D,
    run: &Run,
    entry: Option<&PlaceEntry>,
    shape: DataShape,
) -> CheckRow {
    let label = row.label();
    let patience = PlaceTimeouts { connect: phases.load.connect_timeout, operation: phases.load.op_timeout };
    let occupied = match Occupied::enter(driver, run, entry, patience) {
        Ok(occupied) => occupied,
        Err(error) => {
            let outcome = RowOutcome::unreachable(row.protocol);
            let next = match &error {
                EnterError::Driver(refusal) if refusal.kind == ErrorKind::Tls => TRUST_NEXT,
                _ => "",
            };
            return row.failed(outcome, format!("{error}{next}"));
        }
    };
    let mut row = load(phases, row, driver, shape);
    if let Err(error) = occupied.leave() {
        // With an entry of its own it stays in the journal; without one its export or bucket goes anyway.
        if entry.is_some() {
            phases.events.warn(&format!("{label}: not removed yet: {error}"));
        }
    }
    row.warnings = paths::warnings(&row);
    row
}

/// The two phases.
fn load<D: Driver>(
    phases: &mut PhaseRunner<'_>,
    mut row: CheckRow,
    driver: &D,
    shape: DataShape,
) -> CheckRow {
    let label = row.label();
    let wrote = match phases.write(driver, &label, shape) {
        Ok(ran) => ran,
        Err(error) => return refused(row, &error, RowOutcome::WriteFailed),
    };
    let write_fault = fault(&wrote, RowOutcome::WriteFailed, row.protocol);
    if let Some((_, cause)) = &write_fault {
        phases.stored.fault(CheckPhase::Write, cause);
    }
    let (stopped, data_set) = (wrote.stopped, wrote.data_set);
    row.write = Some(wrote.phase);
    row.written = Some(WrittenData { objects: data_set.objects(), bytes: data_set.bytes() });
    if stopped {
        return row;
    }
    let mut read_fault = None;
    if data_set.bytes() > 0 {
        match phases.read(driver, &label, data_set) {
            Ok(ran) => {
                read_fault = fault(&ran, RowOutcome::ReadFailed, row.protocol);
                if let Some((_, cause)) = &read_fault {
                    phases.stored.fault(CheckPhase::Read, cause);
                }
                let stopped = ran.stopped;
                row.read = Some(ran.phase);
                if stopped {
                    return row;
                }
            }
            Err(error) if write_fault.is_none() => return refused(row, &error, RowOutcome::ReadFailed),
            Err(_) => {}
        }
    }
    // Corrupt data is worse news than writes that failed, and those come before reads.
    let corrupt = read_fault.take_if(|(outcome, _)| *outcome == RowOutcome::DataCorrupt);
    match corrupt.or(write_fault).or(read_fault) {
        Some((outcome, cause)) => row.failed(outcome, cause),
        None => {
            row.outcome = RowOutcome::Success;
            row
        }
    }
}

/// A stage that did not begin.
fn refused(row: CheckRow, error: &StageError, phase: RowOutcome) -> CheckRow {
    let protocol = row.protocol;
    match error {
        StageError::Stopped => row,
        StageError::Connect { error, .. } if row.write.is_none() => {
            row.failed(RowOutcome::unreachable(protocol), error.to_string())
        }
        other => row.failed(phase, other.to_string()),
    }
}

/// What is wrong with a phase that ran, if anything.
fn fault(ran: &PhaseRun, outcome: RowOutcome, protocol: CheckedProtocol) -> Option<(RowOutcome, String)> {
    let phase = &ran.phase;
    let counted =
        phase.errors().into_iter().max_by_key(|(kind, count)| (*kind == ErrorKind::Corrupt, *count));
    let sampled = || phase.error_samples.first().filter(|_| ran.failed_outside > 0).map(|(kind, _)| *kind);
    let kind = counted.map(|(kind, _)| kind).or_else(sampled);
    if let Some(kind) = kind {
        let outcome = if kind == ErrorKind::Corrupt { RowOutcome::DataCorrupt } else { outcome };
        return Some((outcome, describe(ran, kind, protocol)));
    }
    if phase.total.bytes() == 0 && !ran.stopped {
        return Some((
            outcome,
            format!(
                "nothing was acknowledged in the measured window; {} operations were still waiting, {} of them \
                 to the end: look at the server's health, or measure longer with --duration",
                phase.in_flight_at_end, phase.unanswered
            ),
        ));
    }
    None
}

/// A kind of error in a line: how often operations failed, an example, and what to do next.
fn describe(ran: &PhaseRun, kind: ErrorKind, protocol: CheckedProtocol) -> String {
    let phase = &ran.phase;
    let how_often = match phase.failed() {
        0 => format!("{} operations before or after the measured window failed", ran.failed_outside),
        failed => format!("{failed} of {} operations failed", failed + phase.ok()),
    };
    let example = phase.error_samples.iter().find(|(other, _)| *other == kind);
    let too_large = example.is_some_and(|(_, detail)| detail.contains(&Status::FBIG.to_string()));
    let next = if too_large { TOO_LARGE_NEXT } else { next_step(kind, protocol) };
    let example = example.map_or_else(|| kind.to_string(), |(kind, detail)| format!("{kind}: {detail}"));
    format!("{how_often}, such as {example}; next: {next}")
}

fn next_step(kind: ErrorKind, protocol: CheckedProtocol) -> &'static str {
    match (kind, protocol) {
        (ErrorKind::NoSpace, _) => "free space there or raise the quota, or write less with --dataset",
        (ErrorKind::ReadOnly, _) => "export it read-write to this client, or name another export",
        (ErrorKind::AccessDenied, CheckedProtocol::Nfs) => {
            "let this client and user in by the export's rules, or choose the user with --uid and --gid"
        }
        (ErrorKind::AccessDenied, CheckedProtocol::S3) => {
            "use keys that may put, get, list and delete in this bucket"
        }
        (ErrorKind::Corrupt, _) => "do not trust this path with data before the cause is found",
        (ErrorKind::TimedOut, _) => "look for a lossy or stalled path, or allow more time with --op-timeout",
        (ErrorKind::ConnectFailed | ErrorKind::ConnectionLost, _) => {
            "look for a firewall, a failing link or a restarting server on this path"
        }
        (ErrorKind::Busy, _) => "the server asks for less load: try fewer --workers or --lanes",
        (ErrorKind::VerifierChanged, _) => {
            "the server restarted while data was not yet durable: check it, run again"
        }
        _ => "look at the server's log for this time, then run again",
    }
}

fn nfs_entry(target: &RowTarget) -> Option<PlaceEntry> {
    match &target.access {
        TargetAccess::Nfs(config) if target.stays => Some(PlaceEntry::of(&NfsPlace {
            server: config.server,
            export: config.export.clone(),
            directory: config.directory.clone(),
            nfs_port: config.nfs_port,
            mount_port: config.mount_port,
            portmap_port: config.portmap_port,
            uid: config.uid,
            gid: config.gid,
        })),
        _ => None,
    }
}

/// Also for a bucket of ours, which goes with the run: an array that destroys only empty buckets needs its
/// objects removed first, also when a killed run is cleaned up after.
fn s3_entry(target: &RowTarget) -> Option<PlaceEntry> {
    match &target.access {
        TargetAccess::S3(config) => {
            let (ca_file, insecure) = match &config.tls.trust {
                drivers::s3::Trust::CaFile(path) => (Some(path.clone()), false),
                drivers::s3::Trust::Insecure => (None, true),
                _ => (None, false),
            };
            Some(PlaceEntry::of(&S3Place {
                endpoint: config.endpoint.to_string(),
                connect_to: config.connect_to,
                bucket: config.bucket.clone(),
                prefix: format!("{}/", config.prefix),
                region: config.region.clone(),
                path_style: config.path_style,
                ca_file,
                insecure,
                credentials_file: target.credentials_file.clone(),
                profile: target.profile.clone(),
                may_have_parts: config.may_put_parts,
            }))
        }
        _ => None,
    }
}
