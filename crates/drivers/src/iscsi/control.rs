//! Work around a load: which targets and units there are, what the unit says about itself, and what it holds.

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use metrics::ErrorKind;
use reactor::{BackendChoice, Reactor};
use wire::iscsi::{
    BlockLimits, Lun, Operational, ScsiRequest, StandardInquiry, TextKeys, UnitCapacity, luns, unit_serial,
};

use super::caller::Caller;
use super::command::Outcome;
use super::errors::{explain, is_rejected};
use super::login::{Way, establish};
use super::{IscsiConfig, IscsiDriver};
use crate::DriverError;
use crate::file::signatures;

/// Page of vital product data with the serial number.
const SERIAL_PAGE: u8 = 0x80;
/// Bytes of a list of units that are read: 2047 of them.
const LUNS_BYTES: u32 = 16 << 10;
/// Bytes read by one command.
const READ_BYTES: u64 = 256 << 10;
/// Targets that a message lists.
const OFFERED_MAX: usize = 8;

/// A target that a portal lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoveredTarget {
    /// Its name.
    pub name: String,
    /// Where it can be reached, written `address:port,group`.
    pub portals: Vec<String>,
}

/// What a unit says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitFacts {
    /// Manufacturer, product and revision.
    pub inquiry: StandardInquiry,
    /// Its serial number, if it has one.
    pub serial: Option<String>,
    /// Its size, and whether blocks can be unmapped.
    pub capacity: UnitCapacity,
    /// Its limits; all 0 when it reports none.
    pub limits: BlockLimits,
}

impl UnitFacts {
    /// Asks the unit.
    pub(super) async fn ask(caller: &mut Caller, config: &IscsiConfig) -> Result<Self, DriverError> {
        let mut unit = Asked { caller, config };
        let inquiry = ScsiRequest::Inquiry { page: None, bytes: StandardInquiry::BYTES };
        let data = unit.needed(inquiry, StandardInquiry::BYTES.into()).await?;
        let inquiry = StandardInquiry::decode(&data).ok_or_else(|| unit.short(&inquiry))?;
        if inquiry.qualifier != 0 {
            let there = unit.luns().await?.iter().map(Lun::to_string).collect::<Vec<_>>().join(", ");
            let text = format!("there is no such unit; the target has LUN {there}");
            return Err(unit.wrong(ErrorKind::NotFound, &text));
        }
        if inquiry.device_type != 0 {
            let text = format!("it is no disk but: {}", inquiry.type_name());
            return Err(unit.wrong(ErrorKind::Rejected, &text));
        }
        unit.needed(ScsiRequest::TestUnitReady, 0).await?;
        let request = ScsiRequest::ReadCapacity16 { bytes: UnitCapacity::BYTES };
        let data = unit.needed(request, UnitCapacity::BYTES).await?;
        let capacity = UnitCapacity::decode(&data).ok_or_else(|| unit.short(&request))?;
        let limits = unit.page(BlockLimits::PAGE, BlockLimits::BYTES).await?;
        let limits = limits.and_then(|page| BlockLimits::decode(&page)).unwrap_or_default();
        let serial = unit.page(SERIAL_PAGE, 255).await?.and_then(|page| unit_serial(&page));
        Ok(Self { inquiry, serial, capacity, limits })
    }
}

/// A unit that is asked.
struct Asked<'a> {
    caller: &'a mut Caller,
    config: &'a IscsiConfig,
}

