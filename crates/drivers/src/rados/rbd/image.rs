//! Open images. Workers share one, because clients pass an image's exclusive lock to each other, which costs far more than
//! an operation.

use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError, Weak, mpsc};
use std::time::Duration;

use metrics::ErrorKind;

use super::super::client::{RadosClient, RadosPool, c_text};
use super::super::error::failure;
use super::api::{ImageHandle, ImageInfo, Loaded, Watcher, librbd};
use super::config::RbdConfig;
use crate::failure::Failure;

/// How long closing an image may take. After that, a thread continues to wait for the cluster.
const PATIENCE: Duration = Duration::from_secs(5);
/// Max clients that a message names.
const WATCHERS_MAX: usize = 16;

/// A connection to the pool, with librbd.
pub(super) struct RbdPool {
    pub(super) library: &'static Loaded,
    pub(super) pool: RadosPool,
}

impl RbdPool {
    /// Connects to the cluster and opens the pool. Blocks, but not much longer than `limit`. With `answer`, calls without an
    /// answer are given up after that time: it suits blocking calls.
    pub(super) fn open(
        config: &RbdConfig,
        limit: Duration,
        answer: Option<Duration>,
    ) -> Result<Self, Failure> {
        let missing = |error: crate::library::LibraryError| Failure::new(ErrorKind::Local, error.to_string());
        let library = librbd(config.library.as_deref()).map_err(missing)?;
        if config.zeroes {
            library.zeroes().map_err(missing)?;
        }
        let client = RadosClient::connect(&config.pool, limit, answer)?;
        if !config.cache {
            client.set("rbd_cache", b"false")?;
        }
        // What is removed is gone.
        client.set("rbd_move_to_trash_on_remove", b"false")?;
        Ok(Self { library, pool: RadosPool::open(&Arc::new(client), &config.pool)? })
    }
}

/// An open image.
pub(super) struct RbdImage {
    pub(super) library: &'static Loaded,
    pub(super) handle: ImageHandle,
    /// Its size in bytes when it was opened.
    pub(super) bytes: u64,
    writable: bool,
    pool: ManuallyDrop<RadosPool>,
}

// SAFETY: librbd's images may be used by several threads at once.
unsafe impl Send for RbdImage {}
// SAFETY: as above.
unsafe impl Sync for RbdImage {}

impl RbdImage {
    /// Opens it. One that is only read is not locked, and needs no caps to write. Blocks.
    pub(super) fn open(pool: RbdPool, config: &RbdConfig, writable: bool) -> Result<Self, Failure> {
        let name = c_text(&config.image)?;
        let RbdPool { library, pool } = pool;
        let api = &library.calls;
        let open = if writable { api.rbd_open } else { api.rbd_open_read_only };
        let mut handle = ptr::null_mut();
        // SAFETY: the pool is open; it writes a handle; the name ends with a zero byte, and no snapshot is named.
        let code = unsafe { open(pool.handle, name.as_ptr(), &mut handle, ptr::null()) };
        if code == -libc::ENOENT {
            let detail = format!(
                "there is no such image; next: `rbd ls {}` lists those of the pool",
                config.pool.pool
            );
            return Err(Failure::new(ErrorKind::NotFound, detail));
        }
        if code < 0 {
            return Err(failure(code));
        }
        let mut image = Self { library, handle, bytes: 0, writable, pool: ManuallyDrop::new(pool) };
        image.bytes = image.info()?.bytes;
        Ok(image)
    }

    /// What the image says about itself.
    pub(super) fn info(&self) -> Result<ImageInfo, Failure> {
        let mut info = ImageInfo {
            bytes: 0,
            object_bytes: 0,
            objects: 0,
            order: 0,
            block_name_prefix: [0; 24],
            parent_pool: 0,
            parent_name: [0; 96],
        };
        // SAFETY: the image is open, and the size is that of what it writes to.
        match unsafe { (self.library.calls.rbd_stat)(self.handle, &mut info, size_of::<ImageInfo>()) } {
            code if code < 0 => Err(failure(code)),
            _ => Ok(info),
        }
    }

