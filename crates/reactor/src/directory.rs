//! Opens, queries and changes files by name in a directory.
//!
//! A name travels in a buffer, terminated by a zero byte, because the kernel may read it long after the caller is gone.

mod names;

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::rc::Rc;

use io_uring::{opcode, types};
use rustix::fs::{CWD, FsWord, Mode, OFlags, fstatfs, openat};

use crate::Buffer;
use crate::calls::Call;
use crate::core::Inner;
use crate::file::{File, FileOptions, given_back, of};
use crate::file_calls::{by_call, ring};
use crate::slots::Held;
use crate::uring::Uring;
pub use names::{DIRECTORY_MODE, SECOND_NAME_AT};

/// Size of a buffer that holds a name, followed by the output of statx(2) or by a second name.
pub const NAME_BUFFER: usize = 4096;
/// Offset of statx(2)'s output in the buffer; names end before it.
const STAT_AT: usize = 2048;
/// Magic numbers of tmpfs and ramfs (statfs(2)): file systems without a device.
const IN_MEMORY: [FsWord; 2] = [0x0102_1994, 0x8584_58f6];

/// A directory for looking up names. Clones refer to the same directory.
#[derive(Clone)]
pub struct Directory {
    fd: Rc<OwnedFd>,
    inner: Rc<Inner>,
    in_memory: bool,
}

impl Directory {
    /// Opens it; `plain`: everything below is a file or directory of its own file system.
    pub(crate) fn open(inner: &Rc<Inner>, path: &Path, plain: bool) -> io::Result<Directory> {
        let fd = openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let in_memory = plain && fstatfs(&fd).is_ok_and(|facts| IN_MEMORY.contains(&facts.f_type));
        Ok(Directory { fd: Rc::new(fd), inner: Rc::clone(inner), in_memory })
    }

    /// Opens a file. `name` starts with the file's name, terminated by a zero byte.
    pub async fn open_file(&self, name: Buffer, options: FileOptions) -> (io::Result<File>, Buffer) {
        let (fd, name) = self.open_with(name, options.flags()).await;
        (fd.map(|fd| File::new(&self.inner, fd, options, self.in_memory)), name)
    }

    /// Opens a file and returns its bare descriptor, for [`crate::Reactor::close`]. `name` is as in [`Self::open_file`].
    pub async fn open_descriptor(&self, name: Buffer, options: FileOptions) -> (io::Result<OwnedFd>, Buffer) {
        self.open_with(name, options.flags()).await
    }

    /// Opens the directory itself, for [`File::entries`].
    pub async fn open_listing(&self) -> io::Result<File> {
        let mut name = Buffer::new(NAME_BUFFER);
        name[0] = b'.';
        let flags = libc::O_CLOEXEC | libc::O_RDONLY | libc::O_DIRECTORY;
        let fd = self.open_with(name, flags).await.0?;
        Ok(File::new(&self.inner, fd, FileOptions::default(), self.in_memory))
    }

    async fn open_with(&self, name: Buffer, flags: i32) -> (io::Result<OwnedFd>, Buffer) {
        let directory = self.fd.as_raw_fd();
        let held = Held { makes_descriptor: true, rare: true, ..self.held(name) };
        let done = match self.ring() {
            Some(uring) => {
                let open = |held: &mut Held| {
                    let open = opcode::OpenAt::new(types::Fd(directory), path_of(held));
                    open.flags(flags).mode(FILE_MODE).build()
                };
                uring.start(&self.inner, held, open).await
            }
            None => {
                let open =
                    |held: &mut Held| Call::Open { directory, path: path_of(held), flags, mode: FILE_MODE };
                self.call(held, open).await
            }
        };
        let (result, name) = given_back(done);
        // SAFETY: the kernel has just created this descriptor for us.
        let own = |fd| unsafe { OwnedFd::from_raw_fd(fd as RawFd) };
        (result.map(own), name)
    }

    /// The size of a file, by its name (statx(2)).
    pub async fn size_of(&self, name: Buffer) -> (io::Result<u64>, Buffer) {
        assert!(name.len() >= NAME_BUFFER, "there is room for the answer after the name");
        let (directory, flags, mask) = (self.fd.as_raw_fd(), 0, libc::STATX_BASIC_STATS);
        let held = self.held(name);
        let done = match self.ring() {
            Some(uring) => {
                let stat = |held: &mut Held| {
                    let (path, into) = (path_of(held), of(held).address(STAT_AT).cast());
                    opcode::Statx::new(types::Fd(directory), path, into).flags(flags).mask(mask).build()
                };
                uring.start(&self.inner, held, stat).await
            }
            None => {
                let stat = |held: &mut Held| {
                    let (path, into) = (path_of(held), of(held).address(STAT_AT).cast());
                    Call::Stat { directory, path, flags, mask, into }
                };
                self.call(held, stat).await
            }
        };
        let (result, mut name) = given_back(done);
        // SAFETY: the kernel has filled the structure, which lies within the buffer and is aligned there.
        let size = result.map(|_| unsafe { (*name.address(STAT_AT).cast::<libc::statx>()).stx_size });
        (size, name)
    }

    /// The ring to use, if any.
    fn ring(&self) -> Option<&Uring> {
        ring(&self.inner, self.in_memory)
    }

    /// Executes a system call on what is in the directory.
    async fn call(&self, held: Held, make: impl FnOnce(&mut Held) -> Call) -> (i32, Option<Buffer>) {
        by_call(&self.inner, self.in_memory, held, make).await
    }

    fn held(&self, name: Buffer) -> Held {
        let directory: Rc<OwnedFd> = Rc::clone(&self.fd);
        Held { buffer: Some(name), directory: Some(directory), rare: true, ..Held::default() }
    }
}

impl std::fmt::Debug for Directory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Directory({:?})", self.fd)
    }
}

/// Permissions of new files, before the umask.
pub const FILE_MODE: u32 = 0o644;

/// The address of the name in the held buffer.
fn path_of(held: &mut Held) -> *const libc::c_char {
    let buffer = of(held);
    let within = buffer.len().min(STAT_AT);
    assert!(CStr::from_bytes_until_nul(&buffer[..within]).is_ok(), "the name ends with a zero byte");
    buffer.address(0).cast_const().cast()
}
