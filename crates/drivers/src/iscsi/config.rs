//! Configuration of an iSCSI target.

use std::net::SocketAddr;
use std::time::Duration;

use wire::iscsi::{ChapSecret, Offer};

use crate::paths::{DataAddress, Paths};

/// Time without any PDU after which the target is pinged, and which the reply may take.
const KEEPALIVE: Duration = Duration::from_secs(5);

/// The target of an [`super::IscsiDriver`].
#[derive(Clone, Debug)]
pub struct IscsiConfig {
    /// The portal.
    pub portal: SocketAddr,
    /// Connect to these portals of the target instead, spreading sessions evenly.
    pub addresses: Vec<DataAddress>,
    /// Where connections leave this machine.
    pub paths: Paths,
    /// The target's name.
    pub target: String,
    /// The logical unit.
    pub lun: u16,
    /// Our name.
    pub initiator: String,
    /// Our name and secret for CHAP.
    pub secret: Option<ChapSecret>,
    /// The name and secret that the target must prove to know.
    pub target_secret: Option<ChapSecret>,
    /// Sessions per worker, each with one connection.
    pub sessions: u32,
    /// Operational parameters.
    pub offer: Offer,
    /// Bytes of a slice, when hosts share the unit: objects of operations are numbers of slices. 0: there is one, the unit.
    pub slice_bytes: u64,
    /// Every write is on the medium before it is acknowledged (FUA).
    pub stable: bool,
    /// Time without any PDU after which the target is pinged (NOP-Out), and within which it must reply; `None`: never.
    pub keepalive: Option<Duration>,
}

impl IscsiConfig {
    /// A unit with default settings.
    pub fn new(portal: SocketAddr, target: impl Into<String>, lun: u16) -> Self {
        Self {
            portal,
            addresses: Vec::new(),
            paths: Paths::default(),
            target: target.into(),
            lun,
            initiator: default_initiator(),
            secret: None,
            target_secret: None,
            sessions: 1,
            offer: Offer::default(),
            slice_bytes: 0,
            stable: false,
            keepalive: Some(KEEPALIVE),
        }
    }

    /// The portal with this number.
    pub(super) fn portal(&self, number: usize) -> SocketAddr {
        match self.addresses.get(number) {
            Some(address) => SocketAddr::new(address.ip, address.port.unwrap_or(self.portal.port())),
            None => self.portal,
        }
    }

    /// The unit's URL, without a user and options.
    pub fn url(&self) -> String {
        format!("iscsi://{}/{}/{}", self.portal(0), self.target, self.lun)
    }

    /// Target and unit for messages.
    pub fn label(&self) -> String {
        format!("{} LUN {} at {}", self.target, self.lun, self.portal(0))
    }
}

/// Our name: this program's, with the host's.
fn default_initiator() -> String {
    let names = rustix::system::uname();
    let host = names.nodename().to_string_lossy().to_ascii_lowercase();
    let host: String =
        host.chars().filter(|c| c.is_ascii_alphanumeric() || "-.".contains(*c)).take(100).collect();
    format!("iqn.2026-01.manometer:{}", if host.is_empty() { "host" } else { &host })
}
