//! Files and block devices: reads and writes at an offset, and related operations.
//!
//! On io_uring this uses registered files and buffers where available; otherwise threads. A buffered read that would be
//! alone, or with few others, in a submission to the ring first tries the page cache with a plain system call, which is
//! cheaper; with several, the ring is (decision 0031). On a file system in memory every operation is a plain system call
//! (decision 0043).

mod set_len;
mod xattr;

use std::cell::Cell;
use std::io;
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::rc::{Rc, Weak};

use io_uring::{opcode, types};

use crate::Buffer;
use crate::calls::{self, Call};
use crate::core::{Inner, Kernel};
use crate::file_calls::{by_call, ring};
use crate::slots::Held;
use crate::uring::{Uring, to_result};

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileOptions {
    /// Open for writing as well as reading.
    pub write: bool,
    /// Create the file, which must not exist (`O_CREAT | O_EXCL`).
    pub create_new: bool,
    /// Bypass the page cache (`O_DIRECT`): offsets, lengths and addresses must be aligned as the device requires.
    pub direct: bool,
    /// Register the file with io_uring once it has been used a few times (`IORING_REGISTER_FILES`).
    pub register: bool,
    /// Create the file if it is missing (`O_CREAT`).
    pub create: bool,
    /// Empty the file (`O_TRUNC`).
    pub truncate: bool,
    /// What each write makes durable before it completes.
    pub durable: Durable,
}

/// What a write makes durable before it completes (open(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durable {
    /// Nothing.
    #[default]
    Nothing,
    /// The data and the metadata needed to read it (`O_DSYNC`).
    Data,
    /// The data and all metadata (`O_SYNC`).
    All,
}

impl FileOptions {
    pub(crate) fn flags(self) -> i32 {
        let mut flags = libc::O_CLOEXEC | if self.write { libc::O_RDWR } else { libc::O_RDONLY };
        if self.create_new {
            flags |= libc::O_CREAT | libc::O_EXCL;
        }
        if self.create {
            flags |= libc::O_CREAT;
        }
        if self.truncate {
            flags |= libc::O_TRUNC;
        }
        if self.direct {
            flags |= libc::O_DIRECT;
        }
        flags
            | match self.durable {
                Durable::Nothing => 0,
                Durable::Data => libc::O_DSYNC,
                Durable::All => libc::O_SYNC,
            }
    }
}

/// Operations on the space of a file (fallocate(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// Reserve it; the file grows if the range extends beyond its end.
    Reserve,
    /// Reserve it; existing data then reads as zeros.
    Zero,
    /// Release it: a hole, which reads as zeros. The file keeps its size.
    Punch,
}

impl Space {
    fn mode(self) -> i32 {
        match self {
            Space::Reserve => 0,
            Space::Zero => libc::FALLOC_FL_ZERO_RANGE,
            Space::Punch => libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
        }
    }
}

/// A registration costs a system call, so it pays off only for files used more often than this.
const USES_BEFORE_REGISTRATION: u32 = 4;
/// Maximum number of reads that go straight to the backend after a page cache miss.
const SKIPS_MAX: u32 = 64;
/// Maximum length of a transfer: whole pages below the kernel's own limit of 2 GiB (read(2)).
const TRANSFER_MAX: usize = 1 << 30;

/// A descriptor and its index in the table of registered files.
pub(crate) struct OpenFile {
    /// Taken out when the file is closed ([`File::close`]).
    fd: ManuallyDrop<OwnedFd>,
    closed: Cell<bool>,
    options: FileOptions,
    in_memory: bool,
    place: Cell<Option<u32>>,
    /// Counts uses until registration.
    uses: Cell<u32>,
    /// Reads left that skip the page cache attempt.
    skip: Cell<u32>,
    /// Number of reads to skip after the next miss; `u32::MAX` if trying makes no sense at all.
    next_skip: Cell<u32>,
    inner: Weak<Inner>,
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        if let (Some(inner), Some(place)) = (self.inner.upgrade(), self.place.get())
            && let Kernel::Uring(uring) = &inner.kernel
        {
            uring.forget_file(place);
        }
        if !self.closed.get() {
            // SAFETY: it is neither taken out nor dropped before, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.fd) };
        }
    }
}

