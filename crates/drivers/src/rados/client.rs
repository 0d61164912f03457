//! Clients of a cluster, each an instance of librados with threads of its own, and pools as they see them.

use std::ffi::{CStr, CString, c_int};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use metrics::ErrorKind;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::api::{ClusterHandle, Librados, PoolHandle, librados};
use super::config::RadosConfig;
use super::error::{failure, text};
use crate::failure::Failure;
use crate::shared_clients::SharedClients;

/// One instance of librados, connected.
pub(super) struct RadosClient {
    pub(super) api: &'static Librados,
    pub(super) cluster: ClusterHandle,
}

// SAFETY: librados' handles may be used by several threads at once (librados.h).
unsafe impl Send for RadosClient {}
// SAFETY: as above.
unsafe impl Sync for RadosClient {}

impl RadosClient {
    /// Connects to the cluster. Blocks, but not much longer than `limit`. With `answer`, librados gives up any operation
    /// without an answer after that time, which costs it a timer for each: it suits blocking calls.
    pub(super) fn connect(
        config: &RadosConfig,
        limit: Duration,
        answer: Option<Duration>,
    ) -> Result<Self, Failure> {
        let api = librados(config.library.as_deref())
            .map_err(|error| Failure::new(ErrorKind::Local, error.to_string()))?;
        let access = &config.access;
        let (name, user) = (c_text(&access.cluster)?, c_text(format!("client.{}", access.user))?);
        let mut client = Self { api, cluster: ptr::null_mut() };
        // SAFETY: it writes a handle; the texts end with zero bytes.
        let code = unsafe { (api.rados_create2)(&mut client.cluster, name.as_ptr(), user.as_ptr(), 0) };
        if code < 0 {
            return Err(failure(code));
        }
        client.configure(config, limit)?;
        if let Some(answer) = answer {
            let seconds = answer.as_secs().max(1).to_string();
            client.set("rados_osd_op_timeout", seconds.as_bytes())?;
            client.set("rados_mon_op_timeout", seconds.as_bytes())?;
        }
        // SAFETY: the handle is configured and not connected.
        match unsafe { (api.rados_connect)(client.cluster) } {
            code if code < 0 => Err(not_connected(code, &access.user, limit)),
            _ => Ok(client),
        }
    }

    fn configure(&self, config: &RadosConfig, limit: Duration) -> Result<(), Failure> {
        let access = &config.access;
        let path = access.conf.as_deref().map(|path| c_text(path.as_os_str().as_bytes())).transpose()?;
        // With monitors given, a file is not needed.
        if path.is_some() || access.monitors.is_none() {
            let at = path.as_ref().map_or(ptr::null(), |path| path.as_ptr());
            // SAFETY: the path is null or ends with a zero byte.
            let code = unsafe { (self.api.rados_conf_read_file)(self.cluster, at) };
            if code < 0 {
                let file = access.conf.as_ref().map(|path| path.display().to_string());
                let file = file.unwrap_or_else(|| "Ceph's configuration in its usual places".to_owned());
                let detail = format!("{file} cannot be read: {}; next: name a ceph.conf", text(code));
                return Err(Failure::new(ErrorKind::Local, detail));
            }
        }
        let seconds = limit.as_secs().max(1).to_string();
        self.set("client_mount_timeout", seconds.as_bytes())?;
        // What goes wrong is reported by our errors, not by the library on the terminal.
        self.set("log_to_stderr", b"false")?;
        self.set("err_to_stderr", b"false")?;
        if let Some(monitors) = &access.monitors {
            self.set("mon_host", monitors.as_bytes())?;
        }
        if let Some(keyring) = &access.keyring {
            self.set("keyring", keyring.as_os_str().as_bytes())?;
        }
        if let Some(key) = &access.key {
            self.set("key", key.reveal().as_bytes())?;
        }
        Ok(())
    }

    /// Sets an option of the configuration.
    pub(super) fn set(&self, option: &str, value: &[u8]) -> Result<(), Failure> {
        let (name, value) = (c_text(option)?, c_text(value)?);
        // SAFETY: both texts end with a zero byte.
        let code = unsafe { (self.api.rados_conf_set)(self.cluster, name.as_ptr(), value.as_ptr()) };
        if code < 0 {
            let detail = format!("librados does not accept {option}: {}", text(code));
            return Err(Failure::new(ErrorKind::Rejected, detail));
        }
        Ok(())
    }

    /// A monitor's answer to a command with these arguments.
    ///
    /// # Errors
    /// The monitors refuse it, or answer something else than their documents say.
    pub(super) fn ask<T: DeserializeOwned>(&self, mut command: Value) -> Result<T, Failure> {
        command["format"] = "json".into();
        let answer = self.monitor(&command.to_string());
        answer.and_then(|text| serde_json::from_str(&text).ok()).ok_or_else(|| {
            let name = command["prefix"].as_str().unwrap_or_default();
            let text =
                format!("the monitors do not answer `{name}`; next: check the user's caps (mon 'allow r')");
            Failure::new(ErrorKind::Rejected, text)
        })
    }

