//! What a check runs on: what an array or a cluster created for it, or existing targets; and its removal.

use std::sync::Arc;

use provision::{ArraySession, Run, Targets, Want, Wanted};
use provisioners::ProvisionedItems;
use runner::{Events, StopToken};
use targets::{ArrayPlace, Secrets};

use super::ceph;
use super::report::CheckedArray;
use super::request::{ArrayRequest, CheckRequest, CheckSource};
use super::row_targets::{self, RowTarget};
use crate::array_places::{self, AddressPorts};
use crate::error::CheckError;

/// Everything that the rows need, until it is removed.
pub struct Provisioned {
    /// What is checked, in order.
    pub targets: Vec<RowTarget>,
    /// The array or cluster, if one provisioned the targets.
    pub array: Option<CheckedArray>,
    session: Option<ArraySession>,
    items: Option<ProvisionedItems>,
}

impl Provisioned {
    /// Finds existing targets or has an array create them.
    ///
    /// # Errors
    /// One line with the step, the address, the cause and what to do next. Anything already created is removed again,
    /// or stays in the journal.
    pub fn prepare(
        request: &CheckRequest,
        run: &Run,
        stop: &StopToken,
        events: &Arc<dyn Events>,
        ports: &AddressPorts,
        secrets: &dyn Secrets,
    ) -> Result<Self, CheckError> {
        match &request.source {
            CheckSource::Array(array) => provision(request, array, run, stop, &**events, ports),
            CheckSource::Ceph(ceph) => {
                let (targets, array, items) = ceph::provision(request, ceph, run, stop, events)?;
                Ok(Self { targets, array: Some(array), session: None, items: Some(items) })
            }
            CheckSource::Existing(given) => {
                let targets = row_targets::existing(request, given, secrets).map_err(CheckError::failure)?;
                Ok(Self { targets, array: None, session: None, items: None })
            }
            CheckSource::Demo => {
                Err(CheckError::failure("the demonstration's array was not started; this is a defect"))
            }
        }
    }

    /// Removes everything that was created. Returns what remains, in words.
    pub fn remove(mut self, run: &Run, events: &dyn Events) -> Vec<String> {
        if let Some(session) = &mut self.session {
            events.note("removing what was created on the array");
            take_down(session, events);
        }
        drop(self.session.take());
        if let Some(items) = &mut self.items {
            events.note("removing what was created on the cluster");
            items.remove().iter().for_each(|failure| events.error(failure));
        }
        if let Err(error) = run.finish() {
            events.warn(&error.to_string());
        }
        run.remaining()
    }
}

fn take_down(session: &mut ArraySession, events: &dyn Events) {
    if let Err(error) = session.remove() {
        events.error(&error.to_string());
    }
    if let Err(error) = session.close() {
        events.warn(&format!("the session was not closed and will expire: {error}"));
    }
}

fn provision(
    request: &CheckRequest,
    array: &ArrayRequest,
    run: &Run,
    stop: &StopToken,
    events: &dyn Events,
    ports: &AddressPorts,
) -> Result<Provisioned, CheckError> {
    let address = &array.management.address;
    let mut session = ArraySession::open(&array.management, run, stop.cancel())?;
    let api_version = session.version().to_string();
    events.note(&format!("logged in to {address} (API {api_version}); run {}", run.id()));
    match build(request, array, &mut session, events, ports) {
        Ok((targets, address_choice)) => Ok(Provisioned {
            targets,
            array: Some(CheckedArray {
                management: address.clone(),
                api_version,
                address_choice,
                created: run.created_on_array(),
            }),
            session: Some(session),
            items: None,
        }),
        Err(error) => {
            take_down(&mut session, events);
            Err(error)
        }
    }
}

fn build(
    request: &CheckRequest,
    array: &ArrayRequest,
    session: &mut ArraySession,
    events: &dyn Events,
    ports: &AddressPorts,
) -> Result<(Vec<RowTarget>, Vec<String>), CheckError> {
    let choice = session.data_addresses()?;
    let mut reasons = choice.reasons;
    if !request.data_vips.is_empty() {
        let named: Vec<String> = request.data_vips.iter().map(ToString::to_string).collect();
        reasons = vec![format!("{}: named with --data-vip", named.join(", "))];
    } else if choice.chosen.is_empty() {
        return Err(CheckError::Failure(format!(
            "the array has no enabled data address ({}); next: enable one, or name one with --data-vip",
            if reasons.is_empty() { "it lists no interface".to_owned() } else { reasons.join("; ") }
        )));
    }
    for reason in &reasons {
        events.note(&format!("data address {reason}"));
    }
    let lies_in = |place: ArrayPlace| {
        targets::checked().any(|one| one.on_array == place && request.access(one).is_some())
    };
    let want = |place: ArrayPlace, existing: &Option<String>| {
        lies_in(place).then(|| existing.clone().map_or(Want::Create, Want::Existing))
    };
    let wanted = Wanted {
        filesystem: want(ArrayPlace::Export, &array.filesystem),
        export_protocol: request.export_protocol,
        bucket: want(ArrayPlace::Bucket, &array.bucket),
    };
    let made = session.create(&wanted)?;
    events.note(&describe(&made, array));
    let places = array_places::places(made);
    let targets = row_targets::on_array(request, &choice.chosen, &places, ports);
    Ok((targets, reasons))
}

fn describe(made: &Targets, array: &ArrayRequest) -> String {
    let verb = |existing: bool| if existing { "using" } else { "created" };
    let mut parts = Vec::new();
    if let Some(export) = &made.export {
        parts.push(format!("{} export {export}", verb(array.filesystem.is_some())));
    }
    if let Some(access) = &made.bucket {
        parts.push(format!("{} bucket {}", verb(array.bucket.is_some()), access.bucket));
    }
    parts.join(", ")
}
