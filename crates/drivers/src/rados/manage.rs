//! Work around a load, with blocking calls: what the cluster says about the pool, and our objects listed, inspected
//! and removed.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use metrics::ErrorKind;

use super::RadosDriver;
use super::api::CompletionHandle;
use super::client::{RadosClient, RadosPool, c_text};
use super::error::failure;
use super::listing::Listing;
use crate::DriverError;
use crate::failure::Failure;

/// Objects inspected or removed at the same time.
const BATCH: usize = 128;

/// A connection for work around a load.
pub(super) struct Control<'a> {
    driver: &'a RadosDriver,
    pub(super) pool: RadosPool,
}

impl RadosDriver {
    /// Connects, opens the pool, and asks the monitors these commands (as JSON); returns their answers, `None` for one
    /// that is refused. No single answer may take longer than `limit`. Blocks.
    ///
    /// # Errors
    /// librados is missing, the monitors refuse the user or do not answer, or there is no such pool.
    pub fn ask(&self, commands: &[String], limit: Duration) -> Result<Vec<Option<String>>, DriverError> {
        self.control(limit, |control| Ok(commands.iter().map(|command| control.monitor(command)).collect()))
    }

    /// Checks that one of our objects exists. No single answer may take longer than `limit`. Blocks.
    ///
    /// # Errors
    /// As [`Self::ask`]; kind `NotFound` when there is none.
    pub fn adopt(&self, limit: Duration) -> Result<(), DriverError> {
        self.control(limit, |control| {
            let mut found = false;
            let mut listing = control.listing()?;
            loop {
                let more = listing.next(|name| found |= self.config.number(name).is_some())?;
                if found {
                    return Ok(());
                }
                if !more {
                    let detail = format!("there is no object {}.…", self.config.prefix);
                    return Err(Failure::new(ErrorKind::NotFound, detail));
                }
            }
        })
    }

    /// Removes every object of ours and returns their number. No single answer may take longer than `limit`. Blocks.
    ///
    /// # Errors
    /// As [`Self::ask`]; the objects cannot be listed, or one cannot be removed.
    pub fn remove_all(&self, limit: Duration) -> Result<u64, DriverError> {
        self.control(limit, |control| {
            let mut removed = 0;
            control.pages(|numbers| {
                removed += control.remove(numbers)?;
                Ok(())
            })?;
            Ok(removed)
        })
    }

    /// Calls `each` with the number and size in bytes of every object of ours. No single answer may take longer than
    /// `limit`. Blocks.
    ///
    /// # Errors
    /// As [`Self::remove_all`].
    pub fn list(&self, limit: Duration, each: &mut dyn FnMut(u64, u64)) -> Result<(), DriverError> {
        self.control(limit, |control| {
            control.pages(|numbers| {
                control.stat(numbers, |number, size| size.into_iter().for_each(|size| each(number, size)))
            })
        })
    }

    /// The sizes in bytes of the objects with these numbers; `None` for those that do not exist. No single answer may take
    /// longer than `limit`. Blocks.
    ///
    /// # Errors
    /// As [`Self::ask`]; an object cannot be inspected.
    pub fn sizes(&self, numbers: &[u64], limit: Duration) -> Result<BTreeMap<u64, Option<u64>>, DriverError> {
        let mut sizes = BTreeMap::new();
        self.control(limit, |control| {
            control.stat(numbers, |number, size| {
                sizes.insert(number, size);
            })
        })?;
        Ok(sizes)
    }

    /// Removes the objects with these numbers; those that do not exist count as removed. No single answer may take longer
    /// than `limit`. Blocks.
    ///
    /// # Errors
    /// As [`Self::ask`]; the first that could not be removed.
    pub fn remove(&self, numbers: &[u64], limit: Duration) -> Result<(), DriverError> {
        self.control(limit, |control| control.remove(numbers).map(drop))
    }

    /// The first `most` bytes of the object with this number, or all of a shorter one. No single answer may take longer
    /// than `limit`. Blocks.
    ///
    /// # Errors
    /// It does not exist, or cannot be read.
    pub fn beginning(&self, object: u64, most: u32, limit: Duration) -> Result<Vec<u8>, DriverError> {
        self.control(limit, |control| {
            let mut data = vec![0_u8; most as usize];
            let (out, len, mut came) = (data.as_mut_ptr().cast::<c_char>(), data.len(), 0);
            control.all(
                &[object],
                |oid, completion, _| {
                    // SAFETY: librados copies the name; the buffer lives until the operation is complete.
                    unsafe {
                        (control.pool.api.rados_aio_read)(control.pool.handle, oid, completion, out, len, 0)
                    }
                },
                |_, code, _| {
                    came = usize::try_from(code).map_err(|_| failure(code))?;
                    Ok(())
                },
            )?;
            data.truncate(came);
            Ok(data)
        })
    }

