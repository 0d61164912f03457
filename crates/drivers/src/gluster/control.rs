//! Calls of libgfapi around a load, one after another, each of which reports that the volume has answered.

use std::ffi::{CStr, CString, c_int};
use std::mem;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread;

use metrics::ErrorKind;
use reactor::{DIRECTORY_MODE, FILE_MODE};

use super::config::GlusterConfig;
use super::errors::{errno, failure};
use super::remove;
use super::volume::{OpenFile, Volume, c_text};
use crate::failure::Failure;
use crate::file::names::MARK;
use crate::own_directory::{self, MARK_TEXT};
use crate::tree::MAX_LEAF_LEN;

/// Files removed at the same time.
const AT_ONCE: usize = 8;

/// A client for work around a load, on a thread of its own.
pub(super) struct Control {
    pub(super) volume: Arc<Volume>,
    pub(super) config: Arc<GlusterConfig>,
    pub(super) answers: Sender<()>,
}

/// What an entry of a directory is.
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    pub(super) bytes: u64,
}

impl Control {
    /// Reports that the volume has answered.
    pub(super) fn answered(&self) {
        let _ = self.answers.send(());
    }

    /// The result of a call.
    fn ended(&self, code: c_int) -> Result<(), c_int> {
        let result = if code < 0 { Err(errno()) } else { Ok(()) };
        self.answered();
        result
    }

    /// What is at a path, if anything; symbolic links are not followed.
    pub(super) fn stat(&self, path: &CStr) -> Result<Option<libc::stat>, Failure> {
        // SAFETY: all zeros is a value of it.
        let mut found: libc::stat = unsafe { mem::zeroed() };
        // SAFETY: the path ends with a zero byte; it writes one structure.
        let code = unsafe { (self.volume.api.glfs_lstat)(self.volume.fs, path.as_ptr(), &mut found) };
        match self.ended(code) {
            Ok(()) => Ok(Some(found)),
            Err(libc::ENOENT | libc::ENOTDIR) => Ok(None),
            Err(number) => Err(at(path, number)),
        }
    }

    pub(super) fn exists(&self, path: &str) -> Result<bool, Failure> {
        Ok(self.stat(&c_text(path)?)?.is_some())
    }

    /// Checks that the directory exists that holds ours.
    pub(super) fn existing_parent(&self, path: &CStr) -> Result<(), Failure> {
        match self.stat(path)? {
            Some(found) if found.st_mode & libc::S_IFMT == libc::S_IFDIR => Ok(()),
            found => {
                let what = if found.is_some() { "is no directory" } else { "does not exist" };
                let detail =
                    format!("{} {what}; next: create it, or name one that exists", path.to_string_lossy());
                Err(Failure::new(ErrorKind::NotFound, detail))
            }
        }
    }

    pub(super) fn file_size(&self, path: &str) -> Result<Option<u64>, Failure> {
        match self.stat(&c_text(path)?)? {
            Some(found) if found.st_mode & libc::S_IFMT != libc::S_IFREG => {
                let detail = format!("{path} is no file; next: choose another name");
                Err(Failure::new(ErrorKind::AlreadyExists, detail))
            }
            found => Ok(found.map(|found| found.st_size as u64)),
        }
    }

    /// The path of a directory of the tree.
    pub(super) fn leaf_path(&self, leaf: u32) -> String {
        let mut path = [0; MAX_LEAF_LEN];
        let len = self.config.tree.write_leaf(leaf, &mut path);
        let leaf = String::from_utf8_lossy(&path[..len]).into_owned();
        format!("{}/{}", self.config.own_path(), leaf.trim_end_matches('/')).trim_end_matches('/').to_owned()
    }

    fn make_directory(&self, path: &str) -> Result<(), Failure> {
        let path = c_text(path)?;
        // SAFETY: the path ends with a zero byte.
        let code = unsafe { (self.volume.api.glfs_mkdir)(self.volume.fs, path.as_ptr(), DIRECTORY_MODE) };
        self.ended(code).map_err(|number| at(&path, number))
    }

    /// Creates our directory with its mark and its tree.
    pub(super) fn make_ours(&self) -> Result<(), Failure> {
        let (config, own) = (&self.config, self.config.own_path());
        self.make_directory(&own).map_err(|error| match error.kind {
            ErrorKind::AlreadyExists => exists_already(config),
            _ => error,
        })?;
        self.mark(&own).and_then(|()| self.make_tree()).inspect_err(|_| drop(remove::remove_all(self)))
    }

    fn mark(&self, own: &str) -> Result<(), Failure> {
        let path = c_text(format!("{own}/{MARK}"))?;
        let (api, fs) = (self.volume.api, self.volume.fs);
        // SAFETY: the path ends with a zero byte.
        let fd = unsafe { (api.glfs_creat)(fs, path.as_ptr(), libc::O_WRONLY | libc::O_CREAT, FILE_MODE) };
        if fd.is_null() {
            return Err(at(&path, errno()));
        }
        let file = OpenFile { volume: Arc::clone(&self.volume), fd, write: true };
        // SAFETY: it reads so many bytes.
        let wrote = unsafe { (api.glfs_write)(fd, MARK_TEXT.as_ptr().cast(), MARK_TEXT.len(), 0) };
        let written = if wrote < 0 { Err(errno()) } else { Ok(()) };
        self.answered();
        written.and_then(|()| file.close()).map_err(|number| at(&path, number))
    }

