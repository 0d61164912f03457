//! Work around a load: what the volume is, our directory created and listed, files of jobs inspected and removed.
//!
//! libgfapi's calls have no deadline, so a thread makes them, which reports each answer; the caller waits for the next one
//! no longer than its limit.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use metrics::ErrorKind;

use super::GlusterDriver;
use super::control::{Control, exists_already};
use super::remove;
use super::volume::{Volume, c_text};
use crate::failure::Failure;
use crate::file::names::{MARK, object_of};
use crate::numbers::{is_directory, is_symlink};
use crate::{Announce, DriverError};

/// What a volume is.
#[derive(Clone, Debug, Default)]
pub struct VolumeLook {
    /// Its id, as `gluster volume info` shows it.
    pub id: Option<String>,
    /// Types of the translators between this client and the bricks, each once, such as `cluster/distribute`, from the bricks
    /// up.
    pub translators: Vec<String>,
    /// Number of bricks.
    pub bricks: u64,
    /// Bytes available.
    pub available_bytes: Option<u64>,
    /// Our directory exists.
    pub directory_exists: bool,
}

impl GlusterDriver {
    /// Inspects the volume and the directory that holds ours. No answer may take longer than `limit`. Blocks.
    ///
    /// # Errors
    /// libgfapi is missing, the server does not answer, there is no such volume, or no such directory in it.
    pub fn look(&self, limit: Duration) -> Result<VolumeLook, DriverError> {
        self.control(limit, |control| {
            let parent = c_text(control.config.parent_path())?;
            control.existing_parent(&parent)?;
            let (translators, bricks) =
                control.volume.volfile().map_or_else(Default::default, |text| described(&text));
            Ok(VolumeLook {
                id: control.volume.id(),
                translators,
                bricks,
                available_bytes: control.volume.available_bytes(&parent).ok(),
                directory_exists: control.exists(&control.config.own_path())?,
            })
        })
    }

    /// Creates our directory, which must not exist, with its tree; calls `announce` right before. Without that call nothing
    /// was created. No answer may take longer than `limit`. Blocks.
    ///
    /// # Errors
    /// As [`Self::look`]; the directory exists or cannot be created; what `announce` returns: then nothing is created.
    pub fn prepare_announced(&self, limit: Duration, announce: Announce<'_>) -> Result<(), DriverError> {
        self.control(limit, |control| {
            control.existing_parent(&c_text(control.config.parent_path())?)?;
            match control.exists(&control.config.own_path())? {
                true => Err(exists_already(&control.config)),
                false => Ok(()),
            }
        })?;
        announce()?;
        self.control(limit, |control| control.make_ours())
    }

    /// Checks that our directory, created by an earlier run or by the one being resumed, exists. No answer may take longer than
    /// `limit`. Blocks.
    ///
    /// # Errors
    /// As [`Self::look`]; kind `NotFound` when it does not exist, `AlreadyExists` when it is somebody else's.
    pub fn adopt(&self, limit: Duration) -> Result<(), DriverError> {
        self.control(limit, |control| {
            let config = &control.config;
            if !control.exists(&config.own_path())? {
                let detail = format!("there is no directory {}", config.own_path());
                return Err(Failure::new(ErrorKind::NotFound, detail));
            }
            if !control.exists(&format!("{}/{MARK}", config.own_path()))? {
                return Err(remove::not_ours(config));
            }
            let last = control.leaf_path(config.tree.leaves() - 1);
            match control.exists(&last)? {
                true => Ok(()),
                false => Err(Failure::new(
                    ErrorKind::Rejected,
                    format!("directory {} has another tree; next: give the depth, directories and layout that it was made with", config.own_path()),
                )),
            }
        })
    }

    /// Removes our directory with all files in it that have our names, and nothing else; returns their number. A missing
    /// directory is no error. No answer may take longer than `limit`. Blocks.
    ///
    /// # Errors
    /// As [`Self::look`]; the directory lacks our mark, a file cannot be removed, or it contains anything else.
    pub fn remove_all(&self, limit: Duration) -> Result<u64, DriverError> {
        self.control(limit, remove::remove_all)
    }

    /// Calls `each` with the number and size in bytes of every file of ours. No answer may take longer than `limit`. Blocks.
    ///
    /// # Errors
    /// As [`Self::look`]; our directory cannot be listed.
    pub fn list(&self, limit: Duration, each: &mut dyn FnMut(u64, u64)) -> Result<(), DriverError> {
        let found = self.control(limit, |control| {
            let mut found = Vec::new();
            for leaf in 0..control.config.tree.leaves() {
                for entry in control.entries(&control.leaf_path(leaf), usize::MAX)? {
                    found.extend(object_of(&entry.name).map(|object| (object, entry.bytes)));
                }
            }
            Ok(found)
        })?;
        let files = found.into_iter().filter(|(object, _)| !is_directory(*object) && !is_symlink(*object));
        files.for_each(|(object, bytes)| each(object, bytes));
        Ok(())
    }