    /// A monitor's answer to a command in JSON; `None` if it refuses.
    pub(super) fn monitor(&self, command: &str) -> Option<String> {
        let command: CString = c_text(command).ok()?;
        let mut commands = [command.as_ptr()];
        let (mut output, mut output_len, mut status, mut status_len) =
            (ptr::null_mut(), 0, ptr::null_mut(), 0);
        // SAFETY: one command, which ends with a zero byte; librados allocates what it writes, and it is freed once.
        unsafe {
            let code = (self.api.rados_mon_command)(
                self.cluster,
                commands.as_mut_ptr(),
                1,
                ptr::null(),
                0,
                &mut output,
                &mut output_len,
                &mut status,
                &mut status_len,
            );
            let text = (code >= 0 && !output.is_null()).then(|| {
                String::from_utf8_lossy(std::slice::from_raw_parts(output.cast(), output_len)).into_owned()
            });
            for buffer in [output, status] {
                if !buffer.is_null() {
                    (self.api.rados_buffer_free)(buffer);
                }
            }
            text
        }
    }
}

impl Drop for RadosClient {
    fn drop(&mut self) {
        if !self.cluster.is_null() {
            // SAFETY: every pool of this client holds a reference to it, so that all are closed.
            unsafe { (self.api.rados_shutdown)(self.cluster) };
        }
    }
}

/// A pool as one client sees it.
pub(super) struct RadosPool {
    pub(super) api: &'static Librados,
    pub(super) handle: PoolHandle,
    pub(super) client: Arc<RadosClient>,
}

// SAFETY: as for the client.
unsafe impl Send for RadosPool {}

impl RadosPool {
    pub(super) fn open(client: &Arc<RadosClient>, config: &RadosConfig) -> Result<Self, Failure> {
        let (name, namespace) = (c_text(&config.pool)?, c_text(&config.namespace)?);
        let api = client.api;
        let mut handle = ptr::null_mut();
        // SAFETY: it writes a handle; the text ends with a zero byte.
        let code = unsafe { (api.rados_ioctx_create)(client.cluster, name.as_ptr(), &mut handle) };
        if code == -libc::ENOENT {
            let detail = format!("there is no pool {}; next: `ceph osd pool ls` lists them", config.pool);
            return Err(Failure::new(ErrorKind::NotFound, detail));
        }
        if code < 0 {
            return Err(failure(code));
        }
        // SAFETY: the handle is open; the text ends with a zero byte.
        unsafe { (api.rados_ioctx_set_namespace)(handle, namespace.as_ptr()) };
        // Otherwise librados holds back operations on a full pool until it has space, removals too.
        // SAFETY: the handle is open.
        unsafe { (api.rados_set_pool_full_try)(handle) };
        Ok(Self { api, handle, client: Arc::clone(client) })
    }

    /// Sets what the pool hashes in place of the names of objects, for operations that start from now on; `None`: nothing.
    #[inline]
    pub(super) fn locate(&self, locator: Option<&CStr>) {
        // SAFETY: the handle is open and used by this thread only; librados copies the text.
        unsafe {
            (self.api.rados_ioctx_locator_set_key)(self.handle, locator.map_or(ptr::null(), CStr::as_ptr))
        };
    }
}

impl Drop for RadosPool {
    fn drop(&mut self) {
        // SAFETY: it is open, and its owner uses it no more.
        unsafe { (self.api.rados_ioctx_destroy)(self.handle) };
    }
}

/// The pool as the client with this number sees it; the client is connected if necessary. Blocks.
pub(super) fn pool(
    clients: &SharedClients<RadosClient>,
    number: usize,
    config: &RadosConfig,
    limit: Duration,
) -> Result<RadosPool, Failure> {
    let connect = || RadosClient::connect(config, limit, None).map(Arc::new);
    RadosPool::open(&clients.get(number, connect)?, config)
}

impl std::fmt::Debug for RadosClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RadosClient")
    }
}

fn not_connected(code: c_int, user: &str, limit: Duration) -> Failure {
    match -code {
        libc::ETIMEDOUT => Failure::new(
            ErrorKind::ConnectFailed,
            format!(
                "no monitor answered within {limit:?}; next: check mon_host in the configuration, and the network"
            ),
        ),
        libc::EACCES | libc::EPERM => Failure::new(
            ErrorKind::AccessDenied,
            format!(
                "the monitors refuse client.{user}: {}; next: check the user and its keyring",
                text(code)
            ),
        ),
        _ => Failure { kind: ErrorKind::ConnectFailed, ..failure(code) },
    }
}

pub(super) fn c_text(text: impl AsRef<[u8]>) -> Result<CString, Failure> {
    CString::new(text.as_ref()).map_err(|_| Failure::new(ErrorKind::Rejected, "a name holds a zero byte"))
}
