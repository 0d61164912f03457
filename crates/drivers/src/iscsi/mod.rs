//! iSCSI in user space: a logical unit read and written over TCP, without an initiator of the system's (RFC 7143).
//!
//! A worker opens one or more sessions with one connection each, which its lanes share: each lane has at most one SCSI
//! command in flight. One task per connection gathers commands, requested data and pings into a send buffer, generating
//! payload there; another receives, parses in place, verifies payload as it arrives, and wakes the lanes. A lost
//! connection is replaced by a new login to the same session, and unanswered commands are sent again, which is counted.

mod answers;
mod caller;
mod command;
mod config;
mod connection;
mod control;
mod errors;
mod incoming;
mod keepalive;
mod login;
mod operation;
mod receive;
mod session;
mod slots;
mod state;
mod transmit;

pub use config::IscsiConfig;
pub use control::{DiscoveredTarget, UnitFacts};
pub use session::IscsiSession;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use metrics::ErrorKind;
use reactor::Reactor;
use wire::iscsi::{Lun, MAX_SEGMENT_BYTES};

use crate::{Driver, DriverError, WorkerContext};

/// Loads one logical unit.
#[derive(Clone, Debug)]
pub struct IscsiDriver {
    config: Arc<IscsiConfig>,
    /// What the unit holds may be overwritten ([`IscsiDriver::allow_writing`]).
    writable: Arc<AtomicBool>,
}

impl IscsiDriver {
    /// Checks the configuration. Connects nowhere.
    ///
    /// # Errors
    /// A name or a size cannot be used.
    pub fn new(config: IscsiConfig) -> Result<Self, DriverError> {
        let wrong = |text: String| Err(DriverError::new(ErrorKind::Rejected, text));
        for (what, name) in [("target", &config.target), ("initiator", &config.initiator)] {
            // RFC 7143, 4.2.7.
            let right = name.starts_with("iqn.") || name.starts_with("eui.") || name.starts_with("naa.");
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-:_".contains(&byte);
            if !right || name.len() > 223 || !name.bytes().all(allowed) {
                return wrong(format!(
                    "{what} name \"{name}\": write an iSCSI name, such as iqn.2026-01.org.example:name"
                ));
            }
        }
        if Lun::of(config.lun).is_none() {
            return wrong(format!("LUN {}: write a number from 0 to {}", config.lun, Lun::MAX));
        }
        let offer = &config.offer;
        for (what, bytes) in [
            ("receive_size", offer.receive_bytes),
            ("burst_size", offer.burst_bytes),
            ("first_burst", offer.first_burst_bytes),
        ] {
            if !(512..=MAX_SEGMENT_BYTES).contains(&bytes) {
                return wrong(format!("{what} {bytes}: write 512 to {MAX_SEGMENT_BYTES} bytes"));
            }
        }
        if offer.first_burst_bytes > offer.burst_bytes {
            return wrong(format!(
                "first_burst {}: it may not be larger than burst_size, which is {}",
                offer.first_burst_bytes, offer.burst_bytes
            ));
        }
        if config.sessions == 0 {
            return wrong("sessions: at least 1 is needed".to_owned());
        }
        if config.target_secret.is_some() && config.secret.is_none() {
            return wrong("the target's secret is given without our own: mutual CHAP needs both".to_owned());
        }
        Ok(Self { config: Arc::new(config), writable: Arc::default() })
    }

    /// The target's settings.
    pub fn config(&self) -> &IscsiConfig {
        &self.config
    }
}

impl Driver for IscsiDriver {
    type Session = IscsiSession;

    async fn connect(&self, reactor: &Reactor, context: &WorkerContext) -> Result<IscsiSession, DriverError> {
        IscsiSession::open(reactor, &self.config, context, self.writable.load(Ordering::Relaxed)).await
    }
}