impl OpenFile {
    /// The index in the table, allocated once the file proves to be in use.
    #[inline]
    fn registered(&self, inner: &Inner) -> Option<u32> {
        let uses = self.uses.get();
        if uses <= USES_BEFORE_REGISTRATION {
            self.uses.set(uses + 1);
            if uses == USES_BEFORE_REGISTRATION
                && self.options.register
                && let Kernel::Uring(uring) = &inner.kernel
            {
                self.place.set(uring.register_file(self.fd.as_raw_fd()));
            }
        }
        self.place.get()
    }
}

/// An open file or block device. Clones refer to the same file, which closes when the last one is dropped.
#[derive(Clone)]
pub struct File {
    open: Rc<OpenFile>,
    inner: Rc<Inner>,
}

/// Builds an entry for the registered file if there is one, otherwise for the plain descriptor.
macro_rules! on_file {
    ($file:expr, |$fd:ident| $entry:expr) => {
        match $file.open.registered(&$file.inner) {
            Some(place) => {
                let $fd = types::Fixed(place);
                $entry
            }
            None => {
                let $fd = types::Fd($file.open.fd.as_raw_fd());
                $entry
            }
        }
    };
}

impl File {
    /// A file; `in_memory`: of a file system in memory.
    pub(crate) fn new(inner: &Rc<Inner>, fd: OwnedFd, options: FileOptions, in_memory: bool) -> File {
        let never = options.direct || in_memory || matches!(inner.kernel, Kernel::Simulated(_));
        let open = OpenFile {
            fd: ManuallyDrop::new(fd),
            closed: Cell::new(false),
            options,
            in_memory,
            place: Cell::new(None),
            uses: Cell::new(0),
            skip: Cell::new(0),
            next_skip: Cell::new(if never { u32::MAX } else { 1 }),
            inner: Rc::downgrade(inner),
        };
        File { open: Rc::new(open), inner: Rc::clone(inner) }
    }

    /// The ring to use, if any.
    #[inline]
    fn ring(&self) -> Option<&Uring> {
        ring(&self.inner, self.open.in_memory)
    }

    /// Executes a system call on the file.
    async fn call(&self, held: Held, make: impl FnOnce(&mut Held) -> Call) -> (i32, Option<Buffer>) {
        by_call(&self.inner, self.open.in_memory, held, make).await
    }