impl Asked<'_> {
    fn wrong(&self, kind: ErrorKind, text: &str) -> DriverError {
        DriverError::new(kind, format!("{}: {text}", self.config.label()))
    }

    fn short(&self, request: &ScsiRequest) -> DriverError {
        self.wrong(ErrorKind::Protocol, &format!("{}: the answer cannot be understood", request.name()))
    }

    async fn command(
        &mut self,
        request: ScsiRequest,
        bytes: u32,
    ) -> Result<Result<Vec<u8>, Outcome>, DriverError> {
        // The list of units is asked of unit 0, which every target has (SPC-5, 6.33): ours may not be there.
        let number = if matches!(request, ScsiRequest::ReportLuns { .. }) { 0 } else { self.config.lun };
        let lun = Lun::of(number).unwrap_or_default();
        self.caller.command(lun.0, request, bytes).await
    }

    /// A command that must succeed.
    async fn needed(&mut self, request: ScsiRequest, bytes: u32) -> Result<Vec<u8>, DriverError> {
        self.command(request, bytes).await?.map_err(|outcome| {
            let (kind, text) = explain(&outcome);
            self.wrong(kind, &format!("{}: {text}", request.name()))
        })
    }

    /// A page of vital product data; `None` when the unit does not have it.
    async fn page(&mut self, page: u8, bytes: u16) -> Result<Option<Vec<u8>>, DriverError> {
        let request = ScsiRequest::Inquiry { page: Some(page), bytes };
        match self.command(request, bytes.into()).await? {
            Ok(data) => Ok(Some(data)),
            Err(outcome) if is_rejected(&outcome) => Ok(None),
            Err(outcome) => {
                let (kind, text) = explain(&outcome);
                Err(self.wrong(kind, &format!("{}: {text}", request.name())))
            }
        }
    }

    /// The target's units.
    async fn luns(&mut self) -> Result<Vec<Lun>, DriverError> {
        let data = self.needed(ScsiRequest::ReportLuns { bytes: LUNS_BYTES }, LUNS_BYTES).await?;
        Ok(luns(&data))
    }

    /// Reads the blocks that hold a range.
    async fn read(&mut self, unit: &UnitFacts, into: &mut [u8], at: u64) -> Result<(), DriverError> {
        let block = u64::from(unit.capacity.block_bytes);
        let end = at + into.len() as u64;
        let mut next = at / block;
        let most = (READ_BYTES / block).max(1);
        let limit = u64::from(unit.limits.transfer_blocks);
        let most = if limit == 0 { most } else { most.min(limit) };
        while next * block < end {
            let blocks = (end.div_ceil(block) - next).min(most);
            let request = ScsiRequest::Read { block: next, blocks: blocks as u32 };
            let bytes = blocks * block;
            let data = self.needed(request, bytes as u32).await?;
            if data.len() as u64 != bytes {
                return Err(self.short(&request));
            }
            let first = next * block;
            let (from, to) = (at.max(first), end.min(first + bytes));
            into[(from - at) as usize..(to - at) as usize]
                .copy_from_slice(&data[(from - first) as usize..(to - first) as usize]);
            next += blocks;
        }
        Ok(())
    }
}

/// A session outside the load.
struct Control<'a> {
    reactor: Reactor,
    caller: Caller,
    config: &'a IscsiConfig,
    limit: Duration,
}

impl Control<'_> {
    /// Runs something within the time limit of one command after another.
    fn ask<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut Asked<'_>) -> Result<T, DriverError>,
    ) -> Result<T, DriverError> {
        self.caller.set_deadline(after(&self.reactor, self.limit));
        let Self { reactor, caller, config, .. } = self;
        reactor.block_on(work(&mut Asked { caller, config }))
    }
}

fn after(reactor: &Reactor, limit: Duration) -> u64 {
    reactor.now().saturating_add(u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX))
}

impl IscsiDriver {
    /// The targets that the portal lists (SendTargets). Neither the login nor the answer may take longer than `limit`.
    /// Blocks.
    ///
    /// # Errors
    /// The portal cannot be reached, or refuses the login.
    pub fn targets(&self, limit: Duration) -> Result<Vec<DiscoveredTarget>, DriverError> {
        let text = self.control(true, limit, |control| {
            let Control { reactor, caller, .. } = control;
            let deadline_ns = after(reactor, limit);
            match reactor.block_on(reactor.timeout_at(deadline_ns, caller.send_targets())) {
                Ok(text) => text,
                Err(_) => Err(caller.failed(ErrorKind::TimedOut, "SendTargets: no answer in time")),
            }
        })?;
        let mut targets: Vec<DiscoveredTarget> = Vec::new();
        for (key, value) in TextKeys::new(&text) {
            match (key, targets.last_mut()) {
                ("TargetName", _) => {
                    targets.push(DiscoveredTarget { name: value.to_owned(), portals: Vec::new() });
                }
                ("TargetAddress", Some(target)) => target.portals.push(value.to_owned()),
                _ => {}
            }
        }
        Ok(targets)
    }

