//! A logical unit as a target: what it is, what it holds, and which part of it is used.

use std::collections::BTreeMap;

use drivers::DriverError;
use drivers::iscsi::{IscsiDriver, UnitFacts};
use experiment::{Cell, FoundFile, Job, PROVISIONED, TargetKind};
use metrics::{ErrorKind, OpKind};
use units::Size;
use wire::iscsi::Operational;

use super::file_job::sizes_of;
use super::iscsi::KIND;
use super::job::parts;
use super::lay_out::{stage, used_once};
use super::paths::{named, shown};
use super::place::{Entered, OwnPlace};
use super::{FindingKind, LaidOut, Look, OpenTarget, Patience, StageRunner, TargetError, paths};

/// A logical unit.
pub(super) struct IscsiTarget {
    pub(super) driver: IscsiDriver,
    pub(super) place: OwnPlace,
    pub(super) patience: Patience,
    /// Connections across all jobs.
    pub(super) connections: u64,
    /// The user said that whatever the unit holds may be overwritten.
    pub(super) destroy: bool,
    /// What its URL has in the place of `{provisioned}`.
    pub(super) provisioned: Option<String>,
    /// The run fills it before the load; a job does not.
    pub(super) fills: bool,
    /// The load changes data.
    pub(super) writes: bool,
    /// Sizes that must be multiples of the unit's blocks.
    pub(super) sizes: Vec<u64>,
    /// Hosts that have a slice each.
    pub(super) parts: u64,
    /// Bytes used, of each slice where there are several.
    pub(super) used_bytes: u64,
}

impl OpenTarget for IscsiTarget {
    fn kind(&self) -> &'static TargetKind {
        &KIND
    }

    fn driver(&self) -> &dyn StageRunner {
        &self.driver
    }

    fn own_facts(&self) -> BTreeMap<String, String> {
        let config = self.driver.config();
        let chap = match (&config.secret, &config.target_secret) {
            (Some(own), Some(target)) => {
                format!("CHAP as {}, and the target as {} (mutual)", own.name, target.name)
            }
            (Some(own), None) => format!("CHAP as {}", own.name),
            (None, _) => "none".to_owned(),
        };
        let mut facts = named([
            ("protocol", "iSCSI from user space (RFC 7143)".to_owned()),
            ("portal", config.portal.to_string()),
            ("target", config.target.clone()),
            ("LUN", config.lun.to_string()),
            ("initiator", config.initiator.clone()),
            ("authentication", chap),
            ("sessions per job", config.sessions.to_string()),
            ("writes", if config.stable { "with FUA" } else { "without FUA" }.to_owned()),
        ]);
        if self.parts > 1 {
            let slices = format!("{} of {} each, one per host", self.parts, Size(self.used_bytes));
            facts.insert("slices".to_owned(), slices);
        }
        match self.driver.look(self.patience.connect) {
            Ok((unit, agreed)) => facts.extend(named(unit_facts(&unit).into_iter().chain(session(&agreed)))),
            Err(error) => {
                facts.insert("unit".to_owned(), format!("unknown: {}", error.detail));
            }
        }
        facts.extend(named(paths::facts(&config.paths, &shown(&config.addresses), self.connections)));
        facts
    }

    fn device_bytes(&self) -> Option<u64> {
        Some(self.used_bytes)
    }

    fn place(&self) -> Option<&OwnPlace> {
        Some(&self.place)
    }

    fn look(&self, writes: bool) -> Look {
        let config = self.driver.config();
        let seen = match self.checked_unit() {
            Ok(unit) => described(&unit),
            Err(error) => return Look::refused(&error),
        };
        let look = Look { seen, ..Look::default() }.with_mtu(&config.paths, config.portal);
        match if writes { self.may_be_written() } else { Ok(()) } {
            Ok(()) => look,
            // A unit that holds data was named by mistake.
            Err(error) if error.kind == ErrorKind::Rejected => {
                look.with(FindingKind::Misuse, error.to_string())
            }
            Err(error) => Look::refused(&error.into()),
        }
    }

    fn prepare(&self) -> Result<Entered, TargetError> {
        self.checked_unit()?;
        if self.fills || self.writes {
            self.may_be_written()?;
        }
        Ok(Entered::Existing)
    }

    fn adopt(&self) -> Result<(), TargetError> {
        self.checked_unit()?;
        if self.writes { Ok(self.may_be_written()?) } else { Ok(()) }
    }

    fn first_bytes(&self, object: u64, len: u32) -> Option<Vec<u8>> {
        let at = object.checked_mul(self.driver.config().slice_bytes)?;
        self.driver.bytes_at(at, len, self.patience.answer).ok()
    }

    fn interface(&self) -> Result<String, paths::InterfaceError> {
        let config = self.driver.config();
        paths::interface(&config.paths, config.portal.ip())
    }

    fn lay_out_job(&self, job: &Job, cell: &Cell) -> Result<LaidOut, TargetError> {
        let unit = self.unit()?;
        let bytes = unit.capacity.bytes();
        let found = FoundFile { bytes, fixed: true };
        let files = parts(job, cell.workload.jobs, |_, _| Ok(found))?;
        let starts = files.iter().flatten().map(|file| file.start);
        self.check_blocks(&unit, sizes_of(job, cell).into_iter().chain(starts))?;
        if cell.workload.ops.iter().any(|weighted| weighted.op != OpKind::Read) {
            self.may_be_written()?;
        }
        let mut stages = Vec::new();
        if job.files.layout.pre_read {
            stages.extend(stage("pre-read", job, OpKind::Read, vec![used_once(&files)]));
        }
        Ok(LaidOut { files, stages })
    }
}