    /// Whether its file system is in memory.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.open.in_memory
    }

    /// The reactor and the descriptor, which is no longer closed with the file; `None` while there are other handles to it.
    pub(crate) fn into_parts(self) -> (Rc<Inner>, Option<OwnedFd>) {
        if Rc::strong_count(&self.open) > 1 {
            return (self.inner, None);
        }
        self.open.closed.set(true);
        // SAFETY: this is the only handle, and it ends here: with `closed` set, nobody else drops the descriptor.
        let descriptor = unsafe { ptr::read(&*self.open.fd) };
        (self.inner, Some(descriptor))
    }

    /// How it was opened.
    pub fn options(&self) -> FileOptions {
        self.open.options
    }

    /// Reads into `range` of the buffer from byte `at` on: at least one byte, or 0 at the end of the file.
    pub async fn read_at(
        &self,
        mut buffer: Buffer,
        range: Range<usize>,
        at: u64,
    ) -> (io::Result<usize>, Buffer) {
        let (start, len) = checked(&buffer, &range);
        if self.tries_cache() {
            self.inner.give_way(calls::weight_of(len)).await;
            match calls::read_cached(self.open.fd.as_raw_fd(), buffer.address(start), len, at) {
                Ok(count) => {
                    self.open.next_skip.set(1);
                    return (Ok(count), buffer);
                }
                Err(e) => self.not_cached(&e),
            }
        }
        let done = match self.ring() {
            Some(uring) => {
                let fill = |held: &mut Held| {
                    held.file = Some(Rc::clone(&self.open));
                    let buffer = held.buffer.insert(buffer);
                    let (pointer, len) = (buffer.address(start), len as u32);
                    match buffer.place() {
                        Some(index) => on_file!(self, |fd| {
                            opcode::ReadFixed::new(fd, pointer, len, index).offset(at).build()
                        }),
                        None => on_file!(self, |fd| opcode::Read::new(fd, pointer, len).offset(at).build()),
                    }
                };
                uring.start_transfer(&self.inner, self.open.options.direct, fill).await
            }
            None => {
                let fd = self.open.fd.as_raw_fd();
                let read = |held: &mut Held| Call::Read { fd, start: of(held).address(start), len, at };
                self.call(self.held(buffer), read).await
            }
        };
        given_back(done)
    }

    /// Writes `range` of the buffer at byte `at`: at least one byte, unless the range is empty.
    pub async fn write_at(
        &self,
        buffer: Buffer,
        range: Range<usize>,
        at: u64,
    ) -> (io::Result<usize>, Buffer) {
        let (start, len) = checked(&buffer, &range);
        let done = match self.ring() {
            Some(uring) => {
                let fill = |held: &mut Held| {
                    held.file = Some(Rc::clone(&self.open));
                    let buffer = held.buffer.insert(buffer);
                    let (pointer, len) = (buffer.address(start).cast_const(), len as u32);
                    match buffer.place() {
                        Some(index) => on_file!(self, |fd| {
                            opcode::WriteFixed::new(fd, pointer, len, index).offset(at).build()
                        }),
                        None => on_file!(self, |fd| opcode::Write::new(fd, pointer, len).offset(at).build()),
                    }
                };
                uring.start_transfer(&self.inner, self.open.options.direct, fill).await
            }
            None => {
                let fd = self.open.fd.as_raw_fd();
                let write = |held: &mut Held| Call::Write { fd, start: of(held).address(start), len, at };
                self.call(self.held(buffer), write).await
            }
        };
        given_back(done)
    }

    /// Makes everything written so far durable: fsync(2), or with `data_only` fdatasync(2).
    ///
    /// # Errors
    /// What the kernel reports, including an earlier write-back failure.
    pub async fn sync(&self, data_only: bool) -> io::Result<()> {
        let held = Held { file: Some(Rc::clone(&self.open)), ..Held::default() };
        let (result, _) = match self.ring() {
            Some(uring) => {
                let flags = if data_only { types::FsyncFlags::DATASYNC } else { types::FsyncFlags::empty() };
                uring
                    .start(&self.inner, held, |_| {
                        on_file!(self, |fd| opcode::Fsync::new(fd).flags(flags).build())
                    })
                    .await
            }
            None => {
                let call = Call::Sync { fd: self.open.fd.as_raw_fd(), data_only };
                self.call(held, |_| call).await
            }
        };
        to_result(result).map(drop)
    }

    /// Writes back the page cache of a range (sync_file_range(2)), where `len` 0 means up to the end; metadata is not
    /// written. `flags` are the kernel's: 1 waits for writes in progress, 2 starts writing, 4 waits for completion.
    ///
    /// # Errors
    /// What the kernel reports: a failure, or that this is neither a file nor a device.
    pub async fn sync_range(&self, at: u64, len: u64, flags: u32) -> io::Result<()> {
        let held = Held { file: Some(Rc::clone(&self.open)), ..Held::default() };
        let call = Call::SyncRange { fd: self.open.fd.as_raw_fd(), at, len, flags };
        to_result(self.call(held, |_| call).await.0).map(drop)
    }

    /// Changes the space allocated to the file (fallocate(2)).
    ///
    /// # Errors
    /// What the kernel reports: no space, or that the file system does not support the mode.
    pub async fn allocate(&self, space: Space, at: u64, len: u64) -> io::Result<()> {
        let held = Held { file: Some(Rc::clone(&self.open)), ..Held::default() };
        let mode = space.mode();
        let (result, _) = match self.ring() {
            Some(uring) => {
                uring
                    .start(&self.inner, held, |_| {
                        on_file!(self, |fd| opcode::Fallocate::new(fd, len).offset(at).mode(mode).build())
                    })
                    .await
            }
            None => {
                let call = Call::Allocate { fd: self.open.fd.as_raw_fd(), mode, at, len };
                self.call(held, |_| call).await
            }
        };
        to_result(result).map(drop)
    }

    /// Tells a block device that a range is no longer needed (`BLKDISCARD`). What is read from it afterwards depends on
    /// the device.
    ///
    /// # Errors
    /// What the kernel reports: the device does not support it, the range is not aligned, or this is no block device.
    pub async fn discard_blocks(&self, at: u64, len: u64) -> io::Result<()> {
        let held = Held { file: Some(Rc::clone(&self.open)), ..Held::default() };
        let call = Call::DiscardBlocks { fd: self.open.fd.as_raw_fd(), at, len };
        to_result(self.call(held, |_| call).await.0).map(drop)
    }

    /// The next entries of a directory, in the format of getdents64(2); 0 bytes at the end.
    pub async fn entries(&self, buffer: Buffer) -> (io::Result<usize>, Buffer) {
        let (held, fd) = (self.held(buffer), self.open.fd.as_raw_fd());
        let read = |held: &mut Held| {
            let buffer = of(held);
            Call::Entries { fd, len: buffer.len(), start: buffer.address(0) }
        };
        given_back(self.call(held, read).await)
    }

    /// Restarts [`File::entries`] from the beginning.
    pub fn rewind(&self) {
        // Seeking on a directory's descriptor cannot fail.
        let _ = rustix::fs::seek(&*self.open.fd, rustix::fs::SeekFrom::Start(0));
    }

    /// Whether the page cache is worth trying by a system call.
    #[inline]
    fn tries_cache(&self) -> bool {
        let open = &self.open;
        if open.next_skip.get() == u32::MAX {
            return false;
        }
        // A ring that submits several operations at once tries the page cache itself, for less per read.
        if let Kernel::Uring(uring) = &self.inner.kernel
            && uring.shares_submission(&self.inner)
        {
            return false;
        }
        let skip = open.skip.get();
        if skip > 0 {
            open.skip.set(skip - 1);
        }
        skip == 0
    }

    /// After a miss: further attempts follow at increasing distances, or never if they are impossible.
    #[cold]
    fn not_cached(&self, error: &io::Error) {
        let open = &self.open;
        if error.raw_os_error() == Some(libc::EAGAIN) {
            let skip = open.next_skip.get();
            open.skip.set(skip);
            open.next_skip.set((skip * 2).min(SKIPS_MAX));
        } else {
            open.next_skip.set(u32::MAX);
        }
    }

    #[inline]
    fn held(&self, buffer: Buffer) -> Held {
        Held { buffer: Some(buffer), file: Some(Rc::clone(&self.open)), ..Held::default() }
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.open.fd.as_fd()
    }
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("File").field("fd", &self.open.fd).field("options", &self.open.options).finish()
    }
}

/// Start and length of a range, which must lie within the buffer.
#[inline]
fn checked(buffer: &Buffer, range: &Range<usize>) -> (usize, usize) {
    assert!(range.start <= range.end && range.end <= buffer.len(), "the range lies within the buffer");
    (range.start, range.len().min(TRANSFER_MAX))
}

/// The buffer held by an operation.
#[inline]
pub(crate) fn of(held: &mut Held) -> &mut Buffer {
    held.buffer.as_mut().expect("the operation was given a buffer")
}

/// What an operation returns: its result and the buffer.
#[inline]
pub(crate) fn given_back((result, buffer): (i32, Option<Buffer>)) -> (io::Result<usize>, Buffer) {
    (to_result(result), buffer.expect("the operation gives back what it took"))
}