    /// The first `len` bytes of a file, or all of a shorter one. No answer may take longer than `limit`. Blocks.
    ///
    /// # Errors
    /// As [`Self::look`]; the file cannot be read.
    pub fn beginning(&self, object: u64, len: u32, limit: Duration) -> Result<Vec<u8>, DriverError> {
        self.control(limit, move |control| control.beginning(object, len as usize))
    }

    /// The sizes in bytes of the files with these numbers; `None` for those that do not exist. No answer may take longer than
    /// `limit`. Blocks.
    ///
    /// # Errors
    /// As [`Self::look`]; a file cannot be inspected, or its name is taken by something else.
    pub fn sizes(&self, numbers: &[u64], limit: Duration) -> Result<BTreeMap<u64, Option<u64>>, DriverError> {
        let numbers = numbers.to_vec();
        self.control(limit, move |control| {
            let size = |number: u64| control.file_size(&control.config.shown(number));
            numbers.into_iter().map(|number| Ok((number, size(number)?))).collect()
        })
    }

    /// Removes the files with these numbers; those that do not exist count as removed. No answer may take longer than `limit`.
    /// Blocks.
    ///
    /// # Errors
    /// As [`Self::look`]; the first that could not be removed.
    pub fn remove(&self, numbers: &[u64], limit: Duration) -> Result<(), DriverError> {
        let numbers = numbers.to_vec();
        self.control(limit, move |control| {
            let paths = numbers.into_iter().map(|number| (control.config.shown(number), false));
            control.remove_each(&paths.collect::<Vec<_>>()).map(drop)
        })
    }

    /// Does work with a client of its own.
    fn control<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl FnOnce(&Control) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, DriverError> {
        let (config, clients) = (Arc::clone(&self.config), Arc::clone(&self.clients));
        let (answered, answers) = channel();
        let (result, outcome) = channel();
        let run = move || {
            let volume = clients.get(0, || Volume::connect(&config, limit));
            let done = volume.and_then(|volume| {
                let control = Control { volume, config, answers: answered.clone() };
                control.answered();
                work(&control)
            });
            let _ = result.send(done);
            drop(answered);
        };
        let named = |failure: Failure| {
            DriverError::new(failure.kind, format!("Gluster, {}: {}", self.config.location(), failure.detail))
        };
        thread::Builder::new().name("gluster-control".to_owned()).spawn(run).map_err(|error| {
            named(Failure::new(ErrorKind::Local, format!("no thread can be started: {error}")))
        })?;
        // Connecting has its own deadline.
        let mut patience = limit.saturating_mul(2);
        loop {
            match answers.recv_timeout(patience) {
                Ok(()) => patience = limit,
                Err(RecvTimeoutError::Timeout) => {
                    let detail = format!(
                        "no answer within {limit:?}; next: `gluster volume status {}` shows which bricks are online",
                        self.config.volume
                    );
                    return Err(named(Failure::new(ErrorKind::TimedOut, detail)));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let ended = || Err(Failure::new(ErrorKind::Local, "a thread has ended early"));
                    return outcome.recv().unwrap_or_else(|_| ended()).map_err(named);
                }
            }
        }
    }
}

/// The types of translators in a volume's description (volfile), each once and in its order, and the number of bricks.
fn described(volfile: &str) -> (Vec<String>, u64) {
    let types = volfile.lines().filter_map(|line| line.trim().strip_prefix("type "));
    let mut translators = Vec::new();
    let mut bricks = 0;
    for name in types.map(str::trim) {
        bricks += u64::from(name == "protocol/client");
        if !translators.iter().any(|known| known == name) {
            translators.push(name.to_owned());
        }
    }
    (translators, bricks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_volume_is_described_by_its_translators() {
        let text = "volume gv-client-0\n    type protocol/client\nend-volume\nvolume gv-client-1\n    type protocol/client\n\
                    end-volume\n\nvolume gv-dht\n    type cluster/distribute\n    subvolumes gv-client-0 gv-client-1\n";
        let (translators, bricks) = described(text);
        assert_eq!(
            (translators, bricks),
            (vec!["protocol/client".to_owned(), "cluster/distribute".to_owned()], 2)
        );
    }
}
