//! The calls that libgfapi has only as blocking ones: on names, and opening and closing. Threads of the reactor's pool
//! make them, as for `file:` targets.

use std::ffi::{CStr, c_int};
use std::mem;
use std::sync::Arc;

use reactor::{BlockingCall, DIRECTORY_MODE, FILE_MODE};

use super::api::FdHandle;
use super::config::{GlusterPath, PATH_BYTES};
use super::errors::errno;
use super::volume::{OpenFile, Volume};
use crate::file::names::NAME_LEN;

/// The attribute. Its value is the object's number, then a number that differs each time, both in 16 hexadecimal digits.
const ATTRIBUTE: &CStr = c"user.manometer";
/// Bytes of the attribute's value.
pub(super) const VALUE_LEN: usize = 2 * NAME_LEN;
/// Names that one call fetches of a list.
const NAMES_MAX: u64 = 1000;

/// What to do with the path, or with the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Nothing,
    /// `O_RDONLY` and the like.
    Open(c_int),
    /// The same, and the file is created.
    Create(c_int),
    Close,
    Stat,
    Access,
    Chmod,
    Unlink,
    Rename,
    Link,
    Symlink,
    Readlink,
    Mkdir,
    Rmdir,
    SetXattr,
    GetXattr,
    OpenDirectory,
    /// At most [`NAMES_MAX`] names.
    NextNames,
}

/// An open directory.
struct OpenDirectory {
    volume: Arc<Volume>,
    fd: FdHandle,
}

// SAFETY: libgfapi's handles may be used by any thread.
unsafe impl Send for OpenDirectory {}

impl Drop for OpenDirectory {
    fn drop(&mut self) {
        // SAFETY: it is open, and nobody else has the handle. It sends nothing to the bricks that it waits for.
        unsafe { (self.volume.api.glfs_closedir)(self.fd) };
    }
}

/// A call, with all that it reads and writes.
pub(super) struct FileCall {
    pub(super) volume: Arc<Volume>,
    pub(super) work: Work,
    pub(super) path: GlusterPath,
    /// The second path of a rename or link; what a symbolic link contains.
    pub(super) other: GlusterPath,
    pub(super) value: [u8; VALUE_LEN],
    /// The file to close, or the one that was opened.
    pub(super) file: Option<OpenFile>,
    directory: Option<OpenDirectory>,
    /// The number of bytes or names; or an error number.
    pub(super) result: Result<u64, c_int>,
}

impl FileCall {
    pub(super) fn new(volume: &Arc<Volume>) -> Box<Self> {
        Box::new(Self {
            volume: Arc::clone(volume),
            work: Work::Nothing,
            path: GlusterPath::empty(),
            other: GlusterPath::empty(),
            value: [0; VALUE_LEN],
            file: None,
            directory: None,
            result: Ok(0),
        })
    }

    fn opened(&mut self, fd: FdHandle, flags: c_int) -> Result<u64, c_int> {
        if fd.is_null() {
            return Err(errno());
        }
        let write = flags & libc::O_ACCMODE != libc::O_RDONLY;
        self.file = Some(OpenFile { volume: Arc::clone(&self.volume), fd, write });
        Ok(0)
    }

    /// Counts the next names of the open directory, which is closed after the last.
    fn next_names(&mut self) -> Result<u64, c_int> {
        let Some(directory) = &self.directory else { return Ok(0) };
        let mut names = 0;
        while names < NAMES_MAX {
            // SAFETY: errno belongs to this thread. The entry is valid until the next call, or null.
            let entry = unsafe {
                *libc::__errno_location() = 0;
                (self.volume.api.glfs_readdir)(directory.fd)
            };
            if entry.is_null() {
                // SAFETY: as above.
                let number = unsafe { *libc::__errno_location() };
                self.directory = None;
                return if number == 0 { Ok(names) } else { Err(number) };
            }
            // SAFETY: the name ends with a zero byte.
            let name = unsafe { CStr::from_ptr((&raw const (*entry).d_name).cast()) };
            names += u64::from(!matches!(name.to_bytes(), b"." | b".."));
        }
        Ok(names)
    }

    /// Whether a list has names left.
    pub(super) fn lists_on(&self) -> bool {
        self.directory.is_some()
    }
}

impl BlockingCall for FileCall {
    fn run(&mut self) {
        let (api, fs) = (self.volume.api, self.volume.fs);
        let (path, other) = (self.path.as_c().as_ptr(), self.other.as_c().as_ptr());
        let code = |code: c_int| if code < 0 { Err(errno()) } else { Ok(code as u64) };
        let size = |size: isize| u64::try_from(size).map_err(|_| errno());
        // SAFETY (of all calls): paths end with zero bytes, and what is written to has the size that is given.
        self.result = unsafe {
            match self.work {
                Work::Nothing => Ok(0),
                Work::Open(flags) => {
                    let fd = (api.glfs_open)(fs, path, flags);
                    self.opened(fd, flags)
                }
                Work::Create(flags) => {
                    let fd = (api.glfs_creat)(fs, path, flags, FILE_MODE);
                    self.opened(fd, flags)
                }
                Work::Close => self.file.take().map_or(Ok(()), OpenFile::close).map(|()| 0),
                Work::Stat => {
                    let mut found: libc::stat = mem::zeroed();
                    code((api.glfs_stat)(fs, path, &mut found)).map(|_| found.st_size as u64)
                }
                Work::Access => code((api.glfs_access)(fs, path, libc::R_OK | libc::W_OK)),
                Work::Chmod => code((api.glfs_chmod)(fs, path, FILE_MODE)),
                Work::Unlink => code((api.glfs_unlink)(fs, path)),
                Work::Rename => code((api.glfs_rename)(fs, path, other)),
                Work::Link => code((api.glfs_link)(fs, path, other)),
                Work::Symlink => code((api.glfs_symlink)(fs, other, path)),
                Work::Readlink => {
                    let mut text = [0; PATH_BYTES];
                    code((api.glfs_readlink)(fs, path, text.as_mut_ptr(), text.len()))
                }
                Work::Mkdir => code((api.glfs_mkdir)(fs, path, DIRECTORY_MODE)),
                Work::Rmdir => code((api.glfs_rmdir)(fs, path)),
                Work::SetXattr => {
                    let value = self.value.as_ptr().cast();
                    code((api.glfs_setxattr)(fs, path, ATTRIBUTE.as_ptr(), value, VALUE_LEN, 0))
                }
                Work::GetXattr => {
                    let out = self.value.as_mut_ptr().cast();
                    size((api.glfs_getxattr)(fs, path, ATTRIBUTE.as_ptr(), out, VALUE_LEN))
                }
                Work::OpenDirectory => {
                    // One that an operation left behind is closed.
                    self.directory = None;
                    let fd = (api.glfs_opendir)(fs, path);
                    if fd.is_null() {
                        Err(errno())
                    } else {
                        self.directory = Some(OpenDirectory { volume: Arc::clone(&self.volume), fd });
                        Ok(0)
                    }
                }
                Work::NextNames => self.next_names(),
            }
        };
    }
}