impl IscsiTarget {
    fn unit(&self) -> Result<UnitFacts, TargetError> {
        Ok(self.driver.look(self.patience.connect)?.0)
    }

    /// The unit, which is large enough and has blocks that fit.
    fn checked_unit(&self) -> Result<UnitFacts, TargetError> {
        let unit = self.unit()?;
        let (size, all) = (unit.capacity.bytes(), self.used_bytes.saturating_mul(self.parts));
        if all > size {
            let hosts =
                if self.parts > 1 { format!(" by each of {} hosts", self.parts) } else { String::new() };
            return Err(TargetError::Input(format!(
                "{}: {} bytes are to be used{hosts} and it has {size}; use at most {}, or 0 for all of it",
                self.driver.config().label(),
                self.used_bytes,
                size / self.parts
            )));
        }
        self.check_blocks(&unit, self.sizes.iter().copied())?;
        Ok(unit)
    }

    /// One error up front beats an error from every operation.
    fn check_blocks(&self, unit: &UnitFacts, sizes: impl Iterator<Item = u64>) -> Result<(), TargetError> {
        let block = u64::from(unit.capacity.block_bytes);
        let mut wrong = sizes.filter(|size| !size.is_multiple_of(block));
        wrong.next().map_or(Ok(()), |size| {
            Err(TargetError::Input(format!(
                "{}: it has blocks of {block} bytes, and {size} is no multiple of that; choose sizes and offsets that are",
                self.driver.config().label()
            )))
        })
    }

    /// Checks for existing data on the unit before it is overwritten.
    fn may_be_written(&self) -> Result<(), DriverError> {
        let allowed = self.driver.allow_writing(self.destroy, self.patience.connect);
        allowed.map_err(|error| match &self.provisioned {
            // The next run gives it another name.
            Some(name) => DriverError::new(error.kind, error.detail.replace(name, PROVISIONED)),
            None => error,
        })
    }
}

/// The unit in a few words.
fn described(unit: &UnitFacts) -> String {
    let inquiry = &unit.inquiry;
    let name = format!("{} {}", inquiry.vendor, inquiry.product);
    format!(
        "{}, {} in blocks of {} bytes",
        name.trim(),
        Size(unit.capacity.bytes()),
        unit.capacity.block_bytes
    )
}

fn unit_facts(unit: &UnitFacts) -> Vec<(&'static str, String)> {
    let (inquiry, capacity, limits) = (&unit.inquiry, &unit.capacity, &unit.limits);
    let block_bytes = u64::from(capacity.block_bytes);
    let blocks = |blocks: u64| match blocks {
        0 => "not reported".to_owned(),
        blocks => Size(blocks.saturating_mul(block_bytes)).to_string(),
    };
    let mut facts = vec![
        ("vendor", inquiry.vendor.clone()),
        ("product", inquiry.product.clone()),
        ("revision", inquiry.revision.clone()),
        ("capacity", format!("{} ({} bytes)", Size(capacity.bytes()), capacity.bytes())),
        ("block size", format!("{block_bytes} bytes")),
        ("physical block size", format!("{} bytes", block_bytes << capacity.physical_exponent)),
        ("largest transfer", blocks(limits.transfer_blocks.into())),
        ("largest WRITE SAME", blocks(limits.write_same_blocks)),
        ("unmap", if capacity.unmaps { "supported" } else { "not supported" }.to_owned()),
    ];
    facts.extend(unit.serial.clone().map(|serial| ("serial number", serial)));
    facts
}

/// What both sides agreed on, by the names of the standard.
fn session(agreed: &Operational) -> Vec<(&'static str, String)> {
    let digest = |used: bool| if used { "CRC32C" } else { "None" }.to_owned();
    let yes = |yes: bool| if yes { "Yes" } else { "No" }.to_owned();
    vec![
        ("HeaderDigest", digest(agreed.header_digest)),
        ("DataDigest", digest(agreed.data_digest)),
        ("ImmediateData", yes(agreed.immediate_data)),
        ("InitialR2T", yes(agreed.initial_r2t)),
        ("MaxOutstandingR2T", agreed.outstanding_r2t.to_string()),
        ("FirstBurstLength", agreed.first_burst_bytes.to_string()),
        ("MaxBurstLength", agreed.burst_bytes.to_string()),
        (
            "MaxRecvDataSegmentLength",
            format!("{} of ours, {} of the target's", agreed.receive_bytes, agreed.send_bytes),
        ),
    ]
}
