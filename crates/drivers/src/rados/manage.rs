//! Work around a load, with blocking calls: what the cluster says about the pool, and our objects listed, inspected
//! and removed.

use std::collections::BTreeMap;
use std::ffi::{CString, c_char, c_int};
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use metrics::ErrorKind;
use serde_json::json;

use super::RadosDriver;
use super::api::CompletionHandle;
use super::client::{RadosClient, RadosPool};
use super::error::failure;
use super::listing::Listing;
use super::osd_map::OsdMap;
use crate::DriverError;
use crate::failure::Failure;

/// Objects inspected or removed at the same time.
const BATCH: usize = 128;

/// A connection for work around a load.
pub(super) struct Control<'a> {
    driver: &'a RadosDriver,
    pub(super) pool: RadosPool,
    limit: Duration,
}

/// An object of ours by its number, with its locator if it has one.
pub(super) type PlacedObject = (u64, Option<CString>);

impl RadosDriver {
    /// Connects, opens the pool, and asks the monitors these commands (as JSON); returns their answers, `None` for one
    /// that is refused. No single answer may take longer than `limit`. Blocks.
    ///
    /// # Errors
    /// librados is missing, the monitors refuse the user or do not answer, or there is no such pool.
    pub fn ask(&self, commands: &[String], limit: Duration) -> Result<Vec<Option<String>>, DriverError> {
        self.control(limit, |control| {
            Ok(commands.iter().map(|command| control.pool.client.monitor(command)).collect())
        })
    }

    /// Where the cluster's OSDs are. No single answer may take longer than `limit`. Blocks.
    ///
    /// # Errors
    /// As [`Self::ask`]; the monitors do not tell this user.
    pub fn osd_map(&self, limit: Duration) -> Result<OsdMap, DriverError> {
        self.control(limit, |control| control.pool.client.ask(json!({"prefix": "osd dump"})))
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
                let more = listing.next(|name, _| found |= self.config.number(name).is_some())?;
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
            control.pages(|objects| {
                removed += control.remove(objects)?;
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
            control.pages(|objects| {
                control.stat(objects, |number, size| size.into_iter().for_each(|size| each(number, size)))
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
            control.stat(&control.placed(numbers)?, |number, size| {
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
        self.control(limit, |control| control.remove(&control.placed(numbers)?).map(drop))
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
                &control.placed(&[object])?,
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
        open().and_then(|pool| work(&Control { driver: self, pool, limit })).map_err(|failure| {
            DriverError::new(failure.kind, format!("Ceph, {}: {}", self.config.location(), failure.detail))
        })
    }
}

impl Control<'_> {
    fn listing(&self) -> Result<Listing, Failure> {
        Ok(Listing::of(RadosPool::open(&self.pool.client, &self.driver.config)?, 0, 1))
    }

    /// Where the objects with these numbers are.
    fn placed(&self, numbers: &[u64]) -> Result<Vec<PlacedObject>, Failure> {
        let locators = self.driver.locators.get(&self.driver.config, self.limit)?;
        let locator = |number| locators.as_ref().map(|locators| locators.of(number).to_owned());
        Ok(numbers.iter().map(|number| (*number, locator(*number))).collect())
    }

    /// Calls `each` with our objects, page by page: with the locators that they have, whatever OSDs are primary by now.
    fn pages(&self, mut each: impl FnMut(&[PlacedObject]) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut listing = self.listing()?;
        let mut objects = Vec::new();
        let mut more = true;
        while more {
            objects.clear();
            more = listing.next(|name, locator| {
                let locator = (!locator.is_empty()).then(|| CString::new(locator).ok()).flatten();
                objects.extend(self.driver.config.number(name).map(|number| (number, locator)));
            })?;
            each(&objects)?;
        }
        Ok(())
    }

    /// Removes these objects and returns how many there were.
    fn remove(&self, objects: &[PlacedObject]) -> Result<u64, Failure> {
        let mut removed = 0;
        self.all(
            objects,
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
    fn stat(&self, objects: &[PlacedObject], mut each: impl FnMut(u64, Option<u64>)) -> Result<(), Failure> {
        let api = self.pool.api;
        self.all(
            objects,
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
        objects: &[PlacedObject],
        start: impl Fn(*const c_char, CompletionHandle, &mut (u64, i64)) -> c_int,
        mut ended: impl FnMut(u64, c_int, &(u64, i64)) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let api = self.pool.api;
        let mut first = Ok(());
        for batch in objects.chunks(BATCH) {
            let mut stats = vec![(0, 0); batch.len()];
            let mut started = Vec::with_capacity(batch.len());
            for ((number, locator), stat) in batch.iter().zip(&mut stats) {
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
                self.pool.locate(locator.as_deref());
                started.push((completion, start(name.as_c().as_ptr(), completion, stat)));
            }
            // All are waited for, whatever fails: librados writes to `stats`.
            for (((number, _), (completion, code)), stat) in batch.iter().zip(started).zip(&stats) {
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
}
