//! Clients of a volume, each an instance of libgfapi with threads of its own, and the files that they have open.

use std::ffi::{CString, c_int};
use std::net::{TcpStream, ToSocketAddrs};
use std::ptr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use metrics::ErrorKind;
use reactor::clock;

use super::api::{FdHandle, FsHandle, Gfapi, gfapi};
use super::config::GlusterConfig;
use super::errors::{errno, failure};
use crate::failure::{Failure, text_of};

/// How long the end of a client waits for its files to be closed, which writes what its translators still have. What is not
/// done by then is done later, on its thread, and so is the end of its connections.
const PATIENCE: Duration = Duration::from_secs(5);
/// `GF_LOG_EMERG`: what goes wrong is reported by our errors, not by the library's log.
const LOG_LEVEL: c_int = 1;

/// A handle on its way to the thread that closes it.
struct Closing(FdHandle);

// SAFETY: libgfapi's handles may be used by any thread.
unsafe impl Send for Closing {}

/// One instance of libgfapi, connected to a volume.
pub(super) struct Volume {
    pub(super) api: &'static Gfapi,
    pub(super) fs: FsHandle,
    /// To the thread that closes files that nobody waits for, and at last the client: `glfs_close` and `glfs_fini` block.
    closing: Option<Sender<Closing>>,
    /// Hears that all files are closed.
    closed: Mutex<Receiver<()>>,
}

// SAFETY: libgfapi's handles may be used by several threads at once.
unsafe impl Send for Volume {}
// SAFETY: as above.
unsafe impl Sync for Volume {}

impl Volume {
    /// Connects to the volume. Blocks, but not much longer than `limit`.
    pub(super) fn connect(config: &GlusterConfig, limit: Duration) -> Result<Arc<Self>, Failure> {
        let api = gfapi(config.library.as_deref());
        let api = api.map_err(|error| Failure::new(ErrorKind::Local, error.to_string()))?;
        let start_ns = clock::now_ns();
        reach(config, limit)?;
        let (volume, host) = (c_text(&config.volume)?, c_text(&config.host)?);
        let port = c_int::from(config.port);
        let connect = move || Self::init(api, &volume, &host, port);
        let rest = limit.saturating_sub(Duration::from_nanos(clock::now_ns().saturating_sub(start_ns)));
        match within(rest, "gluster-connect", connect)? {
            Some(Ok(connected)) => Ok(Arc::new(connected)),
            Some(Err(number)) => Err(not_connected(number, config)),
            None => Err(silent(config, limit)),
        }
    }

    /// Connects, however long that takes; an error number otherwise.
    fn init(api: &'static Gfapi, volume: &CString, host: &CString, port: c_int) -> Result<Self, c_int> {
        // SAFETY (of all calls): the texts end with zero bytes, and the handle is ended once.
        let fs = unsafe { (api.glfs_new)(volume.as_ptr()) };
        if fs.is_null() {
            return Err(errno());
        }
        let code = unsafe {
            (api.glfs_set_logging)(fs, c"/dev/null".as_ptr(), LOG_LEVEL);
            match (api.glfs_set_volfile_server)(fs, c"tcp".as_ptr(), host.as_ptr(), port) {
                0 => (api.glfs_init)(fs),
                code => code,
            }
        };
        if code != 0 {
            let number = errno();
            unsafe { (api.glfs_fini)(fs) };
            return Err(number);
        }
        let (closing, files) = channel::<Closing>();
        let (all_closed, closed) = channel();
        let handle = Closing(fs);
        let close = move || {
            let handle = handle;
            for Closing(fd) in files {
                unsafe { (api.glfs_close)(fd) };
            }
            let _ = all_closed.send(());
            // It takes ten seconds in some versions.
            unsafe { (api.glfs_fini)(handle.0) };
        };
        match thread::Builder::new().name("gluster-close".to_owned()).spawn(close) {
            Ok(_) => Ok(Self { api, fs, closing: Some(closing), closed: Mutex::new(closed) }),
            Err(error) => {
                unsafe { (api.glfs_fini)(fs) };
                Err(error.raw_os_error().unwrap_or(libc::EAGAIN))
            }
        }
    }

