//! An image as a target: what it is, what it holds, and which part of it is used.

use std::collections::BTreeMap;

use drivers::DriverError;
use drivers::rados::RadosDriver;
use drivers::rados::rbd::{RbdCreation, RbdDriver, RbdFacts};
use experiment::{Cell, FoundFile, Job, TargetKind};
use metrics::{ErrorKind, OpKind};
use units::Size;

use super::job::parts;
use super::lay_out::{stage, used_once};
use super::paths::named;
use super::place::{Entered, OwnPlace};
use super::rados_pool::PoolFacts;
use super::rbd::KIND;
use super::{FindingKind, LaidOut, Look, OpenTarget, Patience, StageRunner, TargetError};

/// An image.
pub(super) struct RbdTarget {
    pub(super) driver: RbdDriver,
    /// For what the monitors know about its pool.
    pub(super) pool: RadosDriver,
    pub(super) place: OwnPlace,
    pub(super) patience: Patience,
    /// The user said that whatever the image holds may be overwritten.
    pub(super) destroy: bool,
    /// The run fills it before the load; a job does not.
    pub(super) fills: bool,
    /// The load changes data.
    pub(super) writes: bool,
    /// Hosts that have a slice each.
    pub(super) parts: u64,
    /// Bytes used, of each slice where there are several.
    pub(super) used_bytes: u64,
    /// How the run's own image is created; `None`: it exists.
    pub(super) creation: Option<RbdCreation>,
}