    /// The target's units (REPORT LUNS). Neither the login nor the command may take longer than `limit`. Blocks.
    ///
    /// # Errors
    /// The target cannot be reached, refuses the login, or does not answer.
    pub fn units(&self, limit: Duration) -> Result<Vec<Lun>, DriverError> {
        self.control(false, limit, |control| control.ask(async |unit: &mut Asked<'_>| unit.luns().await))
    }

    /// What the unit says about itself. Neither the login nor the commands together may take longer than `limit`.
    /// Blocks.
    ///
    /// # Errors
    /// As [`Self::units`]; the unit does not exist, is no disk, or is not ready.
    pub fn unit(&self, limit: Duration) -> Result<UnitFacts, DriverError> {
        self.control(false, limit, facts)
    }

    /// What the unit says about itself, and what both sides agreed on in a login.
    ///
    /// # Errors
    /// As [`Self::unit`].
    pub fn look(&self, limit: Duration) -> Result<(UnitFacts, Operational), DriverError> {
        self.control(false, limit, |control| Ok((facts(control)?, control.caller.agreed())))
    }

    /// Reads at most `len` bytes of the unit from `at` on. Neither the login nor a command may take longer than `limit`.
    /// Blocks.
    ///
    /// # Errors
    /// As [`Self::unit`]; it cannot be read.
    pub fn bytes_at(&self, at: u64, len: u32, limit: Duration) -> Result<Vec<u8>, DriverError> {
        self.control(false, limit, |control| {
            let unit = facts(control)?;
            let there = unit.capacity.bytes().saturating_sub(at);
            let mut data = vec![0; u64::from(len).min(there) as usize];
            control.ask(async |asked: &mut Asked<'_>| asked.read(&unit, &mut data, at).await)?;
            Ok(data)
        })
    }

    /// Lets sessions opened from now on write to the unit, if it holds nothing that is recognised or `destroy` says that
    /// it may be overwritten all the same. Blocks, with `limit` for the login and for each command.
    ///
    /// # Errors
    /// As [`Self::unit`]; kind `Rejected` when it holds something.
    pub fn allow_writing(&self, destroy: bool, limit: Duration) -> Result<(), DriverError> {
        let found = if destroy { None } else { self.control(false, limit, recognised)? };
        if let Some(name) = found {
            let text = format!(
                "{} carries {name}: nothing was written; to overwrite it anyway, give --destroy {}",
                self.config.label(),
                self.config.url()
            );
            return Err(DriverError::new(ErrorKind::Rejected, text));
        }
        self.writable.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Adds to the error about a target that the portal does not have those that it has.
    fn with_offer(&self, error: DriverError, limit: Duration) -> DriverError {
        let Ok(targets) = self.targets(limit) else { return error };
        let names: Vec<&str> = targets.iter().take(OFFERED_MAX).map(|target| &*target.name).collect();
        let more = targets.len().saturating_sub(OFFERED_MAX);
        let offer = match (&names[..], more) {
            ([], _) => "the portal offers this initiator no target".to_owned(),
            (names, 0) => format!("the portal offers {}", names.join(", ")),
            (names, more) => format!("the portal offers {} and {more} more", names.join(", ")),
        };
        DriverError::new(error.kind, format!("{}; {offer}", error.detail))
    }

    fn control<T>(
        &self,
        discovery: bool,
        limit: Duration,
        work: impl FnOnce(&mut Control<'_>) -> Result<T, DriverError>,
    ) -> Result<T, DriverError> {
        let reactor = Reactor::open(BackendChoice::Auto).map_err(|error| {
            DriverError::new(ErrorKind::Local, format!("no reactor can be opened: {error}"))
        })?;
        let config = &*self.config;
        let way = Way::of(config, 0);
        let end_ns = after(&reactor, limit);
        let caller = match reactor.block_on(establish(&reactor, config, &way, discovery, end_ns)) {
            Ok(caller) => caller,
            Err(error) if error.kind == ErrorKind::NotFound && !discovery => {
                return Err(self.with_offer(error, limit));
            }
            Err(error) => return Err(error),
        };
        let mut control = Control { reactor, caller, config, limit };
        let outcome = work(&mut control);
        let Control { reactor, mut caller, .. } = control;
        caller.set_deadline(after(&reactor, limit));
        reactor.block_on(caller.log_out());
        outcome
    }
}

fn facts(control: &mut Control<'_>) -> Result<UnitFacts, DriverError> {
    control.ask(async |unit: &mut Asked<'_>| UnitFacts::ask(unit.caller, unit.config).await)
}

/// The format of what the unit holds, if it is recognised.
fn recognised(control: &mut Control<'_>) -> Result<Option<&'static str>, DriverError> {
    let unit = facts(control)?;
    let mut failure = None;
    let read = |into: &mut [u8], at: u64| {
        control.ask(async |asked: &mut Asked<'_>| asked.read(&unit, into, at).await).map_err(|error| {
            failure = Some(error);
            io::Error::other("not read")
        })
    };
    let found = signatures::find(read, unit.capacity.bytes());
    match failure {
        Some(error) => Err(error),
        None => Ok(found.unwrap_or_default()),
    }
}