    /// Does something with a client of its own.
    pub(super) fn control<T>(
        &self,
        limit: Duration,
        work: impl FnOnce(&Control<'_>) -> Result<T, Failure>,
    ) -> Result<T, DriverError> {
        let open = || {
            RadosPool::open(&Arc::new(RadosClient::connect(&self.config, limit, Some(limit))?), &self.config)
        };
        open().and_then(|pool| work(&Control { driver: self, pool })).map_err(|failure| {
            DriverError::new(failure.kind, format!("Ceph, {}: {}", self.config.location(), failure.detail))
        })
    }
}

impl Control<'_> {
    fn listing(&self) -> Result<Listing, Failure> {
        Ok(Listing::of(RadosPool::open(&self.pool.client, &self.driver.config)?, 0, 1))
    }

    /// Calls `each` with the numbers of our objects, page by page.
    fn pages(&self, mut each: impl FnMut(&[u64]) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut listing = self.listing()?;
        let mut numbers = Vec::new();
        let mut more = true;
        while more {
            numbers.clear();
            more = listing.next(|name| numbers.extend(self.driver.config.number(name)))?;
            each(&numbers)?;
        }
        Ok(())
    }

    /// Removes these objects and returns how many there were.
    fn remove(&self, numbers: &[u64]) -> Result<u64, Failure> {
        let mut removed = 0;
        self.all(
            numbers,
            |oid, completion, _| {
                // SAFETY: librados copies the name.
                unsafe { (self.pool.api.rados_aio_remove)(self.pool.handle, oid, completion) }
            },
            |_, code, _| match code {
                code if code == -libc::ENOENT => Ok(()),
                code if code < 0 => Err(failure(code)),
                _ => {
                    removed += 1;
                    Ok(())
                }
            },
        )?;
        Ok(removed)
    }

    /// Calls `each` with the numbers and sizes of these objects; without a size if there is no such object.
    fn stat(&self, numbers: &[u64], mut each: impl FnMut(u64, Option<u64>)) -> Result<(), Failure> {
        let api = self.pool.api;
        self.all(
            numbers,
            |oid, completion, stat| {
                let (size, modified_s) = (&raw mut stat.0, &raw mut stat.1);
                // SAFETY: librados copies the name; what it writes to lives until the operation is complete.
                unsafe { (api.rados_aio_stat)(self.pool.handle, oid, completion, size, modified_s) }
            },
            |number, code, stat| {
                match code {
                    code if code == -libc::ENOENT => each(number, None),
                    code if code < 0 => return Err(failure(code)),
                    _ => each(number, Some(stat.0)),
                }
                Ok(())
            },
        )
    }

    /// Performs an operation on each of these objects, several at a time, and hands each result to `ended`: the number, the
    /// return value, and size and time where the operation wrote them.
    pub(super) fn all(
        &self,
        numbers: &[u64],
        start: impl Fn(*const c_char, CompletionHandle, &mut (u64, i64)) -> c_int,
        mut ended: impl FnMut(u64, c_int, &(u64, i64)) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let api = self.pool.api;
        let mut first = Ok(());
        for batch in numbers.chunks(BATCH) {
            let mut stats = vec![(0, 0); batch.len()];
            let mut started = Vec::with_capacity(batch.len());
            for (number, stat) in batch.iter().zip(&mut stats) {
                let mut completion = ptr::null_mut();
                // SAFETY: it writes a handle.
                let code = unsafe {
                    (api.rados_aio_create_completion)(ptr::null_mut(), None, None, &mut completion)
                };
                if code < 0 {
                    first = first.and(Err(failure(code)));
                    break;
                }
                let name = self.driver.config.name(*number);
                started.push((completion, start(name.as_c().as_ptr(), completion, stat)));
            }
            // All are waited for, whatever fails: librados writes to `stats`.
            for ((number, (completion, code)), stat) in batch.iter().zip(started).zip(&stats) {
                // SAFETY: the completion is released here only. librados gives up after the time limit of its client.
                let code = unsafe {
                    let code = if code < 0 {
                        code
                    } else {
                        (api.rados_aio_wait_for_complete)(completion);
                        (api.rados_aio_get_return_value)(completion)
                    };
                    (api.rados_aio_release)(completion);
                    code
                };
                first = first.and(ended(*number, code, stat));
            }
            if first.is_err() {
                break;
            }
        }
        first
    }

    /// A monitor's answer to a command in JSON; `None` if it refuses.
    fn monitor(&self, command: &str) -> Option<String> {
        let client = &self.pool.client;
        let command: CString = c_text(command).ok()?;
        let mut commands = [command.as_ptr()];
        let (mut output, mut output_len, mut status, mut status_len) =
            (ptr::null_mut(), 0, ptr::null_mut(), 0);
        // SAFETY: one command, which ends with a zero byte; librados allocates what it writes, and it is freed once.
        unsafe {
            let code = (client.api.rados_mon_command)(
                client.cluster,
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
                    (client.api.rados_buffer_free)(buffer);
                }
            }
            text
        }
    }
}
