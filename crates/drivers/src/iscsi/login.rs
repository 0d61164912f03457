//! Connects and logs in.

use std::net::SocketAddr;

use metrics::ErrorKind;
use reactor::{Reactor, SocketOptions};
use wire::iscsi::{
    CommandWindow, IscsiAnswer, LoginDialog, LoginFailure, LoginIdentity, LoginStatus, LoginStep,
};

use super::caller::Caller;
use super::config::IscsiConfig;
use crate::DriverError;
use crate::paths::Paths;

/// Redirections that are followed.
const REDIRECTIONS_MAX: usize = 4;

/// Local and remote address of a connection, and the name of its session, used for every attempt.
#[derive(Clone, Copy)]
pub(super) struct Way {
    pub(super) portal: SocketAddr,
    pub(super) options: SocketOptions,
    /// The initiator's part of the session's name: a login with the same one replaces the old session.
    pub(super) isid: [u8; 6],
}

impl Way {
    /// The way of session number `number` over all workers.
    pub(super) fn of(config: &IscsiConfig, number: u64) -> Self {
        let (source, at) = config.paths.of(number, config.addresses.len());
        let options = Paths::options(source, SocketOptions::default());
        // RFC 7143, 11.12.5: the random format.
        let [a, b, c, d, e, ..] = fastrand::u64(..).to_be_bytes();
        Self { portal: config.portal(at), options, isid: [0x80, a, b, c, d, e] }
    }
}

/// Opens a session within `deadline_ns`; with the target's name, or for discovery without.
///
/// # Errors
/// One line: the portal, what was tried, what came back, what to do next.
pub(super) async fn establish(
    reactor: &Reactor,
    config: &IscsiConfig,
    way: &Way,
    discovery: bool,
    deadline_ns: u64,
) -> Result<Caller, DriverError> {
    let mut portal = way.portal;
    let started = reactor.now();
    for _ in 0..REDIRECTIONS_MAX {
        let attempt = log_in(reactor, config, way, portal, discovery, deadline_ns);
        let outcome = match reactor.timeout_at(deadline_ns, attempt).await {
            Ok(outcome) => outcome?,
            Err(_) => {
                let seconds = deadline_ns.saturating_sub(started) as f64 / 1e9;
                let text = format!(
                    "iSCSI portal {portal}: no answer within {:.1} s; check the address and the port, and that no firewall \
                     is between",
                    seconds
                );
                return Err(DriverError::new(ErrorKind::ConnectFailed, text));
            }
        };
        match outcome {
            Outcome::Open(caller) => return Ok(*caller),
            Outcome::Elsewhere(address) => {
                portal = redirected(&address, portal)?;
            }
        }
    }
    let text = format!("iSCSI portal {portal}: more than {REDIRECTIONS_MAX} redirections");
    Err(DriverError::new(ErrorKind::Protocol, text))
}

enum Outcome {
    Open(Box<Caller>),
    Elsewhere(String),
}

/// The address that a redirection names; only addresses, not host names, are followed.
fn redirected(text: &str, from: SocketAddr) -> Result<SocketAddr, DriverError> {
    let (place, _) = text.split_once(',').unwrap_or((text, ""));
    let with_port = place.parse::<SocketAddr>().ok();
    let plain = || {
        let ip = place.trim_start_matches('[').trim_end_matches(']').parse().ok()?;
        Some(SocketAddr::new(ip, wire::iscsi::PORT))
    };
    with_port.or_else(plain).ok_or_else(|| {
        let text = format!(
            "iSCSI portal {from}: the target has moved to \"{place}\", which is no address; give its address instead"
        );
        DriverError::new(ErrorKind::NotFound, text)
    })
}