    /// The id of the volume, as `gluster volume info` shows it.
    pub(super) fn id(&self) -> Option<String> {
        let mut id = [0_u8; 16];
        // SAFETY: it writes at most so many bytes.
        let len = unsafe { (self.api.glfs_get_volumeid)(self.fs, id.as_mut_ptr().cast(), id.len()) };
        let hex: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
        (len == 16).then(|| [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
    }

    /// The description of the volume's translators that this client works by.
    pub(super) fn volfile(&self) -> Option<String> {
        let mut text = vec![0_u8; 64 << 10];
        for _ in 0..2 {
            // SAFETY: it writes at most so many bytes.
            match unsafe { (self.api.glfs_get_volfile)(self.fs, text.as_mut_ptr().cast(), text.len()) } {
                // It lacks so many bytes.
                missing if missing < 0 => text.resize(text.len() + missing.unsigned_abs(), 0),
                len => {
                    text.truncate(len as usize);
                    return Some(String::from_utf8_lossy(&text).into_owned());
                }
            }
        }
        None
    }

    /// Bytes free for this user in the file system of a path.
    pub(super) fn available_bytes(&self, path: &std::ffi::CStr) -> Result<u64, Failure> {
        // SAFETY: all zeros is a value of it.
        let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
        // SAFETY: the path ends with a zero byte; it writes one structure.
        match unsafe { (self.api.glfs_statvfs)(self.fs, path.as_ptr(), &mut found) } {
            0 => Ok(found.f_bavail * found.f_frsize),
            _ => Err(failure(errno())),
        }
    }
}

impl Drop for Volume {
    fn drop(&mut self) {
        self.closing = None;
        let closed = self.closed.get_mut().unwrap_or_else(PoisonError::into_inner);
        let _ = closed.recv_timeout(PATIENCE);
    }
}

impl std::fmt::Debug for Volume {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Volume")
    }
}

/// An open file. One that is dropped is closed by the volume's thread.
pub(super) struct OpenFile {
    pub(super) volume: Arc<Volume>,
    pub(super) fd: FdHandle,
    pub(super) write: bool,
}

// SAFETY: libgfapi's handles may be used by any thread.
unsafe impl Send for OpenFile {}

impl OpenFile {
    /// Closes it now. Blocks.
    pub(super) fn close(mut self) -> Result<(), c_int> {
        let fd = std::mem::replace(&mut self.fd, ptr::null_mut());
        // SAFETY: it is open, and nobody else has the handle.
        if unsafe { (self.volume.api.glfs_close)(fd) } == 0 { Ok(()) } else { Err(errno()) }
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        if let (false, Some(closing)) = (self.fd.is_null(), &self.volume.closing) {
            let _ = closing.send(Closing(self.fd));
        }
    }
}

/// Runs work that may block for longer than wanted on a thread of its own; `None` if it is not done within `limit`: its
/// result is dropped when it is.
pub(super) fn within<T: Send + 'static>(
    limit: Duration,
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<Option<T>, Failure> {
    let (result, outcome) = channel();
    let run = move || drop(result.send(work()));
    let local = |error| Failure::new(ErrorKind::Local, format!("no thread can be started: {error}"));
    thread::Builder::new().name(name.to_owned()).spawn(run).map_err(local)?;
    match outcome.recv_timeout(limit) {
        Ok(value) => Ok(Some(value)),
        Err(RecvTimeoutError::Timeout) => Ok(None),
        Err(RecvTimeoutError::Disconnected) => {
            Err(Failure::new(ErrorKind::Local, "a thread has ended early"))
        }
    }
}

/// Checks that something accepts connections at glusterd's address: libgfapi does not say why it cannot connect, and has
/// no deadline.
fn reach(config: &GlusterConfig, limit: Duration) -> Result<(), Failure> {
    let (host, port) = (&*config.host, config.port);
    let wrong = |why: &dyn std::fmt::Display| {
        let detail = format!(
            "{host} port {port}: {why}; next: check the host, its port, and that glusterd runs there"
        );
        Failure::new(ErrorKind::ConnectFailed, detail)
    };
    let mut last = wrong(&"the host has no address");
    for address in (host, port).to_socket_addrs().map_err(|error| wrong(&error))? {
        match TcpStream::connect_timeout(&address, limit.max(Duration::from_millis(1))) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => {
                last = wrong(&format!("no answer within {limit:?}"));
            }
            Err(error) => last = wrong(&text_of(error.raw_os_error().unwrap_or(libc::EIO))),
        }
    }
    Err(last)
}

fn silent(config: &GlusterConfig, limit: Duration) -> Failure {
    let detail = format!(
        "glusterd or the bricks did not answer within {limit:?}; next: `gluster volume status {}` shows which are online",
        config.volume
    );
    Failure::new(ErrorKind::ConnectFailed, detail)
}

/// What the number says that `glfs_init` ends with.
fn not_connected(number: c_int, config: &GlusterConfig) -> Failure {
    let volume = &config.volume;
    match number {
        libc::ENOENT | libc::EINVAL => Failure::new(
            ErrorKind::NotFound,
            format!(
                "there is no volume {volume}, or it is not started; next: `gluster volume info` lists them"
            ),
        ),
        libc::EACCES | libc::EPERM => Failure::new(
            ErrorKind::AccessDenied,
            format!("volume {volume} refuses this host; next: compare its option auth.allow"),
        ),
        _ => Failure { kind: ErrorKind::ConnectFailed, ..failure(number) },
    }
}

pub(super) fn c_text(text: impl AsRef<[u8]>) -> Result<CString, Failure> {
    CString::new(text.as_ref()).map_err(|_| Failure::new(ErrorKind::Rejected, "a name holds a zero byte"))
}