    fn make_tree(&self) -> Result<(), Failure> {
        let tree = &self.config.tree;
        let mut made = vec![false; tree.all_directories() as usize];
        for leaf in 0..tree.leaves() {
            let mut path = self.config.own_path();
            for (name, number) in tree.way_to(leaf) {
                path = format!("{path}/{}", String::from_utf8_lossy(&name));
                if !mem::replace(&mut made[number as usize], true) {
                    self.make_directory(&path)?;
                }
            }
        }
        Ok(())
    }

    /// At most so many entries of a directory, with their sizes.
    pub(super) fn entries(&self, path: &str, most: usize) -> Result<Vec<Entry>, Failure> {
        let path = c_text(path)?;
        let api = self.volume.api;
        // SAFETY: the path ends with a zero byte.
        let directory = unsafe { (api.glfs_opendir)(self.volume.fs, path.as_ptr()) };
        if directory.is_null() {
            return Err(at(&path, errno()));
        }
        let mut entries = Vec::new();
        let mut result = Ok(());
        while entries.len() < most {
            // SAFETY: errno belongs to this thread; it writes one structure; the entry is valid until the next call, or null.
            let (entry, found) = unsafe {
                let mut found: libc::stat = mem::zeroed();
                *libc::__errno_location() = 0;
                ((api.glfs_readdirplus)(directory, &mut found), found)
            };
            if entry.is_null() {
                // SAFETY: as above.
                let number = unsafe { *libc::__errno_location() };
                result = if number == 0 { Ok(()) } else { Err(at(&path, number)) };
                break;
            }
            self.answered();
            // SAFETY: the name ends with a zero byte.
            let name = unsafe { CStr::from_ptr((&raw const (*entry).d_name).cast()) }.to_bytes();
            if !matches!(name, b"." | b"..") {
                entries.push(Entry { name: name.to_vec(), bytes: found.st_size as u64 });
            }
        }
        // SAFETY: it is open, and nobody else has the handle.
        unsafe { (api.glfs_closedir)(directory) };
        result.map(|()| entries)
    }

    /// Removes files, and directories where the second value says so; returns how many there were.
    pub(super) fn remove_each(&self, paths: &[(String, bool)]) -> Result<u64, Failure> {
        let each = paths.len().div_ceil(AT_ONCE).max(1);
        thread::scope(|scope| {
            let work = |part: &[(String, bool)]| -> Result<u64, Failure> {
                let mut removed = 0;
                for (path, directory) in part {
                    removed += u64::from(self.remove_one(&c_text(path)?, *directory)?);
                }
                Ok(removed)
            };
            let threads: Vec<_> = paths.chunks(each).map(|part| scope.spawn(move || work(part))).collect();
            let ended = || Err(Failure::new(ErrorKind::Local, "a thread has ended early"));
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| ended())).sum()
        })
    }

    /// Removes a file or directory; false if there is none.
    pub(super) fn remove_one(&self, path: &CString, directory: bool) -> Result<bool, Failure> {
        let (api, fs) = (self.volume.api, self.volume.fs);
        let remove = if directory { api.glfs_rmdir } else { api.glfs_unlink };
        // SAFETY: the path ends with a zero byte.
        let code = unsafe { remove(fs, path.as_ptr()) };
        match self.ended(code) {
            Ok(()) => Ok(true),
            Err(libc::ENOENT) => Ok(false),
            Err(number) => Err(at(path, number)),
        }
    }

    pub(super) fn beginning(&self, object: u64, len: usize) -> Result<Vec<u8>, Failure> {
        let path = c_text(self.config.shown(object))?;
        let api = self.volume.api;
        // SAFETY: the path ends with a zero byte.
        let fd = unsafe { (api.glfs_open)(self.volume.fs, path.as_ptr(), libc::O_RDONLY) };
        if fd.is_null() {
            return Err(at(&path, errno()));
        }
        let _file = OpenFile { volume: Arc::clone(&self.volume), fd, write: false };
        let mut data = vec![0_u8; len];
        let mut filled = 0;
        while filled < len {
            let rest = &mut data[filled..];
            // SAFETY: it writes at most so many bytes.
            match unsafe { (api.glfs_read)(fd, rest.as_mut_ptr().cast(), rest.len(), 0) } {
                0 => break,
                came if came < 0 => return Err(at(&path, errno())),
                came => filled += came as usize,
            }
            self.answered();
        }
        data.truncate(filled);
        Ok(data)
    }
}

/// A failure at a path.
pub(super) fn at(path: &CStr, number: c_int) -> Failure {
    let found = failure(number);
    Failure { detail: format!("{}: {}", path.to_string_lossy(), found.detail), ..found }
}

pub(super) fn exists_already(config: &GlusterConfig) -> Failure {
    Failure::new(ErrorKind::AlreadyExists, own_directory::exists_already(config.own_path()))
}
