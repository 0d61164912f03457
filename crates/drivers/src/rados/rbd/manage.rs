//! Work around a load, with blocking calls: what an image is and holds, and our own images created and removed.

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use metrics::ErrorKind;
use reactor::clock;

use super::super::client::c_text;
use super::super::error::failure;
use super::RbdDriver;
use super::api::{OPTION_DATA_POOL, OPTION_FEATURES, OPTION_ORDER, OptionsHandle};
use super::config::RbdCreation;
use super::image::{RbdImage, RbdPool};
use crate::failure::Failure;
use crate::file::signatures;
use crate::{Announce, DriverError};

/// `RBD_FEATURE_LAYERING`.
const LAYERING: u64 = 1;
/// `RBD_FEATURE_EXCLUSIVE_LOCK`.
const EXCLUSIVE_LOCK: u64 = 1 << 2;
/// Names of the features by bit (librbd/features.h).
const FEATURES: [&str; 9] = [
    "layering",
    "striping",
    "exclusive-lock",
    "object-map",
    "fast-diff",
    "deep-flatten",
    "journaling",
    "data-pool",
    "operations",
];

/// How long an image that a client has open is waited for before its removal fails: the cluster forgets a client that died
/// after `osd_client_watch_timeout`, which is 30 seconds.
const BUSY: Duration = Duration::from_secs(60);
const BUSY_STEP: Duration = Duration::from_millis(500);

/// What an image says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RbdFacts {
    /// Its size in bytes.
    pub bytes: u64,
    /// Size of its objects in bytes.
    pub object_bytes: u64,
    /// Names of its features.
    pub features: Vec<&'static str>,
    /// Clients of its exclusive lock pass it to each other before they write.
    pub exclusive_lock: bool,
    /// Clients that have it open for writing.
    pub watchers: Vec<String>,
}

impl RbdDriver {
    /// What the image says about itself. No single answer may take longer than `limit`. Blocks.
    ///
    /// # Errors
    /// librbd or librados is missing, the monitors refuse the user or do not answer, there is no such pool or image.
    pub fn look(&self, limit: Duration) -> Result<RbdFacts, DriverError> {
        self.on_image(limit, |image| {
            let (info, features) = (image.info()?, image.features()?);
            let named = FEATURES.iter().enumerate().filter(|(bit, _)| features & 1 << bit != 0);
            Ok(RbdFacts {
                bytes: info.bytes,
                object_bytes: info.object_bytes,
                features: named.map(|(_, name)| *name).collect(),
                exclusive_lock: features & EXCLUSIVE_LOCK != 0,
                watchers: image.watchers()?,
            })
        })
    }

    /// Checks that librbd can be used, and the pool reached. No single answer may take longer than `limit`. Blocks.
    ///
    /// # Errors
    /// As [`Self::look`].
    pub fn check_pool(&self, limit: Duration) -> Result<(), DriverError> {
        self.pool(limit).map(drop).map_err(|failure| self.explained(failure))
    }

    /// Reads at most `len` bytes of the image from `at` on. No single answer may take longer than `limit`. Blocks.
    ///
    /// # Errors
    /// As [`Self::look`]; it cannot be read.
    pub fn bytes_at(&self, at: u64, len: u32, limit: Duration) -> Result<Vec<u8>, DriverError> {
        self.on_image(limit, |image| {
            let mut data = vec![0; u64::from(len).min(image.bytes.saturating_sub(at)) as usize];
            image.read(&mut data, at)?;
            Ok(data)
        })
    }

