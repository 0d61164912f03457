//! What a check stands on: the array's session and what it made, or existing targets; and its removal.

use std::collections::BTreeMap;
use std::net::IpAddr;

use anyhow::{Result, anyhow};
use drivers::s3::Credentials;
use provision::{BucketAccess, ProvisionError, Run, Session, Targets, Want, Wanted};

use super::request::{ArrayRequest, Request, Source};
use super::targets::{self, OnArray, Ports, Target};
use crate::check::report::ArrayFacts;
use crate::messages::Messages;
use runner::StopToken;

/// Everything that the rows need, until it is removed.
#[derive(Debug)]
pub struct Ground {
    /// What is checked, in order.
    pub targets: Vec<Target>,
    /// The array, if one was asked.
    pub array: Option<ArrayFacts>,
    session: Option<Session>,
}

impl Ground {
    /// Finds existing targets or has an array make them.
    ///
    /// # Errors
    /// One line with the step, the address, the cause and what to do next. What had been made is
    /// removed again, or stays in the journal.
    pub fn prepare(
        request: &Request,
        run: &Run,
        interrupt: &StopToken,
        messages: &Messages,
        ports: &BTreeMap<IpAddr, Ports>,
    ) -> Result<Self> {
        match &request.source {
            Source::Array(array) => provision(request, array, run, interrupt, messages, ports),
            Source::Manual { nfs, s3 } => {
                let targets = targets::manual(request, nfs, s3, run.id()).map_err(|line| anyhow!(line))?;
                Ok(Self { targets, array: None, session: None })
            }
            Source::Demo => Err(anyhow!("the demonstration's array was not started; this is a defect")),
        }
    }

    /// Removes all that was made. What remains, in words.
    pub fn remove(mut self, run: &Run, messages: &Messages) -> Vec<String> {
        if let Some(session) = &mut self.session {
            messages.note("removing what was created on the array");
            take_down(session, messages);
        }
        drop(self.session.take());
        if let Err(error) = run.finish() {
            messages.warn(&error.to_string());
        }
        run.remaining()
    }
}

fn take_down(session: &mut Session, messages: &Messages) {
    if let Err(error) = session.remove() {
        messages.error(&error.to_string());
    }
    if let Err(error) = session.close() {
        messages.warn(&format!("the session was not closed and will expire: {error}"));
    }
}

fn provision(
    request: &Request,
    array: &ArrayRequest,
    run: &Run,
    interrupt: &StopToken,
    messages: &Messages,
    ports: &BTreeMap<IpAddr, Ports>,
) -> Result<Ground> {
    let address = &array.management.address;
    let mut session = Session::open(&array.management, run, interrupt.cancel())?;
    let api_version = session.version().to_string();
    messages.note(&format!("logged in to {address} (API {api_version}); run {}", run.id()));
    match build(request, array, &mut session, run, messages, ports) {
        Ok((targets, address_choice)) => Ok(Ground {
            targets,
            array: Some(ArrayFacts { management: address.clone(), api_version, address_choice }),
            session: Some(session),
        }),
        Err(error) => {
            take_down(&mut session, messages);
            Err(error)
        }
    }
}

fn build(
    request: &Request,
    array: &ArrayRequest,
    session: &mut Session,
    run: &Run,
    messages: &Messages,
    ports: &BTreeMap<IpAddr, Ports>,
) -> Result<(Vec<Target>, Vec<String>)> {
    let choice = session.data_addresses()?;
    let mut reasons = choice.reasons;
    if !request.data_vips.is_empty() {
        let named: Vec<String> = request.data_vips.iter().map(ToString::to_string).collect();
        reasons = vec![format!("{}: named with --data-vip", named.join(", "))];
    } else if choice.chosen.is_empty() {
        return Err(anyhow!(
            "the array has no enabled data address ({}); next: enable one, or name one with --data-vip",
            if reasons.is_empty() { "it lists no interface".to_owned() } else { reasons.join("; ") }
        ));
    }
    for reason in &reasons {
        messages.note(&format!("data address {reason}"));
    }
    let want = |wanted: bool, existing: &Option<String>| {
        wanted.then(|| existing.clone().map_or(Want::Create, Want::Existing))
    };
    let wanted =
        Wanted { filesystem: want(request.nfs, &array.filesystem), bucket: want(request.s3, &array.bucket) };
    let made = session.create(&wanted)?;
    messages.note(&describe(&made, array));
    let on_array = OnArray {
        export: made.export.map(|export| (export, array.filesystem.is_some())),
        bucket: made.bucket.map(|access| {
            let credentials = credentials(&access);
            (access.bucket, credentials, array.bucket.is_some())
        }),
    };
    let targets = targets::on_array(request, &choice.chosen, &on_array, run.id(), ports);
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

/// The keys as the S3 driver wants them.
pub fn credentials(access: &BucketAccess) -> Credentials {
    Credentials::new(access.access_key.clone(), access.secret_key.reveal())
}

/// True when the error is wrong usage and not a failure of the check.
pub fn is_usage(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<ProvisionError>(), Some(ProvisionError::Input(_)))
}