    /// Its features, as the bits of `rbd_default_features`.
    pub(super) fn features(&self) -> Result<u64, Failure> {
        let mut features = 0;
        // SAFETY: the image is open; it writes a number.
        match unsafe { (self.library.calls.rbd_get_features)(self.handle, &mut features) } {
            code if code < 0 => Err(failure(code)),
            _ => Ok(features),
        }
    }

    /// Clients that have it open for writing, such as `client.4123 at 10.0.0.1:0/77`.
    pub(super) fn watchers(&self) -> Result<Vec<String>, Failure> {
        let api = &self.library.calls;
        let mut found = [Watcher { address: ptr::null_mut(), client: 0, cookie: 0 }; WATCHERS_MAX];
        let mut count = found.len();
        // SAFETY: the image is open, and there is room for as many as the count says.
        let code = unsafe { (api.rbd_watchers_list)(self.handle, found.as_mut_ptr(), &mut count) };
        match code {
            code if code == -libc::ERANGE => return Ok(vec![format!("{count} clients")]),
            code if code < 0 => return Err(failure(code)),
            _ => {}
        }
        let count = count.min(found.len());
        let named = found[..count].iter().map(|watcher| {
            // SAFETY: librbd wrote a text that ends with a zero byte.
            let address = (!watcher.address.is_null())
                .then(|| unsafe { std::ffi::CStr::from_ptr(watcher.address) }.to_string_lossy());
            format!("client.{} at {}", watcher.client, address.unwrap_or_default())
        });
        let named = named.collect();
        // SAFETY: librbd filled these, and frees their texts once.
        unsafe { (api.rbd_watchers_list_cleanup)(found.as_mut_ptr(), count) };
        Ok(named)
    }

    /// Reads a range to its end. Blocks.
    pub(super) fn read(&self, into: &mut [u8], at: u64) -> Result<(), Failure> {
        let (len, out) = (into.len(), into.as_mut_ptr().cast());
        // SAFETY: the image is open, and there is room for as many bytes.
        match unsafe { (self.library.calls.rbd_read)(self.handle, at, len, out) } {
            code if code < 0 => Err(failure(code as i32)),
            came if came as usize == len => Ok(()),
            came => {
                let text = format!("{came} bytes came where {len} were asked for");
                Err(Failure::new(ErrorKind::Length, text))
            }
        }
    }
}

/// What closing takes.
struct Closing {
    library: &'static Loaded,
    handle: ImageHandle,
    /// Dropped only once the image is closed.
    pool: ManuallyDrop<RadosPool>,
}

// SAFETY: as for the image.
unsafe impl Send for Closing {}

impl Closing {
    fn close(self) {
        // SAFETY: the image is open, and its owner uses it no more.
        unsafe { (self.library.calls.rbd_close)(self.handle) };
        drop(ManuallyDrop::into_inner(self.pool));
    }
}

impl Drop for RbdImage {
    fn drop(&mut self) {
        // SAFETY: the pool is used no more.
        let pool = ManuallyDrop::new(unsafe { ManuallyDrop::take(&mut self.pool) });
        let closing = Closing { library: self.library, handle: self.handle, pool };
        let (tell, told) = mpsc::channel();
        // Closing waits for the cluster, which may be silent.
        let started = std::thread::Builder::new().name("rbd-close".to_owned()).spawn(move || {
            closing.close();
            let _ = tell.send(());
        });
        if started.is_ok() {
            let _ = told.recv_timeout(PATIENCE);
        }
    }
}

impl std::fmt::Debug for RbdImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RbdImage")
    }
}

/// The image of a driver. It is open as long as a session uses it.
#[derive(Debug, Default)]
pub(super) struct SharedImage(Mutex<Weak<RbdImage>>);

impl SharedImage {
    /// The image, opened if necessary. Blocks.
    pub(super) fn get(
        &self,
        config: &RbdConfig,
        limit: Duration,
        writable: bool,
    ) -> Result<Arc<RbdImage>, Failure> {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(image) = held.upgrade().filter(|image| image.writable == writable) {
            return Ok(image);
        }
        let image = Arc::new(RbdImage::open(RbdPool::open(config, limit, None)?, config, writable)?);
        *held = Arc::downgrade(&image);
        Ok(image)
    }
}