    /// Lets sessions opened from now on write to the image, if it holds nothing that is recognised or `destroy` says that
    /// it may be overwritten all the same. No single answer may take longer than `limit`. Blocks.
    ///
    /// # Errors
    /// As [`Self::look`]; kind `Rejected` when it holds something.
    pub fn allow_writing(&self, destroy: bool, limit: Duration) -> Result<(), DriverError> {
        let found = if destroy { None } else { self.on_image(limit, recognised)? };
        if let Some(name) = found {
            let text = format!(
                "RBD image {} carries {name}: nothing was written; to overwrite it anyway, give --destroy {}",
                self.config.spec(),
                self.config.url()
            );
            return Err(DriverError::new(ErrorKind::Rejected, text));
        }
        self.writable.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Checks that an image of the run's own exists, and lets sessions write to it. Blocks.
    ///
    /// # Errors
    /// As [`Self::look`]; kind `NotFound` when there is none.
    pub fn adopt(&self, limit: Duration) -> Result<(), DriverError> {
        self.on_image(limit, |_| Ok(()))?;
        self.writable.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Creates the image, and lets sessions write to it. `announce` is called right before the request. Blocks.
    ///
    /// # Errors
    /// As [`Self::look`]; kind `AlreadyExists` when there is one of this name; `announce` failed.
    pub fn create(
        &self,
        creation: &RbdCreation,
        announce: Announce<'_>,
        limit: Duration,
    ) -> Result<(), DriverError> {
        let pool = self.pool(limit).map_err(|failure| self.explained(failure))?;
        announce()?;
        create(&pool, &self.config.image, creation).map_err(|failure| self.explained(failure))?;
        self.writable.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Removes the image with all its data; one that does not exist counts as removed. Waits for a client that died with
    /// the image open until the cluster has forgotten it. No single answer may take longer than `limit`. Blocks.
    ///
    /// # Errors
    /// As [`Self::look`]; it cannot be removed.
    pub fn remove(&self, limit: Duration) -> Result<(), DriverError> {
        let removed = self.pool(limit).and_then(|pool| {
            let name = c_text(&self.config.image)?;
            let until_ns = clock::now_ns() + BUSY.as_nanos() as u64;
            loop {
                // SAFETY: the pool is open, and the name ends with a zero byte.
                let code = unsafe { (pool.library.calls.rbd_remove)(pool.pool.handle, name.as_ptr()) };
                match code {
                    code if code == -libc::EBUSY && clock::now_ns() < until_ns => {
                        std::thread::sleep(BUSY_STEP)
                    }
                    code if code < 0 && code != -libc::ENOENT => return Err(failure(code)),
                    _ => return Ok(()),
                }
            }
        });
        removed.map_err(|failure| self.explained(failure))
    }

    fn pool(&self, limit: Duration) -> Result<RbdPool, Failure> {
        RbdPool::open(&self.config, limit, Some(limit))
    }

    fn on_image<T>(
        &self,
        limit: Duration,
        work: impl FnOnce(&RbdImage) -> Result<T, Failure>,
    ) -> Result<T, DriverError> {
        let opened = self.pool(limit).and_then(|pool| RbdImage::open(pool, &self.config, false));
        opened.and_then(|image| work(&image)).map_err(|failure| self.explained(failure))
    }

    /// The failure with what it is about.
    pub(super) fn explained(&self, failure: Failure) -> DriverError {
        DriverError::new(failure.kind, format!("RBD image {}: {}", self.config.spec(), failure.detail))
    }
}

fn create(pool: &RbdPool, image: &str, creation: &RbdCreation) -> Result<(), Failure> {
    let name = c_text(image)?;
    let data_pool = creation.data_pool.as_ref().map(c_text).transpose()?;
    let api = &pool.library.calls;
    let mut options: OptionsHandle = std::ptr::null_mut();
    // SAFETY: the options are created first and destroyed once; the texts end with zero bytes; the pool is open.
    let code = unsafe {
        (api.rbd_image_options_create)(&mut options);
        let mut set = 0;
        if !creation.usual_features {
            set = (api.rbd_image_options_set_uint64)(options, OPTION_FEATURES, LAYERING);
        }
        if let Some(bytes) = creation.object_bytes {
            let order = u64::from(bytes.ilog2());
            set = set.min((api.rbd_image_options_set_uint64)(options, OPTION_ORDER, order));
        }
        if let Some(data_pool) = &data_pool {
            let data_pool = data_pool.as_ptr();
            set = set.min((api.rbd_image_options_set_string)(options, OPTION_DATA_POOL, data_pool));
        }
        let code = match set {
            0.. => (api.rbd_create4)(pool.pool.handle, name.as_ptr(), creation.bytes, options),
            code => code,
        };
        (api.rbd_image_options_destroy)(options);
        code
    };
    match code {
        code if code == -libc::ENOENT => {
            let data_pool = creation.data_pool.as_deref().unwrap_or("the pool");
            let text = format!(
                "it cannot be created: {data_pool} is not there; next: `ceph osd pool ls` lists pools"
            );
            Err(Failure::new(ErrorKind::NotFound, text))
        }
        code if code < 0 => {
            let failure = failure(code);
            Err(Failure::new(failure.kind, format!("it cannot be created: {}", failure.detail)))
        }
        _ => Ok(()),
    }
}

/// The format of what the image holds, if it is recognised.
fn recognised(image: &RbdImage) -> Result<Option<&'static str>, Failure> {
    let mut failed = None;
    let read = |into: &mut [u8], at: u64| {
        image.read(into, at).map_err(|failure| {
            failed = Some(failure);
            io::Error::other("not read")
        })
    };
    let found = signatures::find(read, image.bytes);
    match failed {
        Some(failure) => Err(failure),
        None => Ok(found.unwrap_or_default()),
    }
}