async fn log_in(
    reactor: &Reactor,
    config: &IscsiConfig,
    way: &Way,
    portal: SocketAddr,
    discovery: bool,
    deadline_ns: u64,
) -> Result<Outcome, DriverError> {
    let stream = reactor.connect(portal, &way.options).await.map_err(|error| {
        let from = way.options.bind.map(|local| format!(" from {}", local.ip())).unwrap_or_default();
        let text =
            format!("iSCSI portal {portal}{from}: cannot connect: {error}; check the address and the port");
        DriverError::new(ErrorKind::ConnectFailed, text)
    })?;
    let identity = LoginIdentity {
        initiator: config.initiator.clone(),
        target: (!discovery).then(|| config.target.clone()),
        isid: way.isid,
        secret: config.secret.clone(),
        target_secret: config.target_secret.clone(),
        challenge: fastrand::u128(..).to_be_bytes(),
    };
    let first_sn = fastrand::u32(..);
    let tag = fastrand::u32(..u32::MAX);
    let mut dialog = LoginDialog::new(identity, config.offer, tag, first_sn);
    let mut window = CommandWindow::new(first_sn);
    let mut caller = Caller::new(reactor, stream, portal, deadline_ns);
    let mut step = dialog.start();
    loop {
        match step {
            LoginStep::Send(request, text) => {
                caller.send(request.encode(), &text).await?;
                let (answer, text) = caller.receive().await?;
                let IscsiAnswer::Login(response) = answer else {
                    return Err(
                        caller.failed(ErrorKind::Protocol, "the login was answered by something else")
                    );
                };
                window.update(response.exp_cmd_sn, response.max_cmd_sn);
                caller.set_stat_sn(response.stat_sn.wrapping_add(1));
                step =
                    dialog.answer(&response, &text).map_err(|failure| refused(config, portal, &failure))?;
            }
            LoginStep::Redirected(address) => return Ok(Outcome::Elsewhere(address)),
            LoginStep::Done(agreed) => {
                caller.logged_in(agreed, window);
                return Ok(Outcome::Open(Box::new(caller)));
            }
        }
    }
}

/// A failed login in words, with what to do next.
fn refused(config: &IscsiConfig, portal: SocketAddr, failure: &LoginFailure) -> DriverError {
    let user = config.secret.as_ref().map(|secret| format!(" as {}", secret.name)).unwrap_or_default();
    let (kind, next) = match failure {
        // A target that knows no secret of its own refuses as one that refuses ours.
        LoginFailure::Refused(LoginStatus::AUTHENTICATION) if config.target_secret.is_some() => {
            (ErrorKind::AccessDenied, "check the names and secrets for mutual CHAP on both sides")
        }
        LoginFailure::Refused(LoginStatus::AUTHENTICATION) => {
            (ErrorKind::AccessDenied, "check the name and the secret for CHAP")
        }
        LoginFailure::NoSecret => (
            ErrorKind::AccessDenied,
            "set LIBISCSI_CHAP_USERNAME and LIBISCSI_CHAP_PASSWORD, or give credentials_file",
        ),
        LoginFailure::Refused(LoginStatus::FORBIDDEN) => {
            (ErrorKind::AccessDenied, "allow this initiator on the target, or give another name (initiator)")
        }
        LoginFailure::Refused(LoginStatus::NOT_FOUND) => (ErrorKind::NotFound, "check the target's name"),
        LoginFailure::Refused(status) if status.0 >> 8 == 3 => (ErrorKind::Busy, "try again later"),
        LoginFailure::Refused(_) | LoginFailure::Negotiation(_) => {
            (ErrorKind::Rejected, "check the target's configuration")
        }
        LoginFailure::Target(_) => {
            (ErrorKind::AccessDenied, "check the target's name and secret for mutual CHAP on both sides")
        }
        LoginFailure::Method(_) | LoginFailure::Algorithm(_) => {
            (ErrorKind::Rejected, "allow CHAP with MD5 or SHA-256 on the target")
        }
        LoginFailure::Malformed(_) => (ErrorKind::Protocol, "check that an iSCSI target listens there"),
    };
    let text = format!("{}{user} at {portal}: {failure}; {next}", config.target);
    DriverError::new(kind, text)
}
