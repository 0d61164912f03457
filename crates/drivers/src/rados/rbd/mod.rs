//! RBD, Ceph's block devices: images in a pool, read and written through librbd's asynchronous calls.
//!
//! librbd is loaded at run time, as librados is, and connects through it. All workers of a driver share one open image. Its
//! threads pass completions to each worker's reactor; data is written from, and read into, the memory of the operation,
//! which keeps it until librbd has returned it.

mod api;
mod config;
mod flights;
mod image;
mod manage;
mod session;

pub use config::{MAX_IMAGE_NAME_BYTES, RbdConfig, RbdCreation};
pub use manage::RbdFacts;
pub use session::RbdSession;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use metrics::ErrorKind;
use reactor::Reactor;

use self::image::SharedImage;
use crate::{Driver, DriverError, WorkerContext};

/// Loads one image.
#[derive(Clone, Debug)]
pub struct RbdDriver {
    config: Arc<RbdConfig>,
    image: Arc<SharedImage>,
    /// What the image holds may be overwritten ([`RbdDriver::allow_writing`]).
    writable: Arc<AtomicBool>,
}

impl RbdDriver {
    /// Checks the configuration. Loads nothing, and connects nowhere.
    ///
    /// # Errors
    /// The name cannot be an image's.
    pub fn new(config: RbdConfig) -> Result<Self, DriverError> {
        let name = &config.image;
        if !(1..=MAX_IMAGE_NAME_BYTES).contains(&name.len()) || name.contains(['/', '@', '\0']) {
            let detail = format!(
                "image name \"{}\": write 1 to {MAX_IMAGE_NAME_BYTES} bytes, without / and @; snapshots are not loaded",
                name.escape_default()
            );
            return Err(DriverError::new(ErrorKind::Rejected, detail));
        }
        Ok(Self { config: Arc::new(config), image: Arc::default(), writable: Arc::default() })
    }

    /// The target's settings.
    pub fn config(&self) -> &RbdConfig {
        &self.config
    }
}

impl Driver for RbdDriver {
    type Session = RbdSession;

    async fn connect(&self, reactor: &Reactor, context: &WorkerContext) -> Result<RbdSession, DriverError> {
        RbdSession::open(reactor, self, context, self.writable.load(Ordering::Relaxed)).await
    }
}