impl OpenTarget for RbdTarget {
    fn kind(&self) -> &'static TargetKind {
        &KIND
    }

    fn driver(&self) -> &dyn StageRunner {
        &self.driver
    }

    fn own_facts(&self) -> BTreeMap<String, String> {
        let config = self.driver.config();
        let mut facts = named([
            ("protocol", "RBD through librbd's asynchronous calls".to_owned()),
            ("pool", config.pool.pool.clone()),
            ("namespace", config.pool.namespace.clone()),
            ("image", config.image.clone()),
            ("user", format!("client.{}", config.pool.access.user)),
            ("cache of librbd", if config.cache { "as configured" } else { "off" }.to_owned()),
            ("trim", if config.zeroes { "writes zeroes" } else { "discards" }.to_owned()),
        ]);
        if self.parts > 1 {
            let slices = format!("{} of {} each, one per host", self.parts, Size(self.used_bytes));
            facts.insert("slices".to_owned(), slices);
        }
        match self.driver.look(self.patience.connect) {
            Ok(image) => facts.extend(named([
                ("image size", format!("{} ({} bytes)", Size(image.bytes), image.bytes)),
                ("object size", Size(image.object_bytes).to_string()),
                ("features", image.features.join(", ")),
            ])),
            Err(error) => {
                facts.insert("image size".to_owned(), format!("unknown: {}", error.detail));
            }
        }
        facts.extend(PoolFacts::named(&self.pool));
        facts
    }

    fn device_bytes(&self) -> Option<u64> {
        Some(self.used_bytes)
    }

    fn place(&self) -> Option<&OwnPlace> {
        Some(&self.place)
    }

    fn look(&self, writes: bool) -> Look {
        let pool = match PoolFacts::ask(&self.pool, self.patience.connect) {
            Ok(pool) => pool,
            Err(error) => return Look::refused(&error.into()),
        };
        match &self.creation {
            Some(creation) => self.look_at_room(&pool, creation),
            None => self.look_at_image(&pool, writes),
        }
    }

    fn prepare(&self) -> Result<Entered, TargetError> {
        if let Some(creation) = &self.creation {
            let limit = self.patience.connect;
            return self.place.enter(
                |announce| self.driver.create(creation, announce, limit),
                || self.driver.adopt(limit),
            );
        }
        self.fitting_image()?;
        if self.fills || self.writes {
            self.may_be_written()?;
        }
        Ok(Entered::Existing)
    }

    fn adopt(&self) -> Result<(), TargetError> {
        self.fitting_image()?;
        match &self.creation {
            Some(_) => Ok(self.driver.adopt(self.patience.connect)?),
            None if self.writes => Ok(self.may_be_written()?),
            None => Ok(()),
        }
    }

    fn remove_all(&self) -> Result<(), TargetError> {
        self.place.leave(|| self.driver.remove(self.patience.answer))
    }

    fn first_bytes(&self, object: u64, len: u32) -> Option<Vec<u8>> {
        let at = object.checked_mul(self.driver.config().slice_bytes)?;
        self.driver.bytes_at(at, len, self.patience.answer).ok()
    }

    fn lay_out_job(&self, job: &Job, cell: &Cell) -> Result<LaidOut, TargetError> {
        let bytes = self.driver.look(self.patience.connect)?.bytes;
        let files = parts(job, cell.workload.jobs, |_, _| Ok(FoundFile { bytes, fixed: true }))?;
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

impl RbdTarget {
    /// Checks that an image of this size has room for what is used.
    pub(super) fn fits(&self, bytes: u64) -> Result<(), TargetError> {
        if self.used_bytes.saturating_mul(self.parts) <= bytes {
            return Ok(());
        }
        let hosts = if self.parts > 1 { format!(" by each of {} hosts", self.parts) } else { String::new() };
        Err(TargetError::Input(format!(
            "RBD image {}: {} bytes are to be used{hosts} and it has {bytes}; next: use at most {}, or 0 for all of it",
            self.driver.config().spec(),
            self.used_bytes,
            bytes / self.parts
        )))
    }

    /// The image, which is large enough.
    fn fitting_image(&self) -> Result<RbdFacts, TargetError> {
        let image = self.driver.look(self.patience.connect)?;
        self.fits(image.bytes)?;
        Ok(image)
    }

    /// Checks for existing data on the image before it is overwritten.
    fn may_be_written(&self) -> Result<(), DriverError> {
        self.driver.allow_writing(self.destroy, self.patience.connect)
    }

    fn look_at_image(&self, pool: &PoolFacts, writes: bool) -> Look {
        let image = match self.fitting_image() {
            Ok(image) => image,
            Err(error) => return Look::refused(&error),
        };
        let seen = format!("{pool}; {} in objects of {}", Size(image.bytes), Size(image.object_bytes));
        let mut look = Look { seen, ..Look::default() };
        if !writes {
            return look;
        }
        let (config, watchers) = (self.driver.config(), image.watchers.join(", "));
        if !watchers.is_empty() && !self.destroy {
            let text = format!(
                "RBD image {} is open elsewhere ({watchers}): nothing was written; close it there (a client that died is \
                 forgotten after 30 s); to overwrite it anyway, give --destroy {}",
                config.spec(),
                config.url()
            );
            look = look.with(FindingKind::Misuse, text);
        }
        if self.parts > 1 && image.exclusive_lock {
            let text = format!(
                "RBD image {} has the feature exclusive-lock, which {} hosts pass to each other to write; next: `rbd feature \
                 disable` it, or use an image that is created",
                config.spec(),
                self.parts
            );
            look = look.with(FindingKind::Warning, text);
        }
        match self.may_be_written() {
            Ok(()) => look,
            // An image that holds data was named by mistake.
            Err(error) if error.kind == ErrorKind::Rejected => {
                look.with(FindingKind::Misuse, error.to_string())
            }
            Err(error) => look.with(FindingKind::Failure, error.to_string()),
        }
    }

    /// For an image that does not exist yet: whether librbd can be used, and the pool has room for what is written.
    fn look_at_room(&self, pool: &PoolFacts, creation: &RbdCreation) -> Look {
        if let Err(error) = self.driver.check_pool(self.patience.connect) {
            return Look::refused(&error.into());
        }
        let look =
            Look { seen: format!("{pool}; {} are to be created", Size(creation.bytes)), ..Look::default() };
        let needed = self.used_bytes.saturating_mul(self.parts);
        let Some(available) = pool.available_bytes.filter(|available| *available < needed) else {
            return look;
        };
        let text = format!(
            "pool {} has room for {}, and {} of the image are to be written; next: use a smaller file_size",
            self.driver.config().pool.pool,
            Size(available).rounded(),
            Size(needed).rounded()
        );
        look.with(FindingKind::Failure, text)
    }
}
